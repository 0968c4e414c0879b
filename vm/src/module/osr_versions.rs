//! OSR versions: code that frames in loops enter at a loop header.
//!
//! A large function has one version that frames enter at any of its loops, where they can (loop entries of
//! `wprof_jit`). If each loop had a version of its own, each would take the compiler equally long, and frames
//! would switch between them. A function that consists mostly of one loop has one version for callers and for
//! frames in that loop, which enter it at the loop.
//!
//! A frame that asks for an OSR version waits in baseline code, or in burst code that a call has led to. So for a
//! large function a version that compiles quickly comes first. It is the best version for loops that end soon;
//! other frames move to a better version when the next burst ends in them. Until then bursts see too much of
//! small loops: the quick version checks for a burst in each iteration, burst code only in one of several. Only a
//! frame in a loop of optimised code does not wait: it asks for an OSR version before it leaves its code for a
//! burst, and so gets the best version at once.

use std::sync::Arc;
use std::time::Instant;

use wprof_jit::compile::Tier;
use wprof_jit::graph::BlockGraph;
use wprof_jit::plan::FunctionPlan;
use wprof_profiler::CodeTier;

use super::ModuleInner;
use super::code::Compiled;
use crate::Result;
use crate::background::{Job, Promotion, Task};
use crate::runtime::code::{no_code_memory, registry};

/// Bytes of bytecode from which a function is large; smaller functions compile quickly in any case.
const LARGE: usize = 1000;

impl ModuleInner {
    /// Returns the code in which a frame can continue at a loop header, if there is any.
    pub(super) fn code_for_frame(self: &Arc<Self>, func: u32, header: u32) -> Option<usize> {
        let known = |compiled: &Compiled| compiled.resumed.get(&header).copied();
        if let Some(known) = self.code.look(func, known)? {
            return Some(known);
        }
        let entry = self.code.look(func, |compiled| compiled.entry_at(header)).flatten()?;
        let address = self.place_loop_entry(func, entry).ok()?;
        self.code.update(func, |compiled| {
            // The function may have got a better version meanwhile.
            if compiled.entered().any(|code| code == entry.0) {
                compiled.resumed.insert(header, address);
            }
        });
        Some(address)
    }

    /// Places the stub by which frames enter `code` at the loop with the given number.
    pub(super) fn place_loop_entry(&self, func: u32, (code, number): (usize, usize)) -> Result<usize> {
        let entry = self.engine.compiler().loop_entry(self.info.func_type(func), (code as u64, number))?;
        self.code.arena.place(entry, None).map_err(no_code_memory)
    }

    /// Compiles an OSR version for a frame at a loop header, if there is none. `waits` tells whether the frame
    /// waits in much slower code.
    pub(super) fn compile_for_frame(self: &Arc<Self>, func: u32, header: u32, waits: bool) -> Result<()> {
        let began = Instant::now();
        let Some(plan) = self.plan_of(func) else { return Ok(()) };
        if self.engine.compiler().main_loop(&plan) == Some(header) {
            self.promote(func, Promotion::Entry)?;
        }
        // Frames may enter, at this header, a version that was compiled for others.
        if self.code_for_frame(func, header).is_some() {
            return Ok(());
        }
        let basis = self.code.look(func, |compiled| compiled.basis.clone()).flatten();
        let main_loop = self.main_loop(&plan);
        let has_two = waits && basis.is_none() && main_loop.is_none() && self.has_time_for_two(&plan, header);
        let later = self.engine.background().filter(|_| has_two);
        let version = |plan: &FunctionPlan| match later {
            Some(_) => Ok(self.engine.compiler().soon(plan)),
            None => Ok(self.best_graph(plan, basis.as_ref().map(|basis| &*basis.advice))?.0),
        };
        let address = self.place_for_frames(&plan, version, (header, main_loop), began)?;
        self.code.update(func, |compiled| compiled.take_for_frames(header, address));
        if let Some(background) = later {
            self.promise(func, Promotion::Unrolled(header));
            let task = Task::Promote(Promotion::Unrolled(header));
            background.order([Job::new(self, func, task)]);
        }
        Ok(())
    }

    /// Returns whether compiling two versions, one after the other, pays. The second one must not take time from
    /// the program, just as speculative compilation must not, and frames move to it by way of bursts.
    fn has_time_for_two(&self, plan: &FunctionPlan, header: u32) -> bool {
        let takes_long = plan.cfg.bytes() >= LARGE && !plan.loops.is_empty();
        let has_bursts = self.engine.has_bursts() && self.engine.config().speculates();
        takes_long && has_bursts && self.affords(plan.cfg.func, Promotion::Unrolled(header))
    }

    /// Compiles the version that takes longer, unless a profile has meanwhile led to a better one.
    pub(super) fn compile_unrolled(self: &Arc<Self>, func: u32, header: u32) -> Result<()> {
        let began = Instant::now();
        let is_advised = |compiled: &Compiled| compiled.basis.is_some();
        let Some(plan) = self.plan_of(func).filter(|_| self.code.look(func, is_advised) == Some(false))
        else {
            return Ok(());
        };
        let version = |plan: &FunctionPlan| Ok(self.engine.compiler().version(plan, Tier::Optimized));
        let address = self.place_for_frames(&plan, version, (header, None), began)?;
        self.code.update(func, |compiled| {
            if !is_advised(compiled) {
                compiled.take_for_frames(header, address);
            }
        });
        Ok(())
    }

    /// Returns the main loop of a function and the code that frames enter there, if both exist.
    fn main_loop(self: &Arc<Self>, plan: &FunctionPlan) -> Option<(u32, u64)> {
        let header = self.engine.compiler().main_loop(plan)?;
        Some((header, self.code_for_frame(plan.cfg.func, header)? as u64))
    }

    /// Compiles the version in which frames at a loop header continue, and frames at other headers if they can
    /// enter it. Frames that reach the main loop continue in its version, if there is one. Returns the address.
    fn place_for_frames(
        self: &Arc<Self>,
        plan: &FunctionPlan,
        version: impl Fn(&FunctionPlan) -> Result<BlockGraph>,
        at: (u32, Option<(u32, u64)>),
        began: Instant,
    ) -> Result<usize> {
        let version = |plan: &FunctionPlan| Ok((self.for_frames(plan, version(plan)?, at), ()));
        let (code, ..) = self.settled(plan, version)?;
        self.place_code(plan.cfg.func, code, CodeTier::Loop, began)
    }

    /// Returns a graph that frames enter at all loops, or one that resumes at this header only, if frames cannot
    /// enter the former here or if the latter is less than half as large.
    pub(super) fn for_frames(
        &self,
        plan: &FunctionPlan,
        graph: BlockGraph,
        (header, main_loop): (u32, Option<(u32, u64)>),
    ) -> BlockGraph {
        if main_loop.is_some() {
            return graph.version_at(&plan.cfg, header, main_loop);
        }
        let graph = self.engine.compiler().entered_at_loops(plan, graph);
        if !graph.is_entered_at(header) {
            return graph.version_at(&plan.cfg, header, None);
        }
        let resumed = graph.clone().version_at(&plan.cfg, header, None);
        if 2 * resumed.nodes.len() < graph.nodes.len() { resumed } else { graph }
    }
}

impl Compiled {
    /// Returns the addresses of the code that frames enter at loops.
    fn entered(&self) -> impl Iterator<Item = usize> {
        self.for_frames.into_iter().chain([self.address])
    }

    /// Returns the code that frames enter at this loop header, and the number of the loop in it.
    fn entry_at(&self, header: u32) -> Option<(usize, usize)> {
        self.entered().find_map(|code| Some((code, number_of(code, header)?)))
    }

    /// Returns one loop header for each version that exists for frames.
    pub fn headers_of_frames(&self) -> Vec<u32> {
        let entered = self.for_frames.and_then(registry::find);
        let entered = entered.and_then(|object| object.code.loop_entries.first().copied());
        self.resumed.keys().copied().chain(entered).collect()
    }

    /// Returns whether there is code in which a frame can continue at this loop header.
    pub fn has_for_frame(&self, header: u32) -> bool {
        self.resumed.contains_key(&header) || self.entry_at(header).is_some()
    }

    /// Makes frames continue in the code at this address from now on: at all loops where they can enter it, or
    /// else at `header`.
    pub fn take_for_frames(&mut self, header: u32, address: usize) {
        if number_of(address, header).is_some() {
            self.for_frames = Some(address);
            self.resumed.retain(|&header, _| number_of(address, header).is_none());
        } else {
            self.resumed.insert(header, address);
        }
    }
}

/// Returns the number of the loop at which frames enter the code at an address, if they can enter it at this
/// header.
pub(super) fn number_of(code: usize, header: u32) -> Option<usize> {
    registry::find(code)?.code.loop_entries.iter().position(|&at| at == header)
}
