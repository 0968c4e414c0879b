//! Linear memories.
//!
//! A memory is a reservation of address space of which the first `len` bytes are accessible. Everything behind
//! them is inaccessible: the rest of the reservation, then the guard. 32-bit memories with the default style
//! reserve all that an i32 can address and never move; other memories move when they outgrow their reservation.
//!
//! Invariant: the definition that machine code reads always matches the mapping. Machine code that relies on a
//! memory not moving is generated only for styles with which it does not move.

use std::ops::Range;
use std::ptr::NonNull;
use std::sync::Arc;

use wprof_jit::compile::MemoryStyle;

use super::demand::{DemandList, DemandPages};
use super::image::Image;
use super::mapping::Mapping;
use super::memory_image::MemoryImage;
use super::pages::{WASM_PAGE, prefer_large_pages, whole_pages};
use crate::runtime::code::reservation::PAGE;
use crate::runtime::instances::abi::VmMemory;
use crate::runtime::instances::pool::Pool;
use crate::runtime::instances::store_ptr::StorePtr;
use crate::{Error, ErrorKind, MemoryType, Result, StoreLimits};

/// Returns the bytes of a memory that begins with so many pages.
///
/// # Errors
/// Returns an error if these are more than `limit` bytes.
pub fn minimum_within(pages: u64, limit: u64) -> Result<u64> {
    pages.checked_mul(WASM_PAGE).filter(|&bytes| bytes <= limit).ok_or_else(|| {
        let kibibytes = u128::from(pages) * u128::from(WASM_PAGE >> 10);
        let message =
            format!("a memory of {pages} pages ({kibibytes} KiB) is above the limit of {limit} bytes");
        Error::new(ErrorKind::Limit, message)
    })
}
/// How often a memory may receive pages from a file, or ask for large pages. Each time adds mappings, of which a
/// process has 65,530.
const MOST_SPLIT: u32 = 16;
/// Growth from which large pages are requested: a program that asks for so much at once will probably use all of
/// it, and large pages take a fraction of the time to create and to look up.
const LARGE_GROWTH: u64 = 2 << 20;
/// The first reservation of movable memories, unless they need more or less.
const MOVABLE_RESERVATION: u64 = 1 << 30;

/// A linear memory of a store.
#[derive(Debug)]
pub struct LinearMemory {
    ty: MemoryType,
    mapping: Mapping,
    guard: u64,
    /// Maximum size in bytes.
    limit: u64,
    movable: bool,
    /// Accessible bytes: the size, which the definition also has while it exists.
    accessible: u64,
    /// How often a part of the memory became a mapping of its own.
    split: u32,
    /// Pages that are read when they are touched. Those of all memories of the store are also in a list for the
    /// signal handler.
    demand: Vec<Arc<DemandPages>>,
    demand_of_store: Arc<DemandList>,
    definition: StorePtr<VmMemory>,
    owns_definition: bool,
    /// The pool that the mapping comes from and returns to, if any, and the size with which the memory began.
    pooled: Option<(Pooled, u64)>,
}

/// The pool of a memory, and the memory's initial contents.
#[derive(Debug)]
pub struct Pooled {
    /// The pool.
    pub pool: Arc<Pool>,
    /// The image of the initial contents, if there is one.
    pub image: Option<Arc<MemoryImage>>,
}

impl LinearMemory {
    /// Creates a zeroed memory of `ty`, for the store that owns this list of pages on demand. Its definition is
    /// `definition`, in a vmctx of the same store, or else its own.
    ///
    /// # Errors
    /// Returns an error if its minimum exceeds the limits, or the system has no address space for it.
    pub fn new(
        ty: MemoryType,
        style: MemoryStyle,
        limits: &StoreLimits,
        definition: Option<NonNull<VmMemory>>,
        demand_of_store: Arc<DemandList>,
        pooled: Option<Pooled>,
    ) -> Result<LinearMemory> {
        let limit =
            ty.maximum.map_or(u64::MAX, |m| m.saturating_mul(WASM_PAGE)).min(limits.memory_bytes(ty.is_64));
        let minimum = minimum_within(ty.minimum, limit)?;
        let is_static = !ty.is_64 && style.is_static();
        let reservation = match ty.is_64 {
            false => style.reservation.max(minimum),
            true => MOVABLE_RESERVATION.min(limit).max(minimum),
        };
        let failed = |e: std::io::Error| Error::system("no address space for a linear memory", e);
        let pooled = pooled.filter(|_| is_static);
        let size = reservation.saturating_add(style.guard);
        let mapping = match &pooled {
            Some(Pooled { pool, image }) => pool.memory(size, minimum, image.as_ref()),
            None => own_mapping(size, minimum, (!is_static).then_some(style.guard)),
        };
        let mapping = mapping.map_err(failed)?;
        let content = VmMemory { base: mapping.base().as_ptr(), len: minimum };
        let owns_definition = definition.is_none();
        let definition = definition.unwrap_or_else(|| NonNull::from(Box::leak(Box::new(content))));
        // SAFETY: the definition lies inside the store's vmctx, or belongs to the memory; nothing else refers to
        // it yet. It lives as long as the store, which owns the memory.
        let definition = unsafe {
            definition.write(content);
            StorePtr::new(definition)
        };
        let (guard, movable) = (style.guard, !is_static);
        Ok(LinearMemory {
            ty,
            mapping,
            guard,
            limit,
            movable,
            accessible: minimum,
            split: 0,
            demand: Vec::new(),
            demand_of_store,
            definition,
            owns_definition,
            pooled: pooled.map(|pooled| (pooled, minimum)),
        })
    }

    /// Returns the type as declared.
    pub fn ty(&self) -> MemoryType {
        self.ty
    }

    /// Returns the definition, which machine code reads.
    pub fn definition(&self) -> NonNull<VmMemory> {
        *self.definition
    }

    /// Returns the size in bytes.
    pub fn len(&self) -> u64 {
        // SAFETY: the definition lives as long as the store that owns this memory.
        unsafe { self.definition.read() }.len
    }

    /// Returns the size in wasm pages.
    pub fn pages(&self) -> u64 {
        self.len() / WASM_PAGE
    }

    /// Returns the address of its contents.
    pub fn base(&self) -> NonNull<u8> {
        self.mapping.base()
    }

    /// Returns the contents.
    pub fn data(&self) -> &[u8] {
        self.part(0..self.len() as usize)
    }

    /// Returns a part of its contents.
    pub fn part(&self, bytes: Range<usize>) -> &[u8] {
        assert!(bytes.start <= bytes.end && bytes.end as u64 <= self.len());
        self.fill(&bytes);
        // SAFETY: the first `len` bytes are accessible, and `fill` has ensured that these are present; the borrow
        // keeps the store, and with it all code that could write them, from running. `fill` writes only missing
        // pages, which no earlier reference can refer to.
        unsafe { std::slice::from_raw_parts(self.mapping.base().as_ptr().add(bytes.start), bytes.len()) }
    }

    /// Returns a part of its contents, mutably.
    pub fn part_mut(&mut self, bytes: Range<usize>) -> &mut [u8] {
        self.fill(&bytes);
        &mut self.data_on_demand()[bytes]
    }

    /// Returns the contents, parts of which become present only when they are touched: only for code that runs on
    /// behalf of the store's wasm code, in its thread, and does not pass the bytes to the system.
    pub fn data_on_demand(&mut self) -> &mut [u8] {
        // SAFETY: the first `len` bytes are accessible, or are made so by the signal handler when they are
        // touched. The borrow is exclusive: the handler writes a page only before its first access, in the middle of an
        // instruction that has read and written nothing of it.
        unsafe { std::slice::from_raw_parts_mut(self.mapping.base().as_ptr(), self.len() as usize) }
    }

    /// Copies bytes within the memory, as if all were read before any are written.
    pub fn copy_within(&mut self, from: Range<usize>, to: usize) {
        self.fill(&from);
        self.fill(&(to..to + from.len()));
        self.data_on_demand().copy_within(from, to);
    }

    /// Returns whether all bytes are present.
    pub fn is_there(&self) -> bool {
        self.demand.iter().all(|pages| pages.are_there())
    }

    /// Makes bytes present.
    pub fn fill(&self, bytes: &Range<usize>) {
        let base = self.mapping.base().addr().get();
        self.demand.iter().for_each(|pages| pages.fill(&(base + bytes.start..base + bytes.end)));
    }

    /// Checks that all pages that were touched could be read.
    ///
    /// # Errors
    /// Returns an error if some could not be read.
    pub fn check(&self) -> std::io::Result<()> {
        self.demand.iter().try_for_each(|pages| pages.check())
    }

    /// Fills in late `bytes` of a file from byte `at` on: as shared pages, if another memory has them already and
    /// as far as that is possible and pays; otherwise as pages that are read when they are touched.
    ///
    /// # Errors
    /// Returns an error if they cannot be read, or the file has changed.
    pub fn fill_late(&mut self, at: usize, image: &Arc<Image>, bytes: Range<usize>) -> std::io::Result<()> {
        let end = at + bytes.len();
        assert!(end as u64 <= self.len());
        image.check()?;
        // The present contents are overwritten.
        self.fill(&(at..end));
        let mut there = 0..0;
        if self.can_split() {
            self.split += 1;
            if let Some((pages, of_pages)) = image.pages(&bytes, at % PAGE)? {
                // SAFETY: the range is accessible memory, and borrowed exclusively.
                let mapped = unsafe { pages.map(of_pages.clone(), self.mapping.base().add(at)) };
                there = mapped.start - of_pages.start..mapped.end - of_pages.start;
            } else {
                there = self.demand(at, image, &bytes)?;
            }
        }
        let data = &mut self.data_on_demand()[at..end];
        image.read_late(bytes.start..bytes.start + there.start, &mut data[..there.start])?;
        image.read_late(bytes.start + there.end..bytes.end, &mut data[there.end..])
    }

    /// Makes those of late `bytes` from byte `at` on that fill whole pages be read on demand, and returns which
    /// these are: none where pages have been on demand before.
    fn demand(
        &mut self,
        at: usize,
        image: &Arc<Image>,
        bytes: &Range<usize>,
    ) -> std::io::Result<Range<usize>> {
        let start = self.mapping.base().addr().get() + at;
        let whole = whole_pages(start, bytes.len());
        let (pages, offset) = (start + whole.start..start + whole.end, bytes.start + whole.start);
        if whole.is_empty() || self.demand.iter().any(|others| others.overlap(&pages)) {
            return Ok(0..0);
        }
        // SAFETY: the pages are accessible, in this mapping, which does not move, and borrowed exclusively; all
        // their bytes are to be overwritten.
        let pages = Arc::new(unsafe { DemandPages::new(pages, image.clone(), offset)? });
        self.demand_of_store.add(&pages);
        self.demand.push(pages);
        Ok(whole)
    }

    /// Returns whether a part of the memory may become a mapping of its own. A memory of several mappings cannot
    /// be moved at once.
    fn can_split(&self) -> bool {
        !self.movable && self.split < MOST_SPLIT
    }

    /// Grows the memory by `delta` pages and returns the old size in pages, or `None` if it cannot grow.
    pub fn grow(&mut self, delta: u64) -> Option<u64> {
        let old = self.len();
        let new =
            delta.checked_mul(WASM_PAGE).and_then(|d| old.checked_add(d)).filter(|&n| n <= self.limit)?;
        if new + self.guard > self.mapping.size() as u64 {
            self.move_to_larger(old, new)?;
        }
        self.mapping.make_accessible(old, new).ok()?;
        self.accessible = new;
        let content = VmMemory { base: self.mapping.base().as_ptr(), len: new };
        // SAFETY: as in `len`; no machine code of the store runs at the same time.
        unsafe { self.definition.write(content) };
        if new - old >= LARGE_GROWTH && self.can_split() {
            prefer_large_pages(&mut self.data_on_demand()[old as usize..]);
            self.split += 1;
        }
        Some(old / WASM_PAGE)
    }

    fn move_to_larger(&mut self, old: u64, new: u64) -> Option<()> {
        assert!(self.movable, "a memory that is fully reserved grows in place");
        let reservation = new.saturating_mul(2).min(self.limit).max(new);
        let reserve = |bytes: u64| Mapping::reserve(bytes.checked_add(self.guard)?).ok();
        let mapping = reserve(reservation).or_else(|| reserve(new))?;
        mapping.take_over(&mut self.mapping, old).ok()?;
        self.mapping = mapping;
        // `grow` makes only the new part accessible; until then the old size holds, at the new address.
        let content = VmMemory { base: self.mapping.base().as_ptr(), len: old };
        // SAFETY: as in `grow`.
        unsafe { self.definition.write(content) };
        Some(())
    }
}

/// Reserves address space for a memory, accessible up to `minimum`. A memory that may move when it grows, with a
/// guard of its own, can start with the minimum.
fn own_mapping(size: u64, minimum: u64, guard_of_movable: Option<u64>) -> std::io::Result<Mapping> {
    let mapping = match (Mapping::reserve(size), guard_of_movable) {
        (Err(_), Some(guard)) => Mapping::reserve(minimum.saturating_add(guard))?,
        (reserved, _) => reserved?,
    };
    mapping.make_accessible(0, minimum)?;
    Ok(mapping)
}

impl Drop for LinearMemory {
    fn drop(&mut self) {
        // If it consists of several mappings, or has pages on demand, discarding its contents does not restore
        // the initial state.
        let is_plain = self.split == 0 && self.demand.is_empty();
        if let Some((Pooled { pool, image }, minimum)) = self.pooled.take().filter(|_| is_plain) {
            pool.put_memory(std::mem::take(&mut self.mapping), minimum, self.accessible, image);
        }
        if self.owns_definition {
            // SAFETY: `new` leaked it; the instances that import the memory are dropped with the same store.
            drop(unsafe { Box::from_raw(self.definition.as_ptr()) });
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn style(reservation: u64) -> MemoryStyle {
        MemoryStyle { reservation, guard: WASM_PAGE }
    }

    #[test]
    fn a_movable_memory_keeps_its_contents_when_it_moves() {
        let ty = MemoryType::new(1, None);
        let mut memory =
            LinearMemory::new(ty, style(2 * WASM_PAGE), &StoreLimits::default(), None, Arc::default(), None)
                .expect("made");
        memory.data_on_demand()[WASM_PAGE as usize - 1] = 7;
        let before = memory.data().as_ptr();
        assert_eq!(memory.grow(100), Some(1));
        assert_ne!(memory.data().as_ptr(), before);
        assert_eq!(memory.data()[WASM_PAGE as usize - 1], 7);
        assert_eq!(memory.data()[101 * WASM_PAGE as usize - 1], 0);
    }

    #[test]
    fn memories_that_grow_by_much_are_of_few_mappings_or_of_one() {
        let mappings = |memory: &LinearMemory| {
            let range = memory.data().as_ptr_range();
            let (from, to) = (range.start.addr(), range.end.addr());
            let maps = std::fs::read_to_string("/proc/self/maps").expect("there is one");
            let address = |text: &str| usize::from_str_radix(text, 16).expect("an address");
            let ranges = maps.lines().filter_map(|line| line.split(' ').next()?.split_once('-'));
            ranges.filter(|&(begin, end)| address(begin) < to && address(end) > from).count()
        };
        let large = LARGE_GROWTH / WASM_PAGE;
        let ty = MemoryType::new(1, None);
        for (reservation, most) in [(4 << 30, 2 * MOST_SPLIT as usize + 1), (WASM_PAGE, 1)] {
            let mut memory = LinearMemory::new(
                ty,
                style(reservation),
                &StoreLimits::default(),
                None,
                Arc::default(),
                None,
            )
            .expect("made");
            for _ in 0..3 * MOST_SPLIT {
                assert!(memory.grow(large).is_some() && memory.grow(1).is_some());
            }
            let mappings = mappings(&memory);
            assert!(mappings <= most, "{mappings} of {most}");
            // Large pages are in mappings of their own.
            let asks = most > 1 && Path::new("/sys/kernel/mm/transparent_hugepage").exists();
            assert_eq!(mappings > 1, asks, "{mappings} of {most}");
        }
    }

    #[test]
    fn growth_stops_at_the_maximum_and_at_the_limit() {
        let ty = MemoryType::new(1, Some(3));
        let mut memory =
            LinearMemory::new(ty, style(4 << 30), &StoreLimits::default(), None, Arc::default(), None)
                .expect("made");
        assert_eq!(memory.grow(3), None);
        assert_eq!(memory.grow(2), Some(1));
        let limits = StoreLimits { memory_size: WASM_PAGE, ..StoreLimits::default() };
        let mut memory =
            LinearMemory::new(MemoryType::new(0, None), style(4 << 30), &limits, None, Arc::default(), None)
                .expect("made");
        assert_eq!((memory.grow(2), memory.grow(1), memory.grow(u64::MAX)), (None, Some(0), None));
    }
}
