//! `strangers`: measures `wprof run` on programs of public suites, with and without a profile, as users run it.
//!
//! Each round runs each kind once, so that drift of the machine affects all kinds alike; ratios are of runs of one
//! round. The measure is the processor time of the whole process, including its compiler thread; a second table has
//! wall time.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use clap::Parser;
use wprof_bench::programs::is_among;
use wprof_bench::runner::beside_this_program;
use wprof_bench::stats::{Spread, geometric_mean};
use wprof_bench::strangers::{self, Stranger};

#[derive(Parser)]
#[command(about = "Measures programs of public suites with and without a profile, as users run them")]
struct Args {
    /// A checkout of Sightglass.
    #[arg(long, value_name = "FOLDER")]
    sightglass: Option<PathBuf>,
    /// A checkout of PolyBench/C, to be compiled by clang-19.
    #[arg(long, value_name = "FOLDER")]
    polybench: Option<PathBuf>,
    /// A checkout of Embench, to be compiled by clang-19.
    #[arg(long, value_name = "FOLDER")]
    embench: Option<PathBuf>,
    /// A list of WASI commands: on each line a name, a module, and its arguments.
    #[arg(long, value_name = "FILE")]
    commands: Option<PathBuf>,
    /// The program `wprof`, if not the one beside this.
    #[arg(long, value_name = "FILE")]
    wprof: Option<PathBuf>,
    /// Only programs whose names contain one of these.
    #[arg(long, value_name = "A,B", default_value = "")]
    only: String,
    /// Rounds.
    #[arg(long, value_name = "COUNT", default_value_t = 7)]
    rounds: usize,
    /// Leave out programs that take less, in plain code from the cache.
    #[arg(long, value_name = "MS", default_value_t = 50.0)]
    least: f64,
    /// Also give a table of wall time.
    #[arg(long)]
    wall: bool,
}

/// A way to run a program.
struct Kind {
    name: &'static str,
    options: &'static [&'static str],
    /// Whether the code cache contains the code of earlier runs.
    is_warm: bool,
}

const OFF: &[&str] = &["--profile", "off"];
const SAMPLED: &[&str] = &["--without", "all"];
const UNTIMED: &[&str] = &["--without", "all", "--rate", "off"];

/// Unmeasured runs before those with a warm cache.
const WARM_UP: usize = 4;

/// The first kind of each cache state is the reference for the others.
const KINDS: [Kind; 8] = [
    Kind { name: "plain, cold", options: OFF, is_warm: false },
    Kind { name: "untimed, cold", options: UNTIMED, is_warm: false },
    Kind { name: "sampled, cold", options: SAMPLED, is_warm: false },
    Kind { name: "default, cold", options: &[], is_warm: false },
    Kind { name: "plain, warm", options: OFF, is_warm: true },
    Kind { name: "untimed, warm", options: UNTIMED, is_warm: true },
    Kind { name: "sampled, warm", options: SAMPLED, is_warm: true },
    Kind { name: "default, warm", options: &[], is_warm: true },
];

/// Kinds for each state of the cache.
const KINDS_PER_CACHE: usize = KINDS.len() / 2;

/// Returns the kind that is the reference for `kind`.
fn plain(kind: usize) -> usize {
    kind - kind % KINDS_PER_CACHE
}

/// The times of a run, in milliseconds.
#[derive(Clone, Copy)]
struct Took {
    processor: f64,
    wall: f64,
}

/// The runs of a program, by kind and round.
struct Row {
    name: String,
    runs: [Vec<Took>; KINDS.len()],
}

fn main() -> Result<()> {
    let args = Args::parse();
    let scratch = std::env::temp_dir().join(format!("wprof-strangers-{}", std::process::id()));
    fs::create_dir_all(&scratch).context("cannot make a scratch folder")?;
    let measured = measure(&args, &scratch);
    fs::remove_dir_all(&scratch).context("cannot remove the scratch folder")?;
    let rows = measured?;
    println!("Processor time\n\n{}\n\n{}", table(&rows, |took| took.processor), timer(&rows));
    if args.wall {
        println!("\nWall time\n\n{}", table(&rows, |took| took.wall));
    }
    Ok(())
}

/// Finds the programs of a suite in a folder, and writes derived files to another folder.
type Find = fn(&Path, &Path) -> Result<Vec<Stranger>>;

fn measure(args: &Args, scratch: &Path) -> Result<Vec<Row>> {
    let wprof = match &args.wprof {
        Some(path) => fs::canonicalize(path).with_context(|| format!("cannot find {}", path.display()))?,
        None => beside_this_program("wprof")?,
    };
    let mut strangers = Vec::new();
    let suites: [(&Option<PathBuf>, Find); 4] = [
        (&args.sightglass, strangers::sightglass),
        (&args.polybench, strangers::polybench),
        (&args.embench, strangers::embench),
        (&args.commands, |list, _| strangers::commands(list)),
    ];
    for (path, find) in suites {
        strangers.extend(path.as_deref().map(|path| find(path, scratch)).transpose()?.unwrap_or_default());
    }
    ensure!(!strangers.is_empty(), "no programs: give --sightglass, --polybench, --embench or --commands");
    strangers.retain(|stranger| is_among(&stranger.name, &args.only));
    let mut rows = Vec::new();
    for stranger in &strangers {
        match row(&wprof, stranger, args, scratch) {
            Ok(Some(row)) => rows.push(row),
            Ok(None) => eprintln!("{}: too short", stranger.name),
            Err(error) => eprintln!("{}: left out: {error:#}", stranger.name),
        }
    }
    Ok(rows)
}

/// Runs a program in all kinds; `None` if it is too short.
fn row(wprof: &Path, stranger: &Stranger, args: &Args, scratch: &Path) -> Result<Option<Row>> {
    let cache = |kind: usize| scratch.join(format!("cache-{kind}"));
    let run = |kind: usize| {
        if !KINDS[kind].is_warm && cache(kind).exists() {
            fs::remove_dir_all(cache(kind))?;
        }
        run(wprof, stranger, &KINDS[kind], &cache(kind))
    };
    let warm = KINDS_PER_CACHE..KINDS.len();
    // A version that one run compiles too late to store is stored by a later run.
    (0..WARM_UP).flat_map(|_| warm.clone()).try_for_each(|kind| run(kind).map(drop))?;
    if run(warm.start)?.processor < args.least {
        return Ok(None);
    }
    let mut runs: [Vec<Took>; KINDS.len()] = Default::default();
    for _ in 0..args.rounds {
        for (kind, runs) in runs.iter_mut().enumerate() {
            runs.push(run(kind)?);
        }
    }
    let row = Row { name: stranger.name.clone(), runs };
    eprintln!("{}", line(&row, |took| took.processor));
    Ok(Some(row))
}

/// A shell measures the processor time of its children in milliseconds.
const TIMED: &str = r#"TIMEFORMAT="%3U %3S"; time "$@" > /dev/null 2> /dev/null"#;

fn run(wprof: &Path, stranger: &Stranger, kind: &Kind, cache: &Path) -> Result<Took> {
    fs::create_dir_all(cache)?;
    let mut command = Command::new("bash");
    command.args(["-c", TIMED, "bash"]).arg(wprof).arg("run").args(kind.options).args(["--dir", "."]);
    command.arg(&stranger.module).args(&stranger.args).current_dir(&stranger.folder);
    command.env("XDG_CACHE_HOME", cache).env("LC_ALL", "C").stdin(Stdio::null());
    let began = Instant::now();
    let output = command.output().context("cannot run bash")?;
    let wall = began.elapsed().as_secs_f64() * 1e3;
    let times = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{} ended with {}", kind.name, output.status);
    let seconds: Vec<f64> = times.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    ensure!(seconds.len() == 2, "bash did not tell the time: {times:?}");
    Ok(Took { processor: 1e3 * seconds.iter().sum::<f64>(), wall })
}

/// Returns the ratios of a kind's runs to those of plain code in the same round.
fn ratio(row: &Row, kind: usize, of: fn(Took) -> f64) -> Spread {
    between(row, kind, plain(kind), of)
}

/// Returns the ratios of a kind's runs to those of another in the same round.
fn between(row: &Row, kind: usize, other: usize, of: fn(Took) -> f64) -> Spread {
    let all = |kind: usize| -> Vec<f64> { row.runs[kind].iter().map(|&took| of(took)).collect() };
    Spread::of_ratios(&all(kind), &all(other))
}

/// Returns what the timer costs: sampled runs over those without it, by state of the cache.
fn timer(rows: &[Row]) -> String {
    let cost = |cache: usize| {
        let untimed = cache * KINDS_PER_CACHE + 1;
        let medians: Vec<f64> =
            rows.iter().map(|row| between(row, untimed + 1, untimed, |took| took.processor).median).collect();
        let Spread { min, median, max } = Spread::new(&medians);
        let mean = geometric_mean(medians.iter().copied());
        format!("{mean:.3} (least {min:.3}, median {median:.3}, greatest {max:.3})")
    };
    if rows.is_empty() {
        return String::new();
    }
    format!("The timer alone, sampled over untimed: {} cold, {} warm", cost(0), cost(1))
}

/// Returns a row of the table: milliseconds of plain code, and the ratios of the other kinds.
fn line(row: &Row, of: fn(Took) -> f64) -> String {
    let cell = |kind: usize| {
        if kind == plain(kind) {
            let all: Vec<f64> = row.runs[kind].iter().map(|&took| of(took)).collect();
            return format!("{:.0} ms", Spread::new(&all).median);
        }
        let Spread { min, median, max } = ratio(row, kind, of);
        format!("{median:.2} ({min:.2} to {max:.2})")
    };
    let cells: Vec<String> = (0..KINDS.len()).map(cell).collect();
    format!("| {} | {} |", row.name, cells.join(" | "))
}

fn table(rows: &[Row], of: fn(Took) -> f64) -> String {
    let names = KINDS.map(|kind| kind.name).join(" | ");
    let mean = |kind: usize| {
        let medians = rows.iter().map(|row| ratio(row, kind, of).median);
        let worst = medians.clone().fold(0.0, f64::max);
        if kind == plain(kind) {
            String::new()
        } else {
            format!("{:.3}, at most {worst:.2}", geometric_mean(medians))
        }
    };
    let means: Vec<String> = (0..KINDS.len()).map(mean).collect();
    let lines: Vec<String> = rows.iter().map(|row| line(row, of)).collect();
    let rule = "|---".repeat(KINDS.len() + 1);
    format!(
        "| program | {names} |\n{rule}|\n{}\n| geometric mean of {} | {} |",
        lines.join("\n"),
        rows.len(),
        means.join(" | ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a program with these times for each kind, in two rounds.
    fn row(name: &str, took: [[f64; 2]; KINDS.len()]) -> Row {
        let runs = took.map(|rounds| rounds.map(|processor| Took { processor, wall: 1.0 }).to_vec());
        Row { name: name.to_owned(), runs }
    }

    #[test]
    fn ratios_are_of_runs_of_one_round_and_a_cache_as_warm() {
        let rows = [
            row(
                "a",
                [
                    [100.0, 200.0],
                    [100.0, 200.0],
                    [110.0, 220.0],
                    [100.0, 300.0],
                    [50.0; 2],
                    [80.0; 2],
                    [100.0; 2],
                    [50.0; 2],
                ],
            ),
            row("b", [[10.0; 2], [8.0; 2], [10.0; 2], [10.0; 2], [10.0; 2], [10.0; 2], [10.0; 2], [40.0; 2]]),
        ];
        let table = table(&rows, |took| took.processor);
        let lines: Vec<&str> = table.lines().skip(2).collect();
        assert_eq!(
            lines,
            [
                "| a | 150 ms | 1.00 (1.00 to 1.00) | 1.10 (1.10 to 1.10) | 1.25 (1.00 to 1.50) | 50 ms | 1.60 (1.60 to 1.60) | 2.00 (2.00 to 2.00) | 1.00 (1.00 to 1.00) |",
                "| b | 10 ms | 0.80 (0.80 to 0.80) | 1.00 (1.00 to 1.00) | 1.00 (1.00 to 1.00) | 10 ms | 1.00 (1.00 to 1.00) | 1.00 (1.00 to 1.00) | 4.00 (4.00 to 4.00) |",
                "| geometric mean of 2 |  | 0.894, at most 1.00 | 1.049, at most 1.10 | 1.118, at most 1.25 |  | 1.265, at most 1.60 | 1.414, at most 2.00 | 2.000, at most 4.00 |",
            ]
        );
        assert_eq!(
            timer(&rows),
            "The timer alone, sampled over untimed: 1.173 (least 1.100, median 1.175, greatest 1.250) cold, \
             1.118 (least 1.000, median 1.125, greatest 1.250) warm"
        );
    }
}
