//! Sweeping: frees what was not marked.

use super::Heap;
use super::blocks::{BLOCK, Blocks, LINE, LINES, Use};

/// Size from which freed large objects return their pages to the system.
const DISCARDED_FROM: usize = 256 << 10;

impl Heap {
    /// Ends the collection: frees all unmarked objects, or none if there may be references that are not known.
    pub fn end_collection(&mut self, are_all_known: bool) {
        debug_assert!(self.is_traced(), "what was found was traced");
        if !are_all_known {
            self.keep_all();
        }
        let mut live = 0;
        let mut recycled = Vec::new();
        for block in 0..self.blocks.len() {
            live += match self.blocks.get(block) {
                Use::Lines => self.sweep_lines(block, &mut recycled),
                Use::Large { blocks } => self.sweep_large(block, blocks as usize),
                Use::Free { .. } | Use::Rest { .. } => 0,
            };
        }
        // They are taken from the end, so lower addresses come first.
        recycled.reverse();
        std::mem::swap(&mut self.starts, &mut self.marks);
        self.marks.clear(0..self.blocks.len() * BLOCK);
        self.blocks.start_over();
        self.allocator.start_over(live, recycled);
        let pause = self.began.take().map(|began| began.elapsed()).unwrap_or_default();
        self.statistics.add_collection(pause, live);
    }

    /// Marks all objects, and all lines of their blocks, without looking at them: the holes are lost until the next
    /// collection.
    fn keep_all(&mut self) {
        self.marks.copy(&self.starts, 0..self.blocks.len() * BLOCK);
        for block in 0..self.blocks.len() {
            if self.blocks.get(block) == Use::Lines {
                self.lines.bytes_mut(block * LINES..(block + 1) * LINES).fill(1);
            }
        }
    }

    fn sweep_lines(&mut self, block: usize, recycled: &mut Vec<usize>) -> usize {
        let lines = self.lines.bytes(block * LINES..(block + 1) * LINES);
        let marked = lines.iter().filter(|&&line| line != 0).count();
        match marked {
            0 => self.blocks.free(block..block + 1, true),
            LINES => {}
            _ => recycled.push(block),
        }
        marked * LINE
    }

    fn sweep_large(&mut self, block: usize, count: usize) -> usize {
        if self.marks.get(block * BLOCK) {
            return count * BLOCK;
        }
        let bytes = Blocks::bytes(block..block + count);
        let is_clean = bytes.len() >= DISCARDED_FROM && self.space.discard(bytes);
        self.blocks.free(block..block + count, !is_clean);
        0
    }
}
