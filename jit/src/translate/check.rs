//! Checks: where a program switches to instrumented code for a while, and back.
//!
//! Checking code asks the runtime when a check fires: when its count, in the pinned register, falls below zero. While a
//! burst runs, each check of checking code fires, so that a frame which was left there asks at its next check. Burst
//! code counts in the store's context. The runtime is asked through a stub that changes no register. Source: Hirzel &
//! Chilimbi 2001; the decision itself is `wprof_profiler::Bursts`.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{
    AbiParam, Block, ExtFuncData, ExternalName, InstBuilder, Signature, Value, types,
};

use super::Translator;
use crate::abi::{leave_signature, resume_signature, returns_in_memory, store_context, wasm_signature};
use crate::clif::check::{self, Check, ask_runtime, ask_runtime_pinned, trap_if_told};
use crate::graph::Lacking;

impl Translator<'_> {
    /// Translates a check; if it fires, the frame continues in the version that the runtime names.
    pub(super) fn check(&mut self) {
        // Baseline code has no optimiser whose work a check could hinder, and an inlined frame continues behind the
        // call.
        let is_inlined = self.input.graph().nodes[self.position.node()].behind.is_some();
        match self.input.is_optimised() && self.counts_checks_in_register() && !is_inlined {
            true => self.mark_check(),
            false => self.check_here(),
        }
        // The version in which the frame would have continued takes a frame itself, because it is called.
        if self.position.block() == 0 && !is_inlined {
            self.enter_frame();
        }
    }

    /// Leaves a mark with the state that the other version takes over; the mark becomes the check when the code is
    /// optimised.
    fn mark_check(&mut self) {
        let ty = self.input.env().info.func_type(self.position.cfg().func);
        let guard = self.input.graph().nodes[self.position.node()].guard;
        let is_guarded = guard.is_some_and(|guard| matches!(guard.when, Lacking::Rounds { .. }));
        let (check, state) = match self.position.block() {
            // At the entry the state of the frame is its parameters, so the other version is simply called.
            0 => (Check { signature: wasm_signature(ty), places: None, is_guarded }, self.params()),
            _ => {
                let (places, state) = self.live_state().into_iter().unzip();
                let signature = if returns_in_memory(ty, self.input.target().result_registers()) {
                    resume_signature(ty)
                } else {
                    leave_signature(ty)
                };
                (Check { signature, places: Some(places), is_guarded }, state)
            }
        };
        let args: Vec<Value> = std::iter::once(self.vmctx).chain(state).collect();
        let mut signature = Signature::new(self.input.isa().default_call_conv());
        let types = args.iter().map(|&value| AbiParam::new(self.builder.func.dfg.value_type(value)));
        signature.params.extend(types);
        let signature = self.builder.import_signature(signature);
        let number = self.output.add_check(check);
        let name = self.builder.func.declare_imported_user_function(check::mark(number));
        let name = ExternalName::user(name);
        let mark =
            self.builder.import_function(ExtFuncData { name, signature, colocated: false, patchable: false });
        self.builder.ins().call(mark, &args);
    }

    fn check_here(&mut self) {
        let ask = self.cold_block();
        let go_on = self.builder.create_block();
        let is_pinned = self.counts_checks_in_register();
        self.in_place(|translator| {
            let fires = match is_pinned {
                true => check::fires(&mut translator.builder.cursor()),
                false if translator.counts_checks() => translator.count_check(),
                false => translator.count_in_burst(),
            };
            translator.builder.ins().brif(fires, ask, &[], go_on, &[]);
        });
        self.enter_cold(ask);
        // The loads here must not be hoisted out of an enclosing loop, where they would cost registers.
        let ask_runtime = if is_pinned { ask_runtime_pinned } else { ask_runtime };
        let version = ask_runtime(&mut self.builder.cursor(), self.vmctx);
        match self.blocks.take_exit() {
            Some(leave) => {
                trap_if_told(&mut self.builder.cursor(), version);
                self.builder.ins().brif(version, leave, &[version.into()], go_on, &[]);
                self.builder.seal_block(leave);
            }
            None if self.position.block() == 0
                && self.input.graph().nodes[self.position.node()].counts_heat() =>
            {
                // Later calls of a hot function reach better code anyway; this check only asks whether to stop.
                trap_if_told(&mut self.builder.cursor(), version);
                self.builder.ins().jump(go_on, &[]);
            }
            None => self.check_leaves(version, go_on),
        }
        self.builder.seal_block(go_on);
        self.builder.switch_to_block(go_on);
        if self.input.graph().in_bursts {
            self.heed_check();
        }
    }

    fn check_leaves(&mut self, version: Value, go_on: Block) {
        let leave = self.cold_block();
        self.builder.ins().brif(version, leave, &[], go_on, &[]);
        self.enter_cold(leave);
        if self.input.graph().in_bursts && self.position.block() != 0 {
            self.cut_path();
        }
        self.out_of_line(|translator| translator.leave_for(version));
    }

    /// Reports whether this is checking code, not burst code.
    fn counts_checks(&self) -> bool {
        self.input.options().checked && !self.input.graph().in_bursts
    }

    /// Reports whether this code counts checks in the pinned register.
    pub(super) fn counts_checks_in_register(&self) -> bool {
        self.counts_checks() && self.input.options().pinned_cell() == Some(store_context::CHECKS)
    }

    /// Counts a check down, where the count is in memory.
    fn count_check(&mut self) -> Value {
        let new = self.count_down(store_context::CHECKS);
        self.builder.ins().icmp_imm_s(IntCC::SignedLessThan, new, 0)
    }

    /// Counts a check of the burst down; it fires at the last one, and when no burst runs.
    fn count_in_burst(&mut self) -> Value {
        let new = self.count_down(store_context::BURST);
        self.builder.ins().icmp_imm_s(IntCC::SignedLessThan, new, 1)
    }

    /// Decrements a count in the store's context.
    fn count_down(&mut self, cell: i32) -> Value {
        let (flags, store) = (self.counter_flags(), self.store_context());
        let old = self.builder.ins().load(types::I64, flags, store, cell);
        let new = self.builder.ins().iadd_imm_s(old, -1);
        self.builder.ins().store(flags, new, store, cell);
        new
    }

    fn leave_for(&mut self, version: Value) {
        trap_if_told(&mut self.builder.cursor(), version);
        match self.position.block() {
            0 => {
                let args: Vec<Value> = [self.vmctx, self.vmctx].into_iter().chain(self.params()).collect();
                let signature = wasm_signature(self.input.env().info.func_type(self.position.cfg().func));
                let signature = self.builder.import_signature(signature);
                self.leave_to(signature, version, &args);
            }
            _ => self.osr_to(version),
        }
    }

    fn params(&mut self) -> Vec<Value> {
        (0..self.position.cfg().params).map(|local| self.read_local(local)).collect()
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
