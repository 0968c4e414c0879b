//! Two profiles side by side: of one module, or of two builds of it.
//!
//! Input: two profiles, the earlier (or complete) one first. Output: [`Change`]s of totals, functions, edges, paths,
//! calling contexts and call targets; how much of them [`overlap`]s.
//! Invariant: what is only in one profile is 0 in the other, so changes add up to those of the totals. Order matters:
//! the largest change comes first, equal ones by place.
//! In one module functions are matched by index. In another build of it they are matched by name and shape, then by
//! name, and those without names by shape, where that is unambiguous; edges and paths are compared where the shape is
//! the same, contexts by the names on the stack.
//! Figures of samples are scaled up to the whole run, so that runs sampled at different rates can be compared; what
//! changed less than samples of one program may differ is marked.
//! Source: Hirzel & Chilimbi 2001, section 5.2, for the overlap. Oracle: `tests/it/comparison.rs`.

mod contexts;
mod json;
mod matching;
mod overlap;
mod significance;
mod targets;
mod times;

use serde::Serialize;

pub use contexts::{CommonStacks, ContextChange, ContextChanges};
pub use matching::Pair;
pub use overlap::{hot_coverage, overlap};
pub use targets::CallTargetChange;
pub use times::TimeChange;

use crate::{ContextTree, FigureKind, FunctionProfile, Profile};
use significance::{Figure, Sample, Samples};

/// A figure in both profiles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Change {
    /// In the first.
    pub before: u64,
    /// In the second.
    pub after: u64,
}

impl Change {
    /// By how much it grew; negative if it shrank.
    pub fn delta(self) -> i128 {
        i128::from(self.after) - i128::from(self.before)
    }

    /// What changes are sorted by, largest first.
    fn rank(self) -> std::cmp::Reverse<u128> {
        std::cmp::Reverse(self.delta().unsigned_abs())
    }
}

/// A figure of the whole program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TotalChange {
    /// What it is called: `time` (in nanoseconds), `instructions`, `calls`, `host calls`, or a kind of event.
    pub name: String,
    /// The figure.
    pub total: Change,
    /// Whether samples of one program may differ so much.
    pub may_be_chance: bool,
}

/// A function that ran in one profile at least.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FunctionChange {
    /// Its index in the first profile's module, if it ran there.
    pub index_before: Option<u32>,
    /// Its index in the second one's.
    pub index_after: Option<u32>,
    /// Its name.
    pub name: Option<String>,
    /// Whether it ran in both and its blocks or edges differ.
    pub was_reshaped: bool,
    /// Instructions executed.
    pub ops: Change,
    /// Calls.
    pub calls: Change,
    /// Whether the instructions of samples of one program may differ so much.
    pub ops_may_be_chance: bool,
    /// The same of its calls.
    pub calls_may_be_chance: bool,
}

/// A path that ran to its end in one profile at least, of a function whose shape is the same in both.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PathChange {
    /// The function's index in the first profile's module.
    pub index_before: u32,
    /// Its index in the second one's.
    pub index_after: u32,
    /// The path's number.
    pub id: u64,
    /// How often it ran.
    pub count: Change,
    /// Instructions executed on it.
    pub ops: Change,
    /// Whether samples of one program may differ so much.
    pub may_be_chance: bool,
}

/// Two profiles.
#[derive(Clone, Debug)]
pub struct Comparison<'a> {
    before: &'a Profile,
    after: &'a Profile,
    functions: Vec<Pair<'a>>,
    samples: Samples,
}

impl<'a> Comparison<'a> {
    /// Matches their functions.
    pub fn new(before: &'a Profile, after: &'a Profile) -> Self {
        let samples = Samples { before: Sample::of(before), after: Sample::of(after) };
        Self { before, after, functions: matching::pairs(before, after), samples }
    }

    /// Whether both are of one module, byte for byte.
    pub fn is_of_one_module(&self) -> bool {
        self.before.module_hash == self.after.module_hash
    }

    /// Whether all counts of both are exact.
    pub fn is_exact(&self) -> bool {
        let mut functions = self.before.functions.iter().chain(&self.after.functions);
        functions.all(|function| function.kind == FigureKind::Exact)
    }

    /// The totals that both have.
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
        if has_code(before) && has_code(after) {
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

    /// A total of figures of functions.
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

    /// The functions, those whose instructions changed most first.
    pub fn functions(&self) -> Vec<FunctionChange> {
        let mut changes: Vec<FunctionChange> =
            self.functions.iter().map(|pair| pair.change(&self.samples)).collect();
        changes.sort_by_key(|change| (change.ops.rank(), change.calls.rank()));
        changes
    }

    /// The counts of all edges; those of functions that were reshaped, or ran in one profile only, are in one only.
    /// Nothing unless both have counted edges.
    pub fn edges(&self) -> Vec<Change> {
        let all = [self.before, self.after].map(|profile| &profile.functions);
        if all.iter().any(|functions| functions.iter().any(|function| !function.has_edge_counts())) {
            return Vec::new();
        }
        self.functions.iter().flat_map(Pair::edges).collect()
    }

    /// The paths, those whose instructions changed most first.
    pub fn paths(&self) -> Vec<PathChange> {
        let mut changes: Vec<PathChange> =
            self.functions.iter().flat_map(|pair| pair.paths(&self.samples)).collect();
        changes.sort_by_key(|change| change.ops.rank());
        changes
    }

    /// The calling contexts, those whose calls changed most first; none unless both have counted them.
    pub fn contexts(&self) -> ContextChanges {
        let changes = self.trees().map(|trees| contexts::changes(trees, self.is_of_one_module()));
        changes.unwrap_or_default()
    }

    /// What was called from where, the largest change first; only within one module, as call sites move.
    pub fn call_targets(&self) -> Vec<CallTargetChange> {
        match self.is_of_one_module() {
            true => targets::changes(self.before, self.after),
            false => Vec::new(),
        }
    }

    /// The calling contexts of both by what is on the stack; none unless both have counted them.
    pub fn stacks(&self) -> Option<CommonStacks> {
        self.trees().map(|trees| contexts::common_stacks(trees, self.is_of_one_module()))
    }

    fn trees(&self) -> Option<(&'a ContextTree, &'a ContextTree)> {
        self.before.contexts.as_ref().zip(self.after.contexts.as_ref())
    }
}

fn has_code(profile: &Profile) -> bool {
    !profile.functions.is_empty()
}

fn host_calls(profile: &Profile) -> u64 {
    profile.host_calls.iter().map(|calls| calls.count).fold(0, u64::saturating_add)
}
