//! Operands and locals at the current position: the translator's view of the parts that hold them.

use cranelift_codegen::ir::Value;

use super::Translator;

impl Translator<'_> {
    pub(super) fn push(&mut self, value: Value) {
        self.stack.push(value);
    }

    pub(super) fn pop(&mut self) -> Value {
        self.stack.pop(&self.position.cfg().stacks, &mut self.builder)
    }

    /// Pops `count` operands; the deepest comes first.
    pub(super) fn pop_many(&mut self, count: usize) -> Vec<Value> {
        self.stack.pop_many(count, &self.position.cfg().stacks, &mut self.builder)
    }

    /// Returns the `count` topmost operands, and leaves them in place; the deepest comes first.
    pub(super) fn top(&mut self, count: usize) -> Vec<Value> {
        self.stack.top(count, &self.position.cfg().stacks, &mut self.builder)
    }

    /// Stores the `count` lowest operands in their homes, where successors expect them.
    pub(super) fn flush(&mut self, count: u32) {
        self.stack.flush(count, &mut self.builder);
    }

    /// Makes `value` the operand at `depth`.
    pub(super) fn define_operand(&mut self, depth: u32, value: Value) {
        self.stack.write_home(depth, value, &mut self.builder);
    }

    pub(super) fn read_local(&mut self, index: u32) -> Value {
        self.locals.read(self.position.frame(), index, &mut self.builder)
    }

    pub(super) fn write_local(&mut self, index: u32, value: Value) {
        self.locals.write(self.position.frame(), index, value, &mut self.builder);
    }

    /// Stores the locals that a successor may read in their homes, at the end of a node.
    pub(super) fn send_locals_home(&mut self) {
        let (input, cfg, block) = (self.input, self.position.cfg(), self.position.block());
        let is_wanted = |local| input.is_live_behind(cfg, block, local);
        self.locals.send_home(self.position.frame(), &mut self.builder, is_wanted);
    }

    /// Stores the locals that probes at the entry of a node must find in their homes.
    pub(super) fn send_parameters_home(&mut self) {
        let (input, cfg, block) = (self.input, self.position.cfg(), self.position.block());
        let is_wanted = |local| input.is_live(cfg, block, local);
        self.locals.send_parameters_home(self.position.frame(), &mut self.builder, is_wanted);
    }

    /// Prepares for a call in baseline code, which takes all registers: see [`Locals::settle`](super::state::Locals).
    pub(super) fn settle(&mut self) {
        if self.input.is_optimised() {
            return;
        }
        self.addresses.forget();
        let (input, cfg, block) = (self.input, self.position.cfg(), self.position.block());
        let is_read_behind = |local| input.is_live_behind(cfg, block, local);
        self.locals.settle(self.position.frame(), &mut self.builder, is_read_behind);
    }

    /// Translates code that does not lead on to the rest of the node, so that the rest knows nothing of what it reads.
    pub(super) fn out_of_line(&mut self, translate: impl FnOnce(&mut Self)) {
        let (known, stack) = (self.locals.known(), self.stack.snapshot());
        translate(self);
        self.locals.forget(self.position.frame(), known);
        self.stack.restore(stack);
    }
}
