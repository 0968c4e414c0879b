//! The accesses to memory of a function, by the parts of its split CFG.

use wasmparser::{BinaryReaderError, MemArg, MemArgTarget, Operator};
use wprof_profiler::{Access, AccessKind, BlockId};

use super::split::SplitCfg;
use crate::cfg::{Atomic, Cfg, Group, Operators, place_of};
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
        _ if Group::new(op) == Group::ByteRanges => unreachable!("{op:?} has no arm of its own"),
        _ => match Atomic::new(op) {
            Some(atomic) => atomic_accesses(&atomic),
            None => [plain(op), None],
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

/// Returns the access of an instruction that only loads or stores at one place.
fn plain(op: &Operator<'_>) -> Option<Access> {
    let arg = place_of(op)?;
    // The largest alignment of an access is its width.
    of_width(plain_kind(op)?, 1 << arg.max_align, arg)
}

/// Returns whether an instruction loads or stores at one place; `None` if it does neither, or is atomic, and so may do
/// both.
fn plain_kind(op: &Operator<'_>) -> Option<AccessKind> {
    match Group::new(op) {
        Group::I32Loads | Group::I64Loads | Group::F32Loads | Group::F64Loads | Group::VectorLoads => {
            Some(AccessKind::Load)
        }
        Group::Stores => Some(AccessKind::Store),
        Group::I32Values | Group::I64Values | Group::F32Values | Group::F64Values | Group::Vectors => None,
        Group::Marks | Group::Branches | Group::Calls | Group::Failures | Group::Moves => None,
        Group::Globals | Group::Tables | Group::Memories | Group::References | Group::Objects => None,
        Group::Atomics | Group::ByteRanges | Group::PageRanges | Group::ElementRanges => None,
        Group::Refused => None,
    }
}

/// Reports whether `op` accesses memory at one place.
pub(super) fn is_access(op: &Operator<'_>) -> bool {
    plain_kind(op).is_some() || Atomic::new(op).is_some_and(|atomic| atomic.loads() || atomic.stores())
}
