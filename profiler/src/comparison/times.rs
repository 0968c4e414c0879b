//! Sampled time, before and after.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{Change, Comparison};
use crate::{Callee, Interval, TimeProfile, Timed};

/// Standard errors that a change must exceed: of the normal distribution 5% lies beyond, on both sides together.
const STANDARD_ERRORS: f64 = 1.96;

/// The time in something that runs, callees not included, in nanoseconds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TimeChange {
    /// What it is called.
    pub name: String,
    /// The time.
    pub time: Change,
    /// Whether samples of one program may differ so much.
    pub may_be_chance: bool,
}

impl Comparison<'_> {
    /// The time of all that runs, the largest change first; functions of two builds are matched by name. Nothing unless
    /// both profiles have sampled it.
    pub fn times(&self) -> Vec<TimeChange> {
        let Some((before, after)) = self.sampled_times() else { return Vec::new() };
        let mut all: BTreeMap<String, [Timed; 2]> = BTreeMap::new();
        for (profile, at) in [(before, 0), (after, 1)] {
            for routine in profile.routines() {
                let times = all.entry(self.time_key(routine.callee)).or_default();
                times[at] = times[at].plus(routine.own);
            }
        }
        let change = |(name, [ours, theirs]): (String, [Timed; 2])| TimeChange {
            name: name.split('\0').next().unwrap_or_default().to_owned(),
            time: Change { before: ours.time_ns, after: theirs.time_ns },
            may_be_chance: may_be_chance((ours, before), (theirs, after)),
        };
        let mut changes: Vec<TimeChange> = all.into_iter().map(change).collect();
        changes.sort_by_key(|change| change.time.rank());
        changes
    }

    /// All time.
    pub(super) fn total_time(&self) -> Option<TimeChange> {
        let (before, after) = self.sampled_times()?;
        let (ours, theirs) = (before.total(), after.total());
        Some(TimeChange {
            name: "time".to_owned(),
            time: Change { before: ours.time_ns, after: theirs.time_ns },
            // All time is known as well as the clock is; it is how the machine did that changes.
            may_be_chance: false,
        })
    }

    fn sampled_times(&self) -> Option<(&TimeProfile, &TimeProfile)> {
        self.before.time.as_ref().zip(self.after.time.as_ref())
    }

    /// By what something is known in both; functions of one name in one module are told apart.
    fn time_key(&self, callee: &Callee) -> String {
        match callee {
            Callee::Function { index, .. } if self.is_of_one_module() => format!("{callee}\0{index}"),
            _ => callee.to_string(),
        }
    }
}

/// Whether two times, each of all samples of a profile, may be of one program: the interval of each is taken to be that of
/// its share of all.
fn may_be_chance((ours, before): (Timed, &TimeProfile), (theirs, after): (Timed, &TimeProfile)) -> bool {
    let error = |part: Timed, all: Timed| {
        let interval = Interval::of(part, all);
        (interval.most - interval.least) / (2.0 * STANDARD_ERRORS) * all.time_ns as f64
    };
    let (first, second) = (error(ours, before.total()), error(theirs, after.total()));
    let change = theirs.time_ns as f64 - ours.time_ns as f64;
    change != 0.0 && change * change <= STANDARD_ERRORS * STANDARD_ERRORS * (first * first + second * second)
}
