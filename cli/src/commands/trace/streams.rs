//! `wprof trace streams`: shows loads and stores that recur in the same order.

use std::io;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use clap::{Args, ValueHint};
use wprof_profiler::{
    AccessSignature, BurstEvent, BurstReader, DataStreams, DataStreamsBuilder, OutsideStreams,
    TraceFileError, TraceStep,
};
use wprof_report::numbers::{count_of, grouped, percent, share};
use wprof_report::page::{Ink, Page, plain, span};

use super::names::Names;
use super::pages;
use crate::help;
use crate::modules::ModuleOption;
use crate::output;
use crate::progress::{self, Reading};
use crate::screen::ColorChoice;

/// The number of a signature's instructions that are shown.
const SHOWN: usize = 12;

const EXAMPLES: &str = "\
Examples:
  wprof trace record --addresses json.wasm 20 2
  wprof trace streams json.wtrace
  wprof run --bursts b.wbursts --addresses json.wasm 200 5
  wprof trace streams b.wbursts --overlap json.wtrace";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, after_long_help = format!("\
A data stream is a sequence of data references, each an instruction and an address, that recurs. Its heat is \
its length times the number of its occurrences that overlap neither each other nor another stream. Hot streams \
are the hottest ones that together make up the given share of all references. wprof finds them on a grammar of \
the references (Sequitur). Streams of the same instructions at other addresses have one access signature and \
are shown together, since addresses differ from run to run. Streams that go round a loop count as one, \
wherever they begin and end. Longer recurring sequences are cut into streams.

The references come from a trace or from bursts that were recorded with --addresses. With --overlap the \
streams are compared with those of another file: the overlap is the sum, over all signatures, of the smaller \
of their two shares of the references (Hirzel & Chilimbi 2001).

{EXAMPLES}"))]
pub struct StreamsArgs {
    /// A trace or a file of bursts with addresses
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    file: PathBuf,
    /// Look for streams of A to B references
    #[arg(long, value_name = "A..B", default_value = "10..40", value_parser = super::range, help_heading = help::VIEW)]
    length: RangeInclusive<u64>,
    /// Take streams as hot, the hottest first, until they make up this share of all references
    #[arg(long, value_name = "PERCENT", default_value = "90%", value_parser = super::percent, help_heading = help::VIEW)]
    coverage: f64,
    /// Compare with the streams of this file
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = help::VIEW)]
    overlap: Option<PathBuf>,
    /// Show N signatures
    #[arg(short = 'n', long, value_name = "N", default_value_t = 10, help_heading = help::VIEW)]
    top: usize,
    /// Write one self-contained HTML file for a browser; `-` is standard output
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = help::OUTPUT)]
    html: Option<PathBuf>,
    /// Read only the first N references; each takes some bytes of memory
    #[arg(long, value_name = "N", default_value_t = 100_000_000, help_heading = help::LIMITS)]
    limit: u64,
    #[command(flatten)]
    module: ModuleOption,
}

pub fn execute(args: &StreamsArgs, color: ColorChoice) -> Result<()> {
    let (streams, names) = read(args, &args.file)?;
    let names = names.expect("the module is looked for beside this file");
    let mut page = pages::new(args.html.as_deref(), color);
    write(&mut page, &streams, args, &names);
    if let Some(path) = &args.overlap {
        let (other, _) = read(args, path)?;
        page.gap();
        let overlap = share(streams.overlap(&other));
        page.line(&[span(format!("overlap {overlap} with {}", path.display()), Ink::Strong)]);
    }
    pages::write(page, args.html.as_deref(), &format!("Data streams of {}", args.file.display()))
}

/// Reads the streams of a file; also returns the names of its module, if they are shown.
fn read(args: &StreamsArgs, path: &Path) -> Result<(DataStreams, Option<Names>)> {
    let names = |head: &_| (path == args.file).then(|| Names::new(head, path, &args.module)).transpose();
    let mut builder = DataStreamsBuilder::new(args.limit);
    let file = std::fs::File::open(path).and_then(Reading::new);
    let file = file.map_err(|error| anyhow::anyhow!("cannot read {}: {error}", path.display()))?;
    let position = file.position();
    let (names, notice) = match BurstReader::open(io::BufReader::new(file)) {
        Ok(mut reader) => {
            let names = names(reader.head())?;
            let all = || add_bursts(reader.events(), &mut builder);
            progress::during_reading("reading bursts", &position, all)
                .map_err(|error| super::with_path(path, &error))?;
            (names, reader.ending().notice())
        }
        Err(_) => {
            let (mut reader, position) = super::open(path)?;
            let names = names(reader.head())?;
            let all = || add_trace(reader.steps_from(0), &mut builder);
            progress::during_reading("replaying", &position, all)
                .map_err(|error| super::with_path(path, &error))?;
            (names, reader.ending().notice())
        }
    };
    if let Some(notice) = notice {
        output::tell_line(format_args!("wprof: {notice}"));
    }
    if builder.is_full() {
        output::tell_line(format_args!(
            "wprof: only the first {} of {} were read: raise --limit for more",
            count_of(args.limit, "reference"),
            path.display()
        ));
    }
    ensure!(
        !builder.is_empty(),
        "{} has no data references: record it with `wprof trace record --addresses`",
        path.display()
    );
    Ok((builder.finish(&args.length, args.coverage), names))
}

fn add_bursts(
    events: impl Iterator<Item = Result<BurstEvent, TraceFileError>>,
    builder: &mut DataStreamsBuilder,
) -> Result<(), TraceFileError> {
    for event in events {
        match event? {
            BurstEvent::Access { site, address, .. } => builder.add(site, address),
            BurstEvent::Begin { .. } | BurstEvent::BeginByTime { .. } => builder.interrupt(),
            BurstEvent::Enter { .. } | BurstEvent::Path { .. } => {}
        }
        if builder.is_full() {
            break;
        }
    }
    Ok(())
}

fn add_trace(
    steps: impl Iterator<Item = Result<TraceStep, TraceFileError>>,
    builder: &mut DataStreamsBuilder,
) -> Result<(), TraceFileError> {
    for step in steps {
        if let TraceStep::Reference(reference) = step? {
            builder.add(reference.access.site, reference.address);
        }
        if builder.is_full() {
            break;
        }
    }
    Ok(())
}

fn write(page: &mut Page, streams: &DataStreams, args: &StreamsArgs, names: &Names) {
    let all = streams.references;
    let heat: u64 = streams.signatures.iter().map(|signature| signature.heat).sum();
    let head = format!(
        "{} of {} make up {} of {}",
        count_of(streams.streams, "hot data stream"),
        count_of(streams.signatures.len() as u64, "access signature"),
        percent(heat, all),
        count_of(all, "data reference")
    );
    page.line(&[span(head, Ink::Strong)]);
    if let Some(OutsideStreams { once, short }) = streams.missed {
        let missed = format!(
            "that is less than {}: {} of the references are in nothing that comes again, and {} in what is shorter \
             than {} of them, or too little is left of",
            share(args.coverage),
            percent(once, all),
            percent(short, all),
            args.length.start()
        );
        page.line(&[plain(missed)]);
    }
    for signature in streams.signatures.iter().take(args.top) {
        page.gap();
        write_signature(page, signature, all, names);
    }
    if let Some(more) = streams.signatures.len().checked_sub(args.top).filter(|&more| more > 0) {
        page.gap();
        page.line(&[span(format!("and {} more", grouped(more as u64)), Ink::Faint)]);
    }
}

fn write_signature(page: &mut Page, signature: &AccessSignature, all: u64, names: &Names) {
    let AccessSignature { heat, times, .. } = *signature;
    let length = count_of(heat.checked_div(times).unwrap_or(0), "reference");
    let (about, round) = if signature.is_loop { ("about ", ", round a loop of") } else { ("", "") };
    let figures = format!(
        "  {}, {}, {about}{length} each{round}",
        count_of(signature.streams, "stream"),
        count_of(times, "time"),
    );
    page.line(&[span(percent(heat, all), Ink::of_share(heat, all)), plain(figures)]);
    for (site, times) in runs(&signature.sites).into_iter().take(SHOWN) {
        let again = if times > 1 { format!(" x {times}") } else { String::new() };
        page.line(&[plain(format!("  {}{again}", names.site(site)))]);
    }
}

/// Groups equal neighbours, with the length of each group.
fn runs(sites: &[u32]) -> Vec<(u32, usize)> {
    sites.chunk_by(|a, b| a == b).map(|run| (run[0], run.len())).collect()
}
