//! Policies of bursts: which of those that are due begin, and how many checks lie between two of them.
//!
//! Input: the place at which a burst is due, and how long phases took. Output: whether it begins, and the number of
//! checks until the next one. A policy chooses the sample; it cannot change what the program does.
//! Invariant: a burst that a policy leaves out is recorded as skipped, with the checks that it stands for, so that the
//! shares of a profile account for it ([`SkippedBursts`](crate::SkippedBursts)).
//! [`BurstBudget`] and [`RareSites`] are policies. A new one is a file with a type that implements [`BurstPolicy`].

use std::collections::HashMap;
use std::fmt::Debug;

use super::burst_budget::{BurstBudget, Phase};

/// The place of a check at which a burst is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BurstSite {
    /// A number that identifies the module as long as its store lives.
    pub module: usize,
    /// The function's index.
    pub function: u32,
    /// The block that the check is in: 0 at the function's entry, else a loop header.
    pub block: u32,
}

/// A policy of the bursts of one store.
pub trait BurstPolicy: Send + Sync + Debug {
    /// Decides whether a burst begins that is due at `site` (default: each does).
    fn begins(&mut self, site: BurstSite) -> bool {
        let _ = site;
        true
    }

    /// Takes note of a burst that has ended, and of the phase before it; returns the number of checks until the next
    /// burst, or `None` to leave it as it is (default).
    fn after(&mut self, between: Phase, burst: Phase) -> Option<u32> {
        let _ = (between, burst);
        None
    }
}

impl BurstPolicy for BurstBudget {
    fn after(&mut self, between: Phase, burst: Phase) -> Option<u32> {
        Some(self.checks_between(between, burst))
    }
}

/// Sees code that rarely runs as often as code that runs all the time: the share of due bursts that begin at a place
/// starts at one, and falls to a tenth each time that `bursts` of them have begun there, down to one in `most`.
///
/// It finds rare code sooner; what is known of hot code becomes less certain, and intervals say so.
/// Source: Hauswirth & Chilimbi, *Low-Overhead Memory Leak Detection Using Adaptive Statistical Profiling*, ASPLOS 2004,
/// section 3, with bursts in place of executions of a code segment.
#[derive(Clone, Debug)]
pub struct RareSites {
    bursts: u32,
    most: u32,
    sites: HashMap<BurstSite, Site>,
}

/// Number of places that [`RareSites`] tells apart; bursts at further ones always begin.
const MOST_SITES: usize = 1 << 16;

/// The events at one place.
#[derive(Clone, Copy, Debug)]
struct Site {
    /// One in this many due bursts begins.
    one_in: u32,
    /// Bursts that begin until fewer do.
    left: u32,
    /// Due bursts until the next one begins.
    wait: u32,
}

impl RareSites {
    /// Creates a policy that has seen no place. `bursts` and `most` are at least 1.
    pub fn new(bursts: u32, most: u32) -> RareSites {
        RareSites { bursts: bursts.max(1), most: most.max(1), sites: HashMap::new() }
    }
}

/// Ten bursts at each rate, down to one burst in a thousand.
impl Default for RareSites {
    fn default() -> Self {
        RareSites::new(10, 1000)
    }
}

impl BurstPolicy for RareSites {
    fn begins(&mut self, site: BurstSite) -> bool {
        if self.sites.len() >= MOST_SITES && !self.sites.contains_key(&site) {
            return true;
        }
        let new = Site { one_in: 1, left: self.bursts, wait: 0 };
        let here = self.sites.entry(site).or_insert(new);
        if here.wait > 0 {
            here.wait -= 1;
            return false;
        }
        here.left -= 1;
        if here.left == 0 {
            here.one_in = here.one_in.saturating_mul(10).min(self.most);
            here.left = self.bursts;
        }
        here.wait = here.one_in - 1;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SITE: BurstSite = BurstSite { module: 0, function: 7, block: 0 };

    #[test]
    fn places_that_have_had_many_bursts_get_fewer() {
        let mut policy = RareSites::new(2, 100);
        let begun = |policy: &mut RareSites, due| (0..due).filter(|_| policy.begins(SITE)).count();
        // Two at once; each of the next two after nine that are left out; then one in a hundred, for ever.
        assert_eq!(begun(&mut policy, 2), 2);
        assert_eq!(begun(&mut policy, 20), 2);
        assert_eq!(begun(&mut policy, 1000), 10);
        assert_eq!(begun(&mut policy, 1000), 10);
    }

    #[test]
    fn other_places_are_not_affected() {
        let mut policy = RareSites::new(1, 1000);
        assert!((0..100).filter(|_| policy.begins(SITE)).count() < 20);
        assert!(policy.begins(BurstSite { function: 8, ..SITE }));
        assert!(policy.begins(BurstSite { block: 1, ..SITE }));
    }

    #[test]
    fn a_budget_lets_every_burst_begin_and_sets_the_pace() {
        let mut budget = BurstBudget::new("1%".parse().expect("a share"));
        assert!(budget.begins(SITE));
        let phase = Phase { checks: 100, time: 1000 };
        assert_eq!(budget.after(phase, phase), Some(100), "the first bursts are cold");
    }
}
