//! The module of adapters, as bytes.

use hashbrown::HashMap;
use wasm_encoder::{
    CodeSection, EntityType, ExportKind, ExportSection, Function, FunctionSection, GlobalType, ImportSection,
    MemoryType, Module, NameMap, NameSection, TypeSection, ValType,
};

use super::imports::{Imports, core};
use crate::component::plan::{AdapterImport, CoreItem};
use crate::{ExternType, FuncType};

/// A function of the module.
pub struct Adapter {
    pub name: String,
    pub ty: FuncType,
    pub code: Function,
}

/// Writes a module, which exports its functions by their numbers.
pub fn encode(imports: &Imports<'_>, adapters: &[Adapter]) -> Vec<u8> {
    let (mut types, mut section, mut names) = (Types::default(), ImportSection::new(), NameMap::new());
    let mut funcs = 0;
    for (import, ty) in imports.types() {
        let name = name(import);
        let entity = match ty {
            ExternType::Func(ty) => {
                names.append(funcs, &name);
                funcs += 1;
                EntityType::Function(types.index(ty))
            }
            ExternType::Memory(_) => EntityType::Memory(MEMORY),
            _ => EntityType::Global(FLAGS),
        };
        section.import("component", &name, entity);
    }
    let (mut functions, mut exports, mut code) =
        (FunctionSection::new(), ExportSection::new(), CodeSection::new());
    for (number, adapter) in (0..).zip(adapters) {
        functions.function(types.index(&adapter.ty));
        exports.export(&number.to_string(), ExportKind::Func, funcs + number);
        code.function(&adapter.code);
        names.append(funcs + number, &format!("adapter {}", adapter.name));
    }
    let mut all = NameSection::new();
    all.module("adapters");
    all.functions(&names);
    let mut module = Module::new();
    module.section(&types.section).section(&section).section(&functions).section(&exports).section(&code);
    module.section(&all);
    module.finish()
}

const MEMORY: MemoryType =
    MemoryType { minimum: 0, maximum: None, memory64: false, shared: false, page_size_log2: None };
const FLAGS: GlobalType = GlobalType { val_type: ValType::I32, mutable: true, shared: false };

fn name(import: &AdapterImport) -> String {
    match import {
        AdapterImport::Fail => "trap".to_owned(),
        AdapterImport::CheckText(_) => "check text".to_owned(),
        AdapterImport::Item(CoreItem::Export { name, .. }) => name.to_string(),
        AdapterImport::Item(_) => "item".to_owned(),
        AdapterImport::Flags(instance) => format!("flags {instance}"),
    }
}

/// The types of functions, each once.
#[derive(Default)]
struct Types {
    section: TypeSection,
    known: HashMap<FuncType, u32>,
}

impl Types {
    fn index(&mut self, ty: &FuncType) -> u32 {
        if let Some(&index) = self.known.get(ty) {
            return index;
        }
        let vals = |types: Vec<crate::ValType>| types.iter().filter_map(core).collect::<Vec<ValType>>();
        self.section.ty().function(vals(ty.params().collect()), vals(ty.results().collect()));
        let index = self.known.len() as u32;
        self.known.insert(ty.clone(), index);
        index
    }
}
