//! Allocations: what a program requested from its allocators, and the fate of the blocks.
//!
//! Input: the counts of the runtime. Output: totals, lifetimes of blocks, growth of memories, and allocated
//! objects. The tree contains the allocations of each calling context: see [`COLUMNS`].
//! Invariant: the columns of a tree add up to the totals; figures of merged profiles are sums, which saturate.
//! Lifetimes are measured in bytes allocated meanwhile, so they are the same in each run. Source: Jones, Hosking &
//! Moss, The Garbage Collection Handbook, section 10, "lifetime".

use serde::{Deserialize, Serialize};

/// The allocation metrics of a calling context tree, ascending. `allocated-bytes` and `allocations` include
/// garbage-collected objects; `lifetime-bytes` is the sum of the lifetimes of freed blocks.
pub const COLUMNS: [&str; 8] = [
    "allocated-bytes",
    "allocations",
    "freed-blocks",
    "lifetime-bytes",
    "live-blocks",
    "live-bytes",
    "peak-blocks",
    "peak-bytes",
];

/// The beginning of the names of metrics that say how many bytes of objects of one type a context has allocated: the
/// type's name follows.
pub const BYTES_OF: &str = "bytes-of-";

/// Number of lifetime classes: less than 1 byte, than 2, than 4, …, and all others.
pub const LIVES: usize = 42;

/// Returns the class of a lifetime during which so many bytes were allocated.
pub fn life(bytes: u64) -> usize {
    (u64::BITS - bytes.leading_zeros()).min(LIVES as u32 - 1) as usize
}

/// A number of blocks and their size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Blocks {
    /// Number of blocks.
    pub blocks: u64,
    /// Total requested bytes.
    pub bytes: u64,
}

impl Blocks {
    /// Returns the sum of both; saturates.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            blocks: self.blocks.saturating_add(other.blocks),
            bytes: self.bytes.saturating_add(other.bytes),
        }
    }
}

/// The allocations of a program.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AllocationProfile {
    /// The blocks that allocators have returned. A resized block counts as another one.
    pub allocated: Blocks,
    /// The freed blocks.
    pub freed: Blocks,
    /// The blocks that were not freed by the end.
    pub live: Blocks,
    /// The blocks that were live when the live bytes peaked; in merged profiles, the sum.
    pub peak: Blocks,
    /// Allocated blocks that were not tracked, since too many were live: they count in `allocated` only.
    pub untracked: u64,
    /// Frees of blocks whose allocation was not seen.
    pub unknown_frees: u64,
    /// Number of freed blocks by lifetime class: see [`life`].
    pub lives: Vec<u64>,
    /// Memory sizes, ascending by time; of one run only, and a selection if there are many steps.
    pub memories: Vec<MemorySize>,
    /// The garbage-collected objects that were allocated, ascending by function and type.
    pub objects: Vec<ObjectCount>,
}

/// The size of a memory from some moment on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemorySize {
    /// Nanoseconds since the creation of the program's store; 0 if times are not recorded.
    pub at_ns: u64,
    /// Bytes that allocators had returned before.
    pub allocated: u64,
    /// Index of the memory in the store.
    pub memory: u32,
    /// Its size in pages of 64 KiB.
    pub pages: u64,
}

/// Objects of one type that one function has allocated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObjectCount {
    /// Index of the function.
    pub function: u32,
    /// Index of the type.
    pub ty: u32,
    /// Number of objects.
    pub count: u64,
    /// Their size in bytes.
    pub bytes: u64,
}

impl AllocationProfile {
    /// Reports whether the lists are sorted and within their limits.
    pub(crate) fn is_valid(&self) -> bool {
        let key = |object: &ObjectCount| (object.function, object.ty);
        self.lives.len() <= LIVES
            && self.objects.is_sorted_by(|a, b| key(a) < key(b))
            && self.memories.is_sorted_by_key(|size| size.at_ns)
    }

    /// Returns the total of garbage-collected objects; saturates.
    pub fn objects(&self) -> Blocks {
        let all = self.objects.iter().map(|object| Blocks { blocks: object.count, bytes: object.bytes });
        all.fold(Blocks::default(), Blocks::plus)
    }

    /// Returns the sum of the allocations of two runs.
    #[must_use]
    pub(crate) fn merged(&self, other: &Self) -> Self {
        let mut lives = vec![0_u64; self.lives.len().max(other.lives.len())];
        for all in [&self.lives, &other.lives] {
            lives.iter_mut().zip(all).for_each(|(sum, more)| *sum = sum.saturating_add(*more));
        }
        let mut objects = [&self.objects[..], &other.objects].concat();
        objects.sort_by_key(|object| (object.function, object.ty));
        objects.dedup_by(|next, kept| {
            let is_same = (next.function, next.ty) == (kept.function, kept.ty);
            if is_same {
                kept.count = kept.count.saturating_add(next.count);
                kept.bytes = kept.bytes.saturating_add(next.bytes);
            }
            is_same
        });
        Self {
            allocated: self.allocated.plus(other.allocated),
            freed: self.freed.plus(other.freed),
            live: self.live.plus(other.live),
            peak: self.peak.plus(other.peak),
            untracked: self.untracked.saturating_add(other.untracked),
            unknown_frees: self.unknown_frees.saturating_add(other.unknown_frees),
            lives,
            memories: Vec::new(),
            objects,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lives_are_told_apart_by_powers_of_two() {
        assert_eq!([0, 1, 2, 3, 4, 1 << 40].map(life), [0, 1, 2, 2, 3, 41]);
        assert_eq!(life(u64::MAX), LIVES - 1);
        assert!(COLUMNS.is_sorted());
    }

    #[test]
    fn two_runs_add_up() {
        let object = |function, ty, count| ObjectCount { function, ty, count, bytes: 8 * count };
        let blocks = |blocks| Blocks { blocks, bytes: 10 * blocks };
        let of = |count, objects: &[ObjectCount]| AllocationProfile {
            allocated: blocks(count),
            lives: vec![count],
            memories: vec![MemorySize { at_ns: 1, allocated: 0, memory: 0, pages: 2 }],
            objects: objects.to_vec(),
            ..AllocationProfile::default()
        };
        let (a, b) = (of(1, &[object(1, 1, 1)]), of(2, &[object(0, 5, 3), object(1, 1, 4)]));
        let sum = a.merged(&b);
        assert_eq!(sum, b.merged(&a));
        assert_eq!((sum.allocated, sum.lives.as_slice()), (blocks(3), &[3][..]));
        assert_eq!(sum.objects, [object(0, 5, 3), object(1, 1, 5)]);
        assert!(sum.is_valid() && sum.memories.is_empty());
        assert_eq!(sum.objects(), Blocks { blocks: 8, bytes: 64 });
    }
}
