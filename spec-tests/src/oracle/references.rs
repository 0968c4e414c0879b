//! The independent, naive record of data references: a module that logs its own references.
//!
//! Before each access the module mixes its place, its index and its length, if it has one, into a global, so that
//! other references, or the same ones in another order, give another [`Log`]. Widths and directions are counted by the
//! event kinds for opcodes, which know nothing of traces.

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

/// An odd multiplier with bits everywhere.
const MIX: i64 = 0x2545_f491_4f6c_dd1d;

/// The digest of all data references of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Log {
    /// Hash of places, indices and lengths, in order.
    pub mixed: u64,
    /// The number of loads of fixed width, and their bytes.
    pub loads: [u64; 2],
    /// The number of stores of fixed width, and their bytes.
    pub stores: [u64; 2],
}

impl Log {
    /// Returns the log that a self-logging module has counted.
    pub fn counted(counters: &[u64]) -> Option<Log> {
        let [mixed, loads, loaded, stores, stored] = *counters else { return None };
        Some(Log { mixed, loads: [loads, loaded], stores: [stores, stored] })
    }

    /// Computes the log from a trace.
    ///
    /// # Errors
    /// Returns an error if the trace cannot be replayed.
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

/// Makes a module that logs its references.
///
/// # Errors
/// Returns an error if the module is not valid.
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
    /// The globals, in the order of [`Log::counted`].
    counters: [u32; 5],
    /// Three scratch globals for each [`ValType`].
    scratch: Vec<(ValType, [u32; 3])>,
    /// Event kinds that count loads, stores, and their bytes.
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

    /// Returns code that logs an access of fixed width: its index, below the operand of stores and lane accesses.
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

    /// Emits code that mixes some of the operands on top of the stack into the hash, and leaves them on the stack.
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
        /// Returns the memory argument of an instruction, by wasmparser's own list.
        fn memory_argument(op: &Operator<'_>) -> Option<MemArg> {
            $(memory_argument!(op $op $($($arg)*)?);)*
            None
        }
    };
}
for_each_operator!(define_memory_argument);

/// Returns the type of the operand above the index.
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
