//! Things that stores leave for the next ones, because the system takes long to make them.

use std::sync::{Mutex, PoisonError};

/// A number of kept things, all alike.
#[derive(Debug)]
pub struct Kept<T> {
    things: Mutex<Vec<T>>,
    most: usize,
}

impl<T> Kept<T> {
    /// Creates a shelf for at most so many.
    pub fn new(most: usize) -> Kept<T> {
        Kept { things: Mutex::default(), most }
    }

    /// Takes one, if any is kept.
    pub fn take(&self) -> Option<T> {
        self.things.lock().unwrap_or_else(PoisonError::into_inner).pop()
    }

    /// Keeps one, unless there are enough; then it is dropped.
    pub fn put(&self, one: T) {
        let mut things = self.things.lock().unwrap_or_else(PoisonError::into_inner);
        if things.len() < self.most {
            things.push(one);
        } else {
            drop(things);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_so_many_are_kept() {
        let kept = Kept::new(2);
        (1..=3).for_each(|thing| kept.put(thing));
        assert_eq!((kept.take(), kept.take(), kept.take()), (Some(2), Some(1), None));
    }
}
