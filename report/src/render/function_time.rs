//! Sampled time of the instructions of a function.

use std::collections::BTreeMap;
use std::ops::Range;

use wprof_profiler::{Callee, Interval, Profile, Timed};

use super::numbers::{count_of, duration, percent};
use super::page::{Ink, Span, span};

/// The sampled time of a function.
#[derive(Clone, Debug, Default)]
pub struct FunctionTime {
    own: Timed,
    total: Timed,
    /// The time of the whole run.
    all: Timed,
    /// The own time by the offset of the instruction that was executed.
    at: BTreeMap<u32, Timed>,
}

impl FunctionTime {
    /// Returns the time of a function, with that of its copies in code that it is inlined into; `None` if it was never
    /// sampled.
    pub fn new(profile: &Profile, index: u32) -> Option<FunctionTime> {
        let time = profile.time.as_ref()?;
        let (own, total) = time.of_function(index);
        if total.samples == 0 {
            return None;
        }
        let mut at: BTreeMap<u32, Timed> = BTreeMap::new();
        for (place, node) in time.nodes.iter().enumerate().filter(|(_, node)| node.own.samples > 0) {
            if matches!(time.callee(place), Callee::Function { index: of, .. } if *of == index) {
                let sum = at.entry(node.offset).or_default();
                *sum = sum.plus(node.own);
            }
        }
        Some(FunctionTime { own, total, all: time.basis(), at })
    }

    /// Describes the time of the function and its shares of the run.
    pub fn described(&self) -> String {
        format!(
            "{}, {} ± {:.1} of all; {} ± {:.1} with callees, in {}",
            duration(self.own.time_ns),
            percent(self.own.time_ns, self.all.time_ns),
            Interval::of_share(self.own, self.all).points(),
            percent(self.total.time_ns, self.all.time_ns),
            Interval::of_share(self.total, self.all).points(),
            count_of(self.total.samples, "sample"),
        )
    }

    /// Reports whether the function itself was sampled, rather than only its callees.
    pub fn has_own(&self) -> bool {
        self.own.samples > 0
    }

    /// Formats the time of a range of code, coloured by its share of the function's; empty if it was never sampled.
    pub fn within(&self, code: Range<u32>) -> Span {
        let sum = match code.is_empty() {
            true => Timed::default(),
            false => self.at.range(code).map(|(_, &at)| at).fold(Timed::default(), Timed::plus),
        };
        match sum.samples {
            0 => Span::default(),
            _ => span(duration(sum.time_ns), Ink::of_share(sum.time_ns, self.own.time_ns)),
        }
    }
}
