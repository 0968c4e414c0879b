//! The JSON shape of paths across calls.

use serde::Serialize;

use crate::{FunctionProfile, PathNumbering, Supergraph, Supergraphs};

#[derive(Serialize)]
pub(super) struct AcrossCallsShape {
    depth: u32,
    marked_calls: u64,
    paths: Vec<PathShape>,
}

#[derive(Serialize)]
struct PathShape {
    function: u32,
    id: u64,
    count: u64,
    /// The pieces of original blocks: index of the function, number of the block.
    blocks: Vec<(u32, u32)>,
}

impl AcrossCallsShape {
    pub(super) fn new(graphs: &Supergraphs) -> Self {
        let paths = graphs.functions.iter().flat_map(|graph| paths(graphs, graph).unwrap_or_default());
        Self { depth: graphs.depth, marked_calls: graphs.marked_calls(), paths: paths.collect() }
    }
}

/// Returns the finished paths of a supergraph.
fn paths(graphs: &Supergraphs, graph: &Supergraph) -> Option<Vec<PathShape>> {
    let FunctionProfile { index: function, .. } = graph.function;
    let (cfg, numbering) = (graph.function.cfg().ok()?, graph.function.path_numbering()?);
    let pieces = |numbering: &PathNumbering, id| {
        let blocks = numbering.path(id)?.blocks(&cfg);
        let pieces = blocks.into_iter().flat_map(|block| &graph.pieces[block.index()]);
        let named = pieces.map(|piece| (graphs.function_of(function, piece.frame), piece.block.0));
        Some(named.collect())
    };
    let finished = graph.function.paths().into_iter().flat_map(|paths| &paths.finished);
    let path = |path: &crate::PathCount| {
        let blocks = pieces(&numbering, path.id)?;
        Some(PathShape { function, id: path.id, count: path.count, blocks })
    };
    Some(finished.filter_map(path).collect())
}
