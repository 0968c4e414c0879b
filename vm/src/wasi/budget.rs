//! Budgets: what a program may hold of its host, in memory, open files and threads.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A budget of a program, counted in units of its own. Clones share it.
#[derive(Clone, Debug)]
pub struct Budget(Arc<Counted>);

#[derive(Debug)]
struct Counted {
    used: AtomicUsize,
    most: usize,
}

/// A part of the budget, which is returned on drop.
#[derive(Debug)]
pub struct Charge {
    budget: Budget,
    units: usize,
}

impl Budget {
    /// Creates a budget of `most` units.
    pub fn new(most: usize) -> Budget {
        Budget::with_used(0, most)
    }

    /// Creates a budget of `most` units, of which some are used already, even if these are more.
    pub fn with_used(used: usize, most: usize) -> Budget {
        Budget(Arc::new(Counted { used: AtomicUsize::new(used), most }))
    }

    /// Returns the number of units in all.
    pub fn most(&self) -> usize {
        self.0.most
    }

    /// Creates an empty charge.
    pub fn charge(&self) -> Charge {
        Charge { budget: self.clone(), units: 0 }
    }

    /// Creates a charge, if the budget has that many units left.
    pub fn take(&self, units: usize) -> Option<Charge> {
        let mut charge = self.charge();
        charge.grow(units).then_some(charge)
    }

    /// Creates a charge of units that are among the used ones already: see [`Budget::with_used`].
    pub fn adopt(&self, units: usize) -> Charge {
        Charge { budget: self.clone(), units }
    }

    /// Reports whether a unit is left.
    pub fn has_room(&self) -> bool {
        self.0.used.load(Ordering::Relaxed) < self.0.most
    }

    /// Uses units, which [`Budget::give_back`] must return; reports whether the budget had that many.
    pub fn spend(&self, units: usize) -> bool {
        let Counted { used, most } = &*self.0;
        let more = |used: usize| used.checked_add(units).filter(|used| used <= most);
        units == 0 || used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_ok()
    }

    /// Returns units that were used.
    pub fn give_back(&self, units: usize) {
        self.0.used.fetch_sub(units, Ordering::Relaxed);
    }
}

impl Charge {
    /// Adds units to the charge; reports whether the budget had that many.
    pub fn grow(&mut self, units: usize) -> bool {
        let is_there = self.budget.spend(units);
        self.units += if is_there { units } else { 0 };
        is_there
    }

    /// Changes the charge to so many units; reports whether the budget had that many. If not, the charge stays.
    pub fn set(&mut self, units: usize) -> bool {
        if units > self.units {
            return self.grow(units - self.units);
        }
        self.budget.give_back(self.units - units);
        self.units = units;
        true
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.budget.give_back(self.units);
    }
}

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
    fn what_is_dropped_comes_back() {
        let budget = Budget::new(100);
        let (mut one, mut other) = (budget.charge(), budget.charge());
        assert!(one.grow(99) && !other.grow(2) && other.grow(1) && !one.grow(1));
        assert!(!one.set(100) && one.set(9) && one.set(99) && !budget.has_room());
        drop(one);
        assert!(other.grow(99) && !other.grow(1) && budget.take(1).is_none());
    }

    #[test]
    fn what_is_used_beyond_the_budget_leaves_no_room() {
        let budget = Budget::with_used(3, 2);
        assert!(!budget.spend(1) && budget.spend(0));
        budget.give_back(1);
        assert!(!budget.has_room() && !budget.spend(1));
        budget.give_back(1);
        assert!(budget.has_room() && budget.spend(1) && !budget.spend(1));
    }

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
