//! Conversion of raw counters into profiles.
//!
//! Input: the module that was instrumented, and the counters of an instance. Output: the profile that the engine would
//! have taken of the same run, without the cost of counting.
//! Counts of calls to host functions follow from the counts of the blocks that call them. Calls through tables cannot
//! be attributed, so a host function that is used as a value is left out.

mod contexts;
mod events;
mod figures;

use std::collections::{BTreeMap, HashMap};

use wprof_profiler::{
    BlockCounts, BlockId, BlockProfile, CodeRange, CodeStats, CounterCost, EdgeCounts, FigureKind,
    FunctionCounts, FunctionProfile, HostCalls, Metric, PathNumbering, PathProfile, Profile, UnfinishedExit,
    propagate, propagate_blocks,
};

use crate::Error;
use crate::assemble::Plans;
use crate::cfg::Cfg;
use crate::counters::{RawCounters, double, word};
use crate::descriptor::Descriptor;
use crate::event_kind::EventKind;
use crate::layout::{
    ENTRY, FIRST_COUNTER, FLAGS, FULL, GUESSED, HEIGHT, IS_LINK, IS_SITE, Layout, ROW, ROWS, TABLE,
};
use crate::module::Source;
use crate::plan::{Collected, FunctionPlan, NUMBER, ROW_COUNTERS, Rows};
use crate::sites::Site;
use contexts::{AllRecords, PathsOfRecords};
use figures::Figures;

/// The result of reading counters.
#[derive(Clone, Debug)]
pub struct Read {
    /// The profile, without runs.
    pub profile: Profile,
    /// Whether frames count as ended that may have continued, because very many frames had been left behind.
    pub is_guessed: bool,
}

/// Number of frames that stopped, by site, call record or 0, and path register.
type Stopped = BTreeMap<(u32, u32, u64), u64>;

/// A site at which frames stopped.
#[derive(Clone, Copy, Debug)]
struct Stop {
    site: Site,
    /// The frames' call record, or 0.
    record: u32,
    /// Their path register.
    register: u64,
    /// Number of frames.
    count: u64,
}

/// The contents of a region besides counters.
struct Tables {
    stopped: Stopped,
    /// By function, the counts of paths without a counter, by call record or 0.
    paths: HashMap<u32, BTreeMap<(u32, u64), u64>>,
    /// By callee slot and function, the function's record.
    links: BTreeMap<(u32, u32), u32>,
}

/// Reads counters.
///
/// # Errors
/// Returns an error if the counters are damaged, or of another module.
pub fn read(original: &[u8], counters: &RawCounters) -> Result<Read, Error> {
    let descriptor = Descriptor::from_bytes(&counters.descriptor)?;
    let source = Source::new(original)?;
    if !source.has_hash(&descriptor.hash) {
        return Err(Error::OtherModule);
    }
    if descriptor.collected == Collected::Trace {
        return Err(Error::IsTrace);
    }
    let events = &descriptor.events;
    let plans = Plans::described(&source, &descriptor)?;
    let region = &counters.region;
    let flags = word(region, FLAGS)?;
    if flags & FULL != 0 {
        return Err(Error::Full);
    }
    let layout = plans.layout(&source, None, (&descriptor, 0))?;
    let tables = tables(region, &layout, plans.sites.len())?;
    let (names, kinds) = (source.names(), &events[..]);
    let reader = Reader { source: &source, plans: &plans, kinds, layout, names, region, tables };
    let profile = reader.profile()?;
    Ok(Read {
        profile: Profile { module_hash: descriptor.hash, ..profile },
        is_guessed: flags & GUESSED != 0,
    })
}

fn tables(region: &[u8], layout: &Layout, sites: usize) -> Result<Tables, Error> {
    let mut tables = Tables { stopped: Stopped::new(), paths: HashMap::new(), links: BTreeMap::new() };
    let mut stop = |site: u32, record: u32, register: u64, count: u64| {
        if site == 0 || site as usize > sites {
            return Err(Error::BadCounters("a frame stopped where none can"));
        }
        *tables.stopped.entry((site, record, register)).or_default() += count;
        Ok(())
    };
    for height in (0..word(region, HEIGHT)?).step_by(ENTRY as usize) {
        let at = layout.stack().saturating_add(height);
        let record = if layout.owes_records() { word(region, at.saturating_add(4))? } else { 0 };
        stop(word(region, at)?, record, double(region, at.saturating_add(8))?, 1)?;
    }
    let (table, rows) = (word(region, TABLE)?, word(region, ROWS)?);
    for row in 0..rows {
        let at = table.saturating_add(row.saturating_mul(ROW));
        let (id, record) = (word(region, at)?, word(region, at.saturating_add(4))?);
        let (key, count) = (double(region, at.saturating_add(8))?, double(region, at.saturating_add(16))?);
        match id.checked_sub(1) {
            None => {}
            Some(id) if id & IS_SITE != 0 => stop(id & !IS_SITE, record, key, count)?,
            Some(id) if id & IS_LINK != 0 => {
                tables.links.insert((record, id & !IS_LINK), count as u32);
            }
            Some(func) => {
                *tables.paths.entry(func).or_default().entry((record, key)).or_default() += count;
            }
        }
    }
    Ok(tables)
}

struct Reader<'a> {
    source: &'a Source<'a>,
    plans: &'a Plans,
    kinds: &'a [EventKind],
    layout: Layout,
    names: HashMap<u32, String>,
    region: &'a [u8],
    tables: Tables,
}

/// The known counts of a function.
enum Counts {
    Edges(EdgeCounts),
    Paths(EdgeCounts, PathProfile),
    Blocks(BlockCounts),
    Nothing,
}

impl Reader<'_> {
    fn profile(&self) -> Result<Profile, Error> {
        let mut profile = Profile::default();
        let mut calls = vec![0_u64; self.source.imported_funcs.len()];
        let (mut first_counter, mut placed) = (0, 0);
        let records = self.records()?;
        for (cfg, plan) in &self.plans.functions {
            let function = self.function(cfg, plan, first_counter, &records)?;
            first_counter += plan.counters() as u32;
            if let Some(function) = function {
                placed += plan.places();
                self.count_calls(cfg, &function, &mut calls);
                profile.functions.push(function);
            }
        }
        let events = self.events(&records)?;
        profile.contexts = self.layout.records.map(|_| self.tree(&records, &events)).transpose()?;
        profile.events = self.totals(&events);
        if self.plans.functions.iter().any(|(_, plan)| plan.paths().is_some()) {
            let metric = |name| Metric { name, taken_off: 0 };
            profile.metrics = figures::names(self.kinds).into_iter().map(metric).collect();
        }
        let imports = self.source.imported_funcs.iter().zip(calls).zip(0..);
        let known = imports.filter(|((_, count), index)| *count > 0 && !self.source.escaped.contains(index));
        profile.host_calls = known
            .map(|((import, count), _)| HostCalls {
                module: import.module.clone(),
                name: import.name.clone(),
                count,
                kind: FigureKind::Exact,
                time_ns: None,
            })
            .collect();
        profile.code = CodeStats {
            functions: self.plans.functions.len() as u64,
            compiled: profile.functions.len() as u64,
            counters: placed,
        };
        profile.normalize();
        Ok(profile)
    }

    /// Adds calls of imports. A block that began reached all of its calls, unless its frame stopped before.
    fn count_calls(&self, cfg: &Cfg, function: &FunctionProfile, calls: &mut [u64]) {
        let blocks = function.block_counts();
        for call in &cfg.calls {
            let Some(sum) = calls.get_mut(call.callee as usize) else { continue };
            let before = |exit: &&UnfinishedExit| exit.block.0 == call.block && exit.offset < call.offset;
            let stopped: u64 = function.exits.iter().filter(before).map(|exit| exit.count).sum();
            *sum = sum.saturating_add(blocks[call.block as usize].saturating_sub(stopped));
        }
    }

    /// Returns the sites at which frames of a function stopped.
    fn stopped(&self, func: u32) -> impl Iterator<Item = Stop> {
        let sites = &self.plans.sites;
        let (first, end) =
            (sites.partition_point(|s| s.func < func), sites.partition_point(|s| s.func <= func));
        let range = (first as u32 + 1, 0, 0)..(end as u32 + 1, 0, 0);
        let found = self.tables.stopped.range(range);
        found.map(|(&(site, record, register), &count)| Stop {
            site: sites[site as usize - 1],
            record,
            register,
            count,
        })
    }

    fn function(
        &self,
        cfg: &Cfg,
        plan: &FunctionPlan,
        first: u32,
        records: &AllRecords,
    ) -> Result<Option<FunctionProfile>, Error> {
        let counter = |k: u64| double(self.region, FIRST_COUNTER + 8 * (first + k as u32));
        let counters = (0..plan.counters()).map(counter).collect::<Result<Vec<u64>, Error>>()?;
        let stopped: Vec<_> = self.stopped(cfg.func).collect();
        let ended: Vec<(BlockId, u64)> =
            stopped.iter().map(|stop| (BlockId(stop.site.block), stop.count)).collect();
        let shape = cfg.shape();
        let counts = match plan {
            FunctionPlan::Edges(plan) => propagate(&shape, plan, &counters, &ended).map(Counts::Edges),
            FunctionPlan::Blocks(plan) => {
                propagate_blocks(&shape, plan, &counters, &ended).map(Counts::Blocks)
            }
            FunctionPlan::Paths(path_plan) if !plan.is_sparse() => {
                let numbering = &path_plan.numbering;
                let counted = (0..).zip(counters.iter().copied());
                let paths = self.paths((cfg, plan, numbering), counted, &stopped)?;
                paths.edge_counts(&shape, numbering).map(|counts| Counts::Paths(counts, paths))
            }
            FunctionPlan::Paths(_) | FunctionPlan::Preferential(_) | FunctionPlan::Flow(_) => {
                let counted = self.paths_of_records(cfg.func, plan, (first, records))?;
                let counted = counted.into_iter().map(|((_, id), count)| (id, count));
                let numbering = &plan.paths().expect("plans of paths").numbering;
                let paths = self.paths((cfg, plan, numbering), counted, &stopped)?;
                paths.edge_counts(&shape, numbering).map(|counts| Counts::Paths(counts, paths))
            }
            // The entry is no target of an edge.
            FunctionPlan::EveryBlock(_) => {
                Ok(Counts::Blocks(BlockCounts { entries: counters[0], blocks: counters.clone() }))
            }
            FunctionPlan::Nothing | FunctionPlan::Trace(_) => Ok(Counts::Nothing),
        };
        let counts = counts.map_err(|error| Error::Contradiction { func: cfg.func, error })?;
        let any = match &counts {
            Counts::Edges(counts) | Counts::Paths(counts, _) => counts.blocks.iter().any(|count| *count > 0),
            Counts::Blocks(counts) => counts.entries > 0,
            Counts::Nothing => false,
        };
        let exits = stopped.iter().map(|stop| exit(&stop.site, stop.count)).collect();
        Ok(any.then(|| self.described(cfg, plan, (counts, exits), &counters)))
    }

    /// Returns the counts of a function's paths that its rows and the table hold, by call record and number. The function's
    /// first counter is number `first`.
    fn sparse(&self, func: u32, plan: &FunctionPlan, first: u32) -> Result<PathsOfRecords, Error> {
        let mut all = self.tables.paths.get(&func).cloned().unwrap_or_default();
        for row in 0..plan.rows().map_or(0, Rows::count) {
            let at = FIRST_COUNTER + 8 * (first + ROW_COUNTERS * row);
            let (key, count) = (double(self.region, at)?, double(self.region, at + 8)?);
            if count > 0 {
                let sum = all.entry(((key >> 32) as u32, key & NUMBER)).or_default();
                *sum = sum.saturating_add(count);
            }
        }
        Ok(all)
    }

    /// Returns the paths of a function, with the events along each.
    fn paths(
        &self,
        (cfg, plan, numbering): (&Cfg, &FunctionPlan, &PathNumbering),
        counted: impl Iterator<Item = (u64, u64)>,
        stopped: &[Stop],
    ) -> Result<PathProfile, Error> {
        let mut sums: BTreeMap<u64, u64> = BTreeMap::new();
        for (id, count) in counted.filter(|(_, count)| *count > 0) {
            let sum = sums.entry(id).or_default();
            *sum = sum.saturating_add(count);
        }
        let figures = Figures::new(self.source, cfg, self.kinds)?;
        let finished = sums.into_iter().map(|(id, count)| figures.finished(numbering, id, count));
        let unfinished = stopped.iter().map(|stop| figures.unfinished(plan, numbering, stop));
        Ok(PathProfile {
            possible: numbering.paths(),
            finished: finished.collect::<Result<_, Error>>()?,
            unfinished: unfinished.collect::<Result<_, Error>>()?,
        })
    }

    fn described(
        &self,
        cfg: &Cfg,
        plan: &FunctionPlan,
        (counts, exits): (Counts, Vec<UnfinishedExit>),
        counters: &[u64],
    ) -> FunctionProfile {
        let shape = cfg.shape();
        let increments = counters.iter().fold(0, |sum: u64, count| sum.saturating_add(*count));
        let cost = match (&counts, plan.paths()) {
            (Counts::Paths(counts, _), Some(plan)) => plan.cost(counts),
            _ => CounterCost { counters: plan.counters(), increments },
        };
        let counts = match counts {
            Counts::Edges(counts) => FunctionCounts::Edges(counts.edges),
            Counts::Paths(counts, paths) => FunctionCounts::Paths(counts.edges, paths),
            Counts::Blocks(counts) => FunctionCounts::Blocks(counts),
            Counts::Nothing => FunctionCounts::Edges(vec![0; shape.edge_count()]),
        };
        let body = self.source.body(cfg.func).range();
        FunctionProfile {
            index: cfg.func,
            name: self.names.get(&cfg.func).cloned(),
            code: CodeRange { start: body.start as u32, end: body.end as u32 },
            fingerprint: shape.fingerprint(),
            kind: FigureKind::Exact,
            blocks: cfg
                .blocks
                .iter()
                .map(|block| BlockProfile {
                    code: CodeRange { start: block.start, end: block.limit },
                    ops: block.ops,
                })
                .collect(),
            edges: cfg.edges(),
            exits,
            cost,
            counts,
        }
    }
}

fn exit(site: &Site, count: u64) -> UnfinishedExit {
    UnfinishedExit { block: BlockId(site.block), offset: site.offset, ops_executed: site.ops, count }
}
