//! The likely next targets of control from a function, or from a part of one, by its graph alone.

use std::collections::BTreeMap;

use hashbrown::HashSet;
use wprof_profiler::EdgeWeights;

use super::Cfg;

/// The minimum expected frequency of likely code, relative to the function or the part: code behind five even branches
/// falls below it. Of the functions and parts of CPython that are compiled ahead this way, 3 of 4 are then called. With
/// 0.15 it took 7% longer from a cold start, cc1 and cc1plus 2%; with 0.02 they took as long as that or longer.
const LIKELY: f64 = 0.05;

/// The division of a function into parts; a whole function has one part.
#[derive(Clone, Copy)]
pub(crate) struct Division<'a> {
    /// The part of each block.
    pub part_of: &'a [u32],
    /// The entry block of each part.
    pub heads: &'a [u32],
    /// The row of code slots of part 1; the rows of the other parts follow it.
    pub first_row: u32,
}

impl Cfg {
    /// Returns the functions that it likely calls directly, including imports, each once, in bytecode order.
    pub fn likely_callees(&self) -> Vec<u32> {
        if self.calls.is_empty() {
            return Vec::new();
        }
        let whole = Division { part_of: &vec![0; self.blocks.len()], heads: &[0], first_row: 0 };
        self.likely_next(whole).swap_remove(0)
    }

    /// Returns for each part the likely next targets of control: rows of code slots, of functions, including imports,
    /// and of other parts, each once, in bytecode order. Blocks that end in a trap report failures, and are left out.
    pub(crate) fn likely_next(&self, Division { part_of, heads, first_row }: Division<'_>) -> Vec<Vec<u32>> {
        let weights = Weights::new(self);
        let least = |part: u32| LIKELY * weights.blocks[heads[part as usize] as usize];
        // The block and the row of each target, by part.
        let mut next: Vec<Vec<(u32, u32)>> = vec![Vec::new(); heads.len()];
        for call in self.calls.iter().filter(|call| call.callee != self.func) {
            let (block, part) = (call.block as usize, part_of[call.block as usize]);
            if weights.blocks[block] >= least(part) && !self.blocks[block].how.is_failure() {
                next[part as usize].push((call.block, call.callee));
            }
        }
        // The frequency of control from one part to another, with the first block from which it comes.
        let mut between: BTreeMap<(u32, u32), (f64, u32)> = BTreeMap::new();
        for &(block, to, weight) in &weights.edges {
            let (from, to) = (part_of[block as usize], part_of.get(to as usize).copied().unwrap_or(0));
            if to != 0 && to != from {
                between.entry((from, to)).or_insert((0.0, block)).0 += weight;
            }
        }
        for ((from, to), (weight, block)) in between {
            if weight >= least(from) {
                next[from as usize].push((block, first_row + to - 1));
            }
        }
        next.into_iter().map(in_order).collect()
    }
}

/// Returns the rows in the order of their blocks, each once.
fn in_order(mut next: Vec<(u32, u32)>) -> Vec<u32> {
    next.sort_by_key(|&(block, _)| block);
    let mut known = HashSet::new();
    next.into_iter().map(|(_, row)| row).filter(|&row| known.insert(row)).collect()
}

/// The expected executions of each block and edge per call.
struct Weights {
    blocks: Vec<f64>,
    /// Source, target, and frequency.
    edges: Vec<(u32, u32, f64)>,
}

impl Weights {
    fn new(cfg: &Cfg) -> Weights {
        let shape = cfg.shape();
        let weights = EdgeWeights::hinted(shape, &cfg.returns_of_calls());
        let mut blocks = vec![0.0; cfg.blocks.len() + 1];
        blocks[0] = 1.0;
        let mut edges = Vec::new();
        for edge in shape.edges() {
            let (ends, weight) = (shape.edge(edge), weights.get(edge));
            blocks[ends.to.index()] += weight;
            edges.push((ends.from.0, ends.to.0, weight));
        }
        Weights { blocks, edges }
    }
}
