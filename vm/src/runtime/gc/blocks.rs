//! Blocks: the pieces of equal size into which the heap is divided, with their use.

use std::ops::Range;

/// Size of a block in bytes, as in the paper.
pub const BLOCK: usize = 32 << 10;
/// Size of a line in bytes, the unit in which memory in a block becomes free.
pub const LINE: usize = 128;
/// Number of lines in a block.
pub const LINES: usize = BLOCK / LINE;

/// The use of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// Unused; `is_dirty` tells whether it may contain anything but zeros.
    Free { is_dirty: bool },
    /// Objects in lines.
    Lines,
    /// The first of `blocks` blocks that contain one large object.
    Large { blocks: u32 },
    /// Another block of a large object, `before` blocks behind the first.
    Rest { before: u32 },
}

/// The blocks of a heap.
#[derive(Debug)]
pub struct Blocks {
    /// The use of the blocks that were ever in use; these are the first ones.
    uses: Vec<Use>,
    /// Number of blocks that the heap has room for.
    limit: usize,
    /// The positions from which single free blocks, and rows of them, are searched.
    next: usize,
    next_row: usize,
}

impl Blocks {
    /// Creates `limit` blocks, all free.
    pub fn new(limit: usize) -> Blocks {
        Blocks { uses: Vec::new(), limit, next: 0, next_row: 0 }
    }

    /// Returns how many blocks were ever in use.
    pub fn len(&self) -> usize {
        self.uses.len()
    }

    /// Returns the use of a block.
    pub fn get(&self, block: usize) -> Use {
        self.uses.get(block).copied().unwrap_or(Use::Free { is_dirty: false })
    }

    /// Returns the byte range of blocks.
    pub fn bytes(blocks: Range<usize>) -> Range<usize> {
        blocks.start * BLOCK..blocks.end * BLOCK
    }

    /// Takes a free block for lines, and returns whether it may contain anything but zeros.
    pub fn take(&mut self) -> Option<(usize, bool)> {
        while let Some(used) = self.uses.get_mut(self.next) {
            self.next += 1;
            if let Use::Free { is_dirty } = *used {
                *used = Use::Lines;
                return Some((self.next - 1, is_dirty));
            }
        }
        (self.uses.len() < self.limit).then(|| {
            self.uses.push(Use::Lines);
            self.next = self.uses.len();
            (self.next - 1, false)
        })
    }

    /// Takes a row of free blocks for a large object, and calls `visit` for the dirty ones among them.
    pub fn take_row(&mut self, count: usize, mut visit: impl FnMut(usize)) -> Option<usize> {
        let first = self.find_row(count)?;
        self.next_row = first + count;
        for block in first..first + count {
            if self.get(block) == (Use::Free { is_dirty: true }) {
                visit(block);
            }
            let new = match block - first {
                0 => Use::Large { blocks: count as u32 },
                before => Use::Rest { before: before as u32 },
            };
            match self.uses.get_mut(block) {
                Some(used) => *used = new,
                None => self.uses.push(new),
            }
        }
        Some(first)
    }

    /// Finds `count` contiguous free blocks, of which the last ones may never have been in use.
    fn find_row(&self, count: usize) -> Option<usize> {
        let mut start = self.next_row;
        for block in self.next_row..self.uses.len() {
            if !matches!(self.uses[block], Use::Free { .. }) {
                start = block + 1;
            } else if block + 1 - start == count {
                return Some(start);
            }
        }
        (count <= self.limit.saturating_sub(start)).then_some(start)
    }

    /// Frees the blocks of a range; `is_dirty` tells whether they may contain anything but zeros.
    pub fn free(&mut self, blocks: Range<usize>, is_dirty: bool) {
        self.uses[blocks].fill(Use::Free { is_dirty });
    }

    /// Restarts the search for free blocks at the first block.
    pub fn start_over(&mut self) {
        (self.next, self.next_row) = (0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_lie_in_free_blocks_and_behind_what_was_used() {
        let mut blocks = Blocks::new(8);
        let none = |_| panic!("all are clean");
        assert_eq!(blocks.take(), Some((0, false)));
        assert_eq!(blocks.take_row(3, none), Some(1));
        assert_eq!(blocks.get(3), Use::Rest { before: 2 });
        assert_eq!(blocks.take(), Some((4, false)));
        assert_eq!(blocks.take_row(4, none), None);
        assert_eq!(blocks.take_row(3, none), Some(5));
        assert_eq!((blocks.take(), blocks.len()), (None, 8));
        blocks.free(1..4, true);
        blocks.start_over();
        let mut dirty = Vec::new();
        assert_eq!(blocks.take_row(2, |block| dirty.push(block)), Some(1));
        assert_eq!(dirty, [1, 2]);
        assert_eq!((blocks.take(), blocks.take()), (Some((3, true)), None));
    }
}
