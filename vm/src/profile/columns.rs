//! The figures of paths besides their counts: the metrics measured along them, and the events that follow from
//! their blocks.
//!
//! Input: counts, and sums as frames have left them. Output: a column of figures for each metric, and the
//! overhead that was subtracted. Source: Ammons, Ball & Larus 1997, section 3.2: the overhead that each start of
//! a measurement adds is known, and subtracted. Events of paths cost nothing at run time, except the lengths of
//! bulk operations, which are measured.

use wprof_jit::cfg::Cfg;
use wprof_jit::events::{EventModel, executed};
use wprof_jit::module::ModuleInfo;
use wprof_jit::plan::{FunctionPlan, Instrumentation, Metric};
use wprof_profiler::{BlockId, Path};

use crate::Result;
use crate::runtime::instances::store_opaque::StoreOpaque;

/// The source of a column's figures.
enum Source<'a> {
    /// The number of a metric, and the overhead that each start of its measurement adds.
    Measured(usize, u64),
    /// A kind of events, and the metric of its lengths of bulk operations, if it has one.
    Events(&'a EventModel, Option<u32>),
}

struct Column<'a> {
    name: &'a str,
    source: Source<'a>,
    taken_off: u64,
}

impl Column<'_> {
    /// Returns the measured figure without the overhead of `starts` starts; 0 for a column that is not measured.
    fn of_starts(&mut self, measured: &[u64], starts: u64) -> u64 {
        let Source::Measured(number, cost) = self.source else { return 0 };
        let all = measured[number];
        let taken_off = all.min(cost.saturating_mul(starts));
        self.taken_off = self.taken_off.saturating_add(taken_off);
        all - taken_off
    }
}

/// The columns of one store's paths, ascending by name.
pub struct Columns<'a>(Vec<Column<'a>>);

/// A path, or the prefix of one.
pub struct Way<'a> {
    /// Its first block and its edges.
    pub path: &'a Path,
    /// Its blocks, except the last one if the path is unfinished.
    pub whole: &'a [BlockId],
    /// Where an unfinished path stopped: the block, the byte offset, and whether its function was entered on it.
    pub stop: Option<(u32, u32, bool)>,
    /// How often it ran.
    pub count: u64,
}

impl<'a> Columns<'a> {
    /// Creates the columns of a store.
    pub fn new(store: &'a StoreOpaque) -> Columns<'a> {
        if store.engine().counted().counters != Instrumentation::Paths {
            return Columns(Vec::new());
        }
        let Columns(mut columns) = Columns::measured(store);
        let collection = store.engine().collection();
        let kinds = collection.events.iter().zip(collection.lengths());
        let kinds = kinds.filter(|(model, lengths)| !model.charges_lengths() || lengths.is_some());
        columns.extend(kinds.map(|(model, lengths)| {
            let source = Source::Events(model, lengths);
            Column { name: &model.name, source, taken_off: 0 }
        }));
        columns.sort_by_key(|column| column.name);
        Columns(columns)
    }

    /// Creates the columns of a store's calling contexts: the measured metrics.
    pub fn measured(store: &'a StoreOpaque) -> Columns<'a> {
        let metrics = store.observed.metrics.all().iter().enumerate();
        let metrics = metrics.filter(|(_, metric)| !matches!(metric, Metric::Lengths(_)));
        let measured = metrics.map(|(number, metric)| {
            let source = Source::Measured(number, store.observed.metrics.cost_of_start(metric));
            Column { name: metric.name(), source, taken_off: 0 }
        });
        let mut columns: Vec<Column<'_>> = measured.collect();
        columns.sort_by_key(|column| column.name);
        Columns(columns)
    }

    /// Returns the figures of measurements that were started `starts` times.
    pub fn of_starts(&mut self, measured: &[u64], starts: u64) -> Vec<u64> {
        self.0.iter_mut().map(|column| column.of_starts(measured, starts)).collect()
    }

    /// Computes what the blocks of a function add to the figures of the paths through them.
    ///
    /// # Errors
    /// Returns an error if the bytes differ from those that were validated.
    pub fn of_blocks<'f>(&self, info: &'f ModuleInfo, version: &'f FunctionPlan) -> Result<Blocks<'f>> {
        let all = 0..version.cfg.blocks.len() as u32;
        let events = |column: &Column<'_>| match column.source {
            Source::Measured(..) => Ok(Vec::new()),
            Source::Events(model, _) => {
                all.clone().map(|block| executed_in(info, &version.cfg, (block, u32::MAX), model)).collect()
            }
        };
        let mut starts = vec![0; if version.metrics.is_some() { all.len() } else { 0 }];
        for &(block, _) in version.metrics.iter().flat_map(|metrics| &metrics.calls) {
            starts[block as usize] += 1;
        }
        let events = self.0.iter().map(events).collect::<Result<_>>()?;
        Ok(Blocks { info, version, shape: version.cfg.shape(), starts, events })
    }

    /// Returns the figures of a path of a function.
    ///
    /// # Errors
    /// Returns an error if the bytes differ from those that were validated.
    pub fn figures(&mut self, blocks: &Blocks<'_>, way: &Way<'_>, measured: &[u64]) -> Result<Vec<u64>> {
        let figure = |(column, events): (&mut Column<'_>, &Vec<u64>)| match column.source {
            Source::Measured(..) => Ok(column.of_starts(measured, blocks.starts(way))),
            Source::Events(model, lengths) => {
                let of_lengths = lengths.map_or(0, |number| measured[number as usize]);
                Ok(blocks.events(model, events, way)?.saturating_add(of_lengths))
            }
        };
        self.0.iter_mut().zip(&blocks.events).map(figure).collect()
    }

    /// Returns the metrics of the columns, once all figures are computed.
    pub fn metrics(&self) -> Vec<wprof_profiler::Metric> {
        let metric = |column: &Column<'_>| {
            let Column { name, taken_off, .. } = *column;
            wprof_profiler::Metric { name: name.to_owned(), taken_off }
        };
        self.0.iter().map(metric).collect()
    }
}

/// The contributions of a function's blocks, computed once for all paths.
pub struct Blocks<'a> {
    info: &'a ModuleInfo,
    version: &'a FunctionPlan,
    /// The function's control-flow graph.
    pub shape: &'a wprof_profiler::Cfg,
    /// By block, how often a measurement starts in it: after each call. Empty if nothing is measured.
    starts: Vec<u64>,
    /// By column and block, the block's events; empty for columns with other sources.
    events: Vec<Vec<u64>>,
}

impl Blocks<'_> {
    /// Returns how often measurements started along a path: at its beginning, and after each call.
    fn starts(&self, way: &Way<'_>) -> u64 {
        let Some(metrics) = &self.version.metrics else { return 0 };
        let whole: u64 = way.whole.iter().map(|block| self.starts[block.index()]).sum();
        let last = way.stop.map_or(0, |(block, offset, _)| {
            let before = |&&(of, call): &&(u32, u32)| of == block && call < offset;
            metrics.calls.iter().filter(before).count() as u64
        });
        (1 + whole + last).saturating_mul(way.count)
    }

    /// Returns the events of one kind along a path, given the events of each block.
    fn events(&self, model: &EventModel, of_block: &[u64], way: &Way<'_>) -> Result<u64> {
        let whole: u64 = way.whole.iter().map(|block| of_block[block.index()]).sum();
        let last = way
            .stop
            .map(|(block, offset, _)| executed_in(self.info, &self.version.cfg, (block, offset), model));
        let is_entered = way.path.start == BlockId::ENTRY && way.stop.is_none_or(|(.., entered)| entered);
        // Blocks are in bytecode order, so an edge to an earlier or the same block is a back edge.
        let is_back = |edge: &_| self.shape.edge(*edge).to <= self.shape.edge(*edge).from;
        let backs = way.path.edges.iter().filter(|edge| is_back(edge)).count() as u64;
        let entry = if is_entered { model.entry } else { 0 };
        let each = whole + last.transpose()?.unwrap_or(0) + entry + backs * model.back_edge;
        Ok(each.saturating_mul(way.count))
    }
}

/// Returns the events of one kind in a block, up to a byte offset of the module.
fn executed_in(info: &ModuleInfo, cfg: &Cfg, (block, last): (u32, u32), model: &EventModel) -> Result<u64> {
    Ok(executed(info, cfg, block, last, std::slice::from_ref(model))?[0])
}
