//! Construction of a [`Cfg`] from bytecode, in one pass over the control instructions.
//!
//! The label of an enclosing construct becomes a block when the pass reaches it, if a branch or the preceding code goes
//! there.

use std::collections::HashMap;

use wasmparser::{FunctionBody, Operator};

use super::handlers::{Handlers, Tries};
use super::ops::{is_call, is_structure};
use super::{Block, Cfg, DirectCall, Edge, End};
use crate::Error;

/// Builds the graph of function `func`.
///
/// # Errors
/// Returns an error if the bytes differ from those that were validated, or control flows in an unknown way.
pub fn build(func: u32, body: &FunctionBody<'_>) -> Result<Cfg, Error> {
    let mut reader = body.get_operators_reader()?;
    let mut builder = Builder::new(reader.original_position() as u32);
    while !reader.eof() {
        let (op, at) = reader.read_with_offset()?;
        builder.operator(&op, body, (at as u32, reader.original_position() as u32))?;
    }
    Ok(builder.finish(func))
}

/// The position of a label.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Target {
    Ahead,
    Block(u32),
    Exit,
}

/// A branch target, whose position may not be known yet.
struct Label {
    target: Target,
    used: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Construct {
    Block,
    Loop,
    If,
    Else,
    /// The body of a legacy `try`.
    Try,
    /// A handler of a legacy `try`.
    Catch,
}

pub(super) struct Frame {
    pub construct: Construct,
    pub label: usize,
    /// The target of an `if`'s false edge.
    else_label: Option<usize>,
    reachable: bool,
    pub handlers: Handlers,
}

/// The block under construction.
struct Open {
    start: u32,
    ops: u32,
}

pub(super) struct Builder {
    blocks: Vec<Block>,
    calls: Vec<DirectCall>,
    /// For each block, the labels of its edges, which are resolved at the end.
    edge_labels: Vec<Vec<usize>>,
    labels: Vec<Label>,
    pub frames: Vec<Frame>,
    /// `None` in dead code.
    open: Option<Open>,
    /// The legacy `try`s of the function, once one was met.
    pub tries: Option<Tries>,
}

impl Builder {
    fn new(start: u32) -> Builder {
        let function = Frame {
            construct: Construct::Block,
            label: 0,
            else_label: None,
            reachable: true,
            handlers: Handlers::default(),
        };
        Builder {
            blocks: Vec::new(),
            calls: Vec::new(),
            edge_labels: Vec::new(),
            labels: vec![Label { target: Target::Exit, used: false }],
            frames: vec![function],
            open: Some(Open { start, ops: 0 }),
            tries: None,
        }
    }

    /// Processes the instruction at byte `at`; the next one is at `next`.
    fn operator(
        &mut self,
        op: &Operator<'_>,
        body: &FunctionBody<'_>,
        (at, next): (u32, u32),
    ) -> Result<(), Error> {
        if let Some(open) = &mut self.open {
            open.ops += u32::from(!is_structure(op));
            if let Operator::Call { function_index: callee }
            | Operator::ReturnCall { function_index: callee } = *op
            {
                self.calls.push(DirectCall { block: self.blocks.len() as u32, offset: at, callee });
            }
        }
        match op {
            Operator::Block { .. } => self.enter(Construct::Block, at, next),
            Operator::Loop { .. } => self.enter(Construct::Loop, at, next),
            Operator::If { .. } => self.enter(Construct::If, at, next),
            Operator::Else => self.or_else(at, next),
            Operator::End => self.end(at, next),
            Operator::Br { relative_depth } => self.jump(*relative_depth, at, next),
            Operator::BrIf { relative_depth }
            | Operator::BrOnNull { relative_depth }
            | Operator::BrOnNonNull { relative_depth }
            | Operator::BrOnCast { relative_depth, .. }
            | Operator::BrOnCastFail { relative_depth, .. } => self.branch(*relative_depth, at, next),
            Operator::BrOnCastDescEq { .. } | Operator::BrOnCastDescEqFail { .. } => {
                return Err(Error::Unsupported("casts by descriptor"));
            }
            Operator::BrTable { targets } => self.switch(targets, at, next)?,
            Operator::Return => self.jump(self.frames.len() as u32 - 1, at, next),
            Operator::Unreachable => self.close(End::Trap, &[], at, next),
            Operator::ReturnCall { .. }
            | Operator::ReturnCallIndirect { .. }
            | Operator::ReturnCallRef { .. } => self.close(End::TailCall, &[0], at, next),
            Operator::Resume { .. }
            | Operator::ResumeThrow { .. }
            | Operator::ResumeThrowRef { .. }
            | Operator::Suspend { .. }
            | Operator::Switch { .. } => return Err(Error::Unsupported("stack switching")),
            _ if self.exception(op, body, (at, next))? => {}
            _ if is_call(op) => self.call(at, next),
            _ => {}
        }
        Ok(())
    }

    pub fn is_dead(&self) -> bool {
        self.open.is_none()
    }

    pub fn enter(&mut self, construct: Construct, at: u32, next: u32) {
        let reachable = self.open.is_some();
        let label = self.label();
        let mut else_label = None;
        match construct {
            Construct::Loop => self.fall_into(label, at, next),
            Construct::If => {
                let (then, other) = (self.label(), self.label());
                else_label = Some(other);
                self.close(End::Branch, &[then, other], at, next);
                self.arrive(then, next);
            }
            _ => {}
        }
        self.frames.push(Frame { construct, label, else_label, reachable, handlers: Handlers::default() });
    }

    fn or_else(&mut self, at: u32, next: u32) {
        let frame = self.frames.last_mut().expect("validated");
        frame.construct = Construct::Else;
        let (label, other) = (frame.label, frame.else_label.take().expect("validated: else follows if"));
        self.close(End::Jump, &[label], at, at);
        self.arrive(other, next);
    }

    fn end(&mut self, at: u32, next: u32) {
        let frame = self.frames.pop().expect("validated");
        if frame.construct == Construct::Loop {
            return;
        }
        if self.frames.is_empty() {
            return self.close(End::Jump, &[frame.label], at, next);
        }
        if let Some(other) = frame.else_label
            && frame.reachable
        {
            // The false edge of an `if` without `else` arrives here too.
            self.labels[frame.label].used = true;
            self.fall_into(frame.label, at, next);
            self.labels[other].target = self.labels[frame.label].target;
            return;
        }
        if self.labels[frame.label].used || frame.construct == Construct::Catch {
            self.fall_into(frame.label, at, next);
        }
    }

    fn jump(&mut self, depth: u32, at: u32, next: u32) {
        let label = self.label_at(depth);
        self.close(End::Jump, &[label], at, next);
    }

    fn branch(&mut self, depth: u32, at: u32, next: u32) {
        if self.is_dead() {
            return;
        }
        let (taken, on) = (self.label_at(depth), self.label());
        self.close(End::Branch, &[taken, on], at, next);
        self.arrive(on, next);
    }

    fn switch(&mut self, targets: &wasmparser::BrTable<'_>, at: u32, next: u32) -> Result<(), Error> {
        if self.is_dead() {
            return Ok(());
        }
        let (mut edge_of, mut labels, mut table) = (HashMap::new(), Vec::new(), Vec::new());
        for depth in targets.targets().chain(std::iter::once(Ok(targets.default()))) {
            let label = self.label_at(depth?);
            table.push(*edge_of.entry(label).or_insert_with(|| {
                labels.push(label);
                labels.len() as u32 - 1
            }));
        }
        self.close(End::Switch(table), &labels, at, next);
        Ok(())
    }

    pub fn label(&mut self) -> usize {
        self.labels.push(Label { target: Target::Ahead, used: false });
        self.labels.len() - 1
    }

    pub fn label_at(&self, depth: u32) -> usize {
        self.frames[self.frames.len() - 1 - depth as usize].label
    }

    /// Places `label` here; preceding code that is reachable falls through to it.
    pub fn fall_into(&mut self, label: usize, at: u32, next: u32) {
        self.close(End::Jump, &[label], at, at);
        self.arrive(label, next);
    }

    /// Places `label` at `start`.
    pub fn arrive(&mut self, label: usize, start: u32) {
        if self.labels[label].used {
            self.labels[label].target = Target::Block(self.blocks.len() as u32);
            self.open = Some(Open { start, ops: 0 });
        }
    }

    /// Ends the open block with the instruction at `end`; code from `limit` on belongs to other blocks.
    pub fn close(&mut self, how: End, labels: &[usize], end: u32, limit: u32) {
        let Some(open) = self.open.take() else { return };
        labels.iter().for_each(|&label| self.labels[label].used = true);
        self.edge_labels.push(labels.to_vec());
        let edges = vec![Edge { to: None, clause: None, tag: None }; labels.len()];
        self.blocks.push(Block { start: open.start, end, limit, ops: open.ops, how, edges });
    }

    /// Ends the open block as [`Self::close`] does; edges from `first` on lead to `clauses` of handlers.
    pub fn close_with(
        &mut self,
        how: End,
        labels: &[usize],
        clauses: &[(super::Clause, Option<u32>)],
        (end, limit): (u32, u32),
    ) {
        let first = labels.len() - clauses.len();
        self.close(how, labels, end, limit);
        let edges = self.blocks.last_mut().map(|block| &mut block.edges[first..]).unwrap_or_default();
        for (edge, &(clause, tag)) in edges.iter_mut().zip(clauses) {
            (edge.clause, edge.tag) = (Some(clause), tag);
        }
    }

    fn finish(mut self, func: u32) -> Cfg {
        for (block, labels) in self.blocks.iter_mut().zip(&self.edge_labels) {
            for (edge, &label) in block.edges.iter_mut().zip(labels) {
                edge.to = match self.labels[label].target {
                    Target::Block(block) => Some(block),
                    Target::Exit => None,
                    Target::Ahead => unreachable!("validated: every label is reached"),
                };
            }
        }
        Cfg { func, blocks: self.blocks, calls: self.calls }
    }
}
