//! `strangers`: measures `wprof run` on programs of public suites, with and without a profile, as users run it.
//!
//! Each round runs each kind once, so that drift of the machine affects all kinds alike; ratios are of runs of one
//! round. The measure is the processor time of the whole process, including its compiler thread; a second table has
//! wall time. Other engines run in the same rounds: Wasmtime has compiled its machine code before, V8 compiles while
//! the program runs.

mod kinds;
mod table;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use clap::Parser;
use wprof_bench::programs::is_among;
use wprof_bench::runner::beside_this_program;
use wprof_bench::strangers::{self, Stranger};

use kinds::{KINDS, KINDS_PER_CACHE, Peer, Runner, Took};
use table::{beside, line, table, timer};

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
    /// Also run them in Wasmtime: the program `peer` of `bench-wasm/peers`.
    #[arg(long, value_name = "FILE")]
    peer: Option<PathBuf>,
    /// Also run them in V8: `node` on the path, with its WASI.
    #[arg(long)]
    v8: bool,
    /// Let all threads of a program share one processor, as on a small machine.
    #[arg(long)]
    one_core: bool,
    /// Also give a table of wall time.
    #[arg(long)]
    wall: bool,
}

/// Unmeasured runs before those with a warm cache.
const WARM_UP: usize = 4;

/// The runs of a program, by kind and round.
struct Row {
    name: String,
    runs: [Vec<Took>; KINDS.len()],
    /// The runs in other engines, or why there are none.
    peers: Vec<Result<Vec<Took>, String>>,
}

fn main() -> Result<()> {
    let args = Args::parse();
    let scratch = std::env::temp_dir().join(format!("wprof-strangers-{}", std::process::id()));
    fs::create_dir_all(&scratch).context("cannot make a scratch folder")?;
    let measured = measure(&args, &scratch);
    fs::remove_dir_all(&scratch).context("cannot remove the scratch folder")?;
    let rows = measured?;
    println!("Processor time\n\n{}\n\n{}", table(&rows, |took| took.processor), timer(&rows));
    let peers = args.peers()?;
    println!("\n{}", beside(&rows, &peers, |took| took.processor));
    if args.wall {
        println!("\nWall time\n\n{}", table(&rows, |took| took.wall));
        println!("\n{}", beside(&rows, &peers, |took| took.wall));
    }
    Ok(())
}

impl Args {
    fn peers(&self) -> Result<Vec<Peer>> {
        let found = |path: &PathBuf| {
            fs::canonicalize(path).with_context(|| format!("cannot find {}", path.display()))
        };
        let wasmtime = self.peer.as_ref().map(found).transpose()?.map(Peer::Wasmtime);
        Ok(wasmtime.into_iter().chain(self.v8.then_some(Peer::V8)).collect())
    }
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
    let runner = Runner { wprof: &wprof, scratch, one_core: args.one_core };
    let peers = args.peers()?;
    let mut rows = Vec::new();
    for stranger in &strangers {
        match row(&runner, &peers, stranger, args) {
            Ok(Some(row)) => rows.push(row),
            Ok(None) => eprintln!("{}: too short", stranger.name),
            Err(error) => eprintln!("{}: left out: {error:#}", stranger.name),
        }
    }
    Ok(rows)
}

/// Runs a program in all kinds and engines; `None` if it is too short.
fn row(runner: &Runner, peers: &[Peer], stranger: &Stranger, args: &Args) -> Result<Option<Row>> {
    let warm = KINDS_PER_CACHE..KINDS.len();
    // A version that one run compiles too late to store is stored by a later run.
    (0..WARM_UP).flat_map(|_| warm.clone()).try_for_each(|kind| runner.run(stranger, kind).map(drop))?;
    if runner.run(stranger, warm.start)?.processor < args.least {
        return Ok(None);
    }
    let mut runs: [Vec<Took>; KINDS.len()] = Default::default();
    let ready = |peer| match runner.prepare(stranger, peer) {
        Ok(()) => Ok(Vec::new()),
        Err(error) => Err(format!("{error:#}")),
    };
    let mut peer_runs: Vec<Result<Vec<Took>, String>> = peers.iter().map(ready).collect();
    for _ in 0..args.rounds {
        for (kind, runs) in runs.iter_mut().enumerate() {
            runs.push(runner.run(stranger, kind)?);
        }
        for (peer, runs) in peers.iter().zip(&mut peer_runs) {
            let Ok(all) = runs else { continue };
            match runner.run_peer(stranger, peer) {
                Ok(took) => all.push(took),
                Err(error) => *runs = Err(format!("{error:#}")),
            }
        }
    }
    let row = Row { name: stranger.name.clone(), runs, peers: peer_runs };
    eprintln!("{}", line(&row, |took| took.processor));
    row.peers
        .iter()
        .filter_map(|runs| runs.as_ref().err())
        .for_each(|error| eprintln!("{}: {error}", row.name));
    Ok(Some(row))
}
