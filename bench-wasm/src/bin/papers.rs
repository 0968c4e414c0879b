//! `papers`: the tables and figures of the papers for our programs, as pages.

use std::path::PathBuf;

use anyhow::{Result, ensure};
use clap::Parser;
use wprof_bench::papers::{self, EXPERIMENTS, Experiment, Runs};
use wprof_bench::programs;

/// Makes tables and figures of the papers.
#[derive(Parser)]
struct Options {
    /// Which paper, S000 to S004; all if none is named.
    paper: Option<String>,
    /// Which table or figure of it, such as table3; all if none is named.
    item: Option<String>,
    /// Make all of them, and the page that lists the rows of the papers.
    #[arg(long, conflicts_with = "paper")]
    all: bool,
    /// Also the downloaded programs (`bench-wasm/download.sh`).
    #[arg(long)]
    real: bool,
    /// The arguments for benches instead of those for tests.
    #[arg(long)]
    bench: bool,
    /// Only programs whose name contains this, or one of these with commas between.
    #[arg(long, default_value = "")]
    only: String,
    /// Write the pages to this folder.
    #[arg(long, default_value = "docs/papers")]
    out: PathBuf,
}

fn main() -> Result<()> {
    let options = Options::parse();
    let rows = papers::rows()?;
    if options.paper.is_none() && !options.all {
        list(&rows);
        return Ok(());
    }
    let chosen: Vec<&Experiment> =
        EXPERIMENTS.iter().filter(|experiment| options.wants(experiment)).collect();
    ensure!(!chosen.is_empty(), "there is no such table or figure: run without arguments for a list");
    papers::index(&rows, &options.out)?;
    programs::with(options.real, &options.only, |programs, _| {
        let runs = Runs::new(programs, options.bench);
        let inputs = if options.bench { "the inputs of benches" } else { "the inputs of tests" };
        chosen.iter().try_for_each(|experiment| papers::write(experiment, &runs, inputs, &options.out))
    })
}

impl Options {
    fn wants(&self, experiment: &Experiment) -> bool {
        let is = |wanted: &Option<String>, name: &str| wanted.as_ref().is_none_or(|wanted| wanted == name);
        is(&self.paper, experiment.paper) && is(&self.item, experiment.item)
    }
}

/// All rows, then what can be made.
fn list(rows: &[papers::Row]) {
    for row in rows {
        println!("{:3} {} {:12} {:8} {}", row.number, row.paper, row.section, row.status, row.what);
    }
    println!();
    for Experiment { paper, item, title, .. } in EXPERIMENTS {
        println!("papers -- {paper} {item}: {title}");
    }
}
