//! Traces in fewer bits: what branches did, predicted and coded by an arithmetic coder.
//!
//! Input: a trace file. Output: the same sections, but for the chunks' bits, which are coded; and back.
//! Invariant: unpacking gives the trace that was packed, bit for bit; of a damaged file it gives an error or whole chunks,
//! never other bits (each chunk's have a checksum).
//! Source: Vaswani 2007, chapter 4: path numbers are arithmetic codes, and a model that fits the run better needs fewer
//! bits. What is coded is not the trace's bits but the decisions of the run, where they are made, so that all that ran
//! before predicts them: see `model.rs`. The bits follow from the decisions, as the run wrote them.
//! Oracle: the trace itself, in `tests/it/packing.rs`.
//!
//! The layout is that of a trace file, with the magic `77 70 72 70 0d 0a 1a 0a`, and a section `PBIT` ([`Packed`]) for
//! each `BITS`. Chunks are predicted by those before, so they are read from the first one on.

mod chunk;
mod coder;
mod file;
mod model;
mod walk;

pub use file::{PackSummary, unpack_trace};

use serde::{Deserialize, Serialize};

/// A chunk's bits as decisions: the section `PBIT`.
#[derive(Serialize, Deserialize)]
struct Packed {
    /// How many bits they are, and the checksum of these.
    len: u64,
    checksum: u64,
    /// The steps of the walk before each stop, and how many frames survive it; the last one is the chunk's end.
    stops: Vec<(u64, Option<u32>)>,
    /// What the coder wrote.
    code: Vec<u8>,
}
