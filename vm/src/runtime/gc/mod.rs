//! The garbage-collected heap of a store.
//!
//! **Theory.** A mark-region collector (Blackburn & McKinley, "Immix", PLDI 2008): memory is divided into blocks, blocks
//! into lines. New objects are put one behind the other into *holes*, runs of lines in which nothing lives; what does not fit
//! into the rest of one goes to a block of its own kind (*overflow allocation*), and what is large has blocks for itself.
//! A collection marks objects, and the lines that they touch; lines without a mark are the holes of what follows. So
//! allocation is an addition and a comparison, and sweeping looks at lines, not at objects.
//!
//! Roots are ambiguous (Shahriyar, Blackburn & McKinley, "Fast Conservative Garbage Collection", OOPSLA 2014): each word of
//! the stack and of registers that may be the address of an object, or point into one, keeps it. Objects themselves are
//! looked into precisely, by their types. So machine code of any tier needs neither maps of its frames nor read or write
//! barriers, and the optimiser may keep a derived address instead of the object's. The paper pins what ambiguous roots refer
//! to and may move the rest; here nothing moves, so that words of the host's, of tables and of the transfer buffer are
//! treated alike. Fragmentation is what that costs, lines are what bounds it.
//!
//! References are addresses, not offsets: a number is seldom an address of the heap's by chance, while small multiples of
//! eight are everywhere; and a field is one load away, without the base of the heap.
//!
//! To find the object that a word points into there is an **object map**, a bit for each place where an object begins.
//! Machine code does not write it. Fresh objects lie one behind the other and have heads, so a collection begins with a walk
//! through the ranges that were allocated since the last one, and sets their bits, which also counts them by type: allocation
//! pays nothing for the map, nor for profiles. Afterwards the marks are the map.
//!
//! Input: [`Shape`]s by type, roots. Output: addresses of zeroed objects with their heads written.
//!
//! **Invariant**: between two collections each fresh range is full of objects up to where the next one goes.
//! **Invariant**: memory that the cursor passes over is zero, so that fields have their defaults.
//! **Invariant**: no marked object touches an unmarked line.
//!
//! Oracle: `tests.rs`, a graph that is kept beside the heap; `Config::gc_stress`, with which every allocation collects.

mod allocate;
mod bitmap;
mod blocks;
mod mark;
mod shape;
mod space;
mod statistics;
mod sweep;
#[cfg(test)]
mod tests;

use std::io;
use std::ops::Range;
use std::time::Instant;

use wprof_jit::abi::object::{LENGTH, TYPE, type_of_word};

use allocate::Allocator;
pub use allocate::Bump;
use bitmap::Bitmap;
use blocks::{BLOCK, Blocks, LINE};
pub use shape::Shape;
use shape::Shapes;
use space::Space;
pub use statistics::Statistics;

/// The heap.
#[derive(Debug)]
pub struct Heap {
    space: Space,
    blocks: Blocks,
    shapes: Shapes,
    /// Where objects begin, of those that were there at the last collection.
    starts: Bitmap,
    /// Where those begin that the collection that runs keeps.
    marks: Bitmap,
    /// By line, whether something lives in it, as far as the last collection knows; a byte each.
    lines: Space,
    allocator: Allocator,
    /// Objects that were marked and not looked into yet.
    pending: Vec<usize>,
    began: Option<Instant>,
    statistics: Statistics,
}

impl Heap {
    /// An empty heap that may grow to `limit` bytes.
    ///
    /// # Errors
    /// If the system has no room to reserve for it.
    pub fn new(limit: usize) -> io::Result<Heap> {
        let size = limit / BLOCK * BLOCK;
        Ok(Heap {
            space: Space::new(size)?,
            blocks: Blocks::new(size / BLOCK),
            shapes: Shapes::default(),
            starts: Bitmap::new(size)?,
            marks: Bitmap::new(size)?,
            lines: Space::new(size / LINE)?,
            allocator: Allocator::new(size),
            pending: Vec::new(),
            began: None,
            statistics: Statistics::default(),
        })
    }

    /// Objects of the type with this id have this shape.
    pub fn add_shape(&mut self, id: u32, shape: Shape) {
        self.shapes.add(id, shape);
    }

    /// Whether the shape of a type is known.
    pub fn has_shape(&self, id: u32) -> bool {
        self.shapes.has(id)
    }

    /// The shape of objects of a type.
    ///
    /// # Panics
    /// If it is not known.
    pub fn shape(&self, id: u32) -> &Shape {
        self.shapes.get(id)
    }

    /// Whether all that is kept has been looked into, in the collection that runs.
    pub fn is_traced(&self) -> bool {
        self.pending.is_empty()
    }

    /// Whether a word, which is one of a reference, is the address of an object here.
    pub fn is_object(&self, word: u64) -> bool {
        self.space.place(word).is_some()
    }

    /// The id of an object's type, and its length.
    ///
    /// # Panics
    /// If the word is none of an object's.
    pub fn head(&self, object: u64) -> (u32, u32) {
        self.head_at(self.space.place(object).expect("an object of this heap"))
    }

    fn head_at(&self, at: usize) -> (u32, u32) {
        (type_of_word(self.space.u32(at + TYPE as usize)), self.space.u32(at + LENGTH as usize))
    }

    fn size_at(&self, at: usize) -> usize {
        let (ty, length) = self.head_at(at);
        self.shapes.get(ty).size(length)
    }

    /// Bytes of an object, counted from its head.
    ///
    /// # Panics
    /// If they are not all the object's.
    pub fn bytes(&self, object: u64, range: Range<usize>) -> &[u8] {
        let range = self.bytes_of(object, range);
        self.space.bytes(range)
    }

    /// The same, to be written.
    ///
    /// # Panics
    /// If they are not all the object's.
    pub fn bytes_mut(&mut self, object: u64, range: Range<usize>) -> &mut [u8] {
        let range = self.bytes_of(object, range);
        self.space.bytes_mut(range)
    }

    /// Copies bytes from one object to another, or within one, where they may overlap.
    ///
    /// # Panics
    /// If they are not all the objects'.
    pub fn copy(&mut self, (from, source): (u64, Range<usize>), (to, target): (u64, usize)) {
        let len = source.len();
        let source = self.bytes_of(from, source);
        let target = self.bytes_of(to, target..target + len).start;
        let start = source.start.min(target);
        let all = self.space.bytes_mut(start..(source.end).max(target + len));
        all.copy_within(source.start - start..source.end - start, target - start);
    }

    fn bytes_of(&self, object: u64, range: Range<usize>) -> Range<usize> {
        let at = self.space.place(object).expect("an object of this heap");
        assert!(range.start <= range.end && range.end <= self.size_at(at), "within the object");
        at + range.start..at + range.end
    }

    /// What happened so far, without the objects since the last collection or [`Heap::count`].
    pub fn statistics(&self) -> &Statistics {
        &self.statistics
    }
}
