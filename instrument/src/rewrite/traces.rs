//! Code that writes a trace. See [`crate::support`] for the functions, and `wprof_profiler`'s module `trace` for the bits.

use wasmparser::Operator;

use super::marks::{Pushed, catches};
use super::places::Place;
use super::{Input, Local, Writer};
use crate::Error;
use crate::cfg::is_call;
use crate::layout::{Support, TAIL_BITS, TAIL_VALUE};
use crate::plan::Probe;
use crate::sites::{is_tail_call, is_throw};
use crate::trace::{state, via};

/// Reports whether a traced function puts back from where the host calls: if it makes calls or catches.
pub(super) fn has_outer(input: &Input<'_>) -> bool {
    let reader = input.source.body(input.cfg.func).get_operators_reader();
    let mut operators = reader.into_iter().flatten().map_while(Result::ok);
    operators.any(|op| is_call(&op) || is_tail_call(&op) || catches(&op))
}

impl<'a> Writer<'a, '_> {
    /// Writes the code at frame entry: a function that may be called from outside finds out how it was called.
    pub(super) fn enter_traced(&mut self) {
        if !self.is_traced() {
            return;
        }
        let Input { source, cfg, .. } = self.input;
        if source.escaped.contains(&cfg.func) {
            self.sink().i32_const(cfg.func.cast_signed());
            self.code().call(Support::Begin);
        }
        self.keep_outer();
    }

    /// Writes the entry of the frame at the current instruction, with a state.
    pub(super) fn mark_traced(&mut self, state: u32) {
        let place = self.locals.index(Local::Place);
        let word = u64::from(state) << 32 | u64::from(self.at);
        let is_new = self.pushed != Pushed::Yes;
        let mut code = self.code();
        code.sink.local_get(place);
        code.address();
        let at = code.at(0, 3);
        code.sink.i64_const(word.cast_signed()).i64_store(at);
        if is_new {
            code.sink.local_get(place);
            code.set(crate::layout::Global::Height);
        }
        self.pushed = Pushed::Yes;
    }

    /// Returns the state of a frame at an instruction.
    fn state_at(&self, op: &Operator<'_>) -> u32 {
        match *op {
            Operator::Call { function_index } | Operator::ReturnCall { function_index }
                if function_index < self.input.source.first_defined() =>
            {
                state::HOST
            }
            ref op if is_throw(op) => state::THROWN,
            _ => state::BEGUN,
        }
    }

    /// Writes an instruction that may be the last of a traced frame.
    pub(super) fn site_traced(&mut self, op: &Operator<'a>, bytes: (u32, u32)) -> Result<(), Error> {
        let state = self.state_at(op);
        self.mark_traced(state);
        if !is_call(op) {
            return self.copy_at_site(op, bytes);
        }
        let source = self.input.source;
        match *op {
            _ if state == state::HOST => self.code().raise_floor(),
            Operator::Call { function_index: callee } if source.escaped.contains(&callee) => {
                self.code().calls_via(via::DIRECT);
            }
            Operator::Call { .. } => {}
            _ => self.code().calls_via(via::INDIRECT),
        }
        self.copy(op, bytes)?;
        let stays = matches!(op, Operator::Call { .. }) && state == state::BEGUN && !source.has_tail_calls;
        if !stays {
            self.back_traced();
        }
        if let Some(emit) = self.input.plan.trace().and_then(|plan| plan.behind_call(bytes.0)) {
            self.code().emit(emit.value.into(), emit.bits.into());
        }
        Ok(())
    }

    /// Writes the code behind a call that may have reached the host.
    fn back_traced(&mut self) {
        let place = self.locals.index(Local::Place);
        self.sink().local_get(place);
        self.code().call(Support::Back);
        self.outer_context();
    }

    /// Writes a tail call, the end of a block. That of the host becomes a call and a return, since something is to be
    /// written in between.
    pub(super) fn tail_call_traced(
        &mut self,
        block: u32,
        op: &Operator<'a>,
        bytes: (u32, u32),
    ) -> Result<(), Error> {
        match *op {
            Operator::ReturnCall { function_index: callee } if self.state_at(op) == state::HOST => {
                self.mark_traced(state::HOST);
                self.code().raise_floor();
                self.op_start = self.out.len();
                self.sink().call(callee);
                self.back_traced();
                self.edge_code_at(block, 0, Place::Before);
                self.pop();
                self.sink().return_();
                Ok(())
            }
            Operator::ReturnCall { function_index: callee } => {
                self.pop();
                self.code().emit(callee.into(), 32);
                self.edge_code_at(block, 0, Place::Before);
                if self.input.source.escaped.contains(&callee) {
                    self.code().calls_via(via::DIRECT);
                }
                self.copy(op, bytes)
            }
            _ => {
                self.mark_traced(state::BEGUN);
                self.leave_tail(block);
                self.code().calls_via(via::TAIL);
                self.copy(op, bytes)
            }
        }
    }

    /// Leaves the bits of a tail call's edge to the callee, which is named before.
    fn leave_tail(&mut self, block: u32) {
        let edge = self.places.edge_at(block, 0, Place::Before);
        let probe = edge.and_then(|edge| self.places.probes(edge).first().copied());
        let (value, bits) = match probe {
            Some(Probe::Emit { value, bits }) => (value, bits),
            _ => (0, 0),
        };
        let mut code = self.code();
        code.region();
        let at = code.at(TAIL_VALUE, 3);
        code.sink.i64_const(value.into()).i64_store(at);
        code.region();
        let at = code.at(TAIL_BITS, 2);
        code.sink.i32_const(bits.into()).i32_store(at);
    }

    /// Writes the code after a catch in a traced function.
    pub(super) fn caught_traced(&mut self) {
        let place = self.locals.index(Local::Place);
        self.sink().local_get(place);
        self.code().call(Support::Caught);
    }
}
