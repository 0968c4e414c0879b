//! The blocks before loop headers of a function that frames may also enter at loop headers: see
//! `translate/osr_entry.rs`.

use cranelift_codegen::ir;
use cranelift_frontend::FunctionBuilder;
use hashbrown::HashMap;
use wprof_profiler::{BlockId, LoopId, Loops};

use crate::abi::LOOP_ENTRY;
use crate::cfg::Cfg;
use crate::graph::BlockGraph;

/// The blocks before loop headers.
///
/// **Invariant**: an outer loop's block comes before those of the loops inside it.
pub struct Preheaders {
    /// The blocks, outer loops first.
    before: Vec<Preheader>,
    /// Indices into `before`, by the header's node.
    by_header: HashMap<u32, usize>,
}

/// A block before a loop header.
///
/// **Invariant**: the block is sealed when all edges to it are translated.
pub struct Preheader {
    id: LoopId,
    /// The header's node.
    header: u32,
    block: ir::Block,
    /// The number of edges to the block that are not translated yet.
    pending: u32,
    /// The block before the header of the next enclosing loop.
    around: Option<usize>,
    /// The numbers of the first and the last loop that frames enter through this block.
    entered: (i64, i64),
    /// Whether the first of them is the block's own loop.
    is_entered: bool,
    /// By node, whether it is in the loop; empty if edges from inside the loop lead here, too.
    is_inside: Vec<bool>,
}

impl Preheader {
    /// Records that one edge to the block is translated.
    pub fn arrived(&mut self, builder: &mut FunctionBuilder<'_>) {
        self.pending -= 1;
        if self.pending == 0 {
            builder.seal_block(self.block);
        }
    }

    /// Returns the block.
    pub fn block(&self) -> ir::Block {
        self.block
    }

    /// Returns the node of the loop's header.
    pub fn header(&self) -> u32 {
        self.header
    }

    /// Returns the numbers of the first and the last loop that frames enter through this block.
    pub fn entered(&self) -> (i64, i64) {
        self.entered
    }

    /// Reports whether the first of them is the block's own loop.
    pub fn is_entered(&self) -> bool {
        self.is_entered
    }

    /// Reports whether frames continue from here to inner loops.
    pub fn leads_inward(&self) -> bool {
        self.is_inside.is_empty()
    }
}

impl Preheaders {
    /// Creates the blocks of a graph that has loop entries. Edges that now lead to these blocks are subtracted from
    /// `pending`, by node.
    pub fn new(
        cfg: &Cfg,
        graph: &BlockGraph,
        pending: &mut [u32],
        builder: &mut FunctionBuilder<'_>,
    ) -> Option<Preheaders> {
        let loops = cfg.loops();
        let headed = |&node: &u32| loops.headed_by(BlockId(graph.nodes[node as usize].block));
        let entered: Vec<LoopId> = graph.loop_entries.iter().filter_map(headed).collect();
        if entered.is_empty() {
            return None;
        }
        let mut approach = Preheaders { before: Vec::new(), by_header: HashMap::new() };
        for id in with_loops_around(loops, &entered) {
            if let Some(header) = graph.node_of(cfg, loops.get(id).header.0) {
                approach.add(graph, loops, (id, header), &entered, builder.create_block());
            }
        }
        for (from, node) in graph.nodes.iter().enumerate() {
            for to in node.targets() {
                if let Some(before) = approach.before(from, to) {
                    before.pending += 1;
                    pending[to as usize] -= 1;
                }
            }
        }
        // Each block leads to its header.
        approach.before.iter().for_each(|before| pending[before.header as usize] += 1);
        Some(approach)
    }

    /// Adds the block before a loop's header; the blocks of enclosing loops exist already.
    fn add(
        &mut self,
        graph: &BlockGraph,
        loops: &Loops,
        (id, header): (LoopId, u32),
        entered: &[LoopId],
        block: ir::Block,
    ) {
        let is_in = |of: LoopId| loops.contains(id, loops.get(of).header);
        let first = entered.iter().position(|&of| is_in(of)).expect("a loop that is entered");
        let count = entered[first..].iter().take_while(|&&of| is_in(of)).count();
        let is_entered = entered[first] == id;
        let is_inside = |node: u32| loops.contains(id, BlockId(graph.own_block(node)));
        let is_inside = match is_entered && count == 1 {
            true => (0..graph.nodes.len() as u32).map(is_inside).collect(),
            false => Vec::new(),
        };
        let around = self.before.iter().rposition(|before| loops.contains(before.id, loops.get(id).header));
        let number = |index: usize| LOOP_ENTRY + index as i64;
        let entered = (number(first), number(first + count - 1));
        self.by_header.insert(header, self.before.len());
        // A frame comes from the block of the enclosing loop, or from the entry.
        let pending = 1;
        self.before.push(Preheader { id, header, block, pending, around, entered, is_entered, is_inside });
    }

    /// Returns the block that replaces the target of an edge, if any.
    pub fn before(&mut self, from: usize, to: u32) -> Option<&mut Preheader> {
        let at = self.position(from, to)?;
        Some(&mut self.before[at])
    }

    fn position(&self, from: usize, to: u32) -> Option<usize> {
        let at = *self.by_header.get(&to)?;
        let before = &self.before[at];
        (before.leads_inward() || !before.is_inside[from]).then_some(at)
    }

    /// Returns the CLIF block that replaces the target of an edge, if any.
    pub fn block(&self, from: usize, to: u32) -> Option<ir::Block> {
        Some(self.before[self.position(from, to)?].block)
    }

    /// Returns the number of blocks.
    pub fn count(&self) -> usize {
        self.before.len()
    }

    /// Returns a block by its number.
    pub fn get(&self, at: usize) -> &Preheader {
        &self.before[at]
    }

    /// Records that one edge to a block is translated.
    pub fn arrived(&mut self, at: usize, builder: &mut FunctionBuilder<'_>) {
        self.before[at].arrived(builder);
    }

    /// Returns the blocks of the loops directly inside the one of `around`, or of the outermost loops.
    pub fn inside(&self, around: Option<usize>) -> Vec<usize> {
        (0..self.before.len()).filter(|&at| self.before[at].around == around).collect()
    }
}

/// Returns these loops and those that enclose them, outer ones first.
fn with_loops_around(loops: &Loops, inner: &[LoopId]) -> Vec<LoopId> {
    let outward = |&id: &LoopId| std::iter::successors(Some(id), |&id| loops.get(id).parent);
    let mut all: Vec<LoopId> = inner.iter().flat_map(outward).collect();
    all.sort_unstable();
    all.dedup();
    all
}
