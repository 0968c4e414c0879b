//! The garbage-collected heap of a store.
//!
//! **Theory.** A mark-region collector (Blackburn & McKinley, "Immix", PLDI 2008): memory is divided into blocks,
//! and blocks into lines. New objects are allocated contiguously in *holes*, runs of lines without live objects.
//! An object that does not fit into the rest of a hole goes to a separate block (*overflow allocation*), and a
//! large object has blocks of its own. A collection marks objects, and the lines that they touch; unmarked lines
//! are the holes for later allocations. So allocation is an addition and a comparison, and sweeping visits lines,
//! not objects.
//!
//! Roots are ambiguous (Shahriyar, Blackburn & McKinley, "Fast Conservative Garbage Collection", OOPSLA 2014):
//! each word on the stack and in registers that may be the address of an object, or point into one, keeps the
//! object alive. Objects themselves are scanned precisely, by their types. So machine code of any tier needs
//! neither stack maps nor read or write barriers, and the optimiser may keep a derived address instead of the
//! object's address. The paper pins the referents of ambiguous roots and may move the other objects; here no
//! object moves, so that words of the host, of tables and of the stack are treated alike. The price is
//! fragmentation, which lines bound.
//!
//! References are addresses, not offsets: a number is rarely an address of the heap by chance, while small
//! multiples of eight are everywhere. A field is one load away, without the base of the heap.
//!
//! The **object map**, a bit for each place where an object begins, finds the object that a word points into.
//! Machine code does not write it. Fresh objects are contiguous and have headers, so a collection begins with a
//! walk through the ranges that were allocated since the last one, which sets their bits and also counts the
//! objects by type: allocation pays nothing for the map, nor for profiles. After the collection the marks become
//! the map.
//!
//! Marking waits for memory, since it comes to objects in no order. So what is found is fetched first, and looked at
//! after some others: they wait in a queue between the stack of what was found and the scan (Cher, Hosking & Vitek,
//! "Software Prefetching for Mark-Sweep Garbage Collection", ASPLOS 2004). For that the stack has references rather than
//! marked objects, so that nothing of an object is touched before it is fetched, its mark included (Garner, Blackburn &
//! Frampton, "Effective Prefetch for Mark-Sweep Garbage Collection", ISMM 2007). The stack has room for a part of the heap
//! only: what it had no room for is found again from marked objects.
//!
//! A collection may be stopped, at a deadline. Then all objects are kept.
//!
//! Input: [`Shape`]s by type, and roots. Output: addresses of zeroed objects with their headers written.
//!
//! **Invariant**: between two collections each fresh range is full of objects up to the allocation cursor.
//! **Invariant**: memory that the cursor passes over is zero, so that fields have their default values.
//! **Invariant**: no marked object touches an unmarked line.
//!
//! Oracle: `tests.rs`, which keeps a model graph beside the heap; `Config::gc_stress`, with which every
//! allocation collects.

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

/// The heap of a store.
#[derive(Debug)]
pub struct Heap {
    space: Space,
    blocks: Blocks,
    shapes: Shapes,
    /// The object map: where objects begin that existed at the last collection.
    starts: Bitmap,
    /// Where objects begin that the current collection keeps.
    marks: Bitmap,
    /// By line, one byte each: whether it had live objects at the last collection.
    lines: Space,
    allocator: Allocator,
    /// Objects that were found, each as often as it was, and not looked at yet.
    pending: Vec<usize>,
    /// Whether objects were found for which that had no room.
    has_dropped: bool,
    began: Option<Instant>,
    statistics: Statistics,
}

impl Heap {
    /// Creates an empty heap that may grow to `limit` bytes.
    ///
    /// # Errors
    /// Returns an error if the system has no address space to reserve for it.
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
            has_dropped: false,
            began: None,
            statistics: Statistics::default(),
        })
    }

    /// Adds the shape of objects of the type with this id.
    pub fn add_shape(&mut self, id: u32, shape: Shape) {
        self.shapes.add(id, shape);
    }

    /// Returns whether the shape of a type is known.
    pub fn has_shape(&self, id: u32) -> bool {
        self.shapes.has(id)
    }

    /// Returns the shape of objects of a type.
    ///
    /// # Panics
    /// Panics if the shape is not known.
    pub fn shape(&self, id: u32) -> &Shape {
        self.shapes.get(id)
    }

    /// Returns whether all that was found has been marked and scanned, in the current collection.
    pub fn is_traced(&self) -> bool {
        self.pending.is_empty()
    }

    /// Returns whether a word, which must be a reference, is the address of an object in this heap.
    pub fn is_object(&self, word: u64) -> bool {
        self.space.place(word).is_some()
    }

    /// Returns the id of an object's type, and its length.
    ///
    /// # Panics
    /// Panics if the word is not the address of an object.
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

    /// Returns bytes of an object, counted from its header.
    ///
    /// # Panics
    /// Panics if the range exceeds the object.
    pub fn bytes(&self, object: u64, range: Range<usize>) -> &[u8] {
        let range = self.bytes_of(object, range);
        self.space.bytes(range)
    }

    /// Returns bytes of an object, counted from its header, mutably.
    ///
    /// # Panics
    /// Panics if the range exceeds the object.
    pub fn bytes_mut(&mut self, object: u64, range: Range<usize>) -> &mut [u8] {
        let range = self.bytes_of(object, range);
        self.space.bytes_mut(range)
    }

    /// Copies bytes from one object to another, or within one, where the ranges may overlap.
    ///
    /// # Panics
    /// Panics if a range exceeds its object.
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

    /// Returns the statistics so far, without the objects allocated since the last collection or [`Heap::count`].
    pub fn statistics(&self) -> &Statistics {
        &self.statistics
    }
}
