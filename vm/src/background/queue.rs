//! The queue of a background thread, ordered by urgency.
//!
//! Frames that wait in a loop come first, because they may be all that the program does. Next come the functions
//! that the program will probably call next, because a program that meets new functions mostly waits for the
//! compiler; after every [`FIRST_PER_BETTER`] of them comes one better version, so that neither starves the
//! other. Callees of functions that were themselves compiled ahead come last. Burst code comes after all that the
//! program has run, because a burst that finds no burst code, or no code to return to, is tried again; the same
//! holds for versions that only the next run needs. A version that a frame does not wait for, as it has one
//! nearly as good, takes long to compile and would delay other requests, so it is compiled when nothing was
//! urgent for a while.

use std::collections::VecDeque;

use super::{Job, Promotion, Task};

/// Number of functions compiled ahead between two better versions, if both are waiting.
const FIRST_PER_BETTER: u32 = 4;
/// Limit of the functions that wait to be compiled ahead, of each kind; the oldest are dropped.
const MOST_AHEAD: usize = 256;
/// Size ratio from which a function's optimisation is not waited for. On average half of its compilation time is
/// left, and more than half of that time is lost in code that takes two to three times as long.
const MUCH_LARGER: usize = 8;

/// Returns whether a thread that is optimising `optimising` bytes of bytecode, or 0 if none, would come too late
/// to a task for a function of `bytes` bytes.
pub fn delays(optimising: usize, task: Task, bytes: usize) -> bool {
    let is_urgent = matches!(task, Task::Promote(Promotion::Entry | Promotion::Resume(_)));
    is_urgent && optimising > 0 && optimising >= MUCH_LARGER.saturating_mul(bytes)
}

/// The orders, by urgency.
#[derive(Debug, Default)]
pub struct Queue {
    resumed: VecDeque<Job>,
    better: VecDeque<Job>,
    /// Jobs that this run hardly waits for.
    later: VecDeque<Job>,
    /// Jobs that this run hardly waits for and that take long.
    at_leisure: VecDeque<Job>,
    /// Taken from the end, because the program continues from the function that it called last.
    near: VecDeque<Job>,
    far: VecDeque<Job>,
    /// Number of jobs taken from `near` since the last one from `better`.
    since_better: u32,
}

impl Queue {
    /// Adds an order.
    pub fn push(&mut self, job: Job) {
        match job.task {
            Task::Promote(Promotion::Entry | Promotion::Reoptimized | Promotion::Prefetching) => {
                self.better.push_back(job);
            }
            Task::Promote(Promotion::Resume(_)) => self.resumed.push_front(job),
            Task::Promote(Promotion::Burst(_) | Promotion::Return(_))
            | Task::PromoteForNextRun(_)
            | Task::Hash => self.later.push_back(job),
            Task::Promote(Promotion::Unrolled(_)) => self.at_leisure.push_back(job),
            Task::CompiledAhead { near: true } => push_bounded(&mut self.near, job),
            Task::CompiledAhead { near: false } => push_bounded(&mut self.far, job),
        }
    }

    /// Takes the most urgent order.
    pub fn pop(&mut self) -> Option<Job> {
        if let Some(job) = self.resumed.pop_front() {
            return Some(job);
        }
        if self.since_better < FIRST_PER_BETTER
            && let Some(job) = self.near.pop_back()
        {
            self.since_better += 1;
            return Some(job);
        }
        self.since_better = 0;
        let better = self.better.pop_front().or_else(|| self.near.pop_back());
        better.or_else(|| self.later.pop_front()).or_else(|| self.far.pop_back())
    }

    /// Takes an order that waits until nothing was urgent for a while.
    pub fn pop_at_leisure(&mut self) -> Option<Job> {
        self.at_leisure.pop_front()
    }

    /// Returns whether there is an order that waits until nothing was urgent for a while.
    pub fn has_leisure(&self) -> bool {
        !self.at_leisure.is_empty()
    }

    /// Returns whether there is an order for a version that only the next run needs.
    pub fn has_for_next_run(&self) -> bool {
        self.later.iter().any(|job| matches!(job.task, Task::PromoteForNextRun(_)))
    }

    /// Takes the most urgent order for a speculative compilation.
    pub fn pop_ahead(&mut self) -> Option<Job> {
        self.near.pop_back().or_else(|| self.far.pop_back())
    }
}

fn push_bounded(jobs: &mut VecDeque<Job>, job: Job) {
    jobs.push_back(job);
    if jobs.len() > MOST_AHEAD {
        jobs.pop_front();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::Result;
    use crate::background::Compiles;

    /// A module that is dropped before any of its jobs run.
    struct Gone;

    impl Compiles for Gone {
        fn promote(self: Arc<Self>, _: u32, _: Promotion) -> Result<()> {
            unreachable!("nothing is done")
        }

        fn compile_ahead(self: Arc<Self>, _: u32) -> Result<()> {
            unreachable!("nothing is done")
        }

        fn advance_hash(self: Arc<Self>) {}

        fn size_of(&self, _: u32) -> usize {
            0
        }

        fn takes_long(&self, _: u32) -> bool {
            false
        }
    }

    fn order(queue: &mut Queue, func: u32, task: Task) {
        queue.push(Job::new(&Arc::new(Gone), func, task));
    }

    fn taken(queue: &mut Queue) -> Vec<u32> {
        std::iter::from_fn(|| queue.pop()).map(|job| job.func).collect()
    }

    #[test]
    fn neither_better_versions_nor_guesses_starve() {
        let mut queue = Queue::default();
        (0..6).for_each(|func| order(&mut queue, func, Task::CompiledAhead { near: true }));
        order(&mut queue, 10, Task::CompiledAhead { near: false });
        (20..22).for_each(|func| order(&mut queue, func, Task::Promote(Promotion::Entry)));
        order(&mut queue, 40, Task::PromoteForNextRun(Promotion::Entry));
        order(&mut queue, 41, Task::Promote(Promotion::Burst(0)));
        order(&mut queue, 43, Task::Promote(Promotion::Return(1)));
        order(&mut queue, 42, Task::Promote(Promotion::Unrolled(1)));
        order(&mut queue, 30, Task::Promote(Promotion::Resume(1)));
        assert_eq!(taken(&mut queue), [30, 5, 4, 3, 2, 20, 1, 0, 21, 40, 41, 43, 10]);
        assert_eq!(queue.pop_at_leisure().map(|job| job.func), Some(42));
        assert!(!queue.has_leisure());
    }

    #[test]
    fn only_what_is_urgent_and_small_does_not_wait() {
        let entry = Task::Promote(Promotion::Entry);
        let all = [799, 800, 0].map(|optimising| delays(optimising, entry, 100));
        assert_eq!(all, [false, true, false]);
        assert!(delays(800, Task::Promote(Promotion::Resume(1)), 100) && !delays(0, entry, 0));
        let later = [Promotion::Burst(0), Promotion::Return(1)].map(Task::Promote);
        for task in later.into_iter().chain([Task::PromoteForNextRun(Promotion::Entry), Task::Hash]) {
            assert!(!delays(800, task, 100), "{task:?}");
        }
    }

    #[test]
    fn the_oldest_guesses_are_forgotten() {
        let mut queue = Queue::default();
        (0..1000).for_each(|func| order(&mut queue, func, Task::CompiledAhead { near: true }));
        let expected: Vec<u32> = (1000 - MOST_AHEAD as u32..1000).rev().collect();
        assert_eq!(taken(&mut queue), expected);
    }
}
