//! Encodes trees as function bodies.

use wasm_encoder::{BlockType, Function as Code, Instruction as I, ValType};

use super::lowered::{lower, shifted};
use super::module::Types;
use super::tree::{
    End, Exceptions, Expr, Function, Kind, Label, Loop, LoopForm, Multi, Stmt, Switch, Valued,
};
use super::{IMPORTS, SIGNATURES};

/// The encoding of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// The program has no objects and no exceptions.
    Plain,
    /// Objects and exceptions are encoded by their own instructions.
    Managed(Exceptions),
    /// Objects and exceptions are lowered to numbers and host calls: see [`lowered`](super::lowered).
    Lowered,
}

impl Form {
    /// Returns the type that represents `ty` in this form.
    pub fn ty(self, ty: ValType) -> ValType {
        if self == Form::Lowered { lower(ty) } else { ty }
    }

    /// Returns the index of a function in this form.
    pub fn func(self, func: u32) -> u32 {
        if self == Form::Lowered { shifted(func) } else { func }
    }
}

/// Returns the function index of a defined function.
pub fn func(defined: u32) -> u32 {
    IMPORTS.len() as u32 + defined
}

/// The information that branches to a label need.
pub(super) struct Target {
    pub label: Label,
    pub values: usize,
}

/// The encoder of a body.
pub struct Writer<'a> {
    pub(super) form: Form,
    pub(super) types: &'a mut Types,
    code: Code,
    /// Enclosing constructs, the innermost last; a construct without a label has a number that no branch uses.
    pub(super) targets: Vec<Target>,
    /// The result types of the function; the next field is a local for a temporary reference.
    pub(super) results: &'static [ValType],
    pub(super) scratch: u32,
}

pub(super) const NO_LABEL: Label = Label::MAX;

impl Writer<'_> {
    /// Encodes a function.
    pub fn function(function: &Function, form: Form, types: &mut Types) -> Code {
        let (params, results) = SIGNATURES[function.signature as usize];
        let scratch = (form == Form::Lowered).then_some(ValType::I32);
        let code = Code::new_with_locals_types(function.locals.iter().map(|&ty| form.ty(ty)).chain(scratch));
        let scratch = (params.len() + function.locals.len()) as u32;
        let mut writer = Writer { form, types, code, targets: Vec::new(), results, scratch };
        writer.statements(&function.body);
        match &function.end {
            End::Results(results) => writer.values(results),
            End::TailCall(args, op) => {
                writer.values(args);
                writer.op(op, args, None);
            }
        }
        writer.push(I::End);
        writer.code
    }

    pub(super) fn push(&mut self, op: I<'static>) {
        self.code.instruction(&op);
    }

    /// Encodes a construct that branches to `label` leave.
    pub(super) fn nest(
        &mut self,
        op: I<'static>,
        label: Label,
        values: usize,
        inside: impl FnOnce(&mut Self),
    ) {
        self.push(op);
        self.targets.push(Target { label, values });
        inside(self);
        self.targets.pop();
        self.push(I::End);
    }

    /// Encodes the inside of such a construct; the caller encodes its begin and its end.
    pub(super) fn within(&mut self, label: Label, inside: impl FnOnce(&mut Self)) {
        self.targets.push(Target { label, values: 0 });
        inside(self);
        self.targets.pop();
    }

    pub(super) fn values(&mut self, values: &[Expr]) {
        values.iter().for_each(|value| self.value(value));
    }

    pub(super) fn value(&mut self, expr: &Expr) {
        match &expr.kind {
            Kind::Op(op, args) => {
                self.values(args);
                self.op(op, args, Some(expr.ty));
            }
            Kind::If(condition, yes, no) => {
                self.value(condition);
                self.nest(I::If(BlockType::Result(self.form.ty(expr.ty))), NO_LABEL, 1, |writer| {
                    writer.valued(yes);
                    writer.push(I::Else);
                    writer.valued(no);
                });
            }
            Kind::Block(label, inside) => {
                self.nest(I::Block(BlockType::Result(self.form.ty(expr.ty))), *label, 1, |writer| {
                    writer.valued(inside)
                });
            }
        }
    }

    fn valued(&mut self, valued: &Valued) {
        self.statements(&valued.before);
        self.value(&valued.value);
    }

    pub(super) fn statements(&mut self, all: &[Stmt]) {
        for statement in all {
            self.statement(statement);
            if matches!(statement, Stmt::Return(_) | Stmt::Throw(..) | Stmt::Break { when: None, .. }) {
                // Code that a reduction has moved behind an exit never runs, and its types could make the module
                // invalid.
                break;
            }
        }
    }

    fn statement(&mut self, statement: &Stmt) {
        match statement {
            Stmt::Do { op, args, results } => {
                self.values(args);
                self.op(op, args, None);
                self.sink(results);
            }
            Stmt::If(condition, yes, no) => {
                self.value(condition);
                self.nest(I::If(BlockType::Empty), NO_LABEL, 0, |writer| {
                    writer.statements(yes);
                    if !no.is_empty() {
                        writer.push(I::Else);
                        writer.statements(no);
                    }
                });
            }
            Stmt::Block(label, body) => {
                self.nest(I::Block(BlockType::Empty), *label, 0, |writer| writer.statements(body));
            }
            Stmt::Multi(multi) => self.multi(multi),
            Stmt::Switch(switch) => self.switch(switch),
            Stmt::Loop(lp) => self.counted(lp),
            Stmt::Break { label, when, values } => self.leave(*label, when.as_ref(), values),
            Stmt::Return(values) => {
                self.values(values);
                self.push(I::Return);
            }
            Stmt::Throw(tag, values) => self.throw(*tag, values),
            Stmt::Try(tried) => self.tried(tried),
            Stmt::Test(test) => self.test(test),
        }
    }

    fn sink(&mut self, results: &[Option<u32>]) {
        for local in results.iter().rev() {
            self.push(local.map_or(I::Drop, I::LocalSet));
        }
    }

    fn leave(&mut self, label: Label, when: Option<&Expr>, values: &[Expr]) {
        let Some(depth) = self.targets.iter().rev().position(|target| target.label == label) else { return };
        let target = &self.targets[self.targets.len() - 1 - depth];
        if target.values != values.len() {
            return;
        }
        self.values(values);
        match when {
            None => self.push(I::Br(depth as u32)),
            Some(condition) => {
                self.value(condition);
                self.push(I::BrIf(depth as u32));
                values.iter().for_each(|_| self.push(I::Drop));
            }
        }
    }

    fn multi(&mut self, multi: &Multi) {
        let form = self.form;
        let types = |all: &[(Expr, u32)]| -> Vec<ValType> {
            all.iter().map(|(value, _)| form.ty(value.ty)).collect()
        };
        let ty = self.types.block(&types(&multi.params), &types(&multi.results));
        multi.params.iter().for_each(|(value, _)| self.value(value));
        self.nest(I::Block(ty), multi.label, multi.results.len(), |writer| {
            multi.params.iter().rev().for_each(|(_, local)| writer.push(I::LocalSet(*local)));
            writer.statements(&multi.body);
            multi.results.iter().for_each(|(value, _)| writer.value(value));
        });
        multi.results.iter().rev().for_each(|(_, local)| self.push(I::LocalSet(*local)));
    }

    /// Encodes nested blocks; the first case follows the end of the innermost block.
    fn switch(&mut self, switch: &Switch) {
        let cases = switch.cases.len();
        if cases == 0 {
            return;
        }
        let unlabelled = || Target { label: NO_LABEL, values: 0 };
        for _ in 0..=cases {
            self.push(I::Block(BlockType::Empty));
            self.targets.push(unlabelled());
        }
        self.value(&switch.index);
        let mut targets: Vec<u32> = switch.targets.iter().map(|&case| case.min(cases as u32 - 1)).collect();
        let last = targets.pop().unwrap_or(0);
        self.push(I::BrTable(targets.into(), last));
        for (index, case) in switch.cases.iter().enumerate() {
            self.push(I::End);
            self.targets.pop();
            self.statements(case);
            if !switch.falls_through && index + 1 < cases {
                self.push(I::Br((cases - 1 - index) as u32));
            }
        }
        self.push(I::End);
        self.targets.pop();
    }

    fn counted(&mut self, lp: &Loop) {
        // The loop is not left by its condition, because a carried value must exist wherever an iteration ends.
        self.limit(lp);
        let carried: Vec<ValType> = lp.carried.iter().map(|(_, first, _)| self.form.ty(first.ty)).collect();
        let ty = self.types.block(&carried, &carried);
        let is_left = lp.form == LoopForm::While || breaks_to(&lp.body, lp.exit);
        match is_left && carried.is_empty() {
            true => self.nest(I::Block(BlockType::Empty), lp.exit, 0, |writer| writer.rounds(lp, ty)),
            false => self.rounds(lp, ty),
        }
    }

    fn rounds(&mut self, lp: &Loop, ty: BlockType) {
        lp.carried.iter().for_each(|(_, first, _)| self.value(first));
        self.nest(I::Loop(ty), NO_LABEL, lp.carried.len(), |writer| {
            lp.carried.iter().rev().for_each(|(local, _, _)| writer.push(I::LocalSet(*local)));
            let is_while = lp.form == LoopForm::While && lp.carried.is_empty();
            if is_while {
                writer.is_over(lp);
                writer.push(I::BrIf(1));
            }
            match breaks_to(&lp.body, lp.next) {
                true => {
                    writer.nest(I::Block(BlockType::Empty), lp.next, 0, |writer| writer.statements(&lp.body))
                }
                false => writer.statements(&lp.body),
            }
            lp.carried.iter().for_each(|(_, _, next)| writer.value(next));
            writer.count(lp);
            match is_while {
                true => writer.push(I::Br(0)),
                false => {
                    writer.goes_on(lp);
                    writer.push(I::BrIf(0));
                }
            }
        });
        lp.carried.iter().rev().for_each(|(local, _, _)| self.push(I::LocalSet(*local)));
    }

    /// Encodes the number of iterations, in the counter if it counts down, or else in the local after it.
    fn limit(&mut self, lp: &Loop) {
        match &lp.dynamic {
            // One iteration more, because a loop that tests at its end runs at least once.
            Some((value, mask)) => {
                self.value(value);
                self.push(I::I32Const(*mask as i32));
                self.push(I::I32And);
                self.push(I::I32Const(1));
                self.push(I::I32Add);
            }
            None => self.push(I::I32Const(lp.rounds as i32)),
        }
        if lp.step > 1 {
            self.push(I::I32Const(lp.step as i32));
            self.push(I::I32Mul);
        }
        if lp.is_wide {
            self.push(I::I64ExtendI32U);
        }
        match lp.form {
            LoopForm::Down => self.push(I::LocalSet(lp.counter)),
            LoopForm::Up | LoopForm::While => {
                self.push(I::LocalSet(lp.counter + 1));
                self.number(lp, 0);
                self.push(I::LocalSet(lp.counter));
            }
        }
    }

    fn number(&mut self, lp: &Loop, number: u32) {
        self.push(match lp.is_wide {
            true => I::I64Const(i64::from(number)),
            false => I::I32Const(number as i32),
        });
    }

    fn count(&mut self, lp: &Loop) {
        self.push(I::LocalGet(lp.counter));
        self.number(lp, lp.step);
        self.push(match (lp.form == LoopForm::Down, lp.is_wide) {
            (true, true) => I::I64Sub,
            (true, false) => I::I32Sub,
            (false, true) => I::I64Add,
            (false, false) => I::I32Add,
        });
        self.push(I::LocalSet(lp.counter));
    }

    fn goes_on(&mut self, lp: &Loop) {
        self.push(I::LocalGet(lp.counter));
        if lp.form != LoopForm::Down {
            self.push(I::LocalGet(lp.counter + 1));
            return self.push(if lp.is_wide { I::I64LtU } else { I::I32LtU });
        }
        if lp.is_wide {
            self.push(I::I64Const(0));
            self.push(I::I64Ne);
        }
    }

    fn is_over(&mut self, lp: &Loop) {
        self.push(I::LocalGet(lp.counter));
        self.push(I::LocalGet(lp.counter + 1));
        self.push(if lp.is_wide { I::I64GeU } else { I::I32GeU });
    }
}

/// Reports whether a body has a branch to a label.
fn breaks_to(body: &[Stmt], wanted: Label) -> bool {
    body.iter().any(|statement| match statement {
        Stmt::Do { args, .. } => args.iter().any(|arg| value_breaks_to(arg, wanted)),
        Stmt::Break { label, when, values } => {
            *label == wanted || when.iter().chain(values).any(|value| value_breaks_to(value, wanted))
        }
        Stmt::Return(values) | Stmt::Throw(_, values) => {
            values.iter().any(|value| value_breaks_to(value, wanted))
        }
        Stmt::Try(tried) => {
            breaks_to(&tried.body, wanted)
                || tried.handlers.iter().any(|handler| {
                    let mut again = handler.again.iter();
                    breaks_to(&handler.body, wanted) || again.any(|(when, _)| value_breaks_to(when, wanted))
                })
        }
        Stmt::Test(test) => {
            value_breaks_to(&test.value, wanted)
                || breaks_to(&test.yes, wanted)
                || breaks_to(&test.no, wanted)
        }
        Stmt::If(condition, yes, no) => {
            value_breaks_to(condition, wanted) || breaks_to(yes, wanted) || breaks_to(no, wanted)
        }
        Stmt::Block(_, body) => breaks_to(body, wanted),
        Stmt::Multi(multi) => {
            let mut values = multi.params.iter().chain(&multi.results);
            values.any(|(value, _)| value_breaks_to(value, wanted)) || breaks_to(&multi.body, wanted)
        }
        Stmt::Switch(switch) => {
            value_breaks_to(&switch.index, wanted) || switch.cases.iter().any(|case| breaks_to(case, wanted))
        }
        Stmt::Loop(lp) => {
            let mut values = lp.carried.iter().flat_map(|(_, first, next)| [first, next]);
            values.any(|value| value_breaks_to(value, wanted)) || breaks_to(&lp.body, wanted)
        }
    })
}

fn value_breaks_to(expr: &Expr, wanted: Label) -> bool {
    let valued =
        |valued: &Valued| breaks_to(&valued.before, wanted) || value_breaks_to(&valued.value, wanted);
    match &expr.kind {
        Kind::Op(_, args) => args.iter().any(|arg| value_breaks_to(arg, wanted)),
        Kind::If(condition, yes, no) => value_breaks_to(condition, wanted) || valued(yes) || valued(no),
        Kind::Block(_, inside) => valued(inside),
    }
}
