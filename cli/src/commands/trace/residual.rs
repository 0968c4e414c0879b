//! `wprof trace residual`: shows the sequences of paths across calls that ran in none of the tests.

use std::cell::RefCell;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::{Args, ValueHint};
use wprof_profiler::{SegmentResidual, UntestedSegment, WholePath};
use wprof_report::numbers::{count_of, grouped, percent};
use wprof_report::page::{Ink, Page, plain, span};

use super::super::residual::UNTESTED;
use super::names::Names;
use super::{hot, pages};
use crate::help;
use crate::modules::ModuleOption;
use crate::output;
use crate::screen::ColorChoice;

const EXAMPLES: &str = "\
Examples:
  wprof trace residual --tested test.wpp field.wpp
  wprof trace residual --tested a.wpp --tested b.wpp --depth 2 field.wpp";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, after_long_help = format!("\
An interprocedural path segment begins with a path that calls, spans at most --depth calls, and ends where it \
would span more, at the end of an iteration, or where the function in which it began returns (Vaswani 2007). \
The report shows the segments that ran but ran in none of the tests, most frequent first, and how many \
of their paths no test ran. If it says that only the combination is new, coverage of paths of functions \
would not have shown it.

All files must be of one module. Segments that a trap or the end of the trace cut off are left out. `wprof \
residual --depth` needs no traces, but follows only the calls that it inlined.

Exit codes: 0 if everything that ran was tested; 3 if something was not; 1 if wprof itself failed.

{EXAMPLES}"))]
pub struct ResidualArgs {
    /// A whole program path of tests, from `wprof trace compress`; may be repeated
    #[arg(long, value_name = "FILE", required = true, value_hint = ValueHint::FilePath, help_heading = help::INPUT)]
    tested: Vec<PathBuf>,
    /// The whole program path of the run to judge
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    file: PathBuf,
    /// Let segments span at most K calls
    #[arg(long, value_name = "K", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=20))]
    #[arg(help_heading = help::VIEW)]
    depth: u64,
    /// Show N segments
    #[arg(short = 'n', long, value_name = "N", default_value_t = 10, help_heading = help::VIEW)]
    top: usize,
    /// Write one self-contained HTML file for a browser; `-` is standard output
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = help::OUTPUT)]
    html: Option<PathBuf>,
    #[command(flatten)]
    module: ModuleOption,
}

pub fn execute(args: &ResidualArgs, color: ColorChoice) -> Result<ExitCode> {
    let tests = args.tested.iter().map(|path| super::whole_path(path)).collect::<Result<Vec<WholePath>>>()?;
    let whole = super::whole_path(&args.file)?;
    let names = RefCell::new(Names::new(whole.head(), &args.file, &args.module)?);
    let cost = |function, block| names.borrow_mut().cost(function, block);
    let residual = whole.untested_segments(&tests, args.depth as usize, cost);
    let residual = residual.with_context(|| args.file.display().to_string())?;
    let mut page = pages::new(args.html.as_deref(), color);
    write(&mut page, &whole, &residual, args, &mut names.into_inner());
    pages::write(page, args.html.as_deref(), &format!("Untested paths of {}", args.file.display()))?;
    for notice in tests.iter().chain([&whole]).filter_map(|whole| whole.ending().notice()) {
        output::tell_line(format_args!("wprof: {notice}"));
    }
    Ok(if residual.untested.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(UNTESTED) })
}

fn write(
    page: &mut Page,
    whole: &WholePath,
    residual: &SegmentResidual,
    args: &ResidualArgs,
    names: &mut Names,
) {
    let untested = residual.untested.len() as u64;
    let ran = count_of(residual.ran, "segment");
    let head = format!("untested: {} of {ran} of depth {}", grouped(untested), args.depth);
    let share = percent(residual.untested_executions(), residual.executions);
    page.line(&[span(head, Ink::Strong), plain(format!("; {share} of executions"))]);
    if untested > 0 {
        let combined = residual.beyond_paths();
        page.line(&[plain(format!("only the combination of paths is new: {}", grouped(combined)))]);
    }
    for UntestedSegment { segment, new_paths } in residual.untested.iter().take(args.top) {
        page.gap();
        let what = match new_paths.len() as u64 {
            0 => "only the combination is new".to_owned(),
            paths => format!("{} in no test", count_of(paths, "path")),
        };
        page.line(&[plain(format!("{}: {what}", count_of(segment.times, "time")))]);
        hot::lines(page, whole, &segment.items, names);
    }
    hot::tell_rest(page, residual.untested.len(), args.top);
}
