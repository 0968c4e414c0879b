//! `tables`: describes the paths and calling contexts of each program and their cost other than time; prints tables in
//! Markdown.

use anyhow::Result;
use clap::{Parser, ValueEnum};
use wprof_bench::programs;
use wprof_bench::tables::{self, What};

/// Describes paths and calling contexts.
#[derive(Parser)]
struct Options {
    /// The tables; all of them if none is named.
    #[arg(value_enum)]
    what: Vec<What>,
    /// Also the downloaded programs (`bench-wasm/download.sh`).
    #[arg(long)]
    real: bool,
    /// The arguments for benches instead of those for tests.
    #[arg(long)]
    bench: bool,
    /// Only programs whose name contains this, or one of these with commas between.
    #[arg(long, default_value = "")]
    only: String,
}

fn main() -> Result<()> {
    let options = Options::parse();
    let what: &[What] = if options.what.is_empty() { What::value_variants() } else { &options.what };
    programs::with(options.real, &options.only, |programs, _| {
        tables::build(what, options.bench, programs)
            .iter()
            .for_each(|table| println!("{}", table.markdown()));
        Ok(())
    })
}
