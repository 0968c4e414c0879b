//! The core modules of a component, and the places that they have in its profile.
//!
//! Invariant: places depend on the component alone, so profiles of several runs have a sum. Function indices count through
//! all modules; offsets are those in the component's file, and adapters lie behind its end.

use wprof_profiler::{CodeStats, ModulePart};

use crate::Module;
use crate::module::Siblings;

/// A core module of a component, and the place of its code in the component's profile.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CoreModule {
    /// The module.
    pub module: Module,
    /// The index that its first function has in the profile.
    pub first_function: u32,
    /// The offset that its first byte has in the profile, in bytes.
    pub first_offset: u32,
}

/// Places the core modules of a component of `len` bytes, given with their beginnings in the file, and adapters behind them.
pub(super) fn place<'m>(
    len: usize,
    own: impl Iterator<Item = (usize, &'m Module)>,
    adapters: impl Iterator<Item = &'m Module>,
) -> Vec<CoreModule> {
    let mut all: Vec<CoreModule> = Vec::new();
    let mut numbered: Vec<(usize, &Module)> = Vec::new();
    let (mut function, mut end) = (0_u32, len);
    let own = own.map(|(begin, module)| (Some(begin), module));
    for (number, (begin, module)) in own.chain(adapters.map(|module| (None, module))).enumerate() {
        if numbered.iter().any(|(_, known)| known.is(module)) {
            continue;
        }
        let begin = begin.unwrap_or_else(|| {
            let begin = end;
            end = begin.saturating_add(module.info().bytes.len());
            begin
        });
        let first_offset = u32::try_from(begin).unwrap_or(u32::MAX);
        all.push(CoreModule { module: module.clone(), first_function: function, first_offset });
        function = function.saturating_add(module.info().funcs.len() as u32);
        numbered.push((number, module));
    }
    Siblings::introduce(&numbered);
    all
}

impl CoreModule {
    /// Returns what the profile of a component with several modules says of it, before it ran.
    pub fn part(&self) -> ModulePart {
        ModulePart {
            name: self.module.name_in_component().unwrap_or_default().to_owned(),
            module_hash: self.module.hash(),
            first_function: self.first_function,
            first_offset: self.first_offset,
            code: CodeStats { functions: self.module.info().defined_funcs().into(), ..CodeStats::default() },
        }
    }
}
