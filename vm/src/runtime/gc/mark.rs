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

    /// Finds the object that a word points into, if any, for [`Heap::trace`] to mark.
    pub fn mark_ambiguous(&mut self, word: u64) {
        if let Some(at) = self.space.place(word).and_then(|at| self.find(at)) {
            self.pending.push(at);
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

    /// Finds an object, for [`Heap::trace`] to mark; returns whether the word is an address of this heap.
    pub fn mark(&mut self, word: u64) -> bool {
        let Some(at) = self.space.place(word) else { return false };
        debug_assert!(self.starts.get(at), "a reference is the address of an object");
        self.pending.push(at);
        true
    }

    /// Marks an object and the lines that it touches. Returns its type and length, unless it was marked before.
    pub(super) fn mark_at(&mut self, at: usize) -> Option<(u32, u32)> {
        if !self.marks.set(at) {
            return None;
        }
        let (ty, length) = self.head_at(at);
        let size = self.shapes.get(ty).size(length);
        // Machine code may have put a large object into the rest of a hole.
        if self.blocks.get(at / BLOCK) == Use::Lines {
            self.lines.bytes_mut(at / LINE..(at + size).div_ceil(LINE)).fill(1);
        }
        Some((ty, length))
    }

    /// Marks what was found and all that it refers to, and passes all other non-null references in it to `other`. Returns
    /// false if `stop` said to stop before that was done: then the collection must end as if not all was known.
    pub fn trace(&mut self, stop: impl Fn() -> bool, mut other: impl FnMut(u64)) -> bool {
        let mut looks = Looks { stop, left: BETWEEN_LOOKS };
        let is_done = self.drain(&mut looks, &mut other) && self.trace_dropped(&mut looks, &mut other);
        if !is_done {
            self.pending.clear();
            self.has_dropped = false;
        }
        is_done
    }

    /// Marks what is on the stack and what it refers to, as far as the stack has room. Returns false if it is to stop.
    fn drain(&mut self, looks: &mut Looks<impl Fn() -> bool>, other: &mut impl FnMut(u64)) -> bool {
        let mut queue = Queue::default();
        while let Some(at) = queue.next(&mut self.pending, |at| {
            self.space.prefetch(at);
            self.marks.prefetch(at);
        }) {
            self.scan(at, other);
            if looks.is_to_stop() {
                return false;
            }
        }
        true
    }

    /// Marks the objects for which the stack had no room: marked objects refer to them. Returns false if it is to stop.
    ///
    /// Source: Jones, Hosking & Moss, "The Garbage Collection Handbook", on overflow of the mark stack.
    fn trace_dropped(&mut self, looks: &mut Looks<impl Fn() -> bool>, other: &mut impl FnMut(u64)) -> bool {
        while std::mem::take(&mut self.has_dropped) {
            let mut before = self.blocks.len() * BLOCK;
            while let Some(at) =
                before.checked_sub(ALIGN as usize).and_then(|last| self.marks.last_in(0, last))
            {
                let mut from = 0;
                while let Some((index, found)) = self.next_unmarked(at, from) {
                    self.pending.push(found);
                    if !self.drain(looks, other) {
                        return false;
                    }
                    from = index + 1;
                }
                if looks.is_to_stop() {
                    return false;
                }
                before = at;
            }
        }
        true
    }

    /// Returns the next reference of an object to one that is not marked: its number, from `from` on, and where it leads.
    fn next_unmarked(&self, at: usize, from: usize) -> Option<(usize, usize)> {
        let (ty, length) = self.head_at(at);
        let leads = |place: usize| {
            let found = self.space.place(self.space.u64(place))?;
            (!self.marks.get(found)).then_some(found)
        };
        match self.shapes.get(ty) {
            Shape::Struct { references, .. } => {
                let fields = references.iter().enumerate().skip(from);
                fields
                    .map(|(index, &field)| (index, at + field as usize))
                    .find_map(|(index, place)| Some((index, leads(place)?)))
            }
            Shape::Array { are_references: true, element } => {
                let first = at + FIELDS as usize;
                (from..length as usize)
                    .find_map(|index| Some((index, leads(first + index * *element as usize)?)))
            }
            Shape::Array { .. } => None,
        }
    }

    /// Marks an object, unless it is marked, and finds what it refers to.
    fn scan(&mut self, at: usize, other: &mut impl FnMut(u64)) {
        let Some((ty, length)) = self.mark_at(at) else { return };
        let most = (self.blocks.len() * BLOCK / BYTES_FOR_ONE).max(LEAST_PENDING);
        let Heap { space, shapes, pending, has_dropped, .. } = self;
        let mut follow = |at: usize| match space.u64(at) {
            0 => {}
            word => match space.place(word) {
                Some(at) if pending.len() < most => pending.push(at),
                Some(_) => *has_dropped = true,
                None => other(word),
            },
        };
        match shapes.get(ty) {
            Shape::Struct { references, .. } => {
                references.iter().for_each(|&field| follow(at + field as usize))
            }
            Shape::Array { are_references: true, element } => {
                let (first, element) = (at + FIELDS as usize, *element as usize);
                (0..length as usize).for_each(|index| follow(first + index * element));
            }
            Shape::Array { .. } => {}
        }
    }
}

/// Number of objects between two looks whether the collection is to stop.
const BETWEEN_LOOKS: u32 = 1 << 14;

/// Looks, once for many objects, whether the collection is to stop.
struct Looks<S> {
    stop: S,
    /// Number of objects until the next look.
    left: u32,
}

impl<S: Fn() -> bool> Looks<S> {
    /// Counts an object, and reports whether the collection is to stop.
    fn is_to_stop(&mut self) -> bool {
        self.left -= 1;
        if self.left > 0 {
            return false;
        }
        self.left = BETWEEN_LOOKS;
        (self.stop)()
    }
}

/// The stack has room for one object for so many bytes of the heap, so that it takes a thirty-second of them. In tests it is
/// always too small.
const BYTES_FOR_ONE: usize = if cfg!(test) { usize::MAX } else { 256 };

/// It has room for so many at least.
const LEAST_PENDING: usize = if cfg!(test) { 8 } else { 1 << 16 };

/// How many objects are fetched before the first of them is looked at.
const AHEAD: usize = 16;

/// Objects that are on their way from memory, in the order in which they were asked for.
#[derive(Default)]
struct Queue {
    places: [usize; AHEAD],
    /// Numbers of those put in and taken out so far.
    put: usize,
    taken: usize,
}

impl Queue {
    /// Fills the queue from the stack, has what is new fetched, and returns what has waited longest.
    fn next(&mut self, stack: &mut Vec<usize>, fetch: impl Fn(usize)) -> Option<usize> {
        while self.put - self.taken < AHEAD
            && let Some(at) = stack.pop()
        {
            fetch(at);
            self.places[self.put % AHEAD] = at;
            self.put += 1;
        }
        (self.taken < self.put).then(|| {
            self.taken += 1;
            self.places[(self.taken - 1) % AHEAD]
        })
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    #[test]
    fn each_object_is_fetched_before_those_in_front_of_it_are_looked_at() {
        let (fetched, mut queue) = (RefCell::new(Vec::new()), Queue::default());
        let (mut stack, mut seen) = ((0..100).collect::<Vec<usize>>(), Vec::new());
        while let Some(at) = queue.next(&mut stack, |at| fetched.borrow_mut().push(at)) {
            let ahead = fetched.borrow().len() - seen.len();
            assert_eq!(ahead, AHEAD.min(130 - seen.len()), "{at}");
            seen.push(at);
            if seen.len() <= 30 {
                // What an object refers to comes next, as on a stack.
                stack.push(1000 + at);
            }
        }
        assert_eq!(*fetched.borrow(), seen);
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), 130);
    }
}
