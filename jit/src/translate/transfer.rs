//! Transfers: how a frame goes on in another version of its function.
//!
//! The version that is left stores locals and operands into the store's transfer buffer, and its path register into
//! the store's context, and tail-calls the other, which loads them and jumps to the node where it resumes. Nothing
//! can happen in between, so one buffer a store is enough.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, SigRef, Type, Value, types};

use super::Translator;
use crate::abi::{Builtin, clif_type, code_slots, heat, resume_signature, store_context, value, vmctx};
use crate::graph::Elsewhere;
use crate::plan::Probe;

/// Of no more locals those are loaded, too, that nobody reads.
const FEW_LOCALS: usize = 256;

impl Translator<'_> {
    /// Counts heat; asks for a better version when there is enough of it, and goes on in it if it is ready.
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
        // Nothing is measured yet at the function's entry.
        let is_measuring = self.block != 0;
        if is_measuring {
            self.stop_metrics();
        }
        let func = self.builder.ins().iconst(types::I32, i64::from(self.cfg.func));
        let block = self.builder.ins().iconst(types::I32, i64::from(self.block));
        let version = self.builtin(Builtin::Promote, &[func, block]);
        if self.can_transfer() {
            self.transfer_if_ready(version);
        }
        if is_measuring {
            self.start_metrics();
        }
        self.builder.ins().jump(go_on, &[]);
        self.builder.seal_block(go_on);
        self.builder.switch_to_block(go_on);
    }

    fn transfer_if_ready(&mut self, version: Value) {
        let (leave, stay) = (self.builder.create_block(), self.builder.create_block());
        let to = self.builder.append_block_param(leave, types::I64);
        self.builder.ins().brif(version, leave, &[version.into()], stay, &[]);
        self.builder.set_cold_block(leave);
        self.builder.switch_to_block(leave);
        self.aside(|translator| translator.continue_in(to));
        match self.graph.nodes[self.node].probes[..] {
            // The check behind leaves by the same way.
            [Probe::Heat(_), Probe::Check, ..] if self.block != 0 && self.options.metrics == 0 => {
                self.leave_when_hot = Some(leave);
            }
            _ => self.builder.seal_block(leave),
        }
        self.builder.seal_block(stay);
        self.builder.set_cold_block(stay);
        self.builder.switch_to_block(stay);
    }

    /// Whether a frame in the block being translated can go on in another version: at a loop header, with a state
    /// that fits into the buffer.
    fn can_transfer(&self) -> bool {
        self.cfg.can_resume(self.block)
    }

    /// Goes on in a version that counts nothing, or something else.
    pub(super) fn transfer_to(&mut self, version: Value) {
        let state = self.live_state();
        self.store_values(state);
        let ty = self.env.info.func_type(self.cfg.func);
        let signature = self.builder.import_signature(resume_signature(ty));
        self.leave_to(signature, version, &[self.vmctx, self.vmctx]);
    }

    /// Goes on in code that is elsewhere; a part is compiled if nobody has.
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
        self.aside(|translator| translator.continue_in(code));
    }

    /// Goes on in a version that counts the same.
    fn continue_in(&mut self, version: Value) {
        self.pass_counting();
        self.transfer_to(version);
    }

    /// What the frame counts with.
    fn pass_counting(&mut self) {
        self.pass_counted();
        if self.options.contexts {
            self.pass_record();
        }
        self.transfer_path();
        self.transfer_metrics();
    }

    /// Calls what the frame goes on in, which returns to its caller: to the machine frame's, or to where the frame is
    /// inlined.
    pub(super) fn leave_to(&mut self, signature: SigRef, version: Value, args: &[Value]) {
        let Some(behind) = self.graph.nodes[self.node].behind else {
            self.builder.ins().return_call_indirect(signature, version, args);
            return;
        };
        // For who walks the stack it is the call that was not made: the frame itself is that of the other version now.
        let place = self.graph.inlined_at(self.own)[self.frame as usize - 1];
        let location = self.origins.at(place);
        self.builder.set_srcloc(location);
        let call = self.builder.ins().call_indirect(signature, version, args);
        self.at(self.offset);
        let results = self.builder.inst_results(call).to_vec();
        for (depth, value) in (0..).zip(results) {
            self.define_operand(depth, value);
        }
        self.go_to(behind);
    }

    /// Whether a local of the frame may be read from the entry of `block` on. Whoever looks at captured state wants
    /// to see all.
    pub(super) fn is_live(&self, block: u32, local: usize) -> bool {
        self.options.capture_state || self.cfg.liveness.is_live(block, local)
    }

    /// The same of what follows the block that is translated.
    pub(super) fn is_live_behind(&self, local: usize) -> bool {
        self.options.capture_state || self.cfg.liveness.is_live_behind(self.block, local)
    }

    /// Stores locals, then operands, into the transfer buffer, as many as fit.
    pub(super) fn store_state(&mut self) {
        let state = self.state_of((0..self.cfg.locals.len()).collect());
        self.store_values(state);
    }

    /// Where in the transfer buffer which values belong, without locals that are not read any more.
    pub(super) fn live_state(&mut self) -> Vec<(i32, Value)> {
        let locals = self.cfg.locals.len();
        let wanted = match self.options.capture_state {
            true => (0..locals).collect(),
            false => self.cfg.liveness.live_at(self.block, locals).collect(),
        };
        self.state_of(wanted)
    }

    /// The same of these locals, and the operands.
    fn state_of(&mut self, wanted: Vec<usize>) -> Vec<(i32, Value)> {
        let locals = self.cfg.locals.len();
        let mut state: Vec<(usize, Value)> =
            wanted.into_iter().map(|local| (local, self.read_local(local as u32))).collect();
        let operands = self.stack.height() as usize;
        state.extend((locals..).zip(self.top(operands)));
        let fit = state.into_iter().filter(|&(place, _)| place < store_context::TRANSFER_VALUES as usize);
        fit.map(|(place, value)| (place as i32 * value::SIZE as i32, value)).collect()
    }

    fn store_values(&mut self, state: Vec<(i32, Value)>) {
        let buffer = self.transfer_buffer();
        for (place, value) in state {
            self.builder.ins().store(MemFlagsData::trusted(), value, buffer, place);
        }
    }

    fn transfer_buffer(&mut self) -> Value {
        // Not as constants: they would be moved out of the loop around, where they cost registers.
        let trusted = MemFlagsData::trusted();
        let store = self.builder.ins().load(types::I64, trusted, self.vmctx, vmctx::STORE);
        self.builder.ins().load(types::I64, trusted, store, store_context::TRANSFER)
    }

    /// The entry of a version that resumes: loads locals and operands, and goes to node 0.
    pub(super) fn resume(&mut self) {
        if self.options.contexts {
            self.take_record();
        }
        // What is not read any more was not stored, and its load is dropped. But without it sieve takes 1.12 of the time
        // with bursts (measured; why is not known).
        let (block, few) = (self.graph.nodes[0].block, self.cfg.locals.len() <= FEW_LOCALS);
        self.load_state(block, |translator, local| few || translator.is_live(block, local));
        self.start_metrics();
        self.go_to(0);
    }

    /// Takes the state of a frame at the entry of `block` from the transfer buffer: operands, and the locals that are
    /// wanted.
    pub(super) fn load_state(&mut self, block: u32, is_wanted: impl Fn(&Self, usize) -> bool) {
        let buffer = self.transfer_buffer();
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
        // A loop may have more around the one that a frame is on its way to, which then has none of them.
        let fit = (store_context::TRANSFER_VALUES as usize).saturating_sub(locals);
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
