//! Resources that instances leave for the next ones: memories with their address space and the pages of their images,
//! tables, and vmctxs.
//!
//! Reserving and releasing address space, and copying data into it, takes far longer than undoing writes: the few pages
//! that an instance has written are written anew, or if there are more, the system drops them, and the next read sees
//! the image again.
//! Invariant: the pool holds no data of an earlier instance: a memory consists of its image and zeros, accessible up to
//! its minimum; a vmctx is zeroed. Resources that cannot be reset are returned to the system.

use std::io;
use std::ptr::NonNull;
use std::sync::Arc;

use rustix::mm::{Advice, MprotectFlags, madvise, mprotect};

use crate::config::PoolingConfig;
use crate::runtime::code::reservation::PAGE;
use crate::runtime::control::osr_buffer::OsrBuffer;
use crate::runtime::instances::kept::Kept;
use crate::runtime::interruption::interrupt_page::Page;
use crate::runtime::linear_memory::mapping::Mapping;
use crate::runtime::linear_memory::memory_image::MemoryImage;
use crate::runtime::linear_memory::written_pages::written_pages;

/// The resources that instances of one engine have left.
#[derive(Debug)]
pub struct Pool {
    memories: Kept<MemoryShape, KeptMemory>,
    /// By their size.
    vmctxs: Kept<usize, Mapping>,
    /// The memory of tables, empty, by the number of elements that it has room for.
    tables: Kept<usize, Vec<u64>>,
    /// Maximum number of written pages that a kept memory has.
    kept_pages: usize,
    /// What stores need.
    pub interrupt_pages: Arc<Kept<(), Page>>,
    pub osr_buffers: Kept<(), OsrBuffer>,
}

/// Bytes of a kept vmctx that stay present.
const VMCTX_KEPT: usize = 16 << 10;

/// The properties by which one memory can replace another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct MemoryShape {
    /// Address of the image, which the kept memory keeps alive.
    image: usize,
    minimum: u64,
    size: usize,
}

#[derive(Debug)]
struct KeptMemory {
    mapping: Mapping,
    /// Keeps the shape's address from being reused by another image.
    _image: Option<Arc<MemoryImage>>,
}

impl Pool {
    /// Creates an empty pool.
    pub fn new(config: PoolingConfig) -> Pool {
        let PoolingConfig { memories, instances, tables, stacks: _, kept_bytes } = config;
        Pool {
            memories: Kept::new(memories),
            vmctxs: Kept::new(instances),
            tables: Kept::new(tables),
            kept_pages: kept_bytes / PAGE,
            interrupt_pages: Arc::new(Kept::new(instances)),
            osr_buffers: Kept::new(instances),
        }
    }

    /// Returns address space of `size` bytes for a memory, with the contents of the image, accessible up to `minimum`.
    ///
    /// # Errors
    /// Fails if the system refuses.
    pub fn memory(&self, size: u64, minimum: u64, image: Option<&Arc<MemoryImage>>) -> io::Result<Mapping> {
        if let Some(kept) = usize::try_from(size).ok().and_then(|size| self.kept(size, minimum, image)) {
            return Ok(kept.mapping);
        }
        let mapping = Mapping::reserve(size)?;
        mapping.make_accessible(0, minimum)?;
        if let Some(image) = image {
            assert!(image.reach() as u64 <= minimum, "the image is of a memory of this type");
            // SAFETY: the mapping is fresh, and accessible as far as the image reaches, by the assertion.
            unsafe { image.map(mapping.base())? };
        }
        Ok(mapping)
    }

    fn kept(&self, size: usize, minimum: u64, image: Option<&Arc<MemoryImage>>) -> Option<KeptMemory> {
        self.memories.take(shape(size, minimum, image))
    }

    /// Takes back a memory's address space, which was accessible up to `len` and is no longer used.
    pub fn put_memory(&self, mapping: Mapping, minimum: u64, len: u64, image: Option<Arc<MemoryImage>>) {
        // SAFETY: this function owns the mapping.
        if unsafe { self.reset_memory(&mapping, minimum, len, image.as_deref()) }.is_err() {
            return;
        }
        let shape = shape(mapping.size(), minimum, image.as_ref());
        let kept = KeptMemory { mapping, _image: image };
        // The replaced item is dropped after the lock is released.
        self.memories.put(shape, kept);
    }

    /// Resets a memory to its initial state.
    ///
    /// # Safety
    /// The caller owns the mapping, and nothing uses its contents.
    unsafe fn reset_memory(
        &self,
        mapping: &Mapping,
        minimum: u64,
        len: u64,
        image: Option<&MemoryImage>,
    ) -> io::Result<()> {
        assert!(minimum <= len && len <= mapping.size() as u64);
        let (base, minimum, len) = (mapping.base(), minimum as usize, len as usize);
        // SAFETY: the caller upholds this function's safety contract; the mapping is that long, by the assertion.
        unsafe {
            if !self.restore_written(base, minimum, image) {
                forget(base, minimum)?;
            }
            let grown = base.add(minimum);
            forget(grown, len - minimum)?;
            if minimum < len {
                mprotect(grown.as_ptr().cast(), len - minimum, MprotectFlags::empty())?;
            }
        }
        Ok(())
    }

    /// Writes the pages anew that were written to, if they are few. Returns whether all are as in the beginning.
    ///
    /// # Safety
    /// The caller owns these accessible pages, and nothing uses their contents.
    unsafe fn restore_written(&self, base: NonNull<u8>, len: usize, image: Option<&MemoryImage>) -> bool {
        let start = base.addr().get();
        let Some(ranges) = written_pages(start..start + len, self.kept_pages) else { return false };
        ranges.into_iter().all(|range| {
            let at = range.start - start;
            // SAFETY: the caller upholds this function's safety contract, and the range is one of those pages.
            let pages = unsafe { std::slice::from_raw_parts_mut(base.as_ptr().add(at), range.len()) };
            match image {
                Some(image) => image.restore(at, pages),
                None => {
                    pages.fill(0);
                    true
                }
            }
        })
    }

    /// Returns the zeroed mapping of a vmctx of `size` bytes, if one is kept.
    pub fn vmctx(&self, size: usize) -> Option<Mapping> {
        self.vmctxs.take(size)
    }

    /// Takes back a mapping of a vmctx that is no longer used.
    pub fn put_vmctx(&self, mapping: Mapping) {
        let size = mapping.size();
        // SAFETY: this function owns the entire mapping.
        if unsafe { reset_vmctx(mapping.base(), size) }.is_ok() {
            self.vmctxs.put(size, mapping);
        }
    }

    /// Returns memory with room for so many elements of a table.
    pub fn table(&self, elements: usize) -> Vec<u64> {
        self.tables.take(elements).unwrap_or_else(|| Vec::with_capacity(elements))
    }

    /// Takes back the memory of a table that had so many elements at first.
    pub fn put_table(&self, mut elements: Vec<u64>, first: usize) {
        let has_grown = elements.capacity() != first;
        if first > 0 && !has_grown && first * size_of::<u64>() <= self.kept_pages * PAGE {
            elements.clear();
            self.tables.put(first, elements);
        }
    }

    /// Returns the number of kept memories and vmctxs.
    pub fn kept_now(&self) -> (usize, usize) {
        (self.memories.len(), self.vmctxs.len())
    }

    /// Returns the number of kept tables.
    pub fn kept_tables(&self) -> usize {
        self.tables.len()
    }
}

fn shape(size: usize, minimum: u64, image: Option<&Arc<MemoryImage>>) -> MemoryShape {
    MemoryShape { image: image.map_or(0, |image| Arc::as_ptr(image).addr()), minimum, size }
}

/// Zeroes a vmctx: the first pages, which have what each instance needs, by writing, so that the next instance finds
/// them present; the others, which have counters that few functions use, by discarding them.
///
/// # Safety
/// The caller owns the mapping, which is accessible, and nothing uses its contents.
unsafe fn reset_vmctx(base: NonNull<u8>, size: usize) -> io::Result<()> {
    let written = size.min(VMCTX_KEPT);
    // SAFETY: the caller upholds this function's safety contract.
    unsafe {
        base.write_bytes(0, written);
        forget(base.add(written), size - written)
    }
}

/// Discards writes to some pages: they are zero again, or have the contents of their file.
///
/// # Safety
/// They are private pages of one mapping, which the caller owns, and nothing uses their contents.
unsafe fn forget(base: NonNull<u8>, len: usize) -> io::Result<()> {
    if len > 0 {
        // SAFETY: the caller upholds this function's safety contract.
        unsafe { madvise(base.as_ptr().cast(), len, Advice::LinuxDontNeed)? };
    }
    Ok(())
}
