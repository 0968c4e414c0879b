//! Block ends: jumps, branches, switches, returns.
//!
//! An edge that moves operands, has probes or leaves the function gets its own CLIF block; Cranelift removes the
//! empty ones.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self, InstBuilder, Value};
use smallvec::SmallVec;
use wasmparser::Operator;

use super::Translator;
use crate::abi::TrapCode;
use crate::cfg::{Edge, End, branch_on_cast};
use crate::graph::{Node, Wire};

impl Translator<'_> {
    /// Translates the end of node `index`; `last` is the instruction that ends it, if there is one.
    pub(super) fn end_of_node(&mut self, index: usize, last: Option<&Operator<'_>>) {
        let node = &self.input.graph().nodes[index];
        let block = &self.position.cfg().blocks[node.block as usize];
        self.send_locals_home();
        match (&block.how, node.sure) {
            (End::Jump, _) => {
                self.go_along(&block.edges[0], &node.wires[0]);
            }
            (End::Branch, Some(sure)) => {
                self.stack.drop(&self.position.cfg().stacks);
                let sure = sure as usize;
                if self.input.options().predicts {
                    let is_taken = self.builder.ins().iconst(ir::types::I32, i64::from(sure == 0));
                    self.see_branch(is_taken);
                }
                let others = node.wires.iter().zip(0..).filter(|&(_, edge)| edge != sure);
                others.filter_map(|(wire, _)| wire.to).for_each(|to| self.arrived(to));
                self.go_along(&block.edges[sure], &node.wires[sure]);
            }
            (End::Branch | End::NullBranch | End::CastBranch, _) => {
                let condition = self.branch_condition(last);
                self.see_branch(condition);
                let branch = self.landings(&block.edges, &node.wires);
                self.stay_in_strip(node);
                let [taken, not_taken] = [branch.landings[0].block, branch.landings[1].block];
                self.branch(condition, (taken, not_taken), self.is_usually_taken(node));
                self.land(branch, &block.edges, &node.wires);
            }
            (End::Switch(table), _) => {
                let selector = self.pop();
                let branch = self.landings(&block.edges, &node.wires);
                let targets: Vec<ir::Block> = branch.landings.iter().map(|landing| landing.block).collect();
                self.switch(selector, table, &targets);
                self.land(branch, &block.edges, &node.wires);
            }
            (End::TailCall, _) => {
                let last = last.expect("a tail call is an instruction");
                self.tail_call(last, &node.wires[0].probes);
            }
            (End::Trap, _) => {
                // Without it, Cranelift makes the branch to this block trap instead, and the frame would appear to stop
                // there.
                self.builder.ins().sequence_point();
                self.builder.ins().trap(TrapCode::Unreachable.to_clif());
            }
            (End::Call(_), _) if node.is_behind_call(self.position.cfg()) => {
                self.go_along(&block.edges[0], &node.wires[0]);
            }
            (End::Call(catches), _) => {
                let last = last.expect("a call is an instruction");
                self.call_and_catch(node, last, catches);
            }
            (End::Throw(thrown, catches), _) => self.throw(node, *thrown, catches),
        }
    }

    /// Returns the condition of a branch as an i32; carried operands stay, or move to where the untaken edge expects
    /// them.
    fn branch_condition(&mut self, last: Option<&Operator<'_>>) -> Value {
        if let Some((_, ty, is_wanted)) = last.and_then(branch_on_cast) {
            return self.is_top_of(ty, is_wanted);
        }
        let tested = self.pop();
        match last {
            Some(Operator::BrOnNull { .. }) => {
                self.define_operand(self.stack.height(), tested);
                self.compare_with_null(IntCC::Equal, tested)
            }
            Some(Operator::BrOnNonNull { .. }) => {
                self.push(tested);
                self.compare_with_null(IntCC::NotEqual, tested)
            }
            _ => tested,
        }
    }

    /// Crosses an edge unconditionally, with its operands.
    pub(super) fn go_along(&mut self, edge: &Edge, wire: &Wire) {
        let (edges, wires) = (std::slice::from_ref(edge), std::slice::from_ref(wire));
        let values = self.moved(edges, wires);
        self.flush(operands_behind(edges, wires));
        self.cross(edge, wire, &values);
    }

    /// Returns the topmost operands, as many as any edge moves to other places; if no edge moves any, all of them are
    /// in place.
    fn moved(&mut self, edges: &[Edge], wires: &[Wire]) -> Vec<Value> {
        let height = self.stack.height();
        let moves = |(edge, wire): &(&Edge, &Wire)| wire.to.is_none() || !is_in_place(edge, height);
        let moving = edges.iter().zip(wires).filter(moves);
        let most = moving.map(|(edge, _)| edge.arity).max().unwrap_or(0);
        self.top(most as usize)
    }

    /// Crosses an edge unconditionally from the current position, with `values` as the carried operands.
    fn cross(&mut self, edge: &Edge, wire: &Wire, values: &[Value]) {
        let moves = !is_in_place(edge, self.stack.height());
        self.cross_and(moves, edge, wire, values);
    }

    /// Crosses an edge with `values` that are not on the operand stack.
    pub(super) fn cross_with(&mut self, edge: &Edge, wire: &Wire, values: &[Value]) {
        self.cross_and(true, edge, wire, values);
    }

    fn cross_and(&mut self, moves: bool, edge: &Edge, wire: &Wire, values: &[Value]) {
        if wire.to.is_none() {
            self.slots.leave_with(values);
        }
        self.probes(&wire.probes);
        let Some(to) = wire.to else {
            self.leave_frame();
            self.builder.ins().return_(values);
            return;
        };
        self.carry_path(to);
        if moves {
            for (depth, &value) in (edge.height..).zip(values) {
                self.define_operand(depth, value);
            }
        }
        self.go_to(to);
    }

    /// Prepares a conditional branch: stores the operands in their homes and decides where each edge lands.
    fn landings(&mut self, edges: &[Edge], wires: &[Wire]) -> Branch {
        let values = self.moved(edges, wires);
        self.flush(operands_behind(edges, wires));
        let height = self.stack.height();
        let mut landings = SmallVec::new();
        for (edge, wire) in edges.iter().zip(wires) {
            landings.push(match wire.to {
                Some(to)
                    if is_in_place(edge, height) && wire.probes.is_empty() && !self.is_path_carried(to) =>
                {
                    Landing { block: self.block_of(to), own: false }
                }
                _ => Landing { block: self.builder.create_block(), own: true },
            });
        }
        Branch { values, landings }
    }

    /// Emits a branch whose usual direction, Cranelift's second target, falls through.
    fn branch(&mut self, condition: Value, (taken, not_taken): (ir::Block, ir::Block), is_usual: bool) {
        let (test, rare, usual) = match is_usual {
            true => (self.zero_test(condition), not_taken, taken),
            false => (self.condition(condition), taken, not_taken),
        };
        self.builder.ins().brif(test, rare, &[], usual, &[]);
    }

    /// Reports whether the profile says that a branch is usually taken, by upper bounds from the counts of its targets,
    /// which may have other predecessors. Excludes a branch around a loop: the header is already placed, and testing
    /// the opposite of the condition, often of a sum, could place the test before the addition and keep both values
    /// live.
    fn is_usually_taken(&self, node: &Node) -> bool {
        let Some(all) = node.count.filter(|_| !self.goes_round(&node.wires[0])) else { return false };
        let most = |wire: &Wire| Some(self.input.graph().nodes[wire.to? as usize].count?.min(all));
        match [&node.wires[0], &node.wires[1]].map(most) {
            [Some(taken), Some(other)] => taken > other,
            [Some(taken), None] => taken > all - taken,
            [None, Some(other)] => other < all - other,
            [None, None] => false,
        }
    }

    fn goes_round(&self, wire: &Wire) -> bool {
        let Some(to) = wire.to else { return false };
        let to = &self.input.graph().nodes[to as usize];
        to.frame == self.position.frame() && self.position.cfg().blocks[to.block as usize].is_loop_header
    }

    /// Fills the blocks that belong to edges.
    fn land(&mut self, branch: Branch, edges: &[Edge], wires: &[Wire]) {
        let values = branch.values;
        for ((landing, edge), wire) in branch.landings.iter().zip(edges).zip(wires) {
            if landing.own {
                self.builder.switch_to_block(landing.block);
                self.builder.seal_block(landing.block);
                self.return_to_end();
                self.cross(edge, wire, &values[values.len().saturating_sub(edge.arity as usize)..]);
            } else if let Some(to) = wire.to {
                self.arrived(to);
            }
        }
    }
}

/// Reports whether the operands that an edge carries are already where its target expects them, given the height of the
/// stack.
fn is_in_place(edge: &Edge, height: u32) -> bool {
    edge.arity == 0 || edge.height + edge.arity == height
}

/// Returns the maximum number of operands at the entry of a successor.
pub(super) fn operands_behind(edges: &[Edge], wires: &[Wire]) -> u32 {
    let inner = edges.iter().zip(wires).filter(|(_, wire)| wire.to.is_some());
    inner.map(|(edge, _)| edge.height + edge.arity).max().unwrap_or(0)
}

/// A conditional branch under translation.
struct Branch {
    /// The operands that any of its edges moves.
    values: Vec<Value>,
    landings: SmallVec<[Landing; 2]>,
}

/// The target of one edge of a conditional branch: a node's block, or the edge's `own` block.
struct Landing {
    block: ir::Block,
    own: bool,
}
