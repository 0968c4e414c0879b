//! Costs of a trace, by method.
//!
//! Input: a trace file. Output: bits per executed predicate, and bytes per 1000 blocks, before and after compression.
//! Source: Ball & Larus 1994, section 6.2, tables 4 and 5 (size of the trace by method).

use std::collections::BTreeMap;
use std::io::{Read, Seek};

use super::super::{Regenerator, TraceCounts, TraceMethod};
use super::{TraceFileError, TraceReader};

/// The functions traced by one method.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MethodStats {
    /// Number of functions.
    pub functions: u64,
    /// The counts of what ran in these functions.
    pub counts: TraceCounts,
}

/// The costs of a whole trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TraceStats {
    /// The functions by method.
    pub methods: BTreeMap<TraceMethod, MethodStats>,
    /// All bits, including those of calls.
    pub stream_bits: u64,
    /// Bytes of the chunks' bits after compression, including the traps.
    pub stored_bytes: u64,
    /// Bytes of the chunks' data references after compression.
    pub reference_bytes: u64,
    /// Bytes of the whole file.
    pub file_bytes: u64,
}

impl MethodStats {
    /// Returns the bits written per executed predicate; `None` if there were no predicates.
    pub fn bits_per_predicate(&self) -> Option<f64> {
        ratio(self.counts.bits as f64, self.counts.predicates)
    }

    /// Returns the bytes written per 1000 executed blocks, before compression; `None` if there were no blocks.
    pub fn bytes_per_1000_blocks(&self) -> Option<f64> {
        ratio(self.counts.bits as f64 / 8.0 * 1000.0, self.counts.blocks)
    }
}

impl TraceStats {
    /// Returns the number of blocks executed in all functions.
    pub fn blocks(&self) -> u64 {
        self.methods.values().map(|method| method.counts.blocks).sum()
    }

    /// Returns the bytes of the stream per 1000 executed blocks, before compression; `None` if nothing ran.
    pub fn stream_bytes_per_1000_blocks(&self) -> Option<f64> {
        ratio(self.stream_bits as f64 / 8.0 * 1000.0, self.blocks())
    }

    /// Returns the bytes of the stream per 1000 executed blocks, after compression; `None` if nothing ran.
    pub fn stored_bytes_per_1000_blocks(&self) -> Option<f64> {
        ratio(self.stored_bytes as f64 * 1000.0, self.blocks())
    }

    /// Returns the bits of the stream per executed predicate, after compression and including those of calls; `None` if
    /// there were no predicates.
    pub fn stored_bits_per_predicate(&self) -> Option<f64> {
        let predicates = self.methods.values().map(|method| method.counts.predicates).sum();
        ratio(self.stored_bytes as f64 * 8.0, predicates)
    }
}

fn ratio(of: f64, to: u64) -> Option<f64> {
    (to > 0).then(|| of / to as f64)
}

impl<R: Read + Seek> TraceReader<R> {
    /// Regenerates the whole run and counts.
    ///
    /// # Errors
    /// Returns an error if a chunk is damaged.
    pub fn stats(&mut self) -> Result<TraceStats, TraceFileError> {
        self.stats_of_first(self.chunk_count())
    }

    /// Regenerates the first `chunks` chunks and counts. All figures except the bytes of the file are of these chunks
    /// alone.
    ///
    /// # Errors
    /// Returns an error if one of these chunks is damaged.
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
