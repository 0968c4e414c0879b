//! What instances leave for the next ones: memories with their address space and the pages of their images, and vmctxs.
//!
//! To reserve and to give back address space, and to copy data into it, takes far longer than to forget what was written:
//! the system drops the pages that an instance has written, and what is read next is the image again.
//! Invariant: what is in the pool holds nothing of an earlier instance: a memory is its image and zeros, accessible up to its
//! minimum; a vmctx is zeros. What cannot be brought there is given back to the system.

use std::collections::HashMap;
use std::hash::Hash;
use std::io;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, PoisonError};

use rustix::mm::{Advice, MprotectFlags, madvise, mprotect};

use crate::config::PoolingConfig;
use crate::runtime::linear_memory::mapping::Mapping;
use crate::runtime::linear_memory::memory_image::MemoryImage;

/// What instances of one engine have left.
#[derive(Debug)]
pub struct Pool {
    memories: Mutex<Shelf<MemoryShape, KeptMemory>>,
    vmctxs: Mutex<Shelf<usize, Mapping>>,
}

/// By what memories can take the place of each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct MemoryShape {
    /// Address of the image, which whoever is kept with it has.
    image: usize,
    minimum: u64,
    size: usize,
}

#[derive(Debug)]
struct KeptMemory {
    mapping: Mapping,
    /// Keeps the address in the shape from being another image's.
    _image: Option<Arc<MemoryImage>>,
}

/// Things that are kept, by shape.
#[derive(Debug)]
struct Shelf<K, V> {
    kept: HashMap<K, Vec<V>>,
    count: usize,
    most: usize,
}

impl<K: Copy + Eq + Hash, V> Shelf<K, V> {
    fn new(most: usize) -> Shelf<K, V> {
        Shelf { kept: HashMap::new(), count: 0, most }
    }

    fn take(&mut self, shape: K) -> Option<V> {
        let kept = self.kept.get_mut(&shape)?;
        let one = kept.pop()?;
        if kept.is_empty() {
            self.kept.remove(&shape);
        }
        self.count -= 1;
        Some(one)
    }

    /// Keeps one; gives what has to go instead, one of another shape if there is any.
    fn put(&mut self, shape: K, one: V) -> Option<V> {
        let instead = if self.count < self.most {
            None
        } else {
            let Some(&other) = self.kept.keys().find(|other| **other != shape) else { return Some(one) };
            self.take(other)
        };
        self.kept.entry(shape).or_default().push(one);
        self.count += 1;
        instead
    }
}

impl Pool {
    /// An empty one.
    pub fn new(config: PoolingConfig) -> Pool {
        let PoolingConfig { memories, instances, .. } = config;
        Pool { memories: Mutex::new(Shelf::new(memories)), vmctxs: Mutex::new(Shelf::new(instances)) }
    }

    /// Address space of `size` bytes for a memory, with what the image has, and accessible up to `minimum`.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn memory(&self, size: u64, minimum: u64, image: Option<&Arc<MemoryImage>>) -> io::Result<Mapping> {
        if let Some(kept) = usize::try_from(size).ok().and_then(|size| self.kept(size, minimum, image)) {
            return Ok(kept.mapping);
        }
        let mapping = Mapping::reserve(size)?;
        mapping.make_accessible(0, minimum)?;
        if let Some(image) = image {
            assert!(image.reach() as u64 <= minimum, "the image is of a memory of this type");
            // SAFETY: a fresh mapping, which is accessible as far as the image reaches, by the assertion.
            unsafe { image.map(mapping.base())? };
        }
        Ok(mapping)
    }

    fn kept(&self, size: usize, minimum: u64, image: Option<&Arc<MemoryImage>>) -> Option<KeptMemory> {
        self.memories.lock().unwrap_or_else(PoisonError::into_inner).take(shape(size, minimum, image))
    }

    /// Takes a memory's address space back, which was accessible up to `len`; nobody uses it any more.
    pub fn put_memory(&self, mapping: Mapping, minimum: u64, len: u64, image: Option<Arc<MemoryImage>>) {
        // SAFETY: the mapping is ours now.
        if unsafe { reset_memory(&mapping, minimum, len) }.is_err() {
            return;
        }
        let shape = shape(mapping.size(), minimum, image.as_ref());
        let kept = KeptMemory { mapping, _image: image };
        // What has to go goes when the lock is free again.
        let _instead = self.memories.lock().unwrap_or_else(PoisonError::into_inner).put(shape, kept);
    }

    /// The mapping of a vmctx of `size` bytes, all zero, if one is kept.
    pub fn vmctx(&self, size: usize) -> Option<Mapping> {
        self.vmctxs.lock().unwrap_or_else(PoisonError::into_inner).take(size)
    }

    /// Takes one back; nobody uses it any more.
    pub fn put_vmctx(&self, mapping: Mapping) {
        let size = mapping.size();
        // SAFETY: the mapping is ours now, and all of it.
        if unsafe { forget(mapping.base(), size) }.is_ok() {
            let _instead = self.vmctxs.lock().unwrap_or_else(PoisonError::into_inner).put(size, mapping);
        }
    }

    /// How many memories and vmctxs are kept.
    pub fn kept_now(&self) -> (usize, usize) {
        let memories = self.memories.lock().unwrap_or_else(PoisonError::into_inner).count;
        (memories, self.vmctxs.lock().unwrap_or_else(PoisonError::into_inner).count)
    }
}

fn shape(size: usize, minimum: u64, image: Option<&Arc<MemoryImage>>) -> MemoryShape {
    MemoryShape { image: image.map_or(0, |image| Arc::as_ptr(image).addr()), minimum, size }
}

/// Makes a memory what it was at the start.
///
/// # Safety
/// The mapping is the caller's, and nobody uses what is in it.
unsafe fn reset_memory(mapping: &Mapping, minimum: u64, len: u64) -> io::Result<()> {
    assert!(minimum <= len && len <= mapping.size() as u64);
    // SAFETY: as required above; it is that long.
    unsafe { forget(mapping.base(), len as usize)? };
    if minimum < len {
        // SAFETY: a part of the mapping, by the assertion; as required above.
        unsafe {
            let grown = mapping.base().as_ptr().add(minimum as usize);
            mprotect(grown.cast(), (len - minimum) as usize, MprotectFlags::empty())?;
        }
    }
    Ok(())
}

/// Drops what was written to some pages: they are zero again, or what the file has that they are of.
///
/// # Safety
/// They are private pages of one mapping, which is the caller's, and nobody uses what is in them.
unsafe fn forget(base: NonNull<u8>, len: usize) -> io::Result<()> {
    if len > 0 {
        // SAFETY: as required above.
        unsafe { madvise(base.as_ptr().cast(), len, Advice::LinuxDontNeed)? };
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shelf_keeps_no_more_than_it_may_and_what_was_wanted_last() {
        let mut shelf = Shelf::new(2);
        assert_eq!((shelf.put(1, 'a'), shelf.put(1, 'b'), shelf.put(1, 'c')), (None, None, Some('c')));
        assert_eq!(shelf.put(2, 'd'), Some('b'), "another shape is wanted now");
        assert_eq!(
            (shelf.take(2), shelf.take(2), shelf.take(1), shelf.take(1)),
            (Some('d'), None, Some('a'), None)
        );
        assert_eq!((shelf.count, shelf.kept.len()), (0, 0));
        assert_eq!(Shelf::new(0).put(1, 'a'), Some('a'));
    }
}
