//! The owners of the functions that a page shows, which decide their colours.
//!
//! Input: the module and the rules of ownership, and the inlined functions that [`Owners::add`] is shown. Output: the
//! [`Owner`] of each callee.

use std::collections::HashMap;

use wprof::FrameSymbol;
use wprof_profiler::Callee;

use crate::ownership::{self, Owner};
use crate::render::view::View;

/// The owners of the functions of a profile.
#[derive(Debug)]
pub struct Owners<'a> {
    view: View<'a>,
    /// The owners of inlined functions, by their names in the debug information.
    inlined: HashMap<String, Owner>,
}

impl<'a> Owners<'a> {
    /// Returns the owners of the view's functions; none that is inlined is known yet.
    pub fn new(view: &View<'a>) -> Self {
        Self { view: *view, inlined: HashMap::new() }
    }

    /// Adds an inlined function.
    pub fn add(&mut self, symbol: &FrameSymbol) {
        if let Some(name) = symbol.name() {
            let owner = self.view.ownership.of_symbol(symbol);
            self.inlined.entry(name.to_owned()).or_insert(owner);
        }
    }

    /// Returns the owner of a function of the module.
    pub fn of_function(&self, index: u32, name: Option<&str>) -> Owner {
        let part = self.view.profile.part_of(index);
        let name = name.map(|name| part.map_or(name, |part| part.own_name(name)));
        self.view.ownership.of_function(self.view.program, index, name)
    }

    /// Returns the owner of a callee.
    pub fn owner(&self, callee: &Callee) -> Owner {
        match callee {
            Callee::Function { index, name } => self.of_function(*index, name.as_deref()),
            Callee::Elsewhere { name, .. } => ownership::of_name(name.as_deref().unwrap_or_default()),
            Callee::Inlined { name } => {
                self.inlined.get(name).copied().unwrap_or_else(|| ownership::of_name(name))
            }
            Callee::Root | Callee::Host { .. } | Callee::Thread { .. } => Owner::Runtime,
            Callee::Beyond | Callee::Engine | Callee::Collector => Owner::Runtime,
        }
    }
}
