//! Whether a change between samples is more than chance.
//!
//! Input: figures of two profiles, of which one at least was sampled in bursts. Output: whether they differ by more
//! than two samples of one program would in nineteen of twenty cases.
//! A burst is one sample, whatever it counts: programs do for a while what they do. How alike the paths of a burst
//! are is not known once counts are added up, so the worst is assumed, that they are all the same. The design effect
//! of a cluster sample, 1 + (m - 1) rho for clusters of m (Kish, *Survey Sampling*, 1965, section 5.4), is then m: a
//! figure is the mean of so many draws of a path as there were bursts. Changes that are significant may so be taken
//! for chance, hardly the other way round; but bursts come every so many checks, not at random, and a program may be
//! in step with them.
//! Oracle: samples drawn from one program, in `tests/it/significance.rs`.

use crate::{FigureKind, FunctionProfile, HotPath, Profile};

/// Standard errors that a change must exceed: of the normal distribution 5% lies beyond, on both sides together.
const STANDARD_ERRORS: f64 = 1.96;

/// What the figures of a profile are drawn from; nothing to draw if they are exact.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    bursts: f64,
    paths: f64,
}

impl Sample {
    pub(super) fn of(profile: &Profile) -> Option<Self> {
        let is_drawn = |kind| matches!(kind, FigureKind::Sampled { .. } | FigureKind::Derived);
        profile.functions.iter().any(|function| is_drawn(function.kind)).then(|| {
            let paths = profile.functions.iter().filter_map(|function| function.paths.as_ref());
            let counts = paths.flat_map(|paths| &paths.finished).map(|path| path.count as f64);
            Self { bursts: profile.bursts.unwrap_or(0) as f64, paths: counts.sum() }
        })
    }

    /// The variance of an estimate of the whole run.
    fn variance(&self, figure: Figure) -> f64 {
        (self.paths * figure.squares - figure.sum * figure.sum).max(0.0) / self.bursts
    }
}

/// A sum over paths, each with what it adds, scaled up to the whole run; and the sum of the squares of that.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Figure {
    sum: f64,
    squares: f64,
}

impl Figure {
    /// Of paths that add `sum` in all, alike.
    fn of_paths(count: u64, sum: u64, kind: FigureKind) -> Self {
        let sum = kind.scaled_up(sum) as f64;
        let each = if count == 0 { 0.0 } else { sum / count as f64 };
        Self { sum, squares: sum * each }
    }

    /// The instructions of a function.
    pub(super) fn of_ops(function: &FunctionProfile) -> Self {
        let paths = function.path_costs();
        let known: u64 = paths.iter().map(|path| path.ops).fold(0, u64::saturating_add);
        let paths = paths.iter().map(|path| Self::of_path(path, function.kind));
        // What is on no path that ended is as good as unknown.
        let rest = function.ops().saturating_sub(known);
        paths.fold(Self::of_paths(1, rest, function.kind), Self::plus)
    }

    /// The calls of a function: with each a path begins.
    pub(super) fn of_calls(function: &FunctionProfile) -> Self {
        Self::of_paths(function.calls(), function.calls(), function.kind)
    }

    /// The instructions on a path.
    pub(super) fn of_path(path: &HotPath, kind: FigureKind) -> Self {
        Self::of_paths(path.count, path.ops, kind)
    }

    pub(super) fn plus(self, other: Self) -> Self {
        Self { sum: self.sum + other.sum, squares: self.squares + other.squares }
    }
}

/// What both profiles are drawn from, the earlier one first.
#[derive(Clone, Copy, Debug)]
pub(super) struct Samples {
    pub(super) before: Option<Sample>,
    pub(super) after: Option<Sample>,
}

impl Samples {
    /// Whether nothing is left to chance.
    pub(super) fn are_exact(&self) -> bool {
        self.before.is_none() && self.after.is_none()
    }

    /// Whether a change may be chance.
    pub(super) fn may_be_chance(&self, before: Figure, after: Figure) -> bool {
        let variance = |sample: Option<Sample>, figure| sample.map_or(0.0, |sample| sample.variance(figure));
        let variance = variance(self.before, before) + variance(self.after, after);
        let change = after.sum - before.sum;
        // Without any burst the variance is no number, and nothing is significant.
        let is_significant = change * change > STANDARD_ERRORS * STANDARD_ERRORS * variance;
        !self.are_exact() && change != 0.0 && !is_significant
    }
}
