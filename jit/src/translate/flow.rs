//! Ends of blocks: jumps, branches, switches, returns.
//!
//! An edge that moves operands, has probes or leaves the function gets a CLIF block of its own; Cranelift makes the
//! empty ones vanish.

use cranelift_codegen::ir::{self, BlockCall, InstBuilder, JumpTableData, Value};
use smallvec::SmallVec;
use wasmparser::Operator;

use super::Translator;
use crate::abi::TrapCode;
use crate::cfg::{Edge, End, Target};
use crate::graph::Wire;

impl Translator<'_> {
    /// Translates the end of node `index`; `last` is the instruction that ends it, if there is one.
    pub(super) fn end_of_node(&mut self, index: usize, last: Option<&Operator<'_>>) {
        let node = &self.graph.nodes[index];
        let block = &self.cfg.blocks[node.block as usize];
        self.send_locals_home(block);
        match &block.how {
            End::Jump => {
                let values = self.top(block.edges[0].arity as usize);
                self.flush(operands_behind(&block.edges));
                self.cross(&block.edges[0], &node.wires[0], &values);
            }
            End::Branch => {
                let condition = self.pop();
                let condition = self.condition(condition);
                let branch = self.landings(&block.edges, &node.wires);
                let [taken, not_taken] = [branch.landings[0].block, branch.landings[1].block];
                self.builder.ins().brif(condition, taken, &[], not_taken, &[]);
                self.land(branch, &block.edges, &node.wires);
            }
            End::Switch(table) => {
                let selector = self.pop();
                let branch = self.landings(&block.edges, &node.wires);
                self.switch(selector, table, &branch.landings);
                self.land(branch, &block.edges, &node.wires);
            }
            End::TailCall => {
                let last = last.expect("a tail call is an instruction");
                self.tail_call(last, &node.wires[0].probes);
            }
            End::Trap => {
                if self.options.precise {
                    // Else Cranelift lets the branch that leads here trap instead: the frame would seem to stop there.
                    self.builder.ins().sequence_point();
                }
                self.builder.ins().trap(TrapCode::Unreachable.to_clif());
            }
        }
    }

    /// Crosses an edge unconditionally, from here, with `values` as the operands that go along.
    fn cross(&mut self, edge: &Edge, wire: &Wire, values: &[Value]) {
        self.probes(&wire.probes);
        let Some(to) = wire.to else {
            self.builder.ins().return_(values);
            return;
        };
        self.carry_path(to);
        if edge.height + edge.arity != self.stack.height() {
            for (depth, &value) in (edge.height..).zip(values) {
                self.define_operand(depth, value);
            }
        }
        self.builder.ins().jump(self.blocks[to as usize], &[]);
        self.arrived(to);
    }

    /// Prepares a conditional branch: sends the operands home and decides where each edge lands.
    fn landings(&mut self, edges: &[Edge], wires: &[Wire]) -> Branch {
        let most = edges.iter().map(|e| e.arity).max().unwrap_or(0);
        let values = self.top(most as usize);
        self.flush(operands_behind(edges));
        let height = self.stack.height();
        let mut landings = SmallVec::new();
        for (edge, wire) in edges.iter().zip(wires) {
            let in_place = edge.arity == 0 || edge.height + edge.arity == height;
            landings.push(match wire.to {
                Some(to) if in_place && wire.probes.is_empty() && !self.is_path_carried(to) => {
                    Landing { block: self.blocks[to as usize], own: false }
                }
                _ => Landing { block: self.builder.create_block(), own: true },
            });
        }
        Branch { values, landings }
    }

    fn switch(&mut self, selector: Value, table: &[u32], targets: &[Landing]) {
        let pool = &mut self.builder.func.dfg.value_lists;
        let mut call = |edge: u32| BlockCall::new(targets[edge as usize].block, std::iter::empty(), pool);
        let (default, cases) = table.split_last().expect("a switch has a default");
        let default = call(*default);
        let cases: Vec<BlockCall> = cases.iter().map(|&edge| call(edge)).collect();
        let jump_table = self.builder.create_jump_table(JumpTableData::new(default, &cases));
        self.builder.ins().br_table(selector, jump_table);
    }

    /// Fills the blocks that edges have for themselves.
    fn land(&mut self, branch: Branch, edges: &[Edge], wires: &[Wire]) {
        let values = branch.values;
        for ((landing, edge), wire) in branch.landings.iter().zip(edges).zip(wires) {
            if landing.own {
                self.builder.switch_to_block(landing.block);
                self.builder.seal_block(landing.block);
                self.place_path();
                self.cross(edge, wire, &values[values.len() - edge.arity as usize..]);
            } else if let Some(to) = wire.to {
                self.arrived(to);
            }
        }
    }
}

/// How many operands a successor may find.
fn operands_behind(edges: &[Edge]) -> u32 {
    let inner = edges.iter().filter(|edge| edge.target != Target::Exit);
    inner.map(|edge| edge.height + edge.arity).max().unwrap_or(0)
}

/// A conditional branch that is being translated.
struct Branch {
    /// The operands that any of its edges takes along.
    values: Vec<Value>,
    landings: SmallVec<[Landing; 2]>,
}

/// The target of one edge of a conditional branch: a node's block, or a block of the edge's `own`.
struct Landing {
    block: ir::Block,
    own: bool,
}
