//! Machine code with its tables: where it may trap, where it calls, what must be patched in.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use cranelift_codegen::binemit::Reloc as RelocKind;
use cranelift_codegen::control::ControlPlane;
use cranelift_codegen::ir::{ExternalName, Function, Inst, InstructionData, LibCall, StackSlotKey};
use cranelift_codegen::isa::TargetIsa;
use cranelift_codegen::{
    CompiledCode, Context, FinalizedMachCallSite, FinalizedMachExceptionHandler, FinalizedRelocTarget,
    MachBufferFinalized, MachSrcLoc, MachTrap,
};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::origins::{Fact, Origins};
use super::passes::{Pass, Passes, Stage};
use super::validate::{self, Conventions};
use super::{pinned, relax};
use crate::CompileError;
use crate::abi::{TrapCode, store_context};

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
    /// From which byte of the code on it comes from which byte of the module; ascending, and only if asked for.
    #[serde(skip)]
    pub positions: Vec<(u32, u32)>,
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
    /// [`Compiler::loop_entry`]: super::Compiler::loop_entry
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

/// What machine code is made with.
#[derive(Clone, Copy)]
pub(super) struct Output<'a> {
    /// The function's index.
    pub func: u32,
    /// What source locations stand for.
    pub origins: &'a Origins,
    /// Whether these are kept.
    pub with_positions: bool,
    /// The passes that work on it.
    pub passes: Passes,
    /// If it must be proven that they left what it does as it was: where that is counted.
    pub proofs: Option<&'a Proofs>,
}

/// Of how many functions was to be proven that the passes over finished machine code left what they do as it was.
#[derive(Debug, Default)]
pub struct Proofs {
    proven: AtomicU64,
    unproven: AtomicU64,
}

impl Proofs {
    fn add(&self, is_proven: bool) {
        let count = if is_proven { &self.proven } else { &self.unproven };
        count.fetch_add(1, Ordering::Relaxed);
    }

    /// How many were proven.
    pub fn proven(&self) -> u64 {
        self.proven.load(Ordering::Relaxed)
    }

    /// How many were not, and run as Cranelift wrote them.
    pub fn unproven(&self) -> u64 {
        self.unproven.load(Ordering::Relaxed)
    }
}

impl Output<'_> {
    /// Compiles `context.func`, whose flow graph and dominators are known and which has no aliases.
    pub fn generate(
        &self,
        context: &mut Context,
        registers: &mut regalloc2::Ctx,
        isa: &dyn TargetIsa,
    ) -> Result<MachineCode, CompileError> {
        let failed = |error| CompileError::Codegen { func: self.func, message: format!("{error:?}") };
        let is_proven = self.proofs.is_some() && isa.name() == "x64";
        let conventions = is_proven.then(|| Conventions::tag(&mut context.func));
        context.verify_if(isa).map_err(failed)?;
        let code = isa
            .compile_function(&context.func, &context.domtree, registers, false, &mut ControlPlane::default())
            .map_err(failed)?;
        finish(self, &code.apply_params(&context.func.params), isa, (&context.func, conventions))
    }
}

fn finish(
    output: &Output<'_>,
    code: &CompiledCode,
    isa: &dyn TargetIsa,
    (func, conventions): (&Function, Option<Conventions>),
) -> Result<MachineCode, CompileError> {
    let Output { origins, with_positions, passes, .. } = *output;
    let buffer = &code.buffer;
    let locations = Locations { all: buffer.get_srclocs_sorted(), origins };
    let origin = |pc: u32| origins.of_number(locations.at(pc)?);
    let trap_origin = |trap: &MachTrap| {
        let (at, behind) = (locations.at(trap.offset), locations.before(trap.offset));
        origins.of_trap(at, behind, trap.code)
    };
    let mut traps: Vec<TrapSite> = buffer
        .traps()
        .iter()
        .filter_map(|t| {
            Some(TrapSite { pc: t.offset, code: TrapCode::from_clif(t.code)?, origin: trap_origin(t) })
        })
        .collect();
    traps.sort_by_key(|t| t.pc);
    let mut calls: Vec<CallSite> = buffer
        .call_sites()
        .map(|c| CallSite { return_pc: c.ret_addr, origin: origin(c.ret_addr.saturating_sub(1)) })
        .collect();
    calls.sort_by_key(|c| c.return_pc);
    let relocs = buffer.relocs().iter().map(|r| reloc(output.func, r)).collect::<Result<_, _>>()?;
    let entry = origins.first();
    let slot = |key: u64| {
        let frame = buffer.frame_layout()?;
        let slot = frame.stackslots.values().find(|slot| slot.key == Some(StackSlotKey::new(key)))?;
        Some(frame.frame_to_fp_offset - slot.offset)
    };
    let mut relaxed = MachineCode {
        bytes: bytes(buffer, isa, &locations, passes),
        align: buffer.alignment.max(isa.function_alignment().preferred),
        relocs,
        traps,
        calls,
        landings: landings(buffer),
        entry,
        vmctx_slot: slot(VMCTX_SLOT),
        path_slot: slot(PATH_SLOT),
        positions: if with_positions { locations.positions() } else { Vec::new() },
        record_slot: slot(RECORD_SLOT),
        metrics_slot: (1..=store_context::METRIC_KINDS)
            .find_map(|metrics| Some((slot(METRICS_SLOT + u64::from(metrics))?, metrics))),
        in_bursts: false,
        counts_heat: false,
        loop_entries: Vec::new(),
        inlined: Vec::new(),
        inlined_funcs: Vec::new(),
        dispatches: Vec::new(),
        data: Vec::new(),
        cold: None,
    };
    let original = conventions.map(|conventions| validate::Original {
        code: MachineCode { bytes: buffer.data().to_vec(), ..relaxed.clone() },
        conventions: conventions.located(buffer),
        is_pinned: isa.flags().enable_pinned_reg(),
    });
    let mut hints = Vec::new();
    if isa.name() == "x64" && !code.bb_starts.is_empty() && passes.any_of(Stage::MachineCode) {
        let cold = locations.ranges(Fact::Cold).next();
        // What the register allocator puts before a block's first instruction has no location.
        let cold = cold.map_or(buffer.total_size(), |(start, _)| {
            let behind = code.bb_starts.partition_point(|&block| block <= start);
            behind.checked_sub(1).map_or(0, |block| code.bb_starts[block])
        });
        let transparent_calls: Vec<_> = locations.ranges(Fact::Transparent).collect();
        let layout = relax::Layout {
            blocks: &code.bb_starts,
            cold,
            transparent_calls: &transparent_calls,
            returned: relax::returned(func.signature.returns.len()),
            jump_tables: Some(jump_tables(func)),
            passes,
        };
        hints = relax::relax(&mut relaxed, &layout);
    }
    let Some((original, proofs)) = original.zip(output.proofs) else { return Ok(relaxed) };
    let is_proven = validate::check(&original, &relaxed, &hints).is_ok();
    proofs.add(is_proven);
    Ok(if is_proven { relaxed } else { original.code })
}

/// Where exceptions come back to calls.
fn landings(buffer: &MachBufferFinalized<cranelift_codegen::Final>) -> Vec<Landing> {
    let landing = |site: FinalizedMachCallSite<'_>| {
        let found = site.exception_handlers.iter().find_map(|handler| match handler {
            FinalizedMachExceptionHandler::Default(pc) => Some(*pc),
            _ => None,
        });
        Some(Landing { return_pc: site.ret_addr, pc: found?, frame: site.frame_offset? })
    };
    let mut all: Vec<Landing> = buffer.call_sites().filter_map(landing).collect();
    all.sort_by_key(|landing| landing.return_pc);
    all
}

/// How many jump tables Cranelift writes: of those without entries it makes jumps.
fn jump_tables(func: &Function) -> usize {
    let ends = func.layout.blocks().filter_map(|block| func.layout.last_inst(block));
    let has_entries = |inst: &Inst| match func.dfg.insts[*inst] {
        InstructionData::BranchTable { table, .. } => !func.dfg.jump_tables[table].as_slice().is_empty(),
        _ => false,
    };
    ends.filter(has_entries).count()
}

/// The code, with what it does to the pinned register done in place.
fn bytes(
    buffer: &MachBufferFinalized<cranelift_codegen::Final>,
    isa: &dyn TargetIsa,
    locations: &Locations<'_>,
    passes: Passes,
) -> Vec<u8> {
    let mut bytes = buffer.data().to_vec();
    if isa.name() == "x64" && passes.has(Pass::Pinned) {
        for range in in_place_ranges(locations, &bytes) {
            pinned::rewrite(&mut bytes[range]);
        }
    }
    bytes
}

/// The ranges at locations that are marked for that; two with a countdown between them, of which the optimiser has
/// forgotten where it comes from, are one.
fn in_place_ranges(locations: &Locations<'_>, code: &[u8]) -> Vec<Range<usize>> {
    let mut ranges: Vec<Range<usize>> = Vec::new();
    for (start, end) in locations.ranges(Fact::InPlace) {
        let (start, end) = (start as usize, end as usize);
        match ranges.last_mut() {
            Some(last) if pinned::is_countdown(&code[last.end..start]) => last.end = end,
            _ => ranges.push(start..end),
        }
    }
    ranges
}

/// The locations of finished code, which lie in its order.
struct Locations<'a> {
    all: &'a [MachSrcLoc<cranelift_codegen::Final>],
    origins: &'a Origins,
}

impl Locations<'_> {
    /// Where code begins that comes from another instruction than the code before.
    fn positions(&self) -> Vec<(u32, u32)> {
        let position = |location: &MachSrcLoc<cranelift_codegen::Final>| {
            Some((location.start, self.origins.of_code(location.loc)?.offset))
        };
        let mut positions: Vec<(u32, u32)> = self.all.iter().filter_map(position).collect();
        positions.dedup_by_key(|&mut (_, offset)| offset);
        positions
    }

    /// Where code lies of which a fact is known: beginnings and ends.
    fn ranges(&self, fact: Fact) -> impl Iterator<Item = (u32, u32)> {
        let known = self.all.iter().filter(move |location| self.origins.has(location.loc, fact));
        known.map(|location| (location.start, location.end))
    }

    /// The number of the origin of the code at `pc`.
    fn at(&self, pc: u32) -> Option<u32> {
        let i = self.all.partition_point(|l| l.end <= pc);
        let l = self.all.get(i).filter(|l| l.start <= pc)?;
        self.origins.number(l.loc)
    }

    /// The last origin that is known before `pc`; the first of all if there is none.
    fn before(&self, pc: u32) -> u32 {
        let i = self.all.partition_point(|l| l.start <= pc);
        self.all[..i].iter().rev().find_map(|l| self.origins.number(l.loc)).unwrap_or(0)
    }
}

fn reloc(func: u32, reloc: &cranelift_codegen::FinalizedMachReloc) -> Result<Reloc, CompileError> {
    match (&reloc.target, reloc.kind) {
        (FinalizedRelocTarget::ExternalName(ExternalName::LibCall(target)), RelocKind::Abs8) => {
            Ok(Reloc { offset: reloc.offset, target: *target, addend: reloc.addend })
        }
        (target, kind) => {
            Err(CompileError::Codegen { func, message: format!("relocation {kind:?} to {target:?}") })
        }
    }
}
