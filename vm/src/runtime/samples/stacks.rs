//! The tree of all stacks that were sampled, with how much time each took.
//!
//! Invariant: memory is bounded: when there are as many nodes as there may be, new stacks are counted by their innermost
//! frame only, under [`Place::Unknown`].

use std::sync::Arc;

use hashbrown::HashMap;

use super::resolve::Place;
use crate::runtime::instances::loaded::{self, LoadedModule};

/// The most nodes of a tree.
const MOST_NODES: usize = 1 << 18;

/// Some time, and how many samples of it there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timed {
    /// How many.
    pub samples: u64,
    /// Processor time that they stand for.
    pub time_ns: u64,
}

/// A place, and the stack that has called what is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimedNode {
    /// The caller's node, which comes before.
    pub caller: Option<u32>,
    /// Where it is: what it has called, or what it does itself.
    pub place: Place,
    /// What was sampled right there.
    pub own: Timed,
}

/// All stacks.
#[derive(Clone, Debug, Default)]
pub struct TimedStacks {
    /// The modules of wasm code.
    pub modules: Vec<Arc<dyn LoadedModule>>,
    /// Places in stacks, callers first.
    pub nodes: Vec<TimedNode>,
    /// How many samples were lost, since nobody took them in time.
    pub lost: u64,
    numbers: HashMap<(Option<u32>, Place), u32>,
}

impl TimedStacks {
    /// The number of a module.
    pub(super) fn module(&mut self, module: Arc<dyn LoadedModule>) -> u32 {
        let known = self.modules.iter().position(|known| loaded::same(known, &module));
        let number = known.unwrap_or_else(|| {
            self.modules.push(module);
            self.modules.len() - 1
        });
        number as u32
    }

    /// Adds a sample of a stack, its outermost place first.
    pub(super) fn add(&mut self, stack: &[Place], time_ns: u64) {
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

    /// The sum of all.
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
