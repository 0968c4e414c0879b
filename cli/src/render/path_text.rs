//! A path as text: its blocks, its source lines, its branches.

use wprof_profiler::{
    BlockId, BlockProfile, EdgeId, FunctionProfile, Path, PathEnd, Supergraph, Supergraphs,
};

use super::branches::way;
use super::place;
use super::view::View;
use crate::names;

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
        let shown = shown(view, function, &blocks);
        let last = path.edges.last().map_or(path.start, |last| function.edges[last.index()].to);
        let end = match end {
            PathEnd::Finished(_) => format!(" → {}", target(function, last)),
            PathEnd::Unfinished(unfinished) => format!(", ended at {}", view.place(unfinished.exit.offset)),
        };
        let mut places: Vec<String> =
            blocks.iter().flat_map(|&block| places(view, function, block)).collect();
        places.dedup();
        let branches: Vec<String> = path.edges.iter().filter_map(|&edge| choice(function, edge)).collect();
        Self { blocks: shown.join(" ") + &end, places: places.join(" "), branches: branches.join(", ") }
    }
}

/// Returns the names of blocks. Those of a supergraph are the original blocks, with the function where it changes.
pub fn shown(view: &View<'_>, function: &FunctionProfile, blocks: &[BlockId]) -> Vec<String> {
    let Some((graphs, graph)) = graph(view, function.index) else {
        return blocks.iter().map(ToString::to_string).collect();
    };
    let (mut last, mut shown) = (0, Vec::new());
    for piece in blocks.iter().flat_map(|block| &graph.pieces[block.index()]) {
        let is_return = graphs.call(function.index, last).is_some_and(|call| call.caller == piece.frame);
        shown.push(match piece.frame == last {
            true => piece.block.to_string(),
            false if is_return => format!("← {}", piece.block),
            false => {
                let callee = graphs.function_of(function.index, piece.frame);
                format!("→ {} {}", names::shown(callee, graphs.name(callee)), piece.block)
            }
        });
        last = piece.frame;
    }
    shown
}

/// Returns the places of a block in the source: one for each piece of a supergraph's.
pub fn places(view: &View<'_>, function: &FunctionProfile, block: BlockId) -> Vec<String> {
    let own = function.blocks[block.index()];
    let Some((_, graph)) = graph(view, function.index) else { return vec![place::of_blocks(view, [&own])] };
    let pieces = graph.pieces[block.index()].iter().filter(|piece| piece.ops > 0);
    pieces.map(|piece| place::of_blocks(view, [&BlockProfile { code: piece.code, ops: piece.ops }])).collect()
}

/// Returns the supergraph of a function, if the profile's functions are supergraphs.
fn graph<'a>(view: &View<'a>, function: u32) -> Option<(&'a Supergraphs, &'a Supergraph)> {
    let graphs = view.profile.supergraphs.as_ref()?;
    Some((graphs, graphs.of(function)?))
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
