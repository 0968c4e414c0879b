//! Walks through a run by its decisions.
//!
//! Input: functions, decisions. Output: the frames, and the bits that the run wrote, in the encoding of `trace.rs`.
//! Invariant: packing and unpacking take the same steps and ask the same model the same questions.

use std::collections::HashMap;

use super::coder::Coder;
use super::model::{Model, place};
use crate::limits::{MAX_FRAMES, MAX_SECTION_BYTES};
use crate::trace::functions::TracedFunctions;
use crate::trace::{BitStream, Call, Frame, HOST_CALLEE, Stage, TraceEvent, TracedFunction};
use crate::{BlockId, EdgeId};

/// The place of decisions that are made outside of functions.
const ROOT: u32 = u32::MAX;
/// Distinguishes the place of the host's return to a block, or call back from it, from the place of the block itself.
const BACK: u32 = 0x5bd1_e995;

/// The state of a walk, and its model.
pub(super) struct Walk {
    pub frames: Vec<Frame>,
    /// Bits written since the chunk began, if they are kept.
    pub bits: BitStream,
    /// Number of bits since the chunk began.
    pub at: u64,
    keeps_bits: bool,
    /// Greatest number of bits of a chunk.
    most: u64,
    /// Number of choices between several ways.
    pub branches: u64,
    model: Model,
    /// By place: the callees seen there.
    callees: HashMap<u32, Vec<u32>>,
}

/// The source of the next item: known when packing, decoded when unpacking.
#[derive(Clone, Copy)]
pub(super) struct Lookahead<'a> {
    pub events: &'a [TraceEvent],
    /// Block where the innermost frame stops, if it stops before the next event.
    pub stop: BlockId,
}

impl Lookahead<'_> {
    pub const UNKNOWN: Self = Self { events: &[], stop: BlockId::ENTRY };

    /// Returns the block that the innermost frame goes to.
    fn block(self, exit: BlockId) -> BlockId {
        match self.events.first() {
            Some(TraceEvent::Block(_, block)) => *block,
            Some(TraceEvent::Leave(_)) => exit,
            _ => self.stop,
        }
    }

    /// Returns the function that is entered, or [`HOST_CALLEE`] if none is.
    fn callee(self) -> u32 {
        let enter = self.events.iter().take(2).find_map(|event| match event {
            TraceEvent::Enter(function) => Some(*function),
            _ => None,
        });
        match self.events.first() {
            Some(TraceEvent::HostCall(..)) => HOST_CALLEE,
            _ => enter.unwrap_or(HOST_CALLEE),
        }
    }

    fn returns_from_host(self) -> bool {
        matches!(self.events.first(), Some(TraceEvent::HostReturn(..)))
    }
}

impl Walk {
    /// Creates a walk that keeps the bits, or only counts them.
    pub fn new(keeps_bits: bool) -> Self {
        Self {
            frames: Vec::new(),
            bits: BitStream::default(),
            at: 0,
            keeps_bits,
            most: 8 * MAX_SECTION_BYTES,
            branches: 0,
            model: Model::new(),
            callees: HashMap::new(),
        }
    }

    /// Begins a chunk.
    pub fn begin(&mut self, frames: Vec<Frame>) {
        (self.frames, self.bits, self.at) = (frames, BitStream::default(), 0);
    }

    /// Limits the following chunks to `bytes` bytes.
    pub fn limit(&mut self, bytes: u64) {
        self.most = bytes.min(MAX_SECTION_BYTES) * 8;
    }

    /// Takes one step of the run and returns the number of its events; `None` if the step is impossible.
    pub fn step(
        &mut self,
        functions: &TracedFunctions,
        coder: &mut impl Coder,
        ahead: Lookahead<'_>,
    ) -> Option<usize> {
        let Some(frame) = self.frames.last().copied() else {
            self.write(1, 1)?;
            let callee = self.choose_callee(coder, ROOT, ahead)?;
            self.write(callee, 32)?;
            return self.enter(functions, callee);
        };
        let slot = functions.slot(frame.function)?;
        let function = functions.at(slot);
        let here = place(slot, frame.block.0);
        match frame.stage {
            Stage::Body if frame.block == function.cfg().exit() => {
                self.leave();
                Some(1)
            }
            Stage::Body => match function.call(frame.block) {
                None => self.advance(function, here, frame.block, coder, ahead),
                Some(Call::Direct(callee)) => {
                    self.set_stage(Stage::Call);
                    self.enter(functions, callee)
                }
                Some(Call::Host) => {
                    self.set_stage(Stage::Host);
                    Some(1)
                }
                Some(call) => {
                    let callee = self.choose_callee(coder, here, ahead)?;
                    self.write(callee, 32)?;
                    match call {
                        _ if callee == HOST_CALLEE => {
                            self.set_stage(Stage::Host);
                            Some(1)
                        }
                        Call::Tail => {
                            self.advance(function, here, frame.block, coder, ahead)?;
                            self.frames.pop();
                            Some(self.enter(functions, callee)? + 1)
                        }
                        _ => {
                            self.set_stage(Stage::Call);
                            self.enter(functions, callee)
                        }
                    }
                }
            },
            Stage::Returned => self.advance(function, here, frame.block, coder, ahead),
            Stage::Host => {
                let returns = u32::from(ahead.returns_from_host());
                if self.model.choose(coder, here ^ BACK, 2, returns) == 1 {
                    self.write(0, 1)?;
                    self.set_stage(Stage::Returned);
                    return Some(1);
                }
                self.write(1, 1)?;
                let callee = self.choose_callee(coder, here ^ BACK, ahead)?;
                self.write(callee, 32)?;
                self.enter(functions, callee)
            }
            Stage::Call => None,
        }
    }

    /// Leaves a block. An edge to EXIT is not an event.
    fn advance(
        &mut self,
        function: &TracedFunction,
        here: u32,
        from: BlockId,
        coder: &mut impl Coder,
        ahead: Lookahead<'_>,
    ) -> Option<usize> {
        let edge = match function.cfg().out_edges(from) {
            [only] => *only,
            ways => {
                let to = ahead.block(function.cfg().exit());
                let way = ways.iter().position(|&edge| function.crossing(edge).to == to).unwrap_or(0);
                self.branches += 1;
                let way = self.model.choose(coder, here, ways.len() as u32, way as u32);
                *ways.get(way as usize)?
            }
        };
        self.cross(function, edge)
    }

    fn cross(&mut self, function: &TracedFunction, edge: EdgeId) -> Option<usize> {
        let crossing = function.crossing(edge);
        self.write(crossing.value, crossing.bits)?;
        let frame = self.frames.last_mut()?;
        (frame.block, frame.stage) = (crossing.to, Stage::Body);
        Some(usize::from(crossing.to != function.cfg().exit()))
    }

    /// Chooses the function called at a place: one that was called there before, or a new one.
    fn choose_callee(&mut self, coder: &mut impl Coder, here: u32, ahead: Lookahead<'_>) -> Option<u32> {
        let callee = ahead.callee();
        let known = self.callees.entry(here).or_default();
        let number = known.iter().position(|&known| known == callee).map_or(0, |at| at + 1);
        let chosen = self.model.choose(coder, here ^ ROOT, known.len() as u32 + 1, number as u32);
        if let Some(known) = chosen.checked_sub(1) {
            return self.callees.get(&here)?.get(known as usize).copied();
        }
        let callee = self.model.number(coder, callee);
        self.callees.entry(here).or_default().push(callee);
        Some(callee)
    }

    fn enter(&mut self, functions: &TracedFunctions, callee: u32) -> Option<usize> {
        functions.slot(callee)?;
        (self.frames.len() < MAX_FRAMES).then_some(())?;
        self.frames.push(Frame { function: callee, block: BlockId::ENTRY, stage: Stage::Body });
        Some(2)
    }

    fn leave(&mut self) {
        self.frames.pop();
        self.return_to_caller();
    }

    /// Ends all frames except the outermost `keep`; a surviving frame that was in a call continues behind it.
    pub fn unwind(&mut self, keep: u32) {
        self.frames.truncate(keep as usize);
        self.return_to_caller();
    }

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

    fn write(&mut self, value: u32, bits: u8) -> Option<()> {
        self.at += u64::from(bits);
        if self.keeps_bits && bits > 0 {
            self.bits.push(value, bits);
        }
        (self.at <= self.most).then_some(())
    }
}
