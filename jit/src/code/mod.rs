//! Machine code with its tables: where it may trap, where it calls, what must be patched in.

mod accesses;
mod origins;
mod positions;
pub mod stand_ins;

use cranelift_codegen::ir::LibCall;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::abi::{TrapCode, store_context};
pub(crate) use origins::{Fact, Origins};
pub use positions::{Position, Positions};

/// The key of the stack slot that holds a frame's vmctx.
pub(crate) const VMCTX_SLOT: u64 = 1;

/// The key of the stack slot that holds a copy of a frame's path register.
pub(crate) const PATH_SLOT: u64 = 2;

/// The key, plus their number, of the stack slot that holds a frame's sums of metrics.
pub(crate) const METRICS_SLOT: u64 = 3;

/// The key of the stack slot that holds the address of a frame's call record; above those of sums of metrics.
pub(crate) const RECORD_SLOT: u64 = METRICS_SLOT + store_context::METRIC_KINDS as u64 + 1;

/// Where in the wasm code a piece of machine code comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Origin {
    /// Function index.
    pub func: u32,
    /// The frame that it belongs to: 0 is that of the code, k that of inlined call k - 1 of [`MachineCode::inlined`].
    pub frame: u32,
    /// Block of that function's CFG.
    pub block: u32,
    /// How many rounds of the loop around it have been made that are not counted yet.
    pub rounds: u32,
    /// The path register, if paths are counted and it is the same however control came there: the frame does not hold
    /// it then.
    pub path: Option<i64>,
    /// Byte offset of the instruction in the module.
    pub offset: u32,
}

/// A place where the code may trap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrapSite {
    /// Byte offset in the code of the instruction that faults.
    pub pc: u32,
    /// Why.
    pub code: TrapCode,
    /// The wasm instruction; `None` in trampolines.
    pub origin: Option<Origin>,
}

/// A call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallSite {
    /// Byte offset in the code at which the callee returns.
    pub return_pc: u32,
    /// The wasm instruction; `None` in trampolines.
    pub origin: Option<Origin>,
}

/// Where a call goes on if an exception comes back to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Landing {
    /// Byte offset in the code at which the callee returns.
    pub return_pc: u32,
    /// Byte offset in the code of the landing, which takes the exception in the first result register, and nothing else.
    pub pc: u32,
    /// How many bytes below the frame pointer the stack pointer is there.
    pub frame: u32,
}

/// An absolute 64-bit address to be written into the code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reloc {
    /// Byte offset in the code.
    pub offset: u32,
    /// The runtime routine whose address goes there.
    #[serde(serialize_with = "write_name", deserialize_with = "read_name")]
    pub target: LibCall,
    /// To be added to the address.
    pub addend: i64,
}

/// The machine code of one function. Sites are sorted by pc.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct MachineCode {
    /// The code; position independent but for `relocs`. Whoever keeps the rest keeps it apart.
    #[serde(skip)]
    pub bytes: Vec<u8>,
    /// Required alignment in bytes, a power of two.
    pub align: u32,
    /// Addresses to write into it.
    pub relocs: Vec<Reloc>,
    /// Where it may trap.
    pub traps: Vec<TrapSite>,
    /// Where it calls.
    pub calls: Vec<CallSite>,
    /// Where exceptions are caught.
    pub landings: Vec<Landing>,
    /// Where a frame is before the first instruction; `None` for trampolines.
    pub entry: Option<Origin>,
    /// Bytes below the frame pointer at which a frame holds its vmctx, from the first instruction of the first block
    /// on; `None` if it does not, which only instrumented code does.
    pub vmctx_slot: Option<u32>,
    /// The same for its path register, if paths are counted and it is not known everywhere: see [`Origin::path`].
    pub path_slot: Option<u32>,
    /// From which byte of the code on it comes from which instruction; only if asked for.
    pub positions: Positions,
    /// The same for its sums of metrics, and how many there are, if anything is measured.
    pub metrics_slot: Option<(u32, u32)>,
    /// The same for its call record, if it has one and anything is measured, or paths are counted there.
    pub record_slot: Option<u32>,
    /// Whether it is code for bursts.
    pub in_bursts: bool,
    /// Whether it counts heat; then the check of its entry does not lead into another version.
    pub counts_heat: bool,
    /// The loop headers, as blocks, at which frames can enter it, too, by [`Compiler::loop_entry`]'s code.
    ///
    /// [`Compiler::loop_entry`]: crate::compile::Compiler::loop_entry
    pub loop_entries: Vec<u32>,
    /// Calls that are not made, since their callees are inlined: where each is; callers before callees.
    pub inlined: Vec<Origin>,
    /// The functions that these would call; ascending.
    pub inlined_funcs: Vec<u32>,
    /// The dispatches (`ConstantTables::dispatches`) whose cells it reads; ascending.
    pub dispatches: Vec<u32>,
    /// From where to where there are no instructions but jump tables and constants, as far as is known; ascending.
    #[serde(skip)]
    pub data: Vec<(u32, u32)>,
    /// The end of it that hardly ever runs, if that may lie apart from what is before it.
    pub cold: Option<ColdPart>,
}

/// The cold part of a function's code. Hot code of all functions lies closer together if these lie elsewhere.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ColdPart {
    /// Where it begins, a multiple of [`MachineCode::align`]; it must lie at such an address.
    pub start: u32,
    /// Where the code has the distance between a place in one part and one in the other, in four bytes; ascending.
    pub distances: Vec<u32>,
}

impl ColdPart {
    /// Lets it lie `by` bytes further from the hot part than these bytes of both have it.
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
    /// Where the cold part begins; the end if there is none.
    pub fn hot_len(&self) -> usize {
        self.cold.as_ref().map_or(self.bytes.len(), |cold| cold.start as usize)
    }

    /// Lets the cold part lie `by` bytes further from the hot one than `bytes` have it. All distances fit into their
    /// four bytes if the whole code, with what is between its parts, is shorter than `i32::MAX`.
    pub fn shift_cold(&mut self, by: i32) {
        if let Some(cold) = &self.cold {
            cold.shift(&mut self.bytes, by);
        }
    }

    /// The frames that a place in the code is in, innermost first: itself, then the calls that are not made.
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
