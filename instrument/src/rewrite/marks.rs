//! Entries of the stack of calls in flight, each of which says where its frame is.
//!
//! A frame gets its entry before the first instruction that may end it, and keeps it until it leaves; sites in between
//! update the entry. In most places the graph tells whether the frame has an entry.

use wasm_encoder::{BlockType, InstructionSink};
use wasmparser::Operator;

use super::{Input, Local, Writer};
use crate::cfg::{Block, End, is_call};
use crate::layout::{ENTRY, Global, Support};
use crate::sites::{is_end, is_site};

/// Whether the stack has an entry of this frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pushed {
    No,
    Yes,
    /// An entry on some of the paths that lead here.
    Maybe,
}

/// Reports whether a frame needs an entry while it executes `op`, a site.
pub(super) fn is_marked(input: &Input<'_>, op: &Operator<'_>) -> bool {
    input.tracks
        && match *op {
            Operator::Call { function_index: callee } => input.all_traps || input.calls.stops(callee),
            _ => true,
        }
}

/// Reports whether a function keeps its place in a local from the beginning: if it catches, or has a marked site after
/// which the frame continues.
pub(super) fn has_place(input: &Input<'_>) -> bool {
    let reader = input.source.body(input.cfg.func).get_operators_reader();
    let operators = reader.into_iter().flatten().map_while(Result::ok);
    if input.layout.trace.is_some() {
        return true;
    }
    let comes_back = |op: &Operator<'_>| is_site(op, input.all_traps) && !is_end(op) && is_marked(input, op);
    operators.into_iter().any(|op| comes_back(&op) || input.tracks && catches(&op))
}

/// Returns for each block whether the frame has an entry at its start.
pub(super) fn begins(input: &Input<'_>) -> Vec<Pushed> {
    let blocks = &input.cfg.blocks;
    if !input.tracks {
        return vec![Pushed::No; blocks.len()];
    }
    let marks = marking(input);
    let mut begins: Vec<Option<Pushed>> = vec![None; blocks.len()];
    let mut pending = Vec::new();
    if let Some(entry) = begins.first_mut() {
        *entry = Some(Pushed::No);
        pending.push(0_u32);
    }
    while let Some(number) = pending.pop() {
        let block = &blocks[number as usize];
        let ends = match begins[number as usize] {
            _ if leaves(block) => Some(Pushed::No),
            _ if marks[number as usize] => Some(Pushed::Yes),
            begins => begins,
        };
        for edge in &block.edges {
            let Some(to) = edge.to else { continue };
            // A frame that catches has an entry from then on.
            let comes = if edge.clause.is_some() { Some(Pushed::Yes) } else { ends };
            let known = begins[to as usize];
            let joined = if known.is_none() || known == comes { comes } else { Some(Pushed::Maybe) };
            if joined != known {
                begins[to as usize] = joined;
                pending.push(to);
            }
        }
    }
    // Unreachable blocks get no code.
    begins.into_iter().map(|known| known.unwrap_or(Pushed::Maybe)).collect()
}

/// Returns for each block whether it writes an entry and continues.
fn marking(input: &Input<'_>) -> Vec<bool> {
    let blocks = &input.cfg.blocks;
    let mut marks = vec![false; blocks.len()];
    let Ok(mut reader) = input.source.body(input.cfg.func).get_operators_reader() else { return marks };
    let mut at_block = 0;
    while let Ok((op, at)) = reader.read_with_offset() {
        while blocks.get(at_block).is_some_and(|block| u64::from(block.limit) <= at) {
            at_block += 1;
        }
        let Some(block) = blocks.get(at_block) else { break };
        if at >= u64::from(block.start) && is_site(&op, input.all_traps) && is_marked(input, &op) {
            marks[at_block] = true;
        }
    }
    marks
}

/// Reports whether a block may leave the function at its end, which removes the entry.
fn leaves(block: &Block) -> bool {
    matches!(block.how, End::Jump | End::Branch | End::Switch(_) | End::TailCall)
        && block.edges.iter().any(|edge| edge.to.is_none())
}

impl Writer<'_, '_> {
    /// Writes the code at frame entry that finds the frame's place.
    pub(super) fn find_place(&mut self) {
        let place = self.locals.index(Local::Place);
        let end = self.input.layout.stack() + self.input.layout.stack_bytes();
        let may_be_deep = self.input.calls.recurs(self.input.cfg.func);
        let mut code = self.code();
        code.get(Global::Height);
        code.sink.i32_const(ENTRY as i32).i32_add().local_set(place);
        if may_be_deep {
            // The host's stack is normally used up before this one. If it is very large, this counts as a stack
            // overflow too.
            code.sink.local_get(place).i32_const((end - ENTRY) as i32).i32_gt_u();
            code.sink.if_(BlockType::Empty).unreachable().end();
        }
    }

    /// Writes the code before a site: it stores the site in the frame's entry.
    pub(super) fn mark(&mut self, op: &Operator<'_>) {
        let site = self.next_site;
        self.next_site += 1;
        if !self.input.tracks {
            return;
        }
        let record = self.input.layout.owes_records().then(|| self.locals.index(Local::Record));
        let path = self.input.plan.entry().map(|_| self.locals.index(Local::Path));
        let is_new = self.pushed != Pushed::Yes;
        let is_short = is_end(op) || is_new && !self.is_hot();
        if is_short && !self.has_place {
            let mut code = self.code();
            code.get(Global::Height);
            code.sink.i32_const(ENTRY as i32).i32_add();
        } else if is_short {
            let place = self.locals.index(Local::Place);
            self.sink().local_get(place);
        }
        if is_short {
            self.sink().i32_const(site as i32);
            if let Some(record) = record {
                self.sink().local_get(record);
            }
            if let Some(path) = path {
                self.sink().local_get(path);
            }
            self.code().call(Support::Mark);
        } else {
            let place = self.locals.index(Local::Place);
            let write = |sink: &mut InstructionSink<'_>| {
                sink.i32_const(site as i32);
            };
            self.code().entry(place, write, (record, path), is_new);
        }
        self.pushed = Pushed::Yes;
    }

    /// Removes the frame's entry, if it has one.
    pub(super) fn pop(&mut self) {
        if std::mem::replace(&mut self.pushed, Pushed::No) != Pushed::No {
            let place = self.locals.index(Local::Place);
            let mut code = self.code();
            code.sink.local_get(place).i32_const(ENTRY as i32).i32_sub();
            code.set(Global::Height);
        }
    }

    /// Removes the frame's entry at the end of a block that may leave the function.
    pub(super) fn pop_to_leave(&mut self, block: &Block) {
        if leaves(block) {
            self.pop();
        }
    }

    /// Writes the code after a call: the callee may have reached the host, which may have left frames behind, and grown
    /// the memory.
    pub(super) fn returned(&mut self, op: &Operator<'_>) {
        debug_assert!(is_call(op));
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
        let place = self.locals.index(Local::Place);
        if self.is_hot() {
            self.code().returned(place);
        } else {
            self.sink().local_get(place);
            self.code().call(Support::Returned);
        }
    }

    /// Writes the code at the entry of a function that the host may call.
    pub(super) fn enter_from_outside(&mut self) {
        let limit = self.input.layout.soft_limit();
        let counts_stops = self.has_place && !self.is_traced();
        let mut code = self.code();
        code.settle();
        if counts_stops {
            code.get(Global::Height);
            code.sink.i32_const(limit as i32).i32_gt_u().if_(BlockType::Empty);
            code.call(Support::Clear);
            code.sink.end();
        }
    }

    /// Writes the code after a catch: unwound frames have left entries, which are booked; this frame has one from now
    /// on.
    pub(super) fn book_thrown(&mut self) {
        self.outer_context();
        if !self.input.tracks {
            return self.code().settle();
        }
        if self.is_traced() {
            return self.caught_traced();
        }
        let place = self.locals.index(Local::Place);
        let mut code = self.code();
        code.sink.local_get(place);
        code.call(Support::Left);
    }
}

pub(super) fn catches(op: &Operator<'_>) -> bool {
    matches!(op, Operator::TryTable { .. } | Operator::Try { .. })
}
