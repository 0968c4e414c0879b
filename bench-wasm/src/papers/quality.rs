//! The share of a program that samples record: Hirzel & Chilimbi 2001, figures 7 and 8.
//!
//! The measure is the overlap of the paths that bursts record with all paths, weighted by instructions. The runs are
//! deterministic.

use anyhow::{Error, Result};
use wprof::profiler::{BurstLengths, Change, Comparison, Profile, overlap};
use wprof::{Adaptive, Checks, Config, ProfilingConfig, Strategy};

use super::Runs;
use super::runs::{exact_paths, profile};
use crate::programs::Program;
use crate::table::Table;

/// The burst lengths of the paper.
pub(super) const LENGTHS: [&str; 8] =
    ["20:1", "200:10", "1000:50", "100:1", "1000:10", "5000:50", "200:1", "2000:10"];

/// The places of checks, as in the paper.
pub(super) const CHECKS: [&str; 8] = ["orig", "EL", "EC", "EN", "L4", "L10", "LN", "EC+L4"];
/// The burst length at which the paper compares the places.
pub(super) const LENGTH: &str = "1000:50";

/// The burst lengths whose accuracy is predicted; the last are the default ones, without growth.
const PREDICTED: [&str; 3] = ["1000:50", "10000:100", "100000:100"];

/// Makes figure 7.
pub fn by_lengths(runs: &Runs<'_>) -> Result<Table> {
    runs.each(&LENGTHS, |program| {
        let of = |lengths: &&str| Ok((lengths.parse().map_err(Error::msg)?, Checks::default()));
        row(runs, program, LENGTHS.iter().map(of))
    })
}

/// Makes figure 8.
pub fn by_checks(runs: &Runs<'_>) -> Result<Table> {
    runs.each(&CHECKS, |program| {
        let of =
            |checks: &&str| Ok((LENGTH.parse().map_err(Error::msg)?, checks.parse().map_err(Error::msg)?));
        row(runs, program, CHECKS.iter().map(of))
    })
}

/// Makes the table of overlaps that samples predict of themselves, beside their real ones: of the instructions of
/// functions.
pub fn predicted(runs: &Runs<'_>) -> Result<Table> {
    let head = PREDICTED.iter().flat_map(|lengths| {
        ["bursts", "predicted", "real", "difference"].map(|what| format!("{lengths}: {what}"))
    });
    let head: Vec<String> = head.collect();
    let head: Vec<&str> = head.iter().map(String::as_str).collect();
    runs.each(&head, |program| {
        let args = runs.args_of(program);
        let exact = exact_paths(program, &args)?;
        let mut row = Vec::new();
        for lengths in PREDICTED {
            let lengths = lengths.parse().map_err(Error::msg)?;
            let mut config = sampled(lengths, Checks::default());
            let seen = profile(program, config.count_contexts(true), &args)?;
            row.extend(prediction(&exact, &seen));
        }
        Ok(row)
    })
}

/// Returns the bursts, the predicted overlap, the real one and their difference in points.
fn prediction(exact: &Profile, seen: &Profile) -> [String; 4] {
    let instructions: Vec<Change> =
        Comparison::new(exact, seen).functions().into_iter().map(|function| function.ops).collect();
    let real = 100.0 * overlap(&instructions).unwrap_or(0.0);
    let predicted = seen.expected_overlap().map(|overlap| 100.0 * overlap);
    let percent = |share: f64| format!("{share:.1}%");
    [
        seen.bursts.unwrap_or(0).to_string(),
        predicted.map_or("-".into(), percent),
        percent(real),
        predicted.map_or("-".into(), |predicted| format!("{:+.1}", predicted - real)),
    ]
}

fn row(
    runs: &Runs<'_>,
    program: &Program,
    ways: impl Iterator<Item = Result<(BurstLengths, Checks)>>,
) -> Result<Vec<String>> {
    let args = runs.args_of(program);
    let exact = exact_paths(program, &args)?;
    let cell = |way: Result<(BurstLengths, Checks)>| {
        let (lengths, checks) = way?;
        let seen = profile(program, &sampled(lengths, checks), &args)?;
        Ok(format!("{:.1}%", 100.0 * overlap_of(&exact, &seen)))
    };
    ways.map(cell).collect()
}

/// Returns a configuration that optimises code from the start, so that the places of checks do not change.
pub(super) fn sampled(lengths: BurstLengths, checks: Checks) -> Config {
    let mut config = Config::new();
    config.profiling(ProfilingConfig::Adaptive(Adaptive { lengths, checks, ..Adaptive::default() }));
    config.strategy(Strategy::Optimized).reoptimization(None).background_compilation(false).hash_ahead(false);
    config
}

fn overlap_of(exact: &Profile, seen: &Profile) -> f64 {
    let instructions: Vec<Change> =
        Comparison::new(exact, seen).paths().into_iter().map(|path| path.ops).collect();
    overlap(&instructions).unwrap_or(0.0)
}
