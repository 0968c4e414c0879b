//! Recorded bursts: how much of a run's hot data streams they see, and how irregular they are: Hirzel & Chilimbi 2001,
//! sections 2 and 5.2, figures 7 and 8.
//!
//! The runs are deterministic. Streams are of 10 to 40 references and make up 90% of all, as in section 5.2; a burst's
//! references are not joined with those of the next one.

use std::collections::HashMap;
use std::io::Cursor;

use anyhow::{Error, Result};
use wprof::profiler::{BurstEvent, BurstLengths, BurstReader, DataStreams, DataStreamsBuilder, Profile};
use wprof::{Checks, Config};

use super::Runs;
use super::quality::{CHECKS, LENGTH, LENGTHS, sampled};
use super::traces::Shared;
use crate::programs::{Program, home, words};
use crate::session::{Loaded, failure};
use crate::table::Table;

/// The number of references after which a run is not followed further.
const REFERENCES: u64 = 20_000_000;

/// Makes figure 7 of data streams.
pub fn streams_by_lengths(runs: &Runs<'_>) -> Result<Table> {
    let ways = LENGTHS.iter().map(|lengths| (*lengths, "default"));
    streams(runs, &LENGTHS, &ways.collect::<Vec<_>>())
}

/// Makes figure 8 of data streams.
pub fn streams_by_checks(runs: &Runs<'_>) -> Result<Table> {
    let ways = CHECKS.iter().map(|checks| (LENGTH, *checks));
    streams(runs, &CHECKS, &ways.collect::<Vec<_>>())
}

fn streams(runs: &Runs<'_>, names: &[&str], ways: &[(&str, &str)]) -> Result<Table> {
    let head: Vec<&str> = ["hot streams"].iter().chain(names).copied().collect();
    let row = |program: &Program| {
        let args = runs.args_of(program);
        let all =
            Recorded::new(program, &args, configured("1:inf", "default")?.trace_references(true))?.streams();
        let cell = |&(lengths, checks): &(&str, &str)| {
            let seen = Recorded::new(program, &args, configured(lengths, checks)?.trace_references(true))?;
            // No share at all is a sum of nothing, which is -0.
            Ok(format!("{:.1}%", 100.0 * all.overlap(&seen.streams()) + 0.0))
        };
        let cells: Vec<String> = ways.iter().map(cell).collect::<Result<_>>()?;
        Ok([all.streams.to_string()].into_iter().chain(cells).collect())
    };
    let mut table = runs.each(&head, row)?;
    let lists = lists();
    table.row(&lists.name, row(&lists)?);
    Ok(table)
}

/// Returns a program that walks through one list again and again, as those do for which streams were made.
fn lists() -> Program {
    let args = words("scattered 5000 40");
    Program {
        name: "lists".to_owned(),
        file: home().join("programs/streams/lists.wasm"),
        args: args.clone(),
        quick_args: args.clone(),
        long_args: args,
        dirs: Vec::new(),
        exit_code: 0,
    }
}

/// Makes the table of how irregular bursts are: of the instructions on the paths that end in a burst, and of the checks from
/// the beginning of one burst to that of the next, the mean, and the standard deviation over the mean.
pub fn irregularity(runs: &Runs<'_>) -> Result<Table> {
    let head = ["bursts", "instructions", "deviation", "checks between", "deviation"];
    runs.each(&head, |program| {
        let args = runs.args_of(program);
        let recorded = Recorded::new(program, &args, &mut configured(LENGTH, "default")?)?;
        let (instructions, distances) = recorded.sizes();
        let cells = [&instructions, &distances].map(|figures| match mean_and_deviation(figures) {
            Some((mean, deviation)) => [format!("{mean:.0}"), format!("{deviation:.2}")],
            None => ["-".to_owned(), "-".to_owned()],
        });
        Ok([instructions.len().to_string()].into_iter().chain(cells.into_iter().flatten()).collect())
    })
}

/// Returns the mean, and the standard deviation over the mean; `None` of fewer than two figures.
fn mean_and_deviation(figures: &[u64]) -> Option<(f64, f64)> {
    let count = figures.len() as f64;
    let mean = figures.iter().sum::<u64>() as f64 / count;
    let squares: f64 = figures.iter().map(|&figure| (figure as f64 - mean).powi(2)).sum();
    (figures.len() > 1 && mean > 0.0).then(|| (mean, (squares / (count - 1.0)).sqrt() / mean))
}

pub(super) fn configured(lengths: &str, checks: &str) -> Result<Config> {
    let lengths: BurstLengths = lengths.parse().map_err(Error::msg)?;
    let checks: Checks = checks.parse().map_err(Error::msg)?;
    let mut config = sampled(lengths, checks);
    config.record_bursts(true);
    Ok(config)
}

/// The bursts of a run.
pub(super) struct Recorded {
    pub events: Vec<BurstEvent>,
    pub profile: Profile,
}

impl Recorded {
    /// Runs a program with bursts as configured.
    pub fn new(program: &Program, args: &[String], config: &mut Config) -> Result<Recorded> {
        let file = Shared::default();
        let mut session = Loaded::new(program, config)?.run_with_bursts(args, file.clone())?;
        session.store.finish_bursts().map_err(failure)?;
        let mut reader = BurstReader::open(Cursor::new(file.take()))?;
        let events = reader.events().collect::<Result<_, _>>()?;
        Ok(Recorded { events, profile: session.profile()? })
    }

    fn streams(&self) -> DataStreams {
        let mut builder = DataStreamsBuilder::new(REFERENCES);
        for event in &self.events {
            match *event {
                BurstEvent::Access { site, address, .. } => builder.add(site, address),
                BurstEvent::Begin { .. } | BurstEvent::BeginByTime { .. } => builder.interrupt(),
                BurstEvent::Enter { .. } | BurstEvent::Path { .. } => {}
            }
        }
        builder.finish(&(10..=40), 0.9)
    }

    /// Returns the instructions of each burst, and the checks from the beginning of each to that of the next.
    fn sizes(&self) -> (Vec<u64>, Vec<u64>) {
        let mut costs: HashMap<(u32, u64), u64> = HashMap::new();
        for path in self.profile.hottest_paths() {
            let cost = path.ops.checked_div(path.count).unwrap_or(0);
            costs.insert((path.function, path.id), cost);
        }
        let (mut instructions, mut begins) = (Vec::new(), Vec::new());
        for event in &self.events {
            match *event {
                BurstEvent::Begin { checks } => {
                    begins.push(checks);
                    instructions.push(0);
                }
                BurstEvent::Path { func, id } => {
                    let cost = costs.get(&(func, id)).copied().unwrap_or(0);
                    instructions.last_mut().into_iter().for_each(|sum| *sum += cost);
                }
                _ => {}
            }
        }
        let distances = begins.windows(2).map(|pair| pair[1].saturating_sub(pair[0])).collect();
        (instructions, distances)
    }
}

#[cfg(test)]
mod tests {
    use super::mean_and_deviation;

    #[test]
    fn the_deviation_is_relative_to_the_mean() {
        assert_eq!(mean_and_deviation(&[4, 4, 4]), Some((4.0, 0.0)));
        let (mean, deviation) = mean_and_deviation(&[2, 4, 6]).expect("three figures");
        assert!((mean - 4.0).abs() < 1e-9 && (deviation - 0.5).abs() < 1e-9);
        assert_eq!(
            [mean_and_deviation(&[]), mean_and_deviation(&[1]), mean_and_deviation(&[0, 0])],
            [None; 3]
        );
    }
}
