//! Loops that follow pointers: lists, and whatever else leads from each object to the next.
//!
//! Input: a function's blocks. Output: for each loop the local that holds a pointer at its header, if the next round's
//! pointer is loaded from what this round's points to. Example: `(local.set $p (i32.load offset=8 (local.get $p)))`.
//! What is found here is only worth trying: nothing but time depends on it.

use hashbrown::HashSet;
use wasmparser::{BinaryReaderError, MemArgTarget, Operator};
use wprof_profiler::LoopId;

use crate::cfg::{Cfg, Operators};
use crate::module::ModuleInfo;

/// A pointer that a loop follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chase {
    /// The block of the loop's header.
    pub header: u32,
    /// The local that holds the pointer there.
    pub local: u32,
    /// The memory.
    pub memory: u32,
    /// The offset from the pointer at which the next one is.
    pub offset: u32,
}

/// A load of a pointer, or a copy: what local `to` gets by way of local `from`.
#[derive(Clone, Copy, Debug)]
enum Step {
    Load { from: u32, to: u32, memory: u32, offset: u32 },
    Copy { from: u32, to: u32 },
}

/// What is on top of the operand stack, as far as it matters.
#[derive(Clone, Copy, Debug)]
enum Top {
    Local(u32),
    Loaded { from: u32, memory: u32, offset: u32 },
}

impl Top {
    fn into(self, to: u32) -> Step {
        match self {
            Top::Local(from) => Step::Copy { from, to },
            Top::Loaded { from, memory, offset } => Step::Load { from, to, memory, offset },
        }
    }
}

/// Returns the pointers that loops of a function follow, one for a loop, by ascending header.
///
/// # Errors
/// Fails if the bytes differ from the validated ones.
pub(crate) fn chases(info: &ModuleInfo, cfg: &Cfg) -> Result<Vec<Chase>, BinaryReaderError> {
    let loops = cfg.loops();
    let mut found = Vec::new();
    for (id, of) in loops.iter().filter(|&(id, _)| loops.is_innermost(id)) {
        let steps = steps(info, cfg, id)?;
        found.extend(chase(info, cfg, of.header.0, &steps));
    }
    found.sort_unstable_by_key(|chase| chase.header);
    Ok(found)
}

/// Returns what the blocks of an innermost loop load and copy.
fn steps(info: &ModuleInfo, cfg: &Cfg, id: LoopId) -> Result<Vec<Step>, BinaryReaderError> {
    let mut steps = Vec::new();
    for block in cfg.loops().blocks(id) {
        let block = &cfg.blocks[block.index()];
        let (mut operators, mut top) = (Operators::new(info, block.start, block.limit), None);
        while let Some((op, _)) = operators.next()? {
            top = match (op, top) {
                (Operator::LocalGet { local_index }, _) => Some(Top::Local(local_index)),
                (Operator::LocalTee { local_index }, Some(on_top)) => {
                    steps.push(on_top.into(local_index));
                    Some(on_top)
                }
                (Operator::LocalTee { local_index }, None) => Some(Top::Local(local_index)),
                (Operator::LocalSet { local_index }, Some(on_top)) => {
                    steps.push(on_top.into(local_index));
                    None
                }
                (Operator::I32Load { memarg }, Some(Top::Local(from))) => {
                    match (memarg.target, u32::try_from(memarg.offset)) {
                        (MemArgTarget::Memory(memory), Ok(offset)) => {
                            Some(Top::Loaded { from, memory, offset })
                        }
                        _ => None,
                    }
                }
                _ => None,
            };
        }
    }
    Ok(steps)
}

/// Returns the pointer that a loop with these loads and copies follows.
fn chase(info: &ModuleInfo, cfg: &Cfg, header: u32, steps: &[Step]) -> Option<Chase> {
    steps.iter().find_map(|step| {
        let &Step::Load { from, to, memory, offset } = step else { return None };
        let is_in_memory = is_always_in_memory(info, memory, offset);
        if !is_in_memory || !locals_copied_from(to, steps).contains(&from) {
            return None;
        }
        let is_live = |local: &u32| cfg.liveness.is_live(header, *local as usize);
        let local = [from, to].into_iter().find(is_live)?;
        Some(Chase { header, local, memory, offset })
    })
}

/// Returns the locals to which the steps copy the value of a local, directly or through others, and the local itself.
fn locals_copied_from(origin: u32, steps: &[Step]) -> HashSet<u32> {
    let mut all = HashSet::from([origin]);
    loop {
        let before = all.len();
        for step in steps {
            if let &Step::Copy { from, to } = step
                && all.contains(&from)
            {
                all.insert(to);
            }
        }
        if all.len() == before {
            return all;
        }
    }
}

/// Reports whether the memory always has a pointer at this offset, so that it can be loaded when nothing else can.
fn is_always_in_memory(info: &ModuleInfo, memory: u32, offset: u32) -> bool {
    let ty = &info.memories[memory as usize];
    !ty.memory64 && ty.page_size_log2.is_none() && u64::from(offset) + 4 <= ty.initial << 16
}
