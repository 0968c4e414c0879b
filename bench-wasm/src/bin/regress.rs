//! `regress`: compares this build with another one, or with the committed baseline, prints a table in Markdown, and
//! fails if this build is worse beyond noise.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, ensure};
use clap::Parser;
use wprof_bench::baseline::{Baseline, processor};
use wprof_bench::instructions::has_valgrind;
use wprof_bench::programs::is_among;
use wprof_bench::regress::{
    Change, Counting, FILE, Limits, Side, WORK, Work, commit, compare, counted, stored, table, timed,
};
use wprof_bench::runner::beside_this_program;

/// Finds regressions of tiered recompilation.
#[derive(Parser)]
struct Options {
    /// Another build: its program `wprof-run`, or its checkout, in which that is built. Without it the committed baseline is
    /// what counted figures are compared with.
    #[arg(long, value_name = "PATH")]
    against: Option<PathBuf>,
    /// More options of `wprof-run` for this build, such as "--without inlining".
    #[arg(long, value_name = "OPTIONS", default_value = "", allow_hyphen_values = true)]
    with: String,
    /// More options of `wprof-run` for the other build.
    #[arg(
        long,
        value_name = "OPTIONS",
        default_value = "",
        allow_hyphen_values = true,
        requires = "against"
    )]
    against_with: String,
    /// Only programs whose name contains this, or one of these with commas between.
    #[arg(long, default_value = "")]
    only: String,
    /// Time only figures whose name contains this, or one of these with commas between.
    #[arg(long, value_name = "FIGURES", default_value = "", requires = "against")]
    timed: String,
    /// Rounds of what is timed; each runs both builds once.
    #[arg(long, default_value_t = 15)]
    rounds: u32,
    /// Do not time anything: beside another build, count only.
    #[arg(long, conflicts_with = "timed")]
    counted: bool,
    /// Do not count instructions, which takes valgrind, and minutes.
    #[arg(long)]
    no_instructions: bool,
    /// By how many percent times may grow.
    #[arg(long, value_name = "PERCENT", default_value_t = 2.0)]
    margin: f64,
    /// The confidence of intervals, in percent.
    #[arg(long, value_name = "PERCENT", default_value_t = 99.0)]
    confidence: f64,
    /// Also show figures that did not change.
    #[arg(long)]
    all: bool,
    /// Make what is counted the committed baseline.
    #[arg(long, conflicts_with = "against")]
    write: bool,
}

fn main() -> Result<ExitCode> {
    let options = Options::parse();
    ensure!((50.0..100.0).contains(&options.confidence), "--confidence takes 50 to less than 100");
    let work: Vec<Work> = WORK.into_iter().filter(|work| is_among(work.program, &options.only)).collect();
    let this = Side::new(&beside_this_program("wprof-run")?, &options.with)?;
    let changes = match &options.against {
        Some(path) => options.compare(&this, &Side::new(path, &options.against_with)?, &work)?,
        None => options.beside_stored(&this, &work)?,
    };
    print!("{}", table(&changes, options.all).markdown());
    let worse = changes.iter().filter(|change| change.is_regression()).count();
    println!("\n{} figures of {} programs compared: {worse} are worse.", changes.len(), work.len());
    Ok(if worse > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

impl Options {
    fn limits(&self) -> Limits {
        Limits { confidence: self.confidence / 100.0, margin: self.margin / 100.0 }
    }

    /// Returns how much is counted.
    fn counting(&self) -> Counting {
        let is_wanted = !self.no_instructions;
        if is_wanted && !has_valgrind() {
            eprintln!("left out: instructions, since valgrind is missing; `scripts/setup` installs it");
        }
        if is_wanted && has_valgrind() { Counting::Instructions } else { Counting::Versions }
    }

    fn compare(&self, this: &Side, other: &Side, work: &[Work]) -> Result<Vec<Change>> {
        let counting = self.counting();
        let before = counted(other, work, counting);
        let mut changes = match before {
            Ok(before) => compare(&before, &counted(this, work, counting)?, self.limits()),
            Err(error) if self.counted => return Err(error),
            Err(error) => {
                eprintln!("left out: what is counted: {error:#}");
                Vec::new()
            }
        };
        if !self.counted {
            let [before, after] = timed([other, this], work, &self.timed, self.rounds)?;
            changes.extend(compare(&before, &after, self.limits()));
        }
        Ok(changes)
    }

    fn beside_stored(&self, this: &Side, work: &[Work]) -> Result<Vec<Change>> {
        let found = counted(this, work, self.counting())?;
        if self.write {
            commit(&found)?;
        }
        let baseline = Baseline::committed(FILE)?;
        if baseline.processor != processor() {
            println!(
                "The baseline is of another processor: {}; this one: {}.\n",
                baseline.processor,
                processor()
            );
        }
        Ok(compare(&stored(&found)?, &found, self.limits()))
    }
}
