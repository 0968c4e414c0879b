//! Loop entries: code of a large function that frames can also enter at loop headers by OSR.
//!
//! A frame that continues in another version of its function could have separate code that resumes there (`resume.rs`).
//! But a function that is mostly one loop, as interpreters are, would then be compiled twice, and run in two places at
//! once: a frame that has been replaced in one, its callees in the other; caches and branch predictors would have to
//! learn both. That way QuickJS with bursts took 1.17 of the time with checks alone, instead of 1.10
//! (`bench-wasm/records/2026-11-25-loop-entries.md`).
//!
//! A function of several loops has one version that frames enter at any of them, instead of one for each loop: a frame
//! that waited for the version at one loop, in much worse code, need not wait again at the next.
//!
//! Input: a graph that is entered by calls. Output: the same graph, with the nodes that frames enter as well;
//! `translate/osr_entry.rs` translates these entries. Invariant: only OSR entries pass a number up to
//! [`MOST_LOOP_ENTRIES`] for the caller's vmctx.

use super::{BlockGraph, Elsewhere, Node};
use crate::abi::MOST_LOOP_ENTRIES;
use crate::cfg::Cfg;
use crate::plan::Probes;

/// The total number of locals loaded at all loops, as each may have to be loaded before each loop.
const MOST_VALUES: usize = 1 << 13;

impl Cfg {
    /// Returns the header of the innermost loop with more than half of the function's instructions, if OSR is possible
    /// there.
    pub(crate) fn main_loop(&self) -> Option<u32> {
        let loops = self.loops();
        let ops = |block: usize| u64::from(self.blocks[block].ops);
        let all: u64 = (0..self.blocks.len()).map(ops).sum();
        let is_main = |id| loops.blocks(id).iter().map(|block| ops(block.index())).sum::<u64>() > all / 2;
        let (_, found) = loops.iter().filter(|(id, found)| !found.irreducible && is_main(*id)).last()?;
        Some(found.header.0).filter(|&header| self.can_resume(header))
    }

    /// Returns the headers of the loops at which frames can enter one version, outer loops first.
    pub(crate) fn entered_loops(&self) -> Vec<u32> {
        let headers = self.loops().iter().filter(|(_, found)| !found.irreducible);
        let headers = headers.map(|(_, found)| found.header.0).filter(|&header| self.can_resume(header));
        headers.take(MOST_LOOP_ENTRIES.min(MOST_VALUES / self.locals.len().max(1))).collect()
    }
}

impl BlockGraph {
    /// Returns the graph that frames can also enter at these loop headers; outer loops come first.
    #[must_use]
    pub(crate) fn entered_at(self, cfg: &Cfg, headers: &[u32]) -> BlockGraph {
        let loop_entries = headers.iter().filter_map(|&header| self.node_of(cfg, header)).collect();
        BlockGraph { loop_entries, ..self }
    }

    /// Reports whether frames can enter the graph at this loop header.
    pub fn is_entered_at(&self, header: u32) -> bool {
        self.loop_entries.iter().any(|&node| self.nodes[node as usize].block == header)
    }

    /// Returns the first node that is a whole copy of a block of the function itself.
    pub(crate) fn node_of(&self, cfg: &Cfg, block: u32) -> Option<u32> {
        let is_it = |node: &Node| node.block == block && self.is_whole(cfg, node);
        self.nodes.iter().position(is_it).map(|index| index as u32)
    }

    /// Returns the graph entered at `block`, a loop header, or 0 for the entry of the function. If `main_loop` is given
    /// for another header, with the address of its code, the graph continues in that code where it reaches the header.
    #[must_use]
    pub fn version_at(mut self, cfg: &Cfg, block: u32, main_loop: Option<(u32, u64)>) -> BlockGraph {
        let elsewhere = main_loop.filter(|&(header, _)| header != block);
        if let Some((header, code)) = elsewhere {
            self.leave_at(cfg, header, code);
        }
        match block {
            0 if elsewhere.is_some() => self.without_unreachable(),
            0 => self,
            _ => self.resumed_at(cfg, block),
        }
    }

    /// Returns the graph that resumes, for frames that bring along their profiling state.
    #[must_use]
    pub fn continued(self) -> BlockGraph {
        BlockGraph { is_continued: true, ..self }
    }

    /// Makes frames continue in other code where they reach the loop header `block`: code entered elsewhere then need
    /// not contain that loop. Nodes behind it may become unreachable.
    fn leave_at(&mut self, cfg: &Cfg, block: u32, code: u64) {
        for index in 0..self.nodes.len() {
            let node = &self.nodes[index];
            if node.block == block && self.is_whole(cfg, node) {
                self.nodes[index] = node.placed(Elsewhere::Version(code));
            }
        }
    }

    /// Reports whether the entry code is separate from node 0.
    pub(crate) fn is_entered_apart(&self) -> bool {
        self.resumes || !self.loop_entries.is_empty()
    }
}

impl Node {
    /// Returns a node that stands for the same block with its code elsewhere.
    pub(super) fn placed(&self, elsewhere: Elsewhere) -> Node {
        let (probes, wires) = (Probes::new(), Default::default());
        Node { elsewhere: Some(elsewhere), probes, wires, inner: Vec::new(), ..*self }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crate::module;
    use crate::plan::{Collection, FunctionPlan};

    /// Returns which of a function's loops, in source order, is its main loop. `N` counts down in a body.
    fn main_loop(body: &str) -> Option<usize> {
        let count = "(br_if 0 (local.tee $n (i32.sub (local.get $n) (i32.const 1))))";
        let wat = format!("(module (func (param $n i32) {}))", body.replace('N', count));
        let bytes: Arc<[u8]> = wat::parse_str(wat).expect("valid text").into();
        let info = module::parse(bytes).expect("valid module");
        let plan = FunctionPlan::new(&info, 0, &Collection::default(), 0).expect("within limits");
        let header = plan.cfg.main_loop()?;
        let mut headers: Vec<u32> = plan.cfg.loops().iter().map(|(_, found)| found.header.0).collect();
        headers.sort_unstable();
        headers.iter().position(|of_loop| *of_loop == header)
    }

    #[test]
    fn it_is_the_innermost_one_with_more_than_half_of_the_instructions() {
        assert_eq!(main_loop("N"), None);
        assert_eq!(main_loop("(loop N)"), Some(0));
        assert_eq!(main_loop("(loop N) (loop N) N"), None);
        assert_eq!(main_loop("(loop (loop N) (loop N) N)"), Some(0));
        assert_eq!(main_loop("(loop (loop N) (loop (loop N N N) N) N)"), Some(2));
        assert_eq!(main_loop("(loop (loop (loop N) N N) N)"), Some(1));
    }
}
