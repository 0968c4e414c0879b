//! Arrays of references that are made of element segments.

use wprof_jit::abi::object::FIELDS;

use super::arrays::bytes_of;
use super::elements;
use crate::Trap;
use crate::runtime::gc::Heap;
use crate::runtime::instances::store_opaque::StoreOpaque;

type Result<T = ()> = std::result::Result<T, Trap>;

/// Returns the words of an element segment's part. The segment, or globals, keep their referents alive.
fn items(store: &mut StoreOpaque, i: u32, segment: u32, src: u32, n: u32) -> Result<Vec<u64>> {
    let len = elements::len(&store.items, i, segment);
    let end = (src as usize).checked_add(n as usize).filter(|&end| end <= len);
    elements::words(store, i, segment, src as usize..end.ok_or(Trap::TableOutOfBounds)?)
}

/// `array.new_elem`, of the type with this id.
pub fn new_elem(store: &mut StoreOpaque, i: u32, id: u32, segment: u32, src: u32, n: u32) -> Result<u64> {
    let words = items(store, i, segment, src, n)?;
    let array = store.allocate(id, n)?;
    write_words(store.collected.objects.heap_mut(), array, FIELDS as usize, &words);
    Ok(array)
}

/// `array.init_elem`
pub fn init_elem(
    store: &mut StoreOpaque,
    i: u32,
    to: u64,
    segment: u32,
    dst: u32,
    src: u32,
    n: u32,
) -> Result {
    let target = bytes_of(store.collected.objects.heap(), to, dst, n)?;
    let words = items(store, i, segment, src, n)?;
    write_words(store.collected.objects.heap_mut(), to, target.start, &words);
    Ok(())
}

fn write_words(heap: &mut Heap, array: u64, at: usize, words: &[u64]) {
    let bytes = heap.bytes_mut(array, at..at + 8 * words.len());
    bytes
        .chunks_exact_mut(8)
        .zip(words)
        .for_each(|(element, word)| element.copy_from_slice(&word.to_le_bytes()));
}
