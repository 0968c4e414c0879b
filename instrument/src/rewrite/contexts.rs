//! Calls in calling contexts: a frame finds its call record at its entry, and says before each call from which callee
//! slot it calls. See [`crate::support::records`].

use wasm_encoder::InstructionSink;
use wasmparser::Operator;

use super::marks::catches;
use super::traces;
use super::{Input, Local, Writer};
use crate::Error;
use crate::cfg::is_call;
use crate::layout::{Global, SLOT_BYTES, Support};
use crate::sites;

/// Reports whether a function puts back the slot from which the host calls: if it calls the host itself, or goes on after
/// an exception.
pub(super) fn has_outer(input: &Input<'_>) -> bool {
    let reader = input.source.body(input.cfg.func).get_operators_reader();
    let mut operators = reader.into_iter().flatten().map_while(Result::ok);
    let host = input.source.first_defined();
    if input.layout.trace.is_some() {
        return traces::has_outer(input);
    }
    input.layout.records.is_some() && operators.any(|op| calls_host(&op, host) || catches(&op))
}

fn calls_host(op: &Operator<'_>, first_defined: u32) -> bool {
    match *op {
        Operator::Call { function_index } | Operator::ReturnCall { function_index } => {
            function_index < first_defined
        }
        _ => false,
    }
}

impl<'a> Writer<'a, '_> {
    /// Writes the code at frame entry that finds the frame's call record, and counts the call there.
    pub(super) fn enter_context(&mut self) {
        let Some(records) = self.input.layout.records else { return };
        let Input { cfg, plan, source, .. } = self.input;
        let sites = sites::calls(cfg, &source.body(cfg.func)).map_or(0, |sites| sites.len());
        let record = self.locals.index(Local::Record);
        let mut code = self.code();
        code.sink.i32_const(cfg.func as i32).i32_const(plan.slots(&records) as i32).i32_const(sites as i32);
        code.call(Support::Enter);
        code.sink.local_set(record);
        self.keep_outer();
    }

    /// Writes the code at frame entry that keeps from where the host calls, if the function puts that back.
    pub(super) fn keep_outer(&mut self) {
        if self.has_outer {
            let outer = self.locals.index(Local::Outer);
            let mut code = self.code();
            code.get(Global::Current);
            code.sink.local_set(outer);
        }
    }

    /// Copies a call; if contexts are counted, with the code before and behind it that they need.
    pub(super) fn copy_call(&mut self, op: &Operator<'a>, bytes: (u32, u32)) -> Result<(), Error> {
        let Some(records) = self.input.layout.records else { return self.copy(op, bytes) };
        let slot = self.input.plan.slots(&records) + SLOT_BYTES * self.next_slot;
        self.next_slot += 1;
        let record = self.locals.index(Local::Record);
        self.sink().local_get(record).i32_const(slot as i32).i32_add();
        match *op {
            Operator::Call { function_index: callee } | Operator::ReturnCall { function_index: callee }
                if callee < self.input.source.first_defined() =>
            {
                self.call_host(callee, op);
                Ok(())
            }
            _ => {
                self.code().set(Global::Slot);
                self.copy(op, bytes)?;
                if is_call(op) && !matches!(op, Operator::Call { .. }) {
                    self.code().call(Support::Unnamed);
                }
                Ok(())
            }
        }
    }

    /// Writes a call of a function of the host, from the slot on the stack. A tail call becomes a call and a return, since
    /// something is to be done in between.
    fn call_host(&mut self, callee: u32, op: &Operator<'_>) {
        self.sink().i32_const(callee as i32);
        self.code().call(Support::Host);
        self.op_start = self.out.len();
        self.sink().call(callee);
        self.outer_context();
        if matches!(op, Operator::ReturnCall { .. }) {
            self.sink().return_();
        }
    }

    /// Writes the code after a call of the host, and after a catch: the host calls from where it did before.
    pub(super) fn outer_context(&mut self) {
        if !self.has_outer {
            return;
        }
        let outer = self.locals.index(Local::Outer);
        let mut code = self.code();
        code.sink.local_get(outer);
        code.set(Global::Current);
    }

    /// Pushes the record that a row of the table is of, if rows have records.
    pub(super) fn push_record_of_row(&mut self, is_in_record: bool) {
        let record = self.input.layout.records.map(|_| self.locals.index(Local::Record));
        let Some(record) = record else { return };
        let mut sink: InstructionSink<'_> = self.sink();
        if is_in_record {
            sink.local_get(record);
        } else {
            sink.i32_const(0);
        }
    }
}
