//! Blocks: the heap in pieces of equal size, and what each is used for.

use std::ops::Range;

/// Bytes of a block, as in the paper.
pub const BLOCK: usize = 32 << 10;
/// Bytes of a line, the unit in which memory in a block becomes free.
pub const LINE: usize = 128;
/// Lines of a block.
pub const LINES: usize = BLOCK / LINE;

/// What a block is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// Nothing; whether there may be something else in it than zeros.
    Free { is_dirty: bool },
    /// Objects in lines.
    Lines,
    /// The first of so many blocks with one large object.
    Large { blocks: u32 },
    /// One of the others; the first is so many before.
    Rest { before: u32 },
}

/// All blocks of a heap.
#[derive(Debug)]
pub struct Blocks {
    /// Of those that were ever in use, which are the first ones.
    uses: Vec<Use>,
    /// How many the heap has room for.
    limit: usize,
    /// From where on single free blocks, and rows of them, are looked for.
    next: usize,
    next_row: usize,
}

impl Blocks {
    /// So many, all free.
    pub fn new(limit: usize) -> Blocks {
        Blocks { uses: Vec::new(), limit, next: 0, next_row: 0 }
    }

    /// How many were ever in use.
    pub fn len(&self) -> usize {
        self.uses.len()
    }

    /// What a block is used for.
    pub fn get(&self, block: usize) -> Use {
        self.uses.get(block).copied().unwrap_or(Use::Free { is_dirty: false })
    }

    /// The bytes of blocks.
    pub fn bytes(blocks: Range<usize>) -> Range<usize> {
        blocks.start * BLOCK..blocks.end * BLOCK
    }

    /// Takes a free block for lines, and tells whether it may have something else in it than zeros.
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

    /// Takes a row of free blocks for a large object; the dirty ones among them are `visit`ed.
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

    /// So many free blocks in a row, of which the last ones may never have been in use.
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

    /// Frees the blocks of a range, which may have anything in them unless `is_dirty` says otherwise.
    pub fn free(&mut self, blocks: Range<usize>, is_dirty: bool) {
        self.uses[blocks].fill(Use::Free { is_dirty });
    }

    /// Free blocks are looked for from the first one on.
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
