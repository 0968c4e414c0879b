//! Packs traces into fewer bits: branch outcomes are predicted, and coded by an arithmetic coder.
//!
//! Input: a trace file. Output: the same sections, with the chunks' bits coded; and back.
//! Invariant: unpacking restores the packed trace bit for bit. A damaged file gives an error or complete chunks,
//! never wrong bits (the bits of each chunk have a checksum).
//! Source: Vaswani 2007, chapter 4: path numbers are arithmetic codes, and a model that fits the run better needs
//! fewer bits. The coder codes not the trace's bits but the decisions of the run, at the points where they are made,
//! so that everything before predicts them: see `model.rs`. The bits that the run wrote follow from the decisions.
//! Oracle: the trace itself, in `tests/it/packing.rs`.
//!
//! The layout is that of a trace file, with the magic `77 70 72 70 0d 0a 1a 0a`, and a section `PBIT` ([`Packed`]) in
//! place of each `BITS`. Earlier chunks predict later ones, so chunks are read from the first one on.

mod chunk;
mod coder;
mod file;
mod model;
mod walk;

pub use file::{PackSummary, unpack_trace};

use serde::{Deserialize, Serialize};

/// Content of the section `PBIT`: a chunk's bits as decisions.
#[derive(Serialize, Deserialize)]
struct Packed {
    /// Number of bits, and their checksum.
    len: u64,
    checksum: u64,
    /// For each stop: the steps of the walk before it, and the number of frames that survive it; the last stop is the
    /// chunk's end.
    stops: Vec<(u64, Option<u32>)>,
    /// Output of the coder.
    code: Vec<u8>,
}
