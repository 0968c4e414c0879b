//! Bursts that were due where nothing could count, or came to functions where nothing could, and what they would have counted.
//!
//! Input: where bursts were due that were skipped, as there was no code for bursts yet, and what bursts called that had none. Output:
//! an estimate of what they would have counted in each function. All checks are equally likely to be where a burst is due, so
//! those are a sample of the checks that no burst sees: what is done from one check to the next is estimated from sampled time,
//! or else from the function's graph.
//! Invariant: functions ascend, each once; together they have no more skipped bursts than there were.
//! A sample differs from the whole run by chance, and by what it could not see: by the share of that, times the distance
//! (total variation) of its division among functions from the sample's. The second part rests on few places and on graphs,
//! so it may be up to twice as large: where it is large, nothing is predicted.
//! Source: nonresponse as a stratum of its own, in Kish, *Survey Sampling*, 1965. Oracle: the weights, in
//! `tests/it/bursts.rs`; sums, in `tests/it/merge.rs`; predictions, in `bench-wasm/tests/accuracy.rs`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Profile;

/// The largest part of the run that bursts may have missed for an overlap to be predicted: what it consists of is then
/// known from too few places.
const MOST_UNSEEN: f64 = 0.2;

/// The largest difference between the sample and the run, due to what bursts missed, for an overlap to be predicted: it
/// is uncertain by as much again, and a prediction should not be wrong by more.
const MOST_LACKING: f64 = 0.02;

/// What bursts could not count: those that were skipped, because there was no code for bursts where they were due or because
/// a policy left them out, and functions that bursts came to and that had no code for bursts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkippedBursts {
    /// Number of skipped bursts, those in code of other modules of the store included.
    pub bursts: u64,
    /// The functions in which they were due, or which had no code for bursts, ascending by index.
    pub functions: Vec<SkippedIn>,
}

/// What bursts could not count of one function.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkippedIn {
    /// Index of the function.
    pub function: u32,
    /// Name of the function, if it has one.
    pub name: Option<String>,
    /// Number of bursts that were due in the function and skipped.
    pub bursts: u64,
    /// Number of the function's instructions that bursts would probably have counted; an estimate.
    pub ops: u64,
}

impl SkippedBursts {
    /// Returns the instructions that bursts would probably have counted in all; saturates.
    pub fn ops(&self) -> u64 {
        self.functions.iter().map(|function| function.ops).fold(0, u64::saturating_add)
    }

    /// Returns the instructions that bursts would probably have counted in the function with this index.
    pub fn ops_of(&self, function: u32) -> u64 {
        let found = self.functions.binary_search_by_key(&function, |of| of.function);
        found.map_or(0, |at| self.functions[at].ops)
    }

    /// Returns the sum of the skipped bursts of two runs.
    #[must_use]
    pub fn merged(&self, other: &Self) -> Self {
        let functions = self.functions.iter().chain(&other.functions).cloned().collect();
        let mut sum = Self { bursts: self.bursts.saturating_add(other.bursts), functions };
        sum.normalize();
        sum
    }

    /// Returns the sum of the skipped bursts of two modules in one run, each of which has the number of all.
    pub(super) fn merged_in_run(&self, other: &Self) -> Self {
        Self { bursts: self.bursts.max(other.bursts), ..self.merged(other) }
    }

    /// Sorts the functions, and adds up those with the same index.
    pub(super) fn normalize(&mut self) {
        self.functions.sort_by(|a, b| (a.function, &a.name).cmp(&(b.function, &b.name)));
        self.functions.dedup_by(|next, kept| {
            let is_same = next.function == kept.function;
            if is_same {
                kept.bursts = kept.bursts.saturating_add(next.bursts);
                kept.ops = kept.ops.saturating_add(next.ops);
                kept.name = kept.name.take().or_else(|| next.name.take());
            }
            is_same
        });
    }

    /// Reports whether the functions are sorted, and have no more skipped bursts than there were.
    pub(super) fn is_valid(&self) -> bool {
        let sum = self.functions.iter().map(|function| function.bursts).fold(0, u64::saturating_add);
        self.functions.is_sorted_by(|a, b| a.function < b.function) && sum <= self.bursts
    }
}

impl Profile {
    /// Returns the number of bursts that were skipped because there was no code for bursts where they were due.
    pub fn skipped_bursts(&self) -> u64 {
        self.skipped.as_ref().map_or(0, |skipped| skipped.bursts)
    }

    /// Returns the part of the run that its bursts could not see, from 0 to 1, by an estimate of its instructions.
    pub fn unseen(&self) -> f64 {
        let skipped = self.skipped.as_ref().map_or(0, SkippedBursts::ops) as f64;
        if skipped > 0.0 { skipped / (skipped + self.ops() as f64) } else { 0.0 }
    }

    /// Reports whether bursts saw enough of the run for amounts to be told: something, and at least half of what they
    /// could see. Exact profiles have seen everything.
    pub fn saw_enough(&self) -> bool {
        const HALF: f64 = 0.5;
        let saw_nothing = self.bursts.is_some() && self.functions.is_empty();
        !saw_nothing && self.unseen() < HALF
    }

    /// Returns the expected overlap of sampled instructions by function with the whole run's, from 0 to 1; `None` if it is
    /// not known, as too few bursts began, or those that were skipped stand for too much else.
    pub fn expected_overlap(&self) -> Option<f64> {
        let accuracy = self.accuracy?;
        let lacking = self.unseen() * self.distance_of_unseen(|of| of.ops);
        // Each burst stands for as many checks as any other, and between checks there may be more than graphs tell.
        let (skipped, begun) = (self.skipped_bursts() as f64, self.bursts.unwrap_or(0) as f64);
        let by_bursts = if skipped > 0.0 { skipped / (skipped + begun) } else { 0.0 };
        let unseen = self.unseen().max(by_bursts);
        let most = unseen * self.distance_of_unseen(|of| of.bursts).max(self.distance_of_unseen(|of| of.ops));
        let is_known = unseen <= MOST_UNSEEN && lacking <= MOST_LACKING && most - lacking <= MOST_LACKING;
        is_known.then(|| (accuracy.overlap() - lacking).max(0.0))
    }

    /// Returns how far the part of the run that bursts could not see differs from the sample in its division among
    /// functions, from 0 to 1, if functions are weighted like this.
    fn distance_of_unseen(&self, weight: impl Fn(&SkippedIn) -> u64) -> f64 {
        let unseen = self.skipped.iter().flat_map(|skipped| &skipped.functions);
        let unseen = unseen.map(|of| (of.function, weight(of) as f64));
        let seen = self.functions.iter().map(|function| (function.index, function.ops() as f64));
        let all = [seen.clone().map(|(_, ops)| ops).sum::<f64>(), unseen.clone().map(|(_, ops)| ops).sum()];
        let mut differences: BTreeMap<u32, f64> = BTreeMap::new();
        let mut add = |function, part: f64| *differences.entry(function).or_default() += part;
        seen.for_each(|(function, ops)| add(function, ops / all[0].max(1.0)));
        unseen.for_each(|(function, ops)| add(function, -ops / all[1].max(1.0)));
        differences.into_values().map(f64::abs).sum::<f64>() / 2.0
    }
}
