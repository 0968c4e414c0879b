//! The code of a program that ran: one module, or the core modules of a component.
//!
//! Invariant: function indices and code offsets are those of the program's profile, which count through all modules; what a
//! module itself says is translated here, and nowhere else.

use std::collections::HashMap;

use wprof::component::{Component, CoreModule};
use wprof::{FrameSymbol, Module, SourceRow};
use wprof_jit::module::{Entity, Import};
use wprof_profiler::{Callee, CodeRange, CodeShift, FunctionProfile, ModulePart, Profile};

use crate::disassembly::{self, Line};
use crate::error::{Context, Error, Result};
use crate::names::{self, Named};
use crate::tries::{self, Tried};

/// The code of a program: for source lines, instructions and names. It is cheap to clone.
#[derive(Clone, Debug)]
pub struct Program {
    /// The modules, by ascending places.
    parts: Vec<Part>,
    /// The hash that profiles of the program have.
    hash: Option<[u8; 32]>,
}

/// A module of a program.
#[derive(Clone, Debug)]
struct Part {
    module: Module,
    /// How far its functions and offsets in the profile are from its own.
    shift: CodeShift,
    /// What profiles say of it, if there are several modules.
    among: Option<ModulePart>,
}

impl From<&Module> for Program {
    fn from(module: &Module) -> Self {
        let part = Part { module: module.clone(), shift: CodeShift::default(), among: None };
        Self { parts: vec![part], hash: None }
    }
}

impl From<Module> for Program {
    fn from(module: Module) -> Self {
        Self::from(&module)
    }
}

impl From<&Component> for Program {
    fn from(component: &Component) -> Self {
        let all = component.core_modules();
        if let [only] = all {
            return Self::from(&only.module);
        }
        let part = |core: &CoreModule| {
            let among = core.part();
            Part { module: core.module.clone(), shift: among.shift(), among: Some(among) }
        };
        Self { parts: all.iter().map(part).collect(), hash: Some(component.hash()) }
    }
}

impl Program {
    /// Reports whether a profile with this hash is of the program.
    pub fn has_hash(&self, hash: &[u8; 32]) -> bool {
        match (&self.hash, &self.parts[..]) {
            (None, [only]) => only.module.has_hash(hash),
            (own, _) => own.as_ref() == Some(hash),
        }
    }

    /// Returns its modules.
    pub fn modules(&self) -> impl Iterator<Item = &Module> {
        self.parts.iter().map(|part| &part.module)
    }

    /// Gives the functions of a profile the names that the program has for them: what ran may have been stripped.
    pub fn name_functions(&self, profile: &mut Profile) {
        profile.rename(|index, _| self.func_name(index));
    }

    /// Returns the display name of a function as profiles have it, or the module's own name for it if that is the only
    /// module; `None` if it has none, or does not exist.
    pub(crate) fn func_name(&self, func: u32) -> Option<String> {
        let (part, own) = self.part_of(func)?;
        let name = part.module.func_name(own);
        match &part.among {
            Some(among) => Some(among.name_of(own, name.map(wprof::demangle).as_deref())),
            None => name.map(str::to_owned),
        }
    }

    /// Returns the name that a function's own module has for it.
    pub(crate) fn own_name(&self, func: u32) -> Option<&str> {
        let (part, own) = self.part_of(func)?;
        part.module.func_name(own)
    }

    /// Returns the functions that have a body, ascending by index.
    pub(crate) fn functions(&self) -> Vec<Named> {
        let of_part = |part: &Part| {
            let mut all = names::of_module(&part.module);
            for named in &mut all {
                named.index = named.index.wrapping_add(part.shift.functions);
                named.raw = self.func_name(named.index);
            }
            all
        };
        self.parts.iter().flat_map(of_part).collect()
    }

    /// Reports whether a function has a body.
    pub(crate) fn is_defined(&self, func: u32) -> bool {
        self.part_of(func).is_some_and(|(part, own)| !part.module.info().is_imported_func(own))
    }

    /// Returns the source functions and lines at an offset, innermost inlined function first.
    pub(crate) fn symbols_at(&self, offset: u32) -> Vec<FrameSymbol> {
        self.part_at(offset).map_or_else(Vec::new, |(part, own)| part.module.symbols_at(own))
    }

    /// Returns the code of a function that has a body.
    pub(crate) fn body(&self, func: u32) -> Option<CodeRange> {
        let (part, own) =
            self.part_of(func).filter(|(part, own)| !part.module.info().is_imported_func(*own))?;
        let body = part.module.info().body(own);
        let at = |own: usize| (own as u32).wrapping_add(part.shift.offsets);
        Some(CodeRange { start: at(body.start), end: at(body.end) })
    }

    /// Returns the code of the function that contains an offset.
    pub(crate) fn body_at(&self, offset: u32) -> Option<CodeRange> {
        let (part, own) = self.part_at(offset)?;
        let func = part.module.info().func_at(own as usize)?;
        self.body(func.wrapping_add(part.shift.functions))
    }

    /// Returns the profile of a function that did not run.
    ///
    /// # Errors
    /// Returns an error if there is no such function, or if it exceeds a limit of the compiler.
    pub(crate) fn idle_function(&self, func: u32) -> Result<FunctionProfile> {
        let (part, own) = self.needed(func)?;
        let idle = part.module.idle_function(own)?.moved(part.shift);
        Ok(FunctionProfile { name: self.func_name(func), ..idle })
    }

    /// Returns the source lines of all code, by ascending offset.
    pub(crate) fn source_rows(&self) -> Vec<SourceRow> {
        let of_part = |part: &Part| {
            let mut rows: Vec<SourceRow> = part.module.source_rows();
            rows.iter_mut().for_each(|row| row.offset = row.offset.wrapping_add(part.shift.offsets));
            rows
        };
        self.parts.iter().flat_map(of_part).collect()
    }

    /// Returns the name of the type with this index in the module of a function.
    pub(crate) fn type_name(&self, func: u32, ty: u32) -> Option<&str> {
        self.part_of(func)?.0.module.type_name(ty)
    }

    /// Returns the `try`s of a function by ascending offset.
    pub(crate) fn tries(&self, function: &FunctionProfile) -> Vec<Tried> {
        let Some((part, _)) = self.part_of(function.index) else { return Vec::new() };
        let own = function.clone().moved(part.shift.back());
        let mut all = tries::of_function(&part.module, &own);
        all.iter_mut().for_each(|tried| tried.at = tried.at.wrapping_add(part.shift.offsets));
        all
    }

    /// Returns the offsets of a function's instructions, ascending.
    ///
    /// # Errors
    /// Returns an error if there is no such function, or if it exceeds a limit of the compiler.
    pub(crate) fn instructions(&self, func: u32) -> Result<Vec<u32>> {
        let (part, own) = self.needed(func)?;
        let info = part.module.info();
        let cfg = wprof_jit::cfg::build(info, own).map_err(Error::told)?;
        let mut offsets = wprof_jit::cfg::instruction_offsets(info, &cfg).map_err(Error::told)?;
        offsets.iter_mut().for_each(|offset| *offset = offset.wrapping_add(part.shift.offsets));
        Ok(offsets)
    }

    /// Returns the direct calls of a function, ascending.
    ///
    /// # Errors
    /// Returns an error if there is no such function, or if it exceeds a limit of the compiler.
    pub(crate) fn calls(&self, func: u32) -> Result<Vec<(u32, Callee)>> {
        let (part, own) = self.needed(func)?;
        let info = part.module.info();
        let cfg = wprof_jit::cfg::build(info, own).map_err(Error::told)?;
        let calls = wprof_jit::cfg::direct_calls(info, &cfg).map_err(Error::told)?;
        let call = |(offset, callee): (u32, u32)| {
            (offset.wrapping_add(part.shift.offsets), self.callee(part, callee))
        };
        Ok(calls.into_iter().map(call).collect())
    }

    /// Returns the text of a function.
    ///
    /// # Errors
    /// Returns an error if the printer fails, or if there is no such function.
    pub(crate) fn disassembly(&self, func: u32) -> Result<Vec<Line>> {
        let found = self.disassembled(&[func])?.remove(&func);
        found.with_context(|| format!("function {func} is missing from the disassembly"))
    }

    /// Returns the text of those of the functions that exist, by index.
    ///
    /// # Errors
    /// Returns an error if the printer fails.
    pub(crate) fn disassembled(&self, funcs: &[u32]) -> Result<HashMap<u32, Vec<Line>>> {
        let mut all = HashMap::new();
        for part in &self.parts {
            let is_its = |func: &u32| self.part_of(*func).is_some_and(|(of, _)| std::ptr::eq(of, part));
            let own = funcs.iter().filter(|func| is_its(func));
            let own: Vec<u32> = own.map(|func| func.wrapping_sub(part.shift.functions)).collect();
            if own.is_empty() {
                continue;
            }
            for (func, mut lines) in disassembly::of_functions(&part.module, &own)? {
                let offsets = lines.iter_mut().filter_map(|line| line.offset.as_mut());
                offsets.for_each(|offset| *offset = offset.wrapping_add(part.shift.offsets));
                all.insert(func.wrapping_add(part.shift.functions), lines);
            }
        }
        Ok(all)
    }

    /// Returns what a function with this index in its own module is to a profile.
    fn callee(&self, part: &Part, own: u32) -> Callee {
        let info = part.module.info();
        if !info.is_imported_func(own) {
            let index = own.wrapping_add(part.shift.functions);
            return Callee::Function { index, name: self.func_name(index).as_deref().map(names::of_symbol) };
        }
        let is_it = |import: &&Import| import.entity == Entity::Func(own);
        let import = info.imports.iter().find(is_it);
        let [module, name] =
            import.map_or_else(Default::default, |import| [import.module.clone(), import.name.clone()]);
        Callee::Host { module, name }
    }

    fn needed(&self, func: u32) -> Result<(&Part, u32)> {
        let found = self.part_of(func).filter(|_| self.is_defined(func));
        found.with_context(|| format!("function {func} is not in the program"))
    }

    /// Returns the module that has a function, and its index there.
    fn part_of(&self, func: u32) -> Option<(&Part, u32)> {
        let at = self.parts.partition_point(|part| part.shift.functions <= func).checked_sub(1)?;
        let (part, own) = (&self.parts[at], func - self.parts[at].shift.functions);
        ((own as usize) < part.module.info().funcs.len()).then_some((part, own))
    }

    /// Returns the module that contains an offset, and the offset there.
    fn part_at(&self, offset: u32) -> Option<(&Part, u32)> {
        let at = self.parts.partition_point(|part| part.shift.offsets <= offset).checked_sub(1)?;
        Some((&self.parts[at], offset - self.parts[at].shift.offsets))
    }
}
