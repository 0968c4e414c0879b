//! The operand stack during translation of one node.
//!
//! Between blocks each operand has a home, named by its depth and type. Inside a block operands are plain values; one
//! that the block never touches is never read, so a deep stack costs nothing.

use cranelift_codegen::ir::{Type, Value, types};
use cranelift_frontend::FunctionBuilder;

use super::Translator;
use super::variables::{Home, HomeKind};
use crate::abi::clif_type;
use crate::cfg::{StackId, TypeStacks};

/// The operand stack: what is left of the block's entry stack, and the values on top of it.
pub(super) struct OperandStack {
    /// The number of callers' operands below those of an inlined function.
    pub(super) base: u32,
    below: StackId,
    below_height: u32,
    values: Vec<Value>,
    homes: Vec<[Option<Home>; 5]>,
}

impl Default for OperandStack {
    fn default() -> Self {
        OperandStack {
            base: 0,
            below: TypeStacks::EMPTY,
            below_height: 0,
            values: Vec::new(),
            homes: Vec::new(),
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

    /// Returns the operands above what is left of the block's entry stack.
    pub(super) fn values(&self) -> &[Value] {
        &self.values
    }

    /// Returns what is left of the block's entry stack.
    pub(super) fn below(&self) -> StackId {
        self.below
    }

    pub(super) fn height(&self) -> u32 {
        self.below_height + self.values.len() as u32
    }

    /// Returns the home of the operand at `depth` (0 is the bottom) if it has type `ty`.
    fn home(&mut self, depth: u32, ty: Type, make: HomeKind, builder: &mut FunctionBuilder<'_>) -> Home {
        let depth = (self.base + depth) as usize;
        if self.homes.len() <= depth {
            self.homes.resize(depth + 1, [None; 5]);
        }
        *self.homes[depth][class(ty)].get_or_insert_with(|| make.make(builder, ty))
    }

    /// Saves the state for [`OperandStack::restore`].
    pub(super) fn snapshot(&self) -> (StackId, u32, Vec<Value>) {
        (self.below, self.below_height, self.values.clone())
    }

    pub(super) fn restore(&mut self, snapshot: (StackId, u32, Vec<Value>)) {
        (self.below, self.below_height, self.values) = snapshot;
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
        self.use_operand(self.stack.below_height, clif_type(ty))
    }

    /// Pops `count` operands; the deepest comes first.
    pub(super) fn pop_many(&mut self, count: usize) -> Vec<Value> {
        let mut values: Vec<Value> = (0..count).map(|_| self.pop()).collect();
        values.reverse();
        values
    }

    /// Stores the `count` lowest operands in their homes, where successors expect them.
    pub(super) fn flush(&mut self, count: u32) {
        for depth in self.stack.below_height..self.stack.height().min(count) {
            let value = self.stack.values[(depth - self.stack.below_height) as usize];
            self.define_operand(depth, value);
        }
    }

    /// Returns the operand at `depth`, and leaves it in place.
    pub(super) fn operand_at(&mut self, depth: u32) -> Value {
        match depth.checked_sub(self.stack.below_height) {
            Some(above) => self.stack.values[above as usize],
            None => {
                let above = self.stack.below_height - depth - 1;
                let stack = self.cfg.stacks.drop_top(self.stack.below, above);
                let (ty, _) = self.cfg.stacks.pop(stack).expect("the stack is as high as that");
                self.use_operand(depth, clif_type(ty))
            }
        }
    }

    /// Reads the operand at `depth` from its home.
    pub(super) fn use_operand(&mut self, depth: u32, ty: Type) -> Value {
        let home = self.stack.home(depth, ty, self.homes, &mut self.builder);
        home.read(&mut self.builder, ty)
    }

    /// Makes `value` the operand at `depth`.
    pub(super) fn define_operand(&mut self, depth: u32, value: Value) {
        let ty = self.builder.func.dfg.value_type(value);
        let home = self.stack.home(depth, ty, self.homes, &mut self.builder);
        home.write(&mut self.builder, value);
    }

    /// Returns the `count` topmost operands, and leaves them in place; the deepest comes first.
    pub(super) fn top(&mut self, count: usize) -> Vec<Value> {
        let values = self.pop_many(count);
        self.stack.values.extend(&values);
        values
    }
}
