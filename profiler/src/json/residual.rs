//! The JSON shape of a residual: what no test ran.

use serde::Serialize;

use super::shape::kind_name;
use crate::{BlockId, EdgeId, FunctionProfile, PathEnd, Profile, Residual, UntestedPath};

#[derive(Serialize)]
pub(super) struct ResidualShape<'a> {
    format: &'static str,
    program: &'a str,
    module_hash: String,
    ran: Option<u64>,
    untested: usize,
    beyond_edges: u64,
    functions: u64,
    paths: Vec<PathShape<'a>>,
}

impl<'a> ResidualShape<'a> {
    /// Creates the shape of a profile's residual.
    pub(super) fn new(profile: &'a Profile, residual: &Residual) -> Self {
        let shape = |path: &UntestedPath| Some(PathShape::new(profile.function(path.function)?, path));
        Self {
            format: "wprof-residual-1",
            program: &profile.program,
            module_hash: profile.module_hash.iter().map(|byte| format!("{byte:02x}")).collect(),
            ran: residual.ran,
            untested: residual.paths.len(),
            beyond_edges: residual.beyond_edges,
            functions: residual.functions,
            paths: residual.paths.iter().filter_map(shape).collect(),
        }
    }
}

#[derive(Serialize)]
struct PathShape<'a> {
    function: u32,
    name: Option<&'a str>,
    id: Option<u64>,
    blocks: Vec<BlockId>,
    to: Option<BlockId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    offset: Option<u32>,
    count: u64,
    ops: u64,
    new_edges: Vec<NewEdgeShape>,
}

impl<'a> PathShape<'a> {
    fn new(function: &'a FunctionProfile, untested: &UntestedPath) -> Self {
        let targets = untested.path.edges.iter().map(|edge| function.edges[edge.index()].to);
        let mut blocks: Vec<BlockId> = [untested.path.start].into_iter().chain(targets).collect();
        let (id, to, offset) = match &untested.end {
            &PathEnd::Finished(id) => (Some(id), blocks.pop().filter(|&to| to != function.exit()), None),
            PathEnd::Unfinished(unfinished) => (None, None, Some(unfinished.exit.offset)),
        };
        Self {
            function: function.index,
            name: function.name.as_deref(),
            id,
            blocks,
            to,
            offset,
            count: untested.count,
            ops: untested.ops,
            new_edges: untested.new_edges.iter().map(|&edge| NewEdgeShape::new(function, edge)).collect(),
        }
    }
}

#[derive(Serialize)]
struct NewEdgeShape {
    from: BlockId,
    to: Option<BlockId>,
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    case: Option<u32>,
}

impl NewEdgeShape {
    fn new(function: &FunctionProfile, edge: EdgeId) -> Self {
        let edge = &function.edges[edge.index()];
        let (kind, case) = kind_name(edge.kind);
        Self { from: edge.from, to: (edge.to != function.exit()).then_some(edge.to), kind, case }
    }
}
