//! Budgets of a program, and its places for threads: what it may hold of its host.

use std::sync::atomic::{AtomicUsize, Ordering};

pub use crate::runtime::values::budget::{Budget, Charge};

/// The least number of places that a process has for threads of one kind.
const PLACES: usize = 64;

/// The number of places that some program has asked for.
static ASKED: AtomicUsize = AtomicUsize::new(0);

/// Makes the process's places of each kind at least `count`.
pub fn allow_places(count: usize) {
    ASKED.fetch_max(count, Ordering::Relaxed);
}

/// The places for threads of one kind in the process, of which each program has a share.
#[derive(Debug, Default)]
pub struct Places {
    taken: AtomicUsize,
}

/// The place of one or several threads, which is returned on drop.
#[derive(Debug)]
pub struct Place {
    of: &'static Places,
    _of_share: Charge,
}

impl Places {
    /// Creates places, none of which is taken.
    pub const fn new() -> Places {
        Places { taken: AtomicUsize::new(0) }
    }

    /// Takes a place, if a program's share and the process have one left.
    pub fn take(&'static self, share: &Budget) -> Option<Place> {
        let of_share = share.take(1)?;
        let most = ASKED.load(Ordering::Relaxed).max(PLACES);
        let more = |taken: usize| taken.checked_add(1).filter(|taken| *taken <= most);
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
        static TAKEN: Places = Places::new();
        let (one, other) = (Budget::new(PLACES - 1), Budget::new(2));
        let mut of_one: Vec<_> = (1..PLACES).map(|_| TAKEN.take(&one)).collect();
        assert!(of_one.iter().all(Option::is_some) && TAKEN.take(&one).is_none());
        let of_other = TAKEN.take(&other);
        assert!(of_other.is_some() && TAKEN.take(&other).is_none(), "all are taken");
        drop(of_one.pop());
        assert!(TAKEN.take(&other).is_some(), "a refusal costs nothing");
        drop(of_other);
        // Who asks for more places gets them, if its own share has them.
        allow_places(PLACES + 1);
        let more = Budget::new(PLACES);
        let taken: Vec<_> = (0..=PLACES).map_while(|_| TAKEN.take(&more)).collect();
        assert_eq!(taken.len(), 3);
    }
}
