//! Where the path register is known: a forward analysis over the wires of a graph.
//!
//! Input: a graph. Output: by node, what the path register is there, if it is the same however the node is reached.
//! Source: constant propagation (Wegman & Zadeck 1991) without branches, since conditions say nothing about the register.
//!
//! Example: behind the latch of a loop all of whose rounds are one path the register is what paths begin with there.

use super::{BlockGraph, Probe, Wire};

impl BlockGraph {
    /// By node, the path register at its entry, if it is known; of graphs without one it is known nowhere.
    pub(crate) fn known_paths(&self) -> Vec<Option<i64>> {
        let mut known: Vec<Reached> = vec![Reached::Not; self.nodes.len()];
        known[0] = match self.path_register {
            Some(first) if !self.resumes || self.in_bursts => Reached::With(first),
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

/// With which values of the path register a place is reached.
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
