//! Allocations of a store: by calling context what was handed out, taken back, and live when the most was.
//!
//! Input: what allocators say when they are entered and left, the objects that code makes, and memories that grow.
//! Output: figures by call record, and totals.
//! Invariant: allocators that an allocator calls are not counted, which the chain of call records tells; so a trap or a
//! throw leaves nothing to mend: what a frame that never returned has asked for is forgotten at the next entry.
//! What was live at the peak is not copied at each new one: a context keeps what it had when the peak was last
//! passed and before its figures changed.
//! Oracle: a program that logs its own allocations, in `spec-tests/tests/allocations.rs`.

use hashbrown::HashMap;
use wprof_profiler::{AllocationProfile, Blocks, LIVES, MemorySize, ObjectCount, life};

/// The most live blocks that are followed: a hundred bytes of ours each.
const MOST_BLOCKS: usize = 1 << 22;

/// The most steps of memories that are kept.
const MOST_SIZES: usize = 1 << 12;

/// What is known of the allocations of one call record.
#[derive(Clone, Copy, Debug, Default)]
pub struct Allocated {
    pub allocated: Blocks,
    pub freed: u64,
    pub lifetime: u64,
    pub live: Blocks,
    /// What was live at the peak, if nothing has changed since peak number `peaks`.
    pub peak: Blocks,
    peaks: u64,
}

impl Allocated {
    /// The figures of `wprof_profiler::ALLOCATION_COLUMNS`.
    pub fn columns(&self) -> [u64; 8] {
        let Allocated { allocated, live, peak, .. } = self;
        [
            allocated.bytes,
            allocated.blocks,
            self.freed,
            self.lifetime,
            live.blocks,
            live.bytes,
            peak.blocks,
            peak.bytes,
        ]
    }

    /// Before anything changes: what was live at the last peak, if that was since the last change.
    fn settle(&mut self, peaks: u64) {
        if self.peaks < peaks {
            (self.peak, self.peaks) = (self.live, peaks);
        }
    }
}

/// A block that was handed out.
#[derive(Clone, Copy, Debug)]
struct Block {
    context: u32,
    bytes: u64,
    /// How much had been allocated before.
    born: u64,
}

/// What an allocator was asked for that has not returned.
#[derive(Clone, Copy, Debug)]
struct Asked {
    context: u32,
    bytes: u64,
    /// The block to be taken back, or where the new one is to be told.
    old: u64,
}

/// The allocations of a store.
#[derive(Debug, Default)]
pub struct Allocations {
    /// By address of the call record its number here; `None` if it is of an allocator that another one has called.
    numbers: HashMap<u64, Option<u32>>,
    /// By number: the address of the record, and its figures.
    contexts: Vec<(u64, Allocated)>,
    /// By instance and address.
    blocks: HashMap<(u32, u64), Block>,
    asked: Option<Asked>,
    /// How many peaks there were.
    peaks: u64,
    totals: AllocationProfile,
    /// By instance, function and type.
    objects: HashMap<(u32, u32, u32), Blocks>,
}

impl Allocations {
    /// Nothing yet.
    pub fn new() -> Allocations {
        let totals = AllocationProfile { lives: vec![0; LIVES], ..AllocationProfile::default() };
        Allocations { totals, ..Allocations::default() }
    }

    /// The number of the context of a call record; `is_own` tells of a new one whether no allocator is around it.
    fn context(&mut self, record: u64, is_own: impl FnOnce() -> bool) -> Option<u32> {
        *self.numbers.entry(record).or_insert_with(|| {
            is_own().then(|| {
                self.contexts.push((record, Allocated::default()));
                self.contexts.len() as u32 - 1
            })
        })
    }

    /// An allocator is entered.
    pub fn enter(&mut self, record: u64, (bytes, old): (u64, u64), is_own: impl FnOnce() -> bool) {
        if let Some(context) = self.context(record, is_own) {
            self.asked = Some(Asked { context, bytes, old });
        }
    }

    /// The argument of an allocator that returns now; `None` if it does not count.
    pub fn old_of(&self, record: u64) -> Option<u64> {
        let asked = self.asked?;
        (self.contexts[asked.context as usize].0 == record).then_some(asked.old)
    }

    /// An allocator of an instance returns, and has handed out `new`, if any, for what it takes back.
    pub fn leave(&mut self, instance: u32, freed: Option<u64>, new: Option<u64>) {
        let Some(asked) = self.asked.take() else { return };
        if let Some(freed) = freed.filter(|&freed| freed != 0) {
            self.free(instance, freed);
        }
        if let Some(new) = new {
            self.allocate(instance, new, asked);
        }
    }

    fn free(&mut self, instance: u32, address: u64) {
        match self.blocks.remove(&(instance, address)) {
            Some(block) => self.end(block),
            None => self.totals.unknown_frees += 1,
        }
    }

    /// A block is no more.
    fn end(&mut self, block: Block) {
        let gone = Blocks { blocks: 1, bytes: block.bytes };
        let lived = self.totals.allocated.bytes - block.born - block.bytes;
        self.totals.freed = self.totals.freed.plus(gone);
        self.totals.live = minus(self.totals.live, gone);
        self.totals.lives[life(lived)] += 1;
        let of = &mut self.contexts[block.context as usize].1;
        of.settle(self.peaks);
        of.live = minus(of.live, gone);
        of.freed += 1;
        of.lifetime = of.lifetime.saturating_add(lived);
    }

    fn allocate(&mut self, instance: u32, address: u64, asked: Asked) {
        let more = Blocks { blocks: 1, bytes: asked.bytes };
        let born = self.totals.allocated.bytes;
        // No memory has so many bytes; whoever says so would have our sums saturate.
        let Some(_) = born.checked_add(asked.bytes) else { return };
        let (number, key) = (asked.context as usize, (instance, address));
        // Where an allocator that we do not know has taken it back.
        if let Some(before) = self.blocks.remove(&key) {
            self.end(before);
        }
        self.totals.allocated = self.totals.allocated.plus(more);
        let of = &mut self.contexts[number].1;
        of.allocated = of.allocated.plus(more);
        if self.blocks.len() >= MOST_BLOCKS {
            self.totals.untracked += 1;
            return;
        }
        self.blocks.insert(key, Block { context: asked.context, bytes: asked.bytes, born });
        of.settle(self.peaks);
        of.live = of.live.plus(more);
        self.totals.live = self.totals.live.plus(more);
        if self.totals.live.bytes > self.totals.peak.bytes {
            self.totals.peak = self.totals.live;
            self.peaks += 1;
        }
    }

    /// A function of an instance has made an object.
    pub fn count_object(&mut self, record: u64, (instance, func, ty): (u32, u32, u32), bytes: u64) {
        let more = Blocks { blocks: 1, bytes };
        let all = self.objects.entry((instance, func, ty)).or_default();
        *all = all.plus(more);
        if let Some(number) = self.context(record, || true) {
            let of = &mut self.contexts[number as usize].1;
            of.allocated = of.allocated.plus(more);
        }
    }

    /// A memory has so many pages from now on.
    pub fn resize(&mut self, at_ns: u64, memory: u32, pages: u64) {
        let sizes = &mut self.totals.memories;
        if sizes.len() == MOST_SIZES {
            let mut number = 0;
            sizes.retain(|_| {
                number += 1;
                number % 2 == 1
            });
        }
        let allocated = self.totals.allocated.bytes;
        sizes.push(MemorySize { at_ns, allocated, memory, pages });
    }

    /// By address of their call records, the figures of all contexts that have any.
    pub fn contexts(&self) -> impl Iterator<Item = (u64, Allocated)> {
        self.contexts.iter().map(|&(record, mut of)| {
            of.settle(self.peaks);
            (record, of)
        })
    }

    /// The totals, with the objects that functions of an instance have made.
    pub fn profile(&self, instance: u32) -> AllocationProfile {
        let own = self.objects.iter().filter(|((of, ..), _)| *of == instance);
        let mut objects: Vec<ObjectCount> = own
            .map(|(&(_, function, ty), all)| ObjectCount {
                function,
                ty,
                count: all.blocks,
                bytes: all.bytes,
            })
            .collect();
        objects.sort_unstable_by_key(|object| (object.function, object.ty));
        AllocationProfile { objects, ..self.totals.clone() }
    }
}

fn minus(all: Blocks, gone: Blocks) -> Blocks {
    Blocks { blocks: all.blocks - gone.blocks, bytes: all.bytes - gone.bytes }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Allocates from one of two contexts.
    fn allocate(all: &mut Allocations, record: u64, address: u64, bytes: u64) {
        all.enter(record, (bytes, 0), || true);
        all.leave(0, None, Some(address));
    }

    fn free(all: &mut Allocations, record: u64, address: u64) {
        all.enter(record, (0, address), || true);
        let old = all.old_of(record);
        all.leave(0, old, None);
    }

    #[test]
    fn a_context_has_at_the_peak_what_was_live_then() {
        let mut all = Allocations::new();
        allocate(&mut all, 1, 100, 50);
        allocate(&mut all, 2, 200, 30);
        free(&mut all, 3, 100);
        allocate(&mut all, 1, 100, 20);
        allocate(&mut all, 2, 300, 5);
        let peaks: Vec<u64> = all.contexts().map(|(_, of)| of.peak.bytes).collect();
        assert_eq!((all.totals.peak.bytes, peaks), (80, vec![50, 30, 0]));
        allocate(&mut all, 2, 400, 100);
        let peaks: Vec<u64> = all.contexts().map(|(_, of)| of.peak.bytes).collect();
        assert_eq!((all.totals.peak.bytes, peaks), (155, vec![20, 135, 0]));
        assert_eq!(all.totals.live, Blocks { blocks: 4, bytes: 155 });
        // 30 bytes while it lived.
        assert_eq!(all.totals.lives[life(30)], 1);
    }

    #[test]
    fn what_is_not_known_to_be_live_is_no_ones() {
        let mut all = Allocations::new();
        free(&mut all, 1, 7);
        assert_eq!((all.totals.unknown_frees, all.totals.freed.blocks), (1, 0));
        allocate(&mut all, 1, 100, u64::MAX);
        allocate(&mut all, 1, 200, u64::MAX);
        assert_eq!(all.totals.allocated, Blocks { blocks: 1, bytes: u64::MAX });
        // An allocator that hands out the same block twice has taken it back in between.
        allocate(&mut all, 1, 100, 0);
        assert_eq!((all.totals.live.blocks, all.totals.freed.blocks), (1, 1));
    }

    #[test]
    fn of_allocators_within_allocators_the_outer_one_counts() {
        let mut all = Allocations::new();
        all.enter(1, (64, 0), || true);
        all.enter(2, (80, 0), || false);
        assert_eq!((all.old_of(2), all.old_of(1)), (None, Some(0)));
        all.leave(0, None, Some(100));
        assert_eq!(all.totals.allocated, Blocks { blocks: 1, bytes: 64 });
    }

    #[test]
    fn of_many_steps_of_memories_some_are_kept() {
        let mut all = Allocations::new();
        (0..MOST_SIZES as u64 * 3).for_each(|step| all.resize(step, 0, step));
        let sizes = &all.totals.memories;
        assert!(sizes.len() <= MOST_SIZES && sizes.is_sorted_by_key(|size| size.at_ns));
    }
}
