//! The sources of a metric: hot paths and functions, dense and sparse ones.
//!
//! Input: a [`Profile`] with figures along paths. Output: the paths or functions that have at least a share of the
//! metric, and how much of it they have together.
//! Source: Ammons, Ball & Larus 1997, section 6.4, tables 4 and 5. A path or function is *hot* if it has at least a
//! share of the metric. A hot one is *dense* if it has more of the metric per instruction than the program has on
//! average, and *sparse* otherwise. The rest is *cold*.
//! Oracle: `tests/it/density.rs`.

use super::{FunctionProfile, HotPath, Profile};
use crate::PathProfile;

/// The relation of a path or function to a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Density {
    /// Hot, with more of the metric per instruction than the average.
    Dense,
    /// Hot because it runs often.
    Sparse,
    /// Not hot.
    Cold,
}

/// The paths or functions of one density together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Group {
    /// Number of members.
    pub members: u64,
    /// Number of different finished paths in the members.
    pub paths: u64,
    /// Instructions executed in the members.
    pub ops: u64,
    /// The members' part of the metric.
    pub amount: u64,
}

/// The distribution of a metric over paths or functions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spread {
    /// The dense members.
    pub dense: Group,
    /// The sparse members.
    pub sparse: Group,
    /// The cold members.
    pub cold: Group,
}

impl Spread {
    fn add(&mut self, density: Density, member: Group) {
        let group = match density {
            Density::Dense => &mut self.dense,
            Density::Sparse => &mut self.sparse,
            Density::Cold => &mut self.cold,
        };
        group.members += 1;
        group.paths += member.paths;
        group.ops = group.ops.saturating_add(member.ops);
        group.amount = group.amount.saturating_add(member.amount);
    }
}

/// One metric of a profile, and the threshold of hotness.
#[derive(Clone, Copy, Debug)]
pub struct MetricView<'a> {
    profile: &'a Profile,
    column: usize,
    share: f64,
    /// Total of the metric, and total instructions; both saturate.
    amount: u64,
    ops: u64,
}

impl<'a> MetricView<'a> {
    /// Selects the metric in this column of figures. A hot path or function has at least `share` of it, from 0 to 1.
    pub fn new(profile: &'a Profile, column: usize, share: f64) -> Self {
        let amounts = profile.functions.iter().map(|function| amount_in(function, column));
        let amount = amounts.fold(0, u64::saturating_add);
        Self { profile, column, share, amount, ops: profile.ops() }
    }

    /// Returns the total of the metric.
    pub fn amount(&self) -> u64 {
        self.amount
    }

    /// Classifies a path or function by its part of the metric and its instructions.
    pub fn density(&self, amount: u64, ops: u64) -> Density {
        let is_hot = amount > 0 && amount as f64 >= self.amount as f64 * self.share;
        let is_dense = u128::from(amount) * u128::from(self.ops) > u128::from(self.amount) * u128::from(ops);
        match (is_hot, is_dense) {
            (true, true) => Density::Dense,
            (true, false) => Density::Sparse,
            (false, _) => Density::Cold,
        }
    }

    /// Returns the finished paths with their parts of the metric, largest part first.
    pub fn paths(&self) -> Vec<(HotPath, u64)> {
        let paths = self.profile.hottest_paths().into_iter();
        let mut paths: Vec<_> = paths.map(|path| (path.metrics[self.column], path)).collect();
        paths.sort_by_key(|(amount, _)| std::cmp::Reverse(*amount));
        paths.into_iter().map(|(amount, path)| (path, amount)).collect()
    }

    /// Distributes the metric over finished paths.
    pub fn over_paths(&self) -> Spread {
        let mut spread = Spread::default();
        for (path, amount) in self.paths() {
            let member = Group { members: 1, paths: 1, ops: path.ops, amount };
            spread.add(self.density(amount, path.ops), member);
        }
        spread
    }

    /// Distributes the metric over functions.
    pub fn over_functions(&self) -> Spread {
        let mut spread = Spread::default();
        for function in &self.profile.functions {
            let (amount, ops) = (amount_in(function, self.column), function.ops());
            let paths = function.paths().map_or(0, |paths| paths.finished.len() as u64);
            spread.add(self.density(amount, ops), Group { members: 1, paths, ops, amount });
        }
        spread
    }
}

fn amount_in(function: &FunctionProfile, column: usize) -> u64 {
    let figures = function.paths().into_iter().flat_map(PathProfile::figures);
    figures.filter_map(|figures| figures.get(column)).fold(0, |sum, amount| sum.saturating_add(*amount))
}
