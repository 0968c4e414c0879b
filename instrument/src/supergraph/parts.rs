//! The original code of each block of a supergraph.
//!
//! Input: the graph of the expanded body and its instructions, the graphs of the original functions. Output: for each
//! block the *parts* of original blocks that it consists of, in order.
//! Invariant: where a block ends, so does the original block of its last part, with the same edges: structure and
//! branches of a frame are those of its function. Within a block lie marked calls, ends of callees, and joins to which
//! only one way is left, as callees on the others never return. If a branch leads to the end of a callee, a block of its
//! own begins behind it, with the rest of the caller's.

use wprof_profiler::{BlockId, BlockPart, CodeRange};

use super::expand::{Frame, Instruction};
use crate::cfg::{Block, Cfg};

/// A part of an original block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// The frame that executes it.
    pub frame: u32,
    /// The block of the frame's function.
    pub block: u32,
    /// The instructions, by position in the body: the first, and the one behind the last.
    pub first: usize,
    pub end: usize,
    /// Whether the block of the part before has ended here, by its only edge.
    pub ends_last: bool,
}

/// The frames of a supergraph, with their functions' graphs.
pub struct Frames<'a> {
    pub frames: &'a [Frame],
    /// The graphs of all functions with a body.
    pub cfgs: &'a [Cfg],
    /// The index of the first of these functions.
    pub first_defined: u32,
}

impl Frames<'_> {
    /// Returns the original graph of a frame's function.
    pub fn cfg(&self, frame: u32) -> &Cfg {
        &self.cfgs[(self.frames[frame as usize].func - self.first_defined) as usize]
    }

    /// Returns the block of a frame's function that has the code at an offset of the original module, or that ends
    /// there.
    pub fn block_at(&self, frame: u32, offset: u32) -> u32 {
        let blocks = &self.cfg(frame).blocks;
        blocks.partition_point(|block| block.start <= offset).saturating_sub(1) as u32
    }

    /// Returns the parts of a block.
    pub fn parts(&self, block: &Block, code: &[Instruction]) -> Vec<Part> {
        let begin = code.partition_point(|instruction| instruction.at < block.start);
        let end = code.partition_point(|instruction| instruction.at < block.limit).max(begin);
        let Some(first) = code.get(begin) else { return Vec::new() };
        let part = |frame, block, first, ends_last| Part { frame, block, first, end, ends_last };
        let mut parts = vec![part(first.frame, self.block_at(first.frame, first.original), begin, false)];
        // A block that falls through may end with an empty one, which begins at the instruction that it ends before.
        let behind = usize::from(block.end == block.limit && end < code.len());
        for (instruction, at) in code[begin..end + behind].iter().zip(begin..) {
            if let Some(next) = self.begun(instruction)
                && parts.last().is_some_and(|last| (last.frame, last.block) != next && last.frame == next.0)
            {
                parts.push(part(next.0, next.1, at, true));
            }
            if at == end {
                break;
            }
            // A callee may begin with a loop, so that none of its instructions are in this block.
            if instruction.enters > 0 {
                parts.push(part(instruction.enters, 0, at + 1, false));
            }
            if instruction.is_last && instruction.frame > 0 {
                let Frame { caller, site, .. } = self.frames[instruction.frame as usize];
                parts.push(part(caller, self.block_at(caller, site), at + 1, true));
            }
        }
        for next in 1..parts.len() {
            parts[next - 1].end = parts[next].first;
        }
        parts
    }

    /// Returns the frame and the block of its function that begins at an instruction, if one does.
    fn begun(&self, instruction: &Instruction) -> Option<(u32, u32)> {
        let block = self.block_at(instruction.frame, instruction.original);
        let begins = self.cfg(instruction.frame).blocks[block as usize].start == instruction.original;
        begins.then_some((instruction.frame, block))
    }

    /// Returns what a profile says of a part.
    pub fn piece(&self, part: &Part, code: &[Instruction]) -> BlockPart {
        let own = &code[part.first..part.end];
        let start = code.get(part.first).filter(|first| first.frame == part.frame);
        let start = start.map_or(self.cfg(part.frame).blocks[part.block as usize].start, |i| i.original);
        let end = own.last().map_or(start, |last| last.next);
        let ops = own.iter().map(|instruction| instruction.ops).sum();
        BlockPart { frame: part.frame, block: BlockId(part.block), code: CodeRange { start, end }, ops }
    }
}
