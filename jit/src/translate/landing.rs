//! Exceptions that leave inlined calls: they land in a node of their caller, in the same machine frame.
//!
//! Each call that may throw is a `try_call` with a landing of its own, which leads on to that node with the exception in
//! a variable. A throw whose handler is known is a jump, and makes no exception.

use cranelift_codegen::ir::{BlockArg, InstBuilder, SigRef, Value};

use super::Translator;
use super::exception::after;
use super::flow::operands_behind;
use crate::cfg::{Catch, Thrown};
use crate::graph::{Handler, Node, Wire};
use crate::plan::Probes;

impl Translator<'_> {
    /// Translates the landing of an inlined call.
    pub(super) fn land_from_inlined(&mut self, node: &Node) {
        let thrown = self.slots.thrown(&mut self.builder);
        let block = &self.position.cfg().blocks[node.block as usize];
        let (_, catches) = block.how.catches();
        self.catch(thrown, node, (node.edges(self.position.cfg()), &node.wires), catches);
    }

    /// Calls code, and returns the results; exceptions land where those of the node do.
    pub(super) fn call_or_land(&mut self, signature: SigRef, code: Value, args: &[Value]) -> Vec<Value> {
        let node = &self.input.graph().nodes[self.position.node()];
        if node.lands.is_none() {
            let call = self.builder.ins().call_indirect(signature, code, args);
            return self.builder.inst_results(call).to_vec();
        }
        let ways = self.try_call(signature, code, args);
        self.begin_cold(ways.landing);
        let thrown = self.builder.block_params(ways.landing)[0];
        self.pass_on(thrown);
        self.builder.switch_to_block(ways.back);
        self.builder.seal_block(ways.back);
        if node.count == Some(0) {
            self.builder.set_cold_block(ways.back);
        }
        self.builder.block_params(ways.back).to_vec()
    }

    /// Passes an exception on to the landing around, or out of the machine frame.
    pub(super) fn pass_on(&mut self, thrown: Value) {
        let Some(landing) = self.input.graph().nodes[self.position.node()].lands else {
            return self.leave_with(thrown);
        };
        self.slots.set_thrown(thrown, &mut self.builder);
        // The wire to the landing counts as translated behind all calls of the node.
        self.builder.ins().jump(self.blocks.block(landing), &[] as &[BlockArg]);
    }

    /// Jumps to the handler of the throw at the end of `node`, and reports whether it is known.
    pub(super) fn throw_to_handler(&mut self, node: &Node, thrown: Thrown, catches: &[Catch]) -> bool {
        let Thrown::New(tag) = thrown else { return false };
        if node.sure.is_none() && node.caught.is_none() {
            return false;
        }
        let carried = self.pop_many(self.input.env().info.tag_type(tag).params().len());
        match (node.sure, node.caught) {
            (Some(sure), _) => self.throw_to_own(node, (sure as usize, catches), &carried),
            (None, Some(handler)) => self.throw_to_caller(handler, &carried),
            (None, None) => {}
        }
        true
    }

    fn throw_to_own(&mut self, node: &Node, (sure, catches): (usize, &[Catch]), carried: &[Value]) {
        let block = &self.position.cfg().blocks[node.block as usize];
        let (edge, wire) = (&block.edges[sure], &node.wires[sure]);
        self.flush(operands_behind(std::slice::from_ref(edge), std::slice::from_ref(wire)));
        let others = node.wires.iter().zip(0..).filter(|&(_, other)| other != sure);
        others.filter_map(|(wire, _)| wire.to).for_each(|to| self.arrived(to));
        if let Some(after) = after(node, block.end) {
            self.probes(after);
        }
        self.cross_with(edge, wire, if catches[sure].tag.is_some() { carried } else { &[] });
    }

    /// Continues in a frame around the one of the node.
    fn throw_to_caller(&mut self, handler: Handler, carried: &[Value]) {
        let frame = self.position.frame();
        self.move_to_frame(handler.frame);
        let block = &self.position.cfg().blocks[handler.block as usize];
        let catch = &block.how.catches().1[handler.edge as usize - 1];
        let wire = Wire { to: handler.to, probes: Probes::new() };
        self.cross_with(
            &block.edges[handler.edge as usize],
            &wire,
            if catch.tag.is_some() { carried } else { &[] },
        );
        self.move_to_frame(frame);
    }

    /// Continues with the locals and operands of another frame.
    fn move_to_frame(&mut self, frame: u32) {
        self.position.move_to_frame(frame, &self.input);
        self.stack.enter_frame(frame);
    }
}
