//! The expected saving of a better version before it has run; timing later gives the actual one.
//!
//! Input: the better graph, with the number of executions of each node in the profile from which it is made. Output: an
//! [`Estimate`] for all code that the function executes, including inlined callees. Method: the number of instructions
//! stays the same; the version has fewer calls, and fewer joins: blocks that are entered from several places, where
//! nothing is known about how control arrived. The costs of both are assumed ([`CALL`], [`JOIN`]), and the code that
//! remaining calls execute is left out. The estimate does not foresee the effects of moving code out of line, nor the
//! compiler's use of its new freedom.
//!
//! Example: a callee of 5 instructions is inlined in a caller that executes 5 of its own. Of 5 + 10 + 5 the 10 of the
//! call are saved: half of the work.

use crate::cfg::{Cfg, Target};
use crate::graph::{BlockGraph, Node};

/// The cost of a call in instructions: passing arguments, the frame, saved registers, the return.
const CALL: f64 = 10.0;
/// The cost of a join in instructions: moves of values that depend on the edge, and recomputations.
const JOIN: f64 = 1.0;
/// The cost of entering a loop that may be vectorised, in instructions, where its guard finds that too few rounds come:
/// computing how many do. Measured: 1 to 1.5 ns, where 30 instructions of such a loop take 1 ns.
const GUARD: f64 = 15.0;

/// The saving of a version over plain code, by the counts of a profile.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Estimate {
    /// The saved share of the work, with calls and joins at their assumed costs; negative if the work increases.
    pub saved: f64,
    /// The number of saved calls per 1000 executed instructions.
    pub calls: f64,
    /// The number of saved joins per 1000 executed instructions; negative if their number increases.
    pub joins: f64,
    /// The total work, in instructions of the profile plus the assumed costs of calls and joins.
    pub work: f64,
}

/// The work of a graph.
#[derive(Default)]
struct Work {
    ops: f64,
    /// The number of inlined calls.
    calls: f64,
    /// The number of joins in plain code, and in this graph.
    joins: [f64; 2],
}

impl Estimate {
    /// Estimates a better graph of the function `own`; `None` if nothing in it ran.
    #[doc(hidden)]
    pub fn new(own: &Cfg, graph: &BlockGraph) -> Option<Estimate> {
        let work = Work::new(own, graph);
        let joins = work.joins[0] - work.joins[1];
        let before = work.ops + CALL * work.calls + JOIN * work.joins[0];
        let each_1000 = |count: f64| 1000.0 * count / work.ops;
        (work.ops > 0.0).then(|| Estimate {
            saved: (CALL * work.calls + JOIN * joins) / before,
            calls: each_1000(work.calls),
            joins: each_1000(joins),
            work: before,
        })
    }
}

impl Estimate {
    /// Adds the saving of the guards of loops that are not vectorised. The loops were entered so many times.
    #[must_use]
    pub(super) fn without_guards(self, entered: u64) -> Estimate {
        Estimate { saved: self.saved + GUARD * entered as f64 / self.work.max(1.0), ..self }
    }
}

impl Work {
    fn new(own: &Cfg, graph: &BlockGraph) -> Work {
        let callees = graph.inlined.iter().map(|call| joins(&call.cfg));
        let was_join: Vec<Vec<bool>> = [joins(own)].into_iter().chain(callees).collect();
        let mut work = Work::default();
        for (node, ways) in graph.nodes.iter().zip(graph.ways_into()) {
            // Each round of an unrolled loop carries the count of all rounds.
            let count = if node.rounds == 0 { node.count.unwrap_or(0) as f64 } else { 0.0 };
            let block = &graph.cfg_of(own, node.frame).blocks[node.block as usize];
            if node.start == block.start {
                work.ops += count * f64::from(block.ops);
                work.joins[0] += if was_join[node.frame as usize][node.block as usize] { count } else { 0.0 };
                work.joins[1] += if ways > 1 { count } else { 0.0 };
            }
            work.calls += node.call.map_or(0.0, |_| inlined(graph, node) as f64);
        }
        work
    }
}

/// Returns how often a node's call reached the inlined callee rather than the edge of a wrong guess.
fn inlined(graph: &BlockGraph, node: &Node) -> u64 {
    let wrong = node.wires.get(1).and_then(|wire| wire.to);
    let wrong = wrong.and_then(|to| graph.nodes[to as usize].count).unwrap_or(0);
    node.count.unwrap_or(0).saturating_sub(wrong)
}

/// Reports for each block whether it is entered from several places.
fn joins(cfg: &Cfg) -> Vec<bool> {
    let mut ways = vec![0; cfg.blocks.len()];
    for edge in cfg.blocks.iter().flat_map(|block| &block.edges) {
        if let Target::Block(to) = edge.target {
            ways[to as usize] += 1;
        }
    }
    ways.into_iter().map(|ways: u32| ways > 1).collect()
}
