//! Display names of functions, and the lookup of functions by name.
//!
//! Invariant: displayed text contains no control characters, whatever the module contains.

use std::cell::Cell;
use std::collections::{BTreeMap, HashSet};

use wprof::Module;
use wprof_profiler::{Callee, Profile};

use crate::error::{Error, Result, bail};
use crate::{fitted_name, short_name};

pub use crate::fitted_name::cut;

thread_local! {
    /// Whether this thread shows names in full.
    static IN_FULL: Cell<bool> = const { Cell::new(false) };
}

/// Calls `work`, in which this thread shows names in full, or short ones. Reports do so as their
/// [`Style`](crate::page::Style) says.
pub fn shown_in_full<R>(in_full: bool, work: impl FnOnce() -> R) -> R {
    /// Restores the setting, also if `work` panics.
    struct Restore(bool);
    impl Drop for Restore {
        fn drop(&mut self) {
            IN_FULL.set(self.0);
        }
    }
    let _restore = Restore(IN_FULL.replace(in_full));
    work()
}

/// Reports whether this thread shows names in full.
fn are_in_full() -> bool {
    IN_FULL.get()
}

/// The maximum number of candidates in an error message.
const CANDIDATES: usize = 5;

/// A function that can be looked up.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Named {
    /// Index in the module.
    pub index: u32,
    /// The name in the module or, in a component with several, `module::function`, if there is one.
    pub raw: Option<String>,
}

impl Named {
    /// Returns the display name.
    pub fn shown(&self) -> String {
        shown(self.index, self.raw.as_deref())
    }

    /// Reports whether `asked` is the whole name, in some form.
    pub fn is_called(&self, asked: &str) -> bool {
        let is_full = || full(self.index, self.raw.as_deref()) == asked;
        self.raw.as_deref() == Some(asked) || self.shown() == asked || is_full()
    }
}

/// Returns the functions that ran, as far as counts and samples of time tell: those with most instructions first, then
/// those of which only time is known.
pub(crate) fn of_profile(profile: &Profile) -> Vec<Named> {
    let named = |index: u32, raw: &Option<String>| Named { index, raw: raw.clone() };
    let hottest_first = profile.functions_by_ops().into_iter().map(|(function, _)| function);
    let mut all: Vec<Named> = hottest_first.map(|function| named(function.index, &function.name)).collect();
    let counted: HashSet<u32> = all.iter().map(|named| named.index).collect();
    let timed = profile.time.iter().flat_map(|time| &time.callees).filter_map(|callee| match callee {
        Callee::Function { index, name } => Some(named(*index, name)),
        _ => None,
    });
    all.extend(timed.filter(|named| !counted.contains(&named.index)));
    all
}

/// Returns the functions of a module that have a body, ascending by index.
pub fn of_module(module: &Module) -> Vec<Named> {
    let info = module.info();
    let named = |index: u32| Named { index, raw: module.func_name(index).map(str::to_owned) };
    (info.imported_funcs..info.imported_funcs + info.defined_funcs()).map(named).collect()
}

/// Returns the display name of a function; for one without a name, the name that browsers use.
pub fn shown(index: u32, raw: Option<&str>) -> String {
    raw.map_or_else(|| numbered(index), of_symbol)
}

/// Returns the name of a function, demangled but not shortened.
fn full(index: u32, raw: Option<&str>) -> String {
    raw.map_or_else(|| numbered(index), full_of_symbol)
}

/// Returns the display name of a symbol: demangled and, unless names are shown in full, short.
pub fn of_symbol(raw: &str) -> String {
    let demangled = wprof::demangle(raw);
    harmless(&if are_in_full() { demangled } else { short_name::short(&demangled) })
}

/// Returns the name of a symbol, demangled but not shortened.
pub(crate) fn full_of_symbol(raw: &str) -> String {
    harmless(&wprof::demangle(raw))
}

/// Returns a symbol's name without any arguments, for use in a remark.
pub(crate) fn bare(raw: &str) -> String {
    let demangled = wprof::demangle(raw);
    harmless(&if are_in_full() { demangled } else { short_name::bare(&demangled) })
}

fn numbered(index: u32) -> String {
    format!("wasm-function[{index}]")
}

/// Returns the full names of the functions that are shown by a short one.
pub(crate) fn full_names(profile: &Profile) -> BTreeMap<u32, String> {
    let ran = profile.functions.iter().map(|function| (function.index, &function.name));
    let routines = profile.contexts.iter().flat_map(|tree| &tree.routines).map(|routine| &routine.callee);
    let callees = routines.chain(profile.time.iter().flat_map(|time| &time.callees));
    let named = callees.filter_map(|callee| match callee {
        Callee::Function { index, name } => Some((*index, name)),
        _ => None,
    });
    let differing = |(index, name): (u32, &Option<String>)| {
        let full = full_of_symbol(name.as_deref()?);
        (full != shown(index, name.as_deref())).then_some((index, full))
    };
    ran.chain(named).filter_map(differing).collect()
}

/// Replaces all names in a profile by display names, for formats that are written from the profile alone.
pub(crate) fn show_all(profile: &mut Profile) {
    let show = |index: u32, name: &mut Option<String>| *name = Some(shown(index, name.as_deref()));
    profile.program = harmless(&profile.program);
    profile.functions.iter_mut().for_each(|function| show(function.index, &mut function.name));
    for callee in profile.callees_mut() {
        match callee {
            Callee::Function { index, name } | Callee::Elsewhere { index, name, .. } => show(*index, name),
            Callee::Host { module, name } => (*module, *name) = (harmless(module), harmless(name)),
            Callee::Inlined { name } => *name = of_symbol(name),
            Callee::Root | Callee::Beyond | Callee::Engine | Callee::Thread { .. } | Callee::Collector => {}
        }
    }
    let versions = profile.timeline.iter_mut().flat_map(|timeline| &mut timeline.versions);
    for version in versions {
        show(version.function, &mut version.name);
        version.decisions.iter_mut().for_each(|decision| decision.text = harmless(&decision.text));
    }
    for calls in &mut profile.host_calls {
        (calls.module, calls.name) = (harmless(&calls.module), harmless(&calls.name));
    }
}

/// Removes control characters, which could manipulate a terminal.
pub fn harmless(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c }).collect()
}

/// Finds the function that `asked` names: by index, by whole name, by the end of a path, or by a part that only one name has.
///
/// # Errors
/// Returns an error if no function or several match; the message lists candidates.
pub(crate) fn find(functions: &[Named], asked: &str) -> Result<Named> {
    match fitting(functions, asked)[..] {
        [] => Err(not_found(functions, asked)),
        [only] => Ok(only.clone()),
        ref several => bail!("`{asked}` matches several functions: give the index of one\n{}", list(several)),
    }
}

/// Returns the functions that `asked` may name: those with this index or whole name, or else those whose path ends so, or
/// else those with a part of it.
pub(crate) fn fitting<'a>(functions: &'a [Named], asked: &str) -> Vec<&'a Named> {
    if let Ok(index) = asked.parse::<u32>() {
        return functions.iter().filter(|function| function.index == index).collect();
    }
    // A function's own name is closer than a part of a name: what stands before it may be a module.
    let last = format!("::{asked}");
    let whole = |named: &Named| named.is_called(asked);
    let own = |named: &Named| named.shown().ends_with(&last);
    let part = |named: &Named| named.shown().contains(asked);
    let found = [&whole as &dyn Fn(&Named) -> bool, &own, &part]
        .map(|fits| -> Vec<&Named> { functions.iter().filter(|named| fits(named)).collect() });
    found.into_iter().find(|found| !found.is_empty()).unwrap_or_default()
}

/// Returns the error that no function is called `asked`, with similar names.
pub(crate) fn not_found(functions: &[Named], asked: &str) -> Error {
    Error::new(match asked.parse::<u32>() {
        Ok(index) => format!("there is no function {index} here: it is imported, or it did not run"),
        Err(_) => format!("no function is called `{asked}`: {}", advice(functions, asked)),
    })
}

/// Finds what is named `asked`, or else the only name that contains `asked`; `None` otherwise.
pub(crate) fn find_inlined<T: Copy>(named: &[(T, String)], asked: &str) -> Option<Vec<T>> {
    let all = |fits: &dyn Fn(&str) -> bool| -> Vec<&(T, String)> {
        named.iter().filter(|(_, name)| fits(name)).collect()
    };
    let mut found = all(&|name| name == asked);
    if found.is_empty() {
        found = all(&|name| name.contains(asked));
    }
    let (_, first) = found.first()?;
    found.iter().all(|(_, name)| name == first).then(|| found.iter().map(|(of, _)| *of).collect())
}

fn advice(functions: &[Named], asked: &str) -> String {
    if functions.is_empty() {
        return "there are no functions here".to_owned();
    }
    let mut similar: Vec<(usize, &Named)> = functions
        .iter()
        .filter_map(|function| Some((unlikeness(&function.shown(), asked)?, function)))
        .collect();
    similar.sort_by_key(|(unlikeness, _)| *unlikeness);
    similar.truncate(CANDIDATES);
    let similar: Vec<&Named> = similar.into_iter().map(|(_, function)| function).collect();
    let advice = "give a name, a part of one, or an index";
    if similar.is_empty() { advice.to_owned() } else { format!("{advice}; similar are\n{}", list(&similar)) }
}

/// Returns the number of letters by which the last part of a name differs from what was asked for; `None` if it is not
/// similar. Capitals and small letters are the same.
fn unlikeness(name: &str, asked: &str) -> Option<usize> {
    let bare = short_name::bare(name).to_lowercase();
    let (last, asked) = (bare.rsplit("::").next().unwrap_or_default(), asked.to_lowercase());
    let asked = asked.rsplit("::").next().unwrap_or_default();
    if bare.contains(asked) {
        return Some(0);
    }
    // Levenshtein's distance, row by row.
    let letters: Vec<char> = last.chars().collect();
    let mut row: Vec<usize> = (0..=letters.len()).collect();
    for (number, wanted) in asked.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], number + 1);
        for (at, letter) in letters.iter().enumerate() {
            let changed = diagonal + usize::from(*letter != wanted);
            diagonal = row[at + 1];
            row[at + 1] = changed.min(diagonal + 1).min(row[at] + 1);
        }
    }
    row.last().copied().filter(|distance| 2 * distance <= asked.chars().count())
}

fn list(candidates: &[&Named]) -> String {
    let line = |named: &&Named| format!("  {:>6}  {}", named.index, beginning(&named.shown()));
    let mut lines: Vec<String> = candidates.iter().take(CANDIDATES).map(line).collect();
    if candidates.len() > CANDIDATES {
        lines.push(format!("  and {} more", candidates.len() - CANDIDATES));
    }
    lines.join("\n")
}

/// Returns a name for a list of several, without some of its arguments if it is long.
pub(crate) fn beginning(name: &str) -> String {
    const LONGEST: usize = 100;
    if are_in_full() { name.to_owned() } else { fitted_name::cut(name, LONGEST) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn functions() -> Vec<Named> {
        let names = [Some("_Z3addii"), Some("add_all"), None, Some("main"), Some("\u{1b}[2J")];
        let named = |(index, raw): (u32, Option<&str>)| Named { index, raw: raw.map(str::to_owned) };
        (3..).zip(names).map(named).collect()
    }

    #[test]
    fn a_function_is_found_by_index_name_or_part_of_a_name() {
        let index = |asked: &str| find(&functions(), asked).map(|named| named.index);
        let found = ["5", "_Z3addii", "add(int, int)", "all", "mai"].map(|asked| index(asked).unwrap());
        assert_eq!(found, [5, 3, 3, 4, 6]);
        let named = |(index, raw): (u32, &str)| Named { index, raw: Some(raw.to_owned()) };
        let modules: Vec<Named> =
            (0..).zip(["shop::price", "till::prices", "adapter shop#price"]).map(named).collect();
        assert_eq!(find(&modules, "price").map(|named| named.index).unwrap(), 0);
    }

    #[test]
    fn several_or_no_matches_list_candidates() {
        let error = |asked: &str| find(&functions(), asked).unwrap_err().to_string();
        assert!(error("add").contains("     3  add(int, int)\n       4  add_all"), "{}", error("add"));
        assert!(error("mian").contains("similar are\n       6  main"), "{}", error("mian"));
        assert!(error("MAIN").ends_with("     6  main"), "{}", error("MAIN"));
        assert!(error("sub").ends_with("give a name, a part of one, or an index"), "{}", error("sub"));
        assert!(error("99").contains("no function 99"));
    }

    #[test]
    fn few_and_short_candidates_are_listed() {
        let long = format!("f<{}>", "int, ".repeat(99));
        let many: Vec<Named> =
            (0..9).map(|index| Named { index, raw: Some(format!("{long}::g{index}()")) }).collect();
        let error = find(&many, "g").unwrap_err().to_string();
        assert!(error.lines().count() == 7 && error.ends_with("  and 4 more"), "{error}");
        assert!(
            error.contains("f<…>::g3()") && error.lines().all(|line| line.chars().count() < 110),
            "{error}"
        );
    }

    #[test]
    fn names_are_in_full_where_that_is_wanted_only() {
        let raw = "_ZN4core3fmt5write17h0123456789abcdefE";
        let shown = || of_symbol("std::map<int, int, std::less<int>, std::allocator<int>>::at(int)");
        let short = shown();
        let full = shown_in_full(true, || (shown(), shown_in_full(false, shown)));
        assert!(full.0.len() > short.len(), "{full:?}");
        assert_eq!((full.1, shown()), (short.clone(), short));
        let panicked = std::panic::catch_unwind(|| shown_in_full(true, || panic!("{}", of_symbol(raw))));
        assert!(panicked.is_err() && !are_in_full());
    }

    #[test]
    fn names_cannot_control_the_terminal() {
        assert_eq!(functions()[4].shown(), "\u{fffd}[2J");
    }
}
