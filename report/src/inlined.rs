//! Source functions that are inlined into others, by the debug information.
//!
//! Input: a program, functions of it, and the name that a user asked for. Output: the places where the source function of
//! that name is inlined: the instructions that come from one call of it.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use wprof::FrameSymbol;

use crate::error::{Result, ensure};
use crate::names::{self, Named};
use crate::program::Program;
use crate::source_line::SourceLine;

/// A source function and where it is inlined.
#[derive(Clone, Debug)]
pub struct Inlined {
    /// Its display name.
    pub name: String,
    /// The places, in the order of the functions that were searched.
    pub places: Vec<Place>,
}

/// The code that comes from one call of an inlined function.
#[derive(Clone, Debug)]
pub struct Place {
    /// The function that contains the code.
    pub function: u32,
    /// The display name of the source function that calls it: that function, or another one that is inlined there.
    pub caller: String,
    /// The line of the call, if known.
    pub site: Option<SourceLine>,
    /// Offsets of the instructions, ascending.
    pub offsets: Vec<u32>,
}

/// Reports whether a name, or its last component, is the one that was asked for.
pub fn is_called(name: &str, asked: &str) -> bool {
    name == asked || name.ends_with(&format!("::{asked}"))
}

/// Reports whether a function itself is what a user asked for, rather than one that a part of its name fits.
fn has_function(functions: &[Named], asked: &str) -> bool {
    let is_asked = |named: &Named| named.raw.as_deref() == Some(asked) || is_called(&named.shown(), asked);
    asked.parse::<u32>().is_ok() || functions.iter().any(is_asked)
}

/// Finds the source function that `asked` names and that is inlined into some of `functions`; `None` if there is none, or
/// if one of `functions` itself is meant.
///
/// # Errors
/// Returns an error if several functions have this name or part of it, or if a function exceeds a limit of the compiler.
pub fn find(program: &Program, functions: &[Named], asked: &str) -> Result<Option<Inlined>> {
    if has_function(functions, asked) {
        return Ok(None);
    }
    let others = functions.iter().map(Named::shown).filter(|name| name.contains(asked)).collect();
    let mut search = Search { asked, others, shown: HashMap::new(), found: BTreeMap::new() };
    for (order, function) in functions.iter().map(|function| function.index).enumerate() {
        for offset in program.instructions(function)? {
            search.add((order, function), offset, &program.symbols_at(offset));
        }
    }
    search.only()
}

/// A call of an inlined function: the position of the function that contains it, its index, and the call.
type Call = (usize, u32, String, Option<(String, u32)>);

/// Checks that there is only one name.
///
/// # Errors
/// Returns an error with the first names if there are several.
pub fn check_only<'a>(names: impl Iterator<Item = &'a String>, asked: &str) -> Result<()> {
    const LISTED: usize = 5;
    let names: BTreeSet<&String> = names.collect();
    let listed: Vec<String> = names.iter().take(LISTED).map(|name| names::beginning(name)).collect();
    let more =
        if names.len() > LISTED { format!("\n  and {} more", names.len() - LISTED) } else { String::new() };
    ensure!(
        names.len() < 2,
        "`{asked}` matches several functions, of which some are inlined: give the whole name of one\n  {}{more}",
        listed.join("\n  ")
    );
    Ok(())
}

struct Search<'a> {
    asked: &'a str,
    /// The names of functions with code of their own of which it is a part.
    others: BTreeSet<String>,
    /// Display names by name in the debug information, if they fit.
    shown: HashMap<String, Option<String>>,
    /// By display name and call, the offsets.
    found: BTreeMap<String, BTreeMap<Call, Vec<u32>>>,
}

impl Search<'_> {
    /// Adds an instruction; the last of the symbols is the function that contains it.
    fn add(&mut self, (order, function): (usize, u32), offset: u32, symbols: &[FrameSymbol]) {
        let inlined = symbols.len().saturating_sub(1);
        // If a function is inlined into itself, the outermost call counts.
        let fitting = (0..inlined).rev().find_map(|at| Some((at, self.fitting(symbols[at].name()?)?)));
        let Some((at, name)) = fitting else { return };
        let caller = &symbols[at + 1];
        let site = caller.file().map(str::to_owned).zip(caller.line().filter(|&line| line > 0));
        let caller = caller.name().map(names::of_symbol).unwrap_or_default();
        let calls = self.found.entry(name).or_default();
        calls.entry((order, function, caller, site)).or_default().push(offset);
    }

    /// Returns the display name of a symbol if it contains what was asked for.
    fn fitting(&mut self, raw: &str) -> Option<String> {
        if let Some(known) = self.shown.get(raw) {
            return known.clone();
        }
        let shown = names::of_symbol(raw);
        let is_asked = raw == self.asked || shown.contains(self.asked);
        let fitting = is_asked.then_some(shown);
        self.shown.insert(raw.to_owned(), fitting.clone());
        fitting
    }

    /// Returns the only function with the name, or else the only one of which it is a part.
    fn only(mut self) -> Result<Option<Inlined>> {
        let asked = self.asked;
        if self.found.keys().any(|name| is_called(name, asked)) {
            self.found.retain(|name, _| is_called(name, asked));
            self.others.clear();
        }
        if self.found.is_empty() {
            return Ok(None);
        }
        check_only(self.others.iter().chain(self.found.keys()), asked)?;
        if !self.others.is_empty() {
            return Ok(None);
        }
        let Some((name, calls)) = self.found.pop_first() else { return Ok(None) };
        let place = |((_, function, caller, site), mut offsets): (Call, Vec<u32>)| {
            offsets.sort_unstable();
            let site = site.map(|(file, line)| SourceLine { file, line, inlined: None });
            Place { function, caller, site, offsets }
        };
        Ok(Some(Inlined { name, places: calls.into_iter().map(place).collect() }))
    }
}
