//! Host memory for values that pass between components and the host: what all calls of a store that have not ended take
//! together has a limit.
//!
//! Invariant: what is left and what has been taken are always the limit.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The bytes that are left.
#[derive(Debug)]
pub struct Budget(Arc<AtomicUsize>);

/// Bytes taken from a budget, which are returned when it is dropped.
#[derive(Debug, Default)]
pub struct Taken {
    bytes: usize,
    /// The budget, if there are any.
    of: Option<Arc<AtomicUsize>>,
}

impl Budget {
    /// Creates a budget of so many bytes.
    pub fn new(bytes: usize) -> Budget {
        Budget(Arc::new(AtomicUsize::new(bytes)))
    }

    /// Takes `most` bytes, or what is left if that is at least `least`; returns how many, or `None` if there are fewer.
    pub fn take(&self, taken: &mut Taken, least: usize, most: usize) -> Option<usize> {
        // Only the thread that has the store takes, so there are no fewer after this.
        let got = self.0.load(Ordering::Relaxed).min(most);
        if got < least {
            return None;
        }
        self.0.fetch_sub(got, Ordering::Relaxed);
        taken.of.get_or_insert_with(|| self.0.clone());
        taken.bytes += got;
        Some(got)
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        if let Some(of) = &self.of {
            of.fetch_add(self.bytes, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_taken_comes_back() {
        let budget = Budget::new(100);
        let (mut one, mut other) = (Taken::default(), Taken::default());
        assert_eq!(budget.take(&mut one, 10, 60), Some(60));
        assert_eq!(budget.take(&mut other, 10, 60), Some(40));
        assert_eq!(budget.take(&mut other, 1, 1), None);
        drop(one);
        assert_eq!(budget.take(&mut other, 61, 61), None);
        assert_eq!(budget.take(&mut other, 60, 60), Some(60));
        drop(other);
        assert_eq!(budget.take(&mut Taken::default(), 100, 200), Some(100));
    }
}
