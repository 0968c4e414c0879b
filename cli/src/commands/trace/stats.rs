//! `wprof trace stats`: shows what a trace costs.

use std::io;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::Result;
use clap::{Args, ValueHint};
use wprof_profiler::{TraceCounts, TraceMethod, TraceStats};
use wprof_report::numbers::{count_of, duration, grouped};
use wprof_report::page::{Page, Side, Table, plain};

use crate::screen::{ColorChoice, screen};
use crate::{output, progress};

const EXAMPLES: &str = "\
Examples:
  wprof trace stats json.wtrace
  wprof trace record --method bits -o bits.wtrace json.wasm && wprof trace stats bits.wtrace
  wprof trace stats bits.wtrace";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, after_long_help = format!("\
The table groups functions by the method that records their branches, before compression; the bits that calls write \
are only in the sums below it. A predicate is a block with several successors. wprof replays the whole trace to count.

{EXAMPLES}"))]
pub struct StatsArgs {
    /// The trace, a file from `wprof trace record`
    #[arg(value_name = "TRACE", value_hint = ValueHint::FilePath)]
    trace: PathBuf,
}

pub fn execute(args: &StatsArgs, color: ColorChoice) -> Result<()> {
    let (mut reader, position) = super::open(&args.trace)?;
    let clock = Instant::now();
    let stats = progress::during_reading("replaying the trace", &position, || reader.stats());
    let stats = stats.map_err(|error| super::with_path(&args.trace, &error))?;
    let time = clock.elapsed();
    let mut page = Page::new(screen(io::stdout(), color));
    write(&mut page, &stats, reader.chunk_count());
    let blocks = stats.blocks();
    let speed = (blocks as f64 / time.as_secs_f64()) as u64;
    let replay = format!(
        "replay       {} in {}, {} a second",
        count_of(blocks, "block"),
        duration(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)),
        count_of(speed, "block")
    );
    page.line(&[plain(replay)]);
    output::print(&page.into_text())?;
    super::note_ending(&reader);
    Ok(())
}

fn write(page: &mut Page, stats: &TraceStats, chunks: usize) {
    page.table(&by_method(stats));
    page.line(&[]);
    let per_1000 = |value: Option<f64>| match value {
        Some(value) => format!(", {value:.2} per 1000 blocks"),
        None => String::new(),
    };
    let stream = count_of(stats.stream_bits.div_ceil(8), "byte");
    let before = per_1000(stats.stream_bytes_per_1000_blocks());
    page.line(&[plain(format!("stream       {stream}{before}"))]);
    let after = per_1000(stats.stored_bytes_per_1000_blocks());
    page.line(&[plain(format!("compressed   {}{after}", count_of(stats.stored_bytes, "byte")))]);
    if stats.reference_bytes > 0 {
        let references = count_of(stats.reference_bytes, "byte");
        page.line(&[plain(format!("addresses    {references}"))]);
    }
    let chunks = count_of(chunks as u64, "chunk");
    page.line(&[plain(format!("file         {} in {chunks}", count_of(stats.file_bytes, "byte")))]);
}

fn by_method(stats: &TraceStats) -> Table {
    let mut table = Table::new(&[
        ("method", Side::Left),
        ("functions", Side::Right),
        ("blocks", Side::Right),
        ("predicates", Side::Right),
        ("bits", Side::Right),
        ("bits/predicate", Side::Right),
        ("bytes/1000 blocks", Side::Right),
    ]);
    for (&method, figures) in &stats.methods {
        let TraceCounts { blocks, predicates, bits } = figures.counts;
        let ratio = |value: Option<f64>| plain(value.map_or("-".to_owned(), |value| format!("{value:.3}")));
        let counts = [figures.functions, blocks, predicates, bits].map(|count| plain(grouped(count)));
        let mut row = vec![plain(name(method))];
        row.extend(counts);
        row.extend([ratio(figures.bits_per_predicate()), ratio(figures.bytes_per_1000_blocks())]);
        table.row(row);
    }
    table
}

/// Returns the name of a method, as `record` accepts it.
pub(super) fn name(method: TraceMethod) -> &'static str {
    match method {
        TraceMethod::Witnesses => "witness",
        TraceMethod::BitTracing => "bits",
        TraceMethod::EveryBranch => "branches",
    }
}
