//! The names of a module, its functions and its types, for display.
//!
//! They come from the readable part of the "name" custom section of the module or its debug file, or else from DWARF;
//! functions that neither names have the names of exports and imports. Bad data is ignored.

use std::fmt::{self, Write};

use hashbrown::HashMap;
use wprof_jit::module::{Entity, ModuleInfo};
use wprof_profiler::NameSection;

/// The names of one module.
#[derive(Debug, Default)]
pub struct Names {
    module: Option<String>,
    funcs: HashMap<u32, String>,
    types: HashMap<u32, String>,
}

impl Names {
    /// Collects the names of `info`. If it has no name section, `other` provides one; if there are no names of
    /// functions either, `dwarf` does.
    pub fn read<'s>(
        info: &'s ModuleInfo,
        other: impl FnOnce() -> Option<&'s [u8]>,
        dwarf: impl FnOnce() -> HashMap<u32, String>,
    ) -> Names {
        let mut names = Names::default();
        if let Some(section) = info.custom_section("name").or_else(other) {
            names.add_section(section);
        }
        if names.funcs.is_empty() {
            names.funcs = dwarf();
        }
        for (name, entity) in &info.exports {
            names.add_entity(name, *entity);
        }
        for import in &info.imports {
            names.add_entity(&import.name, import.entity);
        }
        names
    }

    /// Returns the module's name.
    pub fn module(&self) -> Option<&str> {
        self.module.as_deref()
    }

    /// Returns the name of function `func`.
    pub fn func(&self, func: u32) -> Option<&str> {
        self.funcs.get(&func).map(String::as_str)
    }

    /// Returns the name of type `ty`.
    pub fn ty(&self, ty: u32) -> Option<&str> {
        self.types.get(&ty).map(String::as_str)
    }

    /// Returns all functions with names.
    pub fn funcs(&self) -> impl Iterator<Item = (u32, &str)> {
        self.funcs.iter().map(|(&func, name)| (func, name.as_str()))
    }

    fn add_section(&mut self, section: &[u8]) {
        let NameSection { module, functions, types } = NameSection::read(section);
        self.module = module.map(ToOwned::to_owned);
        self.types.extend(types.into_iter().map(|(ty, name)| (ty, name.to_owned())));
        self.funcs.extend(functions.into_iter().map(|(func, name)| (func, name.to_owned())));
    }

    fn add_entity(&mut self, name: &str, entity: Entity) {
        if let Entity::Func(func) = entity {
            self.funcs.entry(func).or_insert_with(|| name.to_string());
        }
    }
}

/// Returns the source form of a mangled Rust or C++ name, unless it is longer than 64 KiB: each part of a mangled name
/// can repeat all parts before it. Returns any other name unchanged.
pub fn demangle(name: &str) -> String {
    demangle_rust(name).or_else(|| demangle_cpp(name)).unwrap_or_else(|| name.to_string())
}

fn demangle_rust(name: &str) -> Option<String> {
    let rust = rustc_demangle::try_demangle(name).ok()?;
    let mut text = Short::default();
    write!(text, "{rust:#}").ok()?;
    Some(text.0)
}

fn demangle_cpp(name: &str) -> Option<String> {
    let whole = || cpp_demangle::Symbol::new(name.to_owned()).ok();
    let cpp = name.starts_with("_Z").then(|| whole().or_else(|| parsed_in_part(name))).flatten()?;
    let mut text = Short::default();
    cpp.structured_demangle(&mut text, &cpp_demangle::DemangleOptions::default()).ok()?;
    Some(text.0)
}

/// The maximum number of beginnings of a name that are tried, and the length of the longest name of which they are.
const MOST_TRIED: usize = 64;
const LONGEST_TRIED: usize = 1 << 13;

/// Returns what the demangler makes of a name that it does not know whole: without the marks of declarations of template
/// parameters, or else of its beginning, without the last template arguments and what follows them.
fn parsed_in_part(name: &str) -> Option<cpp_demangle::Symbol<String>> {
    if name.len() > LONGEST_TRIED {
        return None;
    }
    let parsed = |name: String| cpp_demangle::Symbol::new(name).ok();
    let mut parts = parts(name);
    // The type of a value that follows such a mark then counts as a template argument of its own. It stays, as later parts
    // of the name refer to earlier ones by number.
    parts.retain(|part| !["Tn", "Tp"].contains(part));
    let arguments = (0..parts.len()).rev().filter(|&at| parts[at] == "I").take(MOST_TRIED);
    let beginnings = || arguments.flat_map(|at| [parts[..at].concat() + "E", parts[..at].concat()]);
    parsed(parts.concat()).or_else(|| beginnings().find_map(parsed))
}

/// Returns the parts of a mangled name: identifiers with their lengths, marks of declarations, and single characters.
fn parts(name: &str) -> Vec<&str> {
    let (mut parts, mut at) = (Vec::new(), 0);
    while let Some(first) = name[at..].chars().next() {
        let (before, rest) = name.split_at(at);
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        // Other numbers than lengths are those of a reference, an array or a literal.
        let is_length = digits > 0 && !before.ends_with(['S', 'T', 'A']) && !is_literal(before);
        let length = match rest[..digits].parse::<usize>() {
            Ok(length) if is_length => digits.saturating_add(length),
            _ if ["Tn", "Tp"].iter().any(|mark| rest.starts_with(mark)) => 2,
            _ => digits.max(first.len_utf8()),
        };
        let part = rest.get(..length).unwrap_or(&rest[..first.len_utf8()]);
        parts.push(part);
        at += part.len();
    }
    parts
}

/// Reports whether a mangled name ends with `L` and the letter of a type, perhaps with the sign of a number behind it.
fn is_literal(text: &str) -> bool {
    let mut letters = text.strip_suffix('n').unwrap_or(text).bytes().rev();
    letters.next().is_some_and(|letter| letter.is_ascii_lowercase()) && letters.next() == Some(b'L')
}

/// A text of at most [`MOST_DEMANGLED`] bytes.
#[derive(Default)]
struct Short(String);

const MOST_DEMANGLED: usize = 1 << 16;

impl Write for Short {
    fn write_str(&mut self, more: &str) -> fmt::Result {
        if self.0.len() + more.len() > MOST_DEMANGLED {
            return Err(fmt::Error);
        }
        self.0.push_str(more);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rust_and_cpp_names_are_demangled_and_others_kept() {
        assert_eq!(
            demangle("_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE"),
            "core::fmt::Write::write_fmt"
        );
        assert_eq!(demangle("_Z3addii"), "add(int, int)");
        assert_eq!(demangle("memcpy"), "memcpy");
    }

    /// What libc++ 19 has, as clang 19 mangles it.
    #[test]
    fn declarations_of_template_parameters_do_not_keep_names_mangled() {
        let copy = "_ZNSt3__219__constexpr_memmoveB8nn190107IiiTnNS_9enable_ifIXsr23__is_always_bitcastableIT0_T_EE5valueEiE4typeELi0EEEPS3_S6_PS2_NS_15__element_countE";
        assert_eq!(
            demangle(copy),
            "int* std::__2::__constexpr_memmove[abi:nn190107]<int, int, std::__2::enable_if<__is_always_bitcastable<int, \
             int>::value, int>::type, 0>(int*, int*, std::__2::__element_count)"
        );
        let simple = "_Z1fIiTnNSt9enable_ifILb1EiE4typeELi0EEvT_";
        assert_eq!(demangle(simple), "void f<int, std::enable_if<true, int>::type, 0>(int)");
    }

    #[test]
    fn names_that_are_not_known_whole_have_their_beginning() {
        let leaf = "_ZNSt3__212__tuple_leafILm0EONS_12basic_stringIcNS_11char_traitsIcEENS_9allocatorIcEEEELb0EEC2B8nn190107IS6_TnNS_9enable_ifIXsr4_AndINS_17integral_constantIbXntu9__is_sameu14__remove_cvrefIT_ES8_EEEENS_16is_constructibleIS7_JSC_EEEEE5valueEiE4typeELi0EEEOSC_";
        assert_eq!(demangle(leaf), "std::__2::__tuple_leaf");
        for name in ["_Z", "_Z99Tn", "_ZI", "_Zé9éI", "_ZNI"] {
            assert_eq!(demangle(name), name);
        }
    }

    #[test]
    fn marks_in_identifiers_and_numbers_of_literals_are_left_alone() {
        let divided =
            [("_Z4fTn1i", 4), ("Li42E", 4), ("TnS10_", 4), ("9999999999999999999999", 1), ("3é", 2)];
        for (name, count) in divided {
            let found = parts(name);
            assert_eq!((found.len(), found.concat()), (count, name.to_owned()), "{name}: {found:?}");
        }
    }

    /// Each of the substitutions contains the previous type twice.
    #[test]
    fn names_that_repeat_themselves_without_end_stay_mangled() {
        let pair = |of: &str| format!("St4pairI{of}{of}E");
        let digit = |number: usize| char::from(b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[number]);
        let mut name = format!("_Z1f{}", pair("i"));
        for number in 0..34 {
            name += &pair(&format!("S{}_", digit(number)));
        }
        assert!(name.len() < 1000 && demangle(&name).len() <= MOST_DEMANGLED);
        assert_eq!(demangle("_Z1fSt4pairIiiE"), "f(std::pair<int, int>)");
    }
}
