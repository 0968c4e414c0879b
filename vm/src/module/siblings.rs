//! The core modules of one component, and the names by which these are told apart.
//!
//! Invariant: no two of them have the same name, and no name is long. Names are made when they are first asked for: reading those of modules takes
//! time.

use std::sync::{Arc, OnceLock, Weak};

use hashbrown::{HashMap, HashSet};

use super::{Module, ModuleInner};

/// The longest name of a module, in characters: each of its functions has it before its own name, and a file may name a module
/// with a hundred thousand.
const LONGEST: usize = 80;

/// Returns a name, cut if it is too long.
fn cut(name: &str) -> String {
    match name.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name.to_owned(),
    }
}

/// The core modules of a component with several.
#[derive(Debug)]
pub struct Siblings {
    /// The modules, each once, with their numbers in the component.
    modules: Vec<(usize, Weak<ModuleInner>)>,
    names: OnceLock<Vec<String>>,
}

impl Siblings {
    /// Lets modules know that they belong to one component. They are given with their numbers, each once.
    pub fn introduce(modules: &[(usize, &Module)]) {
        if modules.len() < 2 {
            return;
        }
        let weak = modules.iter().map(|(number, module)| (*number, Arc::downgrade(&module.0))).collect();
        let all = Arc::new(Siblings { modules: weak, names: OnceLock::new() });
        for (_, module) in modules {
            // A module belongs to the component that has loaded it.
            let _ = module.0.siblings.set(all.clone());
        }
    }

    fn names(&self) -> &[String] {
        self.names.get_or_init(|| {
            let own = |module: &Weak<ModuleInner>| module.upgrade()?.names().module().map(cut);
            let own: Vec<Option<String>> = self.modules.iter().map(|(_, module)| own(module)).collect();
            let mut uses: HashMap<&str, u32> = HashMap::new();
            own.iter().flatten().for_each(|name| *uses.entry(name).or_default() += 1);
            let (mut names, mut taken) = (Vec::with_capacity(own.len()), HashSet::new());
            for ((number, _), name) in self.modules.iter().zip(&own) {
                let mut shown = match name.as_deref().filter(|name| !name.is_empty()) {
                    Some(name) if uses[name] == 1 => name.to_owned(),
                    Some(name) => format!("{name}#{number}"),
                    None => format!("core{number}"),
                };
                // Nothing keeps a module from having the name that another one is given here.
                while taken.contains(&shown) {
                    shown.push('+');
                }
                taken.insert(shown.clone());
                names.push(shown);
            }
            names
        })
    }
}

impl Module {
    /// Returns the name that tells it apart from the other core modules of its component: its own, if no other one has it,
    /// `name#N`, or `coreN`, where N is its number among [`Component::modules`](crate::component::Component::modules) and
    /// the adapters behind them. `None` if it belongs to no component, or is its only module.
    pub fn name_in_component(&self) -> Option<&str> {
        let all = self.0.siblings.get()?;
        let is_it = |module: &Weak<ModuleInner>| std::ptr::eq(module.as_ptr(), Arc::as_ptr(&self.0));
        let position = all.modules.iter().position(|(_, module)| is_it(module))?;
        Some(&all.names()[position])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_are_cut() {
        assert_eq!(cut("short"), "short");
        let long = "é".repeat(LONGEST);
        assert_eq!(cut(&long), long);
        assert_eq!(cut(&(long.clone() + "x")), long + "…");
    }
}
