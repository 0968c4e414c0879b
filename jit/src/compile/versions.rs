//! The block graphs from which versions of functions are compiled.
//!
//! Input: a function's plan, and for better versions what the reoptimizer is given. Output: graphs with all probes, in
//! which code is copied for speed, as the options and passes say.

use super::{Compiler, Tier};
use crate::CompileError;
use crate::abi::store_context;
use crate::graph::{BlockGraph, Parts};
use crate::options::{CompilerOptions, Pass};
use crate::plan::{FunctionPlan, Placement, VectorLoop};
use crate::reoptimize::{Reoptimized, Reoptimizer, Versions};

impl Versions for Compiler {
    fn probed(&self, plan: &FunctionPlan) -> BlockGraph {
        BlockGraph::placed(&plan.cfg, self.placement(plan))
    }

    /// Returns none if something is done in each round. So are checks, except where those of many rounds are counted at
    /// once.
    fn vectors<'p>(&self, plan: &'p FunctionPlan) -> &'p [VectorLoop] {
        let passes = self.options.passes.for_function(plan.cfg.func);
        let in_strips = passes.has(Pass::Strips) && self.options.pinned_cell() == Some(store_context::CHECKS);
        let is_possible = passes.has(Pass::Vectors) && (in_strips || !self.options.checked);
        if is_possible { &plan.vectors } else { &[] }
    }

    fn with_loops(&self, graph: BlockGraph, plan: &FunctionPlan) -> BlockGraph {
        self.stripped(self.unrolled(graph, plan), plan)
    }
}

impl Compiler {
    /// Makes a better graph of a function from a profile; `None` if there is no advice about it, or if copies of its
    /// code would take too long to compile.
    ///
    /// # Errors
    /// Returns an error if a callee exceeds a limit.
    ///
    /// # Panics
    /// Panics if more than checks is planned in the function.
    pub fn reoptimized(
        &self,
        plan: &FunctionPlan,
        reoptimizer: &Reoptimizer<'_>,
    ) -> Result<Option<Reoptimized>, CompileError> {
        assert!(!self.options.precise, "what is counted in a function is not counted where it is inlined");
        if plan.cfg.is_entangled() {
            return Ok(None);
        }
        let better = reoptimizer.graph(plan, self)?;
        Ok(better.map(|better| Reoptimized { graph: self.optimized(better.graph, plan), ..better }))
    }

    /// Returns the block graph from which a version of a function is compiled.
    pub fn version(&self, plan: &FunctionPlan, tier: Tier) -> BlockGraph {
        let mut placement = self.placement(plan);
        match tier {
            Tier::Baseline => {
                if self.options.hot.is_some() {
                    placement.add_heat(&plan.cfg, plan.heat_counter());
                }
                BlockGraph::placed(&plan.cfg, placement)
            }
            Tier::Optimized if plan.cfg.is_entangled() => BlockGraph::placed(&plan.cfg, placement),
            Tier::Optimized => {
                let graph =
                    BlockGraph::placed(&plan.cfg, placement).vectorized(&plan.cfg, self.vectors(plan));
                self.optimized(graph, plan)
            }
        }
    }

    /// Returns the graph with code copied for speed.
    fn optimized(&self, graph: BlockGraph, plan: &FunctionPlan) -> BlockGraph {
        let graph = self.without_joins(self.unrolled(graph, plan), plan);
        let graph = self.stripped(graph, plan);
        match self.main_loop(plan) {
            Some(header) if !plan.in_bursts => graph.entered_at(&plan.cfg, &[header]),
            _ => graph,
        }
    }

    fn unrolled(&self, graph: BlockGraph, plan: &FunctionPlan) -> BlockGraph {
        match self.options.passes.for_function(plan.cfg.func).has(Pass::Unroll) {
            true => graph.unrolled(&plan.cfg, &plan.loops, plan.first_counter),
            false => graph,
        }
    }

    fn stripped(&self, graph: BlockGraph, plan: &FunctionPlan) -> BlockGraph {
        match self.options.passes.for_function(plan.cfg.func).has(Pass::Strips) {
            true => graph.stripped(&plan.cfg, &plan.strips),
            false => graph,
        }
    }

    /// Returns the header of the main loop of a large function, if versions of the function can share the code of that
    /// loop: there frames enter the optimised code for callers, where a frame consists of locals and operands only, or
    /// the burst code that resumes there.
    pub fn main_loop(&self, plan: &FunctionPlan) -> Option<u32> {
        let is_shared = plan.in_bursts || self.can_be_entered();
        let is_large = plan.cfg.bytes() > self.options.loop_entries_above;
        let is_possible = is_shared && is_large && !plan.cfg.is_entangled();
        is_possible.then(|| plan.cfg.main_loop()).flatten()
    }

    /// Reports whether a frame of optimised code consists of locals and operands only.
    fn can_be_entered(&self) -> bool {
        let CompilerOptions { precise, contexts, metrics, .. } = self.options;
        !precise && !contexts && metrics == 0
    }

    /// Returns the graph that frames of other versions can enter at any of its loops, if that is possible and the
    /// function is large. In small functions one version for each loop is faster (measured).
    #[must_use]
    pub fn entered_at_loops(&self, plan: &FunctionPlan, graph: BlockGraph) -> BlockGraph {
        let is_shared = self.can_be_entered() && plan.cfg.bytes() > self.options.shared_loops_above;
        let loops = if is_shared && !plan.cfg.is_entangled() { plan.cfg.entered_loops() } else { Vec::new() };
        graph.entered_at(&plan.cfg, &loops)
    }

    /// Returns the optimised version without its largest part, unrolled loops. Its compilation takes little more than
    /// half of the time.
    pub fn soon(&self, plan: &FunctionPlan) -> BlockGraph {
        match plan.cfg.is_entangled() {
            true => self.probed(plan),
            false => self.without_joins(self.probed(plan), plan),
        }
    }

    /// Returns the graph with copies of code behind joins.
    fn without_joins(&self, graph: BlockGraph, plan: &FunctionPlan) -> BlockGraph {
        let passes = self.options.passes.for_function(plan.cfg.func);
        let graph = if passes.has(Pass::Dispatch) { graph.dispatched(&plan.cfg) } else { graph };
        match passes.has(Pass::SplitLoops) {
            true => graph.split_loops(&plan.cfg, plan.prefixes.as_ref()),
            false => graph,
        }
    }

    /// Returns the parts in which baseline code of a function is compiled, the first by [`Compiler::graph`], the others
    /// when control reaches them; `None` if it is compiled as a whole. `first_row`: see [`Parts::new`].
    pub fn parts(&self, plan: &FunctionPlan, first_row: u32) -> Option<Parts> {
        let is_split = self.splits() && plan.cfg.bytes() > self.options.part_sizes.split;
        is_split
            .then(|| self.version(plan, Tier::Baseline))
            .and_then(|graph| Parts::new(graph, &plan.cfg, self.options.part_sizes, first_row))
    }

    /// Reports whether large functions are compiled in parts. They are not if frames can be inspected everywhere: a
    /// frame that does not fit on the stack would have to stop in the middle of the function.
    pub fn splits(&self) -> bool {
        !self.options.precise
    }

    /// Returns the placement of all probes of a function.
    fn placement(&self, plan: &FunctionPlan) -> Placement {
        let mut placement = plan.placement();
        if let Some(events) = &plan.events {
            events.place_steps(&mut placement);
            if let (Some(kind), Some(calls)) = (self.options.metered, events.checked_calls()) {
                placement.add_budget(&plan.cfg, (kind, events.checks_leaves()), calls);
            }
        }
        if self.options.polls {
            placement.add_polls(&plan.cfg);
        }
        if let Some(checks) = &plan.checks {
            checks.place(&mut placement);
        }
        placement
    }
}
