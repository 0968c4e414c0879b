//! Fibers: calls of wasm that may wait, on stacks of their own.
//!
//! A call that is awaited runs on a fiber. Where a host function waits, or a program yields at its deadline, the
//! thread returns to the poller of the call, and the fiber continues at the next poll, on whichever thread that
//! is. All frames of a call are on its fiber, so none of them is copied, and a stack walk finds them as in any
//! call that waits in the host: counts, contexts and traces do not notice.
//!
//! The thread's data on the call that it runs moves with the fiber: the chain of activations and the bounds of
//! the stack. So a fiber's chain ends with its first activation, and the frames below on the thread do not belong
//! to the call.
//!
//! Invariant: a fiber that has begun is resumed until its end: dropping the future makes the wait end with an
//! error, which unwinds as a trap does. (Forgetting the future leaks the stack.)
//!
//! Invariant: the contents of a fiber's stack while it waits may move to another thread: frames of this library,
//! wasm, and futures that are `Send`. A host function that is not awaited itself cannot have such a call below
//! it, because [`enter::call`](crate::runtime::control::enter::call) removes the [`Suspender`].
//!
//! Invariant: code that is on a fiber while it waits keeps no address of thread-local data: code that uses such
//! data is not inlined (`activation`), or does not wait in between.

use std::any::Any;
use std::future::Future;
use std::io;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::ptr::{self, NonNull};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use super::activation::{self, Activation};
use super::guarded_stack::GuardedStack;
use super::{alt_stack, stack};
use crate::arch;
use crate::runtime::entries;
use crate::runtime::instances::engine_core::EngineCore;
use crate::runtime::instances::kept::Kept;
use crate::runtime::instances::store_opaque::StoreWith;
use crate::runtime::interruption::interrupt_page::InterruptPage;
use crate::runtime::interruption::{signals, thread_wakeup};
use crate::runtime::samples;
use crate::runtime::samples::Ring;

/// Default size of a fiber's stack. It takes memory as it is used.
const SIZE: usize = 2 << 20;
/// The stacks of past fibers, kept for reuse; those of one engine have one size.
#[derive(Debug)]
pub struct FiberStacks(Kept<(), GuardedStack>);

impl FiberStacks {
    /// Creates a place for at most so many.
    pub fn new(most: usize) -> FiberStacks {
        FiberStacks(Kept::new(most))
    }

    /// Returns how many are kept.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    fn take(&self, size: usize) -> io::Result<GuardedStack> {
        self.0.take(()).map_or_else(|| GuardedStack::new(size), Ok)
    }

    fn put(&self, stack: GuardedStack) {
        self.0.put((), stack);
    }
}

/// The error of a call that was dropped while it waited.
#[derive(Debug, thiserror::Error)]
#[error("the future of the call was dropped")]
pub struct Dropped;

/// The state that the fiber and its resumer share. Only the running one of them accesses it.
struct State {
    /// The stack pointer of the suspended fiber.
    sp: usize,
    /// The stack pointer of the suspended resumer.
    resumer: usize,
    /// The newest activation of the fiber while it waits.
    newest: *const Activation,
    /// The bounds of its stack, which `stack` has while it runs.
    bounds: (usize, usize),
    has_begun: bool,
    is_done: bool,
    is_dropped: bool,
    /// Ticks of the time-stamp counter that it has waited.
    waited: u64,
    /// The context of the current poll.
    context: *mut Context<'static>,
    body: Option<Box<dyn FnOnce(Suspender)>>,
    panic: Option<Box<dyn Any + Send>>,
}

/// A fiber, with its stack.
struct Fiber {
    state: NonNull<State>,
    stack: Option<GuardedStack>,
}

impl Fiber {
    /// # Safety
    /// The caller guarantees that what `body` borrows lives until the fiber is done or, if it has not begun,
    /// dropped.
    unsafe fn new(stack: GuardedStack, body: Box<dyn FnOnce(Suspender)>) -> Fiber {
        let bounds = (stack.low().addr(), stack.top().addr());
        let state = Box::new(State {
            sp: 0,
            resumer: 0,
            newest: ptr::null(),
            bounds,
            has_begun: false,
            is_done: false,
            is_dropped: false,
            waited: 0,
            context: ptr::null_mut(),
            body: Some(body),
            panic: None,
        });
        let state = NonNull::from(Box::leak(state));
        // SAFETY: the stack is new or unused; the state lives until the fiber is dropped.
        unsafe { (*state.as_ptr()).sp = entries::prepare_stack(stack.top(), run, state.as_ptr().cast()) };
        Fiber { state, stack: Some(stack) }
    }

    /// Resumes the fiber until it waits or ends; returns whether it has ended.
    #[inline(never)]
    fn resume(&mut self, context: &mut Context<'_>) -> bool {
        alt_stack::ensure();
        let state = self.state.as_ptr();
        // SAFETY: the fiber does not run, so this thread has the state until the fiber runs, and again after the
        // fiber has left. It continues where it was suspended, or begins.
        unsafe {
            (*state).has_begun = true;
            (*state).context = ptr::from_mut(context).cast();
            let newest = activation::replace_newest((*state).newest);
            let bounds = stack::replace_own((*state).bounds);
            entries::switch_stacks(&raw mut (*state).resumer, (*state).sp);
            (*state).newest = activation::replace_newest(newest);
            (*state).bounds = stack::replace_own(bounds);
            (*state).context = ptr::null_mut();
            (*state).is_done
        }
    }

    /// Ends the fiber: its waits return errors from now on.
    fn end(&mut self) {
        let state = self.state.as_ptr();
        // SAFETY: as in `resume`.
        let waits = unsafe {
            (*state).is_dropped = true;
            (*state).has_begun && !(*state).is_done
        };
        if waits && !self.resume(&mut Context::from_waker(Waker::noop())) {
            signals::die("a fiber waits that was dropped");
        }
    }
}

impl Drop for Fiber {
    fn drop(&mut self) {
        self.end();
        // SAFETY: `new` allocated it; nothing runs on the stack any more.
        drop(unsafe { Box::from_raw(self.state.as_ptr()) });
    }
}

/// Runs the body of a fiber, on the fiber's stack.
unsafe extern "C" fn run(state: *mut std::ffi::c_void) -> ! {
    let state: *mut State = state.cast();
    // SAFETY: `Fiber::new` has passed its state, which lives until the fiber is dropped; the resumer waits.
    unsafe {
        let body = (*state).body.take().expect("a fiber begins once");
        let done = catch_unwind(AssertUnwindSafe(|| body(Suspender(NonNull::new_unchecked(state)))));
        (*state).panic = done.err();
        (*state).is_done = true;
        entries::switch_stacks(&raw mut (*state).sp, (*state).resumer);
    }
    signals::die("a fiber goes on that has ended")
}

/// The handle by which code on a fiber waits.
#[derive(Clone, Copy, Debug)]
pub struct Suspender(NonNull<State>);

// SAFETY: only code that runs on the fiber uses it, on whichever thread that is.
unsafe impl Send for Suspender {}
// SAFETY: as for `Send`.
unsafe impl Sync for Suspender {}

impl Suspender {
    /// Waits for a future.
    ///
    /// # Errors
    /// Returns an error if the call was dropped.
    ///
    /// # Safety
    /// The caller guarantees that it runs on the fiber, and that everything on its stack may move to another
    /// thread.
    pub unsafe fn wait<F: Future + ?Sized>(self, mut future: Pin<&mut F>) -> Result<F::Output, Dropped> {
        loop {
            self.check()?;
            // SAFETY: the fiber runs, so a poller waits for it with this context.
            let context = unsafe { &mut *(*self.0.as_ptr()).context };
            if let Poll::Ready(output) = future.as_mut().poll(context) {
                return Ok(output);
            }
            // SAFETY: the caller guarantees it.
            unsafe { self.suspend() };
        }
    }

    /// Yields to other tasks, and continues when the executor polls the call again.
    ///
    /// # Errors
    /// Returns an error as [`Suspender::wait`] does.
    ///
    /// # Safety
    /// The caller guarantees the same as for [`Suspender::wait`].
    pub unsafe fn yield_now(self) -> Result<(), Dropped> {
        self.check()?;
        // SAFETY: as in `wait`.
        unsafe {
            (*(*self.0.as_ptr()).context).waker().wake_by_ref();
            self.suspend();
        }
        self.check()
    }

    fn check(self) -> Result<(), Dropped> {
        // SAFETY: the fiber runs, so it has its state.
        if unsafe { (*self.0.as_ptr()).is_dropped } { Err(Dropped) } else { Ok(()) }
    }

    /// # Safety
    /// The caller guarantees the same as for [`Suspender::wait`].
    #[inline(never)]
    unsafe fn suspend(self) {
        let (state, before) = (self.0.as_ptr(), arch::cycles());
        // SAFETY: the resumer waits there; then the fiber runs again, and has the state.
        unsafe {
            entries::switch_stacks(&raw mut (*state).sp, (*state).resumer);
            (*state).waited += arch::cycles().saturating_sub(before);
        }
    }

    /// Returns the ticks of the time-stamp counter that the fiber has waited so far.
    pub fn waited(self) -> u64 {
        // SAFETY: the fiber runs, so it has its state.
        unsafe { (*self.0.as_ptr()).waited }
    }
}

/// A call on a fiber, to be awaited.
pub struct OnFiber<'a, R> {
    /// The fiber, until it has ended.
    fiber: Option<Fiber>,
    result: NonNull<Option<R>>,
    engine: Arc<EngineCore>,
    interrupt: Arc<InterruptPage>,
    samples: Option<Arc<Ring>>,
    borrow: PhantomData<&'a mut ()>,
}

// SAFETY: the caller of `on_fiber` guarantees that what it owns may be sent; the bound guarantees it for the
// result.
unsafe impl<R: Send> Send for OnFiber<'_, R> {}

/// Calls `body` on a fiber, where [`enter::call_or_wait`](crate::runtime::control::enter::call_or_wait) may wait.
///
/// # Errors
/// Returns an error if there is no memory for a stack.
///
/// # Safety
/// The caller guarantees that the store's data may be sent to another thread.
pub unsafe fn on_fiber<'a, D: 'static, R: 'a>(
    store: &'a mut StoreWith<D>,
    body: impl FnOnce(&mut StoreWith<D>) -> R + Send + 'a,
) -> io::Result<OnFiber<'a, R>> {
    let engine = store.opaque.engine().clone();
    let interrupt = store.opaque.control.interrupt().clone();
    let samples = store.opaque.observed.samples.ring().cloned();
    let size = engine.config().stack.max_bytes.unwrap_or(SIZE);
    let stack = engine.fiber_stacks().take(size)?;
    let result = NonNull::from(Box::leak(Box::new(None)));
    let store = NonNull::from(store);
    let body = move |suspender: Suspender| {
        // SAFETY: the future has the store's only reference, and lives until the fiber has ended; so does the
        // memory of the result.
        let (store, result) = unsafe { (&mut *store.as_ptr(), &mut *result.as_ptr()) };
        let outer = store.opaque.control.replace_suspender(Some(suspender));
        let done = catch_unwind(AssertUnwindSafe(|| body(store)));
        store.opaque.control.replace_suspender(outer);
        match done {
            Ok(done) => *result = Some(done),
            Err(panic) => resume_unwind(panic),
        }
    };
    let body: Box<dyn FnOnce(Suspender) + 'a> = Box::new(body);
    // SAFETY: only the lifetime changes. The future, which has the lifetime, ends the fiber when it is dropped;
    // forgetting the future leaks the fiber, which then never runs.
    let fiber = unsafe {
        let body = std::mem::transmute::<Box<dyn FnOnce(Suspender) + 'a>, Box<dyn FnOnce(Suspender)>>(body);
        Fiber::new(stack, body)
    };
    Ok(OnFiber { fiber: Some(fiber), result, engine, interrupt, samples, borrow: PhantomData })
}

impl<R> OnFiber<'_, R> {
    /// Runs the fiber on this thread; returns whether it has ended.
    fn run(&mut self, run: impl FnOnce(&mut Fiber) -> bool) -> bool {
        let Some(fiber) = &mut self.fiber else { return true };
        let before = self.interrupt.thread();
        // SAFETY: the fiber does not run.
        if unsafe { (*fiber.state.as_ptr()).has_begun } {
            self.interrupt.set_thread(thread_wakeup::thread_id());
            if let Some(ring) = &self.samples {
                samples::ensure(ring);
            }
        }
        let is_done = run(fiber);
        self.interrupt.set_thread(before);
        is_done
    }

    /// Returns the stack of a fiber that is not to run any more to the engine; returns the panic with which it
    /// ended, if any.
    fn finish(&mut self) -> Option<Box<dyn Any + Send>> {
        let mut fiber = self.fiber.take()?;
        if let Some(stack) = fiber.stack.take() {
            self.engine.fiber_stacks().put(stack);
        }
        // SAFETY: the fiber does not run.
        unsafe { (*fiber.state.as_ptr()).panic.take() }
    }
}

impl<R> Future for OnFiber<'_, R> {
    type Output = R;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<R> {
        if !self.run(|fiber| fiber.resume(context)) {
            return Poll::Pending;
        }
        if let Some(panic) = self.finish() {
            resume_unwind(panic);
        }
        // SAFETY: the future owns the memory; the fiber, which has filled it, has ended.
        Poll::Ready(unsafe { (*self.result.as_ptr()).take() }.expect("not polled after it was ready"))
    }
}

impl<R> Drop for OnFiber<'_, R> {
    fn drop(&mut self) {
        self.run(|fiber| {
            fiber.end();
            true
        });
        self.finish();
        // SAFETY: `on_fiber` allocated it; the fiber has been dropped.
        drop(unsafe { Box::from_raw(self.result.as_ptr()) });
    }
}
