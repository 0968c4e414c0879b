//! Compares two profiles of one module, or of two builds of it.
//!
//! Input: two profiles, the earlier (or complete) one first. Output: the [`Change`]s of totals, functions, edges,
//! paths, calling contexts and call targets, and the [`overlap`] of the two profiles.
//! Invariant: an item that only one profile has counts 0 in the other, so changes add up to the changes of the
//! totals. The largest change comes first; equal changes are ordered by place.
//! Functions of one module are matched by index. Functions of two builds are matched by name and shape, then by name,
//! each where the match is unambiguous, and where a name is missing by code: shape and instructions of each block, or else
//! shape. Edges and paths are compared where the shapes are
//! equal, contexts by the names on the stack.
//! Sampled figures are scaled up to the whole run, so that runs sampled at different rates can be compared. A change
//! that two samples of one program could also show is marked.
//! Source: Hirzel & Chilimbi 2001, section 5.2, for the overlap. Oracle: `tests/it/comparison.rs`.

mod contexts;
mod json;
mod matching;
mod names;
mod overlap;
mod significance;
mod targets;
mod times;

use serde::Serialize;

pub use contexts::{CommonStacks, ContextChange, ContextChanges};
pub use matching::Pair;
pub use names::share_names;
pub use overlap::{hot_coverage, overlap};
pub use targets::CallTargetChange;
pub use times::TimeChange;

use crate::{ContextTree, FigureKind, FunctionProfile, Profile};
use significance::{Figure, Sample, Samples};

/// One figure as both profiles have it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Change {
    /// The figure in the first profile.
    pub before: u64,
    /// The figure in the second profile.
    pub after: u64,
}

impl Change {
    /// Returns by how much the figure grew; negative if it shrank.
    pub fn delta(self) -> i128 {
        i128::from(self.after) - i128::from(self.before)
    }

    /// Returns the sort key that puts the largest change first.
    fn rank(self) -> std::cmp::Reverse<u128> {
        std::cmp::Reverse(self.delta().unsigned_abs())
    }
}

/// A figure of the whole program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TotalChange {
    /// The name of the figure: `time` (in nanoseconds), `instructions`, `calls`, `host calls`, or a kind of event.
    pub name: String,
    /// The figure in both profiles.
    pub total: Change,
    /// Whether two samples of one program may differ by this much.
    pub may_be_chance: bool,
}

/// A function that ran in at least one of the profiles.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FunctionChange {
    /// Index in the first profile's module, if the function ran there.
    pub index_before: Option<u32>,
    /// Index in the second profile's module, if the function ran there.
    pub index_after: Option<u32>,
    /// Name of the function.
    pub name: Option<String>,
    /// Whether the function ran in both profiles and its blocks or edges differ.
    pub was_reshaped: bool,
    /// Instructions executed.
    pub ops: Change,
    /// Calls of the function.
    pub calls: Change,
    /// Whether the instructions of two samples of one program may differ by this much.
    pub ops_may_be_chance: bool,
    /// Whether the calls of two samples of one program may differ by this much.
    pub calls_may_be_chance: bool,
}

/// A path that finished in at least one profile, of a function whose shape is the same in both.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PathChange {
    /// Index of the function in the first profile's module.
    pub index_before: u32,
    /// Index of the function in the second profile's module.
    pub index_after: u32,
    /// Number of the path.
    pub id: u64,
    /// The number of times the path ran.
    pub count: Change,
    /// Instructions executed on the path.
    pub ops: Change,
    /// Whether the instructions of two samples of one program may differ by this much.
    pub may_be_chance: bool,
}

/// Two profiles with their functions matched.
#[derive(Clone, Debug)]
pub struct Comparison<'a> {
    before: &'a Profile,
    after: &'a Profile,
    functions: Vec<Pair<'a>>,
    samples: Samples,
    /// Whether code and contexts are compared, and not only time and what is always exact.
    has_code: bool,
}

impl<'a> Comparison<'a> {
    /// Matches the functions of two profiles.
    pub fn new(before: &'a Profile, after: &'a Profile) -> Self {
        let samples = Samples { before: Sample::new(before), after: Sample::new(after) };
        Self { before, after, functions: matching::pairs(before, after), samples, has_code: true }
    }

    /// Compares the amounts in two profiles. If one of them saw too little of its run ([`Profile::saw_enough`]), only
    /// time, events and calls to the host are compared.
    pub fn of_amounts(before: &'a Profile, after: &'a Profile) -> Self {
        let has_code = before.saw_enough() && after.saw_enough();
        let all = Self::new(before, after);
        if has_code { all } else { Self { functions: Vec::new(), has_code, ..all } }
    }

    /// Reports whether code and contexts are compared: both profiles saw enough of their runs.
    pub fn has_code(&self) -> bool {
        self.has_code
    }

    /// Reports whether both profiles are of the same module, byte for byte.
    pub fn is_of_one_module(&self) -> bool {
        self.before.module_hash == self.after.module_hash
    }

    /// Reports whether all counts of both profiles are exact.
    pub fn is_exact(&self) -> bool {
        let mut functions = self.before.functions.iter().chain(&self.after.functions);
        functions.all(|function| function.kind == FigureKind::Exact)
    }

    /// Returns the totals that both profiles have.
    pub fn totals(&self) -> Vec<TotalChange> {
        let (before, after) = (self.before, self.after);
        let total = |name: &str, before: u64, after: u64| TotalChange {
            name: name.to_owned(),
            total: Change { before, after },
            may_be_chance: false,
        };
        let of_time = self.total_time().map(|TimeChange { name, time, may_be_chance }| TotalChange {
            name,
            total: time,
            may_be_chance,
        });
        let mut totals: Vec<TotalChange> = of_time.into_iter().collect();
        if self.has_code && has_code(before) && has_code(after) {
            totals.push(self.total("instructions", FunctionProfile::ops, Figure::of_ops));
            totals.push(self.total("calls", FunctionProfile::calls, Figure::of_calls));
        }
        totals.push(total("host calls", host_calls(before), host_calls(after)));
        for event in &before.events {
            let known = totals.iter().any(|total| total.name == event.name);
            let other = after.events.iter().find(|other| other.name == event.name);
            if let Some(other) = other.filter(|_| !known) {
                totals.push(total(&event.name, event.count, other.count));
            }
        }
        totals
    }

    /// Sums a figure over all functions.
    fn total(
        &self,
        name: &str,
        count: fn(&FunctionProfile) -> u64,
        figure: fn(&FunctionProfile) -> Figure,
    ) -> TotalChange {
        let sum = |profile: &Profile| {
            let counts = profile.functions.iter().map(|function| function.kind.scaled_up(count(function)));
            counts.fold(0, u64::saturating_add)
        };
        let sample =
            |profile: &Profile| profile.functions.iter().map(figure).fold(Figure::default(), Figure::plus);
        let may_be_chance =
            !self.samples.are_exact() && self.samples.may_be_chance(sample(self.before), sample(self.after));
        let total = Change { before: sum(self.before), after: sum(self.after) };
        TotalChange { name: name.to_owned(), total, may_be_chance }
    }

    /// Returns the functions, largest change of instructions first.
    pub fn functions(&self) -> Vec<FunctionChange> {
        let mut changes: Vec<FunctionChange> =
            self.functions.iter().map(|pair| pair.change(&self.samples)).collect();
        changes.sort_by_key(|change| (change.ops.rank(), change.calls.rank()));
        changes
    }

    /// Returns the counts of all edges. An edge of a function that was reshaped, or that ran in one profile only,
    /// counts in that profile only. The list is empty unless both profiles have edge counts.
    pub fn edges(&self) -> Vec<Change> {
        let all = [self.before, self.after].map(|profile| &profile.functions);
        if !self.has_code
            || all.iter().any(|functions| functions.iter().any(|function| !function.has_edge_counts()))
        {
            return Vec::new();
        }
        self.functions.iter().flat_map(Pair::edges).collect()
    }

    /// Returns the paths, largest change of instructions first.
    pub fn paths(&self) -> Vec<PathChange> {
        let mut changes: Vec<PathChange> =
            self.functions.iter().flat_map(|pair| pair.paths(&self.samples)).collect();
        changes.sort_by_key(|change| change.ops.rank());
        changes
    }

    /// Returns the calling contexts, largest change of calls first; none unless both profiles have contexts.
    pub fn contexts(&self) -> ContextChanges {
        let changes = self.trees().map(|trees| contexts::changes(trees, self.is_of_one_module()));
        changes.unwrap_or_default()
    }

    /// Returns the calls by call site and callee, largest change first. Call sites move between builds, so profiles
    /// of two modules have none.
    pub fn call_targets(&self) -> Vec<CallTargetChange> {
        match self.is_of_one_module() {
            true if self.has_code => targets::changes(self.before, self.after),
            _ => Vec::new(),
        }
    }

    /// Returns the call stacks of both profiles' contexts; `None` unless both profiles have contexts.
    pub fn stacks(&self) -> Option<CommonStacks> {
        self.trees().map(|trees| contexts::common_stacks(trees, self.is_of_one_module()))
    }

    fn trees(&self) -> Option<(&'a ContextTree, &'a ContextTree)> {
        self.before.contexts.as_ref().zip(self.after.contexts.as_ref()).filter(|_| self.has_code)
    }
}

fn has_code(profile: &Profile) -> bool {
    !profile.functions.is_empty()
}

fn host_calls(profile: &Profile) -> u64 {
    profile.host_calls.iter().map(|calls| calls.count).fold(0, u64::saturating_add)
}
