//! Events of stretches of code.

use wasmparser::BinaryReaderError;

use super::model::EventModel;
use crate::cfg::{Cfg, Operators};
use crate::module::ModuleInfo;

type Result<T> = std::result::Result<T, BinaryReaderError>;

/// Returns the events, for each model, of the instructions of a block that a frame has begun which stopped at byte
/// `offset` of the module; the one at `offset` counts, as in [`ops_executed`](crate::cfg::ops_executed). With an offset
/// before the block there are none. Entries, back edges and lengths of bulk operations are not included.
///
/// # Errors
/// Returns an error if the bytes are not those that were validated.
pub fn executed(
    info: &ModuleInfo,
    cfg: &Cfg,
    block: u32,
    offset: u32,
    models: &[EventModel],
) -> Result<Vec<u64>> {
    let block = &cfg.blocks[block as usize];
    sum(info, (block.start, block.limit), offset, models)
}

/// Sums up the instructions from byte `start` to byte `limit`, up to and including the one at byte `last`. No sum
/// overflows: see `EventModel::costs`.
pub(crate) fn sum(
    info: &ModuleInfo,
    (start, limit): (u32, u32),
    last: u32,
    models: &[EventModel],
) -> Result<Vec<u64>> {
    let mut operators = Operators::new(info, start, limit);
    let mut sums = vec![0; models.len()];
    while let Some((op, at)) = operators.next()?
        && at <= last
    {
        sums.iter_mut().zip(models).for_each(|(sum, model)| *sum += model.cost(&op));
    }
    Ok(sums)
}
