//! Linear memories that several stores, and therefore several threads, share.
//!
//! The whole maximum size of such a memory is reserved, so its base never changes, and growth makes more of it
//! accessible, under a lock. The length is an atomic that machine code reads.
//!
//! **Invariant**: no Rust reference to the contents is ever created, since machine code of other threads may write them
//! at any time. The runtime reads and writes them by atomic accesses of bytes and words, in no order, as the
//! specification describes non-atomic accesses.
//! Source: the threads proposal, "Shared linear memory" and "Data races".

use std::ops::Range;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use wprof_jit::compile::MemoryStyle;

use super::mapping::Mapping;
use super::pages::WASM_PAGE;
use super::private_memory::minimum_within;
use crate::runtime::instances::abi::VmMemory;
use crate::runtime::interruption::parking::Parking;
use crate::{Error, ErrorKind, MemoryType, Result, StoreLimits};

/// Bytes of a word.
const WORD: usize = 8;

/// The definition of a shared memory that machine code reads: the layout of [`VmMemory`], with an atomic length.
#[derive(Debug)]
#[repr(C)]
struct Definition {
    base: NonNull<u8>,
    len: AtomicU64,
}

const _: () = {
    use std::mem::{align_of, offset_of, size_of};
    assert!(
        size_of::<Definition>() == size_of::<VmMemory>()
            && align_of::<Definition>() == align_of::<VmMemory>()
    );
    assert!(offset_of!(Definition, base) == offset_of!(VmMemory, base));
    assert!(offset_of!(Definition, len) == offset_of!(VmMemory, len));
};

/// A shared memory.
#[derive(Debug)]
pub struct SharedData {
    ty: MemoryType,
    /// Maximum size in bytes.
    limit: u64,
    definition: Definition,
    mapping: Mapping,
    growth: Mutex<()>,
    /// The threads that wait at its addresses.
    pub parking: Parking,
}

// SAFETY: the base points into the mapping, which is `Send` and `Sync`. Only machine code, and atomics in this module,
// access it. Atomics of different sizes may overlap, which Rust's memory model leaves open: each is one
// instruction of the processor, which behaves as wasm's memory model allows.
unsafe impl Send for SharedData {}
// SAFETY: as above.
unsafe impl Sync for SharedData {}

impl SharedData {
    /// Creates a zeroed memory.
    ///
    /// # Errors
    /// Fails if the type has no maximum, its minimum exceeds the limits, or the system has no address space for its
    /// maximum size.
    pub fn new(ty: MemoryType, style: MemoryStyle, limits: &StoreLimits) -> Result<SharedData> {
        let maximum = ty.maximum.ok_or_else(|| {
            Error::new(ErrorKind::Limit, "a shared memory needs a maximum: give MemoryType one")
        })?;
        let limit = maximum.saturating_mul(WASM_PAGE).min(limits.memory_bytes(ty.is_64));
        let minimum = minimum_within(ty.minimum, limit)?;
        let reservation = if ty.is_64 { limit } else { style.reservation.max(limit) };
        let failed = |e: std::io::Error| Error::system("no address space for a shared memory", e);
        let mapping = Mapping::reserve(reservation.saturating_add(style.guard)).map_err(failed)?;
        mapping.make_accessible(0, minimum).map_err(failed)?;
        let definition = Definition { base: mapping.base(), len: AtomicU64::new(minimum) };
        Ok(SharedData {
            ty,
            limit,
            definition,
            mapping,
            growth: Mutex::default(),
            parking: Parking::default(),
        })
    }

    /// Returns its declared type.
    pub fn ty(&self) -> MemoryType {
        self.ty
    }

    /// Returns the definition that machine code reads.
    pub fn definition(&self) -> NonNull<VmMemory> {
        NonNull::from(&self.definition).cast()
    }

    /// Returns the address of its contents.
    pub fn base(&self) -> NonNull<u8> {
        self.mapping.base()
    }

    /// Returns the current size in bytes; it never shrinks.
    pub fn len(&self) -> u64 {
        self.definition.len.load(Ordering::SeqCst)
    }

    /// Grows the memory by `delta` pages and returns the old size in pages, or `None` if it cannot grow.
    pub fn grow(&self, delta: u64) -> Option<u64> {
        let _one_at_a_time = self.growth.lock().unwrap_or_else(PoisonError::into_inner);
        let old = self.len();
        let new = delta.checked_mul(WASM_PAGE).and_then(|delta| old.checked_add(delta))?;
        if new > self.limit {
            return None;
        }
        self.mapping.make_accessible(old, new).ok()?;
        self.definition.len.store(new, Ordering::SeqCst);
        Some(old / WASM_PAGE)
    }

    fn check(&self, at: usize, len: usize) {
        assert!(at.checked_add(len).is_some_and(|end| end as u64 <= self.len()), "checked before");
    }

    fn byte(&self, at: usize) -> &AtomicU8 {
        // SAFETY: the callers have checked that `at` is inside, and only atomics and machine code access the byte.
        unsafe { AtomicU8::from_ptr(self.base().as_ptr().add(at)) }
    }

    fn word(&self, at: usize) -> &AtomicU64 {
        debug_assert!(at.is_multiple_of(WORD));
        // SAFETY: as in `byte`; the base is page-aligned, so the word is aligned.
        unsafe { AtomicU64::from_ptr(self.base().as_ptr().add(at).cast()) }
    }

    /// Copies bytes out of the memory.
    ///
    /// # Panics
    /// Panics if the range is not entirely inside.
    pub fn read(&self, at: usize, to: &mut [u8]) {
        self.check(at, to.len());
        let words = words(at, to.len());
        for index in (0..words.start).chain(words.end..to.len()) {
            to[index] = self.byte(at + index).load(Ordering::Relaxed);
        }
        for (index, word) in words.clone().step_by(WORD).zip(to[words].chunks_exact_mut(WORD)) {
            word.copy_from_slice(&self.word(at + index).load(Ordering::Relaxed).to_ne_bytes());
        }
    }

    /// Copies bytes into the memory.
    ///
    /// # Panics
    /// Panics if the range is not entirely inside.
    pub fn write(&self, at: usize, from: &[u8]) {
        self.check(at, from.len());
        let words = words(at, from.len());
        for index in (0..words.start).chain(words.end..from.len()) {
            self.byte(at + index).store(from[index], Ordering::Relaxed);
        }
        for (index, word) in words.clone().step_by(WORD).zip(from[words].chunks_exact(WORD)) {
            let word = u64::from_ne_bytes(word.try_into().expect("eight bytes"));
            self.word(at + index).store(word, Ordering::Relaxed);
        }
    }

    /// Reads the 32-bit or 64-bit number at an address as atomic instructions do.
    ///
    /// # Panics
    /// Panics if the number is not inside, or the address is not a multiple of its size.
    pub fn number(&self, at: usize, is_64: bool) -> u64 {
        let size = if is_64 { 8 } else { 4 };
        self.check(at, size);
        assert!(at.is_multiple_of(size));
        if is_64 {
            return self.word(at).load(Ordering::SeqCst);
        }
        // SAFETY: as in `byte`; the address is aligned, as just checked.
        let number = unsafe { AtomicU32::from_ptr(self.base().as_ptr().add(at).cast()) };
        number.load(Ordering::SeqCst).into()
    }
}

/// Returns the part of a byte range from an address on that consists of whole words.
fn words(at: usize, len: usize) -> Range<usize> {
    let start = (at.next_multiple_of(WORD) - at).min(len);
    start..start + (len - start) / WORD * WORD
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memory(minimum: u32, maximum: u32) -> SharedData {
        let style = MemoryStyle { reservation: 0, guard: WASM_PAGE };
        SharedData::new(MemoryType::shared(minimum, maximum), style, &StoreLimits::default()).expect("made")
    }

    #[test]
    fn bytes_are_copied_from_and_to_any_place() {
        let memory = memory(1, 1);
        for at in 65500..65520 {
            for len in 0..17 {
                let bytes: Vec<u8> = (1..=len as u8).collect();
                memory.write(at - 1, &vec![0; len + 2]);
                memory.write(at, &bytes);
                let mut around = vec![9; len + 2];
                memory.read(at - 1, &mut around);
                assert_eq!(around, [&[0][..], &bytes, &[0]].concat(), "{at} {len}");
            }
        }
        assert_eq!(
            memory.number(65512, true).to_le_bytes()[..4],
            memory.number(65512, false).to_le_bytes()[..4]
        );
    }

    #[test]
    fn it_grows_where_it_is_as_far_as_its_maximum_and_by_one_thread_at_a_time() {
        let memory = memory(1, 101);
        let base = memory.base();
        let grown: Vec<u64> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4)
                .map(|_| scope.spawn(|| std::iter::from_fn(|| memory.grow(1)).collect::<Vec<_>>()))
                .collect();
            threads.into_iter().flat_map(|thread| thread.join().expect("no panic")).collect()
        });
        let mut sizes = grown.clone();
        sizes.sort_unstable();
        assert!(sizes.into_iter().eq(1..101), "each size was one thread's: {grown:?}");
        assert_eq!((memory.base(), memory.len()), (base, 101 * WASM_PAGE));
        memory.write(101 * WASM_PAGE as usize - 1, &[1]);
    }
}
