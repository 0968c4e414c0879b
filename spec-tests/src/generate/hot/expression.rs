//! Expressions of hot programs.

use wasm_encoder::{Instruction as I, ValType};

use super::body::Body;
use super::ops::{GROUPS, Group, NAN32, NAN64, Nans};
use super::tree::{Expr, Kind, Valued};
use super::write::func;
use super::{CONSTANT_TABLE, GLOBALS, SIGNATURES, TABLE};
use ValType::{F32, F64, I32, I64, V128};

impl Body<'_> {
    /// Returns code that leaves a value of a type, and nests at most `depth` deep.
    pub fn expr(&mut self, ty: ValType, depth: usize) -> Expr {
        self.spend(1);
        if depth == 0 || self.is_short() {
            return self.leaf(ty);
        }
        match self.rng.below(24) {
            0..=3 => self.leaf(ty),
            4..=14 => self.computed(ty, depth - 1),
            15..=17 => self.load(ty, depth - 1),
            18 => self.divided(ty, depth - 1),
            19 => self.selected(ty, depth - 1),
            20 => self.either(ty, depth - 1),
            21 => self.left_early(ty, depth - 1),
            22 => self.called(ty, depth - 1),
            _ => self.kept(ty, depth - 1),
        }
    }

    /// Returns expressions of several types.
    pub fn exprs(&mut self, types: &[ValType], depth: usize) -> Vec<Expr> {
        types.iter().map(|&ty| self.expr(ty, depth)).collect()
    }

    /// Returns a local, a constant, a global, or a loop counter.
    pub fn leaf(&mut self, ty: ValType) -> Expr {
        if self.shape.is_managed
            && self.rng.chance(12)
            && let Some(value) = self.of_object(ty)
        {
            return value;
        }
        match self.rng.below(8) {
            0..=1 => self.constant(ty),
            2 => {
                let global = GLOBALS.iter().position(|&global| global == ty).expect("one of each type");
                Expr::op(ty, I::GlobalGet(global as u32), Vec::new())
            }
            3..=4 if matches!(ty, I32 | I64) => self.counter(ty),
            _ => Expr::local(ty, self.local(ty)),
        }
    }

    fn constant(&mut self, ty: ValType) -> Expr {
        let integer = self.rng.integer();
        let op = match ty {
            I32 => I::I32Const(integer as i32),
            I64 => I::I64Const(integer),
            F32 => I::F32Const(self.rng.pick(&[integer as f32, 0.5, -0.0, 1.5e30, f32::INFINITY]).into()),
            F64 => I::F64Const(self.rng.pick(&[integer as f64, 0.5, -0.0, 1.5e300, f64::INFINITY]).into()),
            _ => I::V128Const((i128::from(self.rng.word()) << 64) | i128::from(integer)),
        };
        Expr::op(ty, op, Vec::new())
    }

    /// Returns the counter of an enclosing loop, if there is any.
    pub fn counter(&mut self, ty: ValType) -> Expr {
        let Some(around) = self.some_loop() else { return Expr::local(ty, self.local(ty)) };
        let own = if around.is_wide { I64 } else { I32 };
        let count = Expr::local(own, around.counter);
        match (own, ty) {
            (I64, I32) => Expr::op(I32, I::I32WrapI64, vec![count]),
            (I32, I64) => Expr::op(I64, I::I64ExtendI32U, vec![count]),
            _ => count,
        }
    }

    fn computed(&mut self, ty: ValType, depth: usize) -> Expr {
        let group = self.group(ty);
        let op = group.ops[self.rng.below(group.ops.len())].clone();
        let mut args = self.exprs(group.params, depth);
        if group.tells_nans {
            let last = args.pop().expect("it takes something");
            args.push(self.with_one_nan(last));
        }
        let value = Expr::op(ty, op, args);
        match group.nans {
            Nans::None | Nans::Scalar => value,
            Nans::Lanes32 | Nans::Lanes64 => self.with_one_nan_in_lanes(value, group.nans),
        }
    }

    fn group(&mut self, ty: ValType) -> &'static Group {
        let all = || GROUPS.iter().filter(|group| group.result == ty);
        let mut at = self.rng.below(all().map(|group| group.weight).sum());
        for group in all() {
            if at < group.weight {
                return group;
            }
            at -= group.weight;
        }
        unreachable!("the weights add up to their sum")
    }

    /// Canonicalises NaNs in a float, because the engine chooses which NaN an operation yields.
    pub fn with_one_nan(&mut self, value: Expr) -> Expr {
        let (nan, equal) = match value.ty {
            F32 => (I::F32Const(f32::from_bits(NAN32).into()), I::F32Eq),
            F64 => (I::F64Const(f64::from_bits(NAN64).into()), I::F64Eq),
            _ => return value,
        };
        self.unless_equal(value, I::Select, nan, equal)
    }

    fn with_one_nan_in_lanes(&mut self, value: Expr, nans: Nans) -> Expr {
        let (nan, equal) = match nans {
            Nans::Lanes64 => (u128::from(NAN64) << 64 | u128::from(NAN64), I::F64x2Eq),
            _ => ((0..4).fold(0, |all, _| all << 32 | u128::from(NAN32)), I::F32x4Eq),
        };
        self.unless_equal(value, I::V128Bitselect, I::V128Const(nan as i128), equal)
    }

    /// Returns `value` where it is equal to itself, and another value elsewhere.
    fn unless_equal(
        &mut self,
        value: Expr,
        choose: I<'static>,
        other: I<'static>,
        equal: I<'static>,
    ) -> Expr {
        self.spend(6);
        let ty = value.ty;
        let scratch = self.scratch(ty);
        let again = || Expr::local(ty, scratch);
        let mask = if ty == V128 { V128 } else { I32 };
        let kept = Expr::op(ty, I::LocalTee(scratch), vec![value]);
        let other = Expr::op(ty, other, Vec::new());
        Expr::op(ty, choose, vec![kept, other, Expr::op(mask, equal, vec![again(), again()])])
    }

    /// Returns a quotient or remainder, mostly by a divisor other than zero and -1; or a trapping conversion of a
    /// value that does not trap.
    fn divided(&mut self, ty: ValType, depth: usize) -> Expr {
        let is_wide = ty == I64;
        if !matches!(ty, I32 | I64) {
            return self.computed(ty, depth);
        }
        let by = self.expr(ty, depth);
        let (max, one) = match is_wide {
            true => (Expr::i64(0x7fff_ffff), Expr::i64(1)),
            false => (Expr::i32(0x7fff_ffff), Expr::i32(1)),
        };
        let [or, and, s, u, rs, ru] = match is_wide {
            true => [I::I64Or, I::I64And, I::I64DivS, I::I64DivU, I::I64RemS, I::I64RemU],
            false => [I::I32Or, I::I32And, I::I32DivS, I::I32DivU, I::I32RemS, I::I32RemU],
        };
        let by = match self.rng.below(3) {
            0 => self.small_constant(ty),
            _ => {
                let positive = Expr::op(ty, and, vec![by, max]);
                Expr::op(ty, or, vec![positive, one])
            }
        };
        self.spend(4);
        let value = self.expr(ty, depth);
        let op = [s, u, rs, ru][self.rng.below(4)].clone();
        Expr::op(ty, op, vec![value, by])
    }

    fn small_constant(&mut self, ty: ValType) -> Expr {
        let number = 2 + self.rng.below(14) as i32;
        if ty == I64 { Expr::i64(i64::from(number)) } else { Expr::i32(number) }
    }

    fn selected(&mut self, ty: ValType, depth: usize) -> Expr {
        let mut args = self.exprs(&[ty, ty], depth);
        args.push(self.condition(depth));
        Expr::op(ty, I::Select, args)
    }

    fn either(&mut self, ty: ValType, depth: usize) -> Expr {
        let condition = self.condition(depth);
        let [yes, no] = [(); 2].map(|()| Box::new(self.valued(ty, depth)));
        Expr { ty, kind: Kind::If(Box::new(condition), yes, no) }
    }

    fn valued(&mut self, ty: ValType, depth: usize) -> Valued {
        let before = if self.rng.chance(30) { self.statements(depth, 2) } else { Vec::new() };
        Valued { before, value: self.expr(ty, depth) }
    }

    fn left_early(&mut self, ty: ValType, depth: usize) -> Expr {
        let label = self.new_label();
        self.labels.push((label, vec![ty]));
        let mut before = self.statements(depth, 2);
        before.extend(self.maybe_leave(depth));
        let value = self.expr(ty, depth);
        self.labels.pop();
        Expr { ty, kind: Kind::Block(label, Box::new(Valued { before, value })) }
    }

    /// Returns a value that is also stored in a local.
    fn kept(&mut self, ty: ValType, depth: usize) -> Expr {
        let value = self.expr(ty, depth);
        let local = self.local(ty);
        Expr::op(ty, I::LocalTee(local), vec![value])
    }

    /// Returns the result of a call, direct or through a table.
    fn called(&mut self, ty: ValType, depth: usize) -> Expr {
        if self.rng.chance(35)
            && let Some(call) = self.called_through_table(ty, depth)
        {
            return call;
        }
        let fits = |signature: u32| SIGNATURES[signature as usize].1 == [ty];
        let Some(callee) = self.callee(fits) else { return self.computed(ty, depth) };
        let args = self.arguments(SIGNATURES[callee.signature as usize].0, depth);
        self.spend(callee.cost);
        Expr::op(ty, I::Call(func(callee.index)), args)
    }

    /// Returns arguments of a call, mostly simple ones.
    pub fn arguments(&mut self, types: &[ValType], depth: usize) -> Vec<Expr> {
        let depth = depth.min(if self.rng.chance(70) { 1 } else { 2 });
        self.exprs(types, depth)
    }

    fn called_through_table(&mut self, ty: ValType, depth: usize) -> Option<Expr> {
        let kinds = self.shape.indirect;
        let signature = *kinds.iter().find(|&&kind| SIGNATURES[kind as usize].1 == [ty])?;
        if !self.can_spend(self.shape.leaf_cost) || self.is_leaf() {
            return None;
        }
        self.spend(self.shape.leaf_cost);
        let mut args = self.arguments(SIGNATURES[signature as usize].0, depth);
        let table_index = if self.rng.chance(50) { TABLE } else { CONSTANT_TABLE };
        args.push(self.element(signature, depth));
        Some(Expr::op(ty, I::CallIndirect { type_index: signature, table_index }, args))
    }

    /// Returns the index of a table element of a signature: mostly the same one, late in the run another, now and then
    /// a third.
    pub fn element(&mut self, signature: u32, depth: usize) -> Expr {
        let slots = self.shape.slots(signature);
        let slot = |body: &mut Self| Expr::i32(slots.start as i32 + body.rng.below(slots.len()) as i32);
        if self.rng.chance(15) {
            let any = self.expr(I32, depth.min(1));
            let size = Expr::i32(slots.len() as i32);
            let within = Expr::op(I32, I::I32RemU, vec![any, size]);
            return Expr::op(I32, I::I32Add, vec![within, Expr::i32(slots.start as i32)]);
        }
        let (usual, later, rare) = (slot(self), slot(self), slot(self));
        self.spend(8);
        let changes = self.is_early();
        let phase = Expr::op(I32, I::Select, vec![usual, later, changes]);
        if self.rng.chance(50) {
            return phase;
        }
        let mask = self.rng.pick(&[3, 7, 31]);
        let counted = self.counter(I32);
        let seldom = Expr::op(I32, I::I32And, vec![counted, Expr::i32(mask)]);
        Expr::op(I32, I::Select, vec![phase, rare, seldom])
    }

    /// Returns a condition that mostly holds, or fails, many times in a row.
    pub fn condition(&mut self, depth: usize) -> Expr {
        self.spend(3);
        match self.rng.below(6) {
            0..=1 => {
                let mask = self.rng.pick(&[1, 3, 7, 15, 63]);
                let counted = self.counter(I32);
                let some = Expr::op(I32, I::I32And, vec![counted, Expr::i32(mask)]);
                match self.rng.chance(50) {
                    true => some,
                    false => Expr::op(I32, I::I32Eqz, vec![some]),
                }
            }
            2 => self.is_early(),
            _ => self.expr(I32, depth.min(2)),
        }
    }
}
