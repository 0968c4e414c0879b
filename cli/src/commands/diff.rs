//! `wprof diff`: shows what changed from one profile to another.

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, ValueHint};
use wprof_profiler::{Change, Comparison, TotalChange, share_names};
use wprof_report::View;
use wprof_report::diff::{self, Threshold};
use wprof_report::page::Page;

use crate::screen::{ColorChoice, screen};
use crate::{modules, output, progress};

/// The exit code if a total changed more than `--fail-on` allows.
const EXCEEDED: u8 = 3;

const EXAMPLES: &str = "\
Examples:
  wprof diff before.wprof after.wprof
  wprof diff --fail-on 'instructions>+1%' before.wprof after.wprof   a check for CI";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, after_long_help = format!("\
Functions of one module are matched by index. Functions of two builds are matched by name and control-flow graph, then \
by name alone, and without names by their code. Paths are compared where the graphs are the same, calling contexts by \
the names on the stack. Paths are named by their source lines if the module of BEFORE has debug information and is \
where it ran or beside the file; otherwise by their blocks.

--fail-on turns the comparison into a check for CI. Totals are `instructions`, `calls`, `host calls` and the event \
kinds that both profiles have. Exact counts are the same for every run of a program with the same input. Sampled \
counts are scaled up to the whole run. A change that two samples of one program may show by chance (at the 95% level) \
is marked, and fails only with --insignificant. The book explains the statistics (docs/src/how-to/comparing.md).

Exit codes: 0; 3 if --fail-on found something; 1 if wprof itself failed.

{EXAMPLES}
  wprof diff --json before.wprof after.wprof | jq .totals"))]
pub struct DiffArgs {
    /// The earlier profile
    #[arg(value_name = "BEFORE", value_hint = ValueHint::FilePath)]
    before: PathBuf,
    /// The later profile
    #[arg(value_name = "AFTER", value_hint = ValueHint::FilePath)]
    after: PathBuf,
    /// Show N rows in each table
    #[arg(short = 'n', long, value_name = "N", default_value_t = 10)]
    top: usize,
    /// Fail if a total changed by more than this, such as 'instructions>+1%'; may be repeated
    #[arg(long, value_name = "TOTAL>CHANGE")]
    fail_on: Vec<Threshold>,
    /// With --fail-on: fail also if the change may be chance
    #[arg(long, requires = "fail_on")]
    insignificant: bool,
    /// Print all changes as JSON
    #[arg(long, conflicts_with = "top")]
    json: bool,
}

pub fn execute(args: &DiffArgs, color: ColorChoice) -> Result<ExitCode> {
    let (mut before, mut after) = (super::read_profile(&args.before)?, super::read_profile(&args.after)?);
    share_names(&mut before, &mut after);
    let comparison = progress::during("comparing the profiles", || Comparison::of_amounts(&before, &after));
    let totals = comparison.totals();
    let exceeded = args.fail_on.iter().map(|threshold| threshold.exceeded(&totals));
    let exceeded: Vec<Option<&TotalChange>> = exceeded.collect::<Result<_, wprof_report::Error>>()?;
    if args.json {
        output::print_with(|out| {
            comparison.write_json(&mut *out)?;
            out.write_all(b"\n")
        })?;
    } else {
        let mut page = Page::new(screen(io::stdout(), color));
        // Only paths are named with its help.
        let has_paths = before.functions.iter().any(|function| function.paths().is_some());
        let module = has_paths.then(|| modules::find_next_to(&before, &args.before)).flatten();
        diff::changes(&mut page, &comparison, (&View::new(&before, module.as_ref()), &after), args.top);
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
