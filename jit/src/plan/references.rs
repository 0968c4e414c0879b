//! The accesses to memory of a function, by the parts of its split CFG.

use wasmparser::{BinaryReaderError, MemArg, MemArgTarget, Operator};
use wprof_profiler::{Access, AccessKind, BlockId};

use super::split::SplitCfg;
use crate::cfg::{Atomic, Cfg, Operators};
use crate::module::ModuleInfo;

/// Returns all accesses, ascending by part, within each in execution order.
///
/// # Errors
/// Returns an error if the bytes are not those that were validated.
pub(super) fn accesses(
    info: &ModuleInfo,
    cfg: &Cfg,
    split: &SplitCfg,
) -> Result<Vec<Access>, BinaryReaderError> {
    let mut all = Vec::new();
    for (block, index) in cfg.blocks.iter().zip(0..) {
        let mut operators = Operators::new(info, block.start, block.limit);
        while let Some((op, site)) = operators.next()? {
            let of_op = accesses_of(&op);
            all.extend(of_op.into_iter().flatten().map(|access| {
                let block = BlockId(split.position(index, site).part);
                Access { block, site, ..access }
            }));
        }
    }
    Ok(all)
}

/// Returns how many of the accesses of `part` come before byte `offset`; each access of an instruction counts as one
/// byte of it.
pub(super) fn count_before(accesses: &[Access], part: u32, offset: u32) -> u32 {
    let mut places = 0;
    let (mut last, mut place) = (u32::MAX, 0);
    for access in accesses.iter().filter(|access| access.block.0 == part) {
        place = if access.site == last { place + 1 } else { access.site };
        last = access.site;
        places += u32::from(place < offset);
    }
    places
}

/// Returns the accesses of an instruction, without their place, in the order in which they are recorded.
fn accesses_of(op: &Operator<'_>) -> [Option<Access>; 2] {
    use AccessKind::{Load, Store};
    let bulk =
        |kind, memory| Some(Access { block: BlockId::ENTRY, site: 0, kind, memory, offset: 0, bytes: None });
    match *op {
        Operator::MemoryCopy { dst_mem, src_mem } => [bulk(Load, src_mem), bulk(Store, dst_mem)],
        Operator::MemoryFill { mem } | Operator::MemoryInit { mem, .. } => [bulk(Store, mem), None],
        _ => match Atomic::new(op) {
            Some(atomic) => atomic_accesses(&atomic),
            None => [fixed(op), None],
        },
    }
}

/// Returns the read of an atomic instruction, and then its write.
fn atomic_accesses(atomic: &Atomic) -> [Option<Access>; 2] {
    let access = |kind| of_width(kind, atomic.bytes, atomic.arg);
    let load = atomic.loads().then(|| access(AccessKind::Load)).flatten();
    let store = atomic.stores().then(|| access(AccessKind::Store)).flatten();
    match load {
        Some(_) => [load, store],
        None => [store, None],
    }
}

fn of_width(kind: AccessKind, bytes: u8, arg: MemArg) -> Option<Access> {
    let MemArgTarget::Memory(memory) = arg.target else { return None };
    Some(Access { block: BlockId::ENTRY, site: 0, kind, memory, offset: arg.offset, bytes: Some(bytes) })
}

fn fixed(op: &Operator<'_>) -> Option<Access> {
    let (kind, bytes, arg) = match loaded(op) {
        Some((bytes, arg)) => (AccessKind::Load, bytes, arg),
        None => stored(op).map(|(bytes, arg)| (AccessKind::Store, bytes, arg))?,
    };
    of_width(kind, bytes, arg)
}

/// Reports whether `op` accesses memory at one place.
pub(super) fn is_access(op: &Operator<'_>) -> bool {
    loaded(op).or_else(|| stored(op)).is_some()
        || Atomic::new(op).is_some_and(|atomic| atomic.loads() || atomic.stores())
}

/// Returns the number of bytes that an instruction loads.
fn loaded(op: &Operator<'_>) -> Option<(u8, MemArg)> {
    use Operator as O;
    Some(match *op {
        O::I32Load8S { memarg }
        | O::I32Load8U { memarg }
        | O::I64Load8S { memarg }
        | O::I64Load8U { memarg }
        | O::V128Load8Splat { memarg }
        | O::V128Load8Lane { memarg, .. } => (1, memarg),
        O::I32Load16S { memarg }
        | O::I32Load16U { memarg }
        | O::I64Load16S { memarg }
        | O::I64Load16U { memarg }
        | O::V128Load16Splat { memarg }
        | O::V128Load16Lane { memarg, .. } => (2, memarg),
        O::I32Load { memarg }
        | O::F32Load { memarg }
        | O::I64Load32S { memarg }
        | O::I64Load32U { memarg }
        | O::V128Load32Splat { memarg }
        | O::V128Load32Zero { memarg }
        | O::V128Load32Lane { memarg, .. } => (4, memarg),
        O::I64Load { memarg }
        | O::F64Load { memarg }
        | O::V128Load8x8S { memarg }
        | O::V128Load8x8U { memarg }
        | O::V128Load16x4S { memarg }
        | O::V128Load16x4U { memarg }
        | O::V128Load32x2S { memarg }
        | O::V128Load32x2U { memarg }
        | O::V128Load64Splat { memarg }
        | O::V128Load64Zero { memarg }
        | O::V128Load64Lane { memarg, .. } => (8, memarg),
        O::V128Load { memarg } => (16, memarg),
        _ => return None,
    })
}

/// Returns the number of bytes that an instruction stores.
fn stored(op: &Operator<'_>) -> Option<(u8, MemArg)> {
    use Operator as O;
    Some(match *op {
        O::I32Store8 { memarg } | O::I64Store8 { memarg } | O::V128Store8Lane { memarg, .. } => (1, memarg),
        O::I32Store16 { memarg } | O::I64Store16 { memarg } | O::V128Store16Lane { memarg, .. } => {
            (2, memarg)
        }
        O::I32Store { memarg }
        | O::F32Store { memarg }
        | O::I64Store32 { memarg }
        | O::V128Store32Lane { memarg, .. } => (4, memarg),
        O::I64Store { memarg } | O::F64Store { memarg } | O::V128Store64Lane { memarg, .. } => (8, memarg),
        O::V128Store { memarg } => (16, memarg),
        _ => return None,
    })
}
