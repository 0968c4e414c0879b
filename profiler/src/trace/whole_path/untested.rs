//! Residual coverage across calls: interprocedural path segments that ran in the field and in no test.
//!
//! Input: the whole program paths of the field and of the tests, of one module. Output: the field's segments that no test
//! ran, most frequent first, with the paths among them that no test ran either.
//! Invariant: a segment is tested if a test has one of the same items. Segments that are cut off, by traps and where the
//! trace ends, are neither.
//! Source: Vaswani 2007, section 3.5.2, by whole program paths; segments are those of section 3.4.2. Oracle: sets of parts
//! of the whole sequences, in `tests/it/whole_path.rs`.
//!
//! Supergraphs (`wprof_instrument::Supergraphs`) are the other way: they need no trace, but count calls that were marked
//! ahead only; whole program paths have all calls, those through tables too.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashSet};

use super::{PathItem, PathSegment, WholePath};
use crate::trace::FunctionTable;
use crate::{BlockId, ResidualError};

/// A segment that ran in the field and in no test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UntestedSegment {
    /// The segment, with its frequency in the field.
    pub segment: PathSegment,
    /// Its different paths that ran in no test, in order of execution. If there are none, only the combination is new.
    pub new_paths: Vec<PathItem>,
}

/// The path segments across calls that ran in no test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SegmentResidual {
    /// Number of different segments of the field.
    pub ran: u64,
    /// Number of their executions; saturates.
    pub executions: u64,
    /// The untested ones, most frequent first.
    pub untested: Vec<UntestedSegment>,
}

impl SegmentResidual {
    /// Returns the number of executions of untested segments; saturates.
    pub fn untested_executions(&self) -> u64 {
        sum(self.untested.iter().map(|untested| untested.segment.times))
    }

    /// Returns the number of untested segments all of whose paths were tested.
    pub fn beyond_paths(&self) -> u64 {
        self.untested.iter().filter(|untested| untested.new_paths.is_empty()).count() as u64
    }
}

impl WholePath {
    /// Returns the [`segments`](Self::segments) of this run that span at most `depth` calls and ran in none of `tests`.
    /// `block` tells what a block of a function costs.
    ///
    /// # Errors
    /// Returns an error if a test ran another module, or divides a function into other blocks.
    pub fn untested_segments(
        &self,
        tests: &[WholePath],
        depth: usize,
        block: impl Fn(u32, BlockId) -> u64,
    ) -> Result<SegmentResidual, ResidualError> {
        let (mut tested, mut paths) = (HashSet::new(), HashSet::new());
        for test in tests {
            self.check_same_functions(test)?;
            tested.extend(test.segments(depth, |_, _| 0).into_iter().map(|segment| segment.items));
            paths.extend(test.items.iter().copied());
        }
        let ran = self.segments(depth, block);
        let (count, executions) = (ran.len() as u64, sum(ran.iter().map(|segment| segment.times)));
        let untested = ran.into_iter().filter(|segment| !tested.contains(&segment.items));
        let mut untested: Vec<UntestedSegment> =
            untested.map(|segment| self.with_new_paths(segment, &paths)).collect();
        // The sort is stable: segments of one frequency stay ordered by cost.
        untested.sort_by_key(|untested| Reverse(untested.segment.times));
        Ok(SegmentResidual { ran: count, executions, untested })
    }

    fn with_new_paths(&self, segment: PathSegment, tested: &HashSet<PathItem>) -> UntestedSegment {
        let mut seen = HashSet::new();
        let is_new =
            |item: &PathItem| self.end_of(*item).is_some() && !tested.contains(item) && seen.insert(*item);
        let new_paths = segment.items.iter().copied().filter(is_new).collect();
        UntestedSegment { segment, new_paths }
    }

    /// Checks that items of both runs mean the same.
    fn check_same_functions(&self, test: &WholePath) -> Result<(), ResidualError> {
        if self.head.module_hash != test.head.module_hash {
            return Err(ResidualError::OtherModule);
        }
        let own: BTreeMap<u32, &FunctionTable> =
            self.tables.iter().map(|table| (table.function, table)).collect();
        let is_other = |table: &&FunctionTable| {
            let own = own.get(&table.function);
            own.is_some_and(|own| (&own.edges, &own.calls) != (&table.edges, &table.calls))
        };
        match test.tables.iter().find(is_other) {
            Some(table) => Err(ResidualError::OtherShape { index: table.function }),
            None => Ok(()),
        }
    }
}

fn sum(counts: impl Iterator<Item = u64>) -> u64 {
    counts.fold(0, u64::saturating_add)
}
