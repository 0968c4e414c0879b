//! Execution counts of instructions.
//!
//! Input: a function's profile, and the offsets of its instructions. Output: one row per instruction.
//! Invariant: the rows of a function add up to its executed instructions, including frames that ended in mid-block. A
//! block whose instructions are unknown has one row.

use super::CodeMap;
use crate::{BlockId, FunctionProfile};

/// The executions of one instruction, or of a whole block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Execution {
    /// Code offset.
    pub offset: u32,
    /// The number of times control reached the offset.
    pub count: u64,
    /// Instructions executed: equal to `count`, except for whole blocks.
    pub ops: u64,
}

/// Returns the executions of a function's instructions, by offset.
pub fn executions(function: &FunctionProfile, code: &CodeMap) -> Vec<Execution> {
    let figures = function.block_counts().into_iter().zip(function.block_ops());
    let mut rows = Vec::new();
    for ((block, (count, ops)), id) in function.blocks.iter().zip(figures).zip((0..).map(BlockId)) {
        let instructions = code.instructions_in(block.code.start, block.code.end);
        if instructions.len() == block.ops as usize {
            rows.extend(in_block(function, id, count, instructions));
        } else {
            rows.push(Execution { offset: block.code.start, count, ops });
        }
    }
    rows
}

/// Returns the rows of a block. Each instruction was executed as often as the block began, minus the frames that
/// ended before it.
fn in_block<'a>(
    function: &'a FunctionProfile,
    block: BlockId,
    began: u64,
    instructions: &'a [u32],
) -> impl Iterator<Item = Execution> + 'a {
    let missed = move |position: u32| {
        let exits = function.exits.iter().filter(|exit| exit.block == block);
        exits.filter(|exit| exit.ops_executed <= position).map(|exit| exit.count).fold(0, u64::saturating_add)
    };
    instructions.iter().zip(0..).map(move |(&offset, position)| {
        let count = began.saturating_sub(missed(position));
        Execution { offset, count, ops: count }
    })
}
