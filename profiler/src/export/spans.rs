//! Stacks side by side on one axis: a caller spans its callees.
//!
//! Invariant: spans of one depth do not overlap; what is right of the last callee is the caller's own weight.

use super::Metric;

/// A node of the tree on the axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    /// Position in the list of nodes.
    pub node: u32,
    /// Position in the list of frames.
    pub frame: u32,
    /// Callers below it.
    pub depth: u32,
    /// Where it begins.
    pub start: u64,
    /// Its weight and that of all it calls.
    pub width: u64,
}

/// The spans of all nodes that have any width, callers before callees, by position among equals.
pub(super) fn spans(metric: &Metric) -> Vec<Span> {
    let widths = inclusive(metric);
    let mut spans: Vec<Span> = Vec::with_capacity(metric.nodes.len());
    // By node: where its next callee begins; the axis itself comes last.
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

/// By node: its weight and that of all it calls; saturates.
fn inclusive(metric: &Metric) -> Vec<u64> {
    let mut sums: Vec<u64> = metric.nodes.iter().map(|node| node.weight).collect();
    for (index, node) in metric.nodes.iter().enumerate().rev() {
        if let Some(caller) = node.caller {
            sums[caller as usize] = sums[caller as usize].saturating_add(sums[index]);
        }
    }
    sums
}
