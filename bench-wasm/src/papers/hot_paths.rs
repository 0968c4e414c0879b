//! The hot path table: how much of a run's paths it holds, by its size and ways, for whole runs and for windows of
//! them: Vaswani 2007, figures 5.7, 5.8 and 5.10.
//!
//! The paths are those of a whole program path, which end at calls, too. A path's start is made of its function and
//! first block, its outcomes of the branches between its blocks.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{Read, Seek};
use std::rc::Rc;

use anyhow::{Context, Result};
use wprof::Tracing;
use wprof::profiler::{
    Branch, Change, ExtendedPaths, Extension, FunctionTable, HotPathTable, PathDescriptor, PathItem,
    PathName, TraceReader, WholePath, overlap,
};

use super::Runs;
use super::traces::recorded;
use crate::programs::Program;
use crate::table::Table;

/// The shapes of the table: entries, and entries of a set.
const SHAPES: [(usize, usize); 6] = [(16, 4), (64, 4), (256, 4), (512, 1), (512, 4), (512, 16)];
/// The shapes for windows and for extended paths, which are more.
const SMALL: [(usize, usize); 3] = [(16, 4), (64, 4), (512, 4)];
/// The number of paths of a window; the thesis has 100 million instructions.
const WINDOW: usize = 10_000;
/// The number of items after which a new grammar begins; it only saves memory here.
pub(super) const ITEMS: usize = 1 << 20;

/// Makes figure 5.7, and the number of different paths; the last column is of an index by the starts of paths alone.
pub fn sweep(runs: &Runs<'_>) -> Result<Table> {
    let names: Vec<String> = SHAPES.iter().map(name).collect();
    let head = ["paths"].into_iter().chain(names.iter().map(String::as_str)).chain(["512/4 by start"]);
    runs.each(&head.collect::<Vec<_>>(), |program| {
        let run = Run::recorded(program)?;
        let paths = || run.paths().copied();
        let different = paths().collect::<HashSet<_>>().len();
        let by_shape = SHAPES.iter().map(|&shape| percent(overlap_in(shape, paths())));
        let by_start = overlap_in((512, 4), paths().map(ByStart));
        Ok(std::iter::once(different.to_string()).chain(by_shape).chain([percent(by_start)]).collect())
    })
}

/// Makes figure 5.8: the mean overlap of windows, each of which begins with an empty table.
pub fn windows(runs: &Runs<'_>) -> Result<Table> {
    let names: Vec<String> = SMALL.iter().map(name).collect();
    let head: Vec<&str> = ["windows"].into_iter().chain(names.iter().map(String::as_str)).collect();
    runs.each(&head, |program| {
        let run = Run::recorded(program)?;
        let all: Vec<PathDescriptor> = run.paths().copied().collect();
        let mean = |&shape: &(usize, usize)| {
            let each = all.chunks(WINDOW).map(|window| overlap_in(shape, window.iter().copied()));
            percent(each.sum::<f64>() / all.len().div_ceil(WINDOW).max(1) as f64)
        };
        let windows = all.len().div_ceil(WINDOW).to_string();
        Ok(std::iter::once(windows).chain(SMALL.iter().map(mean)).collect())
    })
}

/// The entries of the table of extended paths, and their number in a set.
const ENTRIES: (usize, usize) = (512, 4);

/// Makes figure 5.10: paths extended over back edges, and segments that span a call, in the table beside all of them.
pub fn extended(runs: &Runs<'_>) -> Result<Table> {
    const OVER: [u32; 4] = [0, 1, 2, 4];
    let names = OVER.iter().flat_map(|over| [format!("paths, {over} over"), format!("overlap, {over}")]);
    let names: Vec<String> = names.chain(["segments with a call".into(), "overlap".into()]).collect();
    let head: Vec<&str> = names.iter().map(String::as_str).collect();
    runs.each(&head, |program| {
        let run = Run::recorded(program)?;
        let cells = |over: u32| {
            let extension = Extension::BackEdges(over);
            let mut all = ExtendedPaths::new(extension);
            let mut hot = ExtendedPaths::bounded(extension, ENTRIES.0);
            [&mut all, &mut hot].into_iter().for_each(|paths| run.extend(paths));
            let mut counts: HashMap<_, Change> = HashMap::new();
            all.counts().iter().for_each(|(path, count)| counts.entry(*path).or_default().before = *count);
            hot.counts().iter().for_each(|(path, count)| counts.entry(*path).or_default().after = *count);
            let counts: Vec<Change> = counts.into_values().collect();
            [counts.len().to_string(), percent(overlap(&counts).unwrap_or(0.0))]
        };
        Ok(OVER.into_iter().flat_map(cells).chain(run.segments()).collect())
    })
}

/// A path across a call.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Across(Rc<[PathItem]>);

impl PathName for Across {
    fn index(&self) -> u32 {
        let mut hasher = DefaultHasher::new();
        self.0.hash(&mut hasher);
        hasher.finish() as u32
    }
}

fn name((entries, ways): &(usize, usize)) -> String {
    format!("{entries}/{ways}")
}

pub(super) fn percent(share: f64) -> String {
    format!("{:.1}%", 100.0 * share)
}

/// A path whose place in the table depends on its start alone.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct ByStart(pub PathDescriptor);

impl PathName for ByStart {
    fn index(&self) -> u32 {
        self.0.start
    }
}

/// Returns the overlap of a table of this shape with the complete counts of these paths, after all have run.
fn overlap_in<P: PathName + Hash>(shape: (usize, usize), paths: impl Iterator<Item = P>) -> f64 {
    overlap_by(shape, paths.map(|path| (path, 1)))
}

/// The same, of what happened along each path instead of its executions.
pub(super) fn overlap_by<P: PathName + Hash>(
    (entries, ways): (usize, usize),
    paths: impl Iterator<Item = (P, u64)>,
) -> f64 {
    let (mut table, mut all) = (HotPathTable::new(entries, ways), HashMap::<P, Change>::new());
    for (path, amount) in paths {
        table.add(path.clone(), amount, &[]);
        all.entry(path).or_default().before += amount;
    }
    for (path, count) in table.paths() {
        all.entry(path.clone()).or_default().after = count;
    }
    overlap(&all.into_values().collect::<Vec<_>>()).unwrap_or(0.0)
}

/// The paths of a run in order.
struct Run {
    whole: WholePath,
    /// The names of each item of the whole path; none of items that are not finished paths.
    names: Vec<Vec<PathDescriptor>>,
}

impl Run {
    /// Runs a program with its arguments for tests, and traces it.
    fn recorded(program: &Program) -> Result<Run> {
        let mut reader = recorded(program, &program.quick_args, Tracing::Best, false)?;
        let tables = graphs(&reader);
        let whole = WholePath::of_trace(&mut reader, ITEMS).context("the trace is damaged")?;
        let names = whole.items().iter().map(|&item| names(&whole, &tables, item)).collect();
        Ok(Run { whole, names })
    }

    fn paths(&self) -> impl Iterator<Item = &PathDescriptor> {
        self.whole.grammar().items().flat_map(|item| &self.names[item as usize])
    }

    /// Returns the number of different segments that span one call, and their overlap in the table with all.
    fn segments(&self) -> [String; 2] {
        let (mut names, mut ran) = (HashSet::new(), Vec::new());
        self.whole.for_each_segment(1, |items| {
            let known: Option<&Rc<[PathItem]>> = names.get(&items[..]);
            let name = known.cloned().unwrap_or_else(|| items.into());
            names.insert(name.clone());
            ran.push(Across(name));
        });
        [names.len().to_string(), percent(overlap_in(ENTRIES, ran.into_iter()))]
    }

    /// Lets a counter of extended paths see the run. A path leaves its function if the next item says so.
    fn extend(&self, paths: &mut ExtendedPaths) {
        paths.begin();
        let items = self.whole.items();
        let mut sequence = self.whole.grammar().items().map(|item| items[item as usize]).peekable();
        while let Some(item) = sequence.next() {
            match item {
                PathItem::Enter(function) => paths.enter(function),
                PathItem::Path { function, id } => {
                    paths.end((function, id), sequence.peek() == Some(&PathItem::Leave));
                }
                _ => {}
            }
        }
    }
}

/// By function and block: its successors, ascending.
pub(super) type Graphs = HashMap<u32, HashMap<u32, Vec<u32>>>;

pub(super) fn graphs<R: Read + Seek>(reader: &TraceReader<R>) -> Graphs {
    let graph = |table: &FunctionTable| {
        let mut successors: HashMap<u32, Vec<u32>> = HashMap::new();
        table.edges.iter().for_each(|(from, to)| successors.entry(from.0).or_default().push(to.0));
        successors.values_mut().for_each(|to| {
            to.sort_unstable();
            to.dedup();
        });
        (table.function, successors)
    };
    reader.tables().iter().map(graph).collect()
}

pub(super) fn names(whole: &WholePath, graphs: &Graphs, item: PathItem) -> Vec<PathDescriptor> {
    let PathItem::Path { function, .. } = item else { return Vec::new() };
    let (Some(blocks), Some(graph)) = (whole.blocks(item), graphs.get(&function)) else { return Vec::new() };
    let start = |block: u32| (function << 12) ^ (block << 2);
    let branch = |pair: &[wprof::profiler::BlockId]| {
        let successors = graph.get(&pair[0].0)?;
        let outcome = successors.iter().position(|&to| to == pair[1].0)? as u32;
        let bits = successors.len().next_power_of_two().trailing_zeros() as u8;
        (bits > 0).then(|| Branch { outcome, bits, to: start(pair[1].0) })
    };
    let Some(first) = blocks.first() else { return Vec::new() };
    PathDescriptor::of_path(start(first.0), blocks.windows(2).filter_map(branch))
}
