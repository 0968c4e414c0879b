//! Counts calls by caller, call site and callee, recursive calls included.
//!
//! Input: a tree, and how often its call sites were executed. Output: [`CallEdge`]s.
//! Method: a record counts all calls that lead to it, recursive ones included; back edges have no counts of their
//! own. Two sums constrain them: the calls of a callee over all call sites, and the calls at a call site over all
//! callees, which are as many as the site was executed. A sum with one unknown term determines that term, which may
//! in turn leave another sum with one unknown.
//! Invariant: nothing is guessed. If the sums do not determine all calls of a function, or contradict each other, its
//! recursive calls stay at the place where it was first called, as in its records. In either case the calls of a
//! function add up to those of its records.
//! Oracle: `tests/it/contexts.rs`, which counts the calls of explicit stacks.
//!
//! Example: `main` calls `f` at 10, and `f` calls itself at 20. The record of `f` has 10 calls. Site 20 was executed
//! 9 times, so 9 calls are recursive and 1 comes from `main`.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};

use super::ContextTree;

/// The calls of one function at one site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallEdge {
    /// The caller, as a position in the tree's routines.
    pub caller: u32,
    /// Byte offset of the call instruction; 0 if the caller has no call sites.
    pub site: u32,
    /// The callee, as a position in the routines.
    pub callee: u32,
    /// Number of calls.
    pub calls: u64,
    /// Whether `calls` is complete. Otherwise there are also recursive calls, whose number is unknown.
    pub is_whole: bool,
}

/// Caller, site, callee.
type Place = (u32, u32, u32);

/// The known calls at one place.
#[derive(Clone, Copy, Default)]
struct PlaceCalls {
    /// Calls that lead to records without back edges to them.
    plain: u64,
    /// Calls from above that lead to records with back edges to them.
    mixed: u64,
    /// Whether calls here lead to records with back edges to them; their number is the unknown.
    is_open: bool,
    /// Whether some of the calls are recursive.
    is_recursive: bool,
    answer: Option<u64>,
}

/// A number of calls to be distributed over open places.
#[derive(Default)]
struct Sum {
    left: u64,
    open: Vec<Place>,
}

/// The key of a sum: a place is part of the sum of its callee and of that of its call site.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum SumKey {
    Callee(u32),
    Site(u32, u32),
}

impl ContextTree {
    /// Returns the calls by place, ascending by caller, site and callee.
    /// `executed` returns how often a routine's call site was executed, if known.
    pub fn call_edges(&self, executed: impl Fn(u32, u32) -> Option<u64>) -> Vec<CallEdge> {
        let mut places = self.places();
        let sums = sums(&places, executed);
        if sums.and_then(|sums| solve(&mut places, sums)).is_none() {
            places.values_mut().for_each(|found| found.answer = None);
        }
        let mut is_known = vec![true; self.routines.len()];
        for (&(.., callee), found) in &places {
            is_known[callee as usize] &= !found.is_open || found.answer.is_some();
        }
        let edge = |(&(caller, site, callee), found): (&Place, &PlaceCalls)| {
            let told = found.answer.filter(|_| is_known[callee as usize]);
            let calls = found.plain.saturating_add(told.unwrap_or(found.mixed));
            CallEdge { caller, site, callee, calls, is_whole: told.is_some() || !found.is_recursive }
        };
        places.iter().map(edge).collect()
    }

    /// Collects the places at which calls were made.
    fn places(&self) -> BTreeMap<Place, PlaceCalls> {
        let mut places: BTreeMap<Place, PlaceCalls> = BTreeMap::new();
        let is_recursive = self.recursive();
        let routine = |record: u32| self.records[record as usize].routine;
        for (record, is_recursive) in self.records.iter().zip(&is_recursive).skip(1) {
            let found = places.entry((routine(record.parent), record.site, record.routine)).or_default();
            let sum = if *is_recursive { &mut found.mixed } else { &mut found.plain };
            *sum = sum.saturating_add(record.calls);
            found.is_open |= is_recursive;
        }
        for record in &self.records {
            for edge in &record.back_edges {
                let found = places.entry((record.routine, edge.site, routine(edge.to))).or_default();
                (found.is_open, found.is_recursive) = (true, true);
            }
        }
        places
    }

    /// Returns by record whether a back edge leads to it.
    fn recursive(&self) -> Vec<bool> {
        let mut found = vec![false; self.records.len()];
        for edge in self.records.iter().flat_map(|record| &record.back_edges) {
            found[edge.to as usize] = true;
        }
        found
    }
}

/// Sets up the sums; returns `None` if a site was executed less often than its known calls.
fn sums(
    places: &BTreeMap<Place, PlaceCalls>,
    executed: impl Fn(u32, u32) -> Option<u64>,
) -> Option<HashMap<SumKey, Sum>> {
    let mut sums: HashMap<SumKey, Sum> = HashMap::new();
    for (&place, found) in places.iter().filter(|(_, found)| found.is_open) {
        let (caller, site, callee) = place;
        let of_callee = sums.entry(SumKey::Callee(callee)).or_default();
        of_callee.left = of_callee.left.saturating_add(found.mixed);
        of_callee.open.push(place);
        if let Entry::Vacant(of_site) = sums.entry(SumKey::Site(caller, site))
            && let Some(executed) = executed(caller, site)
        {
            let here = || places.range((caller, site, 0)..=(caller, site, u32::MAX));
            let plain = here().map(|(_, found)| found.plain).fold(0, u64::saturating_add);
            let open = here().filter(|(_, found)| found.is_open).map(|(place, _)| *place).collect();
            of_site.insert(Sum { left: executed.checked_sub(plain)?, open });
        }
    }
    Some(sums)
}

/// Solves for the unknowns that the sums determine; returns `None` if the sums contradict each other.
fn solve(places: &mut BTreeMap<Place, PlaceCalls>, mut sums: HashMap<SumKey, Sum>) -> Option<()> {
    let mut ready: Vec<SumKey> =
        sums.iter().filter(|(_, sum)| sum.open.len() == 1).map(|(&of, _)| of).collect();
    while let Some(of) = ready.pop() {
        let sum = &sums[&of];
        let &[place] = &sum.open[..] else { continue };
        let (calls, (caller, site, callee)) = (sum.left, place);
        places.get_mut(&place)?.answer = Some(calls);
        for of in [SumKey::Callee(callee), SumKey::Site(caller, site)] {
            let Some(sum) = sums.get_mut(&of) else { continue };
            sum.left = sum.left.checked_sub(calls)?;
            sum.open.retain(|other| *other != place);
            ready.extend((sum.open.len() == 1).then_some(of));
        }
    }
    sums.values().all(|sum| !sum.open.is_empty() || sum.left == 0).then_some(())
}
