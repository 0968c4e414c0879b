//! Prefix counts: how often an earlier run executed each prefix of its most frequent paths.
//!
//! Input: the plan of a function's paths, and an earlier profile of them. Output: for each block and value of the path
//! register there, which together identify a prefix (see [`wprof_profiler::PathNumbering`]), the sum of the counts of
//! the paths with this prefix. So a prefix counts at least as often as a longer one.

use std::cmp::Reverse;

use hashbrown::HashMap;
use wprof_profiler::{BlockId, Cfg, PathPlan, PathProfile, PathStep};

/// The number of paths considered, the most frequent ones: there is no room for copies along more.
const MOST_PATHS: usize = 512;

/// The number of executions of each prefix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrefixCounts(HashMap<(u32, i64), u64>);

impl PrefixCounts {
    /// Computes the prefix counts of a function of the given shape.
    pub fn new(shape: &Cfg, plan: &PathPlan, earlier: &PathProfile) -> PrefixCounts {
        let mut finished: Vec<_> = earlier.finished.iter().collect();
        finished.sort_by_key(|path| Reverse(path.count));
        let starts = starts(shape, plan);
        let mut counts = HashMap::new();
        for path in finished.into_iter().take(MOST_PATHS) {
            let Some(way) = plan.numbering.path(path.id) else { continue };
            let Some(&first) = starts.get(&way.start) else { continue };
            let (mut at, mut register) = (way.start, first);
            for edge in way.edges {
                let count: &mut u64 = counts.entry((at.0, register)).or_default();
                *count = count.saturating_add(path.count);
                match plan.steps[edge.index()] {
                    PathStep::Add(amount) => register = register.wrapping_add(amount),
                    PathStep::Set(value) => register = value,
                    PathStep::Stay | PathStep::Finish { .. } => {}
                }
                at = shape.edge(edge).to;
            }
        }
        PrefixCounts(counts)
    }

    /// Returns how often a path reached `block` with this value of the register.
    pub fn get(&self, block: u32, register: i64) -> u64 {
        self.0.get(&(block, register)).copied().unwrap_or(0)
    }
}

/// Returns the value of the register at the start of each path, by block.
fn starts(shape: &Cfg, plan: &PathPlan) -> HashMap<BlockId, i64> {
    let restarts = shape.edges().zip(&plan.steps).filter_map(|(edge, step)| match *step {
        PathStep::Finish { restart, .. } => Some((shape.edge(edge).to, restart?)),
        PathStep::Set(first) if plan.numbering.ends_path(edge) => Some((shape.edge(edge).to, first)),
        PathStep::Stay | PathStep::Add(_) | PathStep::Set(_) => None,
    });
    restarts.chain([(BlockId::ENTRY, plan.entry)]).collect()
}
