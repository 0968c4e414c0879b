//! Regressions of tiered recompilation: compares the figures of one build or configuration with those of another.
//!
//! Input: two *sides*, each a runner with options, or one side and the committed baseline. Output: figures that differ
//! beyond noise. Both use one comparison: the figures of a baseline are a sample of one round. Counts come from
//! deterministic runs (`wprof-run run --deterministic`), which go through the same versions each time, so that they do not
//! depend on time. Times come from rounds in which both sides run one after the other, alternately first.

pub mod callgrind;
pub mod figures;
mod measure;
mod verdict;

pub use measure::{Counting, Side, counted, timed};
pub use verdict::{Change, Limits, Samples, Verdict, compare, table};

use crate::baseline::{Baseline, processor};

/// The file of the committed baseline.
pub const FILE: &str = "tiers.tsv";
/// Its first line.
const HEAD: &str = "Figures of tiered compilation: written by `regress --write`, see src/regress.";

/// Instructions that a run executes in machine code, counted under valgrind.
pub const INSTRUCTIONS: &str = "instructions";

/// A program of the comparison.
#[derive(Clone, Copy, Debug)]
pub struct Work {
    /// Its name in `programs/manifest.tsv`.
    pub program: &'static str,
    /// Its arguments for counting: some ten million instructions.
    pub counted: &'static str,
    /// Its arguments for timing: some tenths of a second.
    pub timed: &'static str,
}

/// All programs of the comparison.
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

/// Converts figures to a baseline for this processor.
pub fn as_baseline(figures: &Samples) -> Baseline {
    let counts = figures.iter().filter_map(|(key, values)| Some((key.clone(), *values.first()? as u64)));
    Baseline { processor: processor(), counts: counts.collect() }
}

/// Returns the committed figures of the programs in `figures`, restricted to the figures that are available here:
/// instructions only if they were counted.
///
/// # Errors
/// Returns an error if there is no baseline.
pub fn stored(figures: &Samples) -> anyhow::Result<Samples> {
    let has_instructions = figures.keys().any(|(_, figure)| figure == INSTRUCTIONS);
    let is_asked = |(program, figure): &(String, String)| {
        let is_measured = figures.keys().any(|(measured, _)| measured == program);
        is_measured && (figure != INSTRUCTIONS || has_instructions)
    };
    let counts = Baseline::committed(FILE)?.counts.into_iter().filter(|(key, _)| is_asked(key));
    Ok(counts.map(|(key, count)| (key, vec![count as f64])).collect())
}

/// Commits figures to the baseline; those of other programs and other kinds stay.
///
/// # Errors
/// Returns an error if the file cannot be written.
pub fn commit(figures: &Samples) -> anyhow::Result<()> {
    let mut baseline = Baseline::committed(FILE).unwrap_or_default();
    let new = as_baseline(figures);
    baseline.processor = new.processor;
    baseline.counts.extend(new.counts);
    baseline.commit(FILE, HEAD)
}
