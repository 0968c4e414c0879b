//! Where the path register is known: a forward analysis over the wires of a graph.
//!
//! Input: a graph. Output: for each node, the value of the path register, if it is the same on all paths to the node.
//! Source: constant propagation (Wegman & Zadeck 1991) without branches, since conditions say nothing about the
//! register.
//!
//! Example: if all rounds of a loop are one path, the register behind its latch has the value with which paths begin
//! there.

use super::{BlockGraph, Wire};
use crate::plan::Probe;

impl BlockGraph {
    /// Returns for each node the path register at its entry, if known; in graphs without one it is known nowhere.
    pub(crate) fn known_paths(&self) -> Vec<Option<i64>> {
        let mut known: Vec<Reached> = vec![Reached::Not; self.nodes.len()];
        known[0] = match self.path_register {
            Some(first) if !self.is_continued => Reached::With(first),
            _ => Reached::Any,
        };
        let mut changed = vec![0];
        while let Some(node) = changed.pop() {
            let from = known[node as usize];
            let wires = self.nodes[node as usize].wires.iter();
            let guard = self.nodes[node as usize].guard.map(|guard| (guard.to, from));
            let ways = wires.filter_map(|wire| Some((wire.to?, from.across(wire)))).chain(guard);
            for (to, value) in ways {
                let joined = known[to as usize].join(value);
                if joined != known[to as usize] {
                    known[to as usize] = joined;
                    changed.push(to);
                }
            }
        }
        known.into_iter().map(Reached::value).collect()
    }
}

/// The values of the path register with which a place is reached.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reached {
    Not,
    With(i64),
    Any,
}

impl Reached {
    fn across(self, wire: &Wire) -> Reached {
        wire.probes.iter().fold(self, |value, probe| match (probe, value) {
            (Probe::PathStart(first), _) => Reached::With(*first),
            (Probe::PathAdd(amount), Reached::With(value)) => Reached::With(value.wrapping_add(*amount)),
            _ => value,
        })
    }

    fn join(self, other: Reached) -> Reached {
        match (self, other) {
            (Reached::Not, reached) | (reached, Reached::Not) => reached,
            (one, same) if one == same => one,
            _ => Reached::Any,
        }
    }

    fn value(self) -> Option<i64> {
        if let Reached::With(value) = self { Some(value) } else { None }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::BlockGraph;
    use crate::module;
    use crate::plan::{Collection, FunctionPlan, Instrumentation};

    #[test]
    fn it_is_known_behind_the_latch_of_a_loop_that_is_one_path_but_not_at_its_entry() {
        let wat = "(module (func (param $n i32)
            (loop (br_if 0 (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))))";
        let bytes: Arc<[u8]> = wat::parse_str(wat).expect("valid text").into();
        let info = module::parse(bytes).expect("valid module");
        let collection = Collection { counters: Instrumentation::Paths, ..Collection::default() };
        let plan = FunctionPlan::new(&info, 0, &collection, 0).expect("within limits");
        // Path 2 begins at the loop header.
        let once = BlockGraph::new(&plan);
        assert_eq!(once.known_paths(), [Some(0), None, None]);
        let unrolled = once.unrolled(&plan.cfg, &plan.loops, plan.first_counter);
        let of_header = |node: &usize| unrolled.nodes[*node].block == 1;
        let known = unrolled.known_paths();
        let headers: Vec<_> = (0..known.len()).filter(of_header).map(|node| known[node]).collect();
        assert_eq!(headers, [Some(0), Some(2), Some(2), Some(2), Some(2)]);
    }
}
