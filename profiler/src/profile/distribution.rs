//! The distribution of a run's instructions over its paths.
//!
//! Input: a profile with paths. Output: the share of the paths with the most instructions, and the share by length in
//! branches.
//! Source: Vaswani 2007, section 5.1, figures 5.2 (a) and 5.3. Oracle: `tests/it/distribution.rs`.

use super::Profile;
use crate::{Cfg, Path};

/// The instructions of all finished paths.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PathDistribution {
    /// Number of different paths.
    pub paths: u64,
    /// Instructions executed along the paths; saturates.
    pub ops: u64,
    /// For the 1, 10, 100, … hottest paths, and for all: the number of paths and their instructions together.
    pub of_hottest: Vec<(u64, u64)>,
    /// By number of branches on a path: the instructions of such paths. The last entry includes longer paths.
    pub by_branches: Vec<u64>,
}

impl PathDistribution {
    /// Number of branches at which `by_branches` stops telling paths apart: the capacity of a path descriptor.
    pub const LONGEST: usize = 32;

    /// Returns the instructions of paths with at most `branches` branches.
    pub fn up_to(&self, branches: usize) -> u64 {
        self.by_branches.iter().take(branches + 1).fold(0, |sum, &ops| sum.saturating_add(ops))
    }
}

impl Profile {
    /// Computes the distribution of instructions over paths; `None` if paths were not counted.
    pub fn path_distribution(&self) -> Option<PathDistribution> {
        self.has_paths().then_some(())?;
        let mut found =
            PathDistribution { by_branches: vec![0; PathDistribution::LONGEST + 1], ..Default::default() };
        let mut all: Vec<u64> = Vec::new();
        for function in &self.functions {
            let (Ok(cfg), Some(numbering)) = (function.cfg(), function.path_numbering()) else { continue };
            for hot in function.path_costs() {
                let branches = numbering.path(hot.id).map_or(0, |path| branches_on(&cfg, &path));
                let sum = &mut found.by_branches[branches.min(PathDistribution::LONGEST)];
                *sum = sum.saturating_add(hot.ops);
                all.push(hot.ops);
            }
        }
        all.sort_unstable_by(|a, b| b.cmp(a));
        found.paths = all.len() as u64;
        found.ops = all.iter().fold(0, |sum, &ops| sum.saturating_add(ops));
        let sizes = (0..).map(|power| 10_usize.pow(power)).take_while(|&size| size < all.len());
        let of =
            |size: usize| (size as u64, all[..size].iter().fold(0, |sum: u64, &ops| sum.saturating_add(ops)));
        found.of_hottest = sizes.chain((!all.is_empty()).then_some(all.len())).map(of).collect();
        Some(found)
    }
}

/// Returns the number of blocks on a path that have more than one out-edge.
fn branches_on(cfg: &Cfg, path: &Path) -> usize {
    path.edges.iter().filter(|&&edge| cfg.out_edges(cfg.edge(edge).from).len() > 1).count()
}
