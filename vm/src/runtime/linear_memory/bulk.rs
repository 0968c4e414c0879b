//! Bulk operations on memories and tables (and, [in slices](in_slices), on [arrays](crate::runtime::values::arrays)), with wasm's semantics: checked first, `u64` throughout.
//!
//! Instructions name memories and tables by their indices in the instance; so do these functions.
//! Invariant: an out-of-bounds operation changes nothing. A large operation is done in slices, between which an
//! interrupted store stops; some slices have then been done and others have not.

use std::io;
use std::ops::Range;

use crate::Trap;
use crate::runtime::instances::store_opaque::StoreOpaque;
use crate::runtime::values::elements as segments;

type Result = std::result::Result<(), Trap>;

/// Bytes filled or copied between tests for an interruption: less than a millisecond's worth, in relation to which the
/// test costs nothing.
pub const SLICE: u64 = 1 << 20;
/// The same in table elements.
pub const ELEMENTS: u64 = SLICE / 8;

/// Returns `start..start + count`, if it lies in `0..len`.
fn range(start: u64, count: u64, len: u64) -> Option<Range<usize>> {
    let end = start.checked_add(count).filter(|&end| end <= len)?;
    Some(start as usize..end as usize)
}

fn bytes(start: u64, count: u64, len: u64) -> std::result::Result<Range<usize>, Trap> {
    range(start, count, len).ok_or(Trap::MemoryOutOfBounds)
}

fn elements(start: u64, count: u64, len: u64) -> std::result::Result<Range<usize>, Trap> {
    range(start, count, len).ok_or(Trap::TableOutOfBounds)
}

/// Returns the numbers from 0 to `n` in slices; the last slices first if `backward`.
pub fn slices(n: u64, slice: u64, backward: bool) -> impl Iterator<Item = Range<usize>> {
    let count = n.div_ceil(slice);
    (0..count).map(move |index| {
        let start = slice * if backward { count - 1 - index } else { index };
        start as usize..(start + slice).min(n) as usize
    })
}

/// Runs `work` for each slice, unless the store is interrupted before.
pub fn in_slices(
    store: &mut StoreOpaque,
    slices: impl Iterator<Item = Range<usize>>,
    mut work: impl FnMut(&mut StoreOpaque, Range<usize>),
) -> Result {
    for (index, slice) in slices.enumerate() {
        if index > 0
            && let Some(request) = store.control.interrupt().take_at_once()
        {
            return Err(request.into());
        }
        work(store, slice);
    }
    Ok(())
}

/// Returns the slice of a range that begins at `start`.
pub fn at(start: usize, slice: &Range<usize>) -> Range<usize> {
    start + slice.start..start + slice.end
}

/// `memory.copy`
pub fn memory_copy(
    store: &mut StoreOpaque,
    i: u32,
    to: u32,
    from: u32,
    dst: u64,
    src: u64,
    n: u64,
) -> Result {
    let memories = &store.items.instance(i).memories;
    let (target_memory, source_memory) = (memories[to as usize], memories[from as usize]);
    let source = bytes(src, n, store.items.memory(source_memory).len())?.start;
    let target = bytes(dst, n, store.items.memory(target_memory).len())?.start;
    in_slices(store, slices(n, SLICE, dst > src), |store, slice| {
        let (source, target) = (at(source, &slice), at(target, &slice));
        store.touch_memory(i, from, source.start as u64, slice.len() as u64);
        store.touch_memory(i, to, target.start as u64, slice.len() as u64);
        if target_memory == source_memory {
            store.items.memory_mut(target_memory).copy_within(source, target.start);
        } else {
            let (to, from) = store.items.two_memories(target_memory, source_memory);
            to.copy_from(target.start, from, source);
        }
    })
}

/// `memory.fill`
pub fn memory_fill(store: &mut StoreOpaque, i: u32, memory: u32, dst: u64, byte: u8, n: u64) -> Result {
    let index = store.items.instance(i).memories[memory as usize];
    let target = bytes(dst, n, store.items.memory(index).len())?.start;
    in_slices(store, slices(n, SLICE, false), |store, slice| {
        let target = at(target, &slice);
        store.touch_memory(i, memory, target.start as u64, slice.len() as u64);
        store.items.memory_mut(index).fill_with(target, byte);
    })
}

/// `memory.init`
pub fn memory_init(
    store: &mut StoreOpaque,
    i: u32,
    memory: u32,
    segment: u32,
    dst: u64,
    src: u32,
    n: u32,
) -> std::result::Result<(), InitError> {
    // The clone keeps the module alive, so that its bytes can be read while the memory is written.
    let instance = store.items.instance(i);
    let (module, index) = (instance.module.clone(), instance.memories[memory as usize]);
    let all = instance.data_segment(segment);
    let source = at(all.start, &bytes(src.into(), n.into(), all.len() as u64)?);
    let target = bytes(dst, n.into(), store.items.memory(index).len())?.start;
    if let Some(image) = module.image().filter(|image| image.is_late(&source)) {
        return store.items.memory_mut(index).fill_late(target, image, source).map_err(InitError::File);
    }
    in_slices(store, slices(n.into(), SLICE, false), |store, slice| {
        let (source, target) = (at(source.start, &slice), at(target, &slice));
        store.items.memory_mut(index).write(target.start, &module.info().bytes[source]);
    })?;
    Ok(())
}

/// The reason of a failed `memory.init`.
#[derive(Debug)]
pub enum InitError {
    /// A trap of the specification.
    Trap(Trap),
    /// The module's file, which contains the segment, could not be read.
    File(io::Error),
}

impl From<Trap> for InitError {
    fn from(trap: Trap) -> InitError {
        InitError::Trap(trap)
    }
}

impl InitError {
    /// Returns the trap that wasm sees. An instance's own segments are dropped before its code runs, unless its
    /// instantiation failed: without the file they therefore behave as if dropped.
    pub fn trap(self) -> Trap {
        match self {
            InitError::Trap(trap) => trap,
            InitError::File(_) => Trap::MemoryOutOfBounds,
        }
    }
}

/// `table.copy`
pub fn table_copy(store: &mut StoreOpaque, i: u32, to: u32, from: u32, dst: u64, src: u64, n: u64) -> Result {
    let tables = &store.items.instance(i).tables;
    let (to, from) = (tables[to as usize], tables[from as usize]);
    let source = elements(src, n, store.items.table(from).len())?.start;
    let target = elements(dst, n, store.items.table(to).len())?.start;
    in_slices(store, slices(n, ELEMENTS, dst > src), |store, slice| {
        let (source, target) = (at(source, &slice), at(target, &slice));
        if to == from {
            store.items.table_mut(to).elements_mut().copy_within(source, target.start);
        } else {
            let (to, from) = store.items.two_tables(to, from);
            to.elements_mut()[target].copy_from_slice(&from.elements()[source]);
        }
    })
}

/// `table.fill`
pub fn table_fill(store: &mut StoreOpaque, i: u32, table: u32, dst: u64, value: u64, n: u64) -> Result {
    let table = store.items.instance(i).tables[table as usize];
    let target = elements(dst, n, store.items.table(table).len())?.start;
    in_slices(store, slices(n, ELEMENTS, false), |store, slice| {
        store.items.table_mut(table).elements_mut()[at(target, &slice)].fill(value);
    })
}

/// `table.init`
pub fn table_init(
    store: &mut StoreOpaque,
    i: u32,
    table: u32,
    segment: u32,
    dst: u64,
    src: u32,
    n: u32,
) -> Result {
    let table = store.items.instance(i).tables[table as usize];
    let source = elements(src.into(), n.into(), segments::len(&store.items, i, segment) as u64)?;
    let target = elements(dst, n.into(), store.items.table(table).len())?;
    let mut result = Ok(());
    in_slices(store, slices(n.into(), ELEMENTS, false), |store, slice| {
        let (source, target) = (at(source.start, &slice), at(target.start, &slice));
        match segments::words(store, i, segment, source) {
            Ok(words) => store.items.table_mut(table).elements_mut()[target].copy_from_slice(&words),
            Err(trap) => result = Err(trap),
        }
    })?;
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_cover_all_once_from_either_end() {
        for (n, slice) in [(0, 4), (1, 4), (4, 4), (5, 4), (11, 3)] {
            let forward: Vec<_> = slices(n, slice, false).collect();
            assert!(forward.iter().flat_map(Range::clone).eq(0..n as usize));
            assert!(forward.iter().all(|part| !part.is_empty() && part.len() <= slice as usize));
            let backward: Vec<_> = slices(n, slice, true).collect();
            assert!(backward.iter().eq(forward.iter().rev()));
        }
    }
}
