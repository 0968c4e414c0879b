//! Lays out stacks on one axis: a caller spans its callees.
//!
//! Invariant: spans of one depth do not overlap. The part of a span to the right of its last callee is the caller's
//! own weight.

use super::Metric;

/// The span of a node on the axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    /// Position in the list of nodes.
    pub node: u32,
    /// Position in the list of frames.
    pub frame: u32,
    /// Number of callers below the node.
    pub depth: u32,
    /// Start of the span.
    pub start: u64,
    /// Width of the span: the node's inclusive weight.
    pub width: u64,
}

/// Returns the spans of all nodes with an inclusive weight above 0, in the order of the nodes, so callers come before
/// callees.
pub(super) fn spans(metric: &Metric) -> Vec<Span> {
    let widths = inclusive(metric);
    let mut spans: Vec<Span> = Vec::with_capacity(metric.nodes.len());
    // By node: where its next callee begins. `next_root` is the same for outermost nodes.
    let mut next: Vec<u64> = Vec::with_capacity(metric.nodes.len());
    let mut next_root = 0_u64;
    for ((node, &width), index) in metric.nodes.iter().zip(&widths).zip(0..) {
        let caller = node.caller.map(|caller| caller as usize);
        let free = caller.map_or(&mut next_root, |caller| &mut next[caller]);
        let start = *free;
        *free = start.saturating_add(width);
        next.push(start);
        let depth = caller.map_or(0, |caller| spans[caller].depth + 1);
        spans.push(Span { node: index, frame: node.frame, depth, start, width });
    }
    spans.retain(|span| span.width > 0);
    spans
}

/// Returns by node its weight plus the weights of all that it calls; saturates.
fn inclusive(metric: &Metric) -> Vec<u64> {
    let mut sums: Vec<u64> = metric.nodes.iter().map(|node| node.weight).collect();
    for (index, node) in metric.nodes.iter().enumerate().rev() {
        if let Some(caller) = node.caller {
            sums[caller as usize] = sums[caller as usize].saturating_add(sums[index]);
        }
    }
    sums
}
