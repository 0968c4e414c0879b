//! The reoptimizer: makes better block graphs from a profile.
//!
//! Input: a function's graph, each block once, and [`Advice`]. Output: a graph with superblocks along the hot paths and
//! inlined calls, and every [`Decision`]. The advice only affects speed: any advice, even of another program, gives
//! code that does the same.

mod advice;
mod decision;
mod estimate;
mod inlining;
mod phase;
mod policy;
mod traces;
mod vectors;

pub use advice::{Advice, FunctionAdvice, Targets};
pub use decision::{Decision, LittleGain, Refusal, Verdict};
pub use estimate::Estimate;
pub use phase::{Basis, SideExits, estimate_in, predicted};
pub use policy::Policy;

use crate::CompileError;
use crate::cfg::Cfg;
use crate::graph::{BlockGraph, HotPath};
use crate::module::ModuleInfo;
use crate::plan::{Collection, FunctionPlan, VectorLoop};
use inlining::Inlining;

/// The inputs of the reoptimizer.
#[derive(Clone, Copy, Debug)]
pub struct Reoptimizer<'a> {
    /// The module.
    pub info: &'a ModuleInfo,
    /// The advice about the module.
    pub advice: &'a Advice,
    /// The thresholds.
    pub policy: &'a Policy,
    /// The data that the engine collects: checks, or nothing.
    pub collection: &'a Collection,
}

/// The changes that a code generator makes to the graphs of all optimised code. Better versions and the functions
/// inlined in them get them, too.
pub trait Versions {
    /// Returns the graph of a function with each block once, and with no probes but checks and polls.
    fn probed(&self, plan: &FunctionPlan) -> BlockGraph;

    /// Returns the loops that may be vectorised.
    fn vectors<'p>(&self, plan: &'p FunctionPlan) -> &'p [VectorLoop];

    /// Returns the graph with loops unrolled, or checked once every several rounds.
    fn with_loops(&self, graph: BlockGraph, plan: &FunctionPlan) -> BlockGraph;
}

/// A better graph.
#[derive(Clone, Debug)]
pub struct Reoptimized {
    /// The graph.
    pub graph: BlockGraph,
    /// The decisions behind it.
    pub decisions: Vec<Decision>,
}

impl<'a> Reoptimizer<'a> {
    /// Returns the advice about a function.
    fn advice_of(&self, cfg: &Cfg) -> Option<&'a FunctionAdvice> {
        self.advice.function(cfg.func, cfg.shape().fingerprint())
    }

    /// Makes the better version of a planned function; `None` if there is no advice about it.
    ///
    /// # Errors
    /// Returns an error if a callee exceeds a limit.
    pub fn graph(
        &self,
        plan: &FunctionPlan,
        versions: &dyn Versions,
    ) -> Result<Option<Reoptimized>, CompileError> {
        let cfg = &plan.cfg;
        let mut decisions = Vec::new();
        let Some(advice) = self.advice_of(cfg) else { return Ok(None) };
        let graph = self.with_superblocks((plan, advice), versions.probed(plan), &mut decisions);
        let (graph, guards) = self.with_vectors((cfg, advice), versions.vectors(plan), graph, &mut decisions);
        let mut inlining = Inlining::new(self, plan, graph, versions, decisions);
        if self.policy.inlining {
            inlining.run()?;
        }
        let Inlining { graph, mut decisions, .. } = inlining;
        let graph = graph.with_known_handlers(self.info, cfg)?.ordered();
        decisions.extend(self.prediction(cfg, &graph, guards));
        debug_assert_eq!(graph.verify(cfg), Ok(()));
        Ok(Some(Reoptimized { graph, decisions }))
    }

    /// Predicts the saving of a better graph, which leaves out guards that were reached so many times; `None` if it never
    /// ran.
    fn prediction(&self, cfg: &Cfg, graph: &BlockGraph, guards: u64) -> Option<Decision> {
        let verdict = Verdict::Predicted(Estimate::new(cfg, graph)?.without_guards(guards));
        Some(Decision { func: cfg.func, offset: self.info.body(cfg.func).start as u32, verdict })
    }

    /// Returns a function's graph with superblocks and counts.
    fn with_superblocks(
        &self,
        (plan, advice): (&FunctionPlan, &'a FunctionAdvice),
        graph: BlockGraph,
        decisions: &mut Vec<Decision>,
    ) -> BlockGraph {
        let cfg = &plan.cfg;
        let ops: u32 = cfg.blocks.iter().map(|block| block.ops).sum();
        let room = ops.saturating_mul(self.policy.path_growth).min(self.policy.room);
        let predicted = |graph: &BlockGraph| Estimate::new(cfg, graph).unwrap_or_default().saved;
        let mut forming = graph.clone().superblocks(cfg, &advice.counts, room);
        let plain = predicted(&forming.so_far());
        let (mut formed, mut before) = (Vec::new(), plain);
        for (path, executed) in self.hot_paths(plan, advice) {
            let copies = forming.add(path);
            if copies > 0 {
                let (blocks, share) = (path.edges.len() as u32, *executed as f64 / advice.ops as f64);
                let after = predicted(&forming.so_far());
                let verdict = Verdict::Superblock { blocks, copies, share, saved: after - before };
                before = after;
                let offset = cfg.blocks[path.start as usize].start;
                formed.push(Decision { func: cfg.func, offset, verdict });
            }
        }
        if before - plain < self.policy.least_superblocks {
            forming = graph.superblocks(cfg, &advice.counts, room);
            formed.iter_mut().for_each(|decision| decision.verdict.refuse_superblock());
        }
        decisions.extend(formed);
        forming.finish()
    }

    /// Returns the paths that get blocks of their own: not those of small loops, for which unrolling does more.
    fn hot_paths(
        &self,
        plan: &FunctionPlan,
        advice: &'a FunctionAdvice,
    ) -> impl Iterator<Item = &'a (HotPath, u64)> {
        let has_superblocks = self.policy.superblocks;
        let unrolled: Vec<u32> = plan.loops.iter().map(|small| small.blocks[0]).collect();
        let is_worth = move |(path, _): &&(HotPath, u64)| has_superblocks && !unrolled.contains(&path.start);
        advice.hot_paths(self.policy.least_path_share).filter(is_worth)
    }
}
