//! Memory for a stack, with a guard below it.
//!
//! Invariant: the mapping begins with inaccessible pages, at least as many as a frame may skip without touching
//! one: generated code touches every page of a large frame, C code may not.

use std::io;
use std::ptr::{self, NonNull};

use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, mprotect, munmap};

const GUARD: usize = 64 << 10;

/// A stack with a guard. It takes memory as it is used.
#[derive(Debug)]
pub struct GuardedStack {
    base: NonNull<u8>,
    size: usize,
}

// SAFETY: it owns a range of memory alone, and does not access the contents.
unsafe impl Send for GuardedStack {}
// SAFETY: as for `Send`.
unsafe impl Sync for GuardedStack {}

impl GuardedStack {
    /// Creates a stack of `size` bytes, a multiple of the page size.
    ///
    /// # Errors
    /// Returns an error if the system has no memory for the stack.
    pub fn new(size: usize) -> io::Result<GuardedStack> {
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE | MapFlags::STACK;
        // SAFETY: a fresh mapping at an address that the kernel chooses disturbs nothing, and its first pages are
        // still unused. If they cannot be made the guard, dropping `stack` unmaps it.
        unsafe {
            let base =
                mmap_anonymous(ptr::null_mut(), GUARD + size, ProtFlags::READ | ProtFlags::WRITE, flags)?;
            let stack = GuardedStack {
                base: NonNull::new(base.cast()).expect("the kernel does not map page 0"),
                size,
            };
            mprotect(base, GUARD, rustix::mm::MprotectFlags::empty())?;
            Ok(stack)
        }
    }

    /// Returns the lowest address.
    pub fn low(&self) -> *mut u8 {
        // SAFETY: the guard and `size` more bytes are mapped.
        unsafe { self.base.as_ptr().add(GUARD) }
    }

    /// Returns the address behind it, where a stack pointer begins.
    pub fn top(&self) -> *mut u8 {
        // SAFETY: as in `low`.
        unsafe { self.base.as_ptr().add(GUARD + self.size) }
    }

    /// Clears at most the upper `bytes` of the stack. Nothing may run on it.
    pub fn clear(&mut self, bytes: usize) {
        let bytes = bytes.min(self.size);
        // SAFETY: that many bytes below the top are mapped, and the exclusive reference shows that nobody uses them.
        unsafe { self.top().sub(bytes).write_bytes(0, bytes) };
    }
}

impl Drop for GuardedStack {
    fn drop(&mut self) {
        // SAFETY: `new` mapped it with this size. Its owner drops it when nothing runs on it any more.
        let _ = unsafe { munmap(self.base.as_ptr().cast(), GUARD + self.size) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_below_cannot_be_written() {
        let stack = GuardedStack::new(1 << 20).expect("memory");
        let maps = std::fs::read_to_string("/proc/self/maps").expect("procfs");
        let of = |address: usize| {
            let access = |line: &str| {
                let (begin, rest) = line.split_once('-')?;
                let (end, rest) = rest.split_once(' ')?;
                let number = |text| usize::from_str_radix(text, 16).expect("an address");
                (number(begin)..number(end)).contains(&address).then(|| rest[..4].to_owned())
            };
            maps.lines().find_map(access).expect("mapped")
        };
        let (low, top) = (stack.low().addr(), stack.top().addr());
        assert_eq!((of(low), of(top - 1)), ("rw-p".into(), "rw-p".into()));
        assert_eq!((of(low - 1), of(low - GUARD)), ("---p".into(), "---p".into()));
        // SAFETY: these are the first and the last word of the stack.
        unsafe { [low, top - 8].into_iter().for_each(|at| (at as *mut u64).write_volatile(1)) };
    }
}
