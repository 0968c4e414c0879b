//! `wprof diff`: what changed from one profile to another.

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use wprof_profiler::{Change, Comparison, TotalChange};

use crate::render::comparison;
use crate::render::page::Page;
use crate::render::screen::{ColorChoice, Screen};
use crate::threshold::Threshold;
use crate::{output, progress};

/// The exit code if a total changed further than it may.
const EXCEEDED: u8 = 3;

#[derive(Debug, Args)]
#[command(after_help = "\
Within one module functions are matched by index. Of two builds of a module those are
matched that have the same name and the same blocks and edges, then those of the same name;
paths are compared where blocks and edges are the same, contexts by the functions on the
stack.

--fail-on makes it a check for CI. Totals are `instructions`, `calls`, `host calls`, and the
kinds of events that both profiles have. Exact counts are the same each time that the same
program has the same input; those of sampled profiles are not. Those are scaled up to the
whole run, and a change that two samples of one program may well show (at 95%, a burst being
one sample) is marked, and no failure unless --insignificant is given. docs/comparing.md
tells how that is found out.

Exit codes: 0; 3 if --fail-on found something; 1 if something went wrong.

Examples:
  wprof diff before.wprof after.wprof
  wprof diff --fail-on 'instructions>+1%' before.wprof after.wprof
  wprof diff --json before.wprof after.wprof | jq .totals")]
pub struct DiffArgs {
    /// The earlier profile
    #[arg(value_name = "BEFORE")]
    before: PathBuf,
    /// The later one
    #[arg(value_name = "AFTER")]
    after: PathBuf,
    /// How many rows each table has
    #[arg(short = 'n', long, value_name = "N", default_value_t = 10)]
    top: usize,
    /// Fail if a total grew by more than so much; may be repeated
    #[arg(long, value_name = "TOTAL>CHANGE")]
    fail_on: Vec<Threshold>,
    /// Fail also if that may be chance
    #[arg(long, requires = "fail_on")]
    insignificant: bool,
    /// Print all changes as JSON instead
    #[arg(long)]
    json: bool,
}

pub fn execute(args: &DiffArgs, color: ColorChoice) -> Result<ExitCode> {
    let (before, after) = (super::read_profile(&args.before)?, super::read_profile(&args.after)?);
    let comparison = progress::during("comparing the profiles", || Comparison::new(&before, &after));
    let totals = comparison.totals();
    let exceeded = args.fail_on.iter().map(|threshold| threshold.exceeded(&totals));
    let exceeded: Vec<Option<&TotalChange>> = exceeded.collect::<Result<_>>()?;
    if args.json {
        output::print_with(|out| {
            comparison.write_json(&mut *out)?;
            out.write_all(b"\n")
        })?;
    } else {
        let mut page = Page::new(Screen::of(io::stdout(), color));
        comparison::write_changes(&mut page, &comparison, (&before, &after), args.top);
        output::print(&page.into_text())?;
    }
    let fails = |found: &TotalChange| args.insignificant || !found.may_be_chance;
    exceeded.iter().flatten().for_each(|found| tell(found));
    let failed = exceeded.into_iter().flatten().any(fails);
    Ok(if failed { EXCEEDED.into() } else { ExitCode::SUCCESS })
}

fn tell(found: &TotalChange) {
    let Change { before, after } = found.total;
    let chance = if found.may_be_chance { ", which may be chance" } else { "" };
    output::tell_line(format_args!("wprof: {} went from {before} to {after}{chance}", found.name));
}
