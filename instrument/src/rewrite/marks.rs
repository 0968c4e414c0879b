//! Entries of the stack of calls in flight: where this frame is.

use wasm_encoder::BlockType;
use wasmparser::Operator;

use super::{Input, Local, Writer};
use crate::layout::{ENTRY, Global, SOFT_LIMIT, Support};
use crate::sites::{is_end, is_site};

/// Whether a function keeps its floor in a local from the beginning: not if all that it can do is end.
pub(super) fn has_floor(input: &Input<'_>) -> bool {
    let reader = input.source.body(input.cfg.func).get_operators_reader();
    let operators = reader.into_iter().flatten().map_while(Result::ok);
    let comes_back = |op: &Operator<'_>| is_site(op, input.all_traps) && !is_end(op);
    operators.into_iter().any(|op| comes_back(&op) || catches(&op))
}

impl Writer<'_, '_> {
    /// The frame is about to do what may be the last of it: its entry says so.
    pub(super) fn mark(&mut self) {
        let site = self.next_site;
        self.next_site += 1;
        let floor = self.locals.index(Local::Floor);
        let path = self.input.plan.entry().map(|_| self.locals.index(Local::Path));
        let stack = self.input.layout.stack();
        let has_floor = self.has_floor;
        let mut code = self.code();
        if !has_floor {
            code.get(Global::Height);
            code.sink.local_set(floor);
        }
        code.sink.local_get(floor);
        code.address();
        let at = code.at(stack, 2);
        code.sink.i32_const(site as i32).i32_store(at);
        if let Some(path) = path {
            code.sink.local_get(floor);
            code.address();
            let at = code.at(stack + 8, 3);
            code.sink.local_get(path).i64_store(at);
        }
        if !self.is_pushed {
            let mut code = self.code();
            code.sink.local_get(floor).i32_const(ENTRY as i32).i32_add();
            code.set(Global::Height);
            self.is_pushed = true;
        }
    }

    /// Takes the frame's entry away, if it has one.
    pub(super) fn pop(&mut self) {
        if std::mem::take(&mut self.is_pushed) {
            let floor = self.locals.index(Local::Floor);
            let mut code = self.code();
            code.sink.local_get(floor);
            code.set(Global::Height);
        }
    }

    /// Behind a call: whoever was called may have gone to the host, which may have left frames behind, and grown the
    /// memory.
    pub(super) fn returned(&mut self, op: &Operator<'_>) {
        let source = self.input.source;
        let stays = match *op {
            Operator::Call { function_index } => {
                function_index >= source.first_defined() && !source.has_tail_calls
            }
            _ => false,
        };
        if stays {
            return;
        }
        self.settle();
        let floor = self.locals.index(Local::Floor);
        let mut code = self.code();
        code.get(Global::Height);
        code.sink.local_get(floor).i32_const(ENTRY as i32).i32_add().i32_ne().if_(BlockType::Empty);
        code.sink.local_get(floor).i32_const(ENTRY as i32).i32_add();
        code.call(Support::Left);
        code.sink.end();
    }

    /// The host may call this function.
    pub(super) fn enter_from_outside(&mut self) {
        self.settle();
        if self.has_floor {
            let mut code = self.code();
            code.get(Global::Height);
            code.sink.i32_const(SOFT_LIMIT as i32).i32_gt_u().if_(BlockType::Empty);
            code.call(Support::Clear);
            code.sink.end();
        }
    }

    /// Moves the region, if the host has grown the memory that it is in.
    fn settle(&mut self) {
        if self.input.layout.is_shared {
            let memory = self.input.layout.memory;
            let mut code = self.code();
            code.sink.memory_size(memory);
            code.get(Global::Whole);
            code.sink.i32_ne().if_(BlockType::Empty);
            code.call(Support::Settle);
            code.sink.end();
        }
    }

    /// An exception was caught: frames that it went through have left entries, and this one may have one.
    pub(super) fn book_thrown(&mut self) {
        let floor = self.locals.index(Local::Floor);
        let mut code = self.code();
        code.sink.local_get(floor).i32_const(ENTRY as i32).i32_add();
        code.call(Support::Left);
        code.sink.local_get(floor);
        code.set(Global::Height);
    }
}

fn catches(op: &Operator<'_>) -> bool {
    matches!(op, Operator::TryTable { .. } | Operator::Try { .. })
}
