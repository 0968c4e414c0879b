//! Throwing: from the throwing frame to the handler, or out of wasm code.
//!
//! A throw is a call of the runtime that does not return. The runtime walks the frames by their frame pointers, as for
//! a trap, up to the first frame whose call has a landing (`compile::Landing`), and resumes the thread there. The
//! frames in between are counted like those that a trap ends: each in the block where it stopped, with its uncounted
//! measurements. If no frame has a landing, the activation ends as after a trap, with the exception as the reason. A
//! host function that fails with an exception enters this code from the trampoline that called it.
//!
//! Machine code decides which exceptions a handler catches: a landing without a handler for an exception rethrows it.
//! The runtime therefore only searches the calls of each frame's code.

use std::iter;
use std::sync::Arc;

use smallvec::SmallVec;

use super::builtins::{caller, fail, is_to_stop};
use super::resume;
use crate::runtime::code::registry::{self, CodeObject};
use crate::runtime::counts::metrics::Sums;
use crate::runtime::instances::abi::VmContext;
use crate::runtime::instances::store_opaque::StoreOpaque;
use crate::runtime::stacks::activation::{self, Activation, TrapRecord};
use crate::runtime::stacks::many_frames::ManyFrames;
use crate::runtime::stacks::raw_frame::RawFrame;
use crate::runtime::stacks::walk;
use crate::runtime::values::exceptions::{Exception, THROWN_FRAMES, ThrownException};
use crate::{Result, arch};
use wprof_jit::abi::TrapCode;

/// The address at which a thread resumes, and its registers there.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Landed {
    pub pc: usize,
    pub sp: usize,
    pub fp: usize,
    pub exception: u64,
    pub pinned: i64,
}

/// Frames: the address at which each resumes, and its frame pointer.
type Frames = SmallVec<[(usize, usize); 16]>;

/// `Builtin::MakeException`.
///
/// # Safety
/// For machine code only, which passes its own vmctx, a tag of its module, and the address of the values of an
/// exception with that tag.
pub unsafe extern "C" fn make_exception(
    vmctx: *const VmContext,
    tag: u32,
    carried: *const crate::runtime::instances::abi::VmValue,
) -> u64 {
    // SAFETY: `entries` calls this builtin.
    if unsafe { is_to_stop(vmctx) } {
        return 0;
    }
    // SAFETY: machine code passes its own vmctx.
    let (store, instance) = unsafe { caller(vmctx) };
    // The values of the exception are still on the stack.
    store.collect_if_due();
    let tag = store.items.tag(store.items.instance(instance).tags[tag as usize]).clone();
    let carried = match tag.ty.params().len() {
        0 => &[][..],
        // SAFETY: that many values exist, and machine code waits for this builtin.
        count => unsafe { std::slice::from_raw_parts(carried, count) },
    };
    match store.charge(Exception::size(&tag), &[]) {
        Ok(charge) => store.collected.exceptions.insert(Arc::new(Exception::new(tag, carried, charge))),
        Err(trap) => fail(store, trap, 0),
    }
}

/// `Builtin::Throw`: reports whether `landed` holds the state to resume. `entries::throw` calls it on behalf of the
/// code at return address `return_pc` with frame pointer `fp`.
///
/// # Safety
/// For `entries::throw` only: `vmctx` belongs to machine code of the newest activation, which waits for this builtin,
/// and `pinned` is the value of its pinned register.
pub unsafe extern "C" fn throw(
    vmctx: *const VmContext,
    exception: u64,
    return_pc: usize,
    fp: usize,
    pinned: i64,
    landed: *mut Landed,
) -> u32 {
    // SAFETY: the caller upholds this function's safety contract; the activation is on the chain.
    let (store, activation) = unsafe { (caller(vmctx).0, &*activation::newest()) };
    let Some(exception) = store.take_thrown(exception) else { return 0 };
    // SAFETY: the caller upholds this function's safety contract; nothing else refers to the place for the answer.
    unsafe {
        resume::store_pinned(activation, pinned);
        *landed = store.unwind(activation, (return_pc, fp), exception);
        (*landed).pinned = resume::pinned(activation).unwrap_or(pinned);
    }
    1
}

impl StoreOpaque {
    /// Returns the exception of a word, or for 0 the exception with which a host function has failed, if any.
    fn take_thrown(&mut self, word: u64) -> Option<Arc<Exception>> {
        if let Some(exception) = self.collected.exceptions.get(word) {
            return Some(exception);
        }
        let thrown = self.control.thrown()?;
        // In another store the exception is an ordinary error.
        let is_ours = thrown.store() == self.items.id();
        is_ours.then(|| self.control.take_pending())?;
        Some(thrown)
    }

    /// Unwinds the frames of the activation up to the one with a handler, if any.
    ///
    /// # Safety
    /// The innermost frame of the activation, which is the newest, has this frame pointer and waits for a call that
    /// returns to this address.
    unsafe fn unwind(
        &mut self,
        activation: &Activation,
        (return_pc, fp): (usize, usize),
        exception: Arc<Exception>,
    ) -> Landed {
        // SAFETY: the trampoline has written `fp`.
        let end = unsafe { (*activation.vm.get()).fp };
        // SAFETY: the caller upholds this function's safety contract.
        let mut all = iter::once((return_pc, fp)).chain(unsafe { walk::returns(fp, end) });
        let mut ended = Frames::new();
        let mut caught = None;
        for (pc, fp) in all.by_ref() {
            let object = registry::find_return(pc);
            if let Some((landing, frame)) = object.as_deref().and_then(|object| object.landing_of(pc)) {
                caught = Some(((pc, fp), landing, frame));
                break;
            }
            // The trampoline that called a host function is not a frame of the program.
            if !(ended.is_empty() && object.is_some_and(|object| object.function.is_none())) {
                ended.push((pc, fp));
            }
        }
        let catching = caught.map(|(frame, ..)| frame);
        exception.thrown.get_or_init(|| {
            let all = ended.iter().copied().chain(catching).chain(all);
            all.map(|(pc, _)| pc).take(THROWN_FRAMES).collect()
        });
        let record = || TrapRecord {
            code: Some(TrapCode::Host),
            top: RawFrame { pc: 0, vmctx: std::ptr::null(), path: None, sums: Sums::default(), record: None },
            // SAFETY: these frames wait for callees.
            callers: unsafe { raw(&ended) },
            is_thrown_again: is_thrown_again((return_pc, fp), &ended),
            cycles: arch::cycles(),
        };
        if let Some(((pc, fp), landing, frame)) = caught {
            if self.engine().config().stack.max_depth.is_some() {
                self.control.give_back_frames(ended.len());
            }
            // SAFETY: as above; the frame with the handler and those below it stay.
            let done = self.end_frames(record, || unsafe { raw_from((pc, fp), end) });
            let word = self.collected.exceptions.word(Some(exception));
            match done {
                Ok(()) => return Landed { pc: landing, sp: fp - frame, fp, exception: word, pinned: 0 },
                Err(error) => self.control.fail_with(error),
            }
        } else {
            self.control.fail_with(ThrownException(exception).into_error());
        }
        // SAFETY: as in `resume`: only this thread accesses it, and the host reads it only after wasm code has ended.
        unsafe {
            *activation.trap.get() = Some(record());
            let vm = &*activation.vm.get();
            Landed { pc: vm.handler, sp: vm.sp, fp: vm.fp, exception: 0, pinned: 0 }
        }
    }

    /// Counts the frames that an exception has ended.
    fn end_frames(
        &mut self,
        record: impl FnOnce() -> TrapRecord,
        staying: impl FnOnce() -> ManyFrames,
    ) -> Result<()> {
        self.observed.trials.drop_call();
        if self.observed.look_at_ended_frames() {
            let record = record();
            self.count_unfinished(&record, None);
            self.observed.charge_ended(&record);
            if let Some(trace) = &mut self.observed.trace {
                trace.catch(&record, &staying());
            }
            let is_out_of_budget = self.control.is_out_of_budget();
            self.observed.settle_events(&record, is_out_of_budget)?;
        }
        self.observed.metrics.read_all();
        Ok(())
    }
}

/// Reports whether the throwing frame, the innermost of those that end, is in a landing: then an exception has already
/// returned to the same instruction.
fn is_thrown_again(thrower: (usize, usize), ended: &[(usize, usize)]) -> bool {
    let Some(object) = registry::find_return(thrower.0).filter(|_| ended.first() == Some(&thrower)) else {
        return false;
    };
    let place = |pc| object.origin_of_return(pc).map(|origin| (origin.frame, origin.block, origin.offset));
    let landings = object.code.landings.iter().map(|landing| object.address(landing.return_pc));
    landings.into_iter().any(|pc| place(pc) == place(thrower.0))
}

/// # Safety
/// The frames wait for callees.
unsafe fn raw(frames: &[(usize, usize)]) -> ManyFrames {
    let object = |pc| registry::find_return(pc);
    // SAFETY: the caller upholds this function's safety contract.
    frames.iter().map(|&(pc, fp)| unsafe { walk::frame(pc, object(pc).as_deref(), fp) }).collect()
}

/// # Safety
/// The frame waits for a callee, and is in an activation whose trampoline has frame pointer `end`.
unsafe fn raw_from((pc, fp): (usize, usize), end: usize) -> ManyFrames {
    // SAFETY: the caller upholds this function's safety contract.
    let own = unsafe { raw(&[(pc, fp)]) };
    // SAFETY: likewise.
    own.iter().chain(unsafe { walk::callers(fp, end) }).collect()
}

impl CodeObject {
    /// Returns where a call with return address `pc` resumes when an exception comes back, and the distance of the
    /// stack pointer below the frame pointer there.
    fn landing_of(&self, pc: usize) -> Option<(usize, usize)> {
        let landings = &self.code.landings;
        // Among trampolines, only the entry trampoline has a landing, for traps.
        if landings.is_empty() || self.function.is_none() {
            return None;
        }
        let pc = self.offset(pc);
        let found = landings.binary_search_by_key(&pc, |landing| landing.return_pc).ok()?;
        let landing = &landings[found];
        Some((self.address(landing.pc), landing.frame as usize))
    }
}
