//! Merges events with the data references between them.
//!
//! Input: a [`Regenerator`] and the [`References`] of its segment. Output: each block's references follow the event
//! of the block, before anything else happens.
//! Invariant: a block makes all of its accesses, in order. Exceptions are the innermost block where the segment
//! begins (some accesses were made before), and where it ends or is unwound (the rest was never made); the numbers
//! made at these points are recorded.
//! Source: Ball & Larus 1994, section 4.2. Oracle: `tests/it/trace_steps.rs` and, for real runs, modules that log
//! their own references, in `spec-tests/tests/oracle.rs`.

use super::{
    Access, DataReference, Frame, Reference, References, Regenerator, Stage, TraceError, TraceEvent,
    TracedFunctions,
};
use crate::BlockId;

/// One step of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceStep {
    /// An event that follows from the blocks.
    Event(TraceEvent),
    /// A load or store of the block that began last.
    Reference(DataReference),
}

/// Iterator over the events and references of one segment.
pub struct TraceSteps<'a> {
    functions: &'a TracedFunctions,
    walk: Regenerator<'a>,
    references: References,
    are_recorded: bool,
    /// Number of references returned.
    used: usize,
    /// Accesses that the running block has yet to make, with its function.
    open: Option<(u32, &'a [Access])>,
    /// The event after these accesses.
    held: Held,
}

#[derive(Clone, Copy)]
enum Held {
    Nothing,
    Event(TraceEvent),
    End,
    Done,
}

impl<'a> TraceSteps<'a> {
    /// Begins where the walk begins; `start` are the live frames there. Without references there are only events.
    pub fn new(
        functions: &'a TracedFunctions,
        walk: Regenerator<'a>,
        start: &[Frame],
        references: Option<References>,
    ) -> Self {
        let are_recorded = references.is_some();
        let references = references.unwrap_or_default();
        let (used, open, held) = (0, None, Held::Nothing);
        let mut steps = Self { functions, walk, references, are_recorded, used, open, held };
        if let Some(frame) = start.last().filter(|frame| frame.stage == Stage::Body) {
            let done = steps.references.done as usize;
            let all = steps.accesses(frame.function, frame.block);
            steps.open = Some((frame.function, all.get(done..).unwrap_or(&[])));
        }
        steps
    }

    fn accesses(&self, function: u32, block: BlockId) -> &'a [Access] {
        let function = self.functions.get(function).filter(|_| self.are_recorded);
        function.map_or(&[], |function| function.accesses(block))
    }

    /// Returns the number of references made before the held event.
    fn limit(&self) -> usize {
        let stopped = || {
            let passed = self.walk.unwinds_passed().checked_sub(1)?;
            usize::try_from(*self.references.unwinds.get(passed)?).ok()
        };
        match self.held {
            Held::Event(TraceEvent::Unwound { .. }) => stopped().unwrap_or(self.used),
            _ => self.references.all.len(),
        }
    }

    /// Returns the next reference of the running block; `None` if there is none before the held event.
    fn reference(&mut self) -> Result<Option<DataReference>, TraceError> {
        let Some((function, [access, rest @ ..])) = self.open else { return Ok(None) };
        if self.used >= self.limit() {
            let may_stop = matches!(self.held, Held::End | Held::Event(TraceEvent::Unwound { .. }));
            return if may_stop { Ok(None) } else { self.wrong() };
        }
        let Some(&Reference { site, index, length }) = self.references.all.get(self.used) else {
            return self.wrong();
        };
        let Some(bytes) = length.or(access.bytes.map(u64::from)).filter(|_| site == access.site) else {
            return self.wrong();
        };
        self.used += 1;
        self.open = Some((function, rest));
        let address = index.wrapping_add(access.offset);
        Ok(Some(DataReference { function, access: *access, address, bytes }))
    }

    fn wrong<T>(&self) -> Result<T, TraceError> {
        Err(TraceError::WrongReference { position: self.walk.bit_position(), number: self.used as u64 })
    }

    /// Returns the held event, and opens the accesses of the next block.
    fn release(&mut self) -> Option<TraceEvent> {
        self.open = None;
        match std::mem::replace(&mut self.held, Held::Nothing) {
            Held::Event(event) => {
                if let TraceEvent::Block(function, block) = event {
                    self.open = Some((function, self.accesses(function, block)));
                }
                Some(event)
            }
            _ => None,
        }
    }

    fn step(&mut self) -> Result<Option<TraceStep>, TraceError> {
        if let Held::Nothing = self.held {
            self.held = self.walk.next().transpose()?.map_or(Held::End, Held::Event);
        }
        if let Some(reference) = self.reference()? {
            return Ok(Some(TraceStep::Reference(reference)));
        }
        match self.release() {
            Some(event) => Ok(Some(TraceStep::Event(event))),
            None if self.used < self.references.all.len() => self.wrong(),
            None => Ok(None),
        }
    }
}

impl Iterator for TraceSteps<'_> {
    type Item = Result<TraceStep, TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Held::Done = self.held {
            return None;
        }
        let step = self.step().transpose();
        if !matches!(step, Some(Ok(_))) {
            self.held = Held::Done;
        }
        step
    }
}

impl std::iter::FusedIterator for TraceSteps<'_> {}
