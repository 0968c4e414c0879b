//! The predecessors of each block, in one list: querying Cranelift's graph takes longer.

use cranelift_codegen::dominator_tree::DominatorTree;
use cranelift_codegen::entity::SecondaryMap;
use cranelift_codegen::flowgraph::ControlFlowGraph;
use cranelift_codegen::ir::Block;

/// The reachable blocks of a function.
pub(super) struct Flow {
    /// For each block, its number in reverse postorder; `None` if it is unreachable.
    order: SecondaryMap<Block, Option<u32>>,
    /// The blocks by number, and the start of each block's predecessors in the list.
    blocks: Vec<Block>,
    starts: Vec<u32>,
    from: Vec<Block>,
}

impl Flow {
    pub(super) fn new(cfg: &ControlFlowGraph, domtree: &DominatorTree) -> Flow {
        let mut flow =
            Flow { order: SecondaryMap::new(), blocks: Vec::new(), starts: vec![0], from: Vec::new() };
        for (at, &block) in domtree.cfg_rpo().enumerate() {
            flow.order[block] = Some(at as u32);
            flow.blocks.push(block);
        }
        for &block in domtree.cfg_rpo() {
            let from = cfg.pred_iter(block).map(|from| from.block);
            flow.from.extend(from.filter(|&from| flow.order[from].is_some()));
            flow.starts.push(flow.from.len() as u32);
        }
        flow
    }

    /// Returns the number of blocks.
    pub(super) fn len(&self) -> usize {
        self.blocks.len()
    }

    /// Returns the block of a number.
    pub(super) fn block(&self, order: u32) -> Block {
        self.blocks[order as usize]
    }

    /// Returns the number of a block.
    pub(super) fn order(&self, block: Block) -> Option<u32> {
        self.order[block]
    }

    /// Returns the predecessors of a block, one for each branch to it.
    pub(super) fn from(&self, block: Block) -> &[Block] {
        let Some(at) = self.order[block] else { return &[] };
        &self.from[self.starts[at as usize] as usize..self.starts[at as usize + 1] as usize]
    }
}
