//! The trace that machine code writes: its buffer, the host's additions to it, and the positions of frames when a
//! chunk ends.
//!
//! Machine code fills words and stores them into the buffer, see `wprof_jit::abi::trace_word`. A chunk that ends
//! because the buffer is full ends in the middle of the run, so it contains the frames on the stack. Source: the
//! rules in `wprof_profiler`'s module `trace`, "What the runtime must guarantee". Invariant: whenever the host
//! looks, the frames on the stack are named consistently with the bits written so far.

use std::ptr;
use std::sync::Arc;

use hashbrown::HashMap;
use rustix::mm::{MapFlags, MprotectFlags, ProtFlags, mmap_anonymous, mprotect, munmap};
use wprof_jit::abi::{TrapCode, host_context, reference, trace_word};
use wprof_jit::plan::Moment;
use wprof_profiler::{BlockId, Call, Frame, HOST_CALLEE, Stage, Unwind};

use super::recording::{Recording, refused};
use crate::Result;
use crate::runtime::instances::abi::{VmFuncRef, VmStoreContext};
use crate::runtime::instances::engine_core::EngineCore;
use crate::runtime::instances::instance::InstanceData;
use crate::runtime::instances::loaded::{self, LoadedModule};
use crate::runtime::instances::store_ptr::StorePtr;
use crate::runtime::stacks::activation::TrapRecord;
use crate::runtime::stacks::frames;
use crate::runtime::stacks::many_frames::ManyFrames;
use crate::runtime::stacks::walk;

const PAGE: usize = 4096;

/// The trace of a store.
#[derive(Debug)]
pub struct Trace {
    /// Holds the current word, and the ends of what was written to the buffers.
    context: StorePtr<VmStoreContext>,
    /// The address of the code that traps with `TrapCode::Host`.
    raise: usize,
    buffer: Buffer,
    /// The buffer of data references, if they are recorded.
    references: Option<Buffer>,
    recording: Option<Recording>,
    /// The number of words of the chunk whose bits have been counted, and their number of bits.
    counted: (usize, u64),
}

impl Trace {
    /// Creates a trace without a recording, with a buffer of the configured size, and one of eight times as many words
    /// for data references if they are recorded.
    ///
    /// # Errors
    /// Returns an error if the system has no memory for the buffers.
    pub fn new(engine: &EngineCore, context: StorePtr<VmStoreContext>) -> std::io::Result<Trace> {
        let (config, raise) = (&engine.config().trace, engine.raise());
        let words = config.buffer / 8;
        let buffer = Buffer::new(words)?;
        let references =
            config.references.then(|| Buffer::new((words * 8).max(reference::MAX_WORDS))).transpose()?;
        Ok(Trace { context, raise, buffer, references, recording: None, counted: (0, 0) })
    }

    /// Returns the first word of the buffer.
    pub fn buffer(&self) -> *mut u64 {
        self.buffer.first
    }

    /// Returns the first word of the buffer of data references; null if there is none.
    pub fn references(&self) -> *mut u64 {
        self.references.as_ref().map_or(ptr::null_mut(), |buffer| buffer.first)
    }

    /// Returns the first `count` words.
    fn words(&self, count: usize) -> &[u64] {
        self.buffer.words(count)
    }
}

/// Memory for words, followed by a page that cannot be written.
#[derive(Debug)]
struct Buffer {
    first: *mut u64,
    words: usize,
}

// SAFETY: the buffer owns the memory alone. Only machine code of the store that owns it writes there, while the
// store is lent to it.
unsafe impl Send for Buffer {}
// SAFETY: as for `Send`; a shared reference only reads.
unsafe impl Sync for Buffer {}

impl Buffer {
    fn new(words: usize) -> std::io::Result<Buffer> {
        let access = ProtFlags::READ | ProtFlags::WRITE;
        let pages = Buffer::pages(words);
        // SAFETY: a fresh mapping at an address that the kernel chooses disturbs nothing; its last page becomes
        // the guard page.
        unsafe {
            let base = mmap_anonymous(ptr::null_mut(), pages + PAGE, access, MapFlags::PRIVATE)?;
            let buffer = Buffer { first: base.byte_add(pages - words * 8).cast(), words };
            mprotect(base.byte_add(pages), PAGE, MprotectFlags::empty())?;
            Ok(buffer)
        }
    }

    /// Returns the first `count` words.
    fn words(&self, count: usize) -> &[u64] {
        assert!(count <= self.words);
        // SAFETY: the buffer has that many words, zero at first. Machine code, which writes them, does not run
        // now.
        unsafe { std::slice::from_raw_parts(self.first, count) }
    }

    /// Returns the bytes of the pages that hold `words` words.
    fn pages(words: usize) -> usize {
        (words * 8).next_multiple_of(PAGE)
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        let pages = Buffer::pages(self.words);
        // SAFETY: `new` mapped it with this size, the words at its end; only machine code of the store that owns
        // it knows the address.
        let _ = unsafe { munmap(self.first.byte_sub(pages - self.words * 8).cast(), pages + PAGE) };
    }
}

impl Trace {
    /// Starts a recording, unless wasm code is running.
    ///
    /// # Errors
    /// Returns an error if a recording is active, or wasm code is running, and as `recording`.
    pub fn start(&mut self, is_running: bool, recording: impl FnOnce() -> Result<Recording>) -> Result<()> {
        if is_running {
            return Err(refused("a trace cannot begin while wasm code is running: call record_trace before"));
        }
        if self.recording.is_some() {
            return Err(refused("a trace is being recorded already: call finish_trace before"));
        }
        self.recording = Some(recording()?);
        self.take_words(0);
        self.take_references();
        Ok(())
    }

    /// Ends the recording, if there is one, while the host runs.
    pub fn end(&mut self) -> Option<Recording> {
        self.recording.as_ref()?;
        let end = self.live_frames();
        self.end_chunk(self.word_count(), end, 0);
        self.recording.take()
    }

    /// Checks that an instance of `module` may be created in a store with these instances.
    ///
    /// # Errors
    /// Returns an error if a trace of another instance is being recorded.
    pub fn check_instance(&self, module: &Arc<dyn LoadedModule>, others: &[InstanceData]) -> Result<()> {
        match &self.recording {
            Some(recording) if !others.is_empty() || !loaded::same(&recording.module, module) => {
                Err(refused("a trace is being recorded, which is of one instance: use another store"))
            }
            _ => Ok(()),
        }
    }

    /// Traces the host's entry into a function.
    pub fn enter(&mut self, func: &VmFuncRef) {
        const BITS: u32 = 33;
        if self.word() >> (64 - BITS) != 0 {
            self.store_word();
        }
        self.set_word(self.word() << BITS | 1 << 32 | u64::from(func.trace_token));
    }

    /// Handles a full buffer: the word that did not fit is still to be taken.
    pub fn words_are_full(&mut self, record: &TrapRecord) {
        self.end_chunk_at(self.buffer.words, record);
    }

    /// Handles a full buffer of data references; `word` did not fit.
    pub fn references_are_full(&mut self, record: &TrapRecord, word: u64) {
        self.end_chunk_at(self.word_count(), record);
        let Some(references) = &self.references else { return };
        // SAFETY: the buffer has room for it. Machine code, which moves the pointer behind it, does not run now.
        unsafe { references.first.write(word) };
    }

    /// Ends a chunk where machine code was interrupted.
    fn end_chunk_at(&mut self, count: usize, record: &TrapRecord) {
        // SAFETY: machine code of this store was interrupted and waits.
        let outer = unsafe { walk::left_for_host(self.context.as_ptr(), true) };
        let (end, done) = match self.is_traced() {
            true => (self.named_frames(&outer, Some(record)).0, accesses_before(record.top.pc)),
            false => (Vec::new(), 0),
        };
        self.end_chunk(count, end, done);
    }

    /// Traces that a trap has ended the frames of an activation.
    pub fn unwind(&mut self, record: &TrapRecord) {
        if !self.is_traced() {
            return;
        }
        // SAFETY: the activation that trapped has been unlinked, so this is host code.
        let outer = unsafe { walk::left_for_host(self.context.as_ptr(), false) };
        let (frames, keep) = self.named_frames(&outer, Some(record));
        let (position, references) = (self.bits_in_chunk(), self.reference_words());
        let Some(recording) = &mut self.recording else { return };
        if !recording.add_unwind(Unwind { position, frames, keep: keep as u32 }, references) {
            let end = self.live_frames();
            self.end_chunk(self.word_count(), end, 0);
        }
    }

    /// Traces an exception that has ended frames of the newest activation, or none if the catching frame has
    /// thrown it itself or got it from the host. The frames of `staying` continue; the innermost of them catches
    /// the exception.
    pub fn catch(&mut self, record: &TrapRecord, staying: &ManyFrames) {
        if !self.is_traced() {
            return;
        }
        let mut ended = Naming::default();
        ended.callers(&record.callers, thrower(record));
        if ended.frames.is_empty() {
            return self.append_return_of_host(staying);
        }
        let (mut frames, references) = (self.staying_frames(staying, Moment::InCall), self.reference_words());
        let (keep, position) = (frames.len() as u32, self.bits_in_chunk());
        frames.extend(ended.frames.into_iter().rev());
        let Some(recording) = &mut self.recording else { return };
        frames.iter().for_each(|frame| recording.add_function(frame.function));
        if !recording.add_unwind(Unwind { position, frames, keep }, references) {
            let end = self.staying_frames(staying, Moment::After);
            self.end_chunk(self.word_count(), end, 0);
        }
    }

    /// Traces the runtime's return to the innermost of these frames.
    fn append_return_of_host(&mut self, staying: &ManyFrames) {
        if self.word() >> 63 != 0 {
            let count = self.word_count();
            if count == self.buffer.words {
                let end = self.staying_frames(staying, Moment::InHost);
                self.end_chunk(count, end, 0);
            } else {
                self.store_word();
            }
        }
        self.set_word(self.word() << 1);
    }

    /// Returns the frames that an exception has left, outermost first; `first` is what the innermost one does.
    fn staying_frames(&mut self, staying: &ManyFrames, first: Moment) -> Vec<Frame> {
        let mut naming = Naming::default();
        naming.callers(staying, first);
        // SAFETY: machine code of this store waits.
        for frames in unsafe { walk::left_for_host(self.context.as_ptr(), true) } {
            naming.callers(&frames, Moment::InHost);
        }
        if let Some(recording) = &mut self.recording {
            naming.frames.iter().for_each(|frame| recording.add_function(frame.function));
        }
        naming.frames.reverse();
        naming.frames
    }

    /// Returns whether the trace is being written to a recording that accepts it.
    fn is_traced(&self) -> bool {
        self.recording.as_ref().is_some_and(|recording| !recording.is_full())
    }

    /// Returns the live frames while the host runs, outermost first.
    fn live_frames(&mut self) -> Vec<Frame> {
        // SAFETY: only host code holds a reference to a store.
        let outer = unsafe { walk::left_for_host(self.context.as_ptr(), false) };
        self.named_frames(&outer, None).0
    }

    /// Returns frames as named in traces, outermost first, and how many of them are in the activations of
    /// `outer`. Functions without a table get one.
    fn named_frames(&mut self, outer: &[ManyFrames], inner: Option<&TrapRecord>) -> (Vec<Frame>, usize) {
        let mut naming = Naming::default();
        if let Some(record) = inner {
            self.name_trap(record, &mut naming);
        }
        let of_inner = naming.frames.len();
        for frames in outer {
            naming.callers(frames, Moment::InHost);
        }
        if let Some(recording) = &mut self.recording {
            naming.frames.iter().for_each(|frame| recording.add_function(frame.function));
        }
        let keep = naming.frames.len() - of_inner;
        naming.frames.reverse();
        (naming.frames, keep)
    }

    fn name_trap(&self, record: &TrapRecord, naming: &mut Naming) {
        let at = record.top.pc;
        // A trampoline has no function: the host had been called.
        let mut callers = thrower(record);
        if let Some(frame) = frames::of_fault(at) {
            callers = Moment::InCall;
            match record.code {
                None => self.name_overflow(&frame, naming),
                // Too little stack was left to throw.
                Some(TrapCode::Host) if naming.call_at(&frame) == Some(Call::Host) => {
                    naming.frame(&frame, Moment::Before)
                }
                // Budgets are checked after calls.
                Some(TrapCode::TraceFull | TrapCode::Host | TrapCode::Budget) => {
                    naming.frame(&frame, Moment::After)
                }
                _ => naming.frame(&frame, Moment::Before),
            }
        } else if at == self.raise
            && let Some(callee) = self.failed_callee()
        {
            naming.frames.push(entered(callee));
            callers = Moment::InCall;
        }
        naming.callers(&record.callers, callers);
    }

    /// Names a frame that did not fit on the stack, or a frame whose call took the rest of it, after its callee.
    fn name_overflow(&self, frame: &frames::Frame, naming: &mut Naming) {
        let token = (self.word() as u32).reverse_bits();
        match naming.call_at(frame) {
            Some(Call::Indirect | Call::Tail) if token == HOST_CALLEE => naming.frame(frame, Moment::InHost),
            Some(Call::Indirect) => {
                naming.frames.push(entered(token));
                naming.frame(frame, Moment::InCall);
            }
            _ => naming.frame(frame, Moment::Before),
        }
    }

    /// Returns the wasm function that could not be compiled when it was called.
    fn failed_callee(&self) -> Option<u32> {
        // SAFETY: the context lives as long as the store. `lazy` has left the vmctx or host context there; both
        // begin with their magic number.
        unsafe {
            let context = self.context.as_ptr();
            let magic = (*context).failed_callee.cast::<u32>().as_ref()?;
            (*magic != host_context::MAGIC).then(|| (*context).failed_index)
        }
    }

    /// Moves the current word into the buffer, while the host runs.
    fn store_word(&mut self) {
        let count = self.word_count();
        if count == self.buffer.words {
            let end = self.live_frames();
            return self.end_chunk(count, end, 0);
        }
        // SAFETY: the buffer has room for one more word. Machine code does not run now.
        unsafe {
            let context = self.context.as_ptr();
            (*context).trace_next.write((*context).trace_word);
            (*context).trace_next = (*context).trace_next.add(1);
        }
        self.set_word(trace_word::EMPTY);
    }

    /// Sends the first `count` words of the buffer, the current word, and the data references to the writer. The
    /// innermost frame of `end` has made `done` accesses of its block.
    fn end_chunk(&mut self, count: usize, end: Vec<Frame>, done: u32) {
        let (words, references) = (self.take_words(count), self.take_references());
        if let Some(recording) = self.recording.as_mut().filter(|recording| !recording.is_full()) {
            recording.send(words, references, end, done);
        }
    }

    /// Returns the number of words of data references since the chunk began.
    fn reference_words(&self) -> usize {
        // SAFETY: the context lives as long as the store; the pointer stays in the buffer, or at its end.
        let next = unsafe { (*self.context.as_ptr()).reference_next };
        (next.addr() - self.references().addr()) / 8
    }

    /// Empties the buffer of data references and returns its words; `None` if they are not recorded.
    fn take_references(&mut self) -> Option<Vec<u64>> {
        let (count, is_traced) = (self.reference_words(), self.is_traced());
        let references = self.references.as_ref()?;
        // SAFETY: the context lives as long as the store; machine code does not run now.
        unsafe { (*self.context.as_ptr()).reference_next = references.first };
        Some(if is_traced { references.words(count).to_vec() } else { Vec::new() })
    }

    /// Empties the buffer and returns its first `count` words and the current word.
    fn take_words(&mut self, count: usize) -> Vec<u64> {
        let is_traced = self.is_traced();
        let word = self.word();
        self.set_word(trace_word::EMPTY);
        self.counted = (0, 0);
        let words = match is_traced {
            true => self.words(count).iter().copied().chain([word]).collect(),
            false => Vec::new(),
        };
        // SAFETY: the context lives as long as the store; machine code does not run now.
        unsafe { (*self.context.as_ptr()).trace_next = self.buffer() };
        words
    }

    /// Returns the number of bits since the chunk began.
    fn bits_in_chunk(&mut self) -> u64 {
        let (count, word) = (self.word_count(), self.word());
        let (before, bits) = self.counted;
        let more: u64 =
            self.words(count)[before..].iter().map(|&word| u64::from(trace_word::len(word))).sum();
        self.counted = (count, bits + more);
        bits + more + u64::from(trace_word::len(word))
    }

    /// Returns the number of words in the buffer.
    fn word_count(&self) -> usize {
        // SAFETY: the context lives as long as the store; machine code leaves the pointer in the buffer, or at
        // its end.
        let next = unsafe { (*self.context.as_ptr()).trace_next };
        (next.addr() - self.buffer().addr()) / 8
    }

    fn word(&self) -> u64 {
        // SAFETY: the context lives as long as the store.
        unsafe { (*self.context.as_ptr()).trace_word }
    }

    fn set_word(&mut self, word: u64) {
        // SAFETY: the context lives as long as the store; machine code does not run now.
        unsafe { (*self.context.as_ptr()).trace_word = word };
    }
}

/// Returns how many accesses of its block the frame that faulted at `pc` has recorded; irrelevant in a
/// trampoline.
fn accesses_before(pc: usize) -> u32 {
    let count = |frame: frames::Frame| {
        let plan = frame.module.any_plan_of(frame.origin.func)?;
        let place = (frame.origin.block, frame.origin.offset);
        Some(plan.trace.as_ref()?.accesses_before(&plan.cfg, place))
    };
    frames::of_fault(pc).and_then(count).unwrap_or(0)
}

/// Returns what the innermost waiting frame does if it has called no other frame of the program.
fn thrower(record: &TrapRecord) -> Moment {
    if record.is_thrown_again { Moment::After } else { Moment::InHost }
}

/// Returns the frame of a function that has executed nothing.
fn entered(function: u32) -> Frame {
    Frame { function, block: BlockId::ENTRY, stage: Stage::Body }
}

/// The frames found so far, innermost first.
#[derive(Default)]
struct Naming {
    frames: Vec<Frame>,
    /// The frames of known return addresses: recursion has few of them.
    known: HashMap<(usize, Moment), Option<Frame>>,
}

impl Naming {
    /// Adds frames that have made calls; `first` is what the innermost of them does.
    fn callers(&mut self, callers: &ManyFrames, first: Moment) {
        for (index, raw) in callers.iter().enumerate() {
            let moment = if index == 0 { first } else { Moment::InCall };
            let named = || frames::of_return(raw.pc).and_then(|frame| named(&frame, moment));
            let frame = *self.known.entry((raw.pc, moment)).or_insert_with(named);
            self.frames.extend(frame);
        }
    }

    fn frame(&mut self, frame: &frames::Frame, moment: Moment) {
        self.frames.extend(named(frame, moment));
    }

    /// Returns the call at which the frame stopped.
    fn call_at(&self, frame: &frames::Frame) -> Option<Call> {
        let plan = frame.module.any_plan_of(frame.origin.func)?;
        plan.trace.as_ref()?.call_at(&plan.cfg, (frame.origin.block, frame.origin.offset)).1
    }
}

fn named(frame: &frames::Frame, moment: Moment) -> Option<Frame> {
    let plan = frame.module.any_plan_of(frame.origin.func)?;
    let place = (frame.origin.block, frame.origin.offset);
    Some(plan.trace.as_ref()?.frame(&plan.cfg, place, moment))
}
