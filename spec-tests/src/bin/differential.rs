//! The long run of the generated tests.
//!
//! `cargo run --release -p wprof-spec-tests --bin differential -- --seeds 100000 [--start N] [--oracle | --overflow]`

use std::io::IsTerminal;
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use wprof_spec_tests::check::Summary;
use wprof_spec_tests::sweep::{Check, DIFFERENTIAL, ORACLE, OVERFLOW, sweep};

const USAGE: &str = "\
Usage: differential [--seeds COUNT] [--start SEED] [--oracle | --overflow]
Runs generated modules in all modes and in an interpreter, and compares what they leave behind.
  --oracle    compare profiles with what the modules count of themselves instead
  --overflow  the same with modules that use up the stack
A module that fails is written to target/failures, and the exit code is 1.";

struct Options {
    seeds: u64,
    start: u64,
    check: Check,
}

fn options() -> Option<Options> {
    let mut options = Options { seeds: 10_000, start: 0, check: DIFFERENTIAL };
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--seeds" => options.seeds = args.next()?.parse().ok()?,
            "--start" => options.start = args.next()?.parse().ok()?,
            "--oracle" => options.check = ORACLE,
            "--overflow" => options.check = OVERFLOW,
            _ => return None,
        }
    }
    Some(options)
}

fn main() -> ExitCode {
    let Some(options) = options() else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    let begin = Instant::now();
    let live = std::io::stderr().is_terminal();
    let every = if live { 20 } else { 2000 };
    let progress = |summary: &Summary| {
        if summary.modules.is_multiple_of(every) {
            let (done, all) = (summary.modules, options.seeds);
            let end = if live { '\r' } else { '\n' };
            eprint!("{done} of {all} modules, {:.0} s{end}", begin.elapsed().as_secs_f64());
        }
    };
    match sweep(options.start..options.start + options.seeds, options.check, progress) {
        Ok(summary) => {
            println!("{summary:#?}\nin {:.1} s", begin.elapsed().as_secs_f64());
            ExitCode::SUCCESS
        }
        Err(failure) => {
            println!("{}", failure.report(Path::new("target/failures")));
            ExitCode::FAILURE
        }
    }
}
