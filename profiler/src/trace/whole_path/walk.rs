//! Converts a trace's events to items of a whole path.
//!
//! Input: the functions, events in order. Output: a [`WholePath`].
//! Invariant: a path becomes an item as soon as it ends: at a call before the callee is entered, at a return before
//! the function is left.

use std::collections::HashMap;
use std::io::{Read, Seek};

use super::numbering::{Crossed, SubpathNumbering, SubpathNumberings};
use super::{PathItem, WholePath};
use crate::trace::{FunctionTable, TraceError, TraceEvent, TraceFileError, TraceReader};
use crate::{BlockId, Compressor};

/// A live frame.
struct Live {
    function: u32,
    /// Current block; none before the first.
    block: Option<BlockId>,
    /// Path sum so far.
    sum: u64,
    /// Whether the path ended at the block's call.
    called: bool,
}

struct Walk<'a> {
    numberings: &'a SubpathNumberings,
    frames: Vec<Live>,
    compressor: Compressor,
    numbers: HashMap<PathItem, u32>,
    items: Vec<PathItem>,
    events: u64,
}

impl WholePath {
    /// Builds the whole path of a trace. The sequence is compressed in windows of `window` items (see
    /// [`Compressor`]).
    ///
    /// # Errors
    /// Returns an error if the trace is damaged.
    pub fn of_trace<R: Read + Seek>(
        reader: &mut TraceReader<R>,
        window: usize,
    ) -> Result<Self, TraceFileError> {
        let tables: Vec<FunctionTable> = reader.tables().iter().map(FunctionTable::without_emits).collect();
        let numberings = SubpathNumberings::new(&tables)?;
        let (head, ending) = (reader.head().clone(), reader.ending());
        let mut walk = Walk {
            numberings: &numberings,
            frames: Vec::new(),
            compressor: Compressor::new(window),
            numbers: HashMap::new(),
            items: Vec::new(),
            events: 0,
        };
        for event in reader.events_from(0) {
            let event = event?;
            walk.events += 1;
            walk.step(event).ok_or(TraceError::Lost { position: walk.events })?;
        }
        while let Some(frame) = walk.frames.pop() {
            walk.stopped(&frame);
        }
        let (items, grammar) = (walk.items, walk.compressor.finish());
        Ok(Self { head, tables, numberings, items, grammar, ending })
    }
}

impl Walk<'_> {
    /// Takes an event; returns `None` if it cannot follow the previous ones.
    fn step(&mut self, event: TraceEvent) -> Option<()> {
        match event {
            TraceEvent::Enter(function) => self.enter(function),
            TraceEvent::Block(_, block) => self.block(block),
            TraceEvent::HostCall(..) => self.call(),
            TraceEvent::HostReturn(..) => Some(()),
            TraceEvent::Leave(_) => self.leave(),
            TraceEvent::Unwound { .. } => {
                let frame = self.frames.pop()?;
                self.stopped(&frame);
                Some(())
            }
        }
    }

    fn enter(&mut self, function: u32) -> Option<()> {
        self.numberings.get(function)?;
        if self.frames.last().is_some_and(|caller| caller.block.is_some()) {
            self.call()?;
        }
        self.push(PathItem::Enter(function));
        self.frames.push(Live { function, block: None, sum: 0, called: false });
        Some(())
    }

    /// Ends the innermost frame's path at its call.
    fn call(&mut self) -> Option<()> {
        let (frame, numbering) = self.innermost()?;
        let (function, block, prefix) = (frame.function, frame.block?, frame.sum);
        if !std::mem::replace(&mut frame.called, true) {
            let whole = numbering.only_way(block).map(|crossed| end(frame, crossed));
            self.push(whole.unwrap_or(PathItem::Called { function, block, prefix }));
        }
        Some(())
    }

    fn block(&mut self, block: BlockId) -> Option<()> {
        let (frame, numbering) = self.innermost()?;
        let Some(from) = frame.block.replace(block) else { return Some(()) };
        if std::mem::replace(&mut frame.called, false) {
            frame.sum = numbering.start(block);
            return Some(());
        }
        let crossed = numbering.cross(from, Some(block))?;
        if !crossed.ends_path {
            frame.sum += crossed.value;
            return Some(());
        }
        let item = end(frame, crossed);
        frame.sum = numbering.start(block);
        self.push(item);
        Some(())
    }

    fn leave(&mut self) -> Option<()> {
        let (frame, numbering) = self.innermost()?;
        if !frame.called {
            let crossed = numbering.cross(frame.block?, None)?;
            let item = end(frame, crossed);
            self.push(item);
        }
        self.frames.pop();
        self.push(PathItem::Leave);
        Some(())
    }

    fn stopped(&mut self, frame: &Live) {
        let item = match frame.block {
            Some(block) if !frame.called => {
                PathItem::Stopped { function: frame.function, block, prefix: frame.sum }
            }
            _ => PathItem::Unwound,
        };
        self.push(item);
    }

    fn innermost(&mut self) -> Option<(&mut Live, &SubpathNumbering)> {
        let frame = self.frames.last_mut()?;
        let numbering = self.numberings.get(frame.function)?;
        Some((frame, numbering))
    }

    fn push(&mut self, item: PathItem) {
        let next = self.items.len() as u32;
        let number = *self.numbers.entry(item).or_insert(next);
        if number == next {
            self.items.push(item);
        }
        self.compressor.push(number);
    }
}

fn end(frame: &Live, crossed: Crossed) -> PathItem {
    PathItem::Path { function: frame.function, id: frame.sum + crossed.value }
}
