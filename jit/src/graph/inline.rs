//! Inlining: the blocks of a callee in the graph of its caller.
//!
//! Input: a graph, a call in one of its nodes, and the graph of the callee. Output: the node ends at the call and leads
//! into the callee; the callee's exits lead to a node with the rest of the block. If a call through a table has a
//! guessed callee, a copy of that rest, including the call, serves all other callees: the two join only at the end of
//! the block. If the call ends its block because the caller catches its exceptions, the node behind it continues along
//! the edge of a return, and the callee's exceptions arrive in a landing (`landing.rs`).
//!
//! Example: `a: x call f y -> b`, with `f: p -> q -> exit`, becomes `a: x -> p; p -> q; q -> a'; a': y -> b`.

use std::sync::Arc;

use super::{BlockGraph, Inlined, InlinedCall, Node, Wire};
use crate::cfg::Cfg;
use crate::plan::{Inner, Probe, Probes};

/// A call to inline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Site {
    /// The node that contains the call.
    pub node: u32,
    /// The call.
    pub call: InlinedCall,
    /// The byte offset in the module of the next instruction.
    pub next: u32,
    /// Whether the call ends its block, whose other edges lead to handlers.
    pub is_caught: bool,
    /// How often a guess was wrong.
    pub wrong: u64,
}

impl BlockGraph {
    /// Inlines a function with this graph at `site`. The graph has no probes but checks and polls, and at least one
    /// exit. Returns the frame, and the node with the rest of the caller's block.
    ///
    /// # Panics
    /// Panics if the node already has an inlined call.
    pub fn inline(&mut self, site: &Site, cfg: &Arc<Cfg>, callee: BlockGraph) -> (u32, u32) {
        let Node { frame: caller, block, lands: around, .. } = self.nodes[site.node as usize];
        let (frame, entry) = (self.inlined.len() as u32 + 1, self.nodes.len() as u32);
        self.inlined.push(Inlined { cfg: cfg.clone(), caller, block, call: site.call.at });
        let frame_of = |old: u32| if old == 0 { frame } else { frame + old };
        let inner = callee.inlined.into_iter();
        self.inlined.extend(inner.map(|call| Inlined { caller: frame_of(call.caller), ..call }));
        let behind = entry + callee.nodes.len() as u32;
        let landing = behind + 1 + u32::from(site.call.guess.is_some());
        let lands = if site.is_caught { Some(landing) } else { around };
        for mut node in callee.nodes {
            node.frame = frame_of(node.frame);
            node.targets_mut().for_each(|to| *to += entry);
            let outward = node.wires.iter_mut().filter(|wire| wire.to.is_none());
            outward.for_each(|wire| wire.to = Some(behind));
            let is_checked = node.frame == frame && node.probes.contains(&Probe::Check);
            node.behind = node.behind.or(is_checked.then_some(behind));
            node.lands = node.lands.or(lands);
            self.nodes.push(node);
        }
        self.split(site, entry);
        (frame, behind)
    }

    /// Ends the node at the call, and adds the rest of its block, and the copy that makes the call if the guess is
    /// wrong.
    fn split(&mut self, site: &Site, entry: u32) {
        let node = &mut self.nodes[site.node as usize];
        assert!(node.call.is_none(), "calls are inlined in their order");
        node.call = Some(site.call);
        let wires = std::mem::take(&mut node.wires);
        node.wires.push(Wire { to: Some(entry), probes: Probes::new() });
        let at = node.inner.partition_point(|inner| inner.offset < site.call.at);
        let later = node.inner.split_off(at);
        let behind = later.iter().filter(|inner| inner.offset >= site.next).cloned().collect();
        let right = node.count.map(|count| count.saturating_sub(site.wrong));
        let rest = |start: u32, inner: Vec<Inner>, count| Node {
            start,
            call: None,
            count,
            guard: None,
            sure: None,
            behind: None,
            elsewhere: None,
            probes: Probes::new(),
            inner,
            wires: wires.clone(),
            ..*node
        };
        let mut rests = vec![rest(site.next, behind, right)];
        let mut landing = Vec::new();
        if site.is_caught {
            let (wires, count) = (wires[1..].into(), node.count.map(|_| 0));
            landing.push(Node { is_landing: true, wires, ..rest(site.next, Vec::new(), count) });
            rests[0].wires.truncate(1);
        }
        if site.call.guess.is_some() {
            rests.push(rest(site.call.at, later, node.count.map(|_| site.wrong)));
            let other = self.nodes.len() as u32 + 1;
            self.nodes[site.node as usize].wires.push(Wire { to: Some(other), probes: Probes::new() });
        }
        self.nodes.extend(rests.into_iter().chain(landing));
    }
}
