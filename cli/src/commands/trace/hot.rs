//! `wprof trace hot`: shows where a run spends its work, as sequences of paths.

use std::ops::RangeInclusive;
use std::path::PathBuf;

use anyhow::Result;
use clap::{Args, ValueHint};
use wprof_profiler::{PathItem, Subpath, SubpathEnd, WholePath};
use wprof_report::numbers::{count_of, grouped, percent};
use wprof_report::page::{Ink, Page, Span, plain, span};

use super::names::Names;
use super::pages;
use crate::help;
use crate::modules::ModuleOption;
use crate::output;
use crate::screen::ColorChoice;

/// The maximum length of a sequence; the work of the search grows with it.
const LONGEST: u64 = 100;

const EXAMPLES: &str = "\
Examples:
  wprof trace hot json.wpp
  wprof trace hot json.wpp --length 3..12 --least 5%
  wprof trace hot json.wpp --depth 1";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, after_long_help = format!("\
A subpath is a sequence of acyclic paths that ran one after the other, across iterations of loops, calls \
and returns. It is hot if all its occurrences together executed at least the given share of the run's \
instructions, and it is shown if no shorter part of it is hot (minimal hot subpaths, Larus 1999). \
Occurrences may overlap, so a share can be more than 100%. For each path its function is shown, the source lines where its blocks begin, and \
how it ends: with a call, with a return, or at the end of an iteration. Without the module, lines are \
numbers of blocks, and blocks count as instructions.

With --depth K interprocedural path segments are shown instead: each begins with a path that calls, spans \
at most K calls, and ends where it would span more, at the end of an iteration, or where the function in \
which it began returns (Vaswani 2007).

{EXAMPLES}"))]
pub struct HotArgs {
    /// The whole program path, a file from `wprof trace compress`
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    file: PathBuf,
    /// Look for sequences of A to B paths
    #[arg(long, value_name = "A..B", default_value = "2..8", value_parser = super::range, conflicts_with = "depth")]
    #[arg(help_heading = help::VIEW)]
    length: RangeInclusive<u64>,
    /// Leave out sequences with less than this share of all instructions
    #[arg(long, value_name = "PERCENT", default_value = "1%", value_parser = super::percent)]
    #[arg(help_heading = help::VIEW)]
    least: f64,
    /// Show interprocedural path segments that span at most K calls
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u64).range(1..=20), help_heading = help::VIEW)]
    depth: Option<u64>,
    /// Show N sequences
    #[arg(short = 'n', long, value_name = "N", default_value_t = 10, help_heading = help::VIEW)]
    top: usize,
    /// Write one self-contained HTML file for a browser; `-` is standard output
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = help::OUTPUT)]
    html: Option<PathBuf>,
    #[command(flatten)]
    module: ModuleOption,
}

pub fn execute(args: &HotArgs, color: ColorChoice) -> Result<()> {
    let whole = super::whole_path(&args.file)?;
    let names = std::cell::RefCell::new(Names::new(whole.head(), &args.file, &args.module)?);
    let cost = |function, block| names.borrow_mut().cost(function, block);
    let all = whole.cost(cost);
    let least = (all as f64 * args.least).ceil() as u64;
    let found = match args.depth {
        Some(depth) => {
            let mut segments = whole.segments(depth as usize, cost);
            segments.retain(|segment| segment.cost >= least);
            segments
        }
        None => {
            let most = (*args.length.end()).min(LONGEST) as usize;
            whole.hot_subpaths(*args.length.start() as usize..=most, least, cost)
        }
    };
    let mut names = names.into_inner();
    let mut page = pages::new(args.html.as_deref(), color);
    write(&mut page, &whole, &found, all, args, &mut names);
    pages::write(page, args.html.as_deref(), &format!("Hot paths of {}", args.file.display()))?;
    if let Some(notice) = whole.ending().notice() {
        output::tell_line(format_args!("wprof: {notice}"));
    }
    Ok(())
}

fn write(page: &mut Page, whole: &WholePath, found: &[Subpath], all: u64, args: &HotArgs, names: &mut Names) {
    let unit = if names.are_known() { "instruction" } else { "block" };
    let (what, how) = match args.depth {
        Some(depth) => ("segment", format!("of depth {depth}")),
        None => ("minimal hot subpath", format!("of {} to {} paths", args.length.start(), args.length.end())),
    };
    let head = format!("{} {how}; the run has {}", count_of(found.len() as u64, what), count_of(all, unit));
    page.line(&[span(head, Ink::Strong)]);
    for subpath in found.iter().take(args.top) {
        page.gap();
        let share = span(percent(subpath.cost, all), Ink::of_share(subpath.cost, all));
        let times = format!("  {}, {} {unit}s", count_of(subpath.times, "time"), grouped(subpath.cost));
        page.line(&[share, plain(times)]);
        lines(page, whole, &subpath.items, names);
    }
    tell_rest(page, found.len(), args.top);
}

/// Says how many sequences are not shown.
pub(super) fn tell_rest(page: &mut Page, found: usize, shown: usize) {
    if let Some(more) = found.checked_sub(shown).filter(|&more| more > 0) {
        page.gap();
        page.line(&[span(format!("and {} more", grouped(more as u64)), Ink::Faint)]);
    }
}

/// Writes the paths of a sequence, a line each, callees further to the right than their callers.
pub(super) fn lines(page: &mut Page, whole: &WholePath, items: &[PathItem], names: &mut Names) {
    // A sequence may return from functions that it did not enter.
    let mut depth = returns_beyond(items);
    for &item in items {
        match item {
            PathItem::Enter(_) => depth += 1,
            PathItem::Leave => depth -= 1,
            _ => line(page, whole, item, depth, names),
        }
    }
}

/// Returns from how many functions a sequence returns without having entered them.
fn returns_beyond(items: &[PathItem]) -> usize {
    let (mut depth, mut lowest) = (0_i64, 0);
    for item in items {
        depth += match item {
            PathItem::Enter(_) => 1,
            PathItem::Leave => -1,
            _ => 0,
        };
        lowest = lowest.min(depth);
    }
    lowest.unsigned_abs() as usize
}

fn line(page: &mut Page, whole: &WholePath, item: PathItem, depth: usize, names: &mut Names) {
    if let Some([function, way]) = path(whole, item, names) {
        page.line(&[plain("  ".repeat(depth + 1)), function, way]);
    }
}

/// Describes a path: its function, and the places of its blocks with how it ends; `None` if it is none that ends.
pub(super) fn path(whole: &WholePath, item: PathItem, names: &mut Names) -> Option<[Span; 2]> {
    let (PathItem::Path { function, .. } | PathItem::Called { function, .. }) = item else { return None };
    let blocks = whole.blocks(item).unwrap_or_default();
    let mut places: Vec<String> = blocks.into_iter().map(|block| names.place(function, block)).collect();
    places.dedup();
    let end = match whole.end_of(item) {
        Some(SubpathEnd::Call) => "call",
        Some(SubpathEnd::Loop) => "next iteration",
        _ => "return",
    };
    Some([span(names.function(function), Ink::Name), plain(format!("  {} → {end}", places.join(" ")))])
}
