//! The places of locals and operands between nodes: in optimised code frontend variables, which SSA construction turns
//! into phis; in baseline code the frame.
//!
//! Registers of baseline code hold nothing from one run of blocks to the next (the target's `Baseline`), so values that
//! cross blocks are in the frame in any case; as phis they would be moved there on each incoming edge, even where no
//! code touches them. With a place of its own a local is read once in a node that uses it, and written once at the end
//! of a node that changed it.
//!
//! **Invariant**: where a node begins, the place of each live local holds its value. Within the node, locals that were
//! read or written are known as values, which may be used wherever the code that made them has run.
//!
//! A call takes all registers. So locals that other blocks may read are not known across calls: they are stored to
//! their homes before a call, and read from there after it.

use cranelift_codegen::cursor::{Cursor, FuncCursor};
use cranelift_codegen::ir::{
    InstBuilder, MemFlags, MemFlagsData, Opcode, StackSlotData, StackSlotKind, Type, Value, types,
};
use cranelift_frontend::{FunctionBuilder, Variable};

use super::Translator;
use crate::abi::clif_type;
use wasmparser::ValType;

/// The home of one value between nodes.
#[derive(Clone, Copy, Debug)]
pub(super) enum Home {
    /// A frontend variable, in optimised code.
    Variable(Variable),
    /// A place in the frame, in baseline code. The function's first block computes the address once for all: the
    /// single-pass code generator needs no instruction for it.
    Place(Value, MemFlags),
}

impl Home {
    pub(super) fn read(self, builder: &mut FunctionBuilder<'_>, ty: Type) -> Value {
        match self {
            Home::Variable(variable) => builder.use_var(variable),
            Home::Place(place, flags) => {
                let (inst, dfg) = builder.ins().Load(Opcode::Load, ty, flags, 0.into(), place);
                dfg.first_result(inst)
            }
        }
    }

    pub(super) fn write(self, builder: &mut FunctionBuilder<'_>, value: Value) {
        match self {
            Home::Variable(variable) => builder.def_var(variable, value),
            Home::Place(place, flags) => {
                let ty = builder.func.dfg.value_type(value);
                builder.ins().Store(Opcode::Store, ty, flags, 0.into(), value, place);
            }
        }
    }
}

/// The kind of homes to make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HomeKind {
    Variables,
    Frame,
}

impl HomeKind {
    pub(super) fn make(self, builder: &mut FunctionBuilder<'_>, ty: Type) -> Home {
        match self {
            HomeKind::Variables => Home::Variable(builder.declare_var(ty)),
            HomeKind::Frame => {
                let (bytes, shift) = (ty.bytes(), ty.bytes().trailing_zeros() as u8);
                let slot = StackSlotData::new(StackSlotKind::ExplicitSlot, bytes, shift);
                let slot = builder.create_sized_stack_slot(slot);
                builder.ensure_inserted_block();
                let first = builder.func.layout.entry_block().expect("there is one");
                let mut pos = FuncCursor::new(builder.func).at_first_insertion_point(first);
                let place = pos.ins().stack_addr(types::I64, slot, 0);
                let flags = MemFlagsData::new().with_notrap();
                Home::Place(place, builder.func.dfg.mem_flags.insert_unchecked(flags))
            }
        }
    }
}

/// What the node being translated knows about a local.
#[derive(Clone, Copy, Debug)]
pub(super) struct Local {
    ty: Type,
    /// The home, made when it is first needed.
    home: Option<Home>,
    /// The value, in baseline code, once the node has read or written it.
    value: Option<Value>,
    /// Whether the home does not hold that value yet.
    is_new: bool,
}

impl Local {
    pub(super) fn new(ty: ValType) -> Local {
        Local { ty: clif_type(ty), home: None, value: None, is_new: false }
    }
}

impl Translator<'_> {
    fn local(&mut self, index: u32) -> &mut Local {
        &mut self.locals[self.frame as usize][index as usize]
    }

    fn home_of_local(&mut self, index: u32) -> Home {
        let local = &mut self.locals[self.frame as usize][index as usize];
        *local.home.get_or_insert_with(|| self.homes.make(&mut self.builder, local.ty))
    }

    pub(super) fn read_local(&mut self, index: u32) -> Value {
        if let Some(value) = self.local(index).value {
            return value;
        }
        let home = self.home_of_local(index);
        let ty = self.local(index).ty;
        let value = home.read(&mut self.builder, ty);
        self.know(index, value, false);
        value
    }

    pub(super) fn write_local(&mut self, index: u32, value: Value) {
        match self.homes {
            HomeKind::Variables => self.home_of_local(index).write(&mut self.builder, value),
            HomeKind::Frame => self.know(index, value, true),
        }
    }

    fn know(&mut self, index: u32, value: Value, is_new: bool) {
        if self.homes == HomeKind::Frame {
            if self.local(index).value.is_none() {
                self.known.push(index);
            }
            let local = self.local(index);
            (local.value, local.is_new) = (Some(value), is_new);
        }
    }

    /// Forgets all locals except the first `known` that became known; none are known where a node begins.
    pub(super) fn forget_locals(&mut self, known: usize) {
        self.settled = self.settled.min(known);
        for index in self.known.split_off(known) {
            let local = self.local(index);
            (local.value, local.is_new) = (None, false);
        }
    }

    /// Stores the locals that a successor may read in their homes, at the end of a node.
    pub(super) fn send_locals_home(&mut self) {
        self.send_home(|translator, local| translator.is_live_behind(local));
    }

    /// Stores the changed locals that are wanted in their homes.
    pub(super) fn send_home(&mut self, is_wanted: impl Fn(&Self, usize) -> bool) {
        for place in 0..self.known.len() {
            let index = self.known[place];
            let Local { value: Some(value), is_new: true, .. } = *self.local(index) else { continue };
            if is_wanted(self, index as usize) {
                self.home_of_local(index).write(&mut self.builder, value);
            }
        }
    }

    /// Stores the known locals, which still have their first values, in their homes before the probes of a node in
    /// baseline code, which may call.
    pub(super) fn send_parameters_home(&mut self) {
        if self.homes == HomeKind::Frame {
            self.send_home(|translator, local| translator.is_live(translator.block, local));
            self.forget_locals(0);
        }
    }

    /// Prepares for a call in baseline code: afterwards no addresses are known, and only those locals whose values need
    /// no home, because only the node itself may read them. Each of these is examined once.
    pub(super) fn settle(&mut self) {
        if self.homes == HomeKind::Variables {
            return;
        }
        self.forget_addresses();
        let mut kept = self.settled;
        for place in self.settled..self.known.len() {
            let index = self.known[place];
            let Local { value: Some(value), is_new, .. } = *self.local(index) else { continue };
            if is_new && !self.is_live_behind(index as usize) {
                self.known.swap(kept, place);
                kept += 1;
                continue;
            }
            if is_new {
                self.home_of_local(index).write(&mut self.builder, value);
            }
        }
        self.settled = kept;
        self.forget_locals(kept);
    }

    /// Translates code that does not lead on to the rest of the node, so that the rest knows nothing of what it reads.
    pub(super) fn out_of_line(&mut self, translate: impl FnOnce(&mut Self)) {
        let (known, stack) = (self.known.len(), self.stack.snapshot());
        translate(self);
        self.forget_locals(known);
        self.stack.restore(stack);
    }
}
