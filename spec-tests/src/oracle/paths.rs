//! Compares the paths of a profile with a trace of the same run.
//!
//! Input: a profile with paths, and the trace, which has each executed block. Output: whether the blocks, cut into
//! paths, are the paths of the profile. The ends of paths are found without the graph: blocks are in bytecode order,
//! so a block that does not come later begins another iteration of a loop. Cut edges are taken from the profile.
//! The references of the trace go through a cache simulated in the simplest way, and each path is charged for its own
//! misses.
//! Source: Ammons, Ball & Larus 1997, section 2.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Cursor;

use wprof::Module;
use wprof_jit::cfg;
use wprof_jit::module::ModuleInfo;
use wprof_jit::plan::SplitCfg;
use wprof_profiler::{
    BlockId, Branch, Callee, Change, DataReference, EdgeId, FunctionCounts, FunctionProfile, HotPathTable,
    Path, PathCount, PathDescriptor, PathProfile, Profile, TraceEvent, TraceReader, TraceStep,
};

use super::cache::Accesses;
use crate::shadow::{Chain, Folding, HostLog};

/// A path as a sequence of blocks, with its end.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Way {
    func: u32,
    blocks: Vec<u32>,
    end: End,
}

/// How a path ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum End {
    /// The path leaves the function.
    Exit,
    /// The next path begins at a block.
    Next(u32),
    /// The frame ends on the path.
    Stopped,
}

/// The counts of a path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Cost {
    count: u64,
    /// Lines missed in the simulated cache, if there is one.
    misses: u64,
}

impl Cost {
    fn add(&mut self, count: u64, misses: u64) {
        self.count += count;
        self.misses += misses;
    }
}

type Ways = BTreeMap<Way, Cost>;

/// The amount of work that has been compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ComparedPaths {
    /// Distinct paths that ran to their end.
    pub paths: u64,
    /// Executions of these paths.
    pub finished: u64,
    /// Executions of paths that stopped before their end.
    pub unfinished: u64,
    /// Lines missed along the paths.
    pub misses: u64,
}

impl ComparedPaths {
    /// Returns the sum of both.
    #[must_use]
    pub fn plus(self, other: ComparedPaths) -> ComparedPaths {
        ComparedPaths {
            paths: self.paths + other.paths,
            finished: self.finished + other.finished,
            unfinished: self.unfinished + other.unfinished,
            misses: self.misses + other.misses,
        }
    }
}

/// Checks that the paths of `profile` are those of `trace`, both of one run of the module.
///
/// # Errors
/// Returns the first difference that it finds.
pub fn compare_paths(info: &ModuleInfo, profile: &Profile, trace: &[u8]) -> Result<ComparedPaths, String> {
    profile.verify().map_err(|e| e.to_string())?;
    let mut reader = TraceReader::open(Cursor::new(trace)).map_err(|e| e.to_string())?;
    let mut log = Log::new(info, profile);
    for step in reader.steps_from(0) {
        match step.map_err(|e| e.to_string())? {
            TraceStep::Event(event) => log.event(event)?,
            TraceStep::Reference(reference) => log.reference(&reference)?,
        }
    }
    let misses = log.misses_column(profile);
    let (mut traced, mut found) = (log.end(), Ways::new());
    let mut unborn = Ways::new();
    for function in &profile.functions {
        add_ways(function, misses, &mut found, &mut unborn)?;
    }
    forgive_unborn(&mut traced, &found, &unborn);
    if misses.is_none() {
        traced.values_mut().for_each(|cost| cost.misses = 0);
    }
    if let Some((way, cost)) = traced.iter().find(|(way, cost)| found.get(way) != Some(cost)) {
        return Err(format!("{way:?} by the trace: {cost:?}; by the profile: {:?}", found.get(way)));
    }
    if let Some((way, cost)) = found.iter().find(|(way, _)| !traced.contains_key(way)) {
        return Err(format!("{way:?} did not run, by the profile: {cost:?}"));
    }
    let counts = |stopped: bool| found.iter().filter(move |(way, _)| (way.end == End::Stopped) == stopped);
    Ok(ComparedPaths {
        paths: counts(false).count() as u64,
        finished: counts(false).map(|(_, cost)| cost.count).sum(),
        unfinished: counts(true).map(|(_, cost)| cost.count).sum(),
        misses: found.values().map(|cost| cost.misses).sum(),
    })
}

/// Tolerates a trace that omits calls which found no stack; all of these end in the entry block.
fn forgive_unborn(traced: &mut Ways, found: &Ways, unborn: &Ways) {
    for (way, most) in unborn {
        let all = found[way].count;
        let count = &mut traced.entry(way.clone()).or_default().count;
        if (all - most.count..=all).contains(count) {
            *count = all;
        }
    }
}

/// Adds the paths of a function's profile, with this column of their metrics; among the stopped paths also those of
/// calls that found no stack.
fn add_ways(
    function: &FunctionProfile,
    misses: Option<usize>,
    ways: &mut Ways,
    unborn: &mut Ways,
) -> Result<(), String> {
    let func = function.index;
    let cfg = function.cfg().map_err(|e| e.to_string())?;
    let (Some(paths), Some(numbering)) = (function.paths(), function.path_numbering()) else {
        return Err(format!("function {func} has no paths"));
    };
    let way = |path: Path, end: End| {
        let blocks = match end {
            End::Stopped => path.blocks_of_prefix(&cfg),
            _ => path.blocks(&cfg),
        };
        Way { func, blocks: blocks.iter().map(|block| block.0).collect(), end }
    };
    let missed = |figures: &[u64]| misses.map_or(0, |column| figures[column]);
    for PathCount { id, count, metrics } in &paths.finished {
        let path = numbering.path(*id).ok_or("a path that is none")?;
        let to = path.edges.last().map(|&last| cfg.edge(last).to);
        let end = to.filter(|&to| to != cfg.exit()).map_or(End::Exit, |to| End::Next(to.0));
        // Paths along parallel edges have the same blocks.
        ways.entry(way(path, end)).or_default().add(*count, missed(metrics));
    }
    for stopped in &paths.unfinished {
        let prefix = numbering.prefix(stopped.exit.block, stopped.prefix).ok_or("a prefix that is none")?;
        let way = way(prefix, End::Stopped);
        if stopped.exit.block == BlockId::ENTRY && stopped.exit.offset < function.blocks[0].code.start {
            unborn.entry(way.clone()).or_default().add(stopped.exit.count, 0);
        }
        ways.entry(way).or_default().add(stopped.exit.count, missed(&stopped.metrics));
    }
    Ok(())
}

/// A run, replayed block by block.
struct Log<'a> {
    info: &'a ModuleInfo,
    /// Cut edges: function, source and target.
    cuts: BTreeSet<(u32, u32, u32)>,
    splits: BTreeMap<u32, SplitCfg>,
    /// The current path of each live frame, and its missed lines.
    frames: Vec<(u32, Vec<u32>, u64)>,
    ways: Ways,
    /// The path that the last event ended.
    ended: Option<Way>,
    accesses: Accesses,
}

impl<'a> Log<'a> {
    fn new(info: &'a ModuleInfo, profile: &Profile) -> Log<'a> {
        let mut cuts = BTreeSet::new();
        for function in &profile.functions {
            let all = function.path_numbering().map_or(Vec::new(), |numbering| numbering.cuts().to_vec());
            let ends = |edge: EdgeId| &function.edges[edge.index()];
            cuts.extend(all.iter().map(|&edge| (function.index, ends(edge).from.0, ends(edge).to.0)));
        }
        Log {
            info,
            cuts,
            splits: BTreeMap::new(),
            frames: Vec::new(),
            ways: Ways::new(),
            ended: None,
            accesses: Accesses::default(),
        }
    }

    /// Returns the column of the path metrics that can be compared, if there is one.
    fn misses_column(&self, profile: &Profile) -> Option<usize> {
        let column = profile.metrics.iter().position(|metric| metric.name == "cache-misses");
        column.filter(|_| !self.accesses.is_unsure)
    }

    fn reference(&mut self, reference: &DataReference) -> Result<(), String> {
        let missed = self.accesses.reference(reference);
        self.charge(missed)
    }

    fn charge(&mut self, missed: u64) -> Result<(), String> {
        match self.frames.last_mut() {
            Some((.., misses)) => *misses += missed,
            None if missed == 0 => {}
            None => return Err("a reference of no frame".into()),
        }
        Ok(())
    }

    fn event(&mut self, event: TraceEvent) -> Result<(), String> {
        let missed = self.accesses.before(event);
        self.charge(missed)?;
        match event {
            TraceEvent::Enter(func) => self.frames.push((func, Vec::new(), 0)),
            TraceEvent::Block(func, part) => {
                if let Some(block) = self.block(func, part.0)? {
                    self.begin(block)?;
                }
            }
            TraceEvent::Leave(_) => self.pop(End::Exit)?,
            TraceEvent::Unwound { .. } => self.pop(End::Stopped)?,
            TraceEvent::HostCall(..) | TraceEvent::HostReturn(..) => {}
        }
        Ok(())
    }

    /// Returns the block that a part begins, if it begins one.
    fn block(&mut self, func: u32, part: u32) -> Result<Option<u32>, String> {
        if !self.splits.contains_key(&func) {
            let cfg = cfg::build(self.info, func).map_err(|e| e.to_string())?;
            let split = SplitCfg::new(self.info, &cfg).map_err(|e| e.to_string())?;
            self.splits.insert(func, split);
        }
        let split = &self.splits[&func];
        let block = split.parts[part as usize].block;
        Ok((split.first_part[block as usize] == part).then_some(block))
    }

    fn begin(&mut self, block: u32) -> Result<(), String> {
        let (func, path, misses) = self.frames.last_mut().ok_or("a block of no frame")?;
        if let Some(&last) = path.last()
            && (block <= last || self.cuts.contains(&(*func, last, block)))
        {
            let blocks = std::mem::take(path);
            let way = Way { func: *func, blocks, end: End::Next(block) };
            self.ended = Some(way.clone());
            self.ways.entry(way).or_default().add(1, std::mem::take(misses));
        }
        path.push(block);
        Ok(())
    }

    fn pop(&mut self, end: End) -> Result<(), String> {
        let (func, blocks, misses) = self.frames.pop().ok_or("no frame ends")?;
        let way = Way { func, blocks, end };
        self.ended = Some(way.clone());
        self.ways.entry(way).or_default().add(1, misses);
        Ok(())
    }

    /// Returns all paths; those of live frames count as stopped.
    fn end(mut self) -> Ways {
        while self.pop(End::Stopped).is_ok() {}
        self.ways
    }
}

/// Returns, for each path of a trace, how often it ran to its end according to `table` and how often in fact;
/// `profile` is of the same run.
///
/// # Errors
/// Returns an error if the trace is damaged, or contradicts the module.
pub fn hot_paths(
    info: &ModuleInfo,
    profile: &Profile,
    trace: &[u8],
    table: &mut HotPathTable,
) -> Result<Vec<Change>, String> {
    let mut reader = TraceReader::open(Cursor::new(trace)).map_err(|e| e.to_string())?;
    let (mut log, mut all) = (Log::new(info, profile), BTreeMap::<PathDescriptor, Change>::new());
    for event in reader.events_from(0) {
        log.event(event.map_err(|e| e.to_string())?)?;
        let Some(way) = log.ended.take().filter(|way| way.end != End::Stopped) else { continue };
        let function = profile.function(way.func).ok_or("a function without a profile")?;
        for path in descriptors(function, &way) {
            table.count(path);
            all.entry(path).or_default().before += 1;
        }
    }
    for (path, count) in table.paths() {
        all.entry(*path).or_default().after = count;
    }
    Ok(all.into_values().collect())
}

/// Returns the names of a path in a hot path table.
fn descriptors(function: &FunctionProfile, way: &Way) -> Vec<PathDescriptor> {
    let start = |block: u32| function.blocks.get(block as usize).map_or(0, |block| block.code.start);
    let last = match way.end {
        End::Next(block) => block,
        End::Exit | End::Stopped => function.blocks.len() as u32,
    };
    let next = way.blocks.iter().skip(1).copied().chain([last]);
    let branch = |(&from, to): (&u32, u32)| {
        let edges: Vec<u32> =
            function.edges.iter().filter(|edge| edge.from.0 == from).map(|edge| edge.to.0).collect();
        let outcome = edges.iter().position(|&target| target == to)? as u32;
        let bits = edges.len().next_power_of_two().trailing_zeros() as u8;
        (bits > 0).then(|| Branch { outcome, bits, to: start(to) })
    };
    PathDescriptor::of_path(start(way.blocks[0]), way.blocks.iter().zip(next).filter_map(branch))
}

/// Checks that the paths in the calling contexts of `profile` are those of `trace`, both of one run of the module with
/// the host calls of `host`. Returns the number of distinct paths in contexts.
///
/// # Errors
/// Returns the first difference that it finds.
pub fn compare_flow(
    module: &Module,
    profile: &Profile,
    trace: &[u8],
    host: HostLog,
) -> Result<usize, String> {
    let mut reader = TraceReader::open(Cursor::new(trace)).map_err(|e| e.to_string())?;
    let mut folding = Folding::new(module, host);
    let mut log = Log::new(module.info(), profile);
    let mut traced = Flow::new();
    for event in reader.events_from(0) {
        let event = event.map_err(|e| e.to_string())?;
        let chain = folding.wasm_chain().cloned();
        log.event(event)?;
        if let (Some(way), Some(chain)) = (log.ended.take(), chain) {
            *traced.entry((chain, way)).or_default() += 1;
        }
        folding.event(event)?;
    }
    while let Some(chain) = folding.wasm_chain().cloned() {
        log.pop(End::Stopped)?;
        let way = log.ended.take().ok_or("a frame without a path")?;
        *traced.entry((chain, way)).or_default() += 1;
        folding.unwind();
    }
    let found = flow_of(profile)?;
    same(&found, &traced)?;
    Ok(found.len())
}

/// Checks that both profiles have the same paths in the same calling contexts.
///
/// # Errors
/// Returns the first difference that it finds.
pub fn same_flow(found: &Profile, expected: &Profile) -> Result<(), String> {
    same(&flow_of(found)?, &flow_of(expected)?)
}

fn same(found: &Flow, expected: &Flow) -> Result<(), String> {
    let is_other = |(place, count): &(&(Chain, Way), &u64)| found.get(place) != Some(count);
    match (expected.iter().find(is_other), found.keys().find(|place| !expected.contains_key(place))) {
        (Some((place, count)), _) => Err(format!("{place:?}: {:?}, expected {count}", found.get(place))),
        (None, Some(place)) => Err(format!("{place:?} is not expected")),
        (None, None) => Ok(()),
    }
}

/// The executions of each path in each calling context.
type Flow = BTreeMap<(Chain, Way), u64>;

/// Returns the paths of a profile's call records.
fn flow_of(profile: &Profile) -> Result<Flow, String> {
    let tree = profile.contexts.as_ref().filter(|tree| tree.has_paths).ok_or("no paths in contexts")?;
    let mut chains: Vec<Chain> = vec![Vec::new()];
    let mut flow = Flow::new();
    for (record, number) in tree.records.iter().zip(0..).skip(1) {
        let mut chain = chains[record.parent as usize].clone();
        chain.push((tree.callee(number).clone(), record.site));
        if let Callee::Function { index, .. } = tree.callee(number) {
            let function = profile.function(*index).ok_or("a function without paths")?;
            let (finished, unfinished) = (record.paths.clone(), record.unfinished.clone());
            let paths = PathProfile { finished, unfinished, ..PathProfile::default() };
            let mut ways = Ways::new();
            let of_record =
                FunctionProfile { counts: FunctionCounts::Paths(Vec::new(), paths), ..function.clone() };
            add_ways(&of_record, None, &mut ways, &mut Ways::new())?;
            flow.extend(ways.into_iter().map(|(way, cost)| ((chain.clone(), way), cost.count)));
        }
        chains.push(chain);
    }
    Ok(flow)
}
