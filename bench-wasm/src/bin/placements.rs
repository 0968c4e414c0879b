//! `placements`: counts the cost of each placement of counters on each program, and prints tables in Markdown.

use anyhow::Result;
use clap::Parser;
use wprof_bench::{placements, programs};

/// Counts what counters cost.
#[derive(Parser)]
struct Options {
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
    programs::with(options.real, &options.only, |programs, _| {
        let found = placements::costs(programs, options.bench)?;
        let tables = [
            ("Counters placed", placements::counters(&found)),
            ("Increments executed, by one counter per block", placements::increments(&found)),
            (
                "Increments of edge counters by each weighting, by one counter per block",
                placements::by_weighting(&found),
            ),
            ("Jumps that edge counters need", placements::jumps(&found)),
        ];
        tables.iter().for_each(|(title, table)| println!("{title}:\n\n{}", table.markdown()));
        Ok(())
    })
}
