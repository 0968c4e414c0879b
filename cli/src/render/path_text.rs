//! One path in words: its blocks, its source lines, the branches that it takes.

use wprof_profiler::{BlockId, EdgeId, FunctionProfile, Path, PathEnd};

use super::branches::way;
use super::view::View;

/// What there is to say of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathText {
    /// Its blocks, and where it led.
    pub blocks: String,
    /// Where in the source, or else in the module, its blocks begin.
    pub places: String,
    /// Each choice on the way.
    pub branches: String,
}

impl PathText {
    /// A path of `function`.
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

/// The blocks of a path, in order.
pub fn blocks(function: &FunctionProfile, path: &Path, end: &PathEnd) -> Vec<BlockId> {
    let inner = match end {
        PathEnd::Finished(_) => &path.edges[..path.edges.len().saturating_sub(1)],
        PathEnd::Unfinished(_) => &path.edges,
    };
    [path.start].into_iter().chain(inner.iter().map(|edge| function.edges[edge.index()].to)).collect()
}

/// Where an edge leads.
pub fn target(function: &FunctionProfile, to: BlockId) -> String {
    if to == function.exit() { "exit".to_owned() } else { to.to_string() }
}

/// Which way a block was left, if it could have been left by another.
fn choice(function: &FunctionProfile, edge: EdgeId) -> Option<String> {
    let edge = &function.edges[edge.index()];
    let has_others = function.out_edges(edge.from).nth(1).is_some();
    has_others.then(|| format!("{} {}", edge.from, way(edge.kind)))
}
