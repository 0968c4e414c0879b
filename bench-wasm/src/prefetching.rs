//! The gain of prefetching streams: runs of programs with it and without, in turns.

use anyhow::Result;
use wprof::{Adaptive, Config, Decision, Policy, ProfilingConfig, Verdict};

use crate::programs::{Program, home, is_among, own, words};
use crate::session::Loaded;
use crate::stats::Spread;
use crate::table::Table;

/// The cases of `programs/streams/lists.c`: name and arguments.
const LISTS: [(&str, &str); 8] = [
    ("scattered, 6 MiB", "scattered 100000 500"),
    ("scattered, 1 MiB", "scattered 16000 3000"),
    ("scattered, 60 KiB", "scattered 1000 50000"),
    ("edited, 6 MiB", "edited 100000 300"),
    ("new each time, 6 MiB", "new 100000 100"),
    ("in order of addresses, 6 MiB", "ordered 100000 2000"),
    ("buckets, 6 MiB", "buckets 100000 400"),
    ("buckets at random, 6 MiB", "random 100000 400"),
];

/// Returns the table of the lists and of our own programs whose names contain `only`, with the medians of `runs` pairs of
/// runs.
///
/// # Errors
/// Returns an error if a program cannot be run.
pub fn table(only: &str, runs: usize) -> Result<Table> {
    let mut table =
        Table::new(["without, ms", "with, ms", "ratio", "first run, ratio", "loops", "kept", "reverted"]);
    for program in lists().into_iter().chain(own()?).filter(|program| is_among(&program.name, only)) {
        eprintln!("{}", program.name);
        table.row(&program.name, row(&program, runs)?);
    }
    Ok(table)
}

/// Returns the cases of `programs/streams/lists.c`.
fn lists() -> Vec<Program> {
    let program = |(name, args): (&str, &str)| Program {
        name: format!("lists: {name}"),
        file: home().join("programs/streams/lists.wasm"),
        args: words(args),
        quick_args: words(args),
        long_args: words(args),
        dirs: Vec::new(),
        exit_code: 0,
    };
    LISTS.into_iter().map(program).collect()
}

/// A program in an engine that prefetches, or in one that does not.
struct Side<'a> {
    loaded: Loaded<'a>,
    /// Milliseconds of each run; the first one has the trials.
    times: Vec<f64>,
}

impl<'a> Side<'a> {
    fn new(program: &'a Program, prefetching: bool) -> Result<Side<'a>> {
        let mut config = Config::new();
        config.profiling(ProfilingConfig::Adaptive(Adaptive::default()));
        config.reoptimization(Some(Policy { prefetching, ..Policy::default() }));
        Ok(Side { loaded: Loaded::new(program, &config)?, times: Vec::new() })
    }

    fn run(&mut self, args: &[String]) -> Result<()> {
        self.times.push(self.loaded.run(args)?.time.as_secs_f64() * 1e3);
        Ok(())
    }

    /// Returns the median of all runs but the first.
    fn median(&self) -> f64 {
        Spread::new(&self.times[1..]).median
    }
}

fn row(program: &Program, runs: usize) -> Result<Vec<String>> {
    let (mut without, mut with) = (Side::new(program, false)?, Side::new(program, true)?);
    for _ in 0..=runs.max(1) {
        without.run(&program.args)?;
        with.run(&program.args)?;
    }
    let [loops, kept, reverted] = found(&with);
    Ok(vec![
        format!("{:.0}", without.median()),
        format!("{:.0}", with.median()),
        format!("{:.2}", with.median() / without.median()),
        format!("{:.2}", with.times[0] / without.times[0]),
        loops.to_string(),
        kept.to_string(),
        reverted.to_string(),
    ])
}

/// Returns the number of loops that were tried, of versions that were kept, and of versions that were reverted.
fn found(side: &Side<'_>) -> [usize; 3] {
    let done = side.loaded.module().reoptimizations();
    let is_prefetched = |decision: &Decision| decision.verdict == Verdict::Prefetched;
    let tried = done.iter().map(|done| &done.decisions).filter(|all| all.iter().any(is_prefetched));
    tried.fold([0; 3], |[loops, kept, reverted], all| {
        let ends = |kind: bool| {
            let is_it = |decision: &&Decision| matches!(decision.verdict, Verdict::Tried { reverted, .. } if reverted == kind);
            all.iter().filter(is_it).count()
        };
        let here = all.iter().filter(|decision| is_prefetched(decision)).count();
        [loops + here, kept + ends(false), reverted + ends(true)]
    })
}
