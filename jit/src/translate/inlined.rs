//! Inlined calls: parameters become locals of the callee's frame, and results are left where the caller expects them.
//!
//! The operands of an inlined function lie above those that its caller keeps, so that results need not be moved. A call
//! through a table or a reference with a guessed callee compares the function reference with that of the guess, which
//! covers the checks for null and for the type as well; if the table is constant and holds the guess only once, it
//! compares the index instead.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value};
use wasmparser::Operator;

use super::Translator;
use crate::abi::clif_type;
use crate::clif::zero;
use crate::graph::{InlinedCall, Node};

impl Translator<'_> {
    /// Ends `node` at a call: continues in the inlined callee, or in the copy of the block that makes the call.
    pub(super) fn inlined_call(&mut self, call: InlinedCall, op: &Operator<'_>, node: &Node) {
        let before = self.stack.operands(&self.builder);
        // The copy that makes the call finds all operands in their variables.
        self.flush(u32::MAX);
        if let Some(guess) = call.guess {
            self.guess(guess, op, node);
        }
        let to = node.wires[0].to.expect("the entry of the callee");
        let frame = self.input.graph().nodes[to as usize].frame;
        let args = self.pop_many(self.input.cfg_of(frame).params as usize);
        self.stack.inline((self.position.frame(), call.at), frame, before, &self.builder);
        self.enter_inlined(frame, &args);
        self.go_to(to);
    }

    /// Pops the index of a call through a table, or the called reference. The code that follows runs if it leads to
    /// function `guess`.
    fn guess(&mut self, guess: u32, op: &Operator<'_>, node: &Node) {
        let value = self.pop();
        let is_right = match *op {
            Operator::CallIndirect { table_index, .. } => self.is_guessed_at(table_index, value, guess),
            _ => self.is_guessed(value, guess),
        };
        let (right, wrong) = (self.builder.create_block(), node.wires[1].to.expect("it does the call"));
        let not_right = self.block_of(wrong);
        self.builder.ins().brif(is_right, right, &[], not_right, &[]);
        self.arrived(wrong);
        self.builder.seal_block(right);
        self.builder.switch_to_block(right);
    }

    fn is_guessed_at(&mut self, table: u32, index: Value, guess: u32) -> Value {
        match self.input.env().info.constant_tables.only_index(table, guess) {
            Some(only) => self.builder.ins().icmp_imm_u(IntCC::Equal, index, i64::from(only)),
            None => {
                let reference = self.load_element(table, index);
                self.is_guessed(reference, guess)
            }
        }
    }

    fn is_guessed(&mut self, reference: Value, guess: u32) -> Value {
        let expected = self.func_ref(guess);
        self.builder.ins().icmp(IntCC::Equal, reference, expected)
    }

    /// Defines the locals of an inlined frame: parameters, then zeros.
    fn enter_inlined(&mut self, frame: u32, args: &[Value]) {
        let types = &self.input.cfg_of(frame).locals;
        self.locals.enter_frame(frame, types);
        for (index, &ty) in types.iter().enumerate() {
            let value = args.get(index).copied().unwrap_or_else(|| zero(&mut self.builder, clif_type(ty)));
            self.locals.write(frame, index as u32, value, &mut self.builder);
        }
    }

    /// Begins a node in the middle of a block: at a call, or behind the last inlined call before the node's start.
    pub(super) fn enter_around_call(&mut self, node: &Node) {
        let (stacks, builder) = (&self.position.cfg().stacks, &mut self.builder);
        if self.stack.enter_at_call((node.frame, node.start), stacks, builder) {
            return;
        }
        let calls = self.input.graph().inlined.iter();
        let calls = calls.filter(|call| (call.caller, call.block) == (node.frame, node.block));
        let call = calls.filter(|call| call.call < node.start).max_by_key(|call| call.call);
        let call = call.expect("nodes begin with their block or at calls");
        let results = self.input.env().info.func_type(call.cfg.func).results();
        self.stack.enter_behind_call((node.frame, call.call), results, stacks, builder);
    }
}
