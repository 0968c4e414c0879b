//! On-stack replacement (OSR): a frame continues in another version of its function.
//!
//! The version that is left stores locals and operands into the store's OSR buffer, and its path register into the
//! store's context, and tail-calls the other version, which loads them and jumps to the node where it resumes. Nothing
//! can happen in between, so one buffer per store suffices.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, SigRef, Type, Value, types};

use super::Translator;
use crate::abi::{Builtin, clif_type, code_slots, heat, resume_signature, store_context, value, vmctx};
use crate::graph::Elsewhere;
use crate::plan::Probe;

/// In functions with at most this many locals, dead locals are loaded, too.
const FEW_LOCALS: usize = 256;

impl Translator<'_> {
    /// Counts heat; requests a better version once the function is hot, and continues in it if it is ready.
    pub(super) fn heat(&mut self, counter: u32) {
        let call = if self.position.block() == 0 { heat::CALL } else { 0 };
        let heat = self.count(counter, heat::ROUND + call);
        let heat = self.builder.ins().ireduce(types::I32, heat);
        let hot = self.input.options().hot_after(self.input.env().info.body(self.input.own().func).len());
        let is_hot = self.builder.ins().icmp_imm_s(IntCC::SignedGreaterThanOrEqual, heat, i64::from(hot));
        let (promote, go_on) = (self.builder.create_block(), self.builder.create_block());
        self.builder.ins().brif(is_hot, promote, &[], go_on, &[]);
        self.builder.seal_block(promote);
        self.builder.set_cold_block(promote);

        self.builder.switch_to_block(promote);
        // At the function's entry no metric is being measured yet.
        let is_measuring = self.position.block() != 0;
        if is_measuring {
            self.stop_metrics();
        }
        let func = self.builder.ins().iconst(types::I32, i64::from(self.position.cfg().func));
        let block = self.builder.ins().iconst(types::I32, i64::from(self.position.block()));
        let version = self.builtin(Builtin::Promote, &[func, block]);
        if self.can_osr() {
            self.osr_if_ready(version);
        }
        if is_measuring {
            self.start_metrics();
        }
        self.builder.ins().jump(go_on, &[]);
        self.builder.seal_block(go_on);
        self.builder.switch_to_block(go_on);
    }

    fn osr_if_ready(&mut self, version: Value) {
        let (leave, stay) = (self.builder.create_block(), self.builder.create_block());
        let to = self.builder.append_block_param(leave, types::I64);
        self.builder.ins().brif(version, leave, &[version.into()], stay, &[]);
        self.builder.set_cold_block(leave);
        self.builder.switch_to_block(leave);
        self.out_of_line(|translator| translator.continue_in(to));
        match self.input.graph().nodes[self.position.node()].probes[..] {
            // The check behind it leaves through the same block.
            [Probe::Heat(_), Probe::Check, ..]
                if self.position.block() != 0 && self.input.options().metrics == 0 =>
            {
                self.blocks.keep_exit(leave);
            }
            _ => self.builder.seal_block(leave),
        }
        self.builder.seal_block(stay);
        self.builder.set_cold_block(stay);
        self.builder.switch_to_block(stay);
    }

    /// Reports whether a frame in the current block can continue in another version: at a loop header, with a state
    /// that fits into the buffer.
    fn can_osr(&self) -> bool {
        self.position.cfg().can_resume(self.position.block())
    }

    /// Continues in a version that counts nothing, or something else.
    pub(super) fn osr_to(&mut self, version: Value) {
        let state = self.live_state();
        self.store_values(state);
        let ty = self.input.env().info.func_type(self.position.cfg().func);
        let signature = self.builder.import_signature(resume_signature(ty));
        self.leave_to(signature, version, &[self.vmctx, self.vmctx]);
    }

    /// Continues in code that lies elsewhere; a part is compiled on its first use.
    pub(super) fn go_elsewhere(&mut self, elsewhere: Elsewhere) {
        let code = match elsewhere {
            Elsewhere::Part(row) => {
                let entry = self.input.env().slots + u64::from(row) * u64::from(code_slots::SIZE);
                let slot = self.builder.ins().iconst(types::I64, entry as i64);
                self.builder.ins().load(types::I64, MemFlagsData::trusted(), slot, code_slots::ENTRY)
            }
            Elsewhere::Version(code) => self.builder.ins().iconst(types::I64, code as i64),
        };
        self.stop_metrics();
        self.out_of_line(|translator| translator.continue_in(code));
    }

    /// Continues in a version that counts the same.
    fn continue_in(&mut self, version: Value) {
        self.pass_counting();
        self.osr_to(version);
    }

    /// Passes on the frame's profiling state.
    fn pass_counting(&mut self) {
        self.pass_counted();
        if self.input.options().contexts {
            self.pass_record();
        }
        self.hand_over_path();
        self.hand_over_metrics();
    }

    /// Calls the code in which the frame continues, and returns its results to the caller: that of the machine frame,
    /// or the one into which the frame is inlined.
    pub(super) fn leave_to(&mut self, signature: SigRef, version: Value, args: &[Value]) {
        let Some(behind) = self.input.graph().nodes[self.position.node()].behind else {
            self.builder.ins().return_call_indirect(signature, version, args);
            return;
        };
        // To a stack walk this call stands for the inlined call: the frame itself is now that of the other version.
        let place = self.input.graph().inlined_at(self.input.own())[self.position.frame() as usize - 1];
        let location = self.output.origins().at(place);
        self.builder.set_srcloc(location);
        let results = self.call_or_land(signature, version, args);
        self.at(self.position.offset());
        for (depth, value) in (0..).zip(results) {
            self.define_operand(depth, value);
        }
        self.go_to(behind);
    }

    /// Stores locals, then operands, into the OSR buffer, as many as fit.
    pub(super) fn store_state(&mut self) {
        let state = self.state_of((0..self.position.cfg().locals.len()).collect());
        self.store_values(state);
    }

    /// Returns the live values with their offsets in the OSR buffer.
    pub(super) fn live_state(&mut self) -> Vec<(i32, Value)> {
        let locals = self.position.cfg().locals.len();
        let wanted = match self.input.options().capture_state {
            true => (0..locals).collect(),
            false => self.position.cfg().liveness.live_at(self.position.block(), locals).collect(),
        };
        self.state_of(wanted)
    }

    /// Returns these locals, and the operands, with their offsets in the OSR buffer.
    fn state_of(&mut self, wanted: Vec<usize>) -> Vec<(i32, Value)> {
        let locals = self.position.cfg().locals.len();
        let mut state: Vec<(usize, Value)> =
            wanted.into_iter().map(|local| (local, self.read_local(local as u32))).collect();
        let operands = self.stack.height() as usize;
        state.extend((locals..).zip(self.top(operands)));
        let fit = state.into_iter().filter(|&(place, _)| place < store_context::OSR_VALUES as usize);
        fit.map(|(place, value)| (place as i32 * value::SIZE as i32, value)).collect()
    }

    fn store_values(&mut self, state: Vec<(i32, Value)>) {
        let buffer = self.osr_buffer();
        for (place, value) in state {
            self.builder.ins().store(MemFlagsData::trusted(), value, buffer, place);
        }
    }

    fn osr_buffer(&mut self) -> Value {
        // Loaded rather than constant: constants would be hoisted out of an enclosing loop, where they cost registers.
        let trusted = MemFlagsData::trusted();
        let store = self.builder.ins().load(types::I64, trusted, self.vmctx, vmctx::STORE);
        self.builder.ins().load(types::I64, trusted, store, store_context::OSR_BUFFER)
    }

    /// Translates the entry of a version that resumes: loads locals and operands, and continues at node 0.
    pub(super) fn resume(&mut self) {
        if self.input.options().contexts {
            self.take_record();
        }
        // Dead locals were not stored, and their loads are dropped. But without these loads sieve takes 1.12 of the
        // time with bursts (measured; why is not known).
        let (block, few) =
            (self.input.graph().nodes[0].block, self.position.cfg().locals.len() <= FEW_LOCALS);
        let (input, cfg) = (self.input, self.position.cfg());
        self.load_state(block, |local| few || input.is_live(cfg, block, local));
        self.start_metrics();
        self.go_to(0);
    }

    /// Loads the state of a frame at the entry of `block` from the OSR buffer: operands, and the locals that are
    /// wanted.
    pub(super) fn load_state(&mut self, block: u32, is_wanted: impl Fn(usize) -> bool) {
        let buffer = self.osr_buffer();
        let locals = self.position.cfg().locals.len();
        for local in 0..locals {
            if is_wanted(local) {
                let value = self.take_value(buffer, local, clif_type(self.position.cfg().locals[local]));
                self.write_local(local as u32, value);
            }
        }
        let (input, cfg, frame) = (self.input, self.position.cfg(), self.position.frame());
        let is_stored = |local| is_wanted(local) && input.is_live(cfg, block, local);
        self.locals.send_home(frame, &mut self.builder, is_stored);
        self.locals.forget(frame, 0);
        let operands = self.position.cfg().stacks.types(self.position.cfg().blocks[block as usize].stack);
        // An enclosing loop may have more operands than the loop that the frame is entering; the frame has none of the
        // extra ones.
        let fit = (store_context::OSR_VALUES as usize).saturating_sub(locals);
        for (depth, &ty) in operands.iter().enumerate().take(fit) {
            let value = self.take_value(buffer, locals + depth, clif_type(ty));
            self.define_operand(depth as u32, value);
        }
    }

    fn take_value(&mut self, buffer: Value, place: usize, ty: Type) -> Value {
        let offset = place as i32 * value::SIZE as i32;
        self.builder.ins().load(ty, MemFlagsData::trusted(), buffer, offset)
    }
}
