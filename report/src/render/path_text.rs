//! A path as text: its blocks, its source lines, its branches.

use wprof_profiler::{
    BlockId, BlockProfile, CodeRange, EdgeId, FunctionProfile, Path, PathEnd, Supergraph, Supergraphs,
};

use super::branches::way;
use super::place;
use super::view::View;
use crate::names;

/// The number of names shown from the beginning of a list, and from its end.
const FIRST: usize = 8;
const LAST: usize = 3;

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
        shown.push(match piece.frame == last {
            true => piece.block.to_string(),
            false => format!("{} {}", change(graphs, function.index, (last, piece.frame)), piece.block),
        });
        last = piece.frame;
    }
    shown
}

/// A part of a path in one function.
#[derive(Clone, Debug, Default)]
pub struct Segment {
    /// How control comes from the segment before, of a path that leads across calls.
    pub label: Option<String>,
    /// The code of the segment.
    pub code: Vec<CodeRange>,
}

/// Returns the segments of a path, by its blocks. One that does not lead across calls has only one.
pub fn segments(view: &View<'_>, function: &FunctionProfile, blocks: &[BlockId]) -> Vec<Segment> {
    let Some((graphs, graph)) = graph(view, function.index) else {
        let code = blocks.iter().map(|block| function.blocks[block.index()].code).collect();
        return vec![Segment { label: None, code }];
    };
    let (mut last, mut segments) = (0, vec![Segment::default()]);
    for piece in blocks.iter().flat_map(|block| &graph.pieces[block.index()]) {
        if piece.frame != last {
            let label = change(graphs, function.index, (last, piece.frame));
            segments.push(Segment { label: Some(label), code: Vec::new() });
            last = piece.frame;
        }
        segments.last_mut().expect("there is one").code.extend((piece.ops > 0).then_some(piece.code));
    }
    segments
}

/// Describes the change from one frame of a supergraph to another.
fn change(graphs: &Supergraphs, function: u32, (from, to): (u32, u32)) -> String {
    if graphs.call(function, from).is_some_and(|call| call.caller == to) {
        return "←".to_owned();
    }
    let callee = graphs.function_of(function, to);
    format!("→ {}", names::shown(callee, graphs.name(callee)))
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
    Some((graphs, graphs.supergraph(function)?))
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

/// Joins the list, without its middle if it is long.
pub fn shortened(names: &[String]) -> String {
    match names.len() {
        len if len > FIRST + LAST + 1 => {
            let hidden = len - FIRST - LAST;
            let (first, last) = (names[..FIRST].join(" "), names[len - LAST..].join(" "));
            format!("{first} …{hidden} more… {last}")
        }
        _ => names.join(" "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_paths_lose_their_middle() {
        let names = |count: usize| (0..count).map(|i| format!("b{i}")).collect::<Vec<_>>();
        assert!(shortened(&names(12)).ends_with("b10 b11") && !shortened(&names(12)).contains('…'));
        assert_eq!(shortened(&names(13)), "b0 b1 b2 b3 b4 b5 b6 b7 …2 more… b10 b11 b12");
    }
}
