//! Modules with much control flow, most of which runs.
//!
//! They contain nested blocks and loops, switches, values carried by branches, direct, indirect and tail calls,
//! recursion, host functions that end the program or call back, multiple results, and each kind of trap, rarely.

mod body;
mod expression;
mod statement;

use std::ops::Range;

use wasm_encoder::{
    CodeSection, ConstExpr, DataSection, ElementSection, Elements, EntityType, ExportKind, ExportSection,
    FunctionSection, GlobalSection, GlobalType, ImportSection, MemorySection, MemoryType, Module, RefType,
    TableSection, TableType, TypeSection, ValType,
};

use crate::host::{ENTRIES, FAIL, REENTER};
use crate::rng::Rng;
use body::Body;
use {ValType::I32, ValType::I64};

/// Parameters and results.
type Signature = (&'static [ValType], &'static [ValType]);

/// Types of functions and blocks; functions have one of the first [`FUNCTIONS`] types.
const SIGNATURES: [Signature; 7] = [
    (&[I32], &[I32]),
    (&[I32, I64], &[I64]),
    (&[], &[I32, I64]),
    (&[I64], &[]),
    (&[I32, I64, I32, I64, I32, I64, I32, I32], &[I64, I32, I64, I32]),
    (&[I32, I64], &[I64, I32]),
    (&[I64], &[I64]),
];
const FUNCTIONS: usize = 5;
/// The type of all imports, and of the functions that the host calls back.
const UNARY: u32 = 0;
/// Type of a block that swaps two values.
const SWAP: u32 = 5;
const IMPORTS: [&str; 3] = ["note", FAIL, REENTER];
/// Number of table elements; the last ones are null.
const ELEMENTS: u32 = 12;
const NULLS: u32 = 2;

/// Type indices of the module's functions, imports first.
struct Functions(Vec<u32>);

impl Functions {
    fn some(rng: &mut Rng, more: &Range<usize>) -> Functions {
        let mut types = vec![UNARY; IMPORTS.len() + 1];
        let more = rng.within(more);
        types.extend((0..more).map(|_| rng.below(FUNCTIONS) as u32));
        Functions(types)
    }

    fn signature(&self, func: u32) -> Signature {
        SIGNATURES[self.0[func as usize] as usize]
    }

    fn defined(&self) -> std::ops::Range<u32> {
        IMPORTS.len() as u32..self.0.len() as u32
    }
}

/// The sizes of a module.
struct Sizes {
    /// How many functions it has beside the first one.
    functions: Range<usize>,
    /// About how many instructions a function has.
    code: Range<usize>,
}

/// Returns a random module.
pub fn module(rng: &mut Rng) -> Vec<u8> {
    sized(rng, &Sizes { functions: 2..10, code: 20..270 })
}

/// Returns a random module with little code.
pub fn small_module(rng: &mut Rng) -> Vec<u8> {
    sized(rng, &Sizes { functions: 1..3, code: 10..40 })
}

fn sized(rng: &mut Rng, sizes: &Sizes) -> Vec<u8> {
    let functions = Functions::some(rng, &sizes.functions);
    let mut module = Module::new();
    module.section(&types()).section(&imports()).section(&declarations(&functions));
    module.section(&tables()).section(&memories()).section(&globals());
    module.section(&exports(&functions)).section(&elements(&functions, rng));
    let mut code = CodeSection::new();
    for func in functions.defined() {
        code.function(&Body::new(&functions, func, &sizes.code, rng).write());
    }
    module.section(&code).section(&data());
    module.finish()
}

fn types() -> TypeSection {
    let mut section = TypeSection::new();
    for (params, results) in SIGNATURES {
        section.ty().function(params.iter().copied(), results.iter().copied());
    }
    section
}

fn imports() -> ImportSection {
    let mut section = ImportSection::new();
    for name in IMPORTS {
        section.import("host", name, EntityType::Function(UNARY));
    }
    section
}

fn declarations(functions: &Functions) -> FunctionSection {
    let mut section = FunctionSection::new();
    for func in functions.defined() {
        section.function(functions.0[func as usize]);
    }
    section
}

fn tables() -> TableSection {
    let mut section = TableSection::new();
    section.table(TableType {
        element_type: RefType::FUNCREF,
        table64: false,
        minimum: u64::from(ELEMENTS),
        maximum: Some(u64::from(ELEMENTS) + 4),
        shared: false,
    });
    section
}

/// Returns a memory of each kind.
fn memories() -> MemorySection {
    let mut section = MemorySection::new();
    for memory64 in [false, true] {
        let (minimum, maximum) = (1, Some(2));
        section.memory(MemoryType { minimum, maximum, memory64, shared: false, page_size_log2: None });
    }
    section
}

/// Returns a mutable i32 global and a mutable i64 global.
fn globals() -> GlobalSection {
    let mut section = GlobalSection::new();
    let ty = |val_type| GlobalType { val_type, mutable: true, shared: false };
    section.global(ty(I32), &ConstExpr::i32_const(5));
    section.global(ty(I64), &ConstExpr::i64_const(-1));
    section
}

fn exports(functions: &Functions) -> ExportSection {
    let mut section = ExportSection::new();
    for func in functions.defined() {
        section.export(&format!("f{func}"), ExportKind::Func, func);
    }
    let unary = functions.defined().filter(|&func| functions.0[func as usize] == UNARY);
    for (name, func) in ENTRIES.iter().zip(unary.cycle()) {
        section.export(name, ExportKind::Func, func);
    }
    section.export("table", ExportKind::Table, 0);
    section.export("memory", ExportKind::Memory, 0).export("memory64", ExportKind::Memory, 1);
    section.export("g0", ExportKind::Global, 0).export("g1", ExportKind::Global, 1);
    section
}

fn elements(functions: &Functions, rng: &mut Rng) -> ElementSection {
    let mut section = ElementSection::new();
    let all: Vec<u32> = (0..functions.0.len() as u32).collect();
    let picked: Vec<u32> = (0..ELEMENTS - NULLS).map(|_| rng.pick(&all)).collect();
    section.active(None, &ConstExpr::i32_const(0), Elements::Functions(picked.into()));
    // Declares the functions to which `ref.func` may refer.
    section.declared(Elements::Functions(all.into()));
    section
}

fn data() -> DataSection {
    let mut section = DataSection::new();
    section.active(0, &ConstExpr::i32_const(0), (0..=255u8).rev());
    section
}
