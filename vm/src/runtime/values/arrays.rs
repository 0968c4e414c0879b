//! Operations on the elements of arrays that machine code does not inline, with wasm's semantics: checked first.

use std::ops::Range;

use wprof_jit::abi::object::FIELDS;

use crate::Trap;
use crate::runtime::gc::{Heap, Shape};
use crate::runtime::instances::items::Items;
use crate::runtime::instances::store_opaque::StoreOpaque;
use crate::runtime::linear_memory::bulk::{SLICE, at, in_slices, slices};

type Result<T = ()> = std::result::Result<T, Trap>;

/// Returns the byte range of an array's elements `start..start + count`, counted from its head.
pub(super) fn bytes_of(heap: &Heap, array: u64, start: u32, count: u32) -> Result<Range<usize>> {
    let (ty, length) = heap.head(array);
    let end = start.checked_add(count).filter(|&end| end <= length).ok_or(Trap::ArrayOutOfBounds)?;
    let size = element_size(heap, ty);
    Ok(FIELDS as usize + start as usize * size..FIELDS as usize + end as usize * size)
}

fn element_size(heap: &Heap, ty: u32) -> usize {
    match heap.shape(ty) {
        Shape::Array { element, .. } => *element as usize,
        Shape::Struct { .. } => unreachable!("validated: it is an array"),
    }
}

/// `array.fill`, with the low and high half of the value.
pub fn fill(store: &mut StoreOpaque, _: u32, array: u64, start: u32, low: u64, high: u64, n: u32) -> Result {
    let heap = store.collected.objects.heap();
    let range = bytes_of(heap, array, start, n)?;
    let (ty, _) = heap.head(array);
    let size = element_size(heap, ty);
    let value = (u128::from(high) << 64 | u128::from(low)).to_le_bytes();
    // The slice size is a multiple of the element size.
    in_slices(store, slices(range.len() as u64, SLICE, false), |store, slice| {
        let bytes = store.collected.objects.heap_mut().bytes_mut(array, at(range.start, &slice));
        match size {
            1 => bytes.fill(value[0]),
            _ if low == 0 && high == 0 => bytes.fill(0),
            _ => bytes.chunks_exact_mut(size).for_each(|element| element.copy_from_slice(&value[..size])),
        }
    })
}

/// `array.copy`
pub fn copy(store: &mut StoreOpaque, _: u32, to: u64, dst: u32, from: u64, src: u32, n: u32) -> Result {
    let heap = store.collected.objects.heap();
    let (target, source) = (bytes_of(heap, to, dst, n)?, bytes_of(heap, from, src, n)?);
    // Within one array, elements must be read before they are overwritten.
    in_slices(store, slices(source.len() as u64, SLICE, dst > src), |store, slice| {
        let to_bytes = target.start + slice.start;
        store.collected.objects.heap_mut().copy((from, at(source.start, &slice)), (to, to_bytes));
    })
}

/// Returns the bytes in the module of a data segment's part, as many as `n` elements of a size take.
fn data(items: &Items, i: u32, segment: u32, src: u32, n: u32, size: usize) -> Result<Range<usize>> {
    let all = items.instance(i).data_segment(segment);
    let start = all.start + src as usize;
    let end = start + n as usize * size;
    if end > all.end {
        return Err(Trap::MemoryOutOfBounds);
    }
    Ok(start..end)
}

/// `array.new_data`, of the type with this id.
pub fn new_data(store: &mut StoreOpaque, i: u32, id: u32, segment: u32, src: u32, n: u32) -> Result<u64> {
    let source = data(&store.items, i, segment, src, n, element_size(store.collected.objects.heap(), id))?;
    let array = store.allocate(id, n)?;
    write_data(store, i, array, FIELDS as usize, source)?;
    Ok(array)
}

/// `array.init_data`
pub fn init_data(
    store: &mut StoreOpaque,
    i: u32,
    to: u64,
    segment: u32,
    dst: u32,
    src: u32,
    n: u32,
) -> Result {
    let heap = store.collected.objects.heap();
    let target = bytes_of(heap, to, dst, n)?;
    let (ty, _) = heap.head(to);
    let source = data(&store.items, i, segment, src, n, element_size(heap, ty))?;
    write_data(store, i, to, target.start, source)
}

fn write_data(store: &mut StoreOpaque, i: u32, array: u64, at: usize, source: Range<usize>) -> Result {
    let module = store.items.instance(i).module.clone();
    let bytes = store.collected.objects.heap_mut().bytes_mut(array, at..at + source.len());
    match module.image().filter(|image| image.is_late(&source)) {
        // Same as for memories: see `InitError::trap`.
        Some(image) => image.read_late(source, bytes).map_err(|_| Trap::MemoryOutOfBounds),
        None => {
            bytes.copy_from_slice(&module.info().bytes[source]);
            Ok(())
        }
    }
}
