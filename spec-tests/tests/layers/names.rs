//! The names in the root of a crate, and the modules that define them.

use std::collections::BTreeMap;

use crate::tokens::{tokens, without_tests};

/// The exports of a file: by name, the module from which the file reexports it; `None` if the file defines it.
#[derive(Default)]
struct Exports {
    modules: Vec<String>,
    names: BTreeMap<String, Option<String>>,
    /// The modules whose names are all reexported.
    all_of: Vec<String>,
}

/// The words before the name of an item.
pub const ITEMS: [&str; 9] =
    ["struct", "enum", "trait", "fn", "const", "static", "type", "union", "macro_rules"];

impl Exports {
    fn new(text: &str) -> Exports {
        let tokens = without_tests(&tokens(text));
        let mut exports = Exports::default();
        for at in 0..tokens.len() {
            match tokens[at].as_str() {
                "mod" => exports.modules.extend(tokens.get(at + 1).cloned()),
                "use" => exports.add_import(&tokens[at + 1..]),
                "macro_rules" => exports.add_own(tokens.get(at + 2)),
                item if ITEMS.contains(&item) => exports.add_own(tokens.get(at + 1)),
                _ => {}
            }
        }
        exports
    }

    fn add_own(&mut self, name: Option<&String>) {
        self.names.extend(name.map(|name| (name.clone(), None)));
    }

    /// Adds the names of an import of a path, with or without a group.
    fn add_import(&mut self, tokens: &[String]) {
        let path: Vec<&str> = tokens.iter().take_while(|token| *token != ";").map(String::as_str).collect();
        let path = match path[..] {
            ["crate" | "self", ":", ":", ref rest @ ..] => rest,
            ref path => path,
        };
        let [module, ":", ":", behind @ ..] = path else { return };
        if behind.contains(&"*") {
            self.all_of.push((*module).into());
        }
        // The last word of each path is the name that it introduces.
        for (at, word) in behind.iter().enumerate() {
            let is_last = matches!(behind.get(at + 1), None | Some(&"," | &"}"));
            if is_last && word.starts_with(|c: char| c.is_alphabetic() || c == '_') {
                self.names.insert((*word).into(), Some((*module).into()));
            }
        }
    }
}

/// The root of a crate.
pub struct Root {
    modules: Vec<String>,
    /// The defining module of each name; `None` if the root itself defines it.
    names: BTreeMap<String, Option<String>>,
}

impl Root {
    /// Reads the root of a crate with this `lib.rs`; `read` returns the text of a module.
    pub fn new(lib: &str, read: &dyn Fn(&str) -> String) -> Root {
        let Exports { modules, mut names, all_of } = Exports::new(lib);
        for module in all_of.iter().filter(|module| modules.contains(module)) {
            for name in Exports::new(&read(module)).names.into_keys() {
                names.entry(name).or_insert_with(|| Some(module.clone()));
            }
        }
        names.retain(|_, from| from.as_ref().is_none_or(|from| modules.contains(from)));
        Root { modules, names }
    }

    /// Returns the modules of the crate.
    pub fn modules(&self) -> impl Iterator<Item = &str> {
        self.modules.iter().map(String::as_str)
    }

    /// Returns the module that a name is, or that defines it; `Some(None)` if the root defines it, `None` if there is
    /// no such name.
    pub fn module_of<'a>(&'a self, name: &'a str) -> Option<Option<&'a str>> {
        if self.modules.iter().any(|module| module == name) {
            return Some(Some(name));
        }
        self.names.get(name).map(|from| from.as_deref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_from_where_they_are_exported() {
        let lib =
            "mod a; pub mod b { } pub use a::{A, c::C as D, e}; pub use b::*; use std::fmt; fn own() {}";
        let root = Root::new(lib, &|module| format!("pub use x::{{F}}; pub struct Of{module}; mod hidden;"));
        let from = |name: &str| root.module_of(name).map(|module| module.map(str::to_string));
        let of = |module: &str| Some(Some(module.to_string()));
        assert_eq!(root.modules().collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(["a", "A", "D", "e"].map(from), [of("a"), of("a"), of("a"), of("a")]);
        assert_eq!(["F", "Ofb"].map(from), [of("b"), of("b")]);
        assert_eq!(["own", "fmt", "C", "hidden"].map(from), [Some(None), None, None, None]);
    }
}
