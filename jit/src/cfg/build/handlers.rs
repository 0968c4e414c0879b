//! Constructs that catch exceptions: calls and throws inside them end blocks, with edges to the handlers.
//!
//! Both encodings lead to the same graph. A `try_table` names enclosing labels, which are already known. The clauses of
//! the older `try` come behind its body, so functions that have one are scanned once in advance (`Tries`). A handler of
//! an older `try` finds the exception itself below the carried values, an operand that is invisible in the bytecode:
//! `rethrow` reads it there, and any exit of the handler drops it. Source: WebAssembly 3.0, "Exceptions"; for the older
//! encoding the proposal's document `legacy/exception-handling/Exceptions.md`.

use std::rc::Rc;

use hashbrown::HashMap;
use smallvec::SmallVec;
use wasmparser::{BlockType, FunctionBody, Operator, RefType, TryTable, ValType};

use super::super::{Catch, End, Reference, Thrown};
use super::{Builder, Construct, Frame, Result};

/// A handler of an open construct.
#[derive(Clone, Copy, Debug)]
pub(super) struct Handler {
    pub catch: Catch,
    pub label: usize,
}

/// The handlers for the exceptions of a construct's body.
#[derive(Clone, Debug, Default)]
pub(super) struct Handlers {
    /// The handlers, in the order in which they are tried.
    pub all: Rc<[Handler]>,
    /// For an older `try`: the enclosing construct, counted from the innermost, whose handlers come next.
    delegate: Option<u32>,
    /// For an older `try`: the number of its handlers encountered so far.
    met: usize,
    /// For a handler of an older `try`: the depth of the exception among the operands.
    caught: Option<u32>,
}

/// The ends of all older `try`s of a function, by the byte offset of their beginnings.
pub(super) type Tries = HashMap<u32, Clauses>;

/// The end of an older `try`.
#[derive(Clone, Debug, Default)]
pub(super) struct Clauses {
    /// The tag of each handler, `None` for all exceptions.
    tags: SmallVec<[Option<u32>; 2]>,
    delegate: Option<u32>,
}

/// Finds the older `try`s.
fn tries(body: &FunctionBody<'_>) -> Result<Tries> {
    let mut tries = Tries::new();
    // For each open construct, its beginning, if it is a `try`.
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

impl Builder<'_> {
    /// Processes an instruction that catches or throws, or begins or ends a handler; reports whether it is one.
    pub(super) fn exception(
        &mut self,
        op: &Operator<'_>,
        body: &FunctionBody<'_>,
        (at, next): (u32, u32),
    ) -> Result<bool> {
        match op {
            Operator::TryTable { try_table } => self.try_table(try_table, at, next),
            Operator::Try { blockty } => self.old_try(*blockty, body, at, next)?,
            Operator::Catch { .. } | Operator::CatchAll => self.catch(at, next),
            Operator::Delegate { .. } => {
                let frame = self.frames.pop().expect("validated");
                self.fall_into(frame.label, at, next);
            }
            Operator::Throw { tag_index } => self.throw(Thrown::New(*tag_index), at, next),
            Operator::ThrowRef => self.throw(Thrown::Reference, at, next),
            Operator::Rethrow { relative_depth } => {
                let frame = self.frames.len() - 1 - *relative_depth as usize;
                // Without an exception operand no exception was caught, and this is dead code.
                let depth = self.frames[frame].handlers.caught.unwrap_or(0);
                self.throw(Thrown::Caught(depth), at, next);
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn try_table(&mut self, table: &TryTable, at: u32, next: u32) {
        let handlers: Rc<[Handler]> = table.catches.iter().map(|catch| self.handler_of(catch, at)).collect();
        self.enter(Construct::Block, table.ty, at, next);
        self.frames.last_mut().expect("just entered").handlers.all = handlers;
    }

    fn handler_of(&self, catch: &wasmparser::Catch, within: u32) -> Handler {
        use wasmparser::Catch::{All, AllRef, One, OneRef};
        let (tag, reference, label) = match *catch {
            One { tag, label } => (Some(tag), Reference::None, label),
            OneRef { tag, label } => (Some(tag), Reference::Above, label),
            All { label } => (None, Reference::None, label),
            AllRef { label } => (None, Reference::Above, label),
        };
        Handler { catch: Catch { tag, reference, within }, label: self.label_at(label) }
    }

    fn old_try(&mut self, ty: BlockType, body: &FunctionBody<'_>, at: u32, next: u32) -> Result<()> {
        if self.tries.is_none() {
            self.tries = Some(tries(body)?);
        }
        let clauses = self.tries.as_ref().and_then(|tries| tries.get(&at)).cloned().unwrap_or_default();
        let params = self.block_types(ty).0.len() as u32;
        self.enter(Construct::Try, ty, at, next);
        let base = self.stacks.drop_top(self.stack, params);
        let (caught, info) = (self.stacks.height(base), self.info);
        let all = clauses.tags.iter().map(|&tag| {
            let carried = tag.map_or(&[][..], |tag| info.tag_type(tag).params());
            let exception = self.stacks.push(base, ValType::Ref(RefType::EXNREF));
            let stack = carried.iter().fold(exception, |stack, &ty| self.stacks.push(stack, ty));
            let catch = Catch { tag, reference: Reference::Below, within: at };
            Handler { catch, label: self.label(stack, 1 + carried.len() as u32) }
        });
        let all = all.collect::<Vec<_>>().into();
        let frame = self.frames.last_mut().expect("just entered");
        frame.handlers =
            Handlers { all, delegate: clauses.delegate, met: 0, caught: frame.reachable.then_some(caught) };
        Ok(())
    }

    /// Ends the body of an older `try`, or one of its handlers, and begins the next handler.
    fn catch(&mut self, at: u32, next: u32) {
        let frame = self.frames.last_mut().expect("validated");
        frame.construct = Construct::Catch;
        let (label, handler) = (frame.label, frame.handlers.all[frame.handlers.met].label);
        frame.handlers.met += 1;
        self.close(End::Jump, &[label], at, at);
        self.arrive(handler, next);
    }

    fn throw(&mut self, thrown: Thrown, at: u32, next: u32) {
        if self.open.is_none() {
            return;
        }
        let (catches, labels) = self.handlers();
        self.close(End::Throw(thrown, catches), &labels, at, next);
    }

    /// Ends the block behind a call, if exceptions of the call are caught in this function.
    pub(super) fn call(&mut self, at: u32, next: u32) {
        if self.open.is_none() || !self.frames.iter().any(|frame| !frame.handlers.all.is_empty()) {
            return;
        }
        let (catches, handlers) = self.handlers();
        if catches.is_empty() {
            return;
        }
        let back = self.label(self.stack, 0);
        let labels: SmallVec<[usize; 4]> = [back].into_iter().chain(handlers).collect();
        self.close(End::Call(catches), &labels, at, next);
        self.arrive(back, next);
    }

    /// Returns the handlers that may catch an exception thrown here, in order, and their labels; each tag once.
    fn handlers(&self) -> (Box<[Catch]>, SmallVec<[usize; 4]>) {
        let (mut catches, mut labels): (Vec<Catch>, SmallVec<[usize; 4]>) = Default::default();
        let mut left = self.frames.len();
        while let Some(index) = left.checked_sub(1) {
            let Frame { construct, handlers, .. } = &self.frames[index];
            left = index;
            if *construct == Construct::Catch {
                continue;
            }
            for Handler { catch, label } in handlers.all.iter() {
                if !catches.iter().any(|known| known.tag == catch.tag) {
                    catches.push(*catch);
                    labels.push(*label);
                }
                if catch.tag.is_none() {
                    return (catches.into(), labels);
                }
            }
            if let Some(depth) = handlers.delegate {
                left = index - depth as usize;
            }
        }
        (catches.into(), labels)
    }

    /// Returns how many of the operands below `height` are invisible in the bytecode. Few functions have any, and a search
    /// of all constructs at each instruction takes too long in deeply nested code.
    #[cfg(debug_assertions)]
    pub(super) fn hidden_below(&self, height: u32) -> u32 {
        if self.tries.is_none() {
            return 0;
        }
        let hidden = self.frames.iter().filter(|frame| frame.construct == Construct::Catch);
        hidden.filter(|frame| frame.handlers.caught.is_some_and(|depth| depth < height)).count() as u32
    }

    /// Reports whether the operand at this depth is invisible in the bytecode.
    #[cfg(debug_assertions)]
    pub(super) fn is_hidden(&self, depth: u32) -> bool {
        let mut hidden = self.frames.iter().filter(|frame| frame.construct == Construct::Catch);
        self.tries.is_some() && hidden.any(|frame| frame.handlers.caught == Some(depth))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crate::cfg::{Cfg, Target, build};
    use crate::module;

    fn cfg(body: &str) -> Cfg {
        let tags = "(tag $a (param i32)) (tag $b)";
        let text = format!("(module {tags} (func (param i32) (result i32) {body}) (func $f))");
        let bytes: Arc<[u8]> = wat::parse_str(text).expect("valid text").into();
        build(&module::parse(bytes).expect("valid module"), 0).expect("within limits")
    }

    /// Returns the handlers of each block that has any: the tag, and the target of its edge.
    fn handlers(body: &str) -> Vec<Vec<(Option<u32>, Target)>> {
        let cfg = cfg(body);
        let of_block = cfg.blocks.iter().map(|block| {
            let (first, catches) = block.how.catches();
            catches.iter().zip(&block.edges[first..]).map(|(catch, edge)| (catch.tag, edge.target)).collect()
        });
        of_block.filter(|handlers: &Vec<_>| !handlers.is_empty()).collect()
    }

    #[test]
    fn a_call_has_an_edge_to_each_handler_that_may_be_reached_inner_ones_first() {
        // The first block calls; blocks 1 and 2 follow it, 3 and 4 are handlers.
        let found = handlers(
            "(block $h (result i32)
                (block $all
                    (try_table (catch_all $all) (catch $b $all)
                        (try_table (catch $a $h) (catch $a $h) (call $f)))
                    (return (i32.const 1)))
                (i32.const 2))",
        );
        assert_eq!(found.len(), 1);
        let [(Some(0), Target::Block(a)), (None, Target::Block(all))] = found[0][..] else {
            panic!("{found:?}")
        };
        assert!(all < a, "labels of inner constructs come first");
    }

    #[test]
    fn a_throw_ends_its_block_whether_or_not_it_is_caught() {
        let cfg = cfg("(throw $a (local.get 0))");
        assert_eq!((cfg.blocks.len(), cfg.blocks[0].edges.len(), cfg.is_leaf), (1, 0, false));
        assert_eq!(
            handlers("(try_table (catch $a 0) (throw $a (local.get 0))) unreachable"),
            [[(Some(0), Target::Exit)]]
        );
    }

    #[test]
    fn older_handlers_find_the_exception_below_what_it_carries() {
        let cfg = cfg("try (result i32) (call $f) (i32.const 1)
             catch $a
             catch_all (rethrow 0)
             end");
        let heights: Vec<u32> = cfg.blocks.iter().map(|block| cfg.stacks.height(block.stack)).collect();
        // The call, the code behind it, the two handlers, and the code that follows.
        assert_eq!(heights, [0, 0, 2, 1, 1]);
        let [back, of_a, of_all] = cfg.blocks[0].edges[..] else { panic!("three edges") };
        assert_eq!([back, of_a, of_all].map(|edge| (edge.height, edge.arity)), [(0, 0), (0, 2), (0, 1)]);
        // An exit of the handler of `a` drops the exception.
        let leaves = cfg.blocks[2].edges[0];
        assert_eq!((leaves.height, leaves.arity), (0, 1));
    }

    #[test]
    fn what_a_try_delegates_skips_the_handlers_in_between() {
        let delegated = handlers(
            "try $outer (result i32)
                try (result i32)
                    try (result i32) (call $f) (i32.const 1) delegate $outer
                catch_all (i32.const 2)
                end
             catch $b (i32.const 3)
             end",
        );
        assert_eq!(delegated.len(), 1);
        assert_eq!(delegated[0].iter().map(|(tag, _)| *tag).collect::<Vec<_>>(), [Some(1)]);
        // A handler is not covered by the handlers of its own construct.
        let in_handler =
            handlers("try (result i32) (call $f) (i32.const 1) catch_all (call $f) (i32.const 2) end");
        assert_eq!(in_handler.len(), 1);
    }
}
