//! Conversion of the trace that a module has written into its memory into a trace file, as the engine writes them.
//!
//! Input: the module that was instrumented, and the region of an instance. Output: a file for `wprof_profiler`'s
//! `TraceReader`.
//! Invariant: the file has the run from its beginning: whole, or up to a place that the run did reach.
//! Frames on the stack when the memory is read count as ended there.

use std::collections::HashMap;
use std::io::Write;

use wprof_profiler::{
    BitStream, Frame, HOST_CALLEE, Regenerator, Segment, TraceChunk, TraceHead, TraceWriter, TracedFunctions,
    Unwind,
};

use crate::Error;
use crate::assemble::Plans;
use crate::counters::{RawCounters, double, word};
use crate::descriptor::Descriptor;
use crate::layout::{
    ENTRY, FLAGS, HEIGHT, IS_MENDED, Layout, NOTE, TRACE_BITS, TRACE_BYTES, TRACE_END, TRACE_FULL,
    TRACE_NOTES, TRACE_WORD,
};
use crate::module::Source;
use crate::plan::Collected;
use crate::trace::state;

/// The totals of a trace file that was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceRead {
    /// Number of bits of the trace.
    pub bits: u64,
    /// Whether the whole run is there; otherwise there was no memory for more, or the run overflowed the stack.
    pub is_whole: bool,
}

/// Writes the trace of an instance to a file; `program` names the program for the trace's readers.
///
/// # Errors
/// Returns an error if the region is damaged or has no trace, or of another module, or the file cannot be written.
pub fn read_trace(
    original: &[u8],
    counters: &RawCounters,
    program: &str,
    out: impl Write,
) -> Result<TraceRead, Error> {
    let descriptor = Descriptor::from_bytes(&counters.descriptor)?;
    let source = Source::new(original)?;
    if !source.has_hash(&descriptor.hash) {
        return Err(Error::OtherModule);
    }
    if descriptor.collected != Collected::Trace {
        return Err(Error::NoTrace);
    }
    let plans = Plans::described(&source, &descriptor)?;
    let layout = plans.layout(&source, None, (&descriptor, 0))?;
    let reader = Reader { plans: &plans, first: source.first_defined(), layout, region: &counters.region };
    let mut segment = reader.segment()?;
    let functions = plans.functions.iter().filter_map(|(cfg, plan)| Some((cfg.func, plan.trace()?)));
    let tables: Vec<_> = functions.map(|(func, trace)| trace.table(func)).collect();
    let traced = tables.iter().map(|table| Ok((table.function, table.traced().map_err(|_| DAMAGED)?)));
    let traced: TracedFunctions = traced.collect::<Result<Vec<_>, Error>>()?.into_iter().collect();
    let is_full = word(&counters.region, FLAGS)? & TRACE_FULL != 0;
    let is_whole = shorten(&traced, &mut segment, is_full)?;
    let head = TraceHead { program: program.to_owned(), module_hash: descriptor.hash };
    let mut writer = TraceWriter::new(out, &head, u64::MAX)?;
    writer.add_functions(&tables)?;
    let Segment { bits, unwinds, end, .. } = segment;
    let read = TraceRead { bits: bits.len(), is_whole };
    writer.write_chunk(&TraceChunk { bits, unwinds, end, references: None })?;
    if !is_whole {
        writer.stop();
    }
    writer.finish()?;
    Ok(read)
}

const DAMAGED: Error = Error::BadCounters("their trace is damaged");

/// A look at the stack: where frames were left behind, or what was taken for the callee of a call.
enum Note {
    Left { position: u64, entries: Vec<Entry>, keep: u32 },
    Mended { position: u64, entry: u32 },
}

/// The byte offset of a frame's instruction, and a state.
type Entry = (u32, u32);

struct Reader<'a> {
    plans: &'a Plans,
    /// The index of the first function with a body.
    first: u32,
    layout: Layout,
    region: &'a [u8],
}

impl Reader<'_> {
    /// Returns the whole trace. Frames that are on the stack at its end have ended there.
    fn segment(&self) -> Result<Segment, Error> {
        let bits = self.bits()?;
        let mut notes = self.notes()?;
        let entries = (0..word(self.region, HEIGHT)?).step_by(ENTRY as usize);
        let entries = entries.map(|height| self.entry(self.layout.stack().saturating_add(height)));
        let entries: Vec<Entry> = entries.collect::<Result<_, Error>>()?;
        if !entries.is_empty() {
            notes.push(Note::Left { position: bits.len(), entries, keep: 0 });
        }
        let (bits, left) = mended(bits, notes)?;
        let mut known = HashMap::new();
        let unwinds = left.into_iter().map(|(position, entries, keep)| {
            let last = entries.len().saturating_sub(1);
            let frames = entries.into_iter().enumerate();
            let frames = frames.map(|(index, entry)| {
                *known.entry((entry, index == last)).or_insert_with(|| self.frame(entry, index == last))
            });
            Ok(Unwind { position, frames: frames.collect::<Option<Vec<Frame>>>().ok_or(DAMAGED)?, keep })
        });
        let unwinds = unwinds.collect::<Result<_, Error>>()?;
        Ok(Segment { first_bit: 0, bits, start: Vec::new(), unwinds, end: Vec::new() })
    }

    fn bits(&self) -> Result<BitStream, Error> {
        let (bytes, bits) = (word(self.region, TRACE_BYTES)?, word(self.region, TRACE_BITS)?);
        let start = self.layout.trace_start() as usize;
        let words = self.region.get(start..start.saturating_add(bytes as usize)).ok_or(DAMAGED)?;
        let last = double(self.region, TRACE_WORD)?.to_le_bytes();
        let last = last.get(..bits.div_ceil(8) as usize).ok_or(DAMAGED)?;
        let length = u64::from(bytes) * 8 + u64::from(bits);
        BitStream::from_bytes([words, last].concat(), length).ok_or(DAMAGED)
    }

    /// Returns all notes, the oldest first.
    fn notes(&self) -> Result<Vec<Note>, Error> {
        let end = word(self.region, TRACE_END)?;
        let mut at = end.checked_sub(word(self.region, TRACE_NOTES)?).ok_or(DAMAGED)?;
        let mut notes = Vec::new();
        while at < end {
            if end - at < NOTE {
                return Err(DAMAGED);
            }
            let (position, count) = (double(self.region, at)?, word(self.region, at + 8)?);
            let more = word(self.region, at + 12)?;
            at += NOTE;
            if count == IS_MENDED {
                notes.push(Note::Mended { position, entry: more });
                continue;
            }
            // So much the stack and the rest of the notes may hold.
            let bytes = count.checked_mul(8).filter(|bytes| *bytes <= end - at).ok_or(DAMAGED)?;
            let entries = (0..count).map(|index| self.entry(at + 8 * index));
            notes.push(Note::Left { position, entries: entries.collect::<Result<_, Error>>()?, keep: more });
            at += bytes;
        }
        notes.reverse();
        Ok(notes)
    }

    fn entry(&self, at: u32) -> Result<Entry, Error> {
        Ok((word(self.region, at)?, word(self.region, at.saturating_add(4))?))
    }

    /// Returns the trace's name of the frame of an entry.
    fn frame(&self, entry: Entry, is_innermost: bool) -> Option<Frame> {
        let functions = &self.plans.functions;
        let begins = |(cfg, _): &(crate::cfg::Cfg, _)| cfg.blocks.first().map_or(0, |block| block.start);
        let index = functions.partition_point(|function| begins(function) <= entry.0).checked_sub(1)?;
        let (cfg, plan) = &functions[index];
        debug_assert!(cfg.func >= self.first);
        plan.trace()?.frame(cfg, entry, is_innermost)
    }
}

/// The frames that were left behind at a position: all entries, and how many of them stay.
type Left = (u64, Vec<Entry>, u32);

/// Puts the calls of the host's functions in where the trace has what these called.
fn mended(bits: BitStream, notes: Vec<Note>) -> Result<(BitStream, Vec<Left>), Error> {
    let mut left: Vec<Left> = Vec::new();
    let mut calls = Vec::new();
    for note in notes {
        match note {
            Note::Left { position, entries, keep } => left.push((position, entries, keep)),
            Note::Mended { position, entry } => {
                calls.push(position);
                for (_, entries, _) in left.iter_mut().rev().take_while(|(at, ..)| *at > position) {
                    if let Some(entry) = entries.get_mut(entry as usize) {
                        entry.1 = state::HOST;
                    }
                }
            }
        }
    }
    if calls.is_empty() {
        return Ok((bits, left));
    }
    calls.sort_unstable();
    // The host's function, and a call from the host.
    const MORE: u64 = 32 + 1;
    for (position, ..) in &mut left {
        let before = calls.partition_point(|call| call < position) as u64;
        *position = position.saturating_add(MORE * before);
    }
    let (mut all, mut at) = (BitStream::default(), 0);
    for until in calls.into_iter().chain([bits.len()]) {
        while at < until {
            let count = (until - at).min(32) as u8;
            all.push(bits.read(at, count).ok_or(DAMAGED)?, count);
            at += u64::from(count);
        }
        if until < bits.len() {
            all.push(HOST_CALLEE, 32);
            all.push(1, 1);
        }
    }
    Ok((all, left))
}

/// Cuts off what cannot be regenerated, and of a trace that is full what is behind its last bit, as nobody knows whether
/// that ran. Returns whether the whole trace is left.
fn shorten(functions: &TracedFunctions, segment: &mut Segment, is_full: bool) -> Result<bool, Error> {
    let walk = || Regenerator::new(functions, segment.clone()).map_err(|_| DAMAGED);
    let bits = segment.bits.len();
    let (mut events, mut failed) = (0_u64, is_full);
    let mut first = walk()?;
    if bits > 0 {
        while let Some(event) = first.next() {
            if event.is_err() {
                failed = true;
                break;
            }
            events += 1;
            if is_full && first.bit_position() >= bits {
                break;
            }
        }
    }
    if !failed {
        return Ok(true);
    }
    let mut again = walk()?;
    for _ in 0..events {
        again.next();
    }
    let (position, passed) = (again.bit_position(), again.unwinds_passed());
    let end = again.frames().to_vec();
    let words = segment.bits.as_bytes()[..position.div_ceil(8) as usize].to_vec();
    segment.bits = BitStream::from_bytes(words, position).ok_or(DAMAGED)?;
    segment.unwinds.truncate(passed);
    segment.end = end;
    Ok(false)
}
