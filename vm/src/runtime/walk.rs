//! Walking wasm frames by their frame pointers.
//!
//! A frame is a frame pointer `fp` with the caller's at `[fp]` and the return address at `[fp + 8]`. The walk of one
//! activation ends at the frame of its entry trampoline.

use std::ptr;

use super::activation::{self, Activation};

/// The return addresses of the frames from `fp` (inclusive) up to the entry trampoline whose frame pointer is `end`,
/// innermost first; the return into the trampoline itself is left out.
///
/// # Safety
/// `fp` is the frame pointer of a frame in an activation of this thread whose trampoline has frame pointer `end`.
pub unsafe fn returns(mut fp: usize, end: usize) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        if fp == end {
            return None;
        }
        // SAFETY: `fp` is a live frame of machine code, all of which keeps frame pointers.
        let (caller, pc) = unsafe { (*(fp as *const usize), *((fp + 8) as *const usize)) };
        fp = caller;
        (fp != end).then_some(pc)
    })
}

/// The return addresses of this thread's live wasm frames, innermost first, up to `limit`; not those of the newest
/// activation that wasm code, rather than the host, is running in.
///
/// # Safety
/// The thread is in host code, entered from wasm in the proper way, or by none.
pub unsafe fn live(limit: usize, mut visit: impl FnMut(usize)) {
    let mut left = limit;
    let mut activation = activation::newest();
    // SAFETY: activations on the chain are live frames' locals.
    while let Some(current) = unsafe { activation.as_ref() } {
        // SAFETY: the frame pointer was left by a trampoline of the activation that has not returned yet.
        let frames = unsafe { returns(exit_fp(current), (*current.vm.get()).fp) };
        for pc in frames {
            if left == 0 {
                return;
            }
            left -= 1;
            visit(pc);
        }
        activation = current.previous;
    }
}

/// The frame pointer with which `of` left wasm: its store's current one, unless that store was entered again since.
unsafe fn exit_fp(of: &Activation) -> usize {
    let mut found = None;
    let mut activation = activation::newest();
    while !ptr::eq(activation, of) {
        // SAFETY: activations on the chain are live frames' locals, and `of` is on the chain.
        let current = unsafe { &*activation };
        if current.context == of.context {
            found = Some(current.saved_exit_fp);
        }
        activation = current.previous;
    }
    // SAFETY: the context lives as long as the store that was entered.
    found.unwrap_or_else(|| unsafe { (*of.context).exit_fp })
}
