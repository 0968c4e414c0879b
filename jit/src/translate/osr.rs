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
        let call = if self.block == 0 { heat::CALL } else { 0 };
        let heat = self.count(counter, heat::ROUND + call);
        let heat = self.builder.ins().ireduce(types::I32, heat);
        let hot = self.options.hot_after(self.env.info.body(self.own.func).len());
        let is_hot = self.builder.ins().icmp_imm_s(IntCC::SignedGreaterThanOrEqual, heat, i64::from(hot));
        let (promote, go_on) = (self.builder.create_block(), self.builder.create_block());
        self.builder.ins().brif(is_hot, promote, &[], go_on, &[]);
        self.builder.seal_block(promote);
        self.builder.set_cold_block(promote);

        self.builder.switch_to_block(promote);
        // At the function's entry no metric is being measured yet.
        let is_measuring = self.block != 0;
        if is_measuring {
            self.stop_metrics();
        }
        let func = self.builder.ins().iconst(types::I32, i64::from(self.cfg.func));
        let block = self.builder.ins().iconst(types::I32, i64::from(self.block));
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
        match self.graph.nodes[self.node].probes[..] {
            // The check behind it leaves through the same block.
            [Probe::Heat(_), Probe::Check, ..] if self.block != 0 && self.options.metrics == 0 => {
                self.leave_when_hot = Some(leave);
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
        self.cfg.can_resume(self.block)
    }

    /// Continues in a version that counts nothing, or something else.
    pub(super) fn osr_to(&mut self, version: Value) {
        let state = self.live_state();
        self.store_values(state);
        let ty = self.env.info.func_type(self.cfg.func);
        let signature = self.builder.import_signature(resume_signature(ty));
        self.leave_to(signature, version, &[self.vmctx, self.vmctx]);
    }

    /// Continues in code that lies elsewhere; a part is compiled on its first use.
    pub(super) fn go_elsewhere(&mut self, elsewhere: Elsewhere) {
        let code = match elsewhere {
            Elsewhere::Part(row) => {
                let entry = self.env.slots + u64::from(row) * u64::from(code_slots::SIZE);
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
        if self.options.contexts {
            self.pass_record();
        }
        self.hand_over_path();
        self.hand_over_metrics();
    }

    /// Calls the code in which the frame continues, and returns its results to the caller: that of the machine frame,
    /// or the one into which the frame is inlined.
    pub(super) fn leave_to(&mut self, signature: SigRef, version: Value, args: &[Value]) {
        let Some(behind) = self.graph.nodes[self.node].behind else {
            self.builder.ins().return_call_indirect(signature, version, args);
            return;
        };
        // To a stack walk this call stands for the inlined call: the frame itself is now that of the other version.
        let place = self.graph.inlined_at(self.own)[self.frame as usize - 1];
        let location = self.origins.at(place);
        self.builder.set_srcloc(location);
        let results = self.call_or_land(signature, version, args);
        self.at(self.offset);
        for (depth, value) in (0..).zip(results) {
            self.define_operand(depth, value);
        }
        self.go_to(behind);
    }

    /// Reports whether a local of the frame may be read from the entry of `block` on. Where state is captured, all
    /// locals count as live.
    pub(super) fn is_live(&self, block: u32, local: usize) -> bool {
        self.options.capture_state || self.cfg.liveness.is_live(block, local)
    }

    /// Reports whether a local may be read behind the current block.
    pub(super) fn is_live_behind(&self, local: usize) -> bool {
        self.options.capture_state || self.cfg.liveness.is_live_behind(self.block, local)
    }

    /// Stores locals, then operands, into the OSR buffer, as many as fit.
    pub(super) fn store_state(&mut self) {
        let state = self.state_of((0..self.cfg.locals.len()).collect());
        self.store_values(state);
    }

    /// Returns the live values with their offsets in the OSR buffer.
    pub(super) fn live_state(&mut self) -> Vec<(i32, Value)> {
        let locals = self.cfg.locals.len();
        let wanted = match self.options.capture_state {
            true => (0..locals).collect(),
            false => self.cfg.liveness.live_at(self.block, locals).collect(),
        };
        self.state_of(wanted)
    }

    /// Returns these locals, and the operands, with their offsets in the OSR buffer.
    fn state_of(&mut self, wanted: Vec<usize>) -> Vec<(i32, Value)> {
        let locals = self.cfg.locals.len();
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
        if self.options.contexts {
            self.take_record();
        }
        // Dead locals were not stored, and their loads are dropped. But without these loads sieve takes 1.12 of the
        // time with bursts (measured; why is not known).
        let (block, few) = (self.graph.nodes[0].block, self.cfg.locals.len() <= FEW_LOCALS);
        self.load_state(block, |translator, local| few || translator.is_live(block, local));
        self.start_metrics();
        self.go_to(0);
    }

    /// Loads the state of a frame at the entry of `block` from the OSR buffer: operands, and the locals that are
    /// wanted.
    pub(super) fn load_state(&mut self, block: u32, is_wanted: impl Fn(&Self, usize) -> bool) {
        let buffer = self.osr_buffer();
        let locals = self.cfg.locals.len();
        for local in 0..locals {
            if is_wanted(self, local) {
                let value = self.take_value(buffer, local, clif_type(self.cfg.locals[local]));
                self.write_local(local as u32, value);
            }
        }
        self.send_home(|translator, local| is_wanted(translator, local) && translator.is_live(block, local));
        self.forget_locals(0);
        let operands = self.cfg.stacks.types(self.cfg.blocks[block as usize].stack);
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
