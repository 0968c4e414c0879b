//! Loops over arrays: each round stores what it computes of what it loads, side by side with the next round's. Optimised
//! code may do them in vectors.

use wasm_encoder::{Instruction as I, MemArg, MemArgTarget, ValType};

use super::body::{Around, Body};
use super::tree::{Expr, Loop, LoopForm, Stmt};
use ValType::{F32, F64, I32, I64};

/// The iteration counts.
const ROUNDS: [u32; 7] = [4, 8, 16, 64, 250, 1024, 3000];

/// The bytes of memory 0 that the elements of an array take at most.
const MOST_BYTES: u32 = 0x6000;

/// What is side by side.
#[derive(Clone, Copy)]
struct Kind {
    /// The type of the values that are computed.
    ty: ValType,
    /// The binary logarithm of the width in memory.
    log2: u32,
    load: fn(MemArg) -> I<'static>,
    store: fn(MemArg) -> I<'static>,
}

const KINDS: [Kind; 6] = [
    Kind { ty: F64, log2: 3, load: I::F64Load, store: I::F64Store },
    Kind { ty: F32, log2: 2, load: I::F32Load, store: I::F32Store },
    Kind { ty: I64, log2: 3, load: I::I64Load, store: I::I64Store },
    Kind { ty: I32, log2: 2, load: I::I32Load, store: I::I32Store },
    Kind { ty: I32, log2: 1, load: I::I32Load16U, store: I::I32Store16 },
    Kind { ty: I32, log2: 0, load: I::I32Load8U, store: I::I32Store8 },
];

impl Body<'_> {
    /// Returns a loop over arrays that executes at most `share` instructions.
    pub fn arrays(&mut self, share: u64) -> Vec<Stmt> {
        let kind = self.rng.pick(&KINDS);
        let fits = |rounds: &u32| u64::from(*rounds) * 25 <= share && rounds << kind.log2 <= MOST_BYTES;
        let fits: Vec<u32> = ROUNDS.into_iter().filter(fits).collect();
        if fits.is_empty() {
            return vec![self.store(2)];
        }
        // The counter counts elements, or bytes.
        let (rounds, in_bytes, is_wide) = (self.rng.pick(&fits), self.rng.chance(50), self.rng.chance(30));
        let around = Around {
            counter: self.counters(is_wide),
            is_wide,
            form: self.rng.pick(&[LoopForm::Down, LoopForm::Up, LoopForm::Up, LoopForm::Up, LoopForm::Up]),
            step: if in_bytes { 1 << kind.log2 } else { 1 },
            rounds,
            labels: [self.new_label(), self.new_label()],
        };
        let Around { counter, form, step, labels: [exit, next], .. } = around;
        let dynamic =
            (rounds.is_power_of_two() && self.rng.chance(60)).then(|| (self.expr(I32, 1), rounds - 1));
        let stores = 1 + self.rng.below(2);
        let body = self.in_rounds(share, rounds, |body| {
            body.spend(5);
            (0..stores).map(|_| body.array_store(kind, around)).collect()
        });
        let carried = Vec::new();
        let counted = Loop { exit, next, counter, is_wide, form, step, rounds, dynamic, body, carried };
        vec![Stmt::Loop(Box::new(counted))]
    }

    /// Returns the store of an element.
    fn array_store(&mut self, kind: Kind, around: Around) -> Stmt {
        let address = self.place_of(kind, around);
        let value = self.array_value(kind, around, 2);
        let value = self.with_one_nan(value);
        Stmt::act((kind.store)(address.1), vec![address.0, value])
    }

    /// Returns the address of an element, in one of a few arrays that lie apart or overlap.
    fn place_of(&mut self, kind: Kind, around: Around) -> (Expr, MemArg) {
        self.spend(4);
        let count = match around.is_wide {
            true => Expr::op(I32, I::I32WrapI64, vec![Expr::local(I64, around.counter)]),
            false => Expr::local(I32, around.counter),
        };
        let in_bytes = around.step == 1 << kind.log2;
        let index = match in_bytes {
            true => count,
            false => Expr::op(I32, I::I32Shl, vec![count, Expr::i32(kind.log2 as i32)]),
        };
        // An array at a known address, or where a pointer says, which is not known before the loop runs.
        let index = match self.rng.chance(40) {
            true => index,
            false => {
                let pointer = Expr::local(I32, self.local(I32));
                let pointer = Expr::op(I32, I::I32And, vec![pointer, Expr::i32(0x7ff8)]);
                Expr::op(I32, I::I32Add, vec![pointer, index])
            }
        };
        let further = self.rng.pick(&[0, 0, 0, 1, 2, 3, 8, 100]) << kind.log2;
        // Seldom it ends behind the memory.
        let far = if self.rng.chance(1) { 0xc000 } else { 0 };
        let target = MemArgTarget::Memory(0);
        (index, MemArg { offset: further + far, align: 0, target, ordering: None })
    }

    /// Returns an expression of what is side by side.
    fn array_value(&mut self, kind: Kind, around: Around, depth: usize) -> Expr {
        let Some(inner) = depth.checked_sub(1) else {
            let (address, memarg) = self.place_of(kind, around);
            return Expr::op(kind.ty, (kind.load)(memarg), vec![address]);
        };
        self.spend(2);
        let ops = match kind.ty {
            I32 => [I::I32Add, I::I32Sub, I::I32Xor, I::I32And, I::I32Mul],
            I64 => [I::I64Add, I::I64Sub, I::I64Xor, I::I64Or, I::I64And],
            F32 => [I::F32Add, I::F32Sub, I::F32Mul, I::F32Div, I::F32Add],
            _ => [I::F64Add, I::F64Sub, I::F64Mul, I::F64Div, I::F64Mul],
        };
        let op = self.rng.pick(&[0, 1, 2, 3, 4]);
        let left = self.array_value(kind, around, inner);
        let right = match self.rng.below(4) {
            0 => self.constant_of(kind),
            1 => Expr::local(kind.ty, self.local(kind.ty)),
            _ => self.array_value(kind, around, inner),
        };
        Expr::op(kind.ty, ops[op].clone(), vec![left, right])
    }

    fn constant_of(&mut self, kind: Kind) -> Expr {
        let number = self.rng.below(9) as i32 - 2;
        match kind.ty {
            I32 => Expr::i32(number),
            I64 => Expr::i64(number.into()),
            F32 => Expr::op(F32, I::F32Const((number as f32 / 2.0).into()), Vec::new()),
            _ => Expr::op(F64, I::F64Const((f64::from(number) / 2.0).into()), Vec::new()),
        }
    }
}
