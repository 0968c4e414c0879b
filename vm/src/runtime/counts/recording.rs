//! Writing of a trace to its file.
//!
//! Input: words of bits with the frames between them, from [`super::trace_buffer`]. Output: a trace file. Invariant: the
//! program waits for the writer only if it is several chunks behind; once the file is full, or cannot be written,
//! the program continues without it.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use hashbrown::HashSet;
use wprof_jit::abi::{reference, trace_word};
use wprof_profiler::{
    BitStream, Cfg, EdgeWeights, Frame, FunctionTable, Reference, References, TraceChunk, TraceFileError,
    TraceHead, TraceMethod, TracePlan, TraceWriter, Unwind,
};

use crate::runtime::instances::loaded::LoadedModule;
use crate::runtime::interruption::generation::Generation;
use crate::{Error, ErrorKind, Result};

/// Maximum number of chunks that wait for the writer.
const QUEUE: usize = 4;

/// Maximum number of unwound frames in a chunk; the chunk ends after more.
const MAX_UNWOUND: usize = 1 << 20;

/// The summary of a completed trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceSummary {
    /// Length of the file in bytes.
    pub bytes: u64,
    /// Whether the limit was reached, so that the file has only the beginning of the run.
    pub limit_reached: bool,
}

/// A trace being recorded.
#[derive(Debug)]
pub struct Recording {
    /// The traced module.
    pub module: Arc<dyn LoadedModule>,
    /// The functions that the writer knows.
    known: HashSet<u32>,
    /// The functions that the writer must know for the next chunk.
    tables: Vec<FunctionTable>,
    unwinds: Vec<Unwind>,
    /// For each unwinding, the number of words of data references before it.
    reference_words: Vec<usize>,
    /// The number of accesses of its block that the innermost frame had made when the chunk began.
    done: u32,
    /// The number of frames in the unwindings.
    unwound: usize,
    queue: SyncSender<Chunk>,
    writer: JoinHandle<Result<TraceSummary, TraceFileError>>,
    /// Whether the writer accepts no more chunks.
    is_full: Arc<AtomicBool>,
    /// The process of the writer.
    process: Generation,
}

/// A chunk on its way to the writer.
#[derive(Debug)]
struct Chunk {
    tables: Vec<FunctionTable>,
    words: Vec<u64>,
    unwinds: Vec<Unwind>,
    references: Option<RawReferences>,
    end: Vec<Frame>,
}

/// Data references as machine code writes them.
#[derive(Debug)]
struct RawReferences {
    words: Vec<u64>,
    /// For each unwinding, the number of words before it.
    unwinds: Vec<usize>,
    done: u32,
}

impl RawReferences {
    /// Decodes the references: see `wprof_jit::abi::reference`.
    fn decode(&self) -> References {
        let (mut all, mut starts, mut at) = (Vec::with_capacity(self.words.len()), Vec::new(), 0);
        for &until in self.unwinds.iter().chain([&self.words.len()]) {
            while at < until {
                let head = self.words[at];
                let more = if head & reference::IS_LONG == 0 { 0 } else { head as u32 as usize };
                let operands = &self.words[at + 1..at + 1 + more];
                let index = operands.first().copied().unwrap_or(head & u64::from(u32::MAX));
                let site = (head & !reference::IS_LONG) >> 32;
                all.push(Reference { site: site as u32, index, length: operands.get(1).copied() });
                at += 1 + more;
            }
            starts.push(all.len() as u64);
        }
        starts.pop();
        References { all, done: self.done, unwinds: starts }
    }
}

impl Recording {
    /// Starts a recording of `module` into `out`, in at most `limit` bytes.
    ///
    /// # Errors
    /// Returns an error if the header cannot be written, or the system cannot start a thread.
    pub fn start(
        module: Arc<dyn LoadedModule>,
        head: &TraceHead,
        out: Box<dyn Write + Send>,
        limit: u64,
    ) -> Result<Recording> {
        let writer = TraceWriter::new(Counted { out, bytes: 0 }, head, limit).map_err(not_written)?;
        let (queue, chunks) = sync_channel(QUEUE);
        let is_full = Arc::new(AtomicBool::new(false));
        let tell = is_full.clone();
        let thread = std::thread::Builder::new().name("wprof-trace".into());
        let writer = thread
            .spawn(move || {
                let written = write(writer, &chunks, &tell);
                tell.store(true, Ordering::Relaxed);
                written
            })
            .map_err(|e| Error::system("no thread to write the trace", e))?;
        Ok(Recording {
            module,
            known: HashSet::new(),
            tables: Vec::new(),
            unwinds: Vec::new(),
            reference_words: Vec::new(),
            done: 0,
            unwound: 0,
            queue,
            writer,
            is_full,
            process: Generation::current(),
        })
    }

    /// Returns whether chunks are thrown away.
    pub fn is_full(&self) -> bool {
        self.is_full.load(Ordering::Relaxed) || !self.process.is_current()
    }

    /// Announces that the next chunk may name this function, which need not have been compiled.
    pub fn add_function(&mut self, func: u32) {
        if self.known.insert(func) {
            let plan = self.module.any_plan_of(func);
            let table = plan.and_then(|plan| Some(plan.trace.as_ref()?.table(func)));
            self.tables.push(table.unwrap_or_else(|| unplanned(func)));
        }
    }

    /// Adds the frames that a trap has ended, after `reference_words` words of data references. Returns whether
    /// the chunk has room for more.
    pub fn add_unwind(&mut self, unwind: Unwind, reference_words: usize) -> bool {
        self.unwound += unwind.frames.len();
        self.unwinds.push(unwind);
        self.reference_words.push(reference_words);
        self.unwound <= MAX_UNWOUND
    }

    /// Ends a chunk, with the words of data references if they are recorded. The innermost frame of `end` has
    /// made `done` accesses of its block.
    pub fn send(&mut self, words: Vec<u64>, references: Option<Vec<u64>>, end: Vec<Frame>, done: u32) {
        for func in self.module.compiled_functions() {
            self.add_function(func);
        }
        let tables = std::mem::take(&mut self.tables);
        let unwinds = std::mem::take(&mut self.unwinds);
        let reference_words = std::mem::take(&mut self.reference_words);
        let done = std::mem::replace(&mut self.done, done);
        let references = references.map(|words| RawReferences { words, unwinds: reference_words, done });
        self.unwound = 0;
        // A writer that has stopped reports the reason in [`Recording::finish`].
        let _ = self.queue.send(Chunk { tables, words, unwinds, references, end });
    }

    /// Completes the file.
    ///
    /// # Errors
    /// Returns an error if the file could not be written, or this process is a child of the one that writes it.
    pub fn finish(self) -> Result<TraceSummary> {
        if !self.process.is_current() {
            // A thread that does not exist in this process can neither be joined nor notified.
            std::mem::forget((self.queue, self.writer));
            return Err(refused("the trace is written by the process that this one was forked from"));
        }
        drop(self.queue);
        match self.writer.join() {
            Ok(written) => written.map_err(not_written),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
}

/// Returns the table of a function that is too large to be compiled; a call of it stops at its entry.
fn unplanned(func: u32) -> FunctionTable {
    let cfg = Cfg::new(1, &[]).expect("one block");
    let plan = TracePlan::new(TraceMethod::BitTracing, &cfg, &EdgeWeights::estimate(&cfg), &[]);
    FunctionTable::new(func, &cfg, &[], &plan)
}

/// The destination of the trace, with the number of bytes written.
struct Counted {
    out: Box<dyn Write + Send>,
    bytes: u64,
}

impl Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.out.flush()
    }
}

fn write(
    mut writer: TraceWriter<Counted>,
    chunks: &Receiver<Chunk>,
    is_full: &AtomicBool,
) -> Result<TraceSummary, TraceFileError> {
    for Chunk { tables, words, unwinds, references, end } in chunks {
        writer.add_functions(&tables)?;
        let references = references.as_ref().map(RawReferences::decode);
        let chunk = TraceChunk { bits: bits(&words), unwinds, end, references };
        if !writer.write_chunk(&chunk)? {
            is_full.store(true, Ordering::Relaxed);
        }
    }
    let limit_reached = !writer.is_recording();
    let Counted { bytes, .. } = writer.finish()?;
    Ok(TraceSummary { bytes, limit_reached })
}

/// Concatenates the bits of words, see [`trace_word`].
fn bits(words: &[u64]) -> BitStream {
    let mut bytes = Vec::with_capacity(words.len() * 8);
    let (mut held, mut count, mut total) = (0_u128, 0, 0);
    for &word in words {
        let len = trace_word::len(word);
        if len == 0 {
            continue;
        }
        held |= u128::from((word << (64 - len)).reverse_bits()) << count;
        count += len;
        total += u64::from(len);
        if count >= 64 {
            bytes.extend_from_slice(&(held as u64).to_le_bytes());
            held >>= 64;
            count -= 64;
        }
    }
    bytes.extend_from_slice(&(held as u64).to_le_bytes());
    bytes.truncate(total.div_ceil(8) as usize);
    BitStream::from_bytes(bytes, total).expect("just the bytes for the bits")
}

fn not_written(error: TraceFileError) -> Error {
    Error::system("the trace could not be written", error)
}

/// Returns the error for a request that cannot be traced.
pub fn refused(why: &str) -> Error {
    Error::new(ErrorKind::Limit, why)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_become_bits_in_their_order() {
        let tokens = [(1_u32, 1_u8), (0, 1), (5, 3), (0xdead_beef, 32), (2, 2), (u32::MAX, 32), (0, 1)];
        let (mut words, mut expected) = (vec![trace_word::EMPTY], BitStream::default());
        for (value, bits) in tokens.into_iter().cycle().take(100) {
            expected.push(value, bits);
            if trace_word::len(words[words.len() - 1]) + u32::from(bits) > 63 {
                words.push(trace_word::EMPTY);
            }
            let word = words.last_mut().expect("there is one");
            *word = *word << bits | trace_word::in_word(value, bits);
        }
        words.push(trace_word::EMPTY);
        assert_eq!(bits(&words), expected);
        assert!(bits(&[]).is_empty());
    }
}
