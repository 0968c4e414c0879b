//! The figures of paths besides their counts: what was measured along them, and the events that follow from their
//! blocks.
//!
//! Input: counts, and sums as frames have left them. Output: a column of figures for each metric, and what was taken
//! off.
//! Source: Ammons, Ball & Larus 1997, section 3.2: what measuring adds each time it starts
//! is known, and taken off. Events of paths cost nothing while the program runs, but for lengths of bulk operations,
//! which are measured.

use wprof_jit::cfg::Cfg;
use wprof_jit::events::{EventModel, executed};
use wprof_jit::module::ModuleInfo;
use wprof_jit::plan::{FunctionPlan, Metric};
use wprof_profiler::{BlockId, Path};

use crate::Result;
use crate::runtime::instances::store::StoreOpaque;

/// Where the figures of a column come from.
enum Source<'a> {
    /// A metric, by number, and what it grows by itself each time it starts to be measured.
    Measured(usize, u64),
    /// A kind of events, and the metric of its lengths of bulk operations, if it has any.
    Events(&'a EventModel, Option<u32>),
}

struct Column<'a> {
    name: &'a str,
    source: Source<'a>,
    taken_off: u64,
}

impl Column<'_> {
    /// What was measured, without what starting so often has added; nothing if it is not measured.
    fn of_starts(&mut self, measured: &[u64], starts: u64) -> u64 {
        let Source::Measured(number, cost) = self.source else { return 0 };
        let all = measured[number];
        let taken_off = all.min(cost.saturating_mul(starts));
        self.taken_off = self.taken_off.saturating_add(taken_off);
        all - taken_off
    }
}

/// The columns that paths of one store have, ascending by name.
pub struct Columns<'a>(Vec<Column<'a>>);

/// A path, or the beginning of one.
pub struct Way<'a> {
    /// Its first block and its edges.
    pub path: &'a Path,
    /// Its blocks, but for the last one if it is unfinished.
    pub whole: &'a [BlockId],
    /// Where it stopped, if it is unfinished: in which block, at which byte, and whether its function was entered.
    pub stop: Option<(u32, u32, bool)>,
    /// How often it ran.
    pub count: u64,
}

impl<'a> Columns<'a> {
    /// Those of a store.
    pub fn new(store: &'a StoreOpaque) -> Columns<'a> {
        if !store.counts_paths() {
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

    /// Those of a store's calling contexts: what is measured.
    pub fn measured(store: &'a StoreOpaque) -> Columns<'a> {
        let metrics = store.metrics.all().iter().enumerate();
        let metrics = metrics.filter(|(_, metric)| !matches!(metric, Metric::Lengths(_)));
        let measured = metrics.map(|(number, metric)| {
            let source = Source::Measured(number, store.cost_of_start(metric));
            Column { name: metric.name(), source, taken_off: 0 }
        });
        let mut columns: Vec<Column<'_>> = measured.collect();
        columns.sort_by_key(|column| column.name);
        Columns(columns)
    }

    /// The figures of what started to be measured so often.
    pub fn of_starts(&mut self, measured: &[u64], starts: u64) -> Vec<u64> {
        self.0.iter_mut().map(|column| column.of_starts(measured, starts)).collect()
    }

    /// What the blocks of a function add to the figures of the paths that run them.
    ///
    /// # Errors
    /// If the bytes are not those that were validated.
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

    /// The figures of a path of a function.
    ///
    /// # Errors
    /// If the bytes are not those that were validated.
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

    /// What the columns are, when all figures are made.
    pub fn metrics(&self) -> Vec<wprof_profiler::Metric> {
        let metric = |column: &Column<'_>| {
            let Column { name, taken_off, .. } = *column;
            wprof_profiler::Metric { name: name.to_owned(), taken_off }
        };
        self.0.iter().map(metric).collect()
    }
}

/// What the blocks of a function do, so that it is found out once for all paths.
pub struct Blocks<'a> {
    info: &'a ModuleInfo,
    version: &'a FunctionPlan,
    /// The function's graph.
    pub shape: &'a wprof_profiler::Cfg,
    /// By block, how often measuring starts in it: behind each call. Nothing if it is not measured.
    starts: Vec<u64>,
    /// By column, by block, its events; nothing for columns of other figures.
    events: Vec<Vec<u64>>,
}

impl Blocks<'_> {
    /// How often measuring started along a path: at its beginning, and behind each call.
    fn starts(&self, way: &Way<'_>) -> u64 {
        let Some(metrics) = &self.version.metrics else { return 0 };
        let whole: u64 = way.whole.iter().map(|block| self.starts[block.index()]).sum();
        let last = way.stop.map_or(0, |(block, offset, _)| {
            let before = |&&(of, call): &&(u32, u32)| of == block && call < offset;
            metrics.calls.iter().filter(before).count() as u64
        });
        (1 + whole + last).saturating_mul(way.count)
    }

    /// Events of one kind along a path, given those of each block.
    fn events(&self, model: &EventModel, of_block: &[u64], way: &Way<'_>) -> Result<u64> {
        let whole: u64 = way.whole.iter().map(|block| of_block[block.index()]).sum();
        let last = way
            .stop
            .map(|(block, offset, _)| executed_in(self.info, &self.version.cfg, (block, offset), model));
        let is_entered = way.path.start == BlockId::ENTRY && way.stop.is_none_or(|(.., entered)| entered);
        // Blocks are in bytecode order.
        let is_back = |edge: &_| self.shape.edge(*edge).to <= self.shape.edge(*edge).from;
        let backs = way.path.edges.iter().filter(|edge| is_back(edge)).count() as u64;
        let entry = if is_entered { model.entry } else { 0 };
        let each = whole + last.transpose()?.unwrap_or(0) + entry + backs * model.back_edge;
        Ok(each.saturating_mul(way.count))
    }
}

/// Events of one kind in a block, up to a byte of the module.
fn executed_in(info: &ModuleInfo, cfg: &Cfg, (block, last): (u32, u32), model: &EventModel) -> Result<u64> {
    Ok(executed(info, cfg, block, last, std::slice::from_ref(model))?[0])
}
