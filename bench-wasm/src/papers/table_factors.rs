//! The effect of the size, the ways and the index of the hot path table on paths by their executions, by their misses in
//! a cache and by their mispredicted branches: Vaswani 2007, section 5.5.2 and figure 5.7.
//!
//! The design is that of Plackett & Burman (*The design of optimum multifactorial experiments*, Biometrika 1946) for
//! three factors, folded over, so that no factor is confused with what two others do together. The effect of a factor is
//! the mean overlap at its high level minus that at its low one. Misses and mispredictions are simulated along a trace
//! with addresses, and belong to the path in which they happen.

use std::collections::BTreeMap;
use std::iter::Peekable;

use anyhow::{Context, Result, ensure};
use wprof::Tracing;
use wprof::profiler::{
    BlockId, BranchPredictor, CacheShape, DataCache, PathDescriptor, PathItem, SubpathEnd, TraceEvent,
    TraceFileError, TraceStep, WholePath,
};

use super::Runs;
use super::hot_paths::{ByStart, Graphs, ITEMS, graphs, names, overlap_by, percent};
use super::traces::recorded;
use crate::programs::Program;
use crate::table::Table;

/// By factor: whether it is at its high level.
type Levels = [bool; 3];

const FACTORS: [&str; 3] = ["entries", "ways", "index"];
/// The runs of the design; their mirror images are run, too.
const DESIGN: [Levels; 4] =
    [[true, true, false], [false, true, true], [true, false, true], [false, false, false]];
/// The low and the high level of the number of entries, and of ways. The low index is of the starts of paths alone.
const ENTRIES: [usize; 2] = [64, 512];
const WAYS: [usize; 2] = [1, 4];

const AMOUNTS: [&str; 3] = ["executions", "misses", "mispredictions"];

/// Makes the table: for each amount its sum, the overlap at the high level of all factors, and the effects in points.
pub fn effects(runs: &Runs<'_>) -> Result<Table> {
    let columns = |amount: &&str| {
        let effects = FACTORS.map(|factor| format!("{amount}: effect of {factor}"));
        [amount.to_string(), format!("{amount}: overlap, 512/4")].into_iter().chain(effects)
    };
    let head: Vec<String> = AMOUNTS.iter().flat_map(columns).collect();
    runs.each(&head.iter().map(String::as_str).collect::<Vec<_>>(), |program| {
        let run = Measured::new(program)?;
        Ok((0..AMOUNTS.len()).flat_map(|amount| run.cells(amount)).collect())
    })
}

/// The paths of a run in order, with what happened along each.
struct Measured {
    /// The names of each item of the whole path.
    names: Vec<Vec<PathDescriptor>>,
    /// The item of each execution, and its amounts.
    executed: Vec<(u32, [u64; AMOUNTS.len()])>,
}

impl Measured {
    fn new(program: &Program) -> Result<Measured> {
        let mut reader = recorded(program, &program.quick_args, Tracing::Best, true)?;
        let graphs = graphs(&reader);
        let whole = WholePath::of_trace(&mut reader, ITEMS).context("the trace is damaged")?;
        let paths: Vec<Path> = whole.items().iter().map(|&item| Path::new(&whole, &graphs, item)).collect();
        let names = whole.items().iter().map(|&item| names(&whole, &graphs, item)).collect();
        let mut misses = Misses::new(reader.steps_from(0));
        let mut branches = Branches { graphs: &graphs, predictor: BranchPredictor::default() };
        let (mut executed, mut sequence) = (Vec::new(), whole.grammar().items().peekable());
        while let Some(item) = sequence.next() {
            let path = &paths[item as usize];
            if path.blocks.is_empty() {
                continue;
            }
            let next = sequence.peek().and_then(|&next| paths[next as usize].blocks.first());
            let along = [1, misses.along(path)?, branches.along(path, next.copied())];
            if matches!(whole.items()[item as usize], PathItem::Path { .. }) {
                executed.push((item, along));
            }
        }
        Ok(Measured { names, executed })
    }

    fn cells(&self, amount: usize) -> [String; 2 + FACTORS.len()] {
        let sum: u64 = self.executed.iter().map(|(_, amounts)| amounts[amount]).sum();
        if sum == 0 {
            return std::array::from_fn(|at| if at == 0 { "0" } else { "-" }.to_owned());
        }
        let mirrored = DESIGN.map(|levels| levels.map(|level| !level));
        let runs = DESIGN.into_iter().chain(mirrored);
        let overlaps: BTreeMap<Levels, f64> =
            runs.map(|levels| (levels, self.overlap(levels, amount))).collect();
        let effects = std::array::from_fn::<_, { FACTORS.len() }, _>(|factor| {
            format!("{:+.1}", 100.0 * effect(&overlaps, factor))
        });
        let [entries, ways, index] = effects;
        [sum.to_string(), percent(overlaps[&[true; 3]]), entries, ways, index]
    }

    /// Returns the overlap of a table with these levels with the amount of all paths.
    fn overlap(&self, [entries, ways, index]: Levels, amount: usize) -> f64 {
        let shape = (ENTRIES[usize::from(entries)], WAYS[usize::from(ways)]);
        let paths = self.executed.iter().flat_map(|(item, amounts)| {
            // Metrics of a path with several names count as the first one's, executions as each one's.
            let names = self.names[*item as usize].iter().enumerate();
            names.map(move |(at, &name)| (name, if at == 0 || amount == 0 { amounts[amount] } else { 0 }))
        });
        let paths = paths.filter(|(_, amount)| *amount > 0);
        match index {
            true => overlap_by(shape, paths),
            false => overlap_by(shape, paths.map(|(name, amount)| (ByStart(name), amount))),
        }
    }
}

/// Returns the mean at the high level of a factor minus that at its low level.
fn effect(overlaps: &BTreeMap<Levels, f64>, factor: usize) -> f64 {
    let signed = |(levels, overlap): (&Levels, &f64)| if levels[factor] { *overlap } else { -overlap };
    2.0 * overlaps.iter().map(signed).sum::<f64>() / overlaps.len() as f64
}

/// The blocks of an item, and where its last branch leads if that is not to the next item.
struct Path {
    function: u32,
    blocks: Vec<BlockId>,
    end: Option<SubpathEnd>,
    exit: Option<BlockId>,
}

impl Path {
    fn new(whole: &WholePath, graphs: &Graphs, item: PathItem) -> Path {
        let function = match item {
            PathItem::Path { function, .. }
            | PathItem::Stopped { function, .. }
            | PathItem::Called { function, .. } => function,
            PathItem::Enter(_) | PathItem::Leave | PathItem::Unwound => 0,
        };
        // EXIT is behind all blocks.
        let exit = graphs.get(&function).and_then(|graph| graph.values().flatten().max());
        let blocks = whole.blocks(item).unwrap_or_default();
        Path { function, blocks, end: whole.end_of(item), exit: exit.map(|&exit| BlockId(exit)) }
    }
}

/// A simulated cache that follows a trace, one path after the other.
struct Misses<I: Iterator> {
    steps: Peekable<I>,
    cache: DataCache,
}

impl<I: Iterator<Item = Result<TraceStep, TraceFileError>>> Misses<I> {
    fn new(steps: I) -> Self {
        Self { steps: steps.peekable(), cache: DataCache::new(CacheShape::USUAL) }
    }

    /// Returns the misses along the next path, whose blocks must be the next ones of the trace.
    fn along(&mut self, path: &Path) -> Result<u64> {
        let (mut blocks, mut misses) = (path.blocks.iter(), 0);
        let begins =
            |step: &Result<TraceStep, _>| matches!(step, Ok(TraceStep::Event(TraceEvent::Block(..))));
        while let Some(step) = self.steps.next_if(|step| blocks.len() > 0 || !begins(step)) {
            match step? {
                TraceStep::Event(TraceEvent::Block(function, block)) => {
                    let is_next = function == path.function && blocks.next() == Some(&block);
                    ensure!(is_next, "the trace has {block} of function {function}, the path another block");
                }
                TraceStep::Reference(made) => {
                    misses += self.cache.touch(made.access.memory.into(), made.address, made.bytes);
                }
                TraceStep::Event(_) => {}
            }
        }
        ensure!(blocks.len() == 0, "the trace ends within a path");
        Ok(misses)
    }
}

/// A simulated branch predictor that follows paths.
struct Branches<'a> {
    graphs: &'a Graphs,
    predictor: BranchPredictor,
}

impl Branches<'_> {
    /// Returns the mispredicted branches along a path; `next` is the first block of the next one.
    fn along(&mut self, path: &Path, next: Option<BlockId>) -> u64 {
        let last = match path.end {
            Some(SubpathEnd::Loop) => next,
            Some(SubpathEnd::Return) => path.exit,
            _ => None,
        };
        let targets = path.blocks.iter().skip(1).copied().chain(last);
        let taken = path.blocks.iter().zip(targets);
        taken.filter(|&(&from, to)| self.is_mispredicted(path.function, from, to)).count() as u64
    }

    fn is_mispredicted(&mut self, function: u32, from: BlockId, to: BlockId) -> bool {
        let ways = self.graphs.get(&function).and_then(|graph| graph.get(&from.0));
        let Some([_, second]) = ways.map(Vec::as_slice) else { return false };
        !self.predictor.predict((function << 12) ^ from.0, to.0 == *second)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn effects_are_of_one_factor_alone() {
        let all = DESIGN.into_iter().chain(DESIGN.map(|levels| levels.map(|level| !level)));
        let weight = |on: bool, weight: f64| if on { weight } else { 0.0 };
        // The last two factors also do something together, which is in the effect of neither, nor of the first.
        let overlaps: BTreeMap<Levels, f64> = all
            .map(|levels| {
                let [entries, ways, index] = levels;
                let together = if ways == index { 0.05 } else { -0.05 };
                (levels, 0.3 + weight(entries, 0.25) + weight(ways, 0.125) + together)
            })
            .collect();
        assert_eq!(overlaps.len(), 8);
        let effects: [f64; 3] = std::array::from_fn(|factor| effect(&overlaps, factor));
        for (effect, expected) in effects.into_iter().zip([0.25, 0.125, 0.0]) {
            assert!((effect - expected).abs() < 1e-9, "{effects:?}");
        }
    }
}
