//! The core modules of one component, and the names by which these are told apart.
//!
//! Invariant: no two of them have the same name. Names are made when they are first asked for: reading those of modules takes
//! time.

use std::sync::{Arc, OnceLock, Weak};

use super::{Module, ModuleInner};

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
            let own = |module: &Weak<ModuleInner>| module.upgrade()?.names().module().map(str::to_owned);
            let own: Vec<Option<String>> = self.modules.iter().map(|(_, module)| own(module)).collect();
            let mut names: Vec<String> = Vec::new();
            for ((number, _), name) in self.modules.iter().zip(&own) {
                let is_only = own.iter().filter(|other| *other == name).count() == 1;
                let mut shown = match name.as_deref().filter(|name| !name.is_empty()) {
                    Some(name) if is_only => name.to_owned(),
                    Some(name) => format!("{name}#{number}"),
                    None => format!("core{number}"),
                };
                // Nothing keeps a module from having the name that another one is given here.
                while names.contains(&shown) {
                    shown.push('+');
                }
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
