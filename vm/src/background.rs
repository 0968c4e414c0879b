//! Compilation of better versions while the program runs.
//!
//! One thread an engine, started with the first order. Frames that wait in a loop come first. Orders are bounded by
//! the functions and loops there are, as each is placed once.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, PoisonError, Weak};

use crate::module::{ModuleInner, Promotion};

/// A better version to compile.
#[derive(Debug)]
pub struct Job {
    /// The module; nobody waits for one that is gone.
    pub module: Weak<ModuleInner>,
    /// The function.
    pub func: u32,
    /// Which version.
    pub promotion: Promotion,
}

impl Job {
    /// Compiles it. If that fails, even by a panic in the code generator, the function stays as it is.
    pub fn run(&self) {
        if let Some(module) = self.module.upgrade() {
            let _ = catch_unwind(AssertUnwindSafe(|| module.promote(self.func, self.promotion)));
        }
    }
}

#[derive(Debug, Default)]
struct Queue {
    jobs: VecDeque<Job>,
    started: bool,
    closed: bool,
}

#[derive(Debug, Default)]
struct Shared {
    queue: Mutex<Queue>,
    changed: Condvar,
}

/// The thread and its orders.
#[derive(Debug, Default)]
pub struct Background(Arc<Shared>);

impl Background {
    /// Has `job` done, by and by.
    pub fn order(&self, job: Job) {
        let mut queue = self.0.queue.lock().unwrap_or_else(PoisonError::into_inner);
        match job.promotion {
            Promotion::Entry => queue.jobs.push_back(job),
            Promotion::Resume(_) | Promotion::ResumeOutermost(_) => queue.jobs.push_front(job),
        }
        if !queue.started {
            let shared = self.0.clone();
            let thread = std::thread::Builder::new().name("wprof-compile".into()).stack_size(8 << 20);
            // Without a thread everything stays in the baseline tier.
            queue.started = thread.spawn(move || shared.work()).is_ok();
        }
        drop(queue);
        self.0.changed.notify_one();
    }
}

impl Shared {
    fn work(&self) {
        while let Some(job) = self.next() {
            job.run();
        }
    }

    /// The next job, when there is one; `None` once the engine is gone.
    fn next(&self) -> Option<Job> {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if queue.closed {
                return None;
            }
            if let Some(job) = queue.jobs.pop_front() {
                return Some(job);
            }
            queue = self.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        self.0.queue.lock().unwrap_or_else(PoisonError::into_inner).closed = true;
        self.0.changed.notify_one();
    }
}
