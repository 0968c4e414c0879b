//! Budgets: what a program may hold of its host. Open files, memory of messages, and values of components have one each.
//!
//! Invariant: what is used are the units of all charges together, and is within the budget unless more was used at the
//! start.

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

/// A part of a budget, which is returned on drop.
#[derive(Debug, Default)]
pub struct Charge {
    units: usize,
    /// The budget; `None` as long as there are no units.
    of: Option<Budget>,
}

impl Budget {
    /// Creates a budget of `most` units.
    pub fn new(most: usize) -> Budget {
        Budget(Arc::new(Counted { used: AtomicUsize::new(0), most }))
    }

    /// Adds `most` units to a charge of this budget, or what is left if that is at least `least`. Returns how many; `None`
    /// if fewer are left.
    pub fn add_to(&self, charge: &mut Charge, least: usize, most: usize) -> Option<usize> {
        let Counted { used, most: all } = &*self.0;
        let fits = |used: usize| all.saturating_sub(used).min(most);
        let more = |used: usize| (fits(used) >= least).then(|| used + fits(used));
        let before = used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).ok()?;
        charge.of.get_or_insert_with(|| self.clone());
        charge.units += fits(before);
        Some(fits(before))
    }
}

impl Budget {
    /// Returns the number of units in all.
    pub fn most(&self) -> usize {
        self.0.most
    }
}

#[cfg(feature = "wasi")]
impl Budget {
    /// Creates a budget of `most` units, of which some are used already, even if these are more.
    pub fn with_used(used: usize, most: usize) -> Budget {
        Budget(Arc::new(Counted { used: AtomicUsize::new(used), most }))
    }

    /// Creates an empty charge.
    pub fn charge(&self) -> Charge {
        self.adopt(0)
    }

    /// Creates a charge, if the budget has that many units left.
    pub fn take(&self, units: usize) -> Option<Charge> {
        let mut charge = self.charge();
        charge.grow(units).then_some(charge)
    }

    /// Creates a charge of units that are among the used ones already: see [`Budget::with_used`].
    pub fn adopt(&self, units: usize) -> Charge {
        Charge { units, of: Some(self.clone()) }
    }

    /// Reports whether a unit is left.
    pub fn has_room(&self) -> bool {
        self.0.used.load(Ordering::Relaxed) < self.0.most
    }
}

#[cfg(feature = "wasi")]
impl Charge {
    /// Adds units to the charge; reports whether the budget had that many.
    pub fn grow(&mut self, units: usize) -> bool {
        let of = self.of.clone();
        units == 0 || of.is_some_and(|of| of.add_to(self, units, units).is_some())
    }

    /// Changes the charge to so many units; reports whether the budget had that many. If not, the charge stays.
    pub fn set(&mut self, units: usize) -> bool {
        if units > self.units {
            return self.grow(units - self.units);
        }
        drop(Charge { units: self.units - units, of: self.of.clone() });
        self.units = units;
        true
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        if let Some(Budget(counted)) = &self.of {
            counted.used.fetch_sub(self.units, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_is_added_and_comes_back() {
        let budget = Budget::new(100);
        let (mut one, mut other) = (Charge::default(), Charge::default());
        assert_eq!(budget.add_to(&mut one, 10, 60), Some(60));
        assert_eq!(budget.add_to(&mut other, 10, 60), Some(40));
        assert_eq!(budget.add_to(&mut other, 1, 1), None);
        drop(one);
        assert_eq!(budget.add_to(&mut other, 61, 61), None);
        assert_eq!(budget.add_to(&mut other, 60, 60), Some(60));
        drop(other);
        assert_eq!(budget.add_to(&mut Charge::default(), 100, 200), Some(100));
    }

    #[cfg(feature = "wasi")]
    #[test]
    fn what_is_dropped_comes_back() {
        let budget = Budget::new(100);
        let (mut one, mut other) = (budget.charge(), budget.charge());
        assert!(one.grow(99) && !other.grow(2) && other.grow(1) && !one.grow(1));
        assert!(!one.set(100) && one.set(9) && one.set(99) && !budget.has_room());
        drop(one);
        assert!(other.grow(99) && !other.grow(1) && budget.take(1).is_none());
    }

    #[cfg(feature = "wasi")]
    #[test]
    fn what_is_used_beyond_the_budget_leaves_no_room() {
        let budget = Budget::with_used(3, 2);
        let [first, second] = [budget.adopt(1), budget.adopt(1)];
        assert!(budget.take(1).is_none() && budget.take(0).is_some());
        drop(first);
        assert!(!budget.has_room() && budget.take(1).is_none());
        drop(second);
        let taken = budget.take(1);
        assert!(taken.is_some() && !budget.has_room() && budget.take(1).is_none());
    }
}
