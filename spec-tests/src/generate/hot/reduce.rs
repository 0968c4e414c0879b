//! Edits that make a program a little smaller.
//!
//! Each program has a number of *edits*: remove a function's body, half of a list of statements or one statement;
//! replace a construct by its contents; lower the number of iterations; replace an expression by a constant or an
//! operand. Coarse edits come first.

use wasm_encoder::ValType;

use super::SIGNATURES;
use super::tree::{End, Expr, Function, Kind, Loop, Multi, Program, Stmt, Switch, Try, Valued};

/// The size of the part that an edit removes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Grain {
    /// Whole functions and halves of lists.
    Coarse,
    /// Statements and their enclosing constructs.
    Medium,
    /// Expressions and numbers.
    Fine,
}

impl Grain {
    /// All grains, the coarsest first.
    pub const ALL: [Grain; 3] = [Grain::Coarse, Grain::Medium, Grain::Fine];
}

/// Returns the program after the edit `number` of a grain; `None` if there are fewer edits.
pub fn edited(program: &Program, grain: Grain, number: usize) -> Option<Program> {
    let mut edited = program.clone();
    let mut edit = Edit { grain, left: number, done: false };
    for function in &mut edited.functions {
        edit.function(function);
    }
    edit.done.then_some(edited)
}

/// The search for an edit.
struct Edit {
    grain: Grain,
    /// Number of edits of this grain that still come before it.
    left: usize,
    done: bool,
}

impl Edit {
    /// Reports whether a possible edit of this grain at this point is the edit searched for.
    fn is_here(&mut self, grain: Grain) -> bool {
        if self.done || grain != self.grain {
            return false;
        }
        self.done = self.left == 0;
        self.left = self.left.saturating_sub(1);
        self.done
    }

    fn function(&mut self, function: &mut Function) {
        let results = SIGNATURES[function.signature as usize].1;
        let is_tail = matches!(function.end, End::TailCall(..));
        let empty = || End::Results(results.iter().map(|&ty| Expr::zero(ty)).collect());
        if (!function.body.is_empty() || is_tail) && self.is_here(Grain::Coarse) {
            function.body.clear();
            function.end = empty();
            return;
        }
        if is_tail && self.is_here(Grain::Medium) {
            function.end = empty();
            return;
        }
        self.statements(&mut function.body);
        match &mut function.end {
            End::Results(values) | End::TailCall(values, _) => self.values(values),
        }
    }

    fn statements(&mut self, all: &mut Vec<Stmt>) {
        if all.len() >= 4 {
            let half = all.len() / 2;
            if self.is_here(Grain::Coarse) {
                all.drain(..half);
                return;
            }
            if self.is_here(Grain::Coarse) {
                all.truncate(half);
                return;
            }
        }
        for at in 0..all.len() {
            if self.is_here(Grain::Medium) {
                all.remove(at);
                return;
            }
            if let Some(inside) = self.unwrapped(&all[at]) {
                all.splice(at..=at, inside);
                return;
            }
            self.statement(&mut all[at]);
            if self.done {
                return;
            }
        }
    }

    /// Returns the contents of a statement without the construct.
    fn unwrapped(&mut self, statement: &Stmt) -> Option<Vec<Stmt>> {
        let inside: Vec<&Vec<Stmt>> = match statement {
            Stmt::If(_, yes, no) => vec![yes, no],
            Stmt::Block(_, body) => vec![body],
            Stmt::Multi(multi) => vec![&multi.body],
            Stmt::Switch(switch) => switch.cases.iter().collect(),
            Stmt::Loop(lp) => vec![&lp.body],
            Stmt::Try(tried) => {
                std::iter::once(&tried.body).chain(tried.handlers.iter().map(|one| &one.body)).collect()
            }
            Stmt::Test(test) => vec![&test.yes, &test.no],
            Stmt::Do { .. } | Stmt::Break { .. } | Stmt::Return(_) | Stmt::Throw(..) => Vec::new(),
        };
        inside.into_iter().find(|inside| !inside.is_empty() && self.is_here(Grain::Medium)).cloned()
    }

    fn statement(&mut self, statement: &mut Stmt) {
        match statement {
            Stmt::Do { args, .. } | Stmt::Return(args) | Stmt::Throw(_, args) => self.values(args),
            Stmt::If(condition, yes, no) => {
                self.value(condition);
                self.statements(yes);
                self.statements(no);
            }
            Stmt::Block(_, body) => self.statements(body),
            Stmt::Multi(multi) => self.multi(multi),
            Stmt::Switch(switch) => self.switch(switch),
            Stmt::Loop(lp) => self.counted(lp),
            Stmt::Break { when, values, .. } => {
                when.iter_mut().for_each(|value| self.value(value));
                self.values(values);
            }
            Stmt::Try(tried) => self.tried(tried),
            Stmt::Test(test) => {
                self.statements(&mut test.yes);
                self.statements(&mut test.no);
            }
        }
    }

    fn tried(&mut self, tried: &mut Try) {
        if tried.handlers.len() > 1 && self.is_here(Grain::Medium) {
            tried.handlers.pop();
            return;
        }
        self.statements(&mut tried.body);
        for handler in &mut tried.handlers {
            if handler.again.is_some() && self.is_here(Grain::Medium) {
                handler.again = None;
                return;
            }
            self.statements(&mut handler.body);
        }
    }

    fn multi(&mut self, multi: &mut Multi) {
        if !multi.params.is_empty() && self.is_here(Grain::Medium) {
            multi.params.pop();
            return;
        }
        multi.params.iter_mut().for_each(|(value, _)| self.value(value));
        self.statements(&mut multi.body);
        multi.results.iter_mut().for_each(|(value, _)| self.value(value));
    }

    fn switch(&mut self, switch: &mut Switch) {
        if switch.targets.len() > 2 && self.is_here(Grain::Medium) {
            switch.targets.truncate(switch.targets.len() / 2);
            return;
        }
        self.value(&mut switch.index);
        switch.cases.iter_mut().for_each(|case| self.statements(case));
    }

    fn counted(&mut self, lp: &mut Loop) {
        if lp.rounds > 1 && self.is_here(Grain::Medium) {
            lp.rounds /= 2;
            return;
        }
        if (lp.dynamic.is_some() || !lp.carried.is_empty()) && self.is_here(Grain::Medium) {
            lp.dynamic = None;
            lp.carried.clear();
            return;
        }
        if lp.step > 1 && self.is_here(Grain::Fine) {
            lp.step = 1;
            return;
        }
        self.statements(&mut lp.body);
        lp.carried.iter_mut().for_each(|(_, first, next)| {
            self.value(first);
            self.value(next);
        });
    }

    fn values(&mut self, values: &mut [Expr]) {
        values.iter_mut().for_each(|value| self.value(value));
    }

    fn value(&mut self, value: &mut Expr) {
        if self.done || matches!(value.ty, ValType::Ref(_)) || value.is_constant() {
            return;
        }
        if self.is_here(Grain::Fine) {
            *value = Expr::zero(value.ty);
            return;
        }
        if let Some(part) = self.part(value) {
            *value = part;
            return;
        }
        match &mut value.kind {
            Kind::Op(_, args) => self.values(args),
            Kind::If(condition, yes, no) => {
                self.value(condition);
                self.valued(yes);
                self.valued(no);
            }
            Kind::Block(_, inside) => self.valued(inside),
        }
    }

    /// Returns a part of an expression that has the same type.
    fn part(&mut self, value: &Expr) -> Option<Expr> {
        let parts: Vec<&Expr> = match &value.kind {
            Kind::Op(_, args) => args.iter().collect(),
            Kind::If(_, yes, no) => vec![&yes.value, &no.value],
            Kind::Block(_, inside) => vec![&inside.value],
        };
        parts.into_iter().find(|part| part.ty == value.ty && self.is_here(Grain::Fine)).cloned()
    }

    fn valued(&mut self, valued: &mut Valued) {
        self.statements(&mut valued.before);
        self.value(&mut valued.value);
    }
}
