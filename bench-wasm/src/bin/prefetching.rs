//! `prefetching`: times lists and our own programs with prefetching of streams and without, and prints a table in Markdown.

use anyhow::Result;
use clap::Parser;
use wprof_bench::prefetching;

/// Times programs with prefetching and without.
#[derive(Parser)]
struct Options {
    /// Only programs whose name contains this, or one of these with commas between.
    #[arg(long, default_value = "lists")]
    only: String,
    /// The number of pairs of runs, besides the first.
    #[arg(long, default_value_t = 3)]
    runs: usize,
}

fn main() -> Result<()> {
    let options = Options::parse();
    print!("{}", prefetching::table(&options.only, options.runs)?.markdown());
    Ok(())
}
