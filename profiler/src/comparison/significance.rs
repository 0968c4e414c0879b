//! Tests whether a change between samples is more than chance.
//!
//! Input: figures of two profiles, at least one of which was sampled in bursts. Output: whether they differ by more
//! than two samples of one program would in nineteen of twenty cases.
//! A burst is one sample, however many paths it counts, because programs repeat themselves for a while. The added-up
//! counts no longer show how alike the paths of one burst are, so the test assumes the worst: that they are all the
//! same; what is in both the sample and the run is known, so a sample of much of a run counts as more bursts
//! ([`Profile::effective_bursts`]). The design effect of a cluster sample, 1 + (m - 1) rho for clusters of m (Kish, *Survey Sampling*, 1965,
//! section 5.4), is then m: a figure is the mean of as many draws of a path as there were bursts. The test may
//! therefore take a significant change for chance, but hardly the reverse. One reservation: bursts come at a fixed
//! interval of checks, not at random, and a program may be in step with them.
//! Oracle: samples drawn from one program, in `tests/it/significance.rs`.

use crate::{FigureKind, FunctionProfile, HotPath, Profile};

/// The number of standard errors that a change must exceed: in a normal distribution 5% lie beyond, both tails together.
const STANDARD_ERRORS: f64 = 1.96;

/// The sample that the figures of a profile are drawn from. Exact profiles have none.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    bursts: f64,
    paths: f64,
}

impl Sample {
    pub(super) fn new(profile: &Profile) -> Option<Self> {
        let is_drawn = |kind| matches!(kind, FigureKind::Sampled { .. } | FigureKind::Derived);
        profile.functions.iter().any(|function| is_drawn(function.kind)).then(|| {
            let paths = profile.functions.iter().filter_map(|function| function.paths());
            let counts = paths.flat_map(|paths| &paths.finished).map(|path| path.count as f64);
            Self { bursts: profile.effective_bursts(), paths: counts.sum() }
        })
    }

    /// Returns the variance of an estimate for the whole run.
    fn variance(&self, figure: Figure) -> f64 {
        (self.paths * figure.squares - figure.sum * figure.sum).max(0.0) / self.bursts
    }
}

/// A sum over paths, scaled up to the whole run, and the sum of the squares of its terms.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Figure {
    sum: f64,
    squares: f64,
}

impl Figure {
    /// Returns the figure of `count` equal paths that add `sum` in all.
    fn of_paths(count: u64, sum: u64, kind: FigureKind) -> Self {
        let sum = kind.scaled_up(sum) as f64;
        let each = if count == 0 { 0.0 } else { sum / count as f64 };
        Self { sum, squares: sum * each }
    }

    /// Returns the figure of a function's instructions.
    pub(super) fn of_ops(function: &FunctionProfile) -> Self {
        let paths = function.path_costs();
        let known: u64 = paths.iter().map(|path| path.ops).fold(0, u64::saturating_add);
        let paths = paths.iter().map(|path| Self::of_path(path, function.kind));
        // Instructions on no finished path count as one path, since nothing is known of how they are distributed.
        let rest = function.ops().saturating_sub(known);
        paths.fold(Self::of_paths(1, rest, function.kind), Self::plus)
    }

    /// Returns the figure of a function's calls: each call begins a path.
    pub(super) fn of_calls(function: &FunctionProfile) -> Self {
        Self::of_paths(function.calls(), function.calls(), function.kind)
    }

    /// Returns the figure of the instructions on a path.
    pub(super) fn of_path(path: &HotPath, kind: FigureKind) -> Self {
        Self::of_paths(path.count, path.ops, kind)
    }

    pub(super) fn plus(self, other: Self) -> Self {
        Self { sum: self.sum + other.sum, squares: self.squares + other.squares }
    }
}

/// The samples of both profiles, the earlier one first.
#[derive(Clone, Copy, Debug)]
pub(super) struct Samples {
    pub(super) before: Option<Sample>,
    pub(super) after: Option<Sample>,
}

impl Samples {
    /// Reports whether neither profile is sampled.
    pub(super) fn are_exact(&self) -> bool {
        self.before.is_none() && self.after.is_none()
    }

    /// Reports whether a change may be due to chance.
    pub(super) fn may_be_chance(&self, before: Figure, after: Figure) -> bool {
        let variance = |sample: Option<Sample>, figure| sample.map_or(0.0, |sample| sample.variance(figure));
        let variance = variance(self.before, before) + variance(self.after, after);
        let change = after.sum - before.sum;
        // Without bursts the variance is NaN, and no change is significant.
        let is_significant = change * change > STANDARD_ERRORS * STANDARD_ERRORS * variance;
        !self.are_exact() && change != 0.0 && !is_significant
    }
}
