//! A function body of a hot program under construction: what is in scope, and how much may still run.

use wasm_encoder::{Instruction as I, ValType};

use super::tree::{End, Expr, Function, Label, LoopForm, Stmt};
use super::{Callee, Role, SIGNATURES, Shape};
use crate::rng::Rng;
use ValType::{F32, F64, I32, I64, V128};

/// Locals after the parameters that any code may read and write.
const FREE: [ValType; 12] = [I32, I32, I32, I32, I64, I64, I64, F32, F64, F64, V128, V128];

/// An enclosing loop of the code that is being written.
#[derive(Clone, Copy, Debug)]
pub struct Around {
    /// The local that counts iterations.
    pub counter: u32,
    /// Whether the counter is an i64.
    pub is_wide: bool,
    /// How the loop counts.
    pub form: LoopForm,
    /// The step of the counter.
    pub step: u32,
    /// Maximum number of iterations.
    pub rounds: u32,
    /// The labels that leave the loop and that continue it.
    pub labels: [Label; 2],
}

/// A function body.
pub struct Body<'a> {
    /// Source of all random choices.
    pub rng: &'a mut Rng,
    /// The rest of the module.
    pub shape: &'a Shape,
    /// The role of the function.
    pub role: Role,
    /// Enclosing constructs, and the operands of branches to them.
    pub labels: Vec<(Label, Vec<ValType>)>,
    /// Enclosing loops, the innermost last.
    pub loops: Vec<Around>,
    index: u32,
    signature: u32,
    /// How many instructions may still run each time that control reaches this point.
    allowed: u64,
    /// How many instructions may still be written.
    size: i64,
    locals: Vec<ValType>,
    /// The locals that any code may read and write.
    free: std::ops::Range<usize>,
    scratch: [Option<u32>; 3],
    next_label: Label,
}

impl<'a> Body<'a> {
    /// Starts the body of a function; `limits` are the instructions that it may execute and that it may have.
    pub fn new(
        shape: &'a Shape,
        role: Role,
        index: u32,
        signature: u32,
        limits: (u64, i64),
        rng: &'a mut Rng,
    ) -> Body<'a> {
        let mut locals = [SIGNATURES[signature as usize].0, &FREE].concat();
        if shape.is_managed {
            locals.extend(super::objects::locals(shape));
        }
        Body {
            rng,
            shape,
            role,
            labels: Vec::new(),
            loops: Vec::new(),
            index,
            signature,
            allowed: limits.0,
            size: limits.1,
            // No other code may change the remaining recursion depth.
            free: usize::from(role.recurses())..locals.len(),
            locals,
            scratch: [None; 3],
            next_label: 0,
        }
    }

    /// Returns the function.
    pub fn write(mut self) -> Function {
        let mut body = self.start();
        while self.size > 0 && self.allowed > 20 {
            body.extend(self.statement(4));
        }
        let end = self.end();
        let params = SIGNATURES[self.signature as usize].0.len();
        Function { signature: self.signature, locals: self.locals.split_off(params), body, end }
    }

    /// Returns the types of the parameters.
    pub fn params(&self) -> &'static [ValType] {
        SIGNATURES[self.signature as usize].0
    }

    /// Returns the statements with which functions of some roles start.
    fn start(&mut self) -> Vec<Stmt> {
        let (Role::Recursive { limit, .. } | Role::TailRecursive { limit }) = self.role else {
            let may_throw = self.shape.is_managed && self.role != Role::Main && self.rng.chance(40);
            return if may_throw { vec![self.seldom_thrown()] } else { Vec::new() };
        };
        // The first parameter is the remaining depth; an out-of-range value ends the recursion at once.
        let left = Expr::op(I32, I::I32Sub, vec![Expr::local(I32, 0), Expr::i32(1)]);
        let is_over = Expr::op(I32, I::I32GeU, vec![left, Expr::i32(limit as i32)]);
        let results = self.results();
        vec![Stmt::If(is_over, vec![Stmt::Return(results)], Vec::new())]
    }

    fn end(&mut self) -> End {
        let signature = self.signature;
        let deeper = |body: &mut Self| {
            let mut args = body.arguments(SIGNATURES[signature as usize].0, 1);
            args[0] = Expr::op(I32, I::I32Sub, vec![Expr::local(I32, 0), Expr::i32(1)]);
            args
        };
        let own = super::write::func(self.index);
        match self.role {
            Role::TailRecursive { .. } => End::TailCall(deeper(self), I::ReturnCall(own)),
            Role::Recursive { calls, .. } => {
                let ty = SIGNATURES[signature as usize].1[0];
                let values: Vec<Expr> =
                    (0..calls).map(|_| Expr::op(ty, I::Call(own), deeper(self))).collect();
                End::Results(vec![values.into_iter().fold(self.expr(ty, 1), |all, one| {
                    Expr::op(ty, if ty == I64 { I::I64Add } else { I::I32Xor }, vec![all, one])
                })])
            }
            _ => match self.tail_call() {
                Some(end) => end,
                None => End::Results(self.results()),
            },
        }
    }

    fn tail_call(&mut self) -> Option<End> {
        let results = SIGNATURES[self.signature as usize].1;
        if self.role == Role::Main || !self.rng.chance(12) {
            return None;
        }
        let callee = self.callee(|signature| SIGNATURES[signature as usize].1 == results)?;
        self.spend(callee.cost);
        let args = self.arguments(SIGNATURES[callee.signature as usize].0, 1);
        Some(End::TailCall(args, I::ReturnCall(super::write::func(callee.index))))
    }

    /// Returns the results of the function.
    pub fn results(&mut self) -> Vec<Expr> {
        self.exprs(SIGNATURES[self.signature as usize].1, 1)
    }

    /// Records that `instructions` more instructions run each time that control reaches this point.
    pub fn spend(&mut self, instructions: u64) {
        self.allowed = self.allowed.saturating_sub(instructions);
        self.size -= (instructions as i64).min(4);
    }

    /// Reports whether `instructions` more instructions may run.
    pub fn can_spend(&self, instructions: u64) -> bool {
        instructions + 10 < self.allowed
    }

    /// Reports whether hardly anything may still run or be written.
    pub fn is_short(&self) -> bool {
        self.allowed < 12 || self.size < -40
    }

    /// Reports whether the function makes no calls through tables.
    pub fn is_leaf(&self) -> bool {
        !matches!(self.role, Role::Main | Role::Middle)
    }

    /// Calls `inside` with the budget of one iteration of a loop.
    pub fn in_rounds<T>(&mut self, share: u64, rounds: u32, inside: impl FnOnce(&mut Self) -> T) -> T {
        let each = share / u64::from(rounds);
        let rest = self.allowed.saturating_sub(share);
        self.allowed = each;
        let result = inside(self);
        self.allowed = rest + u64::from(rounds) * self.allowed;
        result
    }

    /// Returns how many instructions may still run here.
    pub fn allowed(&self) -> u64 {
        self.allowed
    }

    /// Returns how many instructions may still be written.
    pub fn size(&self) -> i64 {
        self.size
    }

    /// Returns a local of a type that any code may write.
    pub fn local(&mut self, ty: ValType) -> u32 {
        let of_type: Vec<usize> = self.free.clone().filter(|&local| self.locals[local] == ty).collect();
        self.rng.pick(&of_type) as u32
    }

    /// Adds two consecutive locals that no other code writes.
    pub fn counters(&mut self, is_wide: bool) -> u32 {
        let ty = if is_wide { I64 } else { I32 };
        self.locals.extend([ty, ty]);
        self.locals.len() as u32 - 2
    }

    /// Adds a local that no other code writes.
    pub fn own_local(&mut self, ty: ValType) -> u32 {
        self.locals.push(ty);
        self.locals.len() as u32 - 1
    }

    /// Returns a local for a value that is used twice.
    pub fn scratch(&mut self, ty: ValType) -> u32 {
        let kind = match ty {
            F32 => 0,
            F64 => 1,
            _ => 2,
        };
        *self.scratch[kind].get_or_insert_with(|| {
            self.locals.push(ty);
            self.locals.len() as u32 - 1
        })
    }

    /// Returns a new label.
    pub fn new_label(&mut self) -> Label {
        self.next_label += 1;
        self.next_label
    }

    /// Returns an enclosing loop, mostly the innermost.
    pub fn some_loop(&mut self) -> Option<Around> {
        let innermost = *self.loops.last()?;
        if self.rng.chance(65) {
            return Some(innermost);
        }
        let at = self.rng.below(self.loops.len());
        Some(self.loops[at])
    }

    /// Returns a condition that holds in the first half of the outermost loop.
    pub fn is_early(&mut self) -> Expr {
        match self.loops.first().copied() {
            None => Expr::local(I32, self.local(I32)),
            Some(around) => around.compare(around.rounds / 2, I::I32LtU, I::I64LtU),
        }
    }

    /// Returns a condition that holds in one iteration near the end of the outermost loop.
    pub fn is_late(&mut self) -> Option<Expr> {
        let around = self.loops.first().copied()?;
        let at = around.rounds - around.rounds / 8 - 1;
        Some(around.compare(at, I::I32Eq, I::I64Eq))
    }

    /// Returns a function whose signature fits and that may be called.
    pub fn callee(&mut self, fits: impl Fn(u32) -> bool) -> Option<Callee> {
        let limit = self.allowed;
        let all: Vec<Callee> = self
            .shape
            .callees
            .iter()
            .copied()
            .filter(|callee| callee.index > self.index && fits(callee.signature) && callee.cost + 10 < limit)
            .collect();
        (!all.is_empty()).then(|| self.rng.pick(&all))
    }

    /// Returns a random type.
    pub fn some_type(&mut self) -> ValType {
        self.rng.pick(&[I32, I32, I32, I64, I64, I64, F32, F64, F64, V128])
    }
}

impl Around {
    /// Returns a comparison of the counter with its value in iteration `round`.
    fn compare(self, round: u32, narrow: I<'static>, wide: I<'static>) -> Expr {
        // The comparison is swapped for a counter that counts down.
        let (at, swap) = match self.form {
            LoopForm::Down => ((self.rounds - round) * self.step, true),
            LoopForm::Up | LoopForm::While => (round * self.step, false),
        };
        let (ty, number, op) = match self.is_wide {
            true => (I64, Expr::i64(at.into()), wide),
            false => (I32, Expr::i32(at as i32), narrow),
        };
        let count = Expr::local(ty, self.counter);
        let sides = if swap { vec![number, count] } else { vec![count, number] };
        Expr::op(I32, op, sides)
    }
}
