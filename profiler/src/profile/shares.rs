//! Shares of the executed instructions, each with a confidence interval for the whole run's share.
//!
//! Input: a [`Profile`]. Output: by function, and by call record where instructions were counted in contexts, the
//! share and an interval that contains the whole run's share in nineteen of twenty samples.
//! A burst is one sample, however many paths it counts: the paths of one burst are assumed to be all alike, as in
//! [`comparison::significance`](crate::comparison). The share is therefore that of as many draws of a path as there
//! were bursts, where a draw of n instructions counts n times: a ratio estimate, whose variance for a part A of all
//! paths is `N ((1 - p)² S(A) + p² (S - S(A))) / (T² n)`, with p the share, N paths, T instructions, S the sum of the
//! squares of the paths' instructions, and n bursts; less the share of the run that is in the sample.
//! If a sample is most of the run, an interval is no wider than the rest: the part that was seen is known. The share of
//! the run is one of checks, so up to twice as many instructions may have been left out.
//! What bursts could not count ([`SkippedBursts`](super::SkippedBursts)) is a stratum of its own: the share of a function is
//! that in the sample, weighted by the part of the run that bursts saw, and the estimate for the rest. How the rest divides is
//! known from few places only or from time, and so is how many instructions it had, so the interval takes none of it for certain:
//! whoever it belongs to, and if it was up to twice as much. It may also be more by chance, as the places of skipped bursts are a
//! sample: their number is at most the upper end of the interval of a Poisson variable. And it is no less than if skipped bursts
//! had as many instructions as others.
//! Source: Kish, *Survey Sampling*, 1965, sections 5.4 (clusters) and 6.4 (ratios); for shares near 0 and 1 the
//! interval of Agresti & Coull, *The American Statistician* 52(2), 1998, which adds draws of either kind.
//! Oracle: exact profiles of programs that are hard to sample, in `vm/tests/profiles/unbiased.rs` and `unbiased_default.rs`.

use std::collections::HashMap;

use super::{FunctionProfile, Profile};
use crate::{Accuracy, Callee, ContextTree, FigureKind, Rate, Stacks};

/// Standard errors on either side: in a normal distribution 5% lie beyond.
const STANDARD_ERRORS: f64 = 1.96;

/// The factor by which unseen instructions between two checks may be more than estimated.
const MOST_UNSEEN: f64 = 2.0;

/// A share of all instructions, with its confidence interval; that of an exact share is a single point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Share {
    /// The share, from 0 to 1.
    pub share: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
}

impl Share {
    /// Returns how far the whole run's share may be from this one, in percentage points: the distance of the farther end of the
    /// interval.
    pub fn points(&self) -> f64 {
        100.0 * (self.high - self.share).max(self.share - self.low)
    }
}

/// The most that functions have of a run in which no burst saw them, in nineteen of twenty samples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Unseen {
    /// The number of functions that ran, but were in no burst.
    pub functions: u64,
    /// The most that each of them has, as a share of the run.
    pub each: f64,
    /// The most that all of them have together, as a share of the run.
    pub together: f64,
}

/// The shares of a profile.
#[derive(Clone, Debug)]
pub struct Shares {
    /// Number of bursts, if the profile is a sample; of one that is a large part of the run, as many as would be as
    /// good a sample of a run without end.
    bursts: Option<f64>,
    /// The largest part of the run that may not be in the sample.
    left_out: f64,
    all: Part,
    functions: HashMap<u32, Part>,
    records: Vec<Part>,
    /// Instructions that skipped bursts would probably have counted, in all and by function.
    unseen: f64,
    unseen_of: HashMap<u32, f64>,
    /// The number of skipped bursts, and of those that began.
    skipped: f64,
    begun: f64,
    /// The number of functions that ran and were in no burst.
    unseen_functions: u64,
    /// The share of what bursts could see that such functions are expected to have, if enough bursts were read.
    expected_unseen: Option<f64>,
}

/// Sums over a part of the paths.
#[derive(Clone, Copy, Debug, Default)]
struct Part {
    paths: f64,
    ops: f64,
    squares: f64,
}

impl Part {
    /// Returns the sums of equally long paths with these instructions in all.
    fn alike(paths: f64, ops: f64) -> Part {
        let squares = if paths > 0.0 { ops * ops / paths } else { 0.0 };
        Part { paths, ops, squares }
    }

    fn plus(self, other: Part) -> Part {
        Part {
            paths: self.paths + other.paths,
            ops: self.ops + other.ops,
            squares: self.squares + other.squares,
        }
    }

    /// Scales all sums by a share.
    fn times(self, share: f64) -> Part {
        Part { paths: self.paths * share, ops: self.ops * share, squares: self.squares * share }
    }

    fn new(function: &FunctionProfile) -> Part {
        let paths = function.path_costs();
        let finished = paths.iter().map(|path| Part::alike(path.count as f64, path.ops as f64));
        let known = finished.fold(Part::default(), Part::plus);
        // Nothing is known of the lengths of unfinished paths, so they are assumed to be equal.
        let rest = (function.ops() as f64 - known.ops).max(0.0);
        let ended = function.exits.iter().map(|exit| exit.count as f64).sum::<f64>();
        if rest > 0.0 { known.plus(Part::alike(ended.max(1.0), rest)) } else { known }
    }
}

impl Shares {
    /// Computes the shares of a profile.
    pub fn new(profile: &Profile) -> Shares {
        let is_drawn = |kind| matches!(kind, FigureKind::Sampled { .. } | FigureKind::Derived);
        let is_sampled = profile.functions.iter().any(|function| is_drawn(function.kind));
        // If nothing was left out of the sample, nothing is left to chance.
        let is_part = profile.sampled().is_none_or(|rate| rate.counted < rate.of);
        // Of a run without bursts nothing is known.
        let saw_nothing = profile.bursts == Some(0) && profile.functions.is_empty();
        let is_uncertain = profile.skipped.is_some() || saw_nothing || is_sampled && is_part;
        let bursts = is_uncertain.then(|| profile.effective_bursts());
        let of = |function: &FunctionProfile| (function.index, Part::new(function));
        let functions: HashMap<u32, Part> = profile.functions.iter().map(of).collect();
        let all = functions.values().copied().fold(Part::default(), Part::plus);
        let records = of_records(profile, &functions);
        let skipped = profile.skipped.iter().flat_map(|skipped| &skipped.functions);
        let unseen_of: HashMap<u32, f64> = skipped.map(|of| (of.function, of.ops as f64)).collect();
        let unseen = unseen_of.values().sum();
        // An empty function has no instructions.
        let was_seen = |function: &&FunctionProfile| function.calls() > 0 || function.ops() > 0;
        let seen = profile.functions.iter().filter(was_seen).count() as u64;
        Shares {
            bursts,
            left_out: profile.most_left_out(),
            all,
            functions,
            records,
            unseen,
            unseen_of,
            skipped: profile.skipped_bursts() as f64,
            begun: profile.bursts.unwrap_or(0) as f64,
            unseen_functions: profile.code.compiled.saturating_sub(seen),
            expected_unseen: profile.accuracy.map(Accuracy::unseen),
        }
    }

    /// Returns the most that functions have which ran but were in no burst; `None` if there are none, or nothing is left to
    /// chance.
    ///
    /// One that none of n bursts saw has at most 3 / n of the run, with 95% confidence ("rule of three"); as intervals here
    /// are those of Agresti & Coull, it is 4.6 / n. All of them have about what those have that exactly one burst saw (Good
    /// 1953), a count of bursts that is off by its square root, as a Poisson variable.
    pub fn unseen(&self) -> Option<Unseen> {
        let (functions, bursts) = (self.unseen_functions, self.bursts.filter(|_| self.unseen_functions > 0)?);
        let none = self.share_of_seen(Part::default()).high;
        let expected = |share: f64| {
            let once = share * bursts;
            (once + STANDARD_ERRORS * once.sqrt()) / bursts + none
        };
        let by_number = functions as f64 * none;
        let together = self.expected_unseen.map_or(by_number, |share| expected(share).min(by_number));
        let [each, together] = [none, together].map(|most| self.of_run(most.min(self.left_out)));
        Some(Unseen { functions, each, together })
    }

    /// Returns the most of the whole run that may be of a part which has at most `most` of what bursts could see.
    fn of_run(&self, most: f64) -> f64 {
        let weight = self.most_skipped();
        (1.0 - weight) * most + weight
    }

    /// Returns the largest part of the run that skipped bursts may have missed.
    fn most_skipped(&self) -> f64 {
        if self.unseen == 0.0 {
            return 0.0;
        }
        // What bursts came to is no sample of places.
        let places = if self.skipped > 0.0 { most_places(self.skipped) / self.skipped } else { 1.0 };
        let by_graphs = self.unseen * places;
        // Skipped bursts are tried again soon, so each stands for fewer checks than one that began.
        let by_bursts = self.all.ops * self.skipped / self.begun.max(1.0);
        let most = MOST_UNSEEN * by_graphs.max(by_bursts);
        most / (most + self.all.ops)
    }

    /// Returns the share of the function with this index, without its callees; 0 if it was not seen.
    pub fn function(&self, index: u32) -> Share {
        let part = self.functions.get(&index).copied().unwrap_or_default();
        self.share(part, self.unseen_of.get(&index).copied().unwrap_or(0.0))
    }

    /// Returns the share of these call records together, without their callees; `None` if instructions were not
    /// counted in contexts. Skipped bursts belong to functions only, so they widen the interval.
    ///
    /// # Panics
    /// Panics if there is no such record.
    pub fn records(&self, records: impl IntoIterator<Item = u32>) -> Option<Share> {
        self.fraction_of(records, 1.0)
    }

    /// Returns the share of a fraction, from 0 to 1, of these call records together, whose paths are assumed to be the same in all
    /// of it; else as [`Shares::records`].
    ///
    /// # Panics
    /// Panics if there is no such record.
    pub fn fraction_of(&self, records: impl IntoIterator<Item = u32>, fraction: f64) -> Option<Share> {
        let parts = records.into_iter().map(|record| self.records[record as usize]);
        let all = || parts.fold(Part::default(), Part::plus).times(fraction);
        (!self.records.is_empty()).then(|| self.share(all(), 0.0))
    }

    /// Returns by call record its share with all that it called; `None` if instructions were not counted in contexts. `tree` is
    /// that of the profile.
    ///
    /// # Panics
    /// Panics if the tree has other records.
    pub fn with_callees(&self, tree: &ContextTree) -> Option<Vec<Share>> {
        let callers = tree.records.iter().enumerate();
        let callers = callers.map(|(at, record)| Some(record.parent as usize).filter(|_| at > 0));
        self.inclusive(self.records.clone(), callers)
    }

    /// Returns the same by stack, of which `stack_of`, a result of [`Stacks::add`], has that of each call record.
    ///
    /// # Panics
    /// Panics if there is no such stack.
    pub fn of_stacks(&self, stacks: &Stacks, stack_of: &[Option<u32>]) -> Option<Vec<Share>> {
        let mut parts = vec![Part::default(); stacks.stacks.len()];
        for (part, stack) in self.records.iter().zip(stack_of) {
            if let Some(stack) = *stack {
                let sum = &mut parts[stack as usize];
                *sum = sum.plus(*part);
            }
        }
        self.inclusive(parts, stacks.stacks.iter().map(|stack| stack.caller.map(|caller| caller as usize)))
    }

    /// Returns the shares of parts, each with those that it called; callers come first.
    fn inclusive(
        &self,
        mut parts: Vec<Part>,
        callers: impl DoubleEndedIterator<Item = Option<usize>> + ExactSizeIterator,
    ) -> Option<Vec<Share>> {
        if self.records.is_empty() {
            return None;
        }
        for (at, caller) in callers.enumerate().rev() {
            if let Some(caller) = caller {
                parts[caller] = parts[caller].plus(parts[at]);
            }
        }
        Some(parts.into_iter().map(|part| self.share(part, 0.0)).collect())
    }

    /// Returns the share of the whole run of a part that has `unseen` of the unseen instructions.
    fn share(&self, part: Part, unseen: f64) -> Share {
        let seen = self.share_of_seen(part);
        let all = self.all.ops + self.unseen;
        if self.unseen == 0.0 || all == 0.0 {
            return seen;
        }
        let share = (self.all.ops * seen.share + unseen) / all;
        Share { share, low: (1.0 - self.most_skipped()) * seen.low, high: self.of_run(seen.high) }
    }

    /// Returns the share of what bursts saw.
    fn share_of_seen(&self, part: Part) -> Share {
        if self.all.ops == 0.0 {
            let high = if self.bursts.is_some() { 1.0 } else { 0.0 };
            return Share { share: 0.0, low: 0.0, high };
        }
        let share = (part.ops / self.all.ops).min(1.0);
        let Some(bursts) = self.bursts else { return Share { share, low: share, high: share } };
        // The sampled part is known, however few bursts it has.
        let (least, most) = ((1.0 - self.left_out) * share, (1.0 - self.left_out) * share + self.left_out);
        if bursts == 0.0 {
            return Share { share, low: 0.0, high: 1.0 };
        }
        let others = (self.all.squares - part.squares).max(0.0);
        let sum = (1.0 - share).powi(2) * part.squares + share.powi(2) * others;
        let variance = self.all.paths * sum / (self.all.ops.powi(2) * bursts);
        // The number of equal draws with the same variance.
        let draws = if variance > 0.0 { (share * (1.0 - share) / variance).min(bursts) } else { bursts };
        let more = draws + STANDARD_ERRORS.powi(2);
        let middle = (share * draws + STANDARD_ERRORS.powi(2) / 2.0) / more;
        let half = STANDARD_ERRORS * (middle * (1.0 - middle) / more).sqrt();
        Share {
            share,
            low: (middle - half).max(least).min(share),
            high: (middle + half).min(most).max(share),
        }
    }
}

/// Returns the upper end of the interval of the mean of a Poisson variable that has turned out like this, by its score
/// (Wilson's interval, for rare events).
fn most_places(found: f64) -> f64 {
    let squared = STANDARD_ERRORS.powi(2);
    found + squared / 2.0 + STANDARD_ERRORS * (found + squared / 4.0).sqrt()
}

impl Profile {
    /// Returns the largest part of the run's instructions that may not be in the sample, from 0 to 1: between two checks that
    /// were not in bursts there may be more of them than between others.
    pub fn most_left_out(&self) -> f64 {
        let seen = self.sampled().map_or(0.0, Rate::as_f64);
        let most = MOST_UNSEEN * (1.0 - seen);
        if most > 0.0 { most / (most + seen) } else { 0.0 }
    }

    /// Returns the number of bursts that would be as good a sample of a run without end. What is left to chance is only
    /// what is not in the sample: the variance is the smaller by the share of the run that is.
    pub fn effective_bursts(&self) -> f64 {
        let left_out = 1.0 - self.sampled().map_or(0.0, Rate::as_f64);
        self.bursts.unwrap_or(0) as f64 / left_out.max(f64::EPSILON)
    }
}

/// Returns for each call record its part of its function, whose paths are assumed to be the same in all contexts.
fn of_records(profile: &Profile, functions: &HashMap<u32, Part>) -> Vec<Part> {
    let Some((tree, own)) = profile.contexts.as_ref().zip(profile.instructions_in_contexts()) else {
        return Vec::new();
    };
    let part = |(record, ops): (u32, u64)| match tree.callee(record) {
        Callee::Function { index, .. } => {
            let function = functions.get(index).copied().unwrap_or_default();
            if function.ops > 0.0 { function.times(ops as f64 / function.ops) } else { Part::default() }
        }
        _ => Part::default(),
    };
    (0..).zip(own).map(part).collect()
}
