//! Merged values: locals that arrive at a block with different values, for which SSA construction makes block parameters.
//!
//! They are what costs most: each edge passes on an argument, and the register allocator has a live range for each that
//! it tries to merge with those of the others. A function of 50 KB with 3,000 nested blocks and 300 locals, from each of
//! which a branch led to some end, took 23 s and 1.9 GB, where as many blocks that are not nested took 1 s.
//!
//! Input: the blocks of a function, its live locals and those that each block writes. Output: the number of arguments that
//! all edges pass on. Invariants: never less than what SSA construction makes of locals; at a loop header each local that
//! is written between it and the last edge back counts. Linear in the cells, edges times locals, of which there are at most
//! [`MAX_MERGED_CELLS`].

use std::rc::Rc;

use super::{Block, Liveness, Target};
use crate::limits::MAX_MERGED_CELLS;

/// For each local, the place that made its value: a block that wrote it, or that merged several.
type Versions = Rc<[u32]>;

/// The work of [`Liveness::merged`].
struct Search<'a> {
    blocks: &'a [Block],
    liveness: &'a Liveness,
    /// By block, the versions that the first edge to it passes on, until the block is examined.
    arriving: Vec<Option<Versions>>,
    /// By block, the locals that arrive with several versions.
    several: Vec<u64>,
    /// By block, the number of edges to it.
    edges: Vec<usize>,
    /// By block, the last block with an edge back to it.
    last_back: Vec<Option<usize>>,
    /// The number of words that may still be examined.
    left: usize,
}

impl Liveness {
    /// Returns how many arguments the edges of a function with these blocks pass on to parameters for locals; `None` if it
    /// is too large to tell.
    pub(super) fn merged(&self, blocks: &[Block]) -> Option<usize> {
        if self.words == 0 {
            return Some(0);
        }
        let edges: usize = blocks.iter().map(|block| block.edges.len()).sum();
        let is_small = edges.saturating_mul(self.words * 64) <= MAX_MERGED_CELLS;
        (is_small && self.is_known()).then(|| Search::new(blocks, self)).and_then(Search::run)
    }
}

impl<'a> Search<'a> {
    fn new(blocks: &'a [Block], liveness: &'a Liveness) -> Search<'a> {
        let (mut edges, mut last_back) = (vec![0; blocks.len()], vec![None; blocks.len()]);
        for (from, block) in blocks.iter().enumerate() {
            for to in targets(block) {
                edges[to] += 1;
                if to <= from {
                    last_back[to] = Some(from);
                }
            }
        }
        let (arriving, several) = (vec![None; blocks.len()], vec![0; blocks.len() * liveness.words]);
        Search { blocks, liveness, arriving, several, edges, last_back, left: MAX_MERGED_CELLS }
    }

    /// Examines the blocks in bytecode order, in which all edges but those back lead forward.
    fn run(mut self) -> Option<usize> {
        let words = self.liveness.words;
        self.arriving[0] = Some(vec![0; words * 64].into());
        let mut sum = 0;
        for at in 0..self.blocks.len() {
            let Some(arriving) = self.arriving[at].take() else { continue };
            self.add_written_in_loop(at)?;
            let merged: Vec<u64> = (0..words)
                .map(|word| self.several[at * words + word] & self.liveness.live_word(at, word))
                .collect();
            sum += self.edges[at] * merged.iter().map(|word| word.count_ones() as usize).sum::<usize>();
            let written = self.liveness.written(at);
            let is_same = merged.iter().chain(written).all(|&word| word == 0);
            let leaving = if is_same { arriving } else { changed(&arriving, at as u32, &merged, written) };
            for to in targets(&self.blocks[at]).filter(|&to| to > at) {
                self.arrive(to, &leaving);
            }
        }
        Some(sum)
    }

    /// Has the locals that a loop writes arrive at its header with several versions.
    fn add_written_in_loop(&mut self, header: usize) -> Option<()> {
        let Some(last) = self.last_back[header] else { return Some(()) };
        let words = self.liveness.words;
        self.left = self.left.checked_sub((last + 1 - header) * words)?;
        for block in header..=last {
            for (word, &written) in self.liveness.written(block).iter().enumerate() {
                self.several[header * words + word] |= written;
            }
        }
        Some(())
    }

    fn arrive(&mut self, to: usize, versions: &Versions) {
        let Some(first) = &self.arriving[to] else {
            self.arriving[to] = Some(versions.clone());
            return;
        };
        if !Rc::ptr_eq(first, versions) {
            let words = self.liveness.words;
            for (word, (first, other)) in first.chunks(64).zip(versions.chunks(64)).enumerate() {
                let differs = first.iter().zip(other).enumerate();
                let bits = differs.fold(0, |bits, (bit, (a, b))| bits | u64::from(a != b) << bit);
                self.several[to * words + word] |= bits;
            }
        }
    }
}

fn targets(block: &Block) -> impl Iterator<Item = usize> {
    block.edges.iter().filter_map(|edge| match edge.target {
        Target::Block(to) => Some(to as usize),
        Target::Exit => None,
    })
}

/// Returns the versions behind a block that merges and writes these locals.
fn changed(arriving: &[u32], block: u32, merged: &[u64], written: &[u64]) -> Versions {
    let change = |(local, &version): (usize, &u32)| {
        let has = |sets: &[u64]| sets[local / 64] >> (local % 64) & 1 == 1;
        match (has(written), has(merged)) {
            (true, _) => 2 * block + 2,
            (false, true) => 2 * block + 1,
            (false, false) => version,
        }
    };
    arriving.iter().enumerate().map(change).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crate::cfg::build;
    use crate::module;

    /// The arguments that edges of a function with four locals pass on.
    fn merged(body: &str) -> Option<usize> {
        let reads = "(drop (local.get 0)) (drop (local.get 1)) (drop (local.get 2))";
        let text = format!("(module (func (param i32) (local i32 i32 i32) {body} {reads}))");
        let bytes: Arc<[u8]> = wat::parse_str(text).expect("valid text").into();
        let cfg = build(&module::parse(bytes).expect("valid module"), 0).expect("within limits");
        cfg.liveness.merged(&cfg.blocks)
    }

    #[test]
    fn a_local_that_one_side_writes_is_merged_behind() {
        let set = "(local.set 1 (i32.const 7))";
        assert_eq!(merged(set), Some(0));
        assert_eq!(merged(&format!("(if (local.get 0) (then {set}))")), Some(2));
        assert_eq!(merged(&format!("(if (local.get 0) (then {set}) (else {set}))")), Some(2));
        assert_eq!(merged(&format!("(if (local.get 0) (then {set} {set}) (else (nop)))")), Some(2));
        // Nobody reads local 3.
        assert_eq!(merged("(if (local.get 0) (then (local.set 3 (i32.const 7))))"), Some(0));
    }

    #[test]
    fn what_is_merged_once_is_the_same_further_on() {
        let set = "(if (local.get 0) (then (local.set 1 (i32.const 7))))";
        let branch = "(block (br_if 0 (local.get 0)) (br_if 0 (local.get 2)))";
        assert_eq!(merged(&format!("{set} {branch}")), Some(2));
        assert_eq!(merged(&format!("{set} {branch} {set}")), Some(4));
    }

    #[test]
    fn what_a_loop_writes_is_merged_at_its_header() {
        let step = "(local.set 1 (i32.add (local.get 1) (i32.const 1)))";
        assert_eq!(merged(&format!("(loop {step} (br_if 0 (local.get 2)))")), Some(2));
        assert_eq!(merged("(loop (br_if 0 (local.get 2)))"), Some(0));
        assert_eq!(
            merged(&format!("(loop (loop {step} (br_if 0 (local.get 2))) (br_if 0 (local.get 0)))")),
            Some(4)
        );
    }

    #[test]
    fn a_function_that_is_too_large_is_not_examined() {
        let locals = "i32 ".repeat(20_000);
        let text =
            format!("(module (func (local {locals}) {}))", "(block (br_if 0 (i32.const 0)))".repeat(500));
        let bytes: Arc<[u8]> = wat::parse_str(text).expect("valid text").into();
        let cfg = build(&module::parse(bytes).expect("valid module"), 0).expect("within limits");
        assert_eq!(cfg.liveness.merged(&cfg.blocks), None);
    }
}
