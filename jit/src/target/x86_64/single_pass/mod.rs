//! Machine code for x86-64 in a single pass: the code generator of baseline code.
//!
//! Cranelift passes over a function many times: for instruction selection, for register allocation, for encoding. For
//! baseline code, which runs a few hundred times at most, these passes took most of the compilation time. This code
//! generator writes each CLIF instruction as it comes, with the register state known at that point, as one-pass
//! compilers of wasm do. The code is no slower than that of Cranelift's allocator for quick compilation
//! (`bench-wasm/records/2026-11-23-single-pass.md`).
//!
//! Input: a function as the translator builds it for baseline code. Output: machine code with its tables; or
//! [`Unsupported`], if the function has a feature rare enough to be left to Cranelift: vectors, results in memory. The
//! flow: `uses` counts the uses of each value; `control` writes blocks, branches and calls, and `integer`, `compare`,
//! `float`, `convert`, `memory` and `atomic` the rest; `registers` allocates registers; `abi` assigns arguments and
//! results; `assembler` encodes.
//!
//! **Invariant**: a value that crosses runs (`uses`) is in the frame where its run ends.
//! Source: Titzer, Whose Baseline Compiler is it Anyway?, CGO 2024, on how such compilers track registers and
//! constants; they read wasm code, this one CLIF, so that there is one translator. Oracle: everything that runs in
//! baseline code, against the specification's tests, other engines and Cranelift's code.

mod abi;
mod assembler;
mod atomic;
mod compare;
mod control;
mod convert;
mod float;
mod integer;
mod landing;
mod memory;
mod registers;
mod uses;

use cranelift_codegen::entity::SecondaryMap;
use cranelift_codegen::ir::{
    self, Block, Function, Inst, InstructionData, Opcode, StackSlotKey, Type, Value, types,
};
use cranelift_codegen::isa::TargetIsa;
use smallvec::SmallVec;

use super::super::Baseline;
use super::validate::reference::{self, Claims};
use crate::abi::{TrapCode, store_context};
use crate::code::{
    CallSite, METRICS_SLOT, MachineCode, Origins, PATH_SLOT, Position, Positions, RECORD_SLOT, TrapSite,
    VMCTX_SLOT,
};
use assembler::{Assembler, Label, Reg, Width};
use landing::Handler;
use registers::{Held, Kind, Registers, kind_of};
use uses::Uses;

/// A function has a feature that is left to Cranelift.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Unsupported;

/// The optional instructions that the processor has.
#[derive(Clone, Copy, Debug)]
struct Features {
    counts_bits: bool,
    rounds: bool,
    /// Whether a register is pinned.
    is_pinned: bool,
}

impl Features {
    /// Returns the features that a Cranelift code generator would use.
    fn new(isa: &dyn TargetIsa) -> Features {
        let flags = isa.isa_flags();
        let has = |name: &str| flags.iter().any(|flag| flag.name == name && flag.as_bool() == Some(true));
        let counts_bits = ["has_lzcnt", "has_bmi1", "has_popcnt"].into_iter().all(has);
        let is_pinned = isa.flags().enable_pinned_reg();
        Features { counts_bits, rounds: has("has_sse41"), is_pinned }
    }
}

/// The code generator, and the memory that one compilation leaves for the next.
#[derive(Debug)]
pub(super) struct SinglePass {
    features: Features,
    assembler: Assembler,
    uses: Uses,
    values: SecondaryMap<Value, Held>,
    blocks: SecondaryMap<Block, Option<Label>>,
    slots: Vec<i32>,
    free_places: Vec<i32>,
    traps: Vec<Trap>,
    claims: Claims,
}

/// A trap that is written behind all other code.
#[derive(Debug)]
struct Trap {
    label: Label,
    code: ir::TrapCode,
    location: u32,
}

impl Baseline for SinglePass {
    fn generate(&mut self, func: &Function, origins: &Origins, with_positions: bool) -> Option<MachineCode> {
        self.compile(func, origins, with_positions).ok()
    }

    fn check(&self, func: &Function, origins: &Origins, code: &MachineCode) -> Result<(), String> {
        let mut claims = self.claims.clone();
        let place = |block: Block| Some((block, self.assembler.place(self.blocks[block]?)));
        claims.blocks.extend(func.layout.blocks().filter_map(place));
        reference::check(func, origins, code, &claims, self.features.is_pinned)
    }
}

impl SinglePass {
    /// Creates a code generator for the processor of `isa`.
    pub(super) fn new(isa: &dyn TargetIsa) -> SinglePass {
        SinglePass {
            features: Features::new(isa),
            assembler: Assembler::default(),
            uses: Uses::default(),
            values: SecondaryMap::new(),
            blocks: SecondaryMap::new(),
            slots: Vec::new(),
            free_places: Vec::new(),
            traps: Vec::new(),
            claims: Claims::default(),
        }
    }

    fn compile(
        &mut self,
        func: &Function,
        origins: &Origins,
        with_positions: bool,
    ) -> Result<MachineCode, Unsupported> {
        let SinglePass { features, assembler, uses, values, blocks, slots, free_places, traps, claims } =
            self;
        assembler.clear();
        values.clear();
        values.resize(func.dfg.num_values());
        blocks.clear();
        blocks.resize(func.dfg.num_blocks());
        free_places.clear();
        traps.clear();
        claims.clear();
        uses.find(func);
        let frame = place_slots(func, slots)?;
        let code = MachineCode { entry: origins.first_origin(), ..MachineCode::default() };
        let mut emitter = Emitter {
            func,
            features: *features,
            origins,
            with_positions,
            assembler,
            uses,
            values,
            blocks,
            slots,
            free_places,
            traps,
            claims,
            registers: Registers::default(),
            pinned: None,
            counted: None,
            touched: Vec::new(),
            nearest: Some(NEAREST),
            frame,
            outgoing: 0,
            incoming: 0,
            preserved: SmallVec::new(),
            handlers: Vec::new(),
            location: ir::SourceLoc::default(),
            positions: Vec::new(),
            code,
        };
        emitter.function()?;
        Ok(emitter.finish())
    }
}

/// Gives each stack slot its place, relative to the frame pointer. Returns the number of bytes they take, including
/// [`NEAREST`].
fn place_slots(func: &Function, slots: &mut Vec<i32>) -> Result<u32, Unsupported> {
    slots.clear();
    let mut bytes = 8_u32;
    for slot in func.sized_stack_slots.values() {
        if slot.align_shift > 4 {
            return Err(Unsupported);
        }
        bytes = (bytes + slot.size).next_multiple_of(1 << slot.align_shift.max(3));
        if bytes > LARGEST_FRAME {
            return Err(Unsupported);
        }
        slots.push(-(bytes as i32));
    }
    Ok(bytes)
}

/// The place with the shortest encoding, for the first value that needs one: the vmctx.
const NEAREST: i32 = -8;

/// A larger frame could skip the guard page below the stack, so its prologue touches each page.
const LARGEST_UNTOUCHED: u32 = 4000;

/// Functions with a larger frame are left to Cranelift.
const LARGEST_FRAME: u32 = 1 << 28;

/// A function being compiled.
struct Emitter<'a> {
    func: &'a Function,
    features: Features,
    origins: &'a Origins,
    with_positions: bool,
    assembler: &'a mut Assembler,
    uses: &'a mut Uses,
    values: &'a mut SecondaryMap<Value, Held>,
    blocks: &'a mut SecondaryMap<Block, Option<Label>>,
    /// The place of each stack slot, relative to the frame pointer.
    slots: &'a [i32],
    /// Places in the frame that are free again.
    free_places: &'a mut Vec<i32>,
    traps: &'a mut Vec<Trap>,
    /// What a checker of the code may want to know.
    claims: &'a mut Claims,
    registers: Registers,
    /// The value that is in the pinned register.
    pinned: Option<Value>,
    /// The place behind the block's last addition to the pinned register.
    counted: Option<u32>,
    /// The instructions that touch the pages of a large frame.
    touched: Vec<u32>,
    /// [`NEAREST`], until it is allocated.
    nearest: Option<i32>,
    /// Bytes of the frame that are allocated.
    frame: u32,
    /// Bytes that calls need for outgoing stack arguments.
    outgoing: u32,
    /// Bytes of the function's own stack arguments.
    incoming: u32,
    /// The places of the saved caller's registers, if the function has landings.
    preserved: SmallVec<[(Reg, i32); 5]>,
    /// The landings that are still to be written.
    handlers: Vec<Handler>,
    /// The source location of the current instruction.
    location: ir::SourceLoc,
    /// The positions of all instructions, if they are kept.
    positions: Vec<Position>,
    code: MachineCode,
}

impl Emitter<'_> {
    /// Writes an instruction, or records that its result needs no code or is deferred.
    fn instruction(&mut self, inst: Inst) -> Result<(), Unsupported> {
        if self.uses.is_dead[inst] {
            return Ok(());
        }
        if let Some(kind) = kind_of(self.func, self.slots, inst) {
            self.values[self.func.dfg.first_result(inst)].kind = kind;
            return Ok(());
        }
        if self.is_deferred(inst) {
            self.values[self.func.dfg.first_result(inst)].kind = Kind::Deferred(inst);
            return Ok(());
        }
        self.registers.unlock_all();
        self.note_location(inst);
        self.lower(inst)
    }

    /// Reports whether an instruction is best computed by its user: a comparison that leaves flags, a sum that forms an
    /// address, a load of a callee.
    fn is_deferred(&self, inst: Inst) -> bool {
        let Some(&result) = self.func.dfg.inst_results(inst).first() else { return false };
        if self.left(result) != 1 || self.uses.values[result].crosses {
            return false;
        }
        match self.func.dfg.insts[inst].opcode() {
            Opcode::Icmp | Opcode::Fcmp => true,
            Opcode::Load => self.loads_callee(inst),
            // A deferred sum of a deferred value would keep the registers of both.
            Opcode::Iadd => {
                let waits = |&value: &Value| matches!(self.values[value].kind, Kind::Deferred(_));
                self.func.dfg.value_type(result) == types::I64
                    && !self.func.dfg.inst_args(inst).iter().any(waits)
            }
            _ => false,
        }
    }

    fn note_location(&mut self, inst: Inst) {
        let location = self.func.srcloc(inst);
        if !location.is_default() {
            self.location = location;
        }
        if self.with_positions
            && let Some(origin) = self.origins.of_number(self.location())
        {
            self.positions.push(Position::new(self.assembler.here(), origin));
        }
    }

    /// Returns the number of the current origin.
    fn location(&self) -> u32 {
        self.origins.number(self.location).unwrap_or(0)
    }

    /// Writes an instruction whose result is needed.
    fn lower(&mut self, inst: Inst) -> Result<(), Unsupported> {
        let data = self.func.dfg.insts[inst];
        match data {
            InstructionData::Binary { opcode, args } => self.binary(inst, opcode, args)?,
            InstructionData::Unary { opcode, arg } => self.unary(inst, opcode, arg)?,
            InstructionData::IntCompare { .. } | InstructionData::FloatCompare { .. } => self.truth(inst)?,
            InstructionData::Ternary { opcode: Opcode::Select | Opcode::SelectSpectreGuard, args } => {
                self.select(inst, args)?;
            }
            InstructionData::Load { opcode, arg, flags, offset } => {
                self.load(inst, opcode, arg, flags, offset.into())?;
            }
            InstructionData::LoadNoOffset { opcode: Opcode::AtomicLoad, arg, flags } => {
                self.load(inst, Opcode::Load, arg, flags, 0)?;
            }
            InstructionData::LoadNoOffset { opcode: Opcode::Bitcast, arg, .. } => self.bitcast(inst, arg)?,
            InstructionData::Store { opcode, args, flags, offset } => {
                self.store(opcode, args, flags, offset.into())?;
            }
            InstructionData::StoreNoOffset { opcode: Opcode::AtomicStore, args, flags } => {
                self.atomic_store(args, flags)?;
            }
            InstructionData::AtomicRmw { args, flags, op, .. } => self.atomic_rmw(inst, op, args, flags)?,
            InstructionData::AtomicCas { args, flags, .. } => self.atomic_cas(inst, args, flags)?,
            InstructionData::NullAry { opcode: Opcode::Fence } => self.fence(),
            InstructionData::NullAry { opcode } => self.nullary(inst, opcode)?,
            InstructionData::IntAddTrap { args, code, .. } => self.add_or_trap(inst, args, code)?,
            _ => self.control(inst)?,
        }
        if let [result] = *self.func.dfg.inst_results(inst) {
            self.values[result].is_clean = self.leaves_clean(data.opcode(), self.func.dfg.value_type(result));
        }
        Ok(())
    }

    /// Reports whether an instruction leaves the register bits above its result zero.
    fn leaves_clean(&self, opcode: Opcode, ty: Type) -> bool {
        match opcode {
            Opcode::Ireduce | Opcode::Call | Opcode::CallIndirect | Opcode::GetPinnedReg => false,
            Opcode::AtomicRmw | Opcode::AtomicCas => false,
            Opcode::Load | Opcode::AtomicLoad | Opcode::Icmp | Opcode::Fcmp => true,
            _ => ty == types::I32,
        }
    }

    fn binary(&mut self, inst: Inst, opcode: Opcode, args: [Value; 2]) -> Result<(), Unsupported> {
        match self.func.dfg.value_type(args[0]).is_float() {
            true => self.float_binary(inst, opcode, args),
            false => self.int_binary(inst, opcode, args),
        }
    }

    fn unary(&mut self, inst: Inst, opcode: Opcode, arg: Value) -> Result<(), Unsupported> {
        match opcode {
            Opcode::SetPinnedReg => self.set_pinned(arg),
            _ if self.is_float(arg) || self.is_float(self.func.dfg.first_result(inst)) => {
                self.float_unary(inst, opcode, arg)
            }
            _ => self.int_unary(inst, opcode, arg),
        }
    }

    /// Returns the width at which an integer is computed.
    fn width(&self, value: Value) -> Result<Width, Unsupported> {
        match self.func.dfg.value_type(value) {
            types::I32 => Ok(Width::W32),
            types::I64 => Ok(Width::W64),
            _ => Err(Unsupported),
        }
    }

    /// Records that the instruction that begins here may trap.
    fn may_trap(&mut self, code: Option<ir::TrapCode>) {
        if let Some(code) = code {
            self.trap_site(code, self.location());
        }
    }

    fn trap_site(&mut self, code: ir::TrapCode, location: u32) {
        if let Some(known) = TrapCode::from_clif(code) {
            let origin = self.origins.of_trap(Some(location), location, code);
            self.code.traps.push(TrapSite { pc: self.assembler.here(), code: known, origin });
        }
    }

    /// Returns the label of a trap behind all other code.
    fn trap_label(&mut self, code: ir::TrapCode) -> Label {
        let location = self.location();
        if let Some(last) = self.traps.last().filter(|last| (last.code, last.location) == (code, location)) {
            return last.label;
        }
        let label = self.assembler.label();
        self.traps.push(Trap { label, code, location });
        label
    }

    /// Binds the place where the ways through an instruction meet.
    fn join(&mut self, inst: Inst, label: Label) {
        self.assembler.bind(label);
        self.meet(inst);
    }

    /// Records that the ways through an instruction meet here.
    fn meet(&mut self, inst: Inst) {
        self.claims.joins.push((inst, self.assembler.here()));
    }

    /// Records that the previous instruction was a call.
    fn call_site(&mut self) {
        let origin = self.origins.of_number(self.location());
        self.code.calls.push(CallSite { return_pc: self.assembler.here(), origin });
    }

    /// Writes the code behind all blocks, and returns everything with its tables.
    fn finish(mut self) -> MachineCode {
        let origin = self.code.entry;
        let code = TrapCode::StackOverflow;
        self.code.traps.extend(self.touched.drain(..).map(|pc| TrapSite { pc, code, origin }));
        for Trap { label, code, location } in std::mem::take(self.traps) {
            self.assembler.bind(label);
            self.trap_site(code, location);
            self.assembler.ud2();
        }
        self.assembler.finish();
        let slot = |key: u64| {
            let slots = self.func.sized_stack_slots.values().zip(self.slots);
            let key = Some(StackSlotKey::new(key));
            slots.filter(|(slot, _)| slot.key == key).map(|(_, place)| place.unsigned_abs()).next()
        };
        MachineCode {
            bytes: self.assembler.code.clone(),
            vmctx_slot: slot(VMCTX_SLOT),
            path_slot: slot(PATH_SLOT),
            record_slot: slot(RECORD_SLOT),
            metrics_slot: (1..=store_context::METRIC_KINDS)
                .find_map(|metrics| Some((slot(METRICS_SLOT + u64::from(metrics))?, metrics))),
            positions: Positions::new(self.positions),
            align: ALIGNMENT,
            ..self.code
        }
    }
}

/// The alignment of functions, in bytes.
const ALIGNMENT: u32 = 16;
