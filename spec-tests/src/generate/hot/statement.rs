//! Statements of hot programs.

use wasm_encoder::{Instruction as I, ValType};

use super::body::{Around, Body};
use super::tree::{Expr, Loop, LoopForm, Multi, Stmt, Switch};
use super::write::func;
use super::{GLOBALS, NOTE, REENTERED, Role, SIGNATURES, TABLE};
use ValType::{F32, F64, I32, I64};

/// The iteration counts of loops.
const ROUNDS: [u32; 14] = [1, 2, 3, 4, 5, 7, 8, 16, 30, 64, 200, 1000, 5000, 20_000];

impl Body<'_> {
    /// Returns between one and `most` statements.
    pub fn statements(&mut self, depth: usize, most: usize) -> Vec<Stmt> {
        let count = 1 + self.rng.below(most);
        let mut all = Vec::new();
        for _ in 0..count {
            if !self.is_short() {
                all.extend(self.statement(depth));
            }
        }
        all
    }

    /// Returns a statement, or a few related ones, that nest at most `depth` deep.
    pub fn statement(&mut self, depth: usize) -> Vec<Stmt> {
        self.spend(1);
        let Some(inner) = depth.checked_sub(1) else { return vec![self.assign(1)] };
        // The statements that run long must be in a loop.
        if self.loops.is_empty() && self.allowed() > 2000 && self.rng.chance(60) {
            return self.counted_loop(inner);
        }
        if self.shape.is_managed && self.rng.chance(35) {
            return self.managed(inner);
        }
        if self.shape.atomics.is_some() && self.rng.chance(30) {
            return vec![self.atomic_statement(2)];
        }
        match self.rng.below(30) {
            0..=4 => vec![self.assign(3)],
            5..=7 => vec![self.accumulate()],
            8..=11 => vec![self.store(2)],
            12 => self.loaded_twice(2),
            13..=15 => vec![self.branch(inner)],
            16 => vec![self.breakable(inner)],
            17 => vec![self.multi(inner)],
            18..=19 => vec![self.switch(inner)],
            20..=23 => self.counted_loop(inner),
            24..=25 => self.call(2),
            26 => self.maybe_leave(inner).into_iter().collect(),
            27 => vec![self.bulk()],
            28 => self.tables(),
            _ => self.rare(inner),
        }
    }

    fn assign(&mut self, depth: usize) -> Stmt {
        let ty = self.some_type();
        let value = self.expr(ty, depth);
        if self.rng.chance(15) {
            let global = GLOBALS.iter().position(|&global| global == ty).expect("one of each type");
            return Stmt::act(I::GlobalSet(global as u32), vec![value]);
        }
        Stmt::set(self.local(ty), value)
    }

    /// Returns a statement that accumulates a value in a local.
    fn accumulate(&mut self) -> Stmt {
        let ty = self.some_type();
        let local = self.local(ty);
        let ops = match ty {
            I32 => [I::I32Add, I::I32Xor, I::I32Mul],
            I64 => [I::I64Add, I::I64Xor, I::I64Sub],
            F32 => [I::F32Add, I::F32Mul, I::F32Max],
            F64 => [I::F64Add, I::F64Sub, I::F64Min],
            _ => [I::I32x4Add, I::V128Xor, I::I16x8AddSatS],
        };
        let op = ops[self.rng.below(3)].clone();
        let value = self.expr(ty, 2);
        Stmt::set(local, Expr::op(ty, op, vec![Expr::local(ty, local), value]))
    }

    fn branch(&mut self, depth: usize) -> Stmt {
        let condition = self.condition(2);
        let yes = self.statements(depth, 3);
        let no = if self.rng.chance(50) { self.statements(depth, 3) } else { Vec::new() };
        Stmt::If(condition, yes, no)
    }

    fn breakable(&mut self, depth: usize) -> Stmt {
        let label = self.new_label();
        self.labels.push((label, Vec::new()));
        let mut body = self.statements(depth, 2);
        body.extend(self.maybe_leave(depth));
        body.extend(self.statements(depth, 2));
        self.labels.pop();
        Stmt::Block(label, body)
    }

    /// Returns a conditional branch to an enclosing label.
    pub fn maybe_leave(&mut self, depth: usize) -> Option<Stmt> {
        if self.labels.is_empty() {
            return None;
        }
        let (label, types) = match self.rng.chance(70) {
            true => self.labels.last().cloned()?,
            false => {
                let at = self.rng.below(self.labels.len());
                self.labels[at].clone()
            }
        };
        // Loops are left late; otherwise they would not become hot.
        let leaves_loop = self.loops.iter().any(|around| around.labels[0] == label);
        let condition = match leaves_loop {
            true => self.is_late()?,
            false => self.condition(1),
        };
        let values = self.exprs(&types, depth.min(1));
        Some(match self.rng.chance(60) {
            true => Stmt::Break { label, when: Some(condition), values },
            false => Stmt::If(condition, vec![Stmt::Break { label, when: None, values }], Vec::new()),
        })
    }

    fn multi(&mut self, depth: usize) -> Stmt {
        let label = self.new_label();
        let types = |body: &mut Self, least: usize| -> Vec<ValType> {
            (0..least + body.rng.below(3)).map(|_| body.some_type()).collect()
        };
        let params = types(self, 0);
        let params = params.into_iter().map(|ty| (self.expr(ty, 1), self.local(ty))).collect();
        let types = types(self, 2);
        self.labels.push((label, types.clone()));
        let mut body = self.statements(depth, 2);
        body.extend(self.maybe_leave(depth));
        let results = types.into_iter().map(|ty| (self.expr(ty, 1), self.local(ty))).collect();
        self.labels.pop();
        Stmt::Multi(Box::new(Multi { label, params, body, results }))
    }

    fn switch(&mut self, depth: usize) -> Stmt {
        let cases = 2 + self.rng.below(5);
        let index = match self.rng.chance(50) {
            true => {
                let counted = self.counter(I32);
                Expr::op(I32, I::I32And, vec![counted, Expr::i32(7)])
            }
            false => {
                let any = self.expr(I32, 2);
                let mask = if self.rng.chance(70) { 15 } else { 255 };
                Expr::op(I32, I::I32And, vec![any, Expr::i32(mask)])
            }
        };
        let most = if self.rng.chance(10) { 200 } else { 9 };
        let targets = 1 + self.rng.below(most);
        let targets = (0..=targets).map(|_| self.rng.below(cases) as u32).collect();
        self.spend(4);
        let cases = (0..cases).map(|_| self.statements(depth, 2)).collect();
        Stmt::Switch(Box::new(Switch { index, targets, cases, falls_through: self.rng.chance(25) }))
    }

    fn counted_loop(&mut self, depth: usize) -> Vec<Stmt> {
        let allowed = self.allowed();
        if allowed < 100 || self.loops.len() > 4 {
            return vec![self.assign(2)];
        }
        let share = allowed * (35 + self.rng.below(60) as u64) / 100;
        // Programs with objects are for these.
        if !self.shape.is_managed && !self.loops.is_empty() && self.rng.chance(25) {
            return self.arrays(share);
        }
        let around = self.around(share);
        let Around { counter, is_wide, form, step, rounds, labels: [exit, next] } = around;
        let dynamic = (rounds.is_power_of_two() && rounds > 1 && self.rng.chance(50))
            .then(|| (self.expr(I32, 1), rounds - 1));
        let firsts = self.handed_on();
        let (body, nexts) = self.in_rounds(share, rounds, |body| body.round(around, depth, &firsts));
        let carried = firsts.into_iter().zip(nexts).map(|((local, first), next)| (local, first, next));
        let carried = carried.collect();
        let counted = Loop { exit, next, counter, is_wide, form, step, rounds, dynamic, body, carried };
        vec![Stmt::Loop(Box::new(counted))]
    }

    /// Chooses the counter of a loop that may execute `share` instructions.
    fn around(&mut self, share: u64) -> Around {
        // Enough iterations for a worthwhile body; a long loop where many instructions may run.
        let least = if self.loops.is_empty() && share > 10_000 { 100 } else { 1 };
        let fits: Vec<u32> = ROUNDS.into_iter().filter(|&n| u64::from(n) * 25 <= share).collect();
        let long: Vec<u32> = fits.iter().copied().filter(|&n| n >= least).collect();
        let rounds = self.rng.pick(if long.is_empty() { &fits } else { &long });
        let is_wide = self.rng.chance(30);
        Around {
            counter: self.counters(is_wide),
            is_wide,
            form: self.rng.pick(&[LoopForm::Down, LoopForm::Up, LoopForm::While]),
            step: self.rng.pick(&[1, 1, 1, 1, 2, 4, 8]),
            rounds,
            labels: [self.new_label(), self.new_label()],
        }
    }

    /// Returns locals whose values the iterations of a loop pass on the stack, with their first values.
    fn handed_on(&mut self) -> Vec<(u32, Expr)> {
        let count = if self.rng.chance(25) { 1 + self.rng.below(2) } else { 0 };
        let one = |_| {
            let ty = self.some_type();
            (self.local(ty), self.expr(ty, 1))
        };
        (0..count).map(one).collect()
    }

    /// Returns the body of a loop, and the values that an iteration passes to the next.
    fn round(&mut self, around: Around, depth: usize, firsts: &[(u32, Expr)]) -> (Vec<Stmt>, Vec<Expr>) {
        self.spend(5);
        self.loops.push(around);
        self.labels.extend(around.labels.map(|label| (label, Vec::new())));
        let most = if self.loops.len() == 1 { 8 } else { 4 };
        let mut body = self.statements(depth, most);
        // An outer loop that may run long gets a longer body.
        while self.loops.len() == 1 && self.size() > 0 && self.allowed() > 200 && body.len() < 14 {
            body.extend(self.statement(depth));
        }
        if self.shape.is_managed && self.loops.len() == 1 && self.rng.chance(80) {
            body = vec![self.guarded(body)];
        }
        let nexts = firsts.iter().map(|(_, first)| self.expr(first.ty, 2)).collect();
        self.labels.truncate(self.labels.len() - 2);
        self.loops.pop();
        (body, nexts)
    }

    /// Returns a call for its effects, or of a function with several results.
    fn call(&mut self, depth: usize) -> Vec<Stmt> {
        let Some(callee) = self.callee(|_| true) else { return vec![self.assign(2)] };
        let (params, results) = SIGNATURES[callee.signature as usize];
        let args = self.arguments(params, depth);
        let results = results.iter().map(|&ty| self.rng.chance(85).then(|| self.local(ty))).collect();
        self.spend(callee.cost);
        vec![Stmt::Do { op: I::Call(func(callee.index)), args, results }]
    }

    /// Returns statements on the table that changes.
    fn tables(&mut self) -> Vec<Stmt> {
        let signature = self.rng.pick(&self.shape.indirect);
        let slots = self.shape.slots(signature);
        let slot = |body: &mut Self| Expr::i32(slots.start as i32 + body.rng.below(slots.len()) as i32);
        let functions = &self.shape.of_signature(signature);
        let function = Expr::op(ValType::FUNCREF, I::RefFunc(func(self.rng.pick(functions))), Vec::new());
        self.spend(6);
        let local = self.local(I32);
        match self.rng.below(6) {
            0..=1 => vec![Stmt::act(I::TableSet(TABLE), vec![slot(self), function])],
            2 => {
                let copy = I::TableCopy { src_table: TABLE, dst_table: TABLE };
                vec![Stmt::act(copy, vec![slot(self), slot(self), Expr::i32(1)])]
            }
            3 => {
                let args = vec![function, Expr::i32(1)];
                vec![Stmt::Do { op: I::TableGrow(TABLE), args, results: vec![Some(local)] }]
            }
            4 => vec![Stmt::set(local, Expr::op(I32, I::TableSize(TABLE), Vec::new()))],
            _ => {
                let element = Expr::op(ValType::FUNCREF, I::TableGet(TABLE), vec![slot(self)]);
                vec![Stmt::set(local, Expr::op(I32, I::RefIsNull, vec![element]))]
            }
        }
    }

    /// Returns statements that run late or rarely.
    fn rare(&mut self, depth: usize) -> Vec<Stmt> {
        let Some(late) = self.is_late() else { return vec![self.assign(depth)] };
        if self.role != Role::Main {
            // A leaf has its own loops, which end many times.
            return match self.rng.chance(20) {
                true => vec![Stmt::If(late, vec![Stmt::Return(self.results())], Vec::new())],
                false => vec![self.far_access_or_size()],
            };
        }
        let what = match self.rng.below(8) {
            0 => vec![self.grow_memory(), self.far_access()],
            1..=2 => vec![self.grow_memory()],
            3 => self.host_call(),
            4 => vec![Stmt::Return(self.results())],
            5..=6 => {
                let condition = self.expr(I32, 1);
                let seldom = Expr::op(I32, I::I32And, vec![condition, Expr::i32(3)]);
                let is_never = Expr::op(I32, I::I32Eqz, vec![seldom]);
                vec![Stmt::If(is_never, vec![self.trap()], Vec::new())]
            }
            _ => vec![self.trap()],
        };
        vec![Stmt::If(late, what, Vec::new())]
    }

    fn far_access_or_size(&mut self) -> Stmt {
        let local = self.local(I32);
        Stmt::set(local, Expr::op(I32, I::MemorySize(0), Vec::new()))
    }

    fn host_call(&mut self) -> Vec<Stmt> {
        let import = if self.rng.chance(70) { NOTE } else { REENTERED };
        let argument = self.expr(I32, 1);
        let result = Some(self.local(I32));
        vec![Stmt::Do { op: I::Call(import), args: vec![argument], results: vec![result] }]
    }

    /// Returns a statement that traps, or almost always does.
    fn trap(&mut self) -> Stmt {
        if self.shape.is_managed && self.rng.chance(50) {
            return self.bad_reference();
        }
        if self.shape.atomics.is_some() && self.rng.chance(60) {
            return self.unaligned_atomic();
        }
        let local = self.local(I32);
        let wide = self.local(I64);
        let low = || Expr::i32(-1);
        match self.rng.below(8) {
            0 => Stmt::act(I::Unreachable, Vec::new()),
            1 => {
                let value = self.expr(I32, 1);
                Stmt::set(local, Expr::op(I32, I::I32DivU, vec![value, Expr::i32(0)]))
            }
            2 => {
                let sides = vec![Expr::i64(i64::MIN), Expr::i64(-1)];
                Stmt::set(wide, Expr::op(I64, I::I64DivS, sides))
            }
            3 => {
                let memarg = wasm_encoder::MemArg {
                    offset: 0xffff_0000,
                    align: 0,
                    target: wasm_encoder::MemArgTarget::Memory(0),
                    ordering: None,
                };
                let address = self.expr(I32, 1);
                Stmt::set(wide, Expr::op(I64, I::I64Load16S(memarg), vec![address]))
            }
            4 => Stmt::act(I::MemoryFill(0), vec![low(), Expr::i32(1), Expr::i32(100)]),
            5 => {
                let huge = Expr::op(F64, I::F64Const(1e300.into()), Vec::new());
                Stmt::set(local, Expr::op(I32, I::I32TruncF64S, vec![huge]))
            }
            6 => {
                let element = Expr::op(ValType::FUNCREF, I::TableGet(TABLE), vec![low()]);
                Stmt::set(local, Expr::op(I32, I::RefIsNull, vec![element]))
            }
            _ => self.bad_call(),
        }
    }

    /// Returns an indirect call of null, of a wrong type, or beyond the end of the table.
    fn bad_call(&mut self) -> Stmt {
        let signature = self.shape.indirect[0];
        let (params, results) = SIGNATURES[signature as usize];
        let mut args = self.exprs(params, 1);
        let other = self.shape.slots(self.shape.indirect[1]).start as i32;
        let nothing = self.shape.null as i32;
        args.push(Expr::i32(self.rng.pick(&[nothing, other, 1000])));
        let results = results.iter().map(|_| None).collect();
        let op = I::CallIndirect { type_index: signature, table_index: TABLE };
        Stmt::Do { op, args, results }
    }
}
