//! Machine code with its tables: traps, calls, and addresses to patch in.

mod accesses;
mod origins;
mod positions;
pub mod stand_ins;
mod vectors;

use cranelift_codegen::ir::LibCall;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::abi::{TrapCode, store_context};
pub(crate) use origins::{Fact, Origins};
pub use positions::{Position, Positions};
pub use vectors::{Lanes, NoVectors, Vectorized, not_vectorized};

/// The key of the stack slot that holds a frame's vmctx.
pub(crate) const VMCTX_SLOT: u64 = 1;

/// The key of the stack slot that holds a copy of a frame's path register.
pub(crate) const PATH_SLOT: u64 = 2;

/// The key, plus their number, of the stack slot that holds a frame's sums of metrics.
pub(crate) const METRICS_SLOT: u64 = 3;

/// The key of the stack slot that holds the address of a frame's call record; above those of sums of metrics.
pub(crate) const RECORD_SLOT: u64 = METRICS_SLOT + store_context::METRIC_KINDS as u64 + 1;

/// The place in the wasm code from which a piece of machine code comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Origin {
    /// Function index.
    pub func: u32,
    /// The frame of the instruction: 0 is that of the code, k that of inlined call k - 1 of [`MachineCode::inlined`].
    pub frame: u32,
    /// The block in that function's CFG.
    pub block: u32,
    /// The number of rounds of the enclosing loop that are not counted yet.
    pub rounds: u32,
    /// The path register, if paths are counted and its value is the same on all paths to this place: the frame does not
    /// hold it then.
    pub path: Option<i64>,
    /// The byte offset of the instruction in the module.
    pub offset: u32,
}

/// A place where the code may trap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrapSite {
    /// The byte offset in the code of the faulting instruction.
    pub pc: u32,
    /// The reason.
    pub code: TrapCode,
    /// The wasm instruction; `None` in trampolines.
    pub origin: Option<Origin>,
}

/// A call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallSite {
    /// The byte offset in the code at which the callee returns.
    pub return_pc: u32,
    /// The wasm instruction; `None` in trampolines.
    pub origin: Option<Origin>,
}

/// The place where a frame continues if an exception returns to a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Landing {
    /// The byte offset in the code at which the callee returns.
    pub return_pc: u32,
    /// The byte offset in the code of the landing, which takes the exception in the first result register, and nothing
    /// else.
    pub pc: u32,
    /// The distance of the stack pointer below the frame pointer there, in bytes.
    pub frame: u32,
}

/// An absolute 64-bit address to be written into the code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reloc {
    /// The byte offset in the code.
    pub offset: u32,
    /// The runtime routine whose address goes there.
    #[serde(serialize_with = "write_name", deserialize_with = "read_name")]
    pub target: LibCall,
    /// The number to add to the address.
    pub addend: i64,
}

/// The machine code of one function. Sites are sorted by pc.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct MachineCode {
    /// The code; position independent except for `relocs`. Its owner may store it apart from the tables.
    #[serde(skip)]
    pub bytes: Vec<u8>,
    /// Required alignment in bytes, a power of two.
    pub align: u32,
    /// The addresses to patch in.
    pub relocs: Vec<Reloc>,
    /// The places that may trap.
    pub traps: Vec<TrapSite>,
    /// The calls.
    pub calls: Vec<CallSite>,
    /// The landings of exceptions.
    pub landings: Vec<Landing>,
    /// The origin of the first instruction; `None` for trampolines.
    pub entry: Option<Origin>,
    /// The distance below the frame pointer, in bytes, at which a frame holds its vmctx, from the first instruction of
    /// the first block on; `None` if it does not: only instrumented code does.
    pub vmctx_slot: Option<u32>,
    /// The distance at which a frame holds its path register, if paths are counted and the register is not known
    /// everywhere: see [`Origin::path`].
    pub path_slot: Option<u32>,
    /// The positions of wasm instructions in the code; only on request.
    pub positions: Positions,
    /// The distance at which a frame holds its sums of metrics, and their number, if anything is measured.
    pub metrics_slot: Option<(u32, u32)>,
    /// The distance at which a frame holds its call record, if it has one and anything is measured, or paths are
    /// counted there.
    pub record_slot: Option<u32>,
    /// Whether this is burst code.
    pub in_bursts: bool,
    /// Whether the code counts heat; the check at its entry does not lead to another version then.
    pub counts_heat: bool,
    /// The loop headers, as blocks, at which frames can also enter the code, through the code of
    /// [`Compiler::loop_entry`].
    ///
    /// [`Compiler::loop_entry`]: crate::compile::Compiler::loop_entry
    pub loop_entries: Vec<u32>,
    /// The origins of inlined calls, callers before callees.
    pub inlined: Vec<Origin>,
    /// The inlined functions, ascending.
    pub inlined_funcs: Vec<u32>,
    /// The dispatches (`ConstantTables::dispatches`) whose cells the code reads; ascending.
    pub dispatches: Vec<u32>,
    /// The known ranges of jump tables and constants in the code; ascending.
    #[serde(skip)]
    pub data: Vec<(u32, u32)>,
    /// What became of the loops that might be vectorised, in the order of their code.
    #[serde(skip)]
    pub vectorized: Vec<Vectorized>,
    /// The rarely executed end of the code, if it may lie apart from the rest.
    pub cold: Option<ColdPart>,
}

/// The cold part of a function's code. Hot code of all functions is denser if the cold parts lie elsewhere.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ColdPart {
    /// The start of the cold part, a multiple of [`MachineCode::align`]; it must lie at an address with that alignment.
    pub start: u32,
    /// The places of four-byte distances between the two parts; ascending.
    pub distances: Vec<u32>,
}

impl ColdPart {
    /// Moves the cold part `by` bytes further from the hot part than in these bytes of both.
    pub fn shift(&self, bytes: &mut [u8], by: i32) {
        for &at in &self.distances {
            let by = if at < self.start { by } else { by.wrapping_neg() };
            let distance = &mut bytes[at as usize..][..4];
            let old = distance.iter().rev().fold(0, |all, &byte| all << 8 | i32::from(byte));
            distance.copy_from_slice(&old.wrapping_add(by).to_le_bytes());
        }
    }
}

impl MachineCode {
    /// Returns the start of the cold part; the end of the code if there is none.
    pub fn hot_len(&self) -> usize {
        self.cold.as_ref().map_or(self.bytes.len(), |cold| cold.start as usize)
    }

    /// Moves the cold part `by` bytes further from the hot one than in `bytes`. All distances fit into their four bytes
    /// if the whole code, including the gap between its parts, is shorter than `i32::MAX`.
    pub fn shift_cold(&mut self, by: i32) {
        if let Some(cold) = &self.cold {
            cold.shift(&mut self.bytes, by);
        }
    }

    /// Returns the loops that might be vectorised, ascending, with what became of them: of the best of their copies.
    pub fn loops_in_vectors(&self) -> Vec<Vectorized> {
        let mut all = self.vectorized.clone();
        all.sort_by_key(|&(at, outcome)| (at, outcome.is_err()));
        all.dedup_by_key(|&mut (at, _)| at);
        all
    }

    /// Returns the loops of which no copy could be vectorised, by the byte offset in the module of their first
    /// instruction, with the reasons; ascending.
    pub fn not_vectorized(&self) -> Vec<(u32, NoVectors)> {
        not_vectorized(&self.loops_in_vectors())
    }

    /// Returns the frames that a place in the code is in, innermost first: the place itself, then the inlined calls
    /// around it.
    pub fn frames(&self, place: Origin) -> impl Iterator<Item = Origin> {
        let caller = |of: &Origin| Some(self.inlined[of.frame.checked_sub(1)? as usize]);
        std::iter::successors(Some(place), caller)
    }
}

fn write_name<S: Serializer>(target: &LibCall, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(target)
}

fn read_name<'de, D: Deserializer<'de>>(from: D) -> Result<LibCall, D::Error> {
    let name = String::deserialize(from)?;
    name.parse().map_err(|()| serde::de::Error::custom(format_args!("no runtime routine is called {name}")))
}
