//! The independent, stupid record of data references: a module that logs its own.
//!
//! Before each access the module mixes the place and the index of it, and the length if it has one, into a global, so
//! that other references, or the same in another order, give another [`Log`]. Its widths and directions are added up
//! by what the kinds of events say of opcodes, which knows nothing of traces.

use std::io::Cursor;
use std::sync::Arc;

use wasmparser::{MemArg, MemArgTarget, Operator, ValType, for_each_operator};
use wprof_jit::events::EventModel;
use wprof_jit::module::{ModuleInfo, parse};
use wprof_profiler::{AccessKind, DataReference, TraceReader, TraceStep};

use super::count::{self, GLOBAL_GET, GLOBAL_SET, I64_EXTEND_I32_U, global};
use super::counter_name;
use crate::splice::{Located, Splice, signed};

const I64_ADD: u8 = 0x7c;
const I64_MUL: u8 = 0x7e;
const I64_XOR: u8 = 0x85;

/// Odd, with bits everywhere.
const MIX: i64 = 0x2545_f491_4f6c_dd1d;

/// What is left of all data references of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Log {
    /// Places, indices and lengths in their order.
    pub mixed: u64,
    /// How many loads of fixed width, and their bytes.
    pub loads: [u64; 2],
    /// How many stores of fixed width, and their bytes.
    pub stores: [u64; 2],
}

impl Log {
    /// What a module that logs its references has counted.
    pub fn counted(counters: &[u64]) -> Option<Log> {
        let [mixed, loads, loaded, stores, stored] = *counters else { return None };
        Some(Log { mixed, loads: [loads, loaded], stores: [stores, stored] })
    }

    /// The same from a trace.
    ///
    /// # Errors
    /// If it cannot be replayed.
    pub fn traced(trace: &[u8]) -> Result<Log, String> {
        let mut reader = TraceReader::open(Cursor::new(trace)).map_err(|e| e.to_string())?;
        let mut log = Log::default();
        for step in reader.steps_from(0) {
            if let TraceStep::Reference(reference) = step.map_err(|e| e.to_string())? {
                log.add(&reference);
            }
        }
        Ok(log)
    }

    fn add(&mut self, &DataReference { access, address, bytes, .. }: &DataReference) {
        self.mix(address.wrapping_sub(access.offset), access.site);
        let counts = match access.kind {
            AccessKind::Load => &mut self.loads,
            AccessKind::Store => &mut self.stores,
        };
        match access.bytes {
            None => self.mix(bytes, access.site),
            Some(_) => *counts = [counts[0] + 1, counts[1] + bytes],
        }
    }

    fn mix(&mut self, value: u64, site: u32) {
        self.mixed = (self.mixed ^ value).wrapping_mul(MIX as u64).wrapping_add(site.into());
    }
}

/// The module that logs.
///
/// # Errors
/// If the module is not valid.
pub fn logging(wasm: &[u8]) -> Result<Vec<u8>, String> {
    let info = parse(Arc::from(wasm)).map_err(|e| e.to_string())?;
    let mut writer = Writer::new(wasm, &info).map_err(|e| e.to_string())?;
    for defined in 0..info.funcs.len() - info.imported_funcs as usize {
        for found in writer.splice.instructions(defined).map_err(|e| e.to_string())? {
            writer.instruction(&found);
        }
    }
    Ok(writer.splice.apply())
}

struct Writer<'a> {
    splice: Splice<'a>,
    info: &'a ModuleInfo,
    /// In the order of [`Log::counted`].
    counters: [u32; 5],
    /// By [`ValType`], three each.
    scratch: Vec<(ValType, [u32; 3])>,
    /// Kinds of events: loads, stores, and how many bytes.
    kinds: [EventModel; 3],
}

impl<'a> Writer<'a> {
    fn new(wasm: &'a [u8], info: &'a ModuleInfo) -> crate::splice::Result<Writer<'a>> {
        let mut splice = Splice::new(wasm)?;
        let counters = [0, 1, 2, 3, 4].map(|k| splice.i64_global(counter_name(k)));
        let types = [ValType::I32, ValType::I64, ValType::F32, ValType::F64, ValType::V128];
        let scratch = types.map(|ty| (ty, [(); 3].map(|()| splice.scratch_global(ty)))).to_vec();
        let kinds = ["loads", "stores", "memory_bytes"];
        let kinds = kinds.map(|name| EventModel::built_in(name).expect("there is one"));
        Ok(Writer { splice, info, counters, scratch, kinds })
    }

    fn scratch(&self, ty: ValType, number: usize) -> u32 {
        let found = self.scratch.iter().find(|(of, _)| *of == ty);
        found.expect("a type of numbers").1[number]
    }

    fn instruction(&mut self, found: &Located<'_>) {
        let site = found.at as u32;
        let code = match found.op {
            Operator::MemoryCopy { dst_mem, src_mem } => {
                let (dst, src) = (self.index_type(dst_mem), self.index_type(src_mem));
                let len = if (dst, src) == (ValType::I64, ValType::I64) { dst } else { ValType::I32 };
                self.keeping(&[dst, src, len], &[1, 2, 0, 2], site)
            }
            Operator::MemoryFill { mem } => {
                let ty = self.index_type(mem);
                self.keeping(&[ty, ValType::I32, ty], &[0, 2], site)
            }
            Operator::MemoryInit { mem, .. } => {
                self.keeping(&[self.index_type(mem), ValType::I32, ValType::I32], &[0, 2], site)
            }
            ref op => match self.fixed(op, site) {
                Some(code) => code,
                None => return,
            },
        };
        self.splice.insert(found.at, code);
    }

    /// An access of fixed width: its index, and for stores and lanes what lies above.
    fn fixed(&self, op: &Operator<'_>, site: u32) -> Option<Vec<u8>> {
        let MemArgTarget::Memory(memory) = memory_argument(op)?.target else { return None };
        let index = self.index_type(memory);
        let [loads, stores, bytes] = self.kinds.each_ref().map(|kind| kind.cost(op));
        let above = value_above(op).into_iter();
        let operands: Vec<ValType> = std::iter::once(index).chain(above).collect();
        let mut code = self.keeping(&operands, &[0], site);
        for (counter, amount) in self.counters[1..].iter().zip([loads, loads * bytes, stores, stores * bytes])
        {
            count::some(&mut code, *counter, amount);
        }
        Some(code)
    }

    fn index_type(&self, memory: u32) -> ValType {
        if self.info.memories[memory as usize].memory64 { ValType::I64 } else { ValType::I32 }
    }

    /// Mixes some of the operands on top of the stack in, and leaves them there.
    fn keeping(&self, operands: &[ValType], mixed: &[usize], site: u32) -> Vec<u8> {
        let mut code = Vec::new();
        for (number, &ty) in operands.iter().enumerate().rev() {
            global(&mut code, GLOBAL_SET, self.scratch(ty, number));
        }
        for &number in mixed {
            self.mix(&mut code, operands[number], number, site);
        }
        for (number, &ty) in operands.iter().enumerate() {
            global(&mut code, GLOBAL_GET, self.scratch(ty, number));
        }
        code
    }

    fn mix(&self, code: &mut Vec<u8>, ty: ValType, number: usize, site: u32) {
        global(code, GLOBAL_GET, self.counters[0]);
        global(code, GLOBAL_GET, self.scratch(ty, number));
        if ty == ValType::I32 {
            code.push(I64_EXTEND_I32_U);
        }
        code.push(I64_XOR);
        for (operation, operand) in [(I64_MUL, MIX), (I64_ADD, i64::from(site))] {
            code.push(0x42); // i64.const
            signed(code, operand);
            code.push(operation);
        }
        global(code, GLOBAL_SET, self.counters[0]);
    }
}

macro_rules! memory_argument {
    ($from:ident $op:ident memarg $($rest:ident)*) => {
        if let Operator::$op { memarg, .. } = $from {
            return Some(*memarg);
        }
    };
    ($($other:ident)*) => {};
}

macro_rules! define_memory_argument {
    ($(@$proposal:ident $op:ident $({ $($arg:ident: $argty:ty),* })? => $visit:ident ($($ann:tt)*))*) => {
        /// The memory argument of an instruction, by wasmparser's own list.
        fn memory_argument(op: &Operator<'_>) -> Option<MemArg> {
            $(memory_argument!(op $op $($($arg)*)?);)*
            None
        }
    };
}
for_each_operator!(define_memory_argument);

/// The type of the operand above the index.
fn value_above(op: &Operator<'_>) -> Option<ValType> {
    let name = format!("{op:?}");
    let (is_store, is_lane) = (name.contains("Store"), name.contains("Lane"));
    let types = [
        ("I32", ValType::I32),
        ("I64", ValType::I64),
        ("F32", ValType::F32),
        ("F64", ValType::F64),
        ("V128", ValType::V128),
    ];
    let ty = types.into_iter().find(|(prefix, _)| name.starts_with(prefix)).map(|(_, ty)| ty);
    ty.filter(|_| is_store || is_lane)
}
