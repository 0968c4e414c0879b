//! Where a frame copies its path register to its stack frame, for code that inspects frames.
//!
//! Input: a graph, the nodes at which its path register is known, and those in which a frame may stop. Output: the
//! nodes at whose entry the copy is made: those that need a copy, and are not always reached with one. Source:
//! availability (Kildall 1973): forward, over all paths, greatest solution.
//!
//! Example: a loop adds to the register in `b` and continues in `c`, where it may stop: the copy is made at `c`. A node
//! behind `c` finds the copy made, if nothing adds to the register on the way there.

use super::{BlockGraph, Node, Wire};
use crate::plan::{PathCells, Probe};

impl Probe {
    /// Reports whether a frame may stop at this probe, or be inspected there.
    fn may_stop(&self) -> bool {
        let is_silent = match self {
            Probe::Count { .. }
            | Probe::CountInRecord { .. }
            | Probe::Event { .. }
            | Probe::PathStart(_)
            | Probe::PathAdd(_) => true,
            Probe::PathEnd { cells, .. } => {
                matches!(cells, PathCells::Instance { .. } | PathCells::Record { .. })
            }
            _ => false,
        };
        !is_silent
    }
}

impl Node {
    /// Reports whether a frame may stop at a probe of the node or its wires, or be inspected there.
    pub(crate) fn may_stop(&self) -> bool {
        let wires = self.wires.iter().flat_map(|wire| &wire.probes);
        !self.inner.is_empty() || self.probes.iter().chain(wires).any(Probe::may_stop)
    }
}

impl BlockGraph {
    /// Reports for each node whether a copy is made at its entry, given where the register is known, and where a frame
    /// may stop.
    pub(crate) fn kept_paths(&self, known: &[Option<i64>], stops: &[bool]) -> Vec<bool> {
        let needs = |node: usize| known[node].is_none() && stops[node];
        let mut has = vec![true; self.nodes.len()];
        has[0] = false;
        let mut changed = true;
        while changed {
            changed = false;
            for (index, node) in self.nodes.iter().enumerate() {
                let behind = known[index].is_none() && (has[index] || needs(index));
                let wires =
                    node.wires.iter().filter_map(|wire| Some((wire.to?, behind && leaves_alone(wire))));
                let guard = node.guard.map(|guard| (guard.to, behind));
                for (to, is_there) in wires.chain(guard).filter(|&(_, is_there)| !is_there) {
                    changed |= std::mem::replace(&mut has[to as usize], is_there);
                }
            }
        }
        (0..self.nodes.len()).map(|node| needs(node) && !has[node]).collect()
    }
}

/// Reports whether a wire leaves the register unchanged.
fn leaves_alone(wire: &Wire) -> bool {
    !wire.probes.iter().any(|probe| matches!(probe, Probe::PathStart(_) | Probe::PathAdd(_)))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::BlockGraph;
    use crate::module;
    use crate::plan::{Collection, FunctionPlan, Instrumentation};

    #[test]
    fn a_copy_is_made_where_a_frame_may_stop_first_and_the_register_is_not_known() {
        let wat = "(module (memory 1) (func (param i32)
            (if (local.get 0) (then (nop)))
            (if (local.get 0) (then (nop)) (else (drop (i32.load (local.get 0)))))
            (drop (i32.load (local.get 0)))))";
        let bytes: Arc<[u8]> = wat::parse_str(wat).expect("valid text").into();
        let info = module::parse(bytes).expect("valid module");
        let collection = Collection { counters: Instrumentation::Paths, ..Collection::default() };
        let plan = FunctionPlan::new(&info, 0, &collection, 0).expect("within limits");
        let graph = BlockGraph::new(&plan);
        let known = graph.known_paths();
        assert_eq!(
            known.iter().map(Option::is_some).collect::<Vec<_>>(),
            [true, true, false, false, false, false]
        );
        // Both loads stop: one path to the last load has no copy, or changes the register.
        let loads = [false, false, false, false, true, true];
        assert_eq!(graph.kept_paths(&known, &loads), loads);
        // A copy made before the branch lasts until a wire behind it adds to the register.
        assert_eq!(graph.kept_paths(&known, &[true; 6]), [false, false, true, false, false, true]);
    }
}
