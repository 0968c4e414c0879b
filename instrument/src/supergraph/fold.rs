//! The counts of the original functions that follow from those of a supergraph.
//!
//! Input: the profile of a supergraph and the parts of its blocks. Output: counts of edges and ended frames of each
//! function that the supergraph has frames of.
//! Invariant: a crossed edge of the supergraph is that of the original block which ends there; the end of a callee
//! or of another block within a block is its only edge, which is crossed as often as that begins, but for the frames that
//! stop before. A frame of the machine that stops is one frame for each call that it is in.

use std::collections::BTreeMap;

use wprof_profiler::{BlockId, FunctionProfile, UnfinishedExit};

use super::expand::Instruction;
use super::parts::{Frames, Part};
use crate::Error;
use crate::cfg::Cfg;

/// The counts of an original function.
#[derive(Clone, Debug, Default)]
pub struct Sums {
    /// Counts by edge.
    pub edges: Vec<u64>,
    /// Frames that ended.
    pub exits: Vec<UnfinishedExit>,
}

/// A supergraph with the places of its code.
pub struct Graph<'a> {
    pub frames: Frames<'a>,
    /// Its graph; offsets are those of the new body.
    pub cfg: &'a Cfg,
    pub code: &'a [Instruction],
    /// By block, its parts.
    pub parts: &'a [Vec<Part>],
    /// Offsets of the new body and of the original one, each with that of its code.
    pub begins: [(u32, u32); 2],
}

/// The place where a frame of the machine stopped.
struct Stop {
    /// The innermost frame, its block, and the offset in the original module.
    frame: u32,
    block: u32,
    offset: u32,
    /// Whether the block's first instruction was reached.
    has_begun: bool,
    /// The part of the block, by position among its parts.
    part: usize,
    /// Instructions of the block of the supergraph that began.
    ops: u32,
}

impl Graph<'_> {
    /// Adds the counts of the supergraph to those of its functions.
    ///
    /// # Errors
    /// Returns an error if the profile is of another graph.
    pub fn add_to(&self, profile: &FunctionProfile, sums: &mut BTreeMap<u32, Sums>) -> Result<(), Error> {
        let begun = profile.block_counts();
        let mut counts = profile.counts.edges().unwrap_or(&[]).iter();
        for ((block, parts), (&count, number)) in
            self.cfg.blocks.iter().zip(self.parts).zip(begun.iter().zip(0..))
        {
            let exits = profile.exits.iter().filter(|exit| exit.block.0 == number);
            let stops: Vec<(Stop, u64)> = exits.map(|exit| (self.stop(exit), exit.count)).collect();
            for (position, _) in parts.iter().enumerate().filter(|(_, part)| part.ends_last) {
                let stopped = stops.iter().filter(|(stop, _)| stop.part < position);
                let stopped: u64 = stopped.map(|(_, count)| *count).sum();
                self.cross(&parts[position - 1], 0, count.saturating_sub(stopped), sums)?;
            }
            for (stop, count) in &stops {
                self.end(stop, *count, sums)?;
            }
            let Some(last) = parts.last() else { return Err(Error::OtherCalls) };
            for number in 0..block.edges.len() {
                let &count = counts.next().ok_or(Error::OtherCalls)?;
                self.cross(last, number, count, sums)?;
            }
        }
        Ok(())
    }

    /// Returns the caller of a frame, and the call.
    fn caller(&self, frame: u32) -> (u32, u32) {
        let frame = self.frames.frames[frame as usize];
        (frame.caller, frame.site)
    }

    fn sums<'s>(&self, frame: u32, sums: &'s mut BTreeMap<u32, Sums>) -> &'s mut Sums {
        let cfg = self.frames.cfg(frame);
        let edges = || cfg.blocks.iter().map(|block| block.edges.len()).sum();
        sums.entry(cfg.func).or_insert_with(|| Sums { edges: vec![0; edges()], exits: Vec::new() })
    }

    /// Counts the edge of a number out of a part's block.
    fn cross(
        &self,
        part: &Part,
        number: usize,
        count: u64,
        sums: &mut BTreeMap<u32, Sums>,
    ) -> Result<(), Error> {
        let blocks = &self.frames.cfg(part.frame).blocks;
        let before: usize = blocks[..part.block as usize].iter().map(|block| block.edges.len()).sum();
        if number >= blocks[part.block as usize].edges.len() {
            return Err(Error::OtherCalls);
        }
        let sum = &mut self.sums(part.frame, sums).edges[before + number];
        *sum = sum.saturating_add(count);
        Ok(())
    }

    /// Adds the frames that ended with a frame of the machine.
    fn end(&self, stop: &Stop, count: u64, sums: &mut BTreeMap<u32, Sums>) -> Result<(), Error> {
        let (mut frame, mut block, mut offset) = (stop.frame, stop.block, stop.offset);
        let mut has_begun = stop.has_begun;
        loop {
            let ops_executed = if has_begun {
                self.ops_until(&self.frames.cfg(frame).blocks[block as usize], frame, offset)
            } else {
                0
            };
            let exit = UnfinishedExit { block: BlockId(block), offset, ops_executed, count };
            self.sums(frame, sums).exits.push(exit);
            if frame == 0 {
                return Ok(());
            }
            (frame, offset) = self.caller(frame);
            block = self.frames.block_at(frame, offset);
            has_begun = true;
        }
    }

    /// Returns the number of instructions of an original block up to one.
    fn ops_until(&self, block: &crate::cfg::Block, frame: u32, offset: u32) -> u32 {
        let own = self.code.iter().filter(|instruction| instruction.frame == frame);
        let until = own.filter(|i| block.start <= i.original && i.original <= offset.min(block.limit));
        until.map(|instruction| instruction.ops).sum()
    }

    fn stop(&self, exit: &UnfinishedExit) -> Stop {
        let parts = &self.parts[exit.block.index()];
        let at = exit.offset.saturating_sub(self.begins[0].0);
        let block = &self.cfg.blocks[exit.block.index()];
        let before = self.code.partition_point(|instruction| instruction.at <= at).checked_sub(1);
        let has_begun = at >= block.start;
        let (Some(before), true) = (before, at >= self.begins[0].1 - self.begins[0].0) else {
            let (body, _) = self.begins[1];
            return Stop { frame: 0, block: 0, offset: body + at, has_begun: false, part: 0, ops: 0 };
        };
        let instruction = self.code[before];
        let part = match has_begun {
            true => parts.iter().rposition(|part| part.first <= before).unwrap_or(0),
            false => 0,
        };
        let inside = self.code[..=before].iter().filter(|instruction| instruction.at >= block.start);
        Stop {
            frame: parts[part].frame,
            block: parts[part].block,
            offset: instruction.original,
            has_begun,
            part,
            ops: inside.map(|instruction| instruction.ops).sum(),
        }
    }

    /// Returns where frames ended, by block of the supergraph and offset in the original module.
    pub fn original_exit(&self, exit: &UnfinishedExit) -> UnfinishedExit {
        let stop = self.stop(exit);
        UnfinishedExit { offset: stop.offset, ops_executed: stop.ops, ..*exit }
    }
}
