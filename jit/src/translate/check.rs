//! Checks: how a program goes on in instrumented code for a while, and back.
//!
//! Checking code counts down in the pinned register, and asks the runtime when the count falls below zero; while a burst
//! runs it is kept there, so that the next check of a frame that was left in checking code asks. Code for bursts counts in
//! the store's context. The runtime is asked through a stub that changes no register.
//! Source: Hirzel & Chilimbi 2001; the decision itself is `wprof_profiler::Bursts`.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, InstBuilder, MemFlagsData, Value, types};

use super::Translator;
use crate::abi::{TrapCode, check, check_signature, store_context, vmctx, wasm_signature};

impl Translator<'_> {
    /// Counts a check; when it fires, goes on in the version that the runtime says.
    pub(super) fn check(&mut self) {
        let fires = match self.graph.in_bursts {
            true => self.count_in_burst(),
            false => self.count_down(),
        };
        let (ask, go_on) = (self.cold_block(), self.builder.create_block());
        self.builder.ins().brif(fires, ask, &[], go_on, &[]);
        self.enter_cold(ask);
        self.ask(go_on);
        self.builder.seal_block(go_on);
        self.builder.switch_to_block(go_on);
    }

    fn count_down(&mut self) -> Value {
        let old = self.builder.ins().get_pinned_reg(types::I64);
        let new = self.builder.ins().iadd_imm_s(old, -1);
        self.builder.ins().set_pinned_reg(new);
        self.builder.ins().icmp_imm_s(IntCC::SignedLessThan, new, 0)
    }

    /// One check less of the burst; it fires at the last one, and when no burst runs.
    fn count_in_burst(&mut self) -> Value {
        let (flags, store) = (self.counter_flags(), self.store_context());
        let old = self.builder.ins().load(types::I64, flags, store, store_context::BURST);
        let new = self.builder.ins().iadd_imm_s(old, -1);
        self.builder.ins().store(flags, new, store, store_context::BURST);
        self.builder.ins().icmp_imm_s(IntCC::SignedLessThan, new, 1)
    }

    /// What is added to a counter: 1, or 0 if no burst runs.
    pub(super) fn counted_in_burst(&mut self) -> Value {
        let (flags, store) = (self.counter_flags(), self.store_context());
        self.builder.ins().load(types::I64, flags, store, store_context::COUNTS)
    }

    /// Asks the runtime. Nothing here may be moved out of a loop around, where it would cost registers.
    fn ask(&mut self, go_on: Block) {
        let trusted = MemFlagsData::trusted();
        let store = self.builder.ins().load(types::I64, trusted, self.vmctx, vmctx::STORE);
        let code = self.builder.ins().load(types::I64, trusted, store, store_context::CHECK);
        let signature = self.builder.import_signature(check_signature());
        self.builder.ins().call_indirect(signature, code, &[store]);
        let count = self.builder.ins().get_pinned_reg(types::I64);
        let leaves = self.builder.ins().icmp_imm_s(IntCC::SignedLessThan, count, 0);
        let leave = self.cold_block();
        self.builder.ins().brif(leaves, leave, &[], go_on, &[]);
        self.enter_cold(leave);
        self.leave();
    }

    fn leave(&mut self) {
        let flags = self.counter_flags();
        let store = self.builder.ins().load(types::I64, MemFlagsData::trusted(), self.vmctx, vmctx::STORE);
        let count = self.builder.ins().load(types::I64, flags, store, store_context::CHECKS);
        self.builder.ins().set_pinned_reg(count);
        let version = self.builder.ins().load(types::I64, flags, store, store_context::GO_ON);
        let is_trap = self.builder.ins().icmp_imm_s(IntCC::Equal, version, check::TRAP);
        self.builder.ins().trapnz(is_trap, TrapCode::Host.to_clif());
        match self.block {
            0 => self.call_instead(version),
            _ => self.transfer_to(version),
        }
    }

    /// At the entry the state of the frame is its parameters: another version is simply called. Only the host
    /// looks at who the caller is.
    fn call_instead(&mut self, version: Value) {
        let params = self.frame_locals()[..self.cfg.params as usize].to_vec();
        let params = params.into_iter().map(|local| self.builder.use_var(local)).collect::<Vec<_>>();
        let args: Vec<Value> = [self.vmctx, self.vmctx].into_iter().chain(params).collect();
        let signature = wasm_signature(self.env.info.func_type(self.cfg.func));
        let signature = self.builder.import_signature(signature);
        self.leave_to(signature, version, &args);
    }

    fn cold_block(&mut self) -> Block {
        let block = self.builder.create_block();
        self.builder.set_cold_block(block);
        block
    }

    fn enter_cold(&mut self, block: Block) {
        self.builder.seal_block(block);
        self.builder.switch_to_block(block);
    }
}
