//! The names of a module and its functions, for display.
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

    /// Returns all functions with names.
    pub fn funcs(&self) -> impl Iterator<Item = (u32, &str)> {
        self.funcs.iter().map(|(&func, name)| (func, name.as_str()))
    }

    fn add_section(&mut self, section: &[u8]) {
        let NameSection { module, functions } = NameSection::read(section);
        self.module = module.map(ToOwned::to_owned);
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
    let cpp = name.starts_with("_Z").then(|| cpp_demangle::Symbol::new(name).ok()).flatten()?;
    let mut text = Short::default();
    cpp.structured_demangle(&mut text, &cpp_demangle::DemangleOptions::default()).ok()?;
    Some(text.0)
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
