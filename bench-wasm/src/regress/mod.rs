//! Regressions of tiered recompilation: the figures of one build or configuration beside those of another.
//!
//! Input: two *sides*, each a runner with options, or one side and the committed baseline. Output: figures that differ
//! beyond noise. There is one comparison for both: figures of a baseline are a sample of one round. What is counted is
//! counted in runs that go through the same versions each time (`own run --deterministic`), so that no figure of these
//! depends on time; what is timed is timed in rounds, in which both sides run one after the other, in turns first.

pub mod callgrind;
pub mod figures;
mod measure;
mod verdict;

pub use measure::{Counting, Side, counted, timed};
pub use verdict::{Change, Limits, Samples, Verdict, compare, table};

use crate::baseline::{Baseline, processor};

/// The committed baseline.
pub const FILE: &str = "tiers.tsv";
/// Its first line.
const HEAD: &str = "Figures of tiered compilation: written by `regress --write`, see src/regress.";

/// Instructions that a run executes in machine code, under valgrind.
pub const INSTRUCTIONS: &str = "instructions";

/// A program that is compared.
#[derive(Clone, Copy, Debug)]
pub struct Work {
    /// Its name in `programs/manifest.tsv`.
    pub program: &'static str,
    /// Its arguments where things are counted: some ten million instructions.
    pub counted: &'static str,
    /// Its arguments where it is timed: some tenths of a second.
    pub timed: &'static str,
}

/// All of them.
pub const WORK: [Work; 10] = [
    Work { program: "fib", counted: "25", timed: "36" },
    Work { program: "calls", counted: "500000", timed: "10000000" },
    Work { program: "vcall", counted: "20", timed: "3000" },
    Work { program: "interp", counted: "2000", timed: "30000" },
    Work { program: "nbody", counted: "20000", timed: "700000" },
    Work { program: "branchy", counted: "10", timed: "700" },
    Work { program: "sort", counted: "4000 4", timed: "100000 3" },
    Work { program: "strings", counted: "3000 4", timed: "100000 20" },
    Work { program: "json", counted: "200 6", timed: "4000 40" },
    Work { program: "compress", counted: "20000 3", timed: "1000000 4" },
];

/// Figures as a baseline for this processor.
pub fn as_baseline(figures: &Samples) -> Baseline {
    let counts = figures.iter().filter_map(|(key, values)| Some((key.clone(), *values.first()? as u64)));
    Baseline { processor: processor(), counts: counts.collect() }
}

/// The committed figures of the programs that `figures` has, and of the figures that can be had here: instructions only
/// where they were counted.
///
/// # Errors
/// If there is no baseline.
pub fn stored(figures: &Samples) -> anyhow::Result<Samples> {
    let has_instructions = figures.keys().any(|(_, figure)| figure == INSTRUCTIONS);
    let is_asked = |(program, figure): &(String, String)| {
        let is_measured = figures.keys().any(|(measured, _)| measured == program);
        is_measured && (figure != INSTRUCTIONS || has_instructions)
    };
    let counts = Baseline::committed(FILE)?.counts.into_iter().filter(|(key, _)| is_asked(key));
    Ok(counts.map(|(key, count)| (key, vec![count as f64])).collect())
}

/// Makes figures the committed ones; those of other programs, and of other kinds, stay.
///
/// # Errors
/// If the file cannot be written.
pub fn commit(figures: &Samples) -> anyhow::Result<()> {
    let mut baseline = Baseline::committed(FILE).unwrap_or_default();
    let new = as_baseline(figures);
    baseline.processor = new.processor;
    baseline.counts.extend(new.counts);
    baseline.commit(FILE, HEAD)
}
