//! What a better version is expected to save, before it has run: beside what timing it will say.
//!
//! Input: the better graph, with how often each node ran by the profile that it is made from. Output: an [`Estimate`]
//! for what the function executes, inlined callees included.
//! Method: the instructions stay as many; what there is less of is calls, and joins: blocks that are entered from
//! several places, where nothing is known of how control came. What either costs is assumed ([`CALL`], [`JOIN`]), and
//! what calls that stay execute is left out. Code that moved out of the way, and what the compiler makes of its new
//! freedom, are not foreseen.
//!
//! Example: a callee of 5 instructions is inlined in a caller that executes 5 of its own. Of 5 + 10 + 5 the 10 of the
//! call are saved: half of the work.

use crate::cfg::{Cfg, Target};
use crate::graph::{BlockGraph, Node};

/// What a call costs, in instructions: passing arguments, the frame, saved registers, the return.
const CALL: f64 = 10.0;
/// What a join costs, in instructions: moves of what differs by the way in, and what must be computed anew.
const JOIN: f64 = 1.0;

/// How much less a version does than plain code, by the counts of a profile.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Estimate {
    /// The part of the work that is saved, calls and joins taken for so many instructions as is assumed; negative if
    /// there is more of it.
    pub saved: f64,
    /// Calls that are not made any more, for each 1000 instructions executed.
    pub calls: f64,
    /// Joins that are not passed any more, for each 1000 instructions executed; negative if there are more of them.
    pub joins: f64,
    /// What it is a part of, in instructions of the profile, with those that calls and joins are taken for.
    pub work: f64,
}

/// What is counted in a graph.
#[derive(Default)]
struct Work {
    ops: f64,
    /// Calls that are inlined.
    calls: f64,
    /// Joins in plain code, and here.
    joins: [f64; 2],
}

impl Estimate {
    /// That of a better graph of the function `own`; `None` if nothing in it ran.
    pub fn new(own: &Cfg, graph: &BlockGraph) -> Option<Estimate> {
        let work = Work::of(own, graph);
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

impl Work {
    fn of(own: &Cfg, graph: &BlockGraph) -> Work {
        let callees = graph.inlined.iter().map(|call| joins(&call.cfg));
        let was_join: Vec<Vec<bool>> = [joins(own)].into_iter().chain(callees).collect();
        let mut work = Work::default();
        for (node, ways) in graph.nodes.iter().zip(graph.ways_into()) {
            // Of the rounds of an unrolled loop each has the count of all.
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

/// How often a node's call went to the callee that is inlined, and not the way of a wrong guess.
fn inlined(graph: &BlockGraph, node: &Node) -> u64 {
    let wrong = node.wires.get(1).and_then(|wire| wire.to);
    let wrong = wrong.and_then(|to| graph.nodes[to as usize].count).unwrap_or(0);
    node.count.unwrap_or(0).saturating_sub(wrong)
}

/// By block, whether it is entered from several places.
fn joins(cfg: &Cfg) -> Vec<bool> {
    let mut ways = vec![0; cfg.blocks.len()];
    for edge in cfg.blocks.iter().flat_map(|block| &block.edges) {
        if let Target::Block(to) = edge.target {
            ways[to as usize] += 1;
        }
    }
    ways.into_iter().map(|ways: u32| ways > 1).collect()
}
