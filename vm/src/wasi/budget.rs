//! Host memory for data that a program passes on as a whole: HTTP bodies.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Maximum bytes of all bodies of a program together.
const MOST_BYTES: usize = 256 << 20;

/// The memory budget of a program. Clones share it.
#[derive(Clone, Debug)]
pub struct Budget(Arc<AtomicUsize>);

/// A part of the budget, which is returned on drop.
#[derive(Debug)]
pub struct Charge {
    budget: Budget,
    bytes: usize,
}

impl Default for Budget {
    fn default() -> Self {
        Budget(Arc::new(AtomicUsize::new(MOST_BYTES)))
    }
}

impl Budget {
    /// Creates an empty charge.
    pub fn charge(&self) -> Charge {
        Charge { budget: self.clone(), bytes: 0 }
    }
}

impl Charge {
    /// Adds bytes to the charge; reports whether the budget had that many.
    pub fn grow(&mut self, bytes: usize) -> bool {
        let take = |left: usize| left.checked_sub(bytes);
        let is_there = self.budget.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_ok();
        self.bytes += if is_there { bytes } else { 0 };
        is_there
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.budget.0.fetch_add(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_dropped_comes_back() {
        let budget = Budget::default();
        let (mut one, mut other) = (budget.charge(), budget.charge());
        assert!(one.grow(MOST_BYTES - 1) && !other.grow(2) && other.grow(1) && !one.grow(1));
        drop(one);
        assert!(other.grow(MOST_BYTES - 1) && !other.grow(1));
    }
}
