//! Events of blocks, and of their first instructions.

use wasmparser::BinaryReaderError;

use super::model::EventModel;
use super::opcode::{Unit, length_unit};
use crate::cfg::{Block, Cfg, Operators};
use crate::module::ModuleInfo;

type Result<T> = std::result::Result<T, BinaryReaderError>;

/// Events of each block's instructions: of model `m` and block `b` at `[m][b]`. Entries, back edges and lengths of
/// bulk operations are not in it.
///
/// # Errors
/// If the bytes are not those that were validated.
pub fn block_events(info: &ModuleInfo, cfg: &Cfg, models: &[EventModel]) -> Result<Vec<Vec<u64>>> {
    let mut sums = vec![Vec::with_capacity(cfg.blocks.len()); models.len()];
    for block in &cfg.blocks {
        let events = sum(info, block, u32::MAX, models)?;
        sums.iter_mut().zip(events).for_each(|(row, events)| row.push(events));
    }
    Ok(sums)
}

/// Events, for each model, of the instructions of `block` that a frame has begun that stopped at byte `offset` of the
/// module; the one at `offset` counts, as in [`ops_executed`](crate::cfg::ops_executed). With an offset before the
/// block there are none.
///
/// # Errors
/// If the bytes are not those that were validated.
pub fn executed(
    info: &ModuleInfo,
    cfg: &Cfg,
    block: u32,
    offset: u32,
    models: &[EventModel],
) -> Result<Vec<u64>> {
    sum(info, &cfg.blocks[block as usize], offset, models)
}

/// Sums up to and including the instruction at byte `last`. No sum overflows: see `EventModel::costs`.
fn sum(info: &ModuleInfo, block: &Block, last: u32, models: &[EventModel]) -> Result<Vec<u64>> {
    let mut operators = Operators::new(info, block.start, block.limit);
    let mut sums = vec![0; models.len()];
    while let Some((op, at)) = operators.next()? {
        if at > last {
            break;
        }
        sums.iter_mut().zip(models).for_each(|(sum, model)| *sum += model.cost(&op));
    }
    Ok(sums)
}

/// A bulk operation whose length counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BulkSite {
    /// The block that it is in.
    pub block: u32,
    /// Its byte offset in the module.
    pub offset: u32,
    /// What its length counts.
    pub unit: Unit,
    /// Events of each unit.
    pub per_unit: u64,
}

/// The bulk operations whose length counts under `model`, in bytecode order.
///
/// # Errors
/// If the bytes are not those that were validated.
pub fn bulk_sites(info: &ModuleInfo, cfg: &Cfg, model: &EventModel) -> Result<Vec<BulkSite>> {
    let mut sites = Vec::new();
    if !model.charges_lengths() {
        return Ok(sites);
    }
    for (block, index) in cfg.blocks.iter().zip(0..) {
        let mut operators = Operators::new(info, block.start, block.limit);
        while let Some((op, offset)) = operators.next()? {
            let per_unit = model.per_unit(&op);
            if let Some(unit) = length_unit(&op).filter(|_| per_unit != 0) {
                sites.push(BulkSite { block: index, offset, unit, per_unit });
            }
        }
    }
    Ok(sites)
}
