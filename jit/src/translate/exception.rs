//! Exceptions: throws, calls whose exceptions the function catches, and their landings.
//!
//! Such a call ends its block, like Cranelift's `try_call`, with a return edge and an edge to a *landing*: there the
//! runtime resumes the frame, with the exception in a register and no other value of the frame in any. The landing
//! compares tags in the order of the handlers, takes the edge to the first that matches, and rethrows if none does. So
//! the runtime only needs to know where a frame lands; which exceptions a handler takes is encoded once, in code.
//! Probes that would follow the call in its block stand on each edge out of it here.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{
    self, BlockArg, BlockCall, ExceptionTableData, ExceptionTableItem, InstBuilder, MemFlagsData, SigRef,
    Value, types,
};
use wasmparser::Operator;

use super::Translator;
use super::flow::operands_behind;
use crate::abi::{Builtin, TrapCode, clif_type, exception, vmctx};
use crate::cfg::{Catch, Edge, Reference, Thrown};
use crate::graph::{Node, Wire};
use crate::plan::Probes;

/// The successors of a call.
pub(super) struct Ways {
    /// The block to which the call returns. Its parameters are the results.
    pub(super) back: ir::Block,
    /// The block at which an exception lands. Its parameter is the exception.
    pub(super) landing: ir::Block,
}

impl Translator<'_> {
    /// Translates the call at the end of `node`.
    pub(super) fn call_and_catch(&mut self, node: &Node, op: &Operator<'_>, catches: &[Catch]) {
        let block = &self.position.cfg().blocks[node.block as usize];
        let callee = self.named_callee(op).expect("the block ends in a call");
        self.flush(operands_behind(&block.edges, &node.wires));
        let ways = self.try_call(callee.signature, callee.code, &callee.args);
        self.builder.switch_to_block(ways.back);
        self.builder.seal_block(ways.back);
        let after = after(node, block.end);
        self.out_of_line(|translator| {
            for index in 0..translator.builder.block_params(ways.back).len() {
                let result = translator.builder.block_params(ways.back)[index];
                translator.push(result);
            }
            after.into_iter().for_each(|probes| translator.probes(probes));
            translator.go_along(&block.edges[0], &node.wires[0]);
        });
        self.land_exception(ways.landing, node, (1, catches));
    }

    /// Translates the throw at the end of `node`.
    pub(super) fn throw(&mut self, node: &Node, thrown: Thrown, catches: &[Catch]) {
        let block = &self.position.cfg().blocks[node.block as usize];
        if self.throw_to_handler(node, thrown, catches) {
            return;
        }
        let exception = match thrown {
            Thrown::New(tag) => self.make_exception(tag),
            Thrown::Reference => {
                let exception = self.pop();
                self.builder.ins().trapz(exception, TrapCode::NullReference.to_clif());
                exception
            }
            Thrown::Caught(depth) => self.stack.at(depth, &self.position.cfg().stacks, &mut self.builder),
        };
        if catches.is_empty() && node.lands.is_none() {
            return self.leave_with(exception);
        }
        self.flush(operands_behind(&block.edges, &node.wires));
        let builtin = Builtin::Throw;
        let signature =
            self.builder.import_signature(builtin.signature(self.input.isa().default_call_conv()));
        let table = self.load_constant(types::I64, self.vmctx, vmctx::BUILTINS);
        let code = self.load_constant(types::I64, table, builtin.offset());
        let ways = self.try_call(signature, code, &[self.vmctx, exception]);
        self.builder.switch_to_block(ways.back);
        self.builder.seal_block(ways.back);
        self.builder.set_cold_block(ways.back);
        self.builder.ins().trap(TrapCode::Host.to_clif());
        self.land_exception(ways.landing, node, (0, catches));
    }

    /// Throws an exception that no handler in the function catches.
    pub(super) fn leave_with(&mut self, exception: Value) {
        self.builtin(Builtin::Throw, &[exception]);
        self.builder.ins().trap(TrapCode::Host.to_clif());
    }

    /// Allocates an exception that carries the topmost operands.
    fn make_exception(&mut self, tag: u32) -> Value {
        let carried = self.input.env().info.tag_type(tag).params().len();
        let values = self.pop_many(carried);
        let address = match carried {
            0 => self.builder.ins().iconst(types::I64, 0),
            _ => self.slots.carry(&values, &mut self.builder),
        };
        let tag = self.builder.ins().iconst(types::I32, i64::from(tag));
        let exception = self.builtin(Builtin::MakeException, &[tag, address]);
        self.builder.ins().trapz(exception, TrapCode::Host.to_clif());
        exception
    }

    pub(super) fn try_call(&mut self, signature: SigRef, code: Value, args: &[Value]) -> Ways {
        let (back, landing) = (self.builder.create_block(), self.builder.create_block());
        let returns = self.builder.func.dfg.signatures[signature].returns.clone();
        for result in &returns {
            self.builder.append_block_param(back, result.value_type);
        }
        self.builder.append_block_param(landing, types::I64);
        let results: Vec<BlockArg> = (0..returns.len() as u32).map(BlockArg::TryCallRet).collect();
        let pool = &mut self.builder.func.dfg.value_lists;
        let normal = BlockCall::new(back, results, pool);
        let caught = BlockCall::new(landing, [BlockArg::TryCallExn(0)], pool);
        let table = ExceptionTableData::new(signature, normal, [ExceptionTableItem::Default(caught)]);
        let table = self.builder.func.dfg.exception_tables.push(table);
        self.builder.ins().try_call_indirect(code, args, table);
        Ways { back, landing }
    }

    /// Translates the landing of the call or throw that ends `node`; the edge to the first handler has number `first`.
    fn land_exception(&mut self, landing: ir::Block, node: &Node, (first, catches): (usize, &[Catch])) {
        self.begin_cold(landing);
        let thrown = self.builder.block_params(landing)[0];
        let edges = &self.position.cfg().blocks[node.block as usize].edges[first..];
        self.catch(thrown, node, (edges, &node.wires[first..]), catches);
    }

    /// Takes the edge to the handler of an exception, or passes it on.
    pub(super) fn catch(
        &mut self,
        thrown: Value,
        node: &Node,
        (edges, wires): (&[Edge], &[Wire]),
        catches: &[Catch],
    ) {
        let after = after(node, self.position.cfg().blocks[node.block as usize].end);
        for (catch, (edge, wire)) in catches.iter().zip(edges.iter().zip(wires)) {
            let other = catch.tag.map(|tag| self.test_tag(thrown, tag));
            let values = self.caught_values(catch, thrown);
            self.return_to_end();
            self.out_of_line(|translator| {
                after.into_iter().for_each(|probes| translator.probes(probes));
                translator.cross_with(edge, wire, &values);
            });
            match other {
                Some(other) => self.begin_cold(other),
                None => return,
            }
        }
        self.return_to_end();
        self.pass_on(thrown);
    }

    /// Branches on the tag of an exception. Translation continues in the block for this tag; returns the block for all
    /// others.
    fn test_tag(&mut self, thrown: Value, tag: u32) -> ir::Block {
        let flags = MemFlagsData::trusted().with_readonly();
        let found = self.builder.ins().load(types::I64, flags, thrown, exception::TAG);
        let own = self.load_constant(types::I64, self.vmctx, self.input.env().layout.tag(tag) as i32);
        let is_it = self.builder.ins().icmp(IntCC::Equal, found, own);
        let (here, other) = (self.builder.create_block(), self.builder.create_block());
        self.builder.ins().brif(is_it, here, &[], other, &[]);
        self.begin_cold(here);
        other
    }

    pub(super) fn begin_cold(&mut self, block: ir::Block) {
        self.builder.switch_to_block(block);
        self.builder.seal_block(block);
        self.builder.set_cold_block(block);
    }

    /// Returns the operands that a handler finds on the stack.
    fn caught_values(&mut self, catch: &Catch, thrown: Value) -> Vec<Value> {
        let carried = catch.tag.map_or(&[][..], |tag| self.input.env().info.tag_type(tag).params());
        let flags = MemFlagsData::trusted().with_readonly();
        let load = |(&ty, index): (&wasmparser::ValType, u32)| {
            self.builder.ins().load(clif_type(ty), flags, thrown, exception::value(index))
        };
        let mut values: Vec<Value> = carried.iter().zip(0..).map(load).collect();
        match catch.reference {
            Reference::None => {}
            Reference::Above => values.push(thrown),
            Reference::Below => values.insert(0, thrown),
        }
        values
    }
}

/// Returns the probes behind the instruction at byte `end`, which ends a node.
pub(super) fn after(node: &Node, end: u32) -> Option<&Probes> {
    node.inner.iter().find(|inner| inner.offset == end).map(|inner| &inner.after)
}
