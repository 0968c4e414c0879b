//! The queue of requests between connections and workers.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The maximum number of requests that wait for a worker; the thread that adds another one waits until there is room.
const LONGEST: usize = 64;

/// The items that wait for a worker, in the order of their arrival.
pub struct Queue<J> {
    state: Mutex<State<J>>,
    /// Notified when something is put in, taken out, or the queue ends.
    changed: Condvar,
}

struct State<J> {
    waiting: VecDeque<(Instant, J)>,
    /// The number of items that may still be taken; 0 when the queue has ended.
    left: u64,
    /// The number of workers that wait for something, or are about to.
    idle: usize,
}

impl<J> Queue<J> {
    /// Creates a queue from which at most `most` items are taken.
    pub fn new(most: u64) -> Queue<J> {
        let state = State { waiting: VecDeque::new(), left: most, idle: 0 };
        Queue { state: Mutex::new(state), changed: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, State<J>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts something in, as soon as there is room. Returns whether somebody will take it: not if the queue has ended.
    pub fn put(&self, job: J) -> bool {
        let full = |state: &mut State<J>| state.left > 0 && state.waiting.len() >= LONGEST;
        let mut state = self.changed.wait_while(self.lock(), full).unwrap_or_else(PoisonError::into_inner);
        if state.left == 0 {
            return false;
        }
        state.waiting.push_back((Instant::now(), job));
        self.changed.notify_all();
        true
    }

    /// Adds a worker, which counts as idle until it takes something.
    pub fn join(&self) {
        self.lock().idle += 1;
    }

    /// Removes an idle worker.
    pub fn leave(&self) {
        self.lock().idle -= 1;
    }

    /// Takes the first, for an idle worker, and waits for it; nothing once the queue has ended. A worker that gets something
    /// is idle again after [`Queue::join`].
    pub fn take(&self) -> Option<J> {
        let empty = |state: &mut State<J>| state.left > 0 && state.waiting.is_empty();
        let mut state = self.changed.wait_while(self.lock(), empty).unwrap_or_else(PoisonError::into_inner);
        let (_, job) = if state.left > 0 { state.waiting.pop_front()? } else { return None };
        state.idle -= 1;
        state.left -= 1;
        self.changed.notify_all();
        Some(job)
    }

    /// Reports whether the first item has waited for `time` and all workers are busy.
    pub fn is_behind(&self, time: Duration) -> bool {
        let state = self.lock();
        state.left > 0
            && state.idle == 0
            && state.waiting.front().is_some_and(|(came, _)| came.elapsed() >= time)
    }

    /// Ends the queue: nothing is taken any more. Returns what waits.
    pub fn close(&self) -> Vec<J> {
        let mut state = self.lock();
        state.left = 0;
        self.changed.notify_all();
        state.waiting.drain(..).map(|(_, job)| job).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Duration = Duration::ZERO;

    fn take(queue: &Queue<u32>) -> Option<u32> {
        queue.join();
        queue.take()
    }

    #[test]
    fn no_more_are_taken_than_allowed_and_none_after_the_end() {
        let queue = Queue::new(2);
        assert!((1..=3).all(|job| queue.put(job)));
        assert_eq!([take(&queue), take(&queue), take(&queue)], [Some(1), Some(2), None]);
        assert!(!queue.put(4));
        assert_eq!(queue.close(), [3]);
        assert_eq!(take(&queue), None);
    }

    #[test]
    fn a_queue_is_behind_while_all_workers_are_busy() {
        let queue = Queue::new(9);
        queue.put(1);
        assert!(queue.is_behind(NOW), "nobody is there");
        queue.join();
        assert!(!queue.is_behind(NOW), "somebody is about to take it");
        assert_eq!(queue.take(), Some(1));
        assert!(!queue.is_behind(NOW), "nothing waits");
        queue.put(2);
        assert!(queue.is_behind(NOW) && !queue.is_behind(Duration::from_secs(3600)));
        queue.join();
        queue.leave();
        assert!(queue.is_behind(NOW), "the only other one has gone");
    }

    #[test]
    fn who_waits_hears_of_the_end() {
        let (empty, full) = (Queue::new(9), Queue::new(u64::MAX));
        assert!((0..LONGEST as u32).all(|job| full.put(job)));
        std::thread::scope(|scope| {
            let (worker, late) = (scope.spawn(|| take(&empty)), scope.spawn(|| full.put(99)));
            assert!(empty.close().is_empty() && full.close().len() == LONGEST);
            // Whether they waited before the end or came after it.
            assert!(worker.join().unwrap().is_none() && !late.join().unwrap());
        });
    }
}
