//! The figures of paths besides their counts: what was measured along them, and the events that follow from their blocks.
//!
//! Input: counts, and sums as frames have left them. Output: a column of figures for each metric, and what was taken off.
//! Source: algorithms.md, section 5; Ammons, Ball & Larus 1997, section 3.2: what measuring adds each time it starts is
//! known, and taken off. Events of paths cost nothing while the program runs.

use wprof_jit::cfg::Cfg;
use wprof_jit::events::{EventModel, executed};
use wprof_jit::module::ModuleInfo;
use wprof_jit::plan::FunctionPlan;
use wprof_profiler::{BlockId, Path};

use crate::Result;
use crate::runtime::store::StoreOpaque;

/// Where the figures of a column come from.
enum Source<'a> {
    /// A metric, by number, and what it grows by itself each time it starts to be measured.
    Measured(usize, u64),
    /// A kind of events.
    Events(&'a EventModel),
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
        // What a bulk operation counts depends on its length, which paths do not tell.
        let kinds = store.engine().collection().events.iter().filter(|model| !model.charges_lengths());
        let events =
            kinds.map(|model| Column { name: &model.name, source: Source::Events(model), taken_off: 0 });
        columns.extend(events);
        columns.sort_by_key(|column| column.name);
        Columns(columns)
    }

    /// Those of a store's calling contexts: what is measured.
    pub fn measured(store: &'a StoreOpaque) -> Columns<'a> {
        let metrics = store.metrics.all().iter().enumerate();
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

    /// The figures of a path of a function.
    ///
    /// # Errors
    /// If the bytes are not those that were validated.
    pub fn figures(
        &mut self,
        info: &ModuleInfo,
        version: &FunctionPlan,
        way: &Way<'_>,
        measured: &[u64],
    ) -> Result<Vec<u64>> {
        let figure = |column: &mut Column<'_>| match column.source {
            Source::Measured(..) => Ok(column.of_starts(measured, starts(version, way))),
            Source::Events(model) => events(info, &version.cfg, model, way),
        };
        self.0.iter_mut().map(figure).collect()
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

/// How often measuring started along a path: at its beginning, and behind each call.
fn starts(version: &FunctionPlan, way: &Way<'_>) -> u64 {
    let Some(metrics) = &version.metrics else { return 0 };
    let whole: u64 = way.whole.iter().map(|block| metrics.calls_in(block.0)).sum();
    let last = way.stop.map_or(0, |(block, offset, _)| {
        let before = |&&(of, call): &&(u32, u32)| of == block && call < offset;
        metrics.calls.iter().filter(before).count() as u64
    });
    (1 + whole + last).saturating_mul(way.count)
}

/// Events of one kind along a path.
fn events(info: &ModuleInfo, cfg: &Cfg, model: &EventModel, way: &Way<'_>) -> Result<u64> {
    let of_block = |block: u32, last: u32| -> Result<u64> {
        Ok(executed(info, cfg, block, last, std::slice::from_ref(model))?[0])
    };
    let mut sum = 0;
    for block in way.whole {
        sum += of_block(block.0, u32::MAX)?;
    }
    if let Some((block, offset, _)) = way.stop {
        sum += of_block(block, offset)?;
    }
    let is_entered = way.path.start == BlockId::ENTRY && way.stop.is_none_or(|(.., entered)| entered);
    let shape = cfg.shape();
    // Blocks are in bytecode order.
    let is_back = |edge: &_| shape.edge(*edge).to <= shape.edge(*edge).from;
    let backs = way.path.edges.iter().filter(|edge| is_back(edge)).count() as u64;
    let each = sum + if is_entered { model.entry } else { 0 } + backs * model.back_edge;
    Ok(each.saturating_mul(way.count))
}
