//! The JSON shape of allocations.

use serde::Serialize;

use crate::{AllocationProfile, Blocks, MemorySize, ObjectCount};

#[derive(Serialize)]
pub(super) struct AllocationsShape<'a> {
    allocated: BlocksShape,
    freed: BlocksShape,
    live: BlocksShape,
    peak: BlocksShape,
    untracked: u64,
    unknown_frees: u64,
    lives: &'a [u64],
    memories: Vec<MemoryShape>,
    objects: Vec<ObjectShape>,
}

#[derive(Serialize)]
struct BlocksShape {
    blocks: u64,
    bytes: u64,
}

#[derive(Serialize)]
struct MemoryShape {
    at_ns: u64,
    allocated: u64,
    memory: u32,
    pages: u64,
}

#[derive(Serialize)]
struct ObjectShape {
    function: u32,
    r#type: u32,
    count: u64,
    bytes: u64,
}

impl<'a> AllocationsShape<'a> {
    pub(super) fn new(of: &'a AllocationProfile) -> Self {
        let blocks = |Blocks { blocks, bytes }| BlocksShape { blocks, bytes };
        let memory = |&MemorySize { at_ns, allocated, memory, pages }: &_| MemoryShape {
            at_ns,
            allocated,
            memory,
            pages,
        };
        let object = |&ObjectCount { function, ty, count, bytes }: &_| ObjectShape {
            function,
            r#type: ty,
            count,
            bytes,
        };
        Self {
            allocated: blocks(of.allocated),
            freed: blocks(of.freed),
            live: blocks(of.live),
            peak: blocks(of.peak),
            untracked: of.untracked,
            unknown_frees: of.unknown_frees,
            lives: &of.lives,
            memories: of.memories.iter().map(memory).collect(),
            objects: of.objects.iter().map(object).collect(),
        }
    }
}
