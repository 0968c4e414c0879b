//! Encodes trees as modules, except for the bodies of functions, which [`write`](super::write) encodes.

use wasm_encoder::{
    BlockType, CodeSection, ConstExpr, DataCountSection, DataSection, ElementSection, Elements, EntityType,
    ExportKind, ExportSection, FunctionSection, GlobalSection, GlobalType, ImportSection, MemorySection,
    MemoryType, Module, RefType, TableSection, TableType, TagKind, TagSection, TagType, TypeSection, ValType,
};

use super::atomics::Sharing;
use super::lowered::{self, ALL_FUNCTIONS, HELPERS, lower};
use super::managed;
use super::tree::Program;
use super::write::{Form, Writer, func};
use super::{CONSTANT_TABLE, DATA, GLOBALS, IMPORTS, MOST_PAGES, PASSIVE, SIGNATURES, TABLE, TABLE_ROOM};
use crate::host::ENTRIES;

/// Types that blocks need, beyond those of functions.
pub struct Types {
    /// The index of the first of these types.
    first: u32,
    all: Vec<(Vec<ValType>, Vec<ValType>)>,
}

impl Types {
    pub fn block(&mut self, params: &[ValType], results: &[ValType]) -> BlockType {
        match (params, results) {
            ([], []) => return BlockType::Empty,
            ([], [one]) => return BlockType::Result(*one),
            _ => {}
        }
        BlockType::FunctionType(self.function(params, results))
    }

    /// Returns the index of a function type, which is added if it is new.
    pub fn function(&mut self, params: &[ValType], results: &[ValType]) -> u32 {
        let wanted = (params.to_vec(), results.to_vec());
        let found = self.all.iter().position(|ty| *ty == wanted).unwrap_or_else(|| {
            self.all.push(wanted);
            self.all.len() - 1
        });
        self.first + found as u32
    }
}

impl Program {
    /// Encodes the module.
    pub fn encode(&self) -> Vec<u8> {
        self.write(self.managed.map_or(Form::Plain, Form::Managed))
    }

    /// Encodes an equivalent module without objects, exceptions, typed references and atomic instructions: see [`lowered`].
    pub fn lowered(&self) -> Vec<u8> {
        let has_more = self.managed.is_some() || self.atomics.is_some();
        self.write(if has_more { Form::Lowered } else { Form::Plain })
    }

    fn write(&self, form: Form) -> Vec<u8> {
        let has_objects = matches!(form, Form::Managed(_));
        let first = SIGNATURES.len() as u32 + if has_objects { managed::COUNT } else { 0 };
        let mut types = Types { first, all: Vec::new() };
        let mut code = CodeSection::new();
        for function in &self.functions {
            code.function(&Writer::function(function, form, &mut types));
        }
        let imports = imports(form, &mut types);
        let mut module = Module::new();
        module.section(&type_section(&types, has_objects)).section(&imports).section(&self.declarations());
        module.section(&self.tables(form)).section(&self.memories(form));
        if has_objects {
            module.section(&tags());
        }
        module.section(&globals(form)).section(&self.exports(form)).section(&self.elements(form));
        module.section(&DataCountSection { count: PASSIVE + 1 }).section(&code).section(&data());
        module.finish()
    }

    fn declarations(&self) -> FunctionSection {
        let mut section = FunctionSection::new();
        for function in &self.functions {
            section.function(function.signature);
        }
        section
    }

    /// Returns a memory with 32-bit indices and one with 64-bit indices, both growable.
    fn memories(&self, form: Form) -> MemorySection {
        let shared = self.atomics == Some(Sharing::Shared) && form != Form::Lowered;
        let mut section = MemorySection::new();
        for memory64 in [false, true] {
            let maximum = Some(MOST_PAGES);
            section.memory(MemoryType { minimum: 1, maximum, memory64, shared, page_size_log2: None });
        }
        section
    }

    fn tables(&self, form: Form) -> TableSection {
        let mut section = TableSection::new();
        let mut rooms = vec![(self.table.len() as u64, TABLE_ROOM), (self.constant.len() as u64, 0)];
        if form == Form::Lowered {
            rooms.push((self.functions.len() as u64 + 1, 0));
        }
        for (minimum, room) in rooms {
            section.table(TableType {
                element_type: RefType::FUNCREF,
                table64: false,
                minimum,
                maximum: Some(minimum + room),
                shared: false,
            });
        }
        section
    }

    fn exports(&self, form: Form) -> ExportSection {
        let func = |defined: u32| form.func(func(defined));
        let mut section = ExportSection::new();
        for (index, _) in self.functions.iter().enumerate() {
            section.export(&format!("f{index}"), ExportKind::Func, func(index as u32));
        }
        let unary = (0..self.functions.len()).rev().filter(|&f| self.functions[f].signature == 0);
        for (name, index) in ENTRIES.iter().zip(unary) {
            section.export(name, ExportKind::Func, func(index as u32));
        }
        section.export("table", ExportKind::Table, TABLE);
        section.export("memory", ExportKind::Memory, 0).export("memory64", ExportKind::Memory, 1);
        for index in 0..GLOBALS.len() as u32 {
            section.export(&format!("g{index}"), ExportKind::Global, index);
        }
        if form == Form::Lowered {
            section.export(lowered::PENDING_NAME, ExportKind::Global, lowered::PENDING);
        }
        section
    }

    fn elements(&self, form: Form) -> ElementSection {
        let func = |defined: u32| form.func(func(defined));
        let mut section = ElementSection::new();
        for (at, element) in (0..).zip(&self.table) {
            if let Some(element) = element {
                let functions = Elements::Functions(vec![func(*element)].into());
                section.active(Some(TABLE), &ConstExpr::i32_const(at), functions);
            }
        }
        let constant: Vec<u32> = self.constant.iter().map(|&element| func(element)).collect();
        section.active(Some(CONSTANT_TABLE), &ConstExpr::i32_const(0), Elements::Functions(constant.into()));
        let all: Vec<u32> = (0..self.functions.len() as u32).map(func).collect();
        if form == Form::Lowered {
            let functions = Elements::Functions(all.as_slice().into());
            section.active(Some(ALL_FUNCTIONS), &ConstExpr::i32_const(1), functions);
        }
        section.declared(Elements::Functions(all.into()));
        section
    }
}

fn type_section(types: &Types, has_objects: bool) -> TypeSection {
    let mut section = TypeSection::new();
    for (params, results) in SIGNATURES {
        section.ty().function(params.iter().copied(), results.iter().copied());
    }
    if has_objects {
        managed::define(&mut section);
    }
    for (params, results) in &types.all {
        section.ty().function(params.iter().copied(), results.iter().copied());
    }
    section
}

fn imports(form: Form, types: &mut Types) -> ImportSection {
    let mut section = ImportSection::new();
    for name in IMPORTS {
        section.import("host", name, EntityType::Function(0));
    }
    for helper in HELPERS.iter().filter(|_| form == Form::Lowered) {
        let ty = types.function(&helper.params, helper.result.as_slice());
        section.import(lowered::MODULE, &helper.to_string(), EntityType::Function(ty));
    }
    section
}

fn tags() -> TagSection {
    let mut section = TagSection::new();
    for tag in 0..managed::TAGS.len() as u32 {
        section.tag(TagType { kind: TagKind::Exception, func_type_idx: managed::tag_type(tag) });
    }
    section
}

fn globals(form: Form) -> GlobalSection {
    let mut section = GlobalSection::new();
    for val_type in GLOBALS {
        let start = match val_type {
            ValType::I64 => ConstExpr::i64_const(-7),
            ValType::F32 => ConstExpr::f32_const(1.5.into()),
            ValType::F64 => ConstExpr::f64_const(0.1.into()),
            ValType::V128 => ConstExpr::v128_const(0x0123_4567_89ab_cdef_0011_2233_4455_6677),
            _ => ConstExpr::i32_const(11),
        };
        section.global(GlobalType { val_type, mutable: true, shared: false }, &start);
    }
    let references = [managed::reference(managed::NODE), managed::ANYREF];
    // One more global holds the propagating exception.
    let more = match form {
        Form::Plain => Vec::new(),
        Form::Managed(_) => references.to_vec(),
        Form::Lowered => references.into_iter().chain([ValType::I32]).map(lower).collect(),
    };
    for val_type in more {
        let start = match val_type {
            ValType::Ref(ty) => ConstExpr::ref_null(ty.heap_type),
            _ => ConstExpr::i32_const(0),
        };
        section.global(GlobalType { val_type, mutable: true, shared: false }, &start);
    }
    section
}

/// Returns the initial contents of memories.
pub fn data_bytes() -> Vec<u8> {
    (0..1024u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect()
}

fn data() -> DataSection {
    let mut section = DataSection::new();
    let bytes = data_bytes();
    section.active(0, &ConstExpr::i32_const(16), bytes.iter().copied());
    section.active(1, &ConstExpr::i64_const(0), bytes.iter().rev().copied());
    section.passive(bytes[..DATA].iter().copied());
    section
}
