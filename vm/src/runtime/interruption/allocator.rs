//! The allocator of a program that ends in order when the system has no memory left.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::io::Write;

thread_local! {
    /// Whether this thread can do without the memory that it asks for.
    static CAN_FAIL: Cell<bool> = const { Cell::new(false) };
}

/// The system's allocator, for the whole process of a command: when there is no memory left, the process says so
/// and ends with exit code 1, where Rust's allocation would raise SIGABRT.
///
/// Growing a table is not affected: it fails, as it may.
///
/// ```
/// #[global_allocator]
/// static ALLOCATOR: wprof::ProcessAllocator = wprof::ProcessAllocator;
/// # fn main() {}
/// ```
#[derive(Debug)]
pub struct ProcessAllocator;

/// Runs `allocate`, which can do without the memory that it asks for.
pub fn or_fail<T>(allocate: impl FnOnce() -> T) -> T {
    let before = CAN_FAIL.replace(true);
    let done = allocate();
    CAN_FAIL.set(before);
    done
}

fn checked(memory: *mut u8, size: usize) -> *mut u8 {
    if memory.is_null() && !CAN_FAIL.get() {
        end(size);
    }
    memory
}

#[cold]
fn end(size: usize) -> ! {
    let mut text = [0; 128];
    let mut rest = &mut text[..];
    // The text is shorter than the buffer, and there is nobody to tell if standard error is closed.
    let _ = writeln!(rest, "error: out of memory: the system refuses another {size} bytes (see ulimit -v)");
    let unused = rest.len();
    // SAFETY: the bytes that are written are initialised; `_exit` ends the process without handlers, which could
    // allocate.
    unsafe {
        libc::write(2, text.as_ptr().cast(), text.len() - unused);
        libc::_exit(1)
    }
}

// SAFETY: every call goes to the system's allocator, which has the same contract.
unsafe impl GlobalAlloc for ProcessAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise.
        checked(unsafe { System.alloc(layout) }, layout.size())
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(memory, layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise.
        checked(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller's promise.
        checked(unsafe { System.realloc(memory, layout, size) }, size)
    }
}
