//! Compares sampled times.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{Change, Comparison};
use crate::{Callee, Interval, TimeProfile, Timed};

/// The number of standard errors that a change must exceed: in a normal distribution 5% lie beyond, both tails together.
const STANDARD_ERRORS: f64 = 1.96;

/// The time in one routine without its callees, in nanoseconds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TimeChange {
    /// Name of the routine.
    pub name: String,
    /// Time in the routine.
    pub time: Change,
    /// Whether two samples of one program may differ by this much.
    pub may_be_chance: bool,
}

impl Comparison<'_> {
    /// Returns the time in each routine, largest change first. Functions of two builds are matched by name. The list
    /// is empty unless both profiles have sampled time.
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

    /// Returns the change of the total time.
    pub(super) fn total_time(&self) -> Option<TimeChange> {
        let (before, after) = self.sampled_times()?;
        let (ours, theirs) = (before.total(), after.total());
        Some(TimeChange {
            name: "time".to_owned(),
            time: Change { before: ours.time_ns, after: theirs.time_ns },
            // The total time is as exact as the clock; a change of it is a change of the machine.
            may_be_chance: false,
        })
    }

    fn sampled_times(&self) -> Option<(&TimeProfile, &TimeProfile)> {
        self.before.time.as_ref().zip(self.after.time.as_ref())
    }

    /// Returns the key that matches a routine in both profiles. In one module the index keeps functions of the same
    /// name apart.
    fn time_key(&self, callee: &Callee) -> String {
        match callee {
            Callee::Function { index, .. } if self.is_of_one_module() => format!("{callee}\0{index}"),
            _ => callee.to_string(),
        }
    }
}

/// Reports whether two times may be equal up to chance. The standard error of each follows from the confidence
/// interval of its share of all samples.
fn may_be_chance((ours, before): (Timed, &TimeProfile), (theirs, after): (Timed, &TimeProfile)) -> bool {
    let error = |part: Timed, all: Timed| {
        let interval = Interval::of_share(part, all);
        (interval.most - interval.least) / (2.0 * STANDARD_ERRORS) * all.time_ns as f64
    };
    let (first, second) = (error(ours, before.basis()), error(theirs, after.basis()));
    let change = theirs.time_ns as f64 - ours.time_ns as f64;
    change != 0.0 && change * change <= STANDARD_ERRORS * STANDARD_ERRORS * (first * first + second * second)
}
