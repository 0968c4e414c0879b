//! `papers`: makes the tables and figures of the papers for our programs: prints one of them, or writes pages of all.

use std::path::PathBuf;

use anyhow::{Result, ensure};
use clap::Parser;
use wprof_bench::papers::{self, Experiment, Runs, experiments};
use wprof_bench::programs;

/// Makes tables and figures of the papers.
#[derive(Parser)]
struct Options {
    /// The paper, S000 to S004.
    paper: Option<String>,
    /// The table or figure of it, such as table3; all if none is named.
    item: Option<String>,
    /// Write pages of all of them, with the rows of the papers, instead of printing.
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
    /// Make the named ones anew in the pages that there are, and the rows, instead of printing.
    #[arg(long, conflicts_with = "all", requires = "paper")]
    renew: bool,
    /// The folder for the pages.
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
    if options.all {
        return programs::with(options.real, &options.only, |programs, _| {
            let runs = Runs::new(programs, options.bench);
            papers::write_all(&rows, &runs, &options.how(), &options.out)
        });
    }
    let chosen: Vec<&Experiment> = experiments().filter(|experiment| options.wants(experiment)).collect();
    ensure!(!chosen.is_empty(), "there is no such table or figure: run without arguments for a list");
    programs::with(options.real, &options.only, |programs, _| {
        let runs = Runs::new(programs, options.bench);
        if options.renew {
            return papers::renew(&rows, &chosen, &runs, &options.out);
        }
        for experiment in chosen {
            let (text, _) = papers::section(experiment, &runs)?;
            println!("{} {}: {}\n\n{text}", experiment.paper, experiment.item, experiment.title);
        }
        Ok(())
    })
}

impl Options {
    /// Returns the command and the inputs that were used.
    fn how(&self) -> String {
        let (bench, inputs) = if self.bench { (" --bench", "benches") } else { ("", "tests") };
        let real = if self.real { " --real" } else { "" };
        format!(
            "`papers -- --all{bench}{real}`, with the inputs of {inputs}, or longer ones where those end too soon"
        )
    }

    fn wants(&self, experiment: &Experiment) -> bool {
        let is = |wanted: &Option<String>, name: &str| wanted.as_ref().is_none_or(|wanted| wanted == name);
        is(&self.paper, experiment.paper) && is(&self.item, experiment.item)
    }
}

/// Lists all rows, then everything that can be made.
fn list(rows: &[papers::Row]) {
    for row in rows {
        println!("{:3} {:6} {:12} {:8} {}", row.number, row.paper, row.section, row.status, row.what);
    }
    println!();
    for Experiment { paper, item, title, .. } in experiments() {
        println!("papers -- {paper} {item}: {title}");
    }
}
