//! The operand stack during translation of one node.
//!
//! Between blocks each operand has a home, named by its depth and type. Inside a block operands are plain values; one
//! that the block never touches is never read, so a deep stack costs nothing.

use cranelift_codegen::ir::{Type, Value, types};
use cranelift_frontend::FunctionBuilder;
use wasmparser::ValType;

use super::around_calls::{AroundCalls, Operands};
use super::homes::{Home, HomeKind};
use crate::abi::clif_type;
use crate::cfg::{StackId, TypeStacks};

/// The operand stack: what is left of the block's entry stack, and the values on top of it.
///
/// **Invariant**: the height is that of the types below plus the number of values. An operand below the values is in its
/// home, whose depth counts the operands of callers.
pub struct OperandStack {
    /// The number of callers' operands below those of an inlined function.
    base: u32,
    below: StackId,
    below_height: u32,
    values: Vec<Value>,
    homes: Vec<[Option<Home>; 5]>,
    kind: HomeKind,
    around_calls: AroundCalls,
}

/// A stack within a node, for [`OperandStack::restore`].
pub struct Snapshot(StackId, u32, Vec<Value>);

impl OperandStack {
    /// Creates an empty stack with such homes.
    pub fn new(kind: HomeKind) -> OperandStack {
        OperandStack {
            base: 0,
            below: TypeStacks::EMPTY,
            below_height: 0,
            values: Vec::new(),
            homes: Vec::new(),
            kind,
            around_calls: AroundCalls::default(),
        }
    }

    /// Continues with the operands of a frame, above those of its callers.
    pub fn enter_frame(&mut self, frame: u32) {
        self.base = self.around_calls.base(frame);
    }

    /// Starts a block whose entry stack is `stack`.
    pub fn enter(&mut self, stack: StackId, stacks: &TypeStacks) {
        self.below = stack;
        self.below_height = stacks.height(stack);
        self.values.clear();
    }

    /// Starts a node of a frame in the middle of a block: at the call at byte `at`, if that was translated. Reports
    /// whether it was.
    pub fn enter_at_call(
        &mut self,
        call: (u32, u32),
        stacks: &TypeStacks,
        builder: &mut FunctionBuilder<'_>,
    ) -> bool {
        let before = self.around_calls.before(call);
        let is_at_call = before.is_some();
        before.into_iter().for_each(|operands| self.enter_with(operands, stacks, builder));
        is_at_call
    }

    /// Starts a node behind an inlined call with these results.
    ///
    /// # Panics
    /// If the call is not translated.
    pub fn enter_behind_call(
        &mut self,
        call: (u32, u32),
        results: &[ValType],
        stacks: &TypeStacks,
        builder: &mut FunctionBuilder<'_>,
    ) {
        let operands = self.around_calls.behind(call, results);
        self.enter_with(operands, stacks, builder);
    }

    fn enter_with(&mut self, operands: Operands, stacks: &TypeStacks, builder: &mut FunctionBuilder<'_>) {
        self.enter(operands.below, stacks);
        for ty in operands.above {
            let value = self.read_home(self.height(), ty, builder);
            self.push(value);
        }
    }

    /// Returns the types of the operands.
    pub fn operands(&self, builder: &FunctionBuilder<'_>) -> Operands {
        let ty = |&value: &Value| builder.func.dfg.value_type(value);
        Operands { below: self.below, above: self.values.iter().map(ty).collect() }
    }

    /// Places the operands of inlined frame `callee` above those that are left behind the arguments of its call.
    /// `before` holds the operands before the call.
    pub fn inline(&mut self, call: (u32, u32), callee: u32, before: Operands, builder: &FunctionBuilder<'_>) {
        self.around_calls.set_base(callee, self.base + self.height());
        let behind = self.operands(builder);
        self.around_calls.record(call, before, behind);
    }

    /// Returns the number of operands of the frame.
    pub fn height(&self) -> u32 {
        self.below_height + self.values.len() as u32
    }

    /// Returns the home of the operand at `depth` (0 is the bottom) if it has type `ty`.
    fn home(&mut self, depth: u32, ty: Type, builder: &mut FunctionBuilder<'_>) -> Home {
        let depth = (self.base + depth) as usize;
        if self.homes.len() <= depth {
            self.homes.resize(depth + 1, [None; 5]);
        }
        *self.homes[depth][class(ty)].get_or_insert_with(|| self.kind.make(builder, ty))
    }

    /// Reads the operand at `depth` from its home.
    pub fn read_home(&mut self, depth: u32, ty: Type, builder: &mut FunctionBuilder<'_>) -> Value {
        self.home(depth, ty, builder).read(builder, ty)
    }

    /// Stores the operand at `depth` in its home.
    pub fn write_home(&mut self, depth: u32, value: Value, builder: &mut FunctionBuilder<'_>) {
        let ty = builder.func.dfg.value_type(value);
        self.home(depth, ty, builder).write(builder, value);
    }

    pub fn push(&mut self, value: Value) {
        self.values.push(value);
    }

    pub fn pop(&mut self, stacks: &TypeStacks, builder: &mut FunctionBuilder<'_>) -> Value {
        match self.values.pop() {
            Some(value) => value,
            None => {
                let ty = self.drop_below(stacks);
                self.read_home(self.below_height, clif_type(ty), builder)
            }
        }
    }

    /// Pops without reading.
    pub fn drop(&mut self, stacks: &TypeStacks) {
        if self.values.pop().is_none() {
            self.drop_below(stacks);
        }
    }

    fn drop_below(&mut self, stacks: &TypeStacks) -> ValType {
        let (ty, below) = stacks.pop(self.below).expect("validated: operand stack is not empty");
        self.below = below;
        self.below_height -= 1;
        ty
    }

    /// Pops `count` operands; the deepest comes first.
    pub fn pop_many(
        &mut self,
        count: usize,
        stacks: &TypeStacks,
        builder: &mut FunctionBuilder<'_>,
    ) -> Vec<Value> {
        let mut values: Vec<Value> = (0..count).map(|_| self.pop(stacks, builder)).collect();
        values.reverse();
        values
    }

    /// Returns the `count` topmost operands, and leaves them in place; the deepest comes first.
    pub fn top(
        &mut self,
        count: usize,
        stacks: &TypeStacks,
        builder: &mut FunctionBuilder<'_>,
    ) -> Vec<Value> {
        let values = self.pop_many(count, stacks, builder);
        self.values.extend(&values);
        values
    }

    /// Returns the operand at `depth`, and leaves it in place.
    pub fn at(&mut self, depth: u32, stacks: &TypeStacks, builder: &mut FunctionBuilder<'_>) -> Value {
        match depth.checked_sub(self.below_height) {
            Some(above) => self.values[above as usize],
            None => {
                let stack = stacks.drop_top(self.below, self.below_height - depth - 1);
                let (ty, _) = stacks.pop(stack).expect("the stack is as high as that");
                self.read_home(depth, clif_type(ty), builder)
            }
        }
    }

    /// Stores the `count` lowest operands in their homes, where successors expect them.
    pub fn flush(&mut self, count: u32, builder: &mut FunctionBuilder<'_>) {
        for depth in self.below_height..self.height().min(count) {
            let value = self.values[(depth - self.below_height) as usize];
            self.write_home(depth, value, builder);
        }
    }

    /// Saves the stack for [`OperandStack::restore`].
    pub fn snapshot(&self) -> Snapshot {
        Snapshot(self.below, self.below_height, self.values.clone())
    }

    pub fn restore(&mut self, snapshot: Snapshot) {
        Snapshot(self.below, self.below_height, self.values) = snapshot;
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
