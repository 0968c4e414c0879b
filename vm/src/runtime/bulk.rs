//! Bulk operations on memories and tables, with wasm's semantics: all or nothing, checked first, `u64` throughout.
//!
//! Memories and tables are named by their indices in the instance, as machine code names them.

use std::io;
use std::ops::Range;

use wprof_jit::module::ElementItems;

use super::const_eval::eval;
use super::store::StoreOpaque;
use crate::Trap;

type Result = std::result::Result<(), Trap>;

/// `start..start + count`, if that lies in `0..len`.
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
    let memories = &store.instances[i as usize].memories;
    let (to, from) = (memories[to as usize], memories[from as usize]);
    let source = bytes(src, n, store.memory(from).len())?;
    let target = bytes(dst, n, store.memory(to).len())?;
    if to == from {
        store.memory_mut(to).copy_within(source, target.start);
    } else {
        let (to, from) = store.two_memories(to, from);
        to.part_mut(target).copy_from_slice(from.part(source));
    }
    Ok(())
}

/// `memory.fill`
pub fn memory_fill(store: &mut StoreOpaque, i: u32, memory: u32, dst: u64, byte: u8, n: u64) -> Result {
    let memory = store.instances[i as usize].memories[memory as usize];
    let memory = store.memory_mut(memory);
    let target = bytes(dst, n, memory.len())?;
    memory.part_mut(target).fill(byte);
    Ok(())
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
    // The module is kept by a clone, so that its bytes can be read while the memory is written.
    let instance = &store.instances[i as usize];
    let (module, memory) = (instance.module.clone(), instance.memories[memory as usize]);
    let all = instance.data_segment(segment);
    let source = bytes(src.into(), n.into(), all.len() as u64)?;
    let memory = store.memory_mut(memory);
    let target = bytes(dst, n.into(), memory.len())?;
    let source = all.start + source.start..all.start + source.end;
    match module.inner().image().filter(|image| image.is_late(&source)) {
        Some(image) => memory.fill_late(target.start, image, source).map_err(InitError::File),
        None => {
            memory.part_mut(target).copy_from_slice(&module.info().bytes[source]);
            Ok(())
        }
    }
}

/// Why `memory.init` did not do what it was to do.
#[derive(Debug)]
pub enum InitError {
    /// As the specification says.
    Trap(Trap),
    /// The module's file, which has the segment, could not be read.
    File(io::Error),
}

impl From<Trap> for InitError {
    fn from(trap: Trap) -> InitError {
        InitError::Trap(trap)
    }
}

impl InitError {
    /// What wasm sees of it. Its own segments are dropped before its code runs, unless the instance could not be made:
    /// so without the file they are as if they had been.
    pub fn trap(self) -> Trap {
        match self {
            InitError::Trap(trap) => trap,
            InitError::File(_) => Trap::MemoryOutOfBounds,
        }
    }
}

/// `table.copy`
pub fn table_copy(store: &mut StoreOpaque, i: u32, to: u32, from: u32, dst: u64, src: u64, n: u64) -> Result {
    let tables = &store.instances[i as usize].tables;
    let (to, from) = (tables[to as usize], tables[from as usize]);
    let source = elements(src, n, store.table(from).len())?;
    let target = elements(dst, n, store.table(to).len())?;
    if to == from {
        store.table_mut(to).elements_mut().copy_within(source, target.start);
    } else {
        let (to, from) = store.two_tables(to, from);
        to.elements_mut()[target].copy_from_slice(&from.elements()[source]);
    }
    Ok(())
}

/// `table.fill`
pub fn table_fill(store: &mut StoreOpaque, i: u32, table: u32, dst: u64, value: u64, n: u64) -> Result {
    let table = store.instances[i as usize].tables[table as usize];
    let table = store.table_mut(table);
    let target = elements(dst, n, table.len())?;
    table.elements_mut()[target].fill(value);
    Ok(())
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
    let instance = &store.instances[i as usize];
    let (module, table) = (instance.module.clone(), instance.tables[table as usize]);
    let items = &module.info().elements[segment as usize].items;
    let len = match items {
        _ if instance.is_elem_dropped(segment) => 0,
        ElementItems::Funcs(funcs) => funcs.len(),
        ElementItems::Exprs(exprs) => exprs.len(),
    };
    let source = elements(src.into(), n.into(), len as u64)?;
    let target = elements(dst, n.into(), store.table(table).len())?;
    let values: Vec<u64> = match items {
        _ if source.is_empty() => Vec::new(),
        ElementItems::Funcs(funcs) => {
            funcs[source].iter().map(|&f| instance.func_ref(f).as_ptr() as u64).collect()
        }
        ElementItems::Exprs(exprs) => exprs[source].iter().map(|e| eval(store, i, e).u64()).collect(),
    };
    store.table_mut(table).elements_mut()[target].copy_from_slice(&values);
    Ok(())
}
