//! Allocations of a store: allocated, freed and peak live memory by calling context.
//!
//! Input: the reports of allocators that return, the objects that code allocates, and memory growth.
//! Output: figures by call record, and totals.
//! Invariant: allocators called by an allocator are not counted, which the chain of call records determines. A trap or
//! a throw therefore needs no repair: the next entry overwrites the request of a frame that never returned. The live
//! figures at the peak are not copied at each new peak: a context saves them before its figures first change after the
//! most recent peak.
//! Oracle: a program that logs its own allocations, in `vm/tests/profiles/allocations.rs`.

use hashbrown::HashMap;
use wprof_profiler::{AllocationProfile, Blocks, LIVES, MemorySize, ObjectCount, life};

use super::live_blocks::{Block, LiveBlocks};

/// Maximum number of tracked live blocks: each takes up to a hundred bytes of host memory, beside what [`LiveBlocks`] may
/// take to find them.
const MOST_BLOCKS: usize = 1 << 22;

/// Maximum number of recorded memory sizes.
const MOST_SIZES: usize = 1 << 12;

/// The allocation figures of one call record.
#[derive(Clone, Copy, Debug, Default)]
pub struct Allocated {
    pub allocated: Blocks,
    pub freed: u64,
    pub lifetime: u64,
    pub live: Blocks,
    /// The live figures at the peak, if nothing has changed since peak number `peaks`.
    pub peak: Blocks,
    peaks: u64,
}

impl Allocated {
    /// Returns the figures in the order of `wprof_profiler::ALLOCATION_COLUMNS`.
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

    /// Saves the live figures as those of the most recent peak, before the first change after it.
    fn settle(&mut self, peaks: u64) {
        if self.peaks < peaks {
            (self.peak, self.peaks) = (self.live, peaks);
        }
    }
}

/// The allocations of a store.
#[derive(Debug, Default)]
pub struct Allocations {
    /// Context number by the address of the call record.
    numbers: HashMap<u64, u32>,
    /// By context number: the address of the record, and its figures.
    contexts: Vec<(u64, Allocated)>,
    blocks: LiveBlocks,
    /// Number of peaks.
    peaks: u64,
    totals: AllocationProfile,
    /// Objects by instance, function and type.
    objects: HashMap<(u32, u32, u32), Blocks>,
    /// Bytes of objects by instance and type, then by call record.
    of_types: HashMap<(u32, u32), HashMap<u64, u64>>,
}

impl Allocations {
    /// Creates empty figures.
    pub fn new() -> Allocations {
        let totals = AllocationProfile { lives: vec![0; LIVES], ..AllocationProfile::default() };
        Allocations { totals, ..Allocations::default() }
    }

    /// Returns the context number of a call record.
    pub fn context(&mut self, record: u64) -> u32 {
        *self.numbers.entry(record).or_insert_with(|| {
            self.contexts.push((record, Allocated::default()));
            self.contexts.len() as u32 - 1
        })
    }

    /// Records that an instance's allocator freed the block at an address.
    pub fn free(&mut self, instance: u32, address: u64) {
        match self.blocks.remove(instance, address) {
            Some(block) => self.end(block),
            None => self.totals.unknown_frees += 1,
        }
    }

    /// Records the end of a block.
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

    /// Records that an instance's allocator, called in this context, handed out a block of so many bytes.
    pub fn allocate(&mut self, instance: u32, address: u64, context: u32, bytes: u64) {
        let more = Blocks { blocks: 1, bytes };
        let born = self.totals.allocated.bytes;
        // No memory has that many bytes; accepting the claim would saturate the sums.
        let Some(_) = born.checked_add(bytes) else { return };
        let is_full = self.blocks.len() >= MOST_BLOCKS;
        let before = match is_full {
            true => self.blocks.remove(instance, address),
            false => self.blocks.insert(instance, address, Block { context, bytes, born }),
        };
        // An unknown allocator has freed the block in between.
        if let Some(before) = before {
            self.end(before);
        }
        self.totals.allocated = self.totals.allocated.plus(more);
        let of = &mut self.contexts[context as usize].1;
        of.allocated = of.allocated.plus(more);
        if is_full {
            self.totals.untracked += 1;
            return;
        }
        of.settle(self.peaks);
        of.live = of.live.plus(more);
        self.totals.live = self.totals.live.plus(more);
        if self.totals.live.bytes > self.totals.peak.bytes {
            self.totals.peak = self.totals.live;
            self.peaks += 1;
        }
    }

    /// Records an object that a function of an instance has allocated.
    pub fn count_object(&mut self, record: u64, (instance, func, ty): (u32, u32, u32), bytes: u64) {
        let more = Blocks { blocks: 1, bytes };
        let all = self.objects.entry((instance, func, ty)).or_default();
        *all = all.plus(more);
        let of_type = self.of_types.entry((instance, ty)).or_default().entry(record).or_default();
        *of_type = of_type.saturating_add(bytes);
        let number = self.context(record);
        let of = &mut self.contexts[number as usize].1;
        of.allocated = of.allocated.plus(more);
    }

    /// Records the new size of a memory.
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

    /// Returns the figures of all contexts that have any, by the address of their call records.
    pub fn contexts(&self) -> impl Iterator<Item = (u64, Allocated)> {
        self.contexts.iter().map(|&(record, mut of)| {
            of.settle(self.peaks);
            (record, of)
        })
    }

    /// Returns the types of an instance of which most bytes of objects were allocated, at most so many, each with the bytes
    /// by the address of the call record.
    pub fn types(&self, instance: u32, most: usize) -> Vec<(u32, &HashMap<u64, u64>)> {
        let own = self.of_types.iter().filter(|((of, _), _)| *of == instance);
        let mut types: Vec<_> = own.map(|(&(_, ty), by_record)| (ty, by_record)).collect();
        let bytes = |by_record: &HashMap<u64, u64>| by_record.values().copied().fold(0, u64::saturating_add);
        types.sort_by_key(|(ty, by_record)| (std::cmp::Reverse(bytes(by_record)), *ty));
        types.truncate(most);
        types
    }

    /// Returns the totals, with the objects that functions of an instance have allocated.
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
        let context = all.context(record);
        all.allocate(0, address, context, bytes);
    }

    #[test]
    fn a_context_has_at_the_peak_what_was_live_then() {
        let mut all = Allocations::new();
        allocate(&mut all, 1, 100, 50);
        allocate(&mut all, 2, 200, 30);
        all.free(0, 100);
        allocate(&mut all, 1, 100, 20);
        allocate(&mut all, 2, 300, 5);
        let peaks: Vec<u64> = all.contexts().map(|(_, of)| of.peak.bytes).collect();
        assert_eq!((all.totals.peak.bytes, peaks), (80, vec![50, 30]));
        allocate(&mut all, 2, 400, 100);
        let peaks: Vec<u64> = all.contexts().map(|(_, of)| of.peak.bytes).collect();
        assert_eq!((all.totals.peak.bytes, peaks), (155, vec![20, 135]));
        assert_eq!(all.totals.live, Blocks { blocks: 4, bytes: 155 });
        // 30 bytes while it lived.
        assert_eq!(all.totals.lives[life(30)], 1);
    }

    #[test]
    fn what_is_not_known_to_be_live_is_no_ones() {
        let mut all = Allocations::new();
        all.free(0, 7);
        assert_eq!((all.totals.unknown_frees, all.totals.freed.blocks), (1, 0));
        allocate(&mut all, 1, 100, u64::MAX);
        allocate(&mut all, 1, 200, u64::MAX);
        assert_eq!(all.totals.allocated, Blocks { blocks: 1, bytes: u64::MAX });
        // An allocator that hands out the same block twice has taken it back in between.
        allocate(&mut all, 1, 100, 0);
        assert_eq!((all.totals.live.blocks, all.totals.freed.blocks), (1, 1));
    }

    #[test]
    fn of_many_steps_of_memories_some_are_kept() {
        let mut all = Allocations::new();
        (0..MOST_SIZES as u64 * 3).for_each(|step| all.resize(step, 0, step));
        let sizes = &all.totals.memories;
        assert!(sizes.len() <= MOST_SIZES && sizes.is_sorted_by_key(|size| size.at_ns));
    }
}
