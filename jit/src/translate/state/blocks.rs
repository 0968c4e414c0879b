//! The CLIF blocks of the nodes, and when they are sealed.

use cranelift_codegen::ir;
use cranelift_frontend::FunctionBuilder;

use super::input::Input;
use super::preheaders::Preheaders;
use super::strips::Strips;
use crate::graph::{BlockGraph, Node};

/// The blocks that code outside of them jumps to.
///
/// **Invariant**: a block is sealed as soon as the last code that leads to it is translated, and not before; since
/// otherwise redundant phis remain, or operands of phis are missing.
pub struct Blocks {
    /// The CLIF block of each node.
    nodes: Vec<ir::Block>,
    /// Number of untranslated incoming wires of each node.
    pending: Vec<u32>,
    /// The code that leads to some of the blocks, if frames enter a loop by OSR.
    preheaders: Option<Preheaders>,
    strips: Strips,
    /// The exit of the current node by which a frame moves to better code, if its check may use it too; it has the
    /// address as a parameter.
    exit: Option<ir::Block>,
}

impl Blocks {
    /// Creates a block for each node.
    pub fn new(graph: &BlockGraph, builder: &mut FunctionBuilder<'_>) -> Blocks {
        let nodes: Vec<ir::Block> = graph.nodes.iter().map(|_| builder.create_block()).collect();
        let mut pending = vec![0; nodes.len()];
        for to in graph.nodes.iter().flat_map(Node::targets) {
            pending[to as usize] += 1;
        }
        pending[0] += u32::from(graph.is_entered_apart());
        Blocks { nodes, pending, preheaders: None, strips: Strips::default(), exit: None }
    }

    /// Returns the block of a node.
    pub fn block(&self, node: u32) -> ir::Block {
        self.nodes[node as usize]
    }

    /// Returns the block that wires from node `from` to node `to` lead to.
    pub fn target(&self, from: usize, to: u32) -> ir::Block {
        let before = self.preheaders.as_ref().and_then(|preheaders| preheaders.block(from, to));
        before.unwrap_or(self.block(to))
    }

    /// Records that a wire from node `from` to node `to` is translated.
    pub fn arrived(&mut self, from: usize, to: u32, builder: &mut FunctionBuilder<'_>) {
        if let Some(before) = self.preheaders.as_mut().and_then(|preheaders| preheaders.before(from, to)) {
            return before.arrived(builder);
        }
        let pending = &mut self.pending[to as usize];
        *pending -= 1;
        if *pending == 0 {
            builder.seal_block(self.nodes[to as usize]);
        }
    }

    /// Creates the blocks before loop headers of a graph that has loop entries.
    pub fn make_preheaders(
        &mut self,
        input: &Input<'_>,
        builder: &mut FunctionBuilder<'_>,
    ) -> Option<Preheaders> {
        Preheaders::new(input.own(), input.graph(), &mut self.pending, builder)
    }

    /// Makes wires from now on lead to these blocks before loop headers.
    pub fn lead_through(&mut self, preheaders: Preheaders) {
        self.preheaders = Some(preheaders);
    }

    pub fn strips(&mut self) -> &mut Strips {
        &mut self.strips
    }

    /// Keeps an exit that the check of the current node may use, too, and that is not sealed for this reason.
    pub fn keep_exit(&mut self, exit: ir::Block) {
        self.exit = Some(exit);
    }

    /// Returns the exit that was kept. The caller seals it behind its branch.
    pub fn take_exit(&mut self) -> Option<ir::Block> {
        self.exit.take()
    }
}
