//! Encodes objects, exceptions and typed references, by their own instructions or [lowered](super::lowered).

use wasm_encoder::{BlockType, Catch, Instruction as I, RefType, ValType};

use super::atomics::decoded;
use super::lowered::{ALL_FUNCTIONS, Action, PENDING, element, helper};
use super::managed::{ANYREF, carried};
use super::tree::{Exceptions, Expr, Handler, Label, Test, Try, zero};
use super::write::{Form, NO_LABEL, Writer};

/// The end of the body of a lowered `try`, the target of exceptions.
const CAUGHT: Label = NO_LABEL - 1;

impl Writer<'_> {
    /// Encodes an instruction whose operands are on the stack. Only expressions have a type.
    pub(super) fn op(&mut self, op: &I<'static>, args: &[Expr], ty: Option<ValType>) {
        if self.form != Form::Lowered {
            return self.push(op.clone());
        }
        let is_function = ty == Some(ValType::FUNCREF);
        match *op {
            I::RefNull(_) if !is_function => self.push(I::I32Const(0)),
            I::RefFunc(func) if !is_function => self.push(I::I32Const(element(func))),
            I::RefFunc(func) => self.push(I::RefFunc(self.form.func(func))),
            I::RefIsNull if args[0].ty != ValType::FUNCREF => self.push(I::I32Eqz),
            I::RefEq => self.push(I::I32Eq),
            I::RefI31 => {
                [I::I32Const(1), I::I32Shl, I::I32Const(1), I::I32Or]
                    .into_iter()
                    .for_each(|op| self.push(op));
            }
            I::Call(func) => {
                self.push(I::Call(self.form.func(func)));
                self.go_on_if_thrown();
            }
            I::CallIndirect { .. } => {
                self.push(op.clone());
                self.go_on_if_thrown();
            }
            I::CallRef(type_index) => {
                self.help(&Action::Op(I::RefAsNonNull));
                self.push(I::CallIndirect { type_index, table_index: ALL_FUNCTIONS });
                self.go_on_if_thrown();
            }
            I::ReturnCall(func) => self.push(I::ReturnCall(self.form.func(func))),
            I::AtomicFence(_) => {}
            _ if let Some((atomic, offset)) = decoded(op) => {
                self.push(I::I32Const(offset as i32));
                self.help(&Action::Atomic(atomic));
            }
            _ => match helper(&Action::Op(op.clone())) {
                Some(helper) => self.push(I::Call(helper)),
                None => self.push(op.clone()),
            },
        }
    }

    fn help(&mut self, action: &Action) {
        self.push(I::Call(helper(action).expect("one for each")));
    }

    fn go_on_if_thrown(&mut self) {
        self.push(I::GlobalGet(PENDING));
        self.nest(I::If(BlockType::Empty), NO_LABEL, 0, Self::go_on);
    }

    /// Encodes a branch to the enclosing handler, or a return, while an exception propagates.
    fn go_on(&mut self) {
        match self.targets.iter().rev().position(|target| target.label == CAUGHT) {
            Some(depth) => self.push(I::Br(depth as u32)),
            None => {
                self.results.iter().for_each(|&ty| self.push(zero(ty)));
                self.push(I::Return);
            }
        }
    }

    pub(super) fn throw(&mut self, tag: u32, values: &[Expr]) {
        self.values(values);
        if self.form != Form::Lowered {
            return self.push(I::Throw(tag));
        }
        self.help(&Action::NewException(tag));
        self.push(I::GlobalSet(PENDING));
        self.go_on();
    }

    pub(super) fn tried(&mut self, tried: &Try) {
        match self.form {
            Form::Lowered => self.tried_lowered(tried),
            Form::Managed(Exceptions::Legacy) => self.tried_as_before(tried),
            Form::Managed(Exceptions::Standard) | Form::Plain => {
                let count = tried.handlers.len();
                self.nest(I::Block(BlockType::Empty), tried.label, 0, |writer| writer.handled(tried, count));
            }
        }
    }

    /// Encodes the `try_table` with the first handlers, which branches to the blocks around it, the first block
    /// innermost.
    fn handled(&mut self, tried: &Try, handlers: usize) {
        let Some(outermost) = handlers.checked_sub(1) else { return self.try_table(tried) };
        let handler = &tried.handlers[outermost];
        let mut found = handler.tag.map(carried).unwrap_or_default();
        if handler.again.is_some() {
            found.push(ValType::EXNREF);
        }
        let ty = self.types.block(&[], &found);
        self.nest(I::Block(ty), NO_LABEL, found.len(), |writer| {
            writer.handled(tried, outermost);
            if outermost == 0 {
                writer.push(I::Br(tried.handlers.len() as u32));
            }
        });
        if let Some((_, exception)) = &handler.again {
            self.push(I::LocalSet(*exception));
        }
        handler.locals.iter().rev().for_each(|&local| self.push(I::LocalSet(local)));
        self.statements(&handler.body);
        if let Some((when, exception)) = &handler.again {
            self.value(when);
            self.nest(I::If(BlockType::Empty), NO_LABEL, 0, |writer| {
                writer.push(I::LocalGet(*exception));
                writer.push(I::ThrowRef);
            });
        }
        let behind = tried.handlers.len() - 1 - outermost;
        if behind > 0 {
            self.push(I::Br(behind as u32));
        }
    }

    fn try_table(&mut self, tried: &Try) {
        let catch = |(label, handler): (u32, &Handler)| match (handler.tag, &handler.again) {
            (Some(tag), None) => Catch::One { tag, label },
            (Some(tag), Some(_)) => Catch::OneRef { tag, label },
            (None, None) => Catch::All { label },
            (None, Some(_)) => Catch::AllRef { label },
        };
        let catches: Vec<Catch> = (0..).zip(&tried.handlers).map(catch).collect();
        self.nest(I::TryTable(BlockType::Empty, catches.into()), NO_LABEL, 0, |writer| {
            writer.statements(&tried.body);
        });
    }

    fn tried_as_before(&mut self, tried: &Try) {
        if tried.handlers.is_empty() {
            self.push(I::Try(BlockType::Empty));
            self.within(tried.label, |writer| writer.statements(&tried.body));
            return self.push(I::Delegate(0));
        }
        self.nest(I::Try(BlockType::Empty), tried.label, 0, |writer| {
            writer.statements(&tried.body);
            for handler in &tried.handlers {
                writer.push(handler.tag.map_or(I::CatchAll, I::Catch));
                handler.locals.iter().rev().for_each(|&local| writer.push(I::LocalSet(local)));
                writer.statements(&handler.body);
                if let Some((when, _)) = &handler.again {
                    writer.value(when);
                    writer.nest(I::If(BlockType::Empty), NO_LABEL, 0, |writer| writer.push(I::Rethrow(1)));
                }
            }
        });
    }

    fn tried_lowered(&mut self, tried: &Try) {
        self.nest(I::Block(BlockType::Empty), tried.label, 0, |writer| {
            if tried.handlers.is_empty() {
                return writer.statements(&tried.body);
            }
            writer.nest(I::Block(BlockType::Empty), CAUGHT, 0, |writer| {
                writer.statements(&tried.body);
                writer.push(I::Br(1));
            });
            tried.handlers.iter().for_each(|handler| writer.handler_lowered(handler));
            writer.go_on();
        });
    }

    fn handler_lowered(&mut self, handler: &Handler) {
        match handler.tag {
            Some(tag) => {
                self.push(I::GlobalGet(PENDING));
                self.help(&Action::Tag);
                self.push(I::I32Const(tag as i32));
                self.push(I::I32Eq);
            }
            None => self.push(I::I32Const(1)),
        }
        self.nest(I::If(BlockType::Empty), NO_LABEL, 0, |writer| {
            for (number, &local) in (0..).zip(&handler.locals) {
                writer.push(I::GlobalGet(PENDING));
                writer.help(&Action::Carried(handler.tag.expect("it carries something"), number));
                writer.push(I::LocalSet(local));
            }
            if let Some((_, exception)) = &handler.again {
                writer.push(I::GlobalGet(PENDING));
                writer.push(I::LocalSet(*exception));
            }
            writer.push(I::I32Const(0));
            writer.push(I::GlobalSet(PENDING));
            writer.statements(&handler.body);
            if let Some((when, exception)) = &handler.again {
                writer.value(when);
                writer.nest(I::If(BlockType::Empty), NO_LABEL, 0, |writer| {
                    writer.push(I::LocalGet(*exception));
                    writer.push(I::GlobalSet(PENDING));
                    writer.go_on();
                });
            }
            writer.push(I::Br(1));
        });
    }

    pub(super) fn test(&mut self, test: &Test) {
        if self.form == Form::Lowered {
            return self.test_lowered(test);
        }
        self.nest(I::Block(BlockType::Empty), NO_LABEL, 0, |writer| match test.wanted {
            None if test.negated => writer.branch_on(test, None, |_| I::BrOnNull(0)),
            None => {
                let ValType::Ref(ty) = test.value.ty else { unreachable!("a reference is tested") };
                let found = RefType { nullable: false, heap_type: ty.heap_type };
                writer.branch_on(test, Some(ValType::Ref(found)), |_| I::BrOnNonNull(0));
            }
            Some(heap_type) => {
                let (from, to) = (RefType::ANYREF, RefType { nullable: false, heap_type });
                let (from_ref_type, to_ref_type) = (from, to);
                match test.negated {
                    false => writer.branch_on(test, Some(ValType::Ref(to)), |_| I::BrOnCast {
                        relative_depth: 0,
                        from_ref_type,
                        to_ref_type,
                    }),
                    true => writer.branch_on(test, Some(ANYREF), |_| I::BrOnCastFail {
                        relative_depth: 0,
                        from_ref_type,
                        to_ref_type,
                    }),
                }
            }
        });
    }

    /// Encodes, within the enclosing block, a block that the branch leaves with a value on the stack, and the code
    /// after it.
    fn branch_on(&mut self, test: &Test, found: Option<ValType>, op: impl FnOnce(&Test) -> I<'static>) {
        let keep = I::LocalSet(test.local);
        // A cast that fails leaves the reference on the stack.
        let drops = test.wanted.is_some();
        let ty = found.map_or(BlockType::Empty, BlockType::Result);
        self.nest(I::Block(ty), NO_LABEL, usize::from(found.is_some()), |writer| {
            writer.value(&test.value);
            writer.push(op(test));
            match test.negated {
                true => {
                    writer.push(keep.clone());
                    writer.statements(&test.yes);
                }
                false => {
                    if drops {
                        writer.push(I::Drop);
                    }
                    writer.statements(&test.no);
                }
            }
            writer.push(I::Br(1));
        });
        match test.negated {
            true => {
                if drops {
                    self.push(I::Drop);
                }
                self.statements(&test.no);
            }
            false => {
                self.push(keep);
                self.statements(&test.yes);
            }
        }
    }

    fn test_lowered(&mut self, test: &Test) {
        self.value(&test.value);
        match test.wanted {
            None => self.push(I::LocalTee(self.scratch)),
            Some(wanted) => {
                self.push(I::LocalTee(self.scratch));
                self.help(&Action::Op(I::RefTestNonNull(wanted)));
            }
        }
        self.nest(I::If(BlockType::Empty), NO_LABEL, 0, |writer| {
            writer.push(I::LocalGet(writer.scratch));
            writer.push(I::LocalSet(test.local));
            writer.statements(&test.yes);
            writer.push(I::Else);
            writer.statements(&test.no);
        });
    }
}
