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
const LENGTHS: [&str; 8] = ["20:1", "200:10", "1000:50", "100:1", "1000:10", "5000:50", "200:1", "2000:10"];

/// The places of checks, as in the paper.
const CHECKS: [&str; 8] = ["orig", "EL", "EC", "EN", "L4", "L10", "LN", "EC+L4"];
/// The burst length at which the paper compares the places.
const LENGTH: &str = "1000:50";

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
fn sampled(lengths: BurstLengths, checks: Checks) -> Config {
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
