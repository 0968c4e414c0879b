//! Budgets of a program, and its places for threads: what it may hold of its host.

use std::sync::atomic::{AtomicUsize, Ordering};

pub use crate::runtime::values::budget::{Budget, Charge};

/// The places for threads of one kind: so many in the process, of which each program has a share.
#[derive(Debug)]
pub struct Places {
    taken: AtomicUsize,
    most: usize,
}

/// The place of one or several threads, which is returned on drop.
#[derive(Debug)]
pub struct Place {
    of: &'static Places,
    _of_share: Charge,
}

impl Places {
    /// Creates `most` places.
    pub const fn new(most: usize) -> Places {
        Places { taken: AtomicUsize::new(0), most }
    }

    /// Takes a place, if a program's share and the process have one left.
    pub fn take(&'static self, share: &Budget) -> Option<Place> {
        let of_share = share.take(1)?;
        let more = |taken: usize| taken.checked_add(1).filter(|taken| *taken <= self.most);
        self.taken.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).ok()?;
        Some(Place { of: self, _of_share: of_share })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.of.taken.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_has_a_share_of_the_places() {
        static PLACES: Places = Places::new(3);
        let (one, other) = (Budget::new(2), Budget::new(2));
        let of_one = [PLACES.take(&one), PLACES.take(&one)];
        assert!(of_one.iter().all(Option::is_some) && PLACES.take(&one).is_none());
        let of_other = PLACES.take(&other);
        assert!(of_other.is_some() && PLACES.take(&other).is_none(), "three are taken");
        drop(of_one);
        assert!(PLACES.take(&other).is_some(), "a refusal costs nothing");
    }
}
