//! What a background thread is to do, in which order.
//!
//! Frames that wait in a loop come first: they may be all that the program does. Then come the functions that it will
//! probably call next, for while it meets new functions it mostly waits for the compiler; but one better version for
//! every [`FIRST_PER_BETTER`] of them, so that neither keeps the other from being done. What is called from functions
//! that were themselves compiled ahead is for when there is nothing else. Code for bursts comes after all that the
//! program has run: a burst that finds none, or nothing to come back to, is tried again. So does what only the next run
//! of the program wants. What a frame does not wait for, as it has something nearly as good, takes long, and who waits
//! for something else meanwhile waits for it as well: so it comes when nothing was urgent for a while.

use std::collections::VecDeque;

use super::{Job, Promotion, Task};

/// How many functions are compiled ahead before a better version, if both wait.
const FIRST_PER_BETTER: u32 = 4;
/// How many functions may wait to be compiled ahead, of each kind; the oldest are forgotten.
const MOST_AHEAD: usize = 256;
/// How many times as large as another a function is whose optimisation is not waited for: half of its time, more than
/// half of which are lost in code that takes two to three times as long.
const MUCH_LARGER: usize = 8;

/// Whether a thread that is optimising a function of so many bytes of bytecode, or none, comes too late to a task for a
/// function of `bytes`.
pub fn delays(optimising: usize, task: Task, bytes: usize) -> bool {
    let is_urgent = matches!(task, Task::Promote(Promotion::Entry | Promotion::Resume(_)));
    is_urgent && optimising > 0 && optimising >= MUCH_LARGER.saturating_mul(bytes)
}

/// The orders, by urgency.
#[derive(Debug, Default)]
pub struct Queue {
    resumed: VecDeque<Job>,
    better: VecDeque<Job>,
    /// What this run hardly waits for.
    later: VecDeque<Job>,
    /// What takes long, too.
    at_leisure: VecDeque<Job>,
    /// The last is the next: the program goes on from the function that it called last.
    near: VecDeque<Job>,
    far: VecDeque<Job>,
    /// How many of `near` have been taken since one of `better` was.
    since_better: u32,
}

impl Queue {
    /// Adds an order.
    pub fn push(&mut self, job: Job) {
        match job.task {
            Task::Promote(Promotion::Entry | Promotion::Reoptimized) => self.better.push_back(job),
            Task::Promote(Promotion::Resume(_)) => self.resumed.push_front(job),
            Task::Promote(Promotion::Burst(_) | Promotion::Return(_))
            | Task::PromoteForNextRun(_)
            | Task::Hash => self.later.push_back(job),
            Task::Promote(Promotion::Unrolled(_)) => self.at_leisure.push_back(job),
            Task::Ahead { near: true } => push_bounded(&mut self.near, job),
            Task::Ahead { near: false } => push_bounded(&mut self.far, job),
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

    /// Takes an order that is for when nothing was urgent for a while.
    pub fn pop_at_leisure(&mut self) -> Option<Job> {
        self.at_leisure.pop_front()
    }

    /// Whether there is one.
    pub fn has_leisure(&self) -> bool {
        !self.at_leisure.is_empty()
    }

    /// Takes the most urgent order to compile a function ahead.
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

    /// A module that is gone before anything is done for it.
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
        (0..6).for_each(|func| order(&mut queue, func, Task::Ahead { near: true }));
        order(&mut queue, 10, Task::Ahead { near: false });
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
        (0..1000).for_each(|func| order(&mut queue, func, Task::Ahead { near: true }));
        let expected: Vec<u32> = (1000 - MOST_AHEAD as u32..1000).rev().collect();
        assert_eq!(taken(&mut queue), expected);
    }
}
