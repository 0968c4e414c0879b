//! Inlined calls: parameters become locals of the callee's frame, and results are left where the caller expects them.
//!
//! The operands of an inlined function lie above those that its caller keeps, so that results need not be moved. A call
//! through a table or a reference with a guessed callee compares the function reference with that of the guess, which
//! covers the checks for null and for the type as well; if the table is constant and holds the guess only once, it
//! compares the index instead.

use cranelift_codegen::ir::InstBuilder;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Type, Value};
use hashbrown::HashMap;
use wasmparser::Operator;

use super::Translator;
use super::variables::Local;
use crate::abi::clif_type;
use crate::cfg::StackId;
use crate::clif::zero;
use crate::graph::{InlinedCall, Node};

/// The operand stack in the middle of a block: what is left of its entry stack, and the types of the operands above.
#[derive(Clone, Debug)]
struct Operands {
    below: StackId,
    above: Vec<Type>,
}

/// The operand stacks around the translated inlined calls.
#[derive(Debug, Default)]
pub(super) struct AroundCalls {
    /// By frame and byte offset of the call: the operands before it, including its arguments, and those behind it.
    operands: HashMap<(u32, u32), (Operands, Operands)>,
    /// By frame, from the first inlined call on: the number of operands below its own.
    bases: Vec<u32>,
}

impl AroundCalls {
    /// Returns the number of callers' operands below those of a frame.
    pub(super) fn base(&self, frame: u32) -> u32 {
        frame.checked_sub(1).map_or(0, |call| self.bases[call as usize])
    }

    fn set_base(&mut self, frame: u32, base: u32) {
        let call = frame as usize - 1;
        self.bases.resize(self.bases.len().max(call + 1), 0);
        self.bases[call] = base;
    }
}

impl Translator<'_> {
    /// Ends `node` at a call: continues in the inlined callee, or in the copy of the block that makes the call.
    pub(super) fn inlined_call(&mut self, call: InlinedCall, op: &Operator<'_>, node: &Node) {
        let before = self.operands();
        // The copy that makes the call finds all operands in their variables.
        self.flush(u32::MAX);
        if let Some(guess) = call.guess {
            self.guess(guess, op, node);
        }
        let to = node.wires[0].to.expect("the entry of the callee");
        let frame = self.graph.nodes[to as usize].frame;
        let args = self.pop_many(self.graph.cfg_of(self.own, frame).params as usize);
        self.around_calls.set_base(frame, self.stack.base + self.stack.height());
        let after = self.operands();
        self.around_calls.operands.insert((self.frame, call.at), (before, after));
        self.enter_inlined(frame, &args);
        self.go_to(to);
    }

    fn operands(&self) -> Operands {
        let ty = |value: &Value| self.builder.func.dfg.value_type(*value);
        Operands { below: self.stack.below(), above: self.stack.values().iter().map(ty).collect() }
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
        match self.env.info.constant_tables.only_index(table, guess) {
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
        let types = &self.graph.cfg_of(self.own, frame).locals;
        if self.locals[frame as usize].is_empty() {
            self.locals[frame as usize] = types.iter().map(|&ty| Local::new(ty)).collect();
        }
        let caller = std::mem::replace(&mut self.frame, frame);
        for (index, &ty) in types.iter().enumerate() {
            let value = args.get(index).copied().unwrap_or_else(|| zero(&mut self.builder, clif_type(ty)));
            self.write_local(index as u32, value);
        }
        self.frame = caller;
    }

    /// Begins a node in the middle of a block: at a call, or behind it.
    pub(super) fn enter_around_call(&mut self, node: &Node) {
        let calls = &self.around_calls.operands;
        let operands = match calls.get(&(node.frame, node.start)) {
            Some((before, _)) => before.clone(),
            None => self.behind_call(node),
        };
        self.stack.enter(operands.below, &self.cfg.stacks);
        for ty in operands.above {
            let depth = self.stack.height();
            let value = self.use_operand(depth, ty);
            self.push(value);
        }
    }

    /// Returns the operands behind the last inlined call before the node's start.
    fn behind_call(&self, node: &Node) -> Operands {
        let calls =
            self.graph.inlined.iter().filter(|call| (call.caller, call.block) == (node.frame, node.block));
        let call = calls.filter(|call| call.call < node.start).max_by_key(|call| call.call);
        let call = call.expect("nodes begin with their block or at calls");
        let (_, mut operands) = self.around_calls.operands[&(node.frame, call.call)].clone();
        let results = self.env.info.func_type(call.cfg.func).results();
        operands.above.extend(results.iter().map(|&ty| clif_type(ty)));
        operands
    }
}
