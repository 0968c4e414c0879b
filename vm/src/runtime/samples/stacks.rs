//! The tree of all sampled stacks, with the time of each.
//!
//! Invariant: memory is bounded: when the maximum number of nodes is reached, new stacks are counted by their
//! innermost frame only, under [`Place::Unknown`].

use std::sync::Arc;

use hashbrown::HashMap;

use super::place::Place;
use crate::runtime::instances::loaded::{self, LoadedModule};

/// Maximum number of nodes in a tree.
const MOST_NODES: usize = 1 << 18;

/// An amount of time, with its number of samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timed {
    /// Number of samples.
    pub samples: u64,
    /// The CPU time that they stand for.
    pub time_ns: u64,
}

/// A place, with the stack that leads to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimedNode {
    /// The caller's node, which precedes this one.
    pub caller: Option<u32>,
    /// The place of the frame: a call, or an instruction that was sampled.
    pub place: Place,
    /// The samples taken in this frame itself.
    pub own: Timed,
}

/// All sampled stacks.
#[derive(Clone, Debug, Default)]
pub struct TimedStacks {
    /// The modules of wasm code.
    pub modules: Vec<Arc<dyn LoadedModule>>,
    /// The nodes of the tree, callers first.
    pub nodes: Vec<TimedNode>,
    /// Number of samples that were lost because the ring was full.
    pub lost: u64,
    /// Sum of the squares of the times of all samples, in square microseconds.
    pub squares: u64,
    numbers: HashMap<(Option<u32>, Place), u32>,
}

impl TimedStacks {
    /// Returns the number of a module, adding it if it is new.
    pub(super) fn module(&mut self, module: Arc<dyn LoadedModule>) -> u32 {
        let known = self.modules.iter().position(|known| loaded::same(known, &module));
        let number = known.unwrap_or_else(|| {
            self.modules.push(module);
            self.modules.len() - 1
        });
        number as u32
    }

    /// Adds a sample of a stack, outermost place first.
    pub(super) fn add(&mut self, stack: &[Place], time_ns: u64) {
        self.squares = self.squares.saturating_add((time_ns / 1000).saturating_pow(2));
        let found =
            stack.iter().try_fold(None, |caller, &place| self.node(caller, place, MOST_NODES).map(Some));
        let node = found.flatten().or_else(|| {
            let unknown = self.node(None, Place::Unknown, usize::MAX);
            stack.last().and_then(|&place| self.node(unknown, place, MOST_NODES)).or(unknown)
        });
        if let Some(node) = node {
            let own = &mut self.nodes[node as usize].own;
            own.samples += 1;
            own.time_ns = own.time_ns.saturating_add(time_ns);
        }
    }

    fn node(&mut self, caller: Option<u32>, place: Place, most: usize) -> Option<u32> {
        if let Some(&known) = self.numbers.get(&(caller, place)) {
            return Some(known);
        }
        let number = self.nodes.len();
        (number < most).then(|| {
            self.nodes.push(TimedNode { caller, place, own: Timed::default() });
            self.numbers.insert((caller, place), number as u32);
            number as u32
        })
    }

    /// Returns the sum of all samples.
    pub fn total(&self) -> Timed {
        self.nodes.iter().fold(Timed::default(), |sum, node| Timed {
            samples: sum.samples + node.own.samples,
            time_ns: sum.time_ns.saturating_add(node.own.time_ns),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_bounded_and_no_sample_is_lost() {
        let mut stacks = TimedStacks::default();
        for number in 0..MOST_NODES as u32 + 100 {
            stacks.add(&[Place::Host(number)], 2);
        }
        assert!(stacks.nodes.len() <= MOST_NODES + 1, "{}", stacks.nodes.len());
        let all = MOST_NODES as u64 + 100;
        assert_eq!(stacks.total(), Timed { samples: all, time_ns: 2 * all });
    }
}
