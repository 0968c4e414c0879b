//! Events along paths: they follow from the blocks of a path, so nothing is counted for them. Kinds for which the lengths
//! of bulk operations matter are left out, as these do not follow.

use wprof_profiler::{
    self as profiler, BlockId, Path, PathCount, PathNumbering, PropagateError, UnfinishedPath,
};

use super::Stop;
use crate::Error;
use crate::cfg::Cfg;
use crate::event_kind::{EventKind, Sums};
use crate::module::Source;
use crate::plan::FunctionPlan;
use crate::split::add;

/// The events of a function's blocks, by which those of its paths are known.
pub struct Figures<'a> {
    cfg: &'a Cfg,
    source: &'a Source<'a>,
    shape: profiler::Cfg,
    /// The kinds, ascending by name.
    kinds: Vec<EventKind>,
    /// By block.
    blocks: Vec<Sums>,
}

impl<'a> Figures<'a> {
    /// Sums up the events of each block.
    ///
    /// # Errors
    /// Returns an error if the bytes differ from those that were validated.
    pub fn new(source: &'a Source<'a>, cfg: &'a Cfg, kinds: &[EventKind]) -> Result<Figures<'a>, Error> {
        let mut kinds: Vec<EventKind> =
            kinds.iter().filter(|kind| !kind.charges_lengths()).cloned().collect();
        kinds.sort_by(|a, b| a.name.cmp(&b.name));
        let mut figures = Figures { cfg, source, shape: cfg.shape(), kinds, blocks: Vec::new() };
        if !figures.kinds.is_empty() {
            let all = 0..cfg.blocks.len() as u32;
            figures.blocks = all.map(|block| figures.begun(block, u32::MAX)).collect::<Result<_, Error>>()?;
        }
        Ok(figures)
    }

    /// Returns the events of a block up to the instruction at a byte offset.
    fn begun(&self, block: u32, last: u32) -> Result<Sums, Error> {
        let (mut sums, block) = (vec![0; self.kinds.len()], &self.cfg.blocks[block as usize]);
        let mut reader = self.source.body(self.cfg.func).get_operators_reader()?;
        while !reader.eof() {
            let (op, at) = reader.read_with_offset()?;
            if at > u64::from(last) || at >= u64::from(block.limit) {
                break;
            }
            if at >= u64::from(block.start) {
                add(&mut sums, &self.kinds, &op);
            }
        }
        Ok(sums)
    }

    /// Returns a path that ran so many times, with its events.
    ///
    /// # Errors
    /// Returns an error if there is no such path.
    pub fn finished(&self, numbering: &PathNumbering, id: u64, count: u64) -> Result<PathCount, Error> {
        Ok(PathCount { id, count, metrics: self.of_path(numbering, id, count)? })
    }

    /// Returns the path on which frames stopped, with its events.
    ///
    /// # Errors
    /// Returns an error if there is no such path.
    pub fn unfinished(
        &self,
        plan: &FunctionPlan,
        numbering: &PathNumbering,
        stop: &Stop,
    ) -> Result<UnfinishedPath, Error> {
        let prefix = plan.prefix_sum(BlockId(stop.site.block), stop.register);
        let metrics = self.of_prefix(numbering, prefix, stop)?;
        Ok(UnfinishedPath { exit: super::exit(&stop.site, stop.count), prefix, metrics })
    }

    fn of_path(&self, numbering: &PathNumbering, id: u64, count: u64) -> Result<Vec<u64>, Error> {
        if self.kinds.is_empty() {
            return Ok(Vec::new());
        }
        let unknown = PropagateError::UnknownPath(id);
        let contradiction = Error::Contradiction { func: self.cfg.func, error: unknown };
        let path = numbering.path(id).ok_or(contradiction)?;
        let whole = path.blocks(&self.shape);
        Ok(self.along(&path, &whole, &vec![0; self.kinds.len()], count))
    }

    fn of_prefix(&self, numbering: &PathNumbering, prefix: u64, stop: &Stop) -> Result<Vec<u64>, Error> {
        if self.kinds.is_empty() {
            return Ok(Vec::new());
        }
        let block = BlockId(stop.site.block);
        let unknown = PropagateError::UnknownPrefix { block, prefix };
        let contradiction = Error::Contradiction { func: self.cfg.func, error: unknown };
        let path = numbering.prefix(block, prefix).ok_or(contradiction)?;
        let blocks = path.blocks_of_prefix(&self.shape);
        let last = self.begun(stop.site.block, stop.site.offset)?;
        Ok(self.along(&path, &blocks[..blocks.len() - 1], &last, stop.count))
    }

    fn along(&self, path: &Path, whole: &[BlockId], last: &Sums, count: u64) -> Vec<u64> {
        // Blocks are in bytecode order.
        let is_back = |edge: &_| self.shape.edge(*edge).to <= self.shape.edge(*edge).from;
        let backs = path.edges.iter().filter(|edge| is_back(edge)).count() as u64;
        let is_entered = path.start == BlockId::ENTRY;
        let kinds = self.kinds.iter().zip(last).enumerate();
        let each = kinds.map(|(number, (kind, last))| {
            let blocks: u64 = whole.iter().map(|block| self.blocks[block.index()][number]).sum();
            let entry = if is_entered { kind.entry } else { 0 };
            blocks + last + entry + backs * kind.back_edge
        });
        each.map(|each| each.saturating_mul(count)).collect()
    }
}

/// Returns the names of the kinds, in the order of figures.
pub fn names(kinds: &[EventKind]) -> Vec<String> {
    let kinds = kinds.iter().filter(|kind| !kind.charges_lengths());
    let mut names: Vec<String> = kinds.map(|kind| kind.name.clone()).collect();
    names.sort();
    names
}
