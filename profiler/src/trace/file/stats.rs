//! What a trace costs, by method.
//!
//! Input: a trace file. Output: bits for each executed predicate, bytes for 1000 blocks, before and after
//! compression.
//! Source: Ball & Larus 1994, section 6.2, tables 4 and 5 (size of the trace by method).

use std::collections::BTreeMap;
use std::io::{Read, Seek};

use super::super::{Regenerator, TraceCounts, TraceMethod};
use super::{TraceFileError, TraceReader};

/// The functions traced by one method.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MethodStats {
    /// How many.
    pub functions: u64,
    /// What ran of them.
    pub counts: TraceCounts,
}

/// What a whole trace costs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TraceStats {
    /// The functions of each method.
    pub methods: BTreeMap<TraceMethod, MethodStats>,
    /// All bits, those of calls included.
    pub stream_bits: u64,
    /// The chunks' bits after compression, with the traps among them.
    pub stored_bytes: u64,
    /// The chunks' data references after compression.
    pub reference_bytes: u64,
    /// The whole file.
    pub file_bytes: u64,
}

impl MethodStats {
    /// Bits written for each executed predicate; `None` if there were none.
    pub fn bits_per_predicate(&self) -> Option<f64> {
        ratio(self.counts.bits as f64, self.counts.predicates)
    }

    /// Bytes written for each 1000 executed blocks, before compression; `None` if there were none.
    pub fn bytes_per_1000_blocks(&self) -> Option<f64> {
        ratio(self.counts.bits as f64 / 8.0 * 1000.0, self.counts.blocks)
    }
}

impl TraceStats {
    /// Blocks executed in all functions.
    pub fn blocks(&self) -> u64 {
        self.methods.values().map(|method| method.counts.blocks).sum()
    }

    /// Bytes of the stream for each 1000 executed blocks, before compression; `None` if nothing ran.
    pub fn stream_bytes_per_1000_blocks(&self) -> Option<f64> {
        ratio(self.stream_bits as f64 / 8.0 * 1000.0, self.blocks())
    }

    /// The same after compression.
    pub fn stored_bytes_per_1000_blocks(&self) -> Option<f64> {
        ratio(self.stored_bytes as f64 * 1000.0, self.blocks())
    }
}

fn ratio(of: f64, to: u64) -> Option<f64> {
    (to > 0).then(|| of / to as f64)
}

impl<R: Read + Seek> TraceReader<R> {
    /// Regenerates everything and counts.
    ///
    /// # Errors
    /// If a chunk is damaged.
    pub fn stats(&mut self) -> Result<TraceStats, TraceFileError> {
        self.stats_of_first(self.chunk_count())
    }

    /// The same of so many chunks from the first on: all but the bytes of the file is theirs alone.
    ///
    /// # Errors
    /// If one of them is damaged.
    pub fn stats_of_first(&mut self, chunks: usize) -> Result<TraceStats, TraceFileError> {
        let chunks = chunks.min(self.chunk_count());
        let mut counts = BTreeMap::<u32, TraceCounts>::new();
        let (file_bytes, stored_bytes, reference_bytes) = self.bytes(chunks);
        let mut stats = TraceStats { file_bytes, stored_bytes, reference_bytes, ..TraceStats::default() };
        for chunk in 0..chunks {
            let segment = self.segment(chunk)?;
            stats.stream_bits += segment.bits.len();
            let mut walk = Regenerator::new(self.functions(), segment)?;
            walk.try_for_each(|event| event.map(drop))?;
            walk.counts().for_each(|(function, more)| *counts.entry(function).or_default() += more);
        }
        for table in self.tables() {
            let method = stats.methods.entry(table.method).or_default();
            method.functions += 1;
            method.counts += counts.get(&table.function).copied().unwrap_or_default();
        }
        Ok(stats)
    }
}
