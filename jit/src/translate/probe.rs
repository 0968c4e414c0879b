//! Probes: what a version of a function does besides the wasm code.

use cranelift_codegen::ir::{
    InstBuilder, MemFlagsData, StackSlotData, StackSlotKey, StackSlotKind, Value, types,
};

use super::Translator;
use super::region::Region;
use crate::abi::{TrapCode, vmctx};
use crate::compile::VMCTX_SLOT;
use crate::graph::{Probe, Probes};

impl Translator<'_> {
    pub(super) fn probes(&mut self, probes: &Probes) {
        for probe in probes {
            match *probe {
                Probe::Count(counter) => {
                    self.count(counter);
                }
                Probe::Poll => self.poll(),
                Probe::Heat(counter) => self.heat(counter),
            }
        }
    }

    /// One add to memory: counters lie at a constant distance from the vmctx. Gives the new count.
    pub(super) fn count(&mut self, counter: u32) -> Value {
        let offset =
            i32::try_from(self.env.layout.counter(counter)).expect("the runtime bounds the counters");
        let region = self.regions.get(Region::Counters, self.builder.func);
        let flags = MemFlagsData::trusted().with_alias_region(Some(region));
        let old = self.builder.ins().load(types::I64, flags, self.vmctx, offset);
        let one = self.builder.ins().iconst(types::I64, 1);
        let new = self.builder.ins().iadd(old, one);
        self.builder.ins().store(flags, new, self.vmctx, offset);
        new
    }

    /// Reads the poll byte; the read faults when the store has been interrupted. Atomic, since a loop without stores
    /// would otherwise read it only once.
    fn poll(&mut self) {
        let address = self.load_constant(types::I64, self.vmctx, vmctx::POLL);
        let flags = MemFlagsData::new().with_aligned().with_trap_code(Some(TrapCode::Interrupt.to_clif()));
        self.builder.ins().atomic_load(types::I32, flags, address);
    }

    /// Reads the lowest byte of the frame, so that a stack that is too small for it ends here, before anything was
    /// executed, and not at whatever instruction happens to use the frame first.
    pub(super) fn touch_stack(&mut self) {
        let lowest = self.builder.ins().get_stack_pointer(types::I64);
        let flags =
            MemFlagsData::new().with_aligned().with_trap_code(Some(TrapCode::StackOverflow.to_clif()));
        self.builder.ins().atomic_load(types::I32, flags, lowest);
    }

    /// Leaves the vmctx in the frame, so that whoever walks the stack finds out whose frame it is.
    pub(super) fn keep_vmctx(&mut self) {
        let key = StackSlotKey::new(VMCTX_SLOT);
        let slot = StackSlotData::new_with_key(StackSlotKind::ExplicitSlot, 8, 3, key);
        let slot = self.builder.create_sized_stack_slot(slot);
        self.builder.ins().stack_store(types::I64, self.vmctx, slot, 0);
    }
}
