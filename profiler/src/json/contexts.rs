//! The JSON shape of calling contexts.

use serde::Serialize;

use super::shape::KindShape;
use crate::{BackEdge, BlockId, CallRecord, Callee, ContextTree, Metric, PathCount, Routine, UnfinishedPath};

#[derive(Serialize)]
pub(super) struct ContextsShape<'a> {
    kind: KindShape,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    merges_sites: bool,
    routines: Vec<RoutineShape<'a>>,
    records: Vec<RecordShape<'a>>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    metrics: &'a [Metric],
}

impl<'a> ContextsShape<'a> {
    pub(super) fn new(tree: &'a ContextTree) -> Self {
        let inclusive = tree.inclusive(&tree.calls());
        let records = tree.records.iter().zip(inclusive);
        Self {
            kind: KindShape::new(tree.kind),
            merges_sites: tree.merges_sites,
            routines: tree.routines.iter().map(RoutineShape::new).collect(),
            records: records.map(|(record, inclusive)| RecordShape::new(record, inclusive)).collect(),
            metrics: &tree.metrics,
        }
    }
}

#[derive(Serialize)]
struct RoutineShape<'a> {
    #[serde(flatten)]
    callee: CalleeShape<'a>,
    sites: &'a [u32],
}

impl<'a> RoutineShape<'a> {
    fn new(routine: &'a Routine) -> Self {
        Self { callee: CalleeShape::new(&routine.callee), sites: &routine.sites }
    }
}

#[derive(Serialize)]
#[serde(tag = "what", rename_all = "kebab-case")]
pub(super) enum CalleeShape<'a> {
    Root,
    Function { index: u32, name: Option<&'a str> },
    Elsewhere { instance: u32, index: u32, name: Option<&'a str> },
    Host { module: &'a str, name: &'a str },
    Beyond,
    Engine,
    Inlined { name: &'a str },
    Thread { number: u32 },
    Collector,
}

impl<'a> CalleeShape<'a> {
    pub(super) fn new(callee: &'a Callee) -> Self {
        match callee {
            Callee::Root => Self::Root,
            Callee::Function { index, name } => Self::Function { index: *index, name: name.as_deref() },
            Callee::Elsewhere { instance, index, name } => {
                Self::Elsewhere { instance: *instance, index: *index, name: name.as_deref() }
            }
            Callee::Host { module, name } => Self::Host { module, name },
            Callee::Beyond => Self::Beyond,
            Callee::Engine => Self::Engine,
            Callee::Inlined { name } => Self::Inlined { name },
            Callee::Thread { number } => Self::Thread { number: *number },
            Callee::Collector => Self::Collector,
        }
    }
}

#[derive(Serialize)]
struct RecordShape<'a> {
    routine: u32,
    parent: u32,
    site: u32,
    calls: u64,
    inclusive_calls: u64,
    back_edges: &'a [BackEdge],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    metrics: &'a [u64],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    paths: Vec<PathShape<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unfinished: Vec<UnfinishedShape<'a>>,
}

#[derive(Serialize)]
struct PathShape<'a> {
    id: u64,
    count: u64,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    metrics: &'a [u64],
}

/// The blocks in which frames ended, and the path sum of the prefix that led there.
#[derive(Serialize)]
struct UnfinishedShape<'a> {
    block: BlockId,
    offset: u32,
    prefix: u64,
    count: u64,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    metrics: &'a [u64],
}

impl<'a> RecordShape<'a> {
    fn new(record: &'a CallRecord, inclusive_calls: u64) -> Self {
        let CallRecord { routine, parent, site, calls, back_edges, metrics, paths, unfinished } = record;
        let paths = paths.iter().map(|PathCount { id, count, metrics }| PathShape {
            id: *id,
            count: *count,
            metrics,
        });
        let paths = paths.collect();
        let unfinished = unfinished.iter().map(|UnfinishedPath { exit, prefix, metrics }| UnfinishedShape {
            block: exit.block,
            offset: exit.offset,
            prefix: *prefix,
            count: exit.count,
            metrics,
        });
        let unfinished = unfinished.collect();
        let (routine, parent, site, calls) = (*routine, *parent, *site, *calls);
        Self { routine, parent, site, calls, inclusive_calls, back_edges, metrics, paths, unfinished }
    }
}
