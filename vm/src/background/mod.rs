//! Compilation while the program runs: better versions of hot functions, and code of functions that are likely to be
//! called soon.
//!
//! One thread an engine, started with the first order. Promotions are bounded by the functions and loops there are, as
//! each is ordered once; speculation by its queue, and by `module::first`.

mod queue;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use crate::Result;
use crate::runtime::interruption::fork::{self, Generation};
use queue::Queue;

/// How long nothing may have been urgent before the thread begins with what takes long and is not.
const QUIET: Duration = Duration::from_millis(20);

/// How often it is looked whether a version is done.
const LOOK_EVERY: Duration = Duration::from_micros(500);

/// A module that has jobs done.
pub trait Compiles: Send + Sync + 'static {
    /// Compiles and publishes a better version of a function.
    ///
    /// # Errors
    /// If it cannot be compiled; the function then stays as it is.
    fn promote(self: Arc<Self>, func: u32, promotion: Promotion) -> Result<()>;

    /// Compiles what is behind a row of code slots and nobody has called yet, if it is still worth it.
    ///
    /// # Errors
    /// If it cannot be compiled; whoever calls it will see it.
    fn compile_ahead(self: Arc<Self>, row: u32) -> Result<()>;

    /// Computes a piece of the module's hash.
    fn advance_hash(self: Arc<Self>);

    /// Bytes of bytecode of a function.
    fn size_of(&self, func: u32) -> usize;

    /// Whether what is behind a row is a large function without code.
    fn takes_long(&self, row: u32) -> bool;
}

/// Something to compile.
#[derive(Debug)]
pub struct Job {
    /// The module; nobody waits for one that is gone.
    pub module: Weak<dyn Compiles>,
    /// The function, or the row of code slots of a part of one, which can only be compiled ahead.
    pub func: u32,
    /// What of it.
    pub task: Task,
}

/// A better version of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Promotion {
    /// For its callers.
    Entry,
    /// For a frame at this loop header.
    Resume(u32),
    /// For one that finds there what was compiled while it waited.
    Unrolled(u32),
    /// For one that leaves optimised code there for a burst and is to come back.
    Return(u32),
    /// For bursts, entered at this loop header, or at 0 by callers in bursts.
    Burst(u32),
    /// For all, by what a profile tells.
    Reoptimized,
}

/// What to compile of a function, or else to do for its module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Task {
    /// A better version.
    Promote(Promotion),
    /// A better version that the next run of the program wants, but not this one.
    PromoteForNextRun(Promotion),
    /// The first version, before it is called.
    Ahead {
        /// Whether a function calls it that the program has called.
        near: bool,
    },
    /// A piece of the hash of the module, which profiles have.
    Hash,
}

impl Job {
    /// A job for a module, which it does not keep.
    pub fn new(module: &Arc<impl Compiles>, func: u32, task: Task) -> Job {
        let module = Arc::downgrade(module);
        Job { module, func, task }
    }

    /// Does it. If that fails, even by a panic in the code generator, the function stays as it is.
    pub fn run(&self) {
        let Some(module) = self.module.upgrade() else { return };
        let _ = catch_unwind(AssertUnwindSafe(|| match self.task {
            Task::Promote(promotion) | Task::PromoteForNextRun(promotion) => {
                module.promote(self.func, promotion)
            }
            Task::Ahead { .. } => module.compile_ahead(self.func),
            Task::Hash => {
                module.advance_hash();
                Ok(())
            }
        }));
    }
}

impl Job {
    /// Whether it is a better version for callers, which the code cache keeps.
    fn is_for_callers(&self) -> bool {
        matches!(
            self.task,
            Task::Promote(Promotion::Entry | Promotion::Reoptimized) | Task::PromoteForNextRun(_)
        )
    }

    /// Bytes of bytecode of the function, if it is to be optimised.
    fn bytes_to_optimise(&self) -> usize {
        match self.task {
            Task::Promote(_) | Task::PromoteForNextRun(_) => {
                self.module.upgrade().map_or(0, |module| module.size_of(self.func))
            }
            Task::Ahead { .. } | Task::Hash => 0,
        }
    }
}

#[derive(Debug, Default)]
struct Orders {
    queue: Queue,
    started: bool,
    /// Whether the thread waits for orders. To wake somebody who does not would be a call of the system for nothing, each
    /// time that a function is first called.
    waits: bool,
    closed: bool,
}

#[derive(Debug, Default)]
struct Shared {
    orders: Mutex<Orders>,
    changed: Condvar,
    /// Bytes of bytecode of the function that is being optimised, or 0.
    optimising: AtomicUsize,
    /// Whether what is being compiled is kept for other runs, and how many jobs are done.
    is_for_callers: AtomicBool,
    done: AtomicUsize,
}

/// The thread and its orders.
#[derive(Debug, Default)]
pub struct Background {
    shared: Arc<Shared>,
    /// The process that it is in. A child of that has neither the thread nor what it may have held.
    process: Generation,
}

impl Background {
    /// Whether it is in this process.
    pub fn is_here(&self) -> bool {
        self.process.is_current()
    }

    /// Has `jobs` done, by and by; of those that are equally urgent and speculative, the last first.
    pub fn order(&self, jobs: impl IntoIterator<Item = Job>) {
        let mut orders = self.shared.lock();
        jobs.into_iter().for_each(|job| orders.queue.push(job));
        if !orders.started {
            let shared = self.shared.clone();
            let thread = std::thread::Builder::new().name("wprof-compile".into()).stack_size(8 << 20);
            // Without a thread everything stays in the baseline tier, and is compiled when called.
            orders.started = thread.spawn(move || shared.work()).is_ok();
        }
        let waits = orders.waits;
        drop(orders);
        if waits {
            self.shared.changed.notify_one();
        }
    }

    /// Whether the program waits longer for a function of `bytes` of bytecode than it would take to compile it itself.
    pub fn delays(&self, task: Task, bytes: usize) -> bool {
        queue::delays(self.shared.optimising.load(Ordering::Relaxed), task, bytes)
    }

    /// Waits for a version for callers that is being compiled, if one is, but no longer than that.
    pub fn finish_version(&self, most: Duration) {
        let (began, done) = (Instant::now(), self.shared.done.load(Ordering::Relaxed));
        let is_busy = || {
            let is_same = self.shared.done.load(Ordering::Relaxed) == done;
            is_same && self.shared.is_for_callers.load(Ordering::Relaxed)
        };
        while is_busy() && began.elapsed() < most {
            std::thread::sleep(LOOK_EVERY);
        }
    }

    /// Takes the most urgent order to compile a function ahead.
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
            self.is_for_callers.store(job.is_for_callers(), Ordering::Relaxed);
            let quiet = fork::quiet();
            job.run();
            drop(quiet);
            self.optimising.store(0, Ordering::Relaxed);
            self.is_for_callers.store(false, Ordering::Relaxed);
            self.done.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// The next job, when there is one; `None` once the engine is gone.
    fn next(&self) -> Option<Job> {
        let (mut orders, idle_since) = (self.lock(), Instant::now());
        loop {
            if orders.closed {
                return None;
            }
            if let Some(job) = orders.queue.pop() {
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
