//! A path as text: its blocks, its source lines, its branches.

use wprof_profiler::{BlockId, EdgeId, FunctionProfile, Path, PathEnd};

use super::branches::way;
use super::view::View;

/// The text of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathText {
    /// The blocks, and the target of the last edge.
    pub blocks: String,
    /// The places of the blocks in the source, or else in the module.
    pub places: String,
    /// The choices on the path.
    pub branches: String,
}

impl PathText {
    /// Describes a path of `function`.
    pub fn new(view: &View<'_>, function: &FunctionProfile, path: &Path, end: &PathEnd) -> Self {
        let blocks = blocks(function, path, end);
        let names: Vec<String> = blocks.iter().map(ToString::to_string).collect();
        let last = path.edges.last().map_or(path.start, |last| function.edges[last.index()].to);
        let end = match end {
            PathEnd::Finished(_) => format!(" → {}", target(function, last)),
            PathEnd::Unfinished(unfinished) => format!(", ended at {}", view.place(unfinished.exit.offset)),
        };
        let mut places: Vec<String> =
            blocks.iter().map(|block| view.place_of([&function.blocks[block.index()]])).collect();
        places.dedup();
        let branches: Vec<String> = path.edges.iter().filter_map(|&edge| choice(function, edge)).collect();
        Self { blocks: names.join(" ") + &end, places: places.join(" "), branches: branches.join(", ") }
    }
}

/// Returns the blocks of a path, in order.
pub fn blocks(function: &FunctionProfile, path: &Path, end: &PathEnd) -> Vec<BlockId> {
    let inner = match end {
        PathEnd::Finished(_) => &path.edges[..path.edges.len().saturating_sub(1)],
        PathEnd::Unfinished(_) => &path.edges,
    };
    [path.start].into_iter().chain(inner.iter().map(|edge| function.edges[edge.index()].to)).collect()
}

/// Returns the name of an edge's target.
pub fn target(function: &FunctionProfile, to: BlockId) -> String {
    if to == function.exit() { "exit".to_owned() } else { to.to_string() }
}

/// Describes how a block was left, if it could have been left by another edge.
fn choice(function: &FunctionProfile, edge: EdgeId) -> Option<String> {
    let edge = &function.edges[edge.index()];
    let has_others = function.out_edges(edge.from).nth(1).is_some();
    has_others.then(|| format!("{} {}", edge.from, way(edge.kind)))
}
