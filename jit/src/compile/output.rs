//! Code generation: from finished CLIF to machine code with its tables, by Cranelift and the target's passes.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use cranelift_codegen::binemit::Reloc as RelocKind;
use cranelift_codegen::control::ControlPlane;
use cranelift_codegen::ir::{ExternalName, Function, Inst, InstructionData, StackSlotKey};
use cranelift_codegen::isa::TargetIsa;
use cranelift_codegen::{
    CompiledCode, Context, Final, FinalizedMachCallSite, FinalizedMachExceptionHandler, FinalizedRelocTarget,
    MachBufferFinalized, MachSrcLoc, MachTrap,
};

use crate::CompileError;
use crate::abi::{TrapCode, store_context};
use crate::code::{
    CallSite, Fact, Landing, METRICS_SLOT, MachineCode, Origins, PATH_SLOT, Position, Positions, RECORD_SLOT,
    Reloc, TrapSite, VMCTX_SLOT,
};
use crate::options::{Passes, Stage};
use crate::passes::Unproven;
use crate::target::{Finished, Target};

/// The inputs of code generation.
pub(super) struct Output<'a> {
    /// The target.
    pub target: &'static dyn Target,
    /// The function's index.
    pub func: u32,
    /// The origins that source locations stand for.
    pub origins: &'a Origins,
    /// Whether positions are kept.
    pub with_positions: bool,
    /// The passes over the machine code.
    pub passes: Passes,
    /// The statistics of proofs, if the passes must be proven correct.
    pub proofs: Option<&'a Proofs>,
    /// The CLIF pass that could not be proven correct, if any.
    pub unproven: Unproven,
    /// The maximum size of a frame in bytes, if it is limited.
    pub largest_frame: Option<usize>,
}

/// The number of functions whose passes were to be proven correct.
#[derive(Debug, Default)]
pub struct Proofs {
    proven: AtomicU64,
    unproven: AtomicU64,
    baseline: (AtomicU64, AtomicU64),
    reports: Mutex<Vec<String>>,
}

/// The maximum number of reports that are kept.
const REPORTS: usize = 8;

impl Proofs {
    fn add(&self, unproven: Unproven) {
        self.count(unproven, [&self.proven, &self.unproven]);
    }

    /// Adds a function that the single-pass code generator wrote.
    pub(super) fn add_baseline(&self, unproven: Unproven) {
        self.count(unproven, [&self.baseline.0, &self.baseline.1]);
    }

    fn count(&self, unproven: Unproven, [proven, not]: [&AtomicU64; 2]) {
        let count = if unproven.is_none() { proven } else { not };
        count.fetch_add(1, Ordering::Relaxed);
        if let (Some(report), Ok(mut reports)) = (unproven, self.reports.lock())
            && reports.len() < REPORTS
        {
            reports.push(report);
        }
    }

    /// Returns reports of the first few failed proofs, for those who work on the passes.
    pub fn reports(&self) -> Vec<String> {
        self.reports.lock().map_or_else(|_| Vec::new(), |reports| reports.clone())
    }

    /// Returns the number of proven functions.
    pub fn proven(&self) -> u64 {
        self.proven.load(Ordering::Relaxed)
    }

    /// Returns how many functions were proven to do in baseline code what their CLIF says, and how many were not, whose
    /// baseline code is Cranelift's.
    pub fn baseline(&self) -> (u64, u64) {
        (self.baseline.0.load(Ordering::Relaxed), self.baseline.1.load(Ordering::Relaxed))
    }

    /// Returns the number of unproven functions, which run without the passes in question.
    pub fn unproven(&self) -> u64 {
        self.unproven.load(Ordering::Relaxed)
    }
}

impl Output<'_> {
    /// Compiles `context.func`, whose flow graph and dominators are computed and which has no aliases.
    pub fn generate(
        &self,
        context: &mut Context,
        registers: &mut regalloc2::Ctx,
        isa: &dyn TargetIsa,
    ) -> Result<MachineCode, CompileError> {
        let failed = |error| CompileError::Codegen { func: self.func, message: format!("{error:?}") };
        let validator = self.proofs.and_then(|_| self.target.validator(&mut context.func, isa));
        context.verify_if(isa).map_err(failed)?;
        let compiled = isa
            .compile_function(&context.func, &context.domtree, registers, false, &mut ControlPlane::default())
            .map_err(failed)?;
        let compiled = compiled.apply_params(&context.func.params);
        self.check_frame(&compiled)?;
        let locations = Locations { all: compiled.buffer.get_srclocs_sorted(), origins: self.origins };
        let mut code = self.with_tables(&compiled, isa, &locations)?;
        let original = validator.map(|validator| (validator, code.clone()));
        let hints = match self.passes.any_of(Stage::MachineCode) {
            true => self.rewrite(&mut code, &context.func, &compiled, &locations),
            false => Vec::new(),
        };
        let Some((mut validator, original)) = original else { return Ok(code) };
        validator.locate_calls(&compiled.buffer);
        let checked = validator.check(&original, &code, &hints);
        let is_proven = checked.is_ok();
        let unproven = checked.err().map(|report| format!("function {}: {report}", self.func));
        if let Some(proofs) = self.proofs {
            proofs.add(self.unproven.clone().or(unproven));
        }
        Ok(if is_proven { code } else { original })
    }

    fn check_frame(&self, compiled: &CompiledCode) -> Result<(), CompileError> {
        let size = compiled.buffer.frame_layout().map_or(0, |layout| layout.frame_to_fp_offset as usize);
        match self.largest_frame.filter(|&limit| size > limit) {
            Some(limit) => {
                let what = format!("a frame of {size} bytes, and without signals the limit is {limit}");
                Err(CompileError::TooLarge { func: self.func, what })
            }
            None => Ok(()),
        }
    }

    /// Returns Cranelift's code with its tables.
    fn with_tables(
        &self,
        code: &CompiledCode,
        isa: &dyn TargetIsa,
        locations: &Locations<'_>,
    ) -> Result<MachineCode, CompileError> {
        let (origins, buffer) = (self.origins, &code.buffer);
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
        let relocs = buffer.relocs().iter().map(|r| reloc(self.func, r)).collect::<Result<_, _>>()?;
        let entry = origins.first_origin();
        let slot = |key: u64| {
            let frame = buffer.frame_layout()?;
            let slot = frame.stackslots.values().find(|slot| slot.key == Some(StackSlotKey::new(key)))?;
            Some(frame.frame_to_fp_offset - slot.offset)
        };
        Ok(MachineCode {
            bytes: buffer.data().to_vec(),
            align: buffer.alignment.max(isa.function_alignment().preferred),
            relocs,
            traps,
            calls,
            landings: landings(buffer),
            entry,
            vmctx_slot: slot(VMCTX_SLOT),
            path_slot: slot(PATH_SLOT),
            positions: if self.with_positions { locations.positions() } else { Positions::default() },
            record_slot: slot(RECORD_SLOT),
            metrics_slot: (1..=store_context::METRIC_KINDS)
                .find_map(|metrics| Some((slot(METRICS_SLOT + u64::from(metrics))?, metrics))),
            ..MachineCode::default()
        })
    }

    /// Lets the target rewrite the machine code of a function. Returns the old and the new starts of its blocks.
    fn rewrite(
        &self,
        code: &mut MachineCode,
        func: &Function,
        compiled: &CompiledCode,
        locations: &Locations<'_>,
    ) -> Vec<(u32, u32)> {
        let blocks = &compiled.bb_starts;
        let cold = locations.ranges(Fact::Cold).next();
        // Code that the register allocator inserts before a block's first instruction has no location.
        let cold = cold.map_or(compiled.buffer.total_size(), |(start, _)| {
            let behind = blocks.partition_point(|&block| block <= start);
            behind.checked_sub(1).map_or(0, |block| blocks[block])
        });
        let in_place: Vec<_> = locations.ranges(Fact::InPlace).collect();
        let transparent_calls: Vec<_> = locations.ranges(Fact::Transparent).collect();
        let finished = Finished {
            blocks,
            cold,
            in_place: &in_place,
            transparent_calls: &transparent_calls,
            results: func.signature.returns.len(),
            jump_tables: jump_tables(func),
            passes: self.passes,
        };
        self.target.rewrite(code, &finished)
    }
}

/// Returns the landings of exceptions.
fn landings(buffer: &MachBufferFinalized<Final>) -> Vec<Landing> {
    let landing = |site: FinalizedMachCallSite<'_>| {
        let found = site.exception_handlers.iter().find_map(|handler| match handler {
            FinalizedMachExceptionHandler::Default(pc) | FinalizedMachExceptionHandler::Tag(_, pc) => {
                Some(*pc)
            }
            FinalizedMachExceptionHandler::Context(_) => None,
        });
        Some(Landing { return_pc: site.ret_addr, pc: found?, frame: site.frame_offset? })
    };
    let mut all: Vec<Landing> = buffer.call_sites().filter_map(landing).collect();
    all.sort_by_key(|landing| landing.return_pc);
    all
}

/// Returns the number of jump tables that Cranelift writes: tables without entries become jumps.
fn jump_tables(func: &Function) -> usize {
    let ends = func.layout.blocks().filter_map(|block| func.layout.last_inst(block));
    let has_entries = |inst: &Inst| match func.dfg.insts[*inst] {
        InstructionData::BranchTable { table, .. } => !func.dfg.jump_tables[table].as_slice().is_empty(),
        _ => false,
    };
    ends.filter(has_entries).count()
}

/// The source locations of finished code, in its order.
struct Locations<'a> {
    all: &'a [MachSrcLoc<cranelift_codegen::Final>],
    origins: &'a Origins,
}

impl Locations<'_> {
    /// Returns the places where the origin of the code changes.
    fn positions(&self) -> Positions {
        let position = |location: &MachSrcLoc<cranelift_codegen::Final>| {
            Some(Position::new(location.start, self.origins.of_code(location.loc)?))
        };
        Positions::new(self.all.iter().filter_map(position))
    }

    /// Returns the start and end of each range of code for which a fact holds.
    fn ranges(&self, fact: Fact) -> impl Iterator<Item = (u32, u32)> {
        let known = self.all.iter().filter(move |location| self.origins.has(location.loc, fact));
        known.map(|location| (location.start, location.end))
    }

    /// Returns the number of the origin of the code at `pc`.
    fn at(&self, pc: u32) -> Option<u32> {
        let i = self.all.partition_point(|l| l.end <= pc);
        let l = self.all.get(i).filter(|l| l.start <= pc)?;
        self.origins.number(l.loc)
    }

    /// Returns the last origin known before `pc`; the first of all if there is none.
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
