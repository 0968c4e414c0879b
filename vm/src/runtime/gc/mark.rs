//! Marking: finds the objects that are reachable from roots.

use super::Heap;
use super::allocate::Bump;
use super::blocks::{BLOCK, LINE, Use};
use super::shape::Shape;
use wprof_jit::abi::object::{ALIGN, FIELDS};

impl Heap {
    /// Begins a collection; marking follows, and then the end.
    pub fn begin_collection(&mut self, bump: &mut Bump) {
        self.began = Some(std::time::Instant::now());
        self.end_allocation(bump);
        self.map_fresh_objects();
        let lines = 0..self.blocks.len() * (BLOCK / LINE);
        self.lines.bytes_mut(lines).fill(0);
    }

    /// Counts what was allocated since the last collection. The rest of the current hole is counted the next
    /// time.
    pub fn count(&mut self, bump: &mut Bump) {
        self.end_allocation(bump);
        self.map_fresh_objects();
    }

    /// Walks the objects that were allocated since the last collection, and enters them in the object map.
    fn map_fresh_objects(&mut self) {
        for range in std::mem::take(&mut self.allocator.fresh) {
            let mut at = range.start;
            while at < range.end {
                let (ty, length) = self.head_at(at);
                let size = self.shapes.get(ty).size(length);
                self.statistics.add(ty, size);
                self.starts.set(at);
                at += size;
            }
            debug_assert_eq!(at, range.end, "objects lie one behind the other");
        }
    }

    /// Marks the object that a word points into, if any.
    pub fn mark_ambiguous(&mut self, word: u64) {
        if let Some(at) = self.space.place(word).and_then(|at| self.find(at)) {
            self.mark_at(at);
        }
    }

    /// Returns the object that contains a place.
    fn find(&self, at: usize) -> Option<usize> {
        let block = at / BLOCK;
        let first = match self.blocks.get(block) {
            Use::Free { .. } => return None,
            Use::Lines | Use::Large { .. } => block,
            Use::Rest { before } => block - before as usize,
        };
        let found = match self.blocks.get(first) {
            // Nothing begins there right after a collection has freed it.
            Use::Large { .. } => Some(first * BLOCK).filter(|&at| self.starts.get(at)),
            _ => self.starts.last_in(first * BLOCK, at / ALIGN as usize * ALIGN as usize),
        };
        found.filter(|&found| at < found + self.size_at(found))
    }

    /// Marks an object; returns whether the word is an address of this heap.
    pub fn mark(&mut self, word: u64) -> bool {
        let Some(at) = self.space.place(word) else { return false };
        debug_assert!(self.starts.get(at), "a reference is the address of an object");
        self.mark_at(at);
        true
    }

    pub(super) fn mark_at(&mut self, at: usize) {
        if !self.marks.set(at) {
            return;
        }
        let size = self.size_at(at);
        // Machine code may have put a large object into the rest of a hole.
        if self.blocks.get(at / BLOCK) == Use::Lines {
            self.lines.bytes_mut(at / LINE..(at + size).div_ceil(LINE)).fill(1);
        }
        self.pending.push(at);
    }

    /// Marks what the marked objects refer to, and passes all other non-null references in them to `other`.
    pub fn trace(&mut self, mut other: impl FnMut(u64)) {
        while let Some(at) = self.pending.pop() {
            let (ty, length) = self.head_at(at);
            // The shapes do not change meanwhile, but the borrow checker cannot know that.
            match self.shapes.get(ty) {
                Shape::Struct { references, .. } => {
                    for index in 0..references.len() {
                        let Shape::Struct { references, .. } = self.shapes.get(ty) else { unreachable!() };
                        let field = references[index] as usize;
                        self.follow(at + field, &mut other);
                    }
                }
                Shape::Array { are_references: true, element } => {
                    let (first, element) = (at + FIELDS as usize, *element as usize);
                    (0..length as usize).for_each(|index| self.follow(first + index * element, &mut other));
                }
                Shape::Array { .. } => {}
            }
        }
    }

    fn follow(&mut self, at: usize, other: &mut impl FnMut(u64)) {
        let word = self.space.u64(at);
        if word != 0 && !self.mark(word) {
            other(word);
        }
    }
}
