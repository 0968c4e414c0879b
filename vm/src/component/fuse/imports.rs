//! What the adapters of a module import, each once.

use wasm_encoder::ValType;

use crate::component::plan::{AdapterImport, CoreItem, Imported, ModuleSource, Plan};
use crate::imports::fits;
use crate::runtime::values::handles::ComponentInstance;
use crate::{ExternType, FuncType, MemoryType};

/// The imports of a module.
pub struct Imports<'p> {
    plan: &'p Plan,
    list: Vec<(AdapterImport, ExternType)>,
}

impl<'p> Imports<'p> {
    /// Creates an empty list for a module of this plan.
    pub fn new(plan: &'p Plan) -> Self {
        Imports { plan, list: Vec::new() }
    }

    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Forgets all but the first `len` imports.
    pub fn truncate(&mut self, len: usize) {
        self.list.truncate(len);
    }

    /// Returns all imports, in order.
    pub fn list(&self) -> Vec<AdapterImport> {
        self.list.iter().map(|(import, _)| import.clone()).collect()
    }

    /// Returns all imports with their types, in order.
    pub fn types(&self) -> impl Iterator<Item = (&AdapterImport, &ExternType)> {
        self.list.iter().map(|(import, ty)| (import, ty))
    }

    /// Returns the index of a function of a core instance; `None` if it does not have that type.
    pub fn func(&mut self, item: &CoreItem, ty: FuncType) -> Option<u32> {
        self.item(item, ExternType::Func(ty))
    }

    /// Returns the index of a memory of a core instance; `None` if it is no usual one.
    pub fn memory(&mut self, item: &CoreItem) -> Option<u32> {
        self.item(item, ExternType::Memory(MemoryType::new(0, None)))
    }

    /// Returns the index of the function that traps.
    pub fn fail(&mut self) -> u32 {
        let ty = FuncType::new([crate::ValType::I32, crate::ValType::I64, crate::ValType::I64], []);
        self.add(AdapterImport::Fail, ExternType::Func(ty))
    }

    /// Returns the index of the function that checks text in a memory.
    pub fn check_text(&mut self, memory: &CoreItem) -> u32 {
        let ty = FuncType::new([crate::ValType::I32, crate::ValType::I32], []);
        self.add(AdapterImport::CheckText(memory.clone()), ExternType::Func(ty))
    }

    /// Returns the index of the global with the flags of an instance.
    pub fn flags(&mut self, instance: u32) -> u32 {
        self.add(AdapterImport::Flags(instance), ExternType::Global(ComponentInstance::flags_type()))
    }

    fn item(&mut self, item: &CoreItem, ty: ExternType) -> Option<u32> {
        let found = self.type_of(item)?;
        fits(&ty, &found).then(|| self.add(AdapterImport::Item(item.clone()), ty))
    }

    fn add(&mut self, import: AdapterImport, ty: ExternType) -> u32 {
        let is_alike = |other: &ExternType| std::mem::discriminant(other) == std::mem::discriminant(&ty);
        // Items of each kind have indices of their own.
        let mut alike = self.list.iter().filter(|(_, other)| is_alike(other));
        let count = alike.clone().count();
        // A function may be imported as two types, of which one is another's supertype.
        match alike.position(|(known, other)| *known == import && *other == ty) {
            Some(index) => index as u32,
            None => {
                self.list.push((import, ty));
                count as u32
            }
        }
    }

    /// Returns the type of an item of a core instance; trampolines, and what the host has, are none.
    fn type_of(&self, item: &CoreItem) -> Option<ExternType> {
        let CoreItem::Export { instance, name } = item else { return None };
        match self.plan.core_instances[*instance as usize] {
            ModuleSource::Own(module) => self.plan.modules[module as usize].get_export(name),
            ModuleSource::Imported(import) => {
                let Imported::Module(ty) = &self.plan.imports[import as usize].item else { return None };
                let mut exports = ty.exports.iter();
                exports.find(|(exported, _)| **exported == **name).map(|(_, ty)| ty.clone())
            }
        }
    }
}

/// Returns a type of numbers as the encoder has it; `None` for any other.
pub fn core(ty: &crate::ValType) -> Option<ValType> {
    Some(match ty {
        crate::ValType::I32 => ValType::I32,
        crate::ValType::I64 => ValType::I64,
        crate::ValType::F32 => ValType::F32,
        crate::ValType::F64 => ValType::F64,
        _ => return None,
    })
}
