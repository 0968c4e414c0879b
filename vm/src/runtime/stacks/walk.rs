//! Walking wasm frames by their frame pointers.
//!
//! A frame is a frame pointer `fp` with the caller's frame pointer at `[fp]` and the return address at `[fp +
//! 8]`. The walk of one activation ends at the frame of its entry trampoline. Frames of instrumented code contain
//! their vmctx and their path register, see `MachineCode::vmctx_slot`.

use std::ops::{ControlFlow, Range};
use std::ptr;

use super::activation::{self, Activation};
use super::many_frames::ManyFrames;
use super::raw_frame::RawFrame;
use crate::arch;
use crate::runtime::code::registry::{self, CodeObject};
use crate::runtime::counts::metrics::Sums;
use crate::runtime::instances::abi::{VmContext, VmStoreContext};

/// Returns the callers of the frame with frame pointer `fp` up to the entry trampoline with frame pointer `end`,
/// innermost first, without the trampoline.
///
/// # Safety
/// The caller guarantees that `fp` is the frame pointer of a frame in an activation of this thread whose
/// trampoline has frame pointer `end`.
pub unsafe fn callers(fp: usize, end: usize) -> impl Iterator<Item = RawFrame> {
    // SAFETY: the caller guarantees it; each frame has made a call, so it has reached its first block.
    unsafe { returns(fp, end).map(|(pc, fp)| frame(pc, registry::find_return(pc).as_deref(), fp)) }
}

/// Returns the return address and the frame pointer of each of these callers.
///
/// # Safety
/// The caller guarantees the same as for [`callers`].
pub unsafe fn returns(mut fp: usize, end: usize) -> impl Iterator<Item = (usize, usize)> {
    std::iter::from_fn(move || {
        if fp == end {
            return None;
        }
        // SAFETY: `fp` is a live frame of machine code, all of which keeps frame pointers.
        let (caller, pc) = unsafe { (*(fp as *const usize), *((fp + 8) as *const usize)) };
        fp = caller;
        (fp != end).then_some((pc, fp))
    })
}

/// An entry into wasm code that has not returned.
pub struct Entry {
    /// The instance that was entered.
    pub instance: u32,
    /// The return addresses of the frames that wait for a callee, innermost first.
    pub returns: Vec<usize>,
}

/// Returns the entries of this thread into one store, oldest first, with at most `most` frames in total. Wasm
/// code runs in the newest entry; `fp` is the frame pointer of its innermost frame.
///
/// # Safety
/// The caller guarantees that the thread is in host code that such a frame waits for.
pub unsafe fn entries(context: *const VmStoreContext, fp: usize, most: usize) -> Vec<Entry> {
    let (mut all, mut left, mut running) = (Vec::new(), most, Some(fp));
    let mut activation = activation::newest();
    // SAFETY: activations on the chain are locals of live frames.
    while let Some(current) = unsafe { activation.as_ref() } {
        if ptr::eq(current.context, context) {
            // SAFETY: as in `live`, and an entered instance lives as long as its store.
            let (instance, frames) = unsafe {
                let fp = running.take().unwrap_or_else(|| exit_fp(current));
                ((*current.vmctx).instance as u32, returns(fp, (*current.vm.get()).fp))
            };
            let returns: Vec<usize> = frames.take(left).map(|(pc, _)| pc).collect();
            left -= returns.len();
            all.push(Entry { instance, returns });
        }
        activation = current.previous;
    }
    all.reverse();
    all
}

/// Returns the return address in the wasm code that has called the host; `None` if the function that the host
/// entered has left.
///
/// # Safety
/// The caller guarantees the same as for [`live`].
pub unsafe fn caller_of_host() -> Option<usize> {
    // SAFETY: activations on the chain are locals of live frames, and the newest one has called the host.
    unsafe {
        let newest = activation::newest().as_ref()?;
        returns(exit_fp(newest), (*newest.vm.get()).fp).next().map(|(pc, _)| pc)
    }
}

/// Returns the frame of `code` at `fp`, which continues at `pc`, with the contents of its slots.
///
/// # Safety
/// The caller guarantees that `fp` is the frame pointer of a live frame of `code`, which has reached its first
/// block.
pub unsafe fn frame(pc: usize, code: Option<&CodeObject>, fp: usize) -> RawFrame {
    let at = |below: u32| (fp - below as usize) as *const u64;
    // SAFETY: the code generator has placed the slots there, and the entry of the code has filled them.
    let read = |slot: Option<u32>| slot.map(|below| unsafe { *at(below) });
    let (vmctx, path) = code.map_or((None, None), |o| (read(o.code.vmctx_slot), read(o.code.path_slot)));
    let mut sums = Sums::default();
    if let Some((below, metrics)) = code.and_then(|object| object.code.metrics_slot) {
        let first = at(below).cast::<i64>();
        // SAFETY: as above.
        (0..metrics as usize).for_each(|metric| sums[metric] = unsafe { *first.add(metric) });
    }
    let record = code.and_then(|object| read(object.code.record_slot));
    RawFrame { pc, vmctx: vmctx.map_or(ptr::null(), |vmctx| vmctx as *const VmContext), path, sums, record }
}

/// Visits the callers among this thread's live wasm frames, innermost first, until a visit ends it; not those of the
/// newest activation if wasm code, rather than the host, is running in it. Each is passed with the context of the
/// store that was entered. Some are frames of trampolines.
///
/// # Safety
/// The caller guarantees that the thread is in host code, entered from wasm in the proper way, or by none.
pub unsafe fn live(mut visit: impl FnMut(RawFrame, *const VmStoreContext) -> ControlFlow<()>) {
    let mut activation = activation::newest();
    // SAFETY: activations on the chain are locals of live frames.
    while let Some(current) = unsafe { activation.as_ref() } {
        // SAFETY: a trampoline of the activation that has not returned yet has left the frame pointer.
        let frames = unsafe { callers(exit_fp(current), (*current.vm.get()).fp) };
        for frame in frames {
            if visit(frame, current.context).is_break() {
                return;
            }
        }
        activation = current.previous;
    }
}

/// Returns the wasm frames of this thread, entered through one store, in which the host runs: those of each
/// activation, innermost first, without those of the newest activation if wasm code is running in it.
///
/// # Safety
/// The caller guarantees that the thread is in host code, entered from wasm in the proper way, by none, or by a
/// signal.
pub unsafe fn left_for_host(context: *const VmStoreContext, in_wasm: bool) -> Vec<ManyFrames> {
    let mut all = Vec::new();
    let mut activation = activation::newest();
    let mut is_running = in_wasm;
    // SAFETY: activations on the chain are locals of live frames.
    while let Some(current) = unsafe { activation.as_ref() } {
        if !std::mem::replace(&mut is_running, false) && ptr::eq(current.context, context) {
            // SAFETY: as in `live`.
            all.push(unsafe { callers(exit_fp(current), (*current.vm.get()).fp) }.collect());
        }
        activation = current.previous;
    }
    all
}

/// A word at any alignment.
#[repr(C, packed)]
struct Word(u64);

/// Visits all words of this thread's stacks from here up to its oldest entry into wasm code, and those still in
/// registers: everything that wasm code which waits for the host holds. Machine code keeps values in callee-saved
/// registers, so they may be in frames of the host as well. Returns whether these are all words; they are not if
/// the host has switched to an unknown stack.
///
/// # Safety
/// The caller guarantees the same as for [`live`].
pub unsafe fn words_of_stack(mut visit: impl FnMut(u64)) -> bool {
    // 32-bit values are stored next to each other.
    const STEP: usize = 4;
    // SAFETY: the range is the part of a stack between a stack pointer and a frame further up, which exists as
    // long as that frame. Most of it belongs to other frames, whose owners do not run meanwhile.
    let mut scan = |words: Range<usize>| unsafe {
        let last = words.end.saturating_sub(size_of::<u64>() - 1);
        (words.start..last).step_by(STEP).for_each(|at| visit(ptr::read_volatile(at as *const Word).0));
    };
    let registers = arch::preserved_registers();
    scan(registers.as_ptr_range().start.addr()..registers.as_ptr_range().end.addr());
    let mut low = arch::stack_pointer();
    let mut activation = activation::newest();
    // SAFETY: activations on the chain are locals of live frames.
    while let Some(current) = unsafe { activation.as_ref() } {
        // SAFETY: the trampoline has written it.
        let end = unsafe { (*current.vm.get()).fp };
        if !current.stack.contains(&low) || low > end {
            return false;
        }
        low = match current.is_on_own_stack {
            true => {
                scan(low..current.stack.end);
                // SAFETY: `entries::enter_on_stack` has stored it there.
                unsafe { *((current.stack.end - size_of::<usize>()) as *const usize) }
            }
            false => {
                scan(low..end);
                end
            }
        };
        activation = current.previous;
    }
    true
}

/// Returns the frame pointer with which `of` left wasm: its store's current one, unless that store was entered
/// again since.
unsafe fn exit_fp(of: &Activation) -> usize {
    let mut found = None;
    let mut activation = activation::newest();
    while !ptr::eq(activation, of) {
        // SAFETY: activations on the chain are locals of live frames, and `of` is on the chain.
        let current = unsafe { &*activation };
        if current.context == of.context {
            found = Some(current.saved_exit_fp);
        }
        activation = current.previous;
    }
    // SAFETY: the context lives as long as the store that was entered.
    found.unwrap_or_else(|| unsafe { (*of.context).exit_fp })
}
