//! Counts hot subpaths, and interprocedural path segments, on the grammar.
//!
//! Input: a [`WholePath`], and the cost of a block. Output: sequences of paths, with the calls and returns between
//! them.
//! Source: Larus 1999, section 4: the minimal hot subpaths are those that cost at least a share of the run and have
//! no part that does; cost = frequency * the cost of the paths. Vaswani 2007, section 3.4.2: a depth-k segment begins
//! with a path that ends at a call, spans at most k calls, and ends where it would span more, at a back edge, or
//! where the function in which it began returns. Oracle: counting in the whole sequence, in `tests/it/whole_path.rs`.

use std::collections::HashMap;
use std::ops::RangeInclusive;

use super::{PathItem, SubpathEnd, WholePath};
use crate::{BlockId, Part, Parts};

/// Average number of calls and returns between two paths of a subpath, up to which subpaths are found.
const MOST_BETWEEN: usize = 3;

/// Number of items of a segment per call, up to which segments are found.
const MOST_EACH_CALL: usize = 8;

/// A sequence of consecutive paths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subpath {
    /// The paths, with the calls and returns between them.
    pub items: Vec<PathItem>,
    /// Number of occurrences, which may overlap.
    pub times: u64,
    /// Cost of all occurrences; saturates.
    pub cost: u64,
}

/// An interprocedural path segment.
pub type Segment = Subpath;

/// The data of the items that counting needs.
struct Known {
    /// By item: how the path ends, if it is a finished path.
    ends: Vec<Option<SubpathEnd>>,
    is_enter: Vec<bool>,
    is_leave: Vec<bool>,
    costs: Vec<u64>,
}

impl WholePath {
    /// Returns the cost of all paths of the sequence, including unfinished ones; saturates.
    pub fn cost(&self, block: impl Fn(u32, BlockId) -> u64) -> u64 {
        let known = self.known(block);
        let mut sum = 0_u64;
        for (rule, times) in self.grammar.times().into_iter().enumerate() {
            let items = self.grammar.rules()[rule].iter().filter_map(|symbol| symbol.as_item());
            let cost = items.map(|item| known.costs[item as usize]).fold(0, u64::saturating_add);
            sum = sum.saturating_add(cost.saturating_mul(times));
        }
        sum
    }

    /// Returns the minimal hot subpaths, hottest first: sequences of as many paths as `lengths` allows that cost at
    /// least `least`, and have no part of such a length that does.
    pub fn hot_subpaths(
        &self,
        lengths: RangeInclusive<usize>,
        least: u64,
        block: impl Fn(u32, BlockId) -> u64,
    ) -> Vec<Subpath> {
        let known = self.known(block);
        let parts = Parts::new(&self.grammar, lengths.end().saturating_mul(1 + MOST_BETWEEN));
        // By place: the end of the first hot subpath that begins there or later.
        let mut ends = vec![usize::MAX; parts.places()];
        let mut found = Vec::new();
        for length in lengths {
            let of_length = |items: &[u32]| known.paths(items, length);
            let mut times: HashMap<&[u32], u64> = HashMap::new();
            parts.visit(of_length, |part| {
                if part.times > 0 && ends[part.at] > part.at + part.items.len() {
                    let sum = times.entry(part.items).or_default();
                    *sum = sum.saturating_add(part.times);
                }
            });
            times.retain(|items, times| known.cost(items, *times) >= least);
            let mark = |part: Part<'_>| {
                if times.contains_key(part.items) {
                    ends[part.at] = ends[part.at].min(part.at + part.items.len());
                }
            };
            parts.visit(of_length, mark);
            parts.least_from(&mut ends);
            found.extend(times.into_iter().map(|(items, times)| self.subpath(items, times, &known)));
        }
        sort(&mut found);
        found
    }

    /// Returns the interprocedural path segments that span at most `depth` calls and at least one, costliest first.
    pub fn segments(&self, depth: usize, block: impl Fn(u32, BlockId) -> u64) -> Vec<Segment> {
        let known = self.known(block);
        let most = depth.saturating_add(1).saturating_mul(MOST_EACH_CALL);
        let parts = Parts::new(&self.grammar, most);
        let mut times: HashMap<&[u32], u64> = HashMap::new();
        parts.visit(
            |items| known.segment(items, depth),
            |part| {
                // The item after the call only shows that the call enters a function.
                let items = known.without_enter(part.items);
                let sum = times.entry(items).or_default();
                *sum = sum.saturating_add(part.times);
            },
        );
        times.retain(|_, times| *times > 0);
        let mut found: Vec<_> =
            times.into_iter().map(|(items, times)| self.subpath(items, times, &known)).collect();
        sort(&mut found);
        found
    }

    /// Calls `found` with each interprocedural path segment of [`segments`](Self::segments), in the order in which they
    /// begin; it goes through the whole sequence.
    pub fn for_each_segment(&self, depth: usize, mut found: impl FnMut(Vec<PathItem>)) {
        let known = self.known(|_, _| 0);
        let most = depth.saturating_add(1).saturating_mul(MOST_EACH_CALL);
        let all: Vec<u32> = self.grammar.items().collect();
        for at in 0..all.len() {
            let rest = &all[at..all.len().min(at.saturating_add(most))];
            if let Some(length) = known.segment(rest, depth).filter(|&length| length <= rest.len()) {
                let items = known.without_enter(&rest[..length]);
                found(items.iter().map(|&item| self.items[item as usize]).collect());
            }
        }
    }

    fn subpath(&self, items: &[u32], times: u64, known: &Known) -> Subpath {
        let cost = known.cost(items, times);
        Subpath { items: items.iter().map(|&item| self.items[item as usize]).collect(), times, cost }
    }

    fn known(&self, block: impl Fn(u32, BlockId) -> u64) -> Known {
        Known {
            ends: self.items.iter().map(|&item| self.end_of(item)).collect(),
            is_enter: self.items.iter().map(|item| matches!(item, PathItem::Enter(_))).collect(),
            is_leave: self.items.iter().map(|item| matches!(item, PathItem::Leave)).collect(),
            costs: self.costs(block),
        }
    }

    /// Returns what each item costs.
    pub(super) fn costs(&self, block: impl Fn(u32, BlockId) -> u64) -> Vec<u64> {
        let cost = |&item: &PathItem| {
            let function = match item {
                PathItem::Path { function, .. }
                | PathItem::Stopped { function, .. }
                | PathItem::Called { function, .. } => function,
                PathItem::Enter(_) | PathItem::Leave | PathItem::Unwound => return 0,
            };
            let blocks = self.blocks(item).unwrap_or_default();
            blocks.into_iter().map(|at| block(function, at)).fold(0, u64::saturating_add)
        };
        self.items.iter().map(cost).collect()
    }
}

impl Known {
    fn is_path(&self, item: u32) -> bool {
        self.ends[item as usize].is_some()
    }

    fn cost(&self, items: &[u32], times: u64) -> u64 {
        let once = items.iter().map(|&item| self.costs[item as usize]).fold(0, u64::saturating_add);
        once.saturating_mul(times)
    }

    /// Returns the number of items that the next `count` paths take, if a path comes first and none is stopped among
    /// them.
    fn paths(&self, items: &[u32], count: usize) -> Option<usize> {
        let mut left = count;
        for (at, &item) in items.iter().enumerate() {
            match self.is_path(item) {
                true => left -= 1,
                false if at == 0 || !(self.is_enter[item as usize] || self.is_leave[item as usize]) => {
                    return None;
                }
                false => {}
            }
            if left == 0 {
                return Some(at + 1);
            }
        }
        None
    }

    /// Returns the number of items of the segment that begins here; one more if it ends at a call.
    fn segment(&self, items: &[u32], most: usize) -> Option<usize> {
        let enters = |at: usize| items.get(at).map(|&item| self.is_enter[item as usize]);
        let begins = self.ends[*items.first()? as usize] == Some(SubpathEnd::Call) && enters(1)?;
        let (mut calls, mut depth) = (0, 0);
        for (at, &item) in items.iter().enumerate().filter(|_| begins) {
            match self.ends[item as usize] {
                Some(SubpathEnd::Loop) => return Some(at + 1),
                Some(SubpathEnd::Return) if depth == 0 => return Some(at + 1),
                // Calls of the host have no further items.
                Some(SubpathEnd::Call) if calls == most && enters(at + 1)? => return Some(at + 2),
                Some(_) => {}
                None if self.is_enter[item as usize] => (calls, depth) = (calls + 1, depth + 1),
                None if self.is_leave[item as usize] && depth > 0 => depth -= 1,
                None => return None,
            }
        }
        None
    }

    fn without_enter<'a>(&self, items: &'a [u32]) -> &'a [u32] {
        match items {
            [first @ .., last] if self.is_enter[*last as usize] => first,
            _ => items,
        }
    }
}

fn sort(found: &mut [Subpath]) {
    found.sort_by(|a, b| b.cost.cmp(&a.cost).then_with(|| a.items.cmp(&b.items)));
}
