//! Compilation in the background: better versions of hot functions, and code of functions that are likely to be
//! called soon.
//!
//! Each engine has one thread, started with the first order. The number of promotions is bounded by the functions
//! and loops that exist, since each is ordered once; speculation is bounded by its queue and by `module::first`.

mod queue;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use crate::Result;
use crate::runtime::interruption::fork;
use crate::runtime::interruption::generation::Generation;
use queue::Queue;

/// How long nothing urgent must have been ordered before the thread begins a long job that is not urgent.
const QUIET: Duration = Duration::from_millis(20);

/// How often a waiting thread checks whether a version is done.
const LOOK_EVERY: Duration = Duration::from_micros(500);

/// A module that orders jobs.
pub trait Compiles: Send + Sync + 'static {
    /// Compiles and publishes a better version of a function.
    ///
    /// # Errors
    /// Returns an error if the function cannot be compiled; it then keeps its current version.
    fn promote(self: Arc<Self>, func: u32, promotion: Promotion) -> Result<()>;

    /// Compiles the code behind a row of code slots that nobody has called yet, if that is still worth it.
    ///
    /// # Errors
    /// Returns an error if the code cannot be compiled; the first caller sees the error again.
    fn compile_ahead(self: Arc<Self>, row: u32) -> Result<()>;

    /// Computes a piece of the module's hash.
    fn advance_hash(self: Arc<Self>);

    /// Returns the number of bytes of bytecode of a function.
    fn size_of(&self, func: u32) -> usize;

    /// Returns whether the code behind a row is a large function without code.
    fn takes_long(&self, row: u32) -> bool;
}

/// A compilation, or other work for a module.
#[derive(Debug)]
pub struct Job {
    /// The module. A job of a module that is gone is dropped.
    pub module: Weak<dyn Compiles>,
    /// The function, or the row of code slots of a part of a function; a part can only be compiled ahead.
    pub func: u32,
    /// The work to do.
    pub task: Task,
}

/// A better version of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Promotion {
    /// A version for callers.
    Entry,
    /// An OSR version for a frame at this loop header.
    Resume(u32),
    /// An OSR version for frames at this loop header that takes longer to compile; until it exists the frames run
    /// the one compiled first.
    Unrolled(u32),
    /// An OSR version for a frame that leaves optimised code at this loop header for a burst and is to return to
    /// it.
    Return(u32),
    /// Burst code, entered at this loop header, or at 0 by callers in bursts.
    Burst(u32),
    /// A version for callers and frames, guided by a profile.
    Reoptimized,
    /// The same version for callers and frames with prefetching code.
    Prefetching,
}

/// The work of a job: a compilation of a function, or a task for its module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Task {
    /// A better version.
    Promote(Promotion),
    /// A better version that the next run of the program needs, but not this run.
    PromoteForNextRun(Promotion),
    /// The first version, compiled before the function is called.
    CompiledAhead {
        /// Whether a function that the program has called calls it.
        near: bool,
    },
    /// A piece of the module's hash, which profiles contain.
    Hash,
}

impl Job {
    /// Creates a job for a module, without keeping the module alive.
    pub fn new(module: &Arc<impl Compiles>, func: u32, task: Task) -> Job {
        let module = Arc::downgrade(module);
        Job { module, func, task }
    }

    /// Runs the job. If it fails, even by a panic in the code generator, the function keeps its current version.
    pub fn run(&self) {
        let Some(module) = self.module.upgrade() else { return };
        let _ = catch_unwind(AssertUnwindSafe(|| match self.task {
            Task::Promote(promotion) | Task::PromoteForNextRun(promotion) => {
                module.promote(self.func, promotion)
            }
            Task::CompiledAhead { .. } => module.compile_ahead(self.func),
            Task::Hash => {
                module.advance_hash();
                Ok(())
            }
        }));
    }
}

impl Job {
    /// Returns whether the job compiles a better version for callers, which the code cache keeps.
    fn is_for_callers(&self) -> bool {
        matches!(
            self.task,
            Task::Promote(Promotion::Entry | Promotion::Reoptimized | Promotion::Prefetching)
                | Task::PromoteForNextRun(_)
        )
    }

    /// Returns the number of bytes of bytecode that the job optimises.
    fn bytes_to_optimise(&self) -> usize {
        match self.task {
            Task::Promote(_) | Task::PromoteForNextRun(_) => {
                self.module.upgrade().map_or(0, |module| module.size_of(self.func))
            }
            Task::CompiledAhead { .. } | Task::Hash => 0,
        }
    }
}

#[derive(Debug, Default)]
struct Orders {
    queue: Queue,
    started: bool,
    /// Whether the thread waits for orders. Notifying a thread that does not wait would cost a needless system
    /// call at each first call of a function.
    waits: bool,
    closed: bool,
}

#[derive(Debug, Default)]
struct Shared {
    orders: Mutex<Orders>,
    changed: Condvar,
    /// Bytes of bytecode of the function that is being optimised, or 0.
    optimising: AtomicUsize,
    /// Whether the code cache keeps what is being compiled; set while the orders are locked. And the number of finished
    /// jobs of this kind.
    is_for_callers: AtomicBool,
    done: AtomicUsize,
}

/// The background thread and its orders.
#[derive(Debug, Default)]
pub struct Background {
    shared: Arc<Shared>,
    /// The process of the thread. A child process has neither the thread nor the locks that it held.
    process: Generation,
}

impl Background {
    /// Returns whether the thread belongs to this process.
    pub fn is_here(&self) -> bool {
        self.process.is_current()
    }

    /// Orders `jobs`. Of equally urgent speculative jobs the last one is done first.
    pub fn order(&self, jobs: impl IntoIterator<Item = Job>) {
        let mut orders = self.shared.lock();
        jobs.into_iter().for_each(|job| orders.queue.push(job));
        if !orders.started {
            let shared = self.shared.clone();
            let thread = std::thread::Builder::new().name("wprof-compile".into()).stack_size(8 << 20);
            // Without a thread all code stays in the baseline tier and is compiled when it is called.
            orders.started = thread.spawn(move || shared.work()).is_ok();
        }
        let waits = orders.waits;
        drop(orders);
        if waits {
            self.shared.changed.notify_one();
        }
    }

    /// Returns whether the program would wait longer for a function of `bytes` bytes of bytecode than it would
    /// take to compile the function itself.
    pub fn delays(&self, task: Task, bytes: usize) -> bool {
        queue::delays(self.shared.optimising.load(Ordering::Relaxed), task, bytes)
    }

    /// Waits until the version for callers that is being compiled is done, if there is one, but no longer than
    /// `most`; or until the first of those that only the next run needs is done, but no longer than `least`.
    pub fn finish_version(&self, most: Duration, least: Duration) {
        let (began, done) = (Instant::now(), self.shared.done.load(Ordering::Relaxed));
        let is_busy = || {
            let orders = self.shared.lock();
            let is_coming = orders.queue.has_for_next_run() && began.elapsed() < least;
            let is_same = self.shared.done.load(Ordering::Relaxed) == done;
            is_same && (is_coming || self.shared.is_for_callers.load(Ordering::Relaxed))
        };
        while is_busy() && began.elapsed() < most {
            std::thread::sleep(LOOK_EVERY);
        }
    }

    /// Takes the most urgent order for a speculative compilation.
    pub fn next_ahead(&self) -> Option<Job> {
        self.shared.lock().queue.pop_ahead()
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Orders> {
        self.orders.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn work(&self) {
        while let Some(job) = self.next() {
            self.optimising.store(job.bytes_to_optimise(), Ordering::Relaxed);
            let quiet = fork::quiet();
            job.run();
            drop(quiet);
            self.optimising.store(0, Ordering::Relaxed);
            if self.is_for_callers.swap(false, Ordering::Relaxed) {
                self.done.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    /// Waits for the next job; `None` once the engine is gone.
    fn next(&self) -> Option<Job> {
        let (mut orders, idle_since) = (self.lock(), Instant::now());
        loop {
            if orders.closed {
                return None;
            }
            if let Some(job) = orders.queue.pop() {
                self.is_for_callers.store(job.is_for_callers(), Ordering::Relaxed);
                return Some(job);
            }
            let wait = QUIET.saturating_sub(idle_since.elapsed());
            if wait.is_zero()
                && let Some(job) = orders.queue.pop_at_leisure()
            {
                return Some(job);
            }
            orders.waits = true;
            orders = match orders.queue.has_leisure() {
                true => {
                    self.changed.wait_timeout(orders, wait).map_or_else(|e| e.into_inner().0, |both| both.0)
                }
                false => self.changed.wait(orders).unwrap_or_else(PoisonError::into_inner),
            };
            orders.waits = false;
        }
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        if !self.is_here() {
            return;
        }
        self.shared.lock().closed = true;
        self.shared.changed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A module whose versions take a while, and until it is open. It notes those that are made.
    #[derive(Default)]
    struct Slow {
        is_open: AtomicBool,
        made: Mutex<Vec<Promotion>>,
    }

    impl Compiles for Slow {
        fn promote(self: Arc<Self>, _: u32, promotion: Promotion) -> Result<()> {
            std::thread::sleep(Duration::from_millis(60));
            while !self.is_open.load(Ordering::Relaxed) {
                std::thread::sleep(LOOK_EVERY);
            }
            self.made.lock().expect("no panic").push(promotion);
            Ok(())
        }

        fn compile_ahead(self: Arc<Self>, _: u32) -> Result<()> {
            Ok(())
        }

        fn advance_hash(self: Arc<Self>) {}

        fn size_of(&self, _: u32) -> usize {
            0
        }

        fn takes_long(&self, _: u32) -> bool {
            false
        }
    }

    const LONG: Duration = Duration::from_secs(60);

    /// Gives the orders, and waits for a version. Returns what is made by then.
    fn made(orders: &[Task], is_open: bool, least: Duration) -> Vec<Promotion> {
        let (background, module) = (Background::default(), Arc::new(Slow::default()));
        module.is_open.store(is_open, Ordering::Relaxed);
        background.order(orders.iter().map(|&task| Job::new(&module, 0, task)));
        let began = Instant::now();
        background.finish_version(LONG, least);
        assert!(began.elapsed() < LONG);
        let made = module.made.lock().expect("no panic").clone();
        module.is_open.store(true, Ordering::Relaxed);
        made
    }

    #[test]
    fn a_version_for_the_next_run_is_waited_for() {
        let (resume, next) = (Promotion::Resume(1), Task::PromoteForNextRun(Promotion::Entry));
        // The program needs another one first.
        assert_eq!(made(&[next, Task::Promote(resume)], true, LONG), [resume, Promotion::Entry]);
        // One that the cache does not keep is not waited for, and none for longer than allowed.
        assert_eq!(made(&[Task::Promote(resume)], false, LONG), []);
        assert_eq!(made(&[next, Task::Promote(resume)], false, Duration::ZERO), []);
    }
}
