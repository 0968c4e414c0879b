//! Allocation, as far as machine code does not do it inline.
//!
//! Machine code advances the cursor of the [`Bump`] that it shares with the heap. This module finds a new hole when the
//! current one is full, and allocates objects that are not small.

use std::ops::Range;

use wprof_jit::abi::object::{ALIGN, LENGTH, type_word};

use super::blocks::{BLOCK, Blocks, LINE, LINES, Use};
use super::{Heap, Shape};

/// The addresses of the next object and of the end of its hole. Machine code reads and writes it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Bump {
    /// Address of the next object.
    pub cursor: usize,
    /// End of the hole; at or below the cursor if there is none, or if machine code must ask each time.
    pub limit: usize,
}

/// Objects above this size have their own blocks, of which they leave at most half empty.
pub(super) const LARGE: usize = BLOCK / 2;

/// Bytes allocated before the first collection, and the minimum before any other.
const LEAST_BUDGET: usize = 8 << 20;

/// The state of allocation.
#[derive(Debug)]
pub(super) struct Allocator {
    /// The hole that contains the cursor, and the ranges filled with objects since the last collection.
    hole: Range<usize>,
    pub(super) fresh: Vec<Range<usize>>,
    /// The rest of the block for objects that fit into no hole, and the start of its fresh objects.
    overflow: Range<usize>,
    overflow_start: usize,
    /// Blocks in which the last collection found holes, used from the end.
    pub(super) recycled: Vec<usize>,
    /// The unsearched rest of the block whose holes are in use.
    rest: Range<usize>,
    /// Bytes left to allocate before the next collection.
    budget: usize,
    /// Bytes that the heap had left after the last collection.
    room: usize,
    /// Maximum bytes of the heap.
    limit: usize,
}

impl Allocator {
    pub(super) fn new(limit: usize) -> Allocator {
        Allocator {
            hole: 0..0,
            fresh: Vec::new(),
            overflow: 0..0,
            overflow_start: 0,
            recycled: Vec::new(),
            rest: 0..0,
            budget: LEAST_BUDGET.min(limit),
            room: limit,
            limit,
        }
    }

    /// Starts over after a collection that has kept so many bytes.
    pub(super) fn start_over(&mut self, live: usize, recycled: Vec<usize>) {
        (self.hole, self.overflow, self.overflow_start, self.rest) = (0..0, 0..0, 0, 0..0);
        self.fresh.clear();
        self.recycled = recycled;
        self.room = self.limit.saturating_sub(live);
        self.budget = live.max(LEAST_BUDGET).min(self.room);
    }

    /// Allows, right after a collection, an object of so many bytes, if there is room for it.
    fn allow(&mut self, bytes: usize) {
        self.budget = self.budget.max(bytes.min(self.room));
    }

    fn spend(&mut self, bytes: usize) -> Option<()> {
        self.budget = self.budget.checked_sub(bytes)?;
        Some(())
    }
}

impl Heap {
    /// Allocates an object of type `id`, zero except for its head; returns `None` if a collection is due, or there is
    /// no room.
    ///
    /// # Panics
    /// Panics if the shape of the type is not known.
    pub fn allocate(&mut self, bump: &mut Bump, id: u32, length: u32) -> Option<u64> {
        let shape = self.shapes.get(id);
        let (size, word) = (shape.size(length), type_word(id, matches!(shape, Shape::Array { .. })));
        let at = match size {
            _ if size > LARGE => self.allocate_large(size)?,
            _ if size <= bump.limit.saturating_sub(bump.cursor) => self.push(bump, size),
            _ if size > LINE => self.allocate_overflow(size)?,
            _ => {
                self.next_hole(bump)?;
                self.push(bump, size)
            }
        };
        self.space.set_u64(at, u64::from(length) << (8 * LENGTH) | u64::from(word));
        Some(self.space.address(at) as u64)
    }

    /// Allows, right after a collection, the next object to have type `id` and this length, even if it exceeds the
    /// bytes allocated between two collections.
    ///
    /// # Panics
    /// Panics if the shape of the type is not known.
    pub fn allow(&mut self, id: u32, length: u32) {
        let size = self.shapes.get(id).size(length);
        if size > LARGE {
            self.allocator.allow(size.next_multiple_of(BLOCK));
        }
    }

    fn push(&self, bump: &mut Bump, size: usize) -> usize {
        let at = self.space.place(bump.cursor as u64).expect("a hole is within the heap");
        bump.cursor += size;
        at
    }

    fn allocate_large(&mut self, size: usize) -> Option<usize> {
        let count = size.div_ceil(BLOCK);
        self.allocator.spend(count * BLOCK)?;
        let space = &mut self.space;
        let clean = |block| space.bytes_mut(Blocks::bytes(block..block + 1)).fill(0);
        let at = self.blocks.take_row(count, clean)? * BLOCK;
        self.allocator.fresh.push(at..at + size);
        Some(at)
    }

    /// Allocates in a block that contains only such objects: Immix's overflow allocation.
    fn allocate_overflow(&mut self, size: usize) -> Option<usize> {
        if self.allocator.overflow.len() < size {
            let block = self.take_block()?;
            self.end_overflow();
            self.allocator.overflow = Blocks::bytes(block..block + 1);
            self.allocator.overflow_start = block * BLOCK;
        }
        let at = self.allocator.overflow.start;
        self.allocator.overflow.start += size;
        Some(at)
    }

    fn end_overflow(&mut self) {
        let fresh = self.allocator.overflow_start..self.allocator.overflow.start;
        if !fresh.is_empty() {
            self.allocator.fresh.push(fresh);
        }
        self.allocator.overflow_start = self.allocator.overflow.start;
    }

    /// Returns a zeroed block.
    fn take_block(&mut self) -> Option<usize> {
        self.allocator.spend(BLOCK)?;
        let (block, is_dirty) = self.blocks.take()?;
        if is_dirty {
            self.space.bytes_mut(Blocks::bytes(block..block + 1)).fill(0);
        }
        Some(block)
    }

    /// Moves the cursor to the next hole.
    fn next_hole(&mut self, bump: &mut Bump) -> Option<()> {
        let hole = match self.recycled_hole() {
            Some(hole) => {
                self.allocator.spend(hole.len())?;
                self.space.bytes_mut(hole.clone()).fill(0);
                hole
            }
            None => {
                let block = self.take_block()?;
                Blocks::bytes(block..block + 1)
            }
        };
        self.end_hole(bump);
        *bump = Bump { cursor: self.space.address(hole.start), limit: self.space.address(hole.end) };
        self.allocator.hole = hole;
        Some(())
    }

    /// Records the objects that machine code has allocated in the hole.
    pub(super) fn end_hole(&mut self, bump: &mut Bump) {
        if self.allocator.hole.is_empty() {
            return;
        }
        let end = bump.cursor - self.space.address(0);
        debug_assert!((self.allocator.hole.start..=self.allocator.hole.end).contains(&end));
        if end > self.allocator.hole.start {
            self.allocator.fresh.push(self.allocator.hole.start..end);
        }
        self.allocator.hole = 0..0;
        *bump = Bump::default();
    }

    /// Records all objects since the last collection in fresh ranges.
    pub(super) fn end_allocation(&mut self, bump: &mut Bump) {
        self.end_hole(bump);
        self.end_overflow();
    }

    /// Returns the next run of lines without live objects.
    fn recycled_hole(&mut self) -> Option<Range<usize>> {
        loop {
            let rest = self.allocator.rest.clone();
            let lines = self.lines.bytes(rest.clone());
            if let Some(start) = lines.iter().position(|&line| line == 0) {
                let len = lines[start..].iter().position(|&line| line != 0).unwrap_or(lines.len() - start);
                let first = rest.start + start;
                self.allocator.rest.start = first + len;
                return Some(first * LINE..(first + len) * LINE);
            }
            let block = self.allocator.recycled.pop()?;
            debug_assert_eq!(self.blocks.get(block), Use::Lines);
            self.allocator.rest = block * LINES..(block + 1) * LINES;
        }
    }
}

const _: () = assert!(LINE.is_multiple_of(ALIGN as usize));
