//! What counts as an executed instruction.

use wasmparser::{BinaryReader, BinaryReaderError, Operator, OperatorsReader};

use super::Cfg;
use crate::module::ModuleInfo;

/// Whether `op` only marks structure: it is never executed and not counted.
pub fn is_structure(op: &Operator<'_>) -> bool {
    matches!(op, Operator::Block { .. } | Operator::Loop { .. } | Operator::Else | Operator::End)
}

/// A reader of the instructions in `range` of the module's bytes.
pub(crate) fn operators(info: &ModuleInfo, start: u32, limit: u32) -> OperatorsReader<'_> {
    let bytes = &info.bytes[start as usize..limit as usize];
    let reader = BinaryReader::new_features(bytes, u64::from(start), info.features);
    OperatorsReader::new(reader)
}

/// How many instructions of `block` lie before byte `offset` of the module: what a frame that stopped there has
/// executed of the block, the instruction at `offset` not included.
///
/// # Errors
/// If the bytes are not those that were validated.
pub fn ops_before(info: &ModuleInfo, cfg: &Cfg, block: u32, offset: u32) -> Result<u32, BinaryReaderError> {
    let block = &cfg.blocks[block as usize];
    let mut reader = operators(info, block.start, block.limit);
    let mut count = 0;
    while !reader.eof() {
        let (op, at) = reader.read_with_offset()?;
        if at >= u64::from(offset) {
            break;
        }
        count += u32::from(!is_structure(&op));
    }
    Ok(count)
}
