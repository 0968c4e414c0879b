//! Branch hints: the likely outcomes of `if` and `br_if`.
//!
//! Source: "WebAssembly Code Metadata", branch hints: a byte, 1 if the condition likely holds and 0 if it likely does
//! not.

use wprof_profiler::BlockId;

use super::{MetadataSection, Profiled, Thresholds};
use crate::cfg::End;

/// Returns how often the condition that ends a block held, and how often it did not. `None` for blocks with another
/// end.
pub(super) fn ways(function: &Profiled<'_>, block: u32) -> Option<(u64, u64)> {
    let is_branch = matches!(function.cfg.blocks[block as usize].how, End::Branch);
    let edges = function.profile.out_edges(BlockId(block));
    let mut counts = edges.filter_map(|(edge, _)| function.profile.edge_count(edge));
    is_branch.then(|| Some((counts.next()?, counts.next()?)))?
}

/// Adds the hints of a function whose edges were counted.
pub(super) fn add(section: &mut MetadataSection, function: &Profiled<'_>, thresholds: Thresholds) {
    for (block, index) in function.cfg.blocks.iter().zip(0..) {
        let Some((held, failed)) = ways(function, index) else { continue };
        let reached = held.saturating_add(failed);
        let is_clear = held.max(failed) as f64 >= thresholds.likely * reached as f64;
        if is_clear && reached >= thresholds.reached.max(1) {
            let offset = block.end - function.start;
            section.add(function.profile.index, offset, vec![u8::from(held > failed)]);
        }
    }
}
