//! Exception handlers: calls and throws under a handler end their blocks, with edges to the handlers.
//!
//! A `try_table` names labels of enclosing constructs, which are known when the pass meets it. The clauses of a legacy
//! `try` follow its body, so a function with a legacy `try` is scanned once beforehand.

use std::collections::HashMap;

use wasmparser::{Catch, FunctionBody, Operator, TryTable};

use super::build::{Builder, Construct};
use super::{Clause, End};
use crate::Error;

/// A handler of an open construct.
#[derive(Clone, Copy, Debug)]
pub(super) struct Handler {
    /// The tag that the handler catches; `None` for all exceptions.
    tag: Option<u32>,
    label: usize,
    clause: Clause,
}

/// The handling of exceptions by a construct around its body.
#[derive(Clone, Debug, Default)]
pub(super) struct Handlers {
    /// The handlers of the construct, in the order in which they are tried.
    all: Vec<Handler>,
    /// For a legacy `try` that delegates: the construct whose handlers are tried next, counted from the enclosing one.
    delegate: Option<u32>,
    /// For a legacy `try`: the number of handlers met so far.
    met: usize,
}

/// The ends of all legacy `try`s of a function, by the byte where each begins.
pub(super) type Tries = HashMap<u32, Clauses>;

/// The end of a legacy `try`.
#[derive(Clone, Debug, Default)]
pub(super) struct Clauses {
    tags: Vec<Option<u32>>,
    delegate: Option<u32>,
}

fn tries(body: &FunctionBody<'_>) -> Result<Tries, Error> {
    let mut tries = Tries::new();
    // For each open construct, where it begins if it is a `try`.
    let mut open: Vec<Option<u32>> = vec![None];
    let mut reader = body.get_operators_reader()?;
    while !reader.eof() {
        let (op, at) = reader.read_with_offset()?;
        let mut clause = |tag| {
            let start = open.last().copied().flatten().expect("validated: a clause of a try");
            tries.entry(start).or_default().tags.push(tag);
        };
        match op {
            Operator::Try { .. } => open.push(Some(at as u32)),
            Operator::Block { .. }
            | Operator::Loop { .. }
            | Operator::If { .. }
            | Operator::TryTable { .. } => open.push(None),
            Operator::Catch { tag_index } => clause(Some(tag_index)),
            Operator::CatchAll => clause(None),
            Operator::Delegate { relative_depth } => {
                let start = open.pop().flatten().expect("validated: it ends a try");
                tries.entry(start).or_default().delegate = Some(relative_depth);
            }
            Operator::End => drop(open.pop()),
            _ => {}
        }
    }
    Ok(tries)
}

impl Builder {
    /// Processes `op` if it is a throw, or a construct that catches or one of its parts; returns whether it is.
    pub(super) fn exception(
        &mut self,
        op: &Operator<'_>,
        body: &FunctionBody<'_>,
        (at, next): (u32, u32),
    ) -> Result<bool, Error> {
        match op {
            Operator::TryTable { try_table } => self.try_table(try_table, at, next),
            Operator::Try { .. } => self.old_try(body, at, next)?,
            Operator::Catch { .. } | Operator::CatchAll => self.catch(at, next),
            Operator::Delegate { .. } => {
                let frame = self.frames.pop().expect("validated");
                self.fall_into(frame.label, at, next);
            }
            Operator::Throw { .. } | Operator::ThrowRef | Operator::Rethrow { .. } => self.throw(at, next),
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn try_table(&mut self, table: &TryTable, at: u32, next: u32) {
        let handler = |(catch, number): (&Catch, u32)| {
            let (tag, label) = clause_of(catch);
            Handler { tag, label: self.label_at(label), clause: Clause { at, number } }
        };
        let all = table.catches.iter().zip(0..).map(handler).collect();
        self.enter(Construct::Block, at, next);
        self.frames.last_mut().expect("just entered").handlers.all = all;
    }

    fn old_try(&mut self, body: &FunctionBody<'_>, at: u32, next: u32) -> Result<(), Error> {
        if self.tries.is_none() {
            self.tries = Some(tries(body)?);
        }
        let clauses = self.tries.as_ref().and_then(|tries| tries.get(&at)).cloned().unwrap_or_default();
        self.enter(Construct::Try, at, next);
        let handler = |(&tag, number): (&Option<u32>, u32)| Handler {
            tag,
            label: self.label(),
            clause: Clause { at, number },
        };
        let all = clauses.tags.iter().zip(0..).map(handler).collect();
        let frame = self.frames.last_mut().expect("just entered");
        frame.handlers = Handlers { all, delegate: clauses.delegate, met: 0 };
        Ok(())
    }

    /// Ends the body or the last handler of a legacy `try`, and begins the next handler.
    fn catch(&mut self, at: u32, next: u32) {
        let frame = self.frames.last_mut().expect("validated");
        frame.construct = Construct::Catch;
        let (label, handler) = (frame.label, frame.handlers.all[frame.handlers.met].label);
        frame.handlers.met += 1;
        self.close(End::Jump, &[label], at, at);
        self.arrive(handler, next);
    }

    fn throw(&mut self, at: u32, next: u32) {
        if !self.is_dead() {
            let (clauses, labels) = self.handlers();
            self.close_with(End::Throw, &labels, &clauses, (at, next));
        }
    }

    /// Processes a call; the block ends behind it if this function may catch exceptions of the callee.
    pub(super) fn call(&mut self, at: u32, next: u32) {
        if self.is_dead() || self.frames.iter().all(|frame| frame.handlers.all.is_empty()) {
            return;
        }
        let (clauses, handlers) = self.handlers();
        if clauses.is_empty() {
            return;
        }
        let back = self.label();
        let labels: Vec<usize> = [back].into_iter().chain(handlers).collect();
        self.close_with(End::Call, &labels, &clauses, (at, next));
        self.arrive(back, next);
    }

    /// Returns the clauses that may catch an exception thrown here, in order, and the labels of their handlers; each
    /// tag once.
    fn handlers(&self) -> (Vec<(Clause, Option<u32>)>, Vec<usize>) {
        let mut found: Vec<Handler> = Vec::new();
        let mut left = self.frames.len();
        'frames: while let Some(index) = left.checked_sub(1) {
            let frame = &self.frames[index];
            left = index;
            if frame.construct == Construct::Catch {
                continue;
            }
            for handler in &frame.handlers.all {
                if !found.iter().any(|known| known.tag == handler.tag) {
                    found.push(*handler);
                }
                if handler.tag.is_none() {
                    break 'frames;
                }
            }
            if let Some(depth) = frame.handlers.delegate {
                left = index - depth as usize;
            }
        }
        found.iter().map(|handler| ((handler.clause, handler.tag), handler.label)).unzip()
    }
}

/// Returns the tag and the label of a clause.
fn clause_of(catch: &Catch) -> (Option<u32>, u32) {
    match *catch {
        Catch::One { tag, label } | Catch::OneRef { tag, label } => (Some(tag), label),
        Catch::All { label } | Catch::AllRef { label } => (None, label),
    }
}
