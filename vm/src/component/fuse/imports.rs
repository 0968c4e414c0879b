//! What the adapters of a module import, each once.

use hashbrown::HashMap;
use smallvec::SmallVec;
use wasm_encoder::ValType;

use crate::component::plan::{AdapterImport, CoreItem, Imported, ModuleSource, Plan};
use crate::imports::fits;
use crate::runtime::values::handles::ComponentInstance;
use crate::{ExternType, FuncType, MemoryType};

/// The imports of a module.
pub struct Imports<'p> {
    plan: &'p Plan,
    list: Vec<(AdapterImport, ExternType)>,
    /// The numbers in the list, and the indices, of what an item is imported as: a function may be imported as two types,
    /// of which one is another's supertype.
    known: HashMap<AdapterImport, SmallVec<[(usize, u32); 1]>>,
    /// How many functions, memories and globals there are: items of each kind have indices of their own.
    counts: [u32; 3],
}

impl<'p> Imports<'p> {
    /// Creates an empty list for a module of this plan.
    pub fn new(plan: &'p Plan) -> Self {
        Imports { plan, list: Vec::new(), known: HashMap::new(), counts: [0; 3] }
    }

    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Forgets all but the first `len` imports.
    pub fn truncate(&mut self, len: usize) {
        for (import, ty) in self.list.drain(len..) {
            self.counts[kind(&ty)] -= 1;
            self.known.entry(import).or_default().pop();
        }
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
        let known = self.known.entry(import.clone()).or_default();
        if let Some((_, index)) = known.iter().find(|(number, _)| self.list[*number].1 == ty) {
            return *index;
        }
        let count = &mut self.counts[kind(&ty)];
        let index = *count;
        *count += 1;
        known.push((self.list.len(), index));
        self.list.push((import, ty));
        index
    }

    /// Returns the type of an item of a core instance; trampolines, and what the host has, are none.
    fn type_of(&self, item: &CoreItem) -> Option<ExternType> {
        let CoreItem::Export { instance, name } = item else { return None };
        match self.plan.core_instances[*instance as usize] {
            ModuleSource::Own(module) => self.plan.modules[module as usize].get_export(name),
            ModuleSource::Imported(import) => {
                let Imported::Module(ty) = &self.plan.imports[import as usize].item else { return None };
                ty.export(name).cloned()
            }
        }
    }
}

/// Returns the number of a kind of items.
fn kind(ty: &ExternType) -> usize {
    match ty {
        ExternType::Func(_) => 0,
        ExternType::Memory(_) => 1,
        _ => 2,
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
