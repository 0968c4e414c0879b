//! The meaning of CLIF, written as a program for the processor: what code of the single-pass code generator is checked
//! against.
//!
//! Input: a function, its baseline code, and what the code generator [claims](Claims) about that code. Output: nothing,
//! or the first difference.
//!
//! Theory: the *reference* of a function is the plainest program that does what its CLIF says. Each value has a home
//! of its own, outside registers and memory, that nothing else changes. Each CLIF instruction is a fixed sequence of
//! processor instructions, by its opcode and types alone (`integer`, `float`, `convert`, `memory`, `control`): it copies
//! its operands from their homes into fixed registers, computes, and copies its result to its home. So there is nothing
//! to allocate, spill, defer, fuse or encode, and whoever knows CLIF and the processor can read one instruction after
//! another. Then the reference and the baseline code are walked in lockstep, as Cranelift's code and rewritten code are
//! (`crate::validate`): the same stores, traps, calls, branches and returns with the same values, and the same contents
//! of the frame where other code may see it. Places in the frame that are nobody's business but the code's own are
//! private: there it may keep what it likes.
//!
//! The claims say where blocks are, where the ways through one instruction meet, how large the frame is, and which
//! comparisons are made where they are used. They are not trusted: places only say where to cut, and at a wrong one the
//! walk fails. The size of the frame decides where the stack pointer is, which is compared wherever other code sees it;
//! private places must not lie below it. A comparison may be made at any place, since its operands do not change.
//!
//! **Invariant**: nothing is shared with the single-pass code generator, neither its assembler nor its instruction
//! selection, liveness, conventions or constants. Constants and addresses of stack slots have no homes, but are made
//! where they are used, as is any reading of CLIF that has no effects; values that nothing needs are not made. Assumed:
//! what `machine` and `scalar` say of the processor; that CLIF passes Cranelift's verifier. Left out: the table of
//! positions, which only debuggers read.
//! Source: translation validation, as in `crate::validate`; Rideau & Leroy, CC 2010, for values in places that move.
//! Oracle: `jit/tests/baseline.rs`, and faults put into the single-pass code generator, which it finds
//! (`jit/mutants.toml`).

mod control;
mod convert;
mod exception;
mod float;
mod integer;
mod listing;
mod locations;
mod memory;

use std::cell::RefCell;

use cranelift_codegen::ir::{Block, Function, Inst, StackSlotKey};
use hashbrown::{HashMap, HashSet};
use iced_x86::InstructionInfoFactory;

use super::convention::Conventions;
use super::image::Image;
use super::machine::X86;
use super::report;
use crate::abi::store_context;
use crate::code::{METRICS_SLOT, MachineCode, Origins, PATH_SLOT, RECORD_SLOT, VMCTX_SLOT};
use crate::validate::{SharedPart, walk};
use listing::{Code, Label};
use locations::Locations;

/// What the single-pass code generator says of its code. Nothing of it is trusted.
#[derive(Clone, Debug, Default)]
pub(in crate::target::x86_64) struct Claims {
    /// The number of bytes between the frame pointer and the stack pointer.
    pub frame: u32,
    /// The place of each block.
    pub blocks: Vec<(Block, u32)>,
    /// The places where the ways through an instruction meet.
    pub joins: Vec<(Inst, u32)>,
    /// Comparisons of floats that are made where their result is used.
    pub fused: Vec<Inst>,
}

impl Claims {
    /// Claims nothing any more.
    pub(in crate::target::x86_64) fn clear(&mut self) {
        self.frame = 0;
        self.blocks.clear();
        self.joins.clear();
        self.fused.clear();
    }
}

/// The distance from the frame's top, where the return address lies, of the saved frame pointer.
const LINK: i64 = -8;

/// Checks that baseline code does what its function says. `is_pinned`: whether a register is pinned.
///
/// # Errors
/// Returns a description of the first difference, or of an instruction that the reference does not know.
pub(in crate::target::x86_64) fn check(
    func: &Function,
    origins: &Origins,
    code: &MachineCode,
    claims: &Claims,
    is_pinned: bool,
) -> Result<(), String> {
    let slots = Slots::new(func);
    slots.check_tables(func, code)?;
    if code.cold.is_some() || !code.relocs.is_empty() || code.entry != origins.first_origin() {
        return Err("the tables are not those of baseline code".into());
    }
    let reader = Reader::new(func, origins, claims, (&slots, is_pinned))?;
    let Read { image, conventions, homes, blocks, joins } = reader.function()?;
    let mut hints: HashMap<u32, u32> = HashMap::new();
    hints.extend(claims.blocks.iter().filter_map(|(block, to)| Some((*blocks.get(block)?, *to))));
    hints.extend(claims.joins.iter().filter_map(|(inst, to)| Some((*joins.get(inst)?, *to))));
    let x86 = X86 {
        before: image,
        after: Image::new(code)?,
        conventions: &conventions,
        is_pinned,
        usage: RefCell::new(InstructionInfoFactory::new()),
        reference: Some(homes),
    };
    walk(&x86, (0, 0), &hints).map(drop).map_err(|mismatch| report::text(&x86, &mismatch))
}

/// The places of the stack slots: below the frame pointer, in order, behind one private place.
struct Slots {
    /// The start of each, relative to the frame pointer.
    places: Vec<i64>,
    /// The number of bytes that they and the place before them take.
    bytes: i64,
}

impl Slots {
    fn new(func: &Function) -> Slots {
        let mut slots = Slots { places: Vec::new(), bytes: 8 };
        for slot in func.sized_stack_slots.values() {
            let align = 1_i64 << slot.align_shift.max(3);
            let end = slots.bytes + i64::from(slot.size);
            slots.bytes = end + (align - end % align) % align;
            slots.places.push(-slots.bytes);
        }
        slots
    }

    /// Returns the part of the frame that is not private.
    fn shared_part(&self) -> SharedPart {
        SharedPart { slots: (LINK - self.bytes, LINK - 8), link: LINK }
    }

    /// Checks the places that the runtime is told of.
    fn check_tables(&self, func: &Function, code: &MachineCode) -> Result<(), String> {
        let place = |key: u64| {
            let is_it = |key: u64, of: Option<StackSlotKey>| of == Some(StackSlotKey::new(key));
            let mut slots = func.sized_stack_slots.values().zip(&self.places);
            slots.find(|(slot, _)| is_it(key, slot.key)).map(|(_, place)| place.unsigned_abs() as u32)
        };
        let metrics = (1..=store_context::METRIC_KINDS)
            .find_map(|metrics| Some((place(METRICS_SLOT + u64::from(metrics))?, metrics)));
        let is_told = code.vmctx_slot == place(VMCTX_SLOT)
            && code.path_slot == place(PATH_SLOT)
            && code.record_slot == place(RECORD_SLOT)
            && code.metrics_slot == metrics;
        if is_told { Ok(()) } else { Err("the runtime is told of wrong stack slots".into()) }
    }
}

/// A function that is being read.
struct Reader<'a> {
    func: &'a Function,
    origins: &'a Origins,
    slots: &'a Slots,
    /// Whether a register is pinned.
    is_pinned: bool,
    claims: &'a Claims,
    /// Comparisons that are made where their result is used.
    fused: HashSet<Inst>,
    /// Instructions without which something would be different.
    needed: HashSet<Inst>,
    homes: Locations,
    conventions: Conventions,
    code: Code,
    blocks: HashMap<Block, Label>,
    joins: HashMap<Inst, Label>,
    /// Traps behind all other code.
    traps: Vec<(Label, cranelift_codegen::ir::TrapCode, u32)>,
    /// The number of the current origin.
    location: u32,
}

/// A function that was read: its reference, and the places of its blocks and joins there.
struct Read {
    image: Image,
    conventions: Conventions,
    homes: super::machine::Locations,
    blocks: HashMap<Block, u32>,
    joins: HashMap<Inst, u32>,
}

type Done<T = ()> = Result<T, String>;

impl<'a> Reader<'a> {
    fn new(
        func: &'a Function,
        origins: &'a Origins,
        claims: &'a Claims,
        (slots, is_pinned): (&'a Slots, bool),
    ) -> Done<Reader<'a>> {
        let fused: HashSet<Inst> = claims.fused.iter().copied().collect();
        Ok(Reader {
            func,
            origins,
            slots,
            is_pinned,
            claims,
            homes: Locations::new(func, &fused),
            fused,
            needed: locations::needed(func),
            conventions: Conventions::exact(func),
            code: Code::default(),
            blocks: HashMap::new(),
            joins: HashMap::new(),
            traps: Vec::new(),
            location: 0,
        })
    }

    fn function(mut self) -> Done<Read> {
        self.enter();
        let blocks: Vec<Block> = self.func.layout.blocks().collect();
        let (hot, cold): (Vec<Block>, Vec<Block>) =
            blocks.into_iter().partition(|&block| !self.func.layout.is_cold(block));
        for block in hot.into_iter().chain(cold) {
            self.block(block)?;
        }
        self.write_traps();
        let places = |labels: &HashMap<Block, Label>, code: &Code| -> HashMap<Block, u32> {
            labels.iter().map(|(&block, &label)| (block, code.place(label))).collect()
        };
        let blocks = places(&self.blocks, &self.code);
        let joins = self.joins.iter().map(|(&inst, &label)| (inst, self.code.place(label))).collect();
        let homes = super::machine::Locations {
            count: self.homes.count(),
            shared_part: self.slots.shared_part(),
            on_stack: self.parameters_on_stack(),
        };
        let image = Image::of_listing(self.code.finish());
        Ok(Read { image, conventions: self.conventions, homes, blocks, joins })
    }

    fn block(&mut self, block: Block) -> Done {
        let label = self.block_label(block);
        self.code.bind(label);
        for inst in self.func.layout.block_insts(block) {
            self.note_location(inst);
            if self.needed.contains(&inst) {
                self.instruction(inst)?;
            }
        }
        Ok(())
    }

    fn block_label(&mut self, block: Block) -> Label {
        *self.blocks.entry(block).or_insert_with(|| self.code.label())
    }

    /// Binds the place where the ways through an instruction meet.
    fn join(&mut self, inst: Inst, label: Label) {
        self.code.bind(label);
        self.joins.insert(inst, label);
    }

    /// An instruction without a location of its own belongs to that of the last one before it.
    fn note_location(&mut self, inst: Inst) {
        let location = self.func.srcloc(inst);
        if !location.is_default() && !locations::is_remade(self.func, inst) {
            self.location = self.origins.number(location).unwrap_or(0);
        }
    }
}
