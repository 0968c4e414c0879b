//! Versions for frames in loops, which resume at a loop header.
//!
//! Whoever asks for one waits for it in baseline code, or in code for bursts: so of a large function one is compiled at
//! first that is there soon. It is the best for a loop that ends soon; others go on in a better one when the next burst
//! ends in them. Until then bursts see too much of small loops, which are checked in each round there, and in code for
//! bursts in one of several.
//!
//! A large function that is mostly one loop has one version for callers and for frames in that loop, which enter it
//! there (loop entries of `wprof_jit`).

use std::sync::Arc;
use std::time::Instant;

use wprof_jit::compile::Tier;
use wprof_jit::graph::BlockGraph;
use wprof_jit::plan::FunctionPlan;
use wprof_profiler::CodeTier;

use super::ModuleInner;
use super::code::{Compiled, Promotion};
use crate::Result;
use crate::background::{Job, Task};
use crate::engine::no_code_memory;
use crate::runtime::code::registry;

/// Bytes of bytecode of a large function: smaller ones are there soon anyway.
const LARGE: usize = 1000;

impl ModuleInner {
    /// Code that a frame can go on in at a loop header, if there is any.
    pub(super) fn code_for_frame(self: &Arc<Self>, func: u32, header: u32) -> Option<usize> {
        let versions = |compiled: &Compiled| (compiled.resumed.get(&header).copied(), compiled.address);
        let (known, for_callers) = self.code.look(func, versions)?;
        let enters = |address: usize| registry::find(address)?.code.loop_entry.filter(|&at| at == header);
        if known.is_some() || enters(for_callers).is_none() {
            return known;
        }
        let address = self.place_loop_entry(func, for_callers).ok()?;
        self.code.update(func, |compiled| {
            // It may have got a better version meanwhile.
            if compiled.address == for_callers {
                compiled.resumed.insert(header, address);
            }
        });
        Some(address)
    }

    /// Places what frames enter the code at this address by.
    pub(super) fn place_loop_entry(&self, func: u32, address: usize) -> Result<usize> {
        let code = self.engine.compiler().loop_entry(self.info.func_type(func), address as u64)?;
        self.code.arena.place(code, None).map_err(no_code_memory)
    }

    /// Compiles a version for a frame that waits at a loop header in code that is worse by far.
    pub(super) fn compile_for_frame(self: &Arc<Self>, func: u32, header: u32) -> Result<()> {
        let began = Instant::now();
        let Some(plan) = self.plan_of(func) else { return Ok(()) };
        if self.engine.compiler().main_loop(&plan) == Some(header) {
            self.promote(func, Promotion::Entry)?;
            if self.code_for_frame(func, header).is_some() {
                return Ok(());
            }
        }
        let basis = self.code.look(func, |compiled| compiled.basis.clone()).flatten();
        let has_two = basis.is_none() && self.main_loop(&plan).is_none() && self.has_time_for_two(&plan);
        let later = self.engine.background().filter(|_| has_two);
        let graph = match later {
            Some(_) => self.engine.compiler().soon(&plan),
            None => self.best_graph(&plan, basis.as_ref().map(|basis| &*basis.advice))?.0,
        };
        let address = self.place_for_frames(&plan, graph, header, began)?;
        self.code.update(func, |compiled| compiled.resumed.insert(header, address));
        if let Some(background) = later {
            let task = Task::Promote(Promotion::Unrolled(header));
            background.order([Job { module: Arc::downgrade(self), func, task }]);
        }
        Ok(())
    }

    /// Whether it pays to compile two versions, one after the other: the second must not take time from the program, as
    /// what is compiled ahead must not, and it is by bursts that frames come to it.
    fn has_time_for_two(&self, plan: &FunctionPlan) -> bool {
        let takes_long = plan.cfg.bytes() >= LARGE && !plan.loops.is_empty();
        takes_long && self.engine.has_bursts() && self.engine.config().speculates()
    }

    /// Compiles what takes longer, unless a profile has told meanwhile what is better.
    pub(super) fn compile_unrolled(self: &Arc<Self>, func: u32, header: u32) -> Result<()> {
        let began = Instant::now();
        let is_advised = |compiled: &Compiled| compiled.basis.is_some();
        let Some(plan) = self.plan_of(func).filter(|_| self.code.look(func, is_advised) == Some(false))
        else {
            return Ok(());
        };
        let graph = self.engine.compiler().version(&plan, Tier::Optimized);
        let address = self.place_for_frames(&plan, graph, header, began)?;
        self.code.update(func, |compiled| {
            if !is_advised(compiled) {
                compiled.resumed.insert(header, address);
            }
        });
        Ok(())
    }

    /// The main loop of a function, and the code that frames enter there, if there is such code.
    fn main_loop(self: &Arc<Self>, plan: &FunctionPlan) -> Option<(u32, u64)> {
        let header = self.engine.compiler().main_loop(plan)?;
        Some((header, self.code_for_frame(plan.cfg.func, header)? as u64))
    }

    /// Compiles what resumes at a loop header in `graph`.
    fn place_for_frames(
        self: &Arc<Self>,
        plan: &FunctionPlan,
        graph: BlockGraph,
        header: u32,
        began: Instant,
    ) -> Result<usize> {
        let graph = graph.version_at(&plan.cfg, header, self.main_loop(plan));
        self.place_version(plan, &graph, (Tier::Optimized, CodeTier::Loop), began)
    }
}
