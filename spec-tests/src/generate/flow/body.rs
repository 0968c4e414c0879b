//! The state of a function body under construction: its labels, its locals, and the remaining budget.

use std::ops::Range;

use wasm_encoder::{BlockType, Function, Instruction, ValType};

use super::{Functions, SIGNATURES, Signature};
use crate::rng::Rng;
use {ValType::I32, ValType::I64};

/// Locals after the parameters that any code may read and write.
const FREE: [ValType; 4] = [I32, I32, I64, I64];

/// A function body.
pub struct Body<'a> {
    pub functions: &'a Functions,
    pub func: u32,
    pub rng: &'a mut Rng,
    /// Operands of a branch to each label, innermost construct last. The first label is the function itself.
    pub labels: Vec<Vec<ValType>>,
    /// Approximate number of instructions that may still be written.
    pub budget: i32,
    locals: Vec<ValType>,
    /// Number of locals that any code may write; the other locals are loop counters.
    free: usize,
    code: Vec<Instruction<'static>>,
}

impl<'a> Body<'a> {
    /// Begins a function with a number of instructions that is about in the range `code`.
    pub fn new(functions: &'a Functions, func: u32, code: &Range<usize>, rng: &'a mut Rng) -> Body<'a> {
        let (params, results) = functions.signature(func);
        let locals = [params, &FREE].concat();
        let free = locals.len();
        let budget = rng.within(code) as i32;
        let labels = vec![results.to_vec()];
        Body { functions, func, rng, labels, budget, locals, free, code: Vec::new() }
    }

    pub fn write(mut self) -> Function {
        while self.budget > 0 {
            self.statement(4);
        }
        self.values(&self.labels[0].clone());
        self.push(Instruction::End);
        let (params, _) = self.functions.signature(self.func);
        let mut function = Function::new_with_locals_types(self.locals[params.len()..].iter().copied());
        self.code.iter().for_each(|op| {
            function.instruction(op);
        });
        function
    }

    pub fn push(&mut self, op: Instruction<'static>) {
        self.budget -= 1;
        self.code.push(op);
    }

    /// Returns a local of a type that any code may write.
    pub fn local(&mut self, ty: ValType) -> u32 {
        let all: Vec<u32> = (0..self.free as u32).filter(|&l| self.locals[l as usize] == ty).collect();
        self.rng.pick(&all)
    }

    /// Adds a local that no other code writes.
    pub fn counter(&mut self) -> u32 {
        self.locals.push(I32);
        self.locals.len() as u32 - 1
    }

    /// Emits a construct whose label takes operands of the types in `label`.
    pub fn nest(&mut self, op: Instruction<'static>, label: &[ValType], inside: impl FnOnce(&mut Self)) {
        self.push(op);
        self.labels.push(label.to_vec());
        inside(self);
        self.labels.pop();
        self.push(Instruction::End);
    }

    /// Emits values of these types.
    pub fn values(&mut self, types: &[ValType]) {
        types.iter().for_each(|&ty| self.expression(ty, 2));
    }

    /// Emits code that stores or drops operands of these types.
    pub fn consume(&mut self, types: &[ValType]) {
        for &ty in types.iter().rev() {
            let op = match self.rng.below(3) {
                0 => Instruction::Drop,
                1 => Instruction::GlobalSet(u32::from(ty == I64)),
                _ => Instruction::LocalSet(self.local(ty)),
            };
            self.push(op);
        }
    }

    /// Returns a function whose results are `results`. Mostly it comes after this function, so that recursion is rare.
    pub fn callee(&mut self, results: &[ValType]) -> Option<u32> {
        let recursive = self.rng.chance(4);
        let fits = |&func: &u32| {
            (func > self.func || recursive || func < self.functions.defined().start)
                && self.functions.signature(func).1 == results
        };
        let all: Vec<u32> = (0..self.functions.0.len() as u32).filter(fits).collect();
        (!all.is_empty()).then(|| self.rng.pick(&all))
    }

    /// Returns the depth of a random label, with its operand types.
    pub fn label(&mut self) -> (u32, Vec<ValType>) {
        let index = self.rng.below(self.labels.len());
        ((self.labels.len() - 1 - index) as u32, self.labels[index].clone())
    }

    /// Returns the type of a block that leaves `results`.
    pub fn leaves(results: &[ValType]) -> BlockType {
        match results {
            [] => BlockType::Empty,
            &[ty] => BlockType::Result(ty),
            _ => {
                let found = SIGNATURES.iter().position(|&signature: &Signature| signature == (&[], results));
                BlockType::FunctionType(found.expect("one of the signatures") as u32)
            }
        }
    }
}
