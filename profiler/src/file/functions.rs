//! Functions as the sections store them.
//!
//! Version 1.0 stores the count of an edge beside its ends. A function whose edges were not counted has zeros there and
//! stands in a section of its own, `BLCK`. Paths stand in sections of their own too.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::FileError;
use crate::{
    BlockCounts, BlockId, BlockPart, BlockProfile, CodeRange, CounterCost, EdgeKind, EdgeProfile, FigureKind,
    FunctionCounts, FunctionProfile, PathProfile, Supergraph, Supergraphs, UnfinishedExit,
};

/// A function in a section.
#[derive(Serialize, Deserialize)]
pub(super) struct FunctionRow<'a> {
    index: u32,
    name: Option<Cow<'a, str>>,
    code: CodeRange,
    fingerprint: u64,
    kind: FigureKind,
    blocks: Cow<'a, [BlockProfile]>,
    edges: Vec<EdgeRow>,
    exits: Cow<'a, [UnfinishedExit]>,
    cost: CounterCost,
}

/// An edge of a function in a section.
#[derive(Serialize, Deserialize)]
struct EdgeRow {
    from: BlockId,
    to: BlockId,
    kind: EdgeKind,
    count: u64,
}

impl<'a> FunctionRow<'a> {
    pub(super) fn new(function: &'a FunctionProfile) -> Self {
        let counts = function.counts.edges().unwrap_or(&[]).iter().copied();
        let counts = counts.chain(std::iter::repeat(0));
        let edge =
            |(&EdgeProfile { from, to, kind }, count): (&EdgeProfile, u64)| EdgeRow { from, to, kind, count };
        Self {
            index: function.index,
            name: function.name.as_deref().map(Cow::Borrowed),
            code: function.code,
            fingerprint: function.fingerprint,
            kind: function.kind,
            blocks: Cow::Borrowed(&function.blocks),
            edges: function.edges.iter().zip(counts).map(edge).collect(),
            exits: Cow::Borrowed(&function.exits),
            cost: function.cost,
        }
    }

    /// Returns the function, whose edges were counted.
    pub(super) fn by_edges(self) -> FunctionProfile {
        self.with(FunctionCounts::Edges)
    }

    /// Returns the function with paths.
    pub(super) fn by_paths(self, paths: PathProfile) -> FunctionProfile {
        self.with(|edges| FunctionCounts::Paths(edges, paths))
    }

    /// Returns the function, of which only blocks were counted.
    pub(super) fn by_blocks(self, counts: BlockCounts) -> Result<FunctionProfile, FileError> {
        match self.edges.iter().all(|edge| edge.count == 0) {
            true => Ok(self.with(|_| FunctionCounts::Blocks(counts))),
            false => Err(FileError::Damaged { part: "the counts of blocks".to_owned() }),
        }
    }

    fn with(self, counts: impl FnOnce(Vec<u64>) -> FunctionCounts) -> FunctionProfile {
        let edge = |&EdgeRow { from, to, kind, .. }: &EdgeRow| EdgeProfile { from, to, kind };
        FunctionProfile {
            index: self.index,
            name: self.name.map(Cow::into_owned),
            code: self.code,
            fingerprint: self.fingerprint,
            kind: self.kind,
            blocks: self.blocks.into_owned(),
            edges: self.edges.iter().map(edge).collect(),
            exits: self.exits.into_owned(),
            cost: self.cost,
            counts: counts(self.edges.iter().map(|edge| edge.count).collect()),
        }
    }
}

/// A supergraph in the section `SUPR`.
pub(super) type GraphRow<'a> = (FunctionRow<'a>, Option<Cow<'a, PathProfile>>, Cow<'a, [Vec<BlockPart>]>);

/// Returns the row of a supergraph.
pub(super) fn graph_row(graph: &Supergraph) -> GraphRow<'_> {
    let paths = graph.function.paths().map(Cow::Borrowed);
    (FunctionRow::new(&graph.function), paths, Cow::Borrowed(&graph.pieces))
}

/// Assembles the contents of the section `SUPR`.
pub(super) fn supergraphs((graphs, rows): (Supergraphs, Vec<GraphRow<'_>>)) -> Supergraphs {
    let graph = |(function, paths, pieces): GraphRow<'_>| {
        let function = match paths {
            Some(paths) => function.by_paths(paths.into_owned()),
            None => function.by_edges(),
        };
        Supergraph { function, pieces: pieces.into_owned() }
    };
    Supergraphs { functions: rows.into_iter().map(graph).collect(), ..graphs }
}

/// Adds the paths of functions, sorted by index.
pub(super) fn add_paths(
    functions: &mut [FunctionProfile],
    paths: Vec<(u32, PathProfile)>,
) -> Result<(), FileError> {
    let damaged = || FileError::Damaged { part: "the paths of functions".to_owned() };
    for (index, paths) in paths {
        let found =
            functions.binary_search_by_key(&index, |function| function.index).map_err(|_| damaged())?;
        let counts = &mut functions[found].counts;
        match counts {
            FunctionCounts::Edges(edges) => *counts = FunctionCounts::Paths(std::mem::take(edges), paths),
            FunctionCounts::Blocks(_) | FunctionCounts::Paths(..) => return Err(damaged()),
        }
    }
    Ok(())
}

/// Adds the figures of functions' paths, sorted by function index.
pub(super) fn add_figures(
    functions: &mut [FunctionProfile],
    figures: Vec<Vec<Vec<u64>>>,
) -> Result<(), FileError> {
    let mut figures = figures.into_iter();
    for paths in functions.iter_mut().filter_map(|function| function.counts.paths_mut()) {
        let Some(of_paths) = figures.next() else { continue };
        if of_paths.len() != paths.figures().count() {
            return Err(FileError::Damaged { part: "the figures of paths".to_owned() });
        }
        paths.figures_mut().zip(of_paths).for_each(|(figures, read)| *figures = read);
    }
    match figures.next() {
        None => Ok(()),
        Some(_) => Err(FileError::Damaged { part: "the figures of paths".to_owned() }),
    }
}
