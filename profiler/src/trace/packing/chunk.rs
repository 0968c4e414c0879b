//! Converts a chunk's bits to decisions, and back.

use super::Packed;
use super::coder::{Decoder, Encoder};
use super::walk::{Lookahead, Walk};
use crate::BlockId;
use crate::fnv::Fnv64;
use crate::trace::functions::TracedFunctions;
use crate::trace::regenerate::same_stack;
use crate::trace::{BitStream, Frame, Regenerator, Segment, TraceError, TraceEvent, Unwind};

/// Number of events that are known in advance; a step takes at most three.
const AHEAD: usize = 4096;
const LEAST_AHEAD: usize = 3;

/// The next events of a run.
struct Events<'a> {
    walk: Regenerator<'a>,
    known: Vec<TraceEvent>,
    at: usize,
}

impl Events<'_> {
    fn lookahead(&mut self) -> Result<&[TraceEvent], TraceError> {
        if self.known.len() < self.at + LEAST_AHEAD {
            self.known.drain(..self.at.min(self.known.len()));
            self.at = 0;
            while self.known.len() < AHEAD
                && let Some(event) = self.walk.next()
            {
                self.known.push(event?);
            }
        }
        Ok(&self.known[self.at..])
    }
}

/// Packs a chunk.
///
/// # Errors
/// Returns an error if the segment contradicts itself.
pub(super) fn pack(
    walk: &mut Walk,
    functions: &TracedFunctions,
    segment: Segment,
) -> Result<Packed, TraceError> {
    let checksum = checksum(&segment.bits);
    let (first_bit, len) = (segment.first_bit, segment.bits.len());
    let end = Unwind { position: len, frames: segment.end.clone(), keep: u32::MAX };
    let stops: Vec<Unwind> = segment.unwinds.iter().cloned().chain([end]).collect();
    walk.begin(segment.start.clone());
    let mut events = Events { walk: Regenerator::new(functions, segment)?, known: Vec::new(), at: 0 };
    let mut packed = Packed { len, checksum, stops: Vec::new(), code: Vec::new() };
    let mut encoder = Encoder::new();
    for (number, stop) in stops.iter().enumerate() {
        let stopped_in = stop.frames.last().map_or(BlockId::ENTRY, |frame| frame.block);
        let mut steps = 0;
        while walk.at != stop.position || !same_stack(&walk.frames, &stop.frames) {
            let ahead = Lookahead { events: events.lookahead()?, stop: stopped_in };
            let lost = TraceError::Lost { position: first_bit + walk.at };
            let taken = walk.step(functions, &mut encoder, ahead).ok_or(lost.clone())?;
            if taken > ahead.events.len() || walk.at > stop.position {
                return Err(lost);
            }
            events.at += taken;
            steps += 1;
        }
        let is_end = number + 1 == stops.len();
        if !is_end {
            for _ in stop.keep as usize..stop.frames.len() {
                events.lookahead()?;
                events.at += 1;
            }
            walk.unwind(stop.keep);
        }
        packed.stops.push((steps, (!is_end).then_some(stop.keep)));
    }
    packed.code = encoder.finish();
    Ok(packed)
}

/// Restores the bits and the unwindings of a chunk; returns `None` if it is damaged.
pub(super) fn unpack(
    walk: &mut Walk,
    functions: &TracedFunctions,
    start: Vec<Frame>,
    packed: &Packed,
) -> Option<(BitStream, Vec<Unwind>)> {
    walk.begin(start);
    let mut unwinds = Vec::new();
    let mut decoder = Decoder::new(&packed.code);
    for &(steps, keep) in &packed.stops {
        for _ in 0..steps {
            walk.step(functions, &mut decoder, Lookahead::UNKNOWN)?;
        }
        if let Some(keep) = keep {
            unwinds.push(Unwind { position: walk.at, frames: walk.frames.clone(), keep });
            walk.unwind(keep);
        }
    }
    let bits = std::mem::take(&mut walk.bits);
    (bits.len() == packed.len && checksum(&bits) == packed.checksum).then_some((bits, unwinds))
}

fn checksum(bits: &BitStream) -> u64 {
    Fnv64::new().bytes(bits.as_bytes()).finish()
}
