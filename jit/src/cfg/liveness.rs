//! Live locals: the others need not be passed on when a frame continues in another version.
//!
//! Input: a function. Output: for each block, two sets of locals. Invariant: a local that is not in a set is written
//! before it is read, on every path from the block's entry, or from its end. Source: the textbook's backward data flow,
//! by sweeps against bytecode order until nothing changes.

use super::{Block, Target};
use crate::limits::{MAX_LIVENESS_STEPS, MAX_LIVENESS_WORDS};

/// Each sweep propagates across one more back edge. A function that needs more sweeps is nested as no real program is,
/// and all its locals count as live.
const MOST_SWEEPS: usize = 32;

/// The locals that blocks read before writing them, and those that they write: recorded while the blocks are built.
#[derive(Debug)]
pub(super) struct Accesses {
    /// The number of words of one set.
    words: usize,
    /// One set per block.
    read: Vec<u64>,
    written: Vec<u64>,
}

impl Accesses {
    /// Creates the sets for this number of locals, without any block.
    pub(super) fn new(locals: usize) -> Accesses {
        Accesses { words: locals.div_ceil(64), read: Vec::new(), written: Vec::new() }
    }

    /// Begins the next block.
    pub(super) fn begin_block(&mut self) {
        if self.read.len() <= MAX_LIVENESS_WORDS {
            self.read.resize(self.read.len() + self.words, 0);
            self.written.resize(self.read.len(), 0);
        }
    }

    pub(super) fn read(&mut self, local: u32) {
        let (word, bit) = self.place(local);
        self.read[word] |= bit & !self.written[word];
    }

    pub(super) fn write(&mut self, local: u32) {
        let (word, bit) = self.place(local);
        self.written[word] |= bit;
    }

    fn place(&self, local: u32) -> (usize, u64) {
        (self.read.len() - self.words + local as usize / 64, 1 << (local % 64))
    }
}

/// The live locals of a function, at the entry and at the end of each block.
#[derive(Clone, Debug)]
pub struct Liveness {
    /// The number of words of one set.
    pub(super) words: usize,
    /// One set per block at its entry; empty if all locals count as live.
    live: Vec<u64>,
    /// One set per block at its end.
    behind: Vec<u64>,
    /// The locals that each block writes; nothing is said of a function in which all locals count as live.
    written: Vec<u64>,
}

impl Liveness {
    /// Computes the live locals of the function with these blocks.
    pub(super) fn new(blocks: &[Block], accesses: Accesses) -> Liveness {
        let Accesses { words, read, written } = accesses;
        if read.len() > MAX_LIVENESS_WORDS {
            return Liveness { words, live: Vec::new(), behind: Vec::new(), written };
        }
        let behind = vec![0; read.len()];
        let mut liveness = Liveness { words, live: read, behind, written };
        let steps = words * blocks.iter().map(|block| block.edges.len()).sum::<usize>();
        let sweeps = MOST_SWEEPS.min(MAX_LIVENESS_STEPS / steps.max(1));
        let is_done = (0..sweeps).any(|_| !liveness.sweep(blocks));
        if !is_done {
            (liveness.live, liveness.behind) = (Vec::new(), Vec::new());
        }
        liveness
    }

    /// Reports whether it is known which locals are live: otherwise all count as live.
    pub(super) fn is_known(&self) -> bool {
        !self.live.is_empty()
    }

    /// Returns one word of the set of locals that may be read from the entry of a block on.
    pub(super) fn live_word(&self, block: usize, word: usize) -> u64 {
        self.live[block * self.words + word]
    }

    /// Returns the set of locals that a block writes.
    pub(super) fn written(&self, block: usize) -> &[u64] {
        &self.written[block * self.words..][..self.words]
    }

    /// Reports whether `local` may be read from the entry of `block` on.
    pub fn is_live(&self, block: u32, local: usize) -> bool {
        self.is_in(&self.live, block, local)
    }

    /// Reports whether `local` may be read behind `block`.
    pub fn is_live_behind(&self, block: u32, local: usize) -> bool {
        self.is_in(&self.behind, block, local)
    }

    /// Returns the number of locals that may be read from the entry of `block` on; `None` if all count as live.
    pub(super) fn count(&self, block: u32) -> Option<usize> {
        let start = block as usize * self.words;
        let set = self.live.get(start..start + self.words).filter(|_| !self.live.is_empty())?;
        Some(set.iter().map(|word| word.count_ones() as usize).sum())
    }

    /// Returns which of the first `locals` locals may be read from the entry of `block` on, ascending.
    pub fn live_at(&self, block: u32, locals: usize) -> impl Iterator<Item = usize> {
        let (start, all) = (block as usize * self.words, u64::MAX);
        let word = move |word: usize| self.live.get(start + word).copied().unwrap_or(all);
        let bits = move |index: usize| {
            let next = |&rest: &u64| Some(rest & rest.wrapping_sub(1)).filter(|rest| *rest != 0);
            let sets = std::iter::successors(Some(word(index)).filter(|set| *set != 0), next);
            sets.map(move |rest| 64 * index + rest.trailing_zeros() as usize)
        };
        (0..self.words).flat_map(bits).take_while(move |&local| local < locals)
    }

    fn is_in(&self, sets: &[u64], block: u32, local: usize) -> bool {
        let word = sets.get(block as usize * self.words + local / 64);
        word.is_none_or(|word| word >> (local % 64) & 1 == 1)
    }

    /// Propagates the live locals of all blocks to their predecessors; reports whether anything changed.
    fn sweep(&mut self, blocks: &[Block]) -> bool {
        let mut changed = false;
        for (index, block) in blocks.iter().enumerate().rev() {
            for edge in &block.edges {
                let Target::Block(to) = edge.target else { continue };
                for word in 0..self.words {
                    let (from, to) = (index * self.words + word, to as usize * self.words + word);
                    self.behind[from] |= self.live[to];
                    let live = self.live[from] | self.behind[from] & !self.written[from];
                    changed |= live != self.live[from];
                    self.live[from] = live;
                }
            }
        }
        changed
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crate::cfg::{Cfg, build};
    use crate::module;

    /// Builds the CFG of a function with four locals.
    fn cfg(body: &str) -> Cfg {
        let text = format!("(module (func (param i32) (local i32 i32 i32) {body}))");
        let bytes: Arc<[u8]> = wat::parse_str(text).expect("valid text").into();
        build(&module::parse(bytes).expect("valid module"), 0).expect("within limits")
    }

    /// Returns for each block which locals are live at its entry.
    fn live(body: &str) -> Vec<[bool; 4]> {
        let cfg = cfg(body);
        let blocks = 0..cfg.blocks.len() as u32;
        blocks.map(|block| [0, 1, 2, 3].map(|local| cfg.liveness.is_live(block, local))).collect()
    }

    #[test]
    fn a_local_is_live_where_it_is_read_before_it_is_written() {
        let loops = live(
            "(local.set 1 (local.get 0))
             (loop (local.set 2 (local.get 1)) (br_if 0 (local.tee 3 (local.get 2))))
             (drop (local.get 3))",
        );
        assert_eq!(loops[0], [true, false, false, false]);
        // Each round reads local 1 again, and writes the others.
        assert_eq!(loops[1], [false, true, false, false]);
        assert_eq!(loops[2], [false, false, false, true]);
    }

    #[test]
    fn live_locals_are_counted_and_listed_as_they_are_asked_for() {
        let reads: String = [0, 63, 64, 127, 200].map(|local| format!("(drop (local.get {local}))")).concat();
        let text =
            format!("(module (func (param i32) (local {}) (loop {reads} (br 0))))", "i32 ".repeat(200));
        let bytes: Arc<[u8]> = wat::parse_str(text).expect("valid text").into();
        let cfg = build(&module::parse(bytes).expect("valid module"), 0).expect("within limits");
        for block in 0..cfg.blocks.len() as u32 {
            let live: Vec<usize> = (0..201).filter(|&local| cfg.liveness.is_live(block, local)).collect();
            assert_eq!(cfg.liveness.live_at(block, 201).collect::<Vec<_>>(), live);
            assert_eq!((cfg.liveness.count(block), live.len()), (Some(5), 5));
        }
    }

    /// Just over each limit.
    #[test]
    fn where_too_much_would_be_looked_at_all_locals_are_live() {
        let of = |locals: usize, body: &str| {
            let text = format!("(module (func (local {}) {body}))", "i32 ".repeat(locals));
            let bytes: Arc<[u8]> = wat::parse_str(text).expect("valid text").into();
            build(&module::parse(bytes).expect("valid module"), 0).expect("within limits")
        };
        let set_words = 640_usize.div_ceil(64);
        let blocks = super::MAX_LIVENESS_WORDS / set_words / 2;
        for (pairs, is_known) in [(blocks / 100, true), (blocks + 1, false)] {
            let cfg = of(640, &"(block (br_if 0 (i32.const 0)))".repeat(pairs));
            assert_eq!(cfg.liveness.count(0).is_some(), is_known, "{pairs} pairs of blocks");
            assert_eq!(cfg.liveness.is_live(0, 7), !is_known);
        }
    }

    #[test]
    fn a_local_is_live_behind_a_block_that_writes_what_the_next_reads() {
        let cfg = cfg(
            "(local.set 1 (local.get 0)) (loop (br_if 0 (local.tee 2 (local.get 1)))) (drop (local.get 3))",
        );
        let behind =
            [0, 1, 2].map(|block| [0, 1, 2, 3].map(|local| cfg.liveness.is_live_behind(block, local)));
        assert_eq!(behind, [[false, true, false, true], [false, true, false, true], [false; 4]]);
    }

    #[test]
    fn dead_code_reads_nothing() {
        let live = live("(block (br 0) (drop (local.get 1))) (drop (local.get 2))");
        assert_eq!(live[0], [false, false, true, false]);
    }
}
