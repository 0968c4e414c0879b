//! The operand stack during translation of one node.
//!
//! Between blocks each operand lives in a frontend variable, named by its depth and type. Inside a block operands are
//! plain values; one that the block never touches is never read, so a deep stack costs nothing.

use cranelift_codegen::ir::{Type, Value, types};
use cranelift_frontend::{FunctionBuilder, Variable};

use super::Translator;
use crate::abi::clif_type;
use crate::cfg::{StackId, TypeStacks};

/// The operand stack: what is left of the block's entry stack, and the values on top of it.
pub(super) struct OperandStack {
    /// How many operands of callers lie below those of an inlined function.
    pub(super) base: u32,
    below: StackId,
    below_height: u32,
    values: Vec<Value>,
    variables: Vec<[Option<Variable>; 5]>,
}

impl Default for OperandStack {
    fn default() -> Self {
        OperandStack {
            base: 0,
            below: TypeStacks::EMPTY,
            below_height: 0,
            values: Vec::new(),
            variables: Vec::new(),
        }
    }
}

impl OperandStack {
    /// Starts a block whose entry stack is `stack`.
    pub(super) fn enter(&mut self, stack: StackId, stacks: &TypeStacks) {
        self.below = stack;
        self.below_height = stacks.height(stack);
        self.values.clear();
    }

    /// What lies above what is left of the block's entry stack.
    pub(super) fn values(&self) -> &[Value] {
        &self.values
    }

    /// What is left of the block's entry stack.
    pub(super) fn below(&self) -> StackId {
        self.below
    }

    pub(super) fn height(&self) -> u32 {
        self.below_height + self.values.len() as u32
    }

    /// The variable of the operand at `depth` (0 is the bottom) if it has type `ty`.
    fn variable(&mut self, depth: u32, ty: Type, builder: &mut FunctionBuilder<'_>) -> Variable {
        let depth = (self.base + depth) as usize;
        if self.variables.len() <= depth {
            self.variables.resize(depth + 1, [None; 5]);
        }
        *self.variables[depth][class(ty)].get_or_insert_with(|| builder.declare_var(ty))
    }
}

fn class(ty: Type) -> usize {
    match ty {
        types::I32 => 0,
        types::I64 => 1,
        types::F32 => 2,
        types::F64 => 3,
        _ => 4,
    }
}

impl Translator<'_> {
    pub(super) fn push(&mut self, value: Value) {
        self.stack.values.push(value);
    }

    pub(super) fn pop(&mut self) -> Value {
        match self.stack.values.pop() {
            Some(value) => value,
            None => self.pop_below(),
        }
    }

    /// Pops without reading.
    pub(super) fn drop(&mut self) {
        if self.stack.values.pop().is_none() {
            let (_, below) =
                self.cfg.stacks.pop(self.stack.below).expect("validated: operand stack is not empty");
            self.stack.below = below;
            self.stack.below_height -= 1;
        }
    }

    fn pop_below(&mut self) -> Value {
        let (ty, below) =
            self.cfg.stacks.pop(self.stack.below).expect("validated: operand stack is not empty");
        self.stack.below = below;
        self.stack.below_height -= 1;
        let depth = self.stack.below_height;
        let variable = self.stack.variable(depth, clif_type(ty), &mut self.builder);
        self.builder.use_var(variable)
    }

    /// Pops `count` operands; the deepest comes first.
    pub(super) fn pop_many(&mut self, count: usize) -> Vec<Value> {
        let mut values: Vec<Value> = (0..count).map(|_| self.pop()).collect();
        values.reverse();
        values
    }

    /// Leaves every operand in its variable, as successors expect it.
    pub(super) fn flush(&mut self) {
        let from = self.stack.below_height;
        for index in 0..self.stack.values.len() {
            let value = self.stack.values[index];
            self.define_operand(from + index as u32, value);
        }
    }

    /// Reads the variable of the operand at `depth`.
    pub(super) fn use_operand(&mut self, depth: u32, ty: Type) -> Value {
        let variable = self.stack.variable(depth, ty, &mut self.builder);
        self.builder.use_var(variable)
    }

    /// Puts `value` into the variable of the operand at `depth`.
    pub(super) fn define_operand(&mut self, depth: u32, value: Value) {
        let ty = self.builder.func.dfg.value_type(value);
        let variable = self.stack.variable(depth, ty, &mut self.builder);
        self.builder.def_var(variable, value);
    }

    /// The `count` topmost operands, left in place; the deepest comes first.
    pub(super) fn top(&mut self, count: usize) -> Vec<Value> {
        let values = self.pop_many(count);
        self.stack.values.extend(&values);
        values
    }
}
