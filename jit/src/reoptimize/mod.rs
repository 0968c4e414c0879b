//! The reoptimizer: from what a profile tells to a better block graph.
//!
//! Input: a function's graph, each block once, and [`Advice`]. Output: a graph with superblocks along the hot paths and
//! inlined calls, and every [`Decision`]. All that follows from it is a matter of speed: any advice, also of another
//! program, gives code that does the same.

mod advice;
mod decision;
mod inlining;
mod policy;
mod traces;

use std::sync::Arc;

pub use advice::{Advice, FunctionAdvice, Targets};
pub use decision::{Decision, Refusal, Verdict};
pub use policy::Policy;

use crate::CompileError;
use crate::cfg::Cfg;
use crate::graph::{BlockGraph, HotPath};
use crate::module::ModuleInfo;
use crate::plan::{Collection, FunctionPlan};
use inlining::Inlining;

/// What better versions are made of.
#[derive(Clone, Copy, Debug)]
pub struct Reoptimizer<'a> {
    /// The module.
    pub info: &'a ModuleInfo,
    /// What is known of it.
    pub advice: &'a Advice,
    /// What is worth it.
    pub policy: &'a Policy,
    /// What its engine collects: checks, or nothing.
    pub collection: &'a Collection,
}

/// A better graph.
#[derive(Clone, Debug)]
pub struct Reoptimized {
    /// The graph.
    pub graph: BlockGraph,
    /// How it came about.
    pub decisions: Vec<Decision>,
}

impl Reoptimizer<'_> {
    /// The better version of a planned function; `None` if nothing is known of it. `probed` gives the graph of a function
    /// with each block once, and with no probes but checks and polls.
    ///
    /// # Errors
    /// If a callee exceeds a limit.
    pub fn graph(
        &self,
        plan: &FunctionPlan,
        probed: &dyn Fn(&FunctionPlan) -> BlockGraph,
    ) -> Result<Option<Reoptimized>, CompileError> {
        let cfg = &plan.cfg;
        let mut decisions = Vec::new();
        let Some(graph) = self.with_superblocks(cfg, probed(plan), &mut decisions) else { return Ok(None) };
        let is_checked = plan.checks.as_ref().is_some_and(|checks| checks.entry);
        let mut inlining = Inlining::new(self, (cfg, is_checked), graph, probed, decisions);
        if self.policy.inlining {
            inlining.run()?;
        }
        let Inlining { graph, decisions, .. } = inlining;
        let graph = graph.ordered();
        debug_assert_eq!(graph.verify(cfg), Ok(()));
        Ok(Some(Reoptimized { graph, decisions }))
    }

    /// The graph with superblocks and counts; `None` if nothing is known of the function.
    fn with_superblocks(
        &self,
        cfg: &Arc<Cfg>,
        graph: BlockGraph,
        decisions: &mut Vec<Decision>,
    ) -> Option<BlockGraph> {
        let advice = self.advice.function(cfg.func, cfg.shape().fingerprint())?;
        let ops: u32 = cfg.blocks.iter().map(|block| block.ops).sum();
        let least = self.policy.least_path_share * advice.ops as f64;
        let is_hot = |executed: u64| self.policy.superblocks && executed as f64 >= least;
        let hot: Vec<&(HotPath, u64)> =
            advice.paths.iter().filter(|(_, executed)| is_hot(*executed)).collect();
        for (path, executed) in &hot {
            let (blocks, share) = (path.edges.len() as u32, *executed as f64 / advice.ops as f64);
            let offset = cfg.blocks[path.start as usize].start;
            decisions.push(Decision {
                func: cfg.func,
                offset,
                verdict: Verdict::Superblock { blocks, share },
            });
        }
        let paths: Vec<HotPath> = hot.into_iter().map(|(path, _)| path.clone()).collect();
        let room = ops.saturating_mul(self.policy.path_growth).min(self.policy.room);
        Some(graph.with_superblocks(cfg, &paths, &advice.counts, room))
    }
}
