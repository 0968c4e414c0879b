//! Regenerates a run from its bits.
//!
//! Input: the functions of a trace, and a [`Segment`]. Output: the run's events in order.
//! Invariant: a valid segment gives exactly what ran, and any other one ends with one error; every item takes bounded
//! work. Without bits the walk is acyclic except for recursion, which the limit of frames ends.
//! Source: Ball & Larus 1994, figure 14 and section 4.2: from block to block, reading a witness at a predicate and
//! consuming it where its edge is crossed, with a stack of frames. Ours: the stops. All bits before a stop are
//! consumed at the stop, so a predicate that finds none left lies on the silent path to the block where the run
//! stopped.
//! Oracle: `tests/it/trace.rs`.

use std::collections::{HashMap, VecDeque};

use super::decoding::DecodingTables;
use super::function::{EdgeStep, Way};
use super::{
    BitStream, Call, Frame, HOST_CALLEE, Segment, Stage, TraceCounts, TraceError, TraceEvent, TracedFunction,
    TracedFunctions,
};
use crate::limits::MAX_FRAMES;
use crate::{BlockId, EdgeId};

/// Iterator over the events of one segment.
pub struct Regenerator<'a> {
    functions: &'a TracedFunctions,
    first_bit: u64,
    bits: BitStream,
    stops: VecDeque<Stop>,
    frames: Vec<Frame>,
    /// Number of unwindings passed.
    unwinds: usize,
    /// Number of bits consumed.
    at: u64,
    events: VecDeque<TraceEvent>,
    done: bool,
    tables: DecodingTables,
    /// Decoded branches where there is no table: the out-edge of a function's block for a symbol.
    known: HashMap<(u32, BlockId, u32), EdgeId>,
    /// By dense number of the function: its counts.
    counts: Vec<TraceCounts>,
}

/// A point that the run is known to have reached.
struct Stop {
    at: u64,
    frames: Vec<Frame>,
    /// Number of frames that survive; `None` at the end of the segment.
    keep: Option<usize>,
}

type Step<T> = Result<T, TraceError>;

impl<'a> Regenerator<'a> {
    /// Begins with the segment's first stack. Blocks that were entered before are not repeated.
    ///
    /// # Errors
    /// Returns an error if a recorded stack is impossible, or the stops are out of order.
    pub fn new(functions: &'a TracedFunctions, segment: Segment) -> Step<Self> {
        let Segment { first_bit, bits, start, unwinds, end } = segment;
        let end = Stop { at: bits.len(), frames: end, keep: None };
        let unwinds = unwinds.into_iter().map(|unwind| {
            let keep = usize::try_from(unwind.keep).unwrap_or(usize::MAX);
            Stop { at: unwind.position, frames: unwind.frames, keep: Some(keep) }
        });
        let stops = unwinds.chain([end]).collect();
        let walk = Self {
            functions,
            first_bit,
            bits,
            stops,
            frames: start,
            unwinds: 0,
            at: 0,
            events: VecDeque::new(),
            done: false,
            tables: DecodingTables::default(),
            known: HashMap::new(),
            counts: vec![TraceCounts::default(); functions.indices().count()],
        };
        walk.check()?;
        Ok(walk)
    }

    /// Checks the stacks and stops that the walk relies on.
    fn check(&self) -> Step<()> {
        self.check_stack(0, &self.frames)?;
        let mut last = 0;
        for stop in &self.stops {
            if stop.at < last || stop.at > self.bits.len() {
                return Err(TraceError::Lost { position: self.absolute(stop.at) });
            }
            last = stop.at;
            self.check_stack(stop.at, &stop.frames)?;
            let kept = stop.keep.map_or(&stop.frames[..], |keep| stop.frames.get(..keep).unwrap_or(&[]));
            // A frame that catches an exception which has ended its callee survives in a call.
            let survives = kept.last().is_none_or(|frame| {
                frame.stage == Stage::Host || frame.stage == Stage::Call && kept.len() < stop.frames.len()
            });
            if stop.keep.is_some_and(|keep| keep > stop.frames.len() || !survives) {
                return Err(TraceError::BadStack { position: self.absolute(stop.at), frame: kept.len() });
            }
        }
        Ok(())
    }

    fn check_stack(&self, at: u64, frames: &[Frame]) -> Step<()> {
        let possible = |(depth, frame): (usize, &Frame)| {
            let Some(function) = self.functions.get(frame.function) else { return false };
            let outer = depth + 1 < frames.len();
            let fits = match (frame.stage, function.call(frame.block)) {
                (Stage::Body, _) => !outer,
                (Stage::Call, call) => outer && matches!(call, Some(Call::Direct(_) | Call::Indirect)),
                (Stage::Host, call) => matches!(call, Some(Call::Host | Call::Indirect | Call::Tail)),
                (Stage::Returned, call) => !outer && call.is_some(),
            };
            fits && frame.block <= function.cfg().exit()
        };
        match frames.iter().enumerate().position(|frame| !possible(frame)) {
            Some(frame) => Err(TraceError::BadStack { position: self.absolute(at), frame }),
            None if frames.len() > MAX_FRAMES => Err(TraceError::TooDeep { position: self.absolute(at) }),
            None => Ok(()),
        }
    }

    /// Returns a position in the whole stream, for errors.
    fn absolute(&self, at: u64) -> u64 {
        self.first_bit.saturating_add(at)
    }

    /// Returns the number of bits consumed so far, counted in the whole stream.
    pub fn bit_position(&self) -> u64 {
        self.absolute(self.at)
    }

    /// Returns the number of unwindings up to the last event returned, including the unwinding that the event belongs
    /// to.
    pub fn unwinds_passed(&self) -> usize {
        self.unwinds
    }

    /// Returns the live frames after the events returned so far, except while events of one step are pending.
    pub fn frames(&self) -> &[Frame] {
        &self.frames
    }

    /// Iterates over the functions with the counts regenerated so far.
    pub fn counts(&self) -> impl Iterator<Item = (u32, TraceCounts)> {
        self.functions.indices().zip(self.counts.iter().copied())
    }

    fn lost<T>(&self) -> Step<T> {
        Err(TraceError::Lost { position: self.bit_position() })
    }

    fn function(&self, index: u32) -> Step<&'a TracedFunction> {
        let unknown = TraceError::UnknownFunction { position: self.bit_position(), function: index };
        self.functions.get(index).ok_or(unknown)
    }

    /// Returns the position of the next stop, before which only earlier bits were written.
    #[inline]
    fn limit(&self) -> u64 {
        self.stops.front().map_or(self.at, |stop| stop.at)
    }

    fn read(&mut self, bits: u8) -> Step<u32> {
        let end = self.at.saturating_add(u64::from(bits));
        match self.bits.read(self.at, bits).filter(|_| end <= self.limit()) {
            Some(value) => {
                self.at = end;
                Ok(value)
            }
            None => self.lost(),
        }
    }

    /// Takes one step of the run, which produces an event, consumes a stop, or reads.
    fn step(&mut self) -> Step<()> {
        if let Some(stop) = self.stops.front()
            && stop.at == self.at
            && same_stack(&stop.frames, &self.frames)
        {
            let keep = stop.keep;
            self.stops.pop_front();
            self.stop(keep);
            return Ok(());
        }
        match self.frames.last().copied() {
            None => self.root(),
            Some(frame) => self.go_on(frame),
        }
    }

    fn stop(&mut self, keep: Option<usize>) {
        let Some(keep) = keep else {
            self.done = true;
            return;
        };
        self.unwinds += 1;
        let ended = self.frames.drain(keep.min(self.frames.len())..).rev();
        self.events
            .extend(ended.map(|Frame { function, block, .. }| TraceEvent::Unwound { function, block }));
        self.return_to_caller();
    }

    /// Handles a stack without frames: the host has control and can only enter a function.
    fn root(&mut self) -> Step<()> {
        if self.read(1)? == 0 {
            return self.lost();
        }
        let callee = self.read(32)?;
        self.enter(callee)
    }

    fn go_on(&mut self, frame: Frame) -> Step<()> {
        let function = self.function(frame.function)?;
        match frame.stage {
            Stage::Body if frame.block == function.cfg().exit() => {
                self.leave();
                Ok(())
            }
            Stage::Body => self.call(frame, function),
            Stage::Returned => self.advance(frame, function),
            Stage::Host => self.in_host(frame),
            Stage::Call => self.lost(),
        }
    }

    /// Continues from the block's body to its call.
    fn call(&mut self, frame: Frame, function: &'a TracedFunction) -> Step<()> {
        match function.call(frame.block) {
            None => self.advance(frame, function),
            Some(Call::Direct(callee)) => {
                self.set_stage(Stage::Call);
                self.enter(callee)
            }
            Some(Call::Indirect) => {
                let callee = self.read(32)?;
                if callee == HOST_CALLEE {
                    self.call_host(frame);
                    return Ok(());
                }
                self.set_stage(Stage::Call);
                self.enter(callee)
            }
            Some(Call::Host) => {
                self.call_host(frame);
                Ok(())
            }
            Some(Call::Tail) => self.tail(frame, function),
        }
    }

    fn call_host(&mut self, frame: Frame) {
        self.events.push_back(TraceEvent::HostCall(frame.function, frame.block));
        self.set_stage(Stage::Host);
    }

    fn in_host(&mut self, frame: Frame) -> Step<()> {
        if self.read(1)? == 0 {
            self.events.push_back(TraceEvent::HostReturn(frame.function, frame.block));
            self.set_stage(Stage::Returned);
            return Ok(());
        }
        let callee = self.read(32)?;
        self.enter(callee)
    }

    /// Makes a tail call: crosses the edge to EXIT, and replaces the frame by the callee's.
    fn tail(&mut self, frame: Frame, function: &'a TracedFunction) -> Step<()> {
        let callee = self.read(32)?;
        if callee == HOST_CALLEE {
            self.call_host(frame);
            return Ok(());
        }
        self.advance(frame, function)?;
        if self.frames.last().is_none_or(|frame| frame.block != function.cfg().exit()) {
            return self.lost();
        }
        self.frames.pop();
        self.events.push_back(TraceEvent::Leave(frame.function));
        self.enter(callee)
    }

    fn enter(&mut self, callee: u32) -> Step<()> {
        self.function(callee)?;
        if self.frames.len() >= MAX_FRAMES {
            return Err(TraceError::TooDeep { position: self.bit_position() });
        }
        self.frames.push(Frame { function: callee, block: BlockId::ENTRY, stage: Stage::Body });
        self.events.extend([TraceEvent::Enter(callee), TraceEvent::Block(callee, BlockId::ENTRY)]);
        self.count(callee, TraceCounts { blocks: 1, ..TraceCounts::default() });
        Ok(())
    }

    /// Returns from the innermost frame to its caller, or to the host.
    fn leave(&mut self) {
        if let Some(frame) = self.frames.pop() {
            self.events.push_back(TraceEvent::Leave(frame.function));
        }
        self.return_to_caller();
    }

    /// Lets the innermost frame continue behind its call, if its callee is gone.
    fn return_to_caller(&mut self) {
        if let Some(caller) = self.frames.last_mut().filter(|caller| caller.stage == Stage::Call) {
            caller.stage = Stage::Returned;
        }
    }

    fn set_stage(&mut self, stage: Stage) {
        if let Some(frame) = self.frames.last_mut() {
            frame.stage = stage;
        }
    }

    /// Crosses an out-edge of the innermost frame's block.
    fn advance(&mut self, frame: Frame, function: &'a TracedFunction) -> Step<()> {
        let crossing = function.crossing(self.choose(frame, function)?);
        if crossing.bits > 0 {
            let at = self.bit_position();
            if self.read(crossing.bits)? != crossing.value {
                let Frame { function, block, .. } = frame;
                return Err(TraceError::BadToken { position: at, function, block });
            }
        }
        let event = self.arrive(frame.function, function, crossing);
        self.events.extend(event);
        Ok(())
    }

    /// Moves the innermost frame to the target of an edge. Reaching EXIT is not an event.
    #[inline]
    fn arrive(&mut self, index: u32, function: &TracedFunction, crossing: EdgeStep) -> Option<TraceEvent> {
        let EdgeStep { to, bits, is_branch, .. } = crossing;
        let is_block = to != function.cfg().exit();
        let (blocks, predicates) = (u64::from(is_block), u64::from(is_branch));
        self.count(index, TraceCounts { blocks, predicates, bits: bits.into() });
        if let Some(top) = self.frames.last_mut() {
            (top.block, top.stage) = (to, Stage::Body);
        }
        is_block.then_some(TraceEvent::Block(index, to))
    }

    #[inline]
    fn count(&mut self, function: u32, more: TraceCounts) {
        if let Some(slot) = self.functions.slot(function) {
            self.counts[slot] += more;
        }
    }

    /// Takes a step in the common case: from block to block, far from the next stop. Returns `None` in other cases,
    /// or if something is wrong; then nothing has happened, unless an edge to EXIT was crossed.
    #[inline]
    fn glide(&mut self) -> Option<TraceEvent> {
        let &Frame { function: index, block, stage } = self.frames.last()?;
        let functions = self.functions;
        let slot = functions.slot(index)?;
        let function = functions.at(slot);
        let limit = self.limit();
        let goes_on = stage == Stage::Returned || stage == Stage::Body && function.call(block).is_none();
        if !goes_on || self.at >= limit {
            return None;
        }
        let bits = self.bits.peek(self.at);
        let edge = match function.way(block) {
            Way::End => return None,
            Way::Only(edge) => edge,
            Way::Read => self.tables.edge(functions, slot, block, bits)?,
        };
        let crossing = function.crossing(edge);
        let (word, end) = (bits & ((1 << crossing.bits) - 1), self.at + u64::from(crossing.bits));
        if word != u64::from(crossing.value) || end > limit {
            return None;
        }
        self.at = end;
        self.arrive(index, function, crossing)
    }

    /// Returns the out-edge that the run took.
    fn choose(&mut self, frame: Frame, function: &'a TracedFunction) -> Step<EdgeId> {
        if let [only] = function.cfg().out_edges(frame.block) {
            return Ok(*only);
        }
        if let Some(target) = self.stopped_in()
            && let Some(edge) = function.edge_to_block(frame.block, target)
        {
            return Ok(edge);
        }
        match function.way(frame.block) {
            Way::End => self.lost(),
            Way::Only(edge) => Ok(edge),
            Way::Read => self.decode(frame, function),
        }
    }

    /// Returns the block where the innermost frame stops, if it stops without another bit.
    fn stopped_in(&self) -> Option<BlockId> {
        let stop = self.stops.front().filter(|stop| stop.at == self.at)?;
        let (last, outer) = stop.frames.split_last()?;
        let (frame, around) = self.frames.split_last()?;
        (last.function == frame.function && same_stack(outer, around)).then_some(last.block)
    }

    /// Looks up the next token without consuming it: it belongs to an edge further on.
    fn decode(&mut self, frame: Frame, function: &TracedFunction) -> Step<EdgeId> {
        let Frame { function: index, block, .. } = frame;
        let bad = TraceError::BadToken { position: self.bit_position(), function: index, block };
        let symbol = function.symbol(block, &self.bits, self.at, self.limit()).ok_or(bad.clone())?;
        if let Some(&edge) = self.known.get(&(index, block, symbol)) {
            return Ok(edge);
        }
        let edge = function.edge_to_symbol(block, symbol).ok_or(bad)?;
        self.known.insert((index, block, symbol), edge);
        Ok(edge)
    }
}

/// Reports whether two stacks are equal. The innermost frames are compared first, as these usually differ.
pub(super) fn same_stack(a: &[Frame], b: &[Frame]) -> bool {
    a.len() == b.len() && a.iter().rev().eq(b.iter().rev())
}

impl Iterator for Regenerator<'_> {
    type Item = Step<TraceEvent>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.events.is_empty()
            && let Some(event) = self.glide()
        {
            return Some(Ok(event));
        }
        self.next_slowly()
    }
}

impl Regenerator<'_> {
    /// Returns the next event outside of the common case.
    #[inline(never)]
    fn next_slowly(&mut self) -> Option<Step<TraceEvent>> {
        loop {
            if let Some(event) = self.events.pop_front() {
                return Some(Ok(event));
            }
            if self.done {
                return None;
            }
            if let Err(error) = self.step() {
                // The effect of the failed step is uncertain. Without stops the walk cannot continue.
                self.events.clear();
                self.stops.clear();
                self.done = true;
                return Some(Err(error));
            }
        }
    }
}

impl std::iter::FusedIterator for Regenerator<'_> {}
