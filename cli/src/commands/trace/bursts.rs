//! `wprof trace bursts`: shows what ran in each burst, in order.

use std::collections::{BTreeMap, HashSet};
use std::fs::File;
use std::io::{self, BufReader, Write};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use clap::{Args, ValueHint};
use wprof_jit::cfg;
use wprof_profiler::{BurstEvent, BurstReader, Cfg, ExtendedPaths, Extension, PathNumbering, TraceFileError};
use wprof_report::numbers::{count_of, grouped, percent};

use super::names::Names;
use crate::modules::ModuleOption;
use crate::progress::Reading;
use crate::{output, progress};

const EXAMPLES: &str = "\
Examples:
  wprof run --bursts b.wbursts json.wasm 200 5
  wprof trace bursts b.wbursts | less
  wprof trace bursts --stats b.wbursts";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, after_long_help = format!("\
For each burst this prints the number of checks before it, then, in order, the functions that were \
entered and the paths that ended, with the byte of the module where each of their blocks begins. `x \
3` marks an event that occurred three times in a row. A path is shown when it ends, so a callee's \
paths come before its caller's; `return` means that the function was left. With --addresses, the \
instructions that accessed memory stand before each path. Loops that were running when a burst began \
appear from their next iteration on.

{EXAMPLES}

More examples:
  wprof run --bursts b.wbursts --addresses json.wasm 200 5
  wprof trace bursts --extend back-edges:1 b.wbursts    which paths follow which in loops
  wprof trace bursts --extend calls:2 b.wbursts         paths through callers and callees"))]
pub struct BurstsArgs {
    /// The bursts, a file from `wprof run --bursts`
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    file: PathBuf,
    /// Print totals only
    #[arg(long)]
    stats: bool,
    /// Show the most frequent extended paths: across N back edges, or through N nested calls
    #[arg(long, value_name = "back-edges:N|calls:N", conflicts_with = "stats")]
    extend: Option<Extension>,
    /// With --extend: show N paths
    #[arg(short = 'n', long, value_name = "N", default_value_t = 10, requires = "extend")]
    top: usize,
    #[command(flatten)]
    module: ModuleOption,
}

pub fn execute(args: &BurstsArgs) -> Result<()> {
    let file = File::open(&args.file).and_then(Reading::new);
    let file = file.with_context(|| format!("cannot read {}", args.file.display()))?;
    let position = file.position();
    let mut reader =
        BurstReader::open(BufReader::new(file)).map_err(|error| super::with_path(&args.file, &error))?;
    let ending = reader.ending();
    let mut failed = None;
    if args.stats {
        let stats = || Stats::new(reader.events(), &mut failed);
        let stats = progress::during_reading("counting", &position, stats);
        output::print(&stats.text())?;
    } else if let Some(extension) = args.extend {
        let names = Names::new(reader.head(), &args.file, &args.module)?;
        ensure!(names.module().is_some(), "--extend needs the module: give its path with --module");
        let mut lines = Lines { names, paths: BTreeMap::new(), bursts: 0 };
        let extended = || lines.extended(extension, reader.events(), &mut failed);
        let extended = progress::during_reading("extending paths", &position, extended);
        output::print(&lines.most_frequent(&extended, args.top))?;
    } else {
        let names = Names::new(reader.head(), &args.file, &args.module)?;
        let mut lines = Lines { names, paths: BTreeMap::new(), bursts: 0 };
        output::print_with(|out| write(reader.events(), &mut lines, &mut failed, out))?;
    }
    if let Some(error) = failed {
        return Err(super::with_path(&args.file, &error));
    }
    if let Some(notice) = ending.notice() {
        eprintln!("wprof: {notice}");
    }
    Ok(())
}

/// Writes events; repeated equal events become one line.
fn write(
    events: impl Iterator<Item = Result<BurstEvent, TraceFileError>>,
    lines: &mut Lines,
    failed: &mut Option<TraceFileError>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut events = sound(events, failed).peekable();
    while let Some(event) = events.next() {
        let mut times = 1_u64;
        while events.next_if_eq(&event).is_some() {
            times += 1;
        }
        let line = lines.line(event);
        if times > 1 { writeln!(out, "{line} x {times}")? } else { writeln!(out, "{line}")? }
    }
    Ok(())
}

/// Returns the events before the first error, which is stored in `failed`.
fn sound(
    events: impl Iterator<Item = Result<BurstEvent, TraceFileError>>,
    failed: &mut Option<TraceFileError>,
) -> impl Iterator<Item = BurstEvent> {
    events.map_while(move |event| event.map_err(|error| *failed = Some(error)).ok())
}

/// The text of events.
struct Lines {
    names: Names,
    /// By function: its graph and path numbering; without the module only numbers are shown.
    paths: BTreeMap<u32, Option<FunctionPaths>>,
    bursts: u64,
}

struct FunctionPaths {
    shape: Cfg,
    numbering: PathNumbering,
    /// By block: the offset of its code.
    starts: Vec<u32>,
}

impl Lines {
    fn line(&mut self, event: BurstEvent) -> String {
        match event {
            BurstEvent::Begin { checks } => {
                self.bursts += 1;
                format!("burst {} after {}", self.bursts, count_of(checks, "check"))
            }
            BurstEvent::BeginByTime { nanoseconds } => {
                self.bursts += 1;
                format!("burst {} after {:?}", self.bursts, Duration::from_nanos(nanoseconds))
            }
            BurstEvent::Enter { func } => format!("  enter {}", self.names.function(func)),
            BurstEvent::Path { func, id } => {
                let blocks = self.blocks(func, id).unwrap_or_else(|| format!("number {id}"));
                format!("  path in {}: {blocks}", self.names.function(func))
            }
            BurstEvent::Access { site, address, bytes } => {
                format!("    at {site:#x} {} from {address:#x}", count_of(bytes, "byte"))
            }
        }
    }

    /// Joins the paths of bursts into extended paths.
    fn extended(
        &mut self,
        extension: Extension,
        events: impl Iterator<Item = Result<BurstEvent, TraceFileError>>,
        failed: &mut Option<TraceFileError>,
    ) -> ExtendedPaths {
        let mut extended = ExtendedPaths::new(extension);
        for event in sound(events, failed) {
            match event {
                BurstEvent::Begin { .. } | BurstEvent::BeginByTime { .. } => extended.begin(),
                BurstEvent::Enter { func } => extended.enter(func),
                BurstEvent::Path { func, id } => extended.end((func, id), self.leaves(func, id)),
                BurstEvent::Access { .. } => {}
            }
        }
        extended
    }

    /// Returns the most frequent extended paths, one per line: count, share, and the paths in the order in which they
    /// end.
    fn most_frequent(&mut self, extended: &ExtendedPaths, top: usize) -> String {
        let counts = extended.counts();
        let all: u64 = counts.iter().map(|(_, count)| count).sum();
        let mut text =
            format!("{}, {} different\n", count_of(all, "extended path"), grouped(counts.len() as u64));
        for (paths, count) in counts.into_iter().take(top) {
            text += &format!("{} {}", grouped(count), percent(count, all));
            for &(func, id) in paths {
                let blocks = self.blocks(func, id).unwrap_or_else(|| format!("number {id}"));
                text += &format!("\n    {}: {blocks}", self.names.function(func));
            }
            text.push('\n');
        }
        text
    }

    /// Reports whether a path leaves its function.
    fn leaves(&mut self, func: u32, id: u64) -> bool {
        let Some(FunctionPaths { shape, numbering, .. }) = self.shown(func) else { return false };
        let last = numbering.path(id).and_then(|path| path.edges.last().copied());
        last.is_some_and(|last| shape.edge(last).to == shape.exit())
    }

    fn shown(&mut self, func: u32) -> Option<&FunctionPaths> {
        let names = &self.names;
        self.paths.entry(func).or_insert_with(|| shown(names, func)).as_ref()
    }

    /// Returns the blocks of a path.
    fn blocks(&mut self, func: u32, id: u64) -> Option<String> {
        let FunctionPaths { shape, numbering, starts } = self.shown(func)?;
        let path = numbering.path(id)?;
        let blocks = path.blocks(shape);
        let mut all: Vec<String> =
            blocks.iter().filter_map(|block| Some(format!("{:#x}", starts.get(block.index())?))).collect();
        if path.edges.last().is_some_and(|&last| shape.edge(last).to == shape.exit()) {
            all.push("return".to_owned());
        }
        Some(all.join(" "))
    }
}

fn shown(names: &Names, func: u32) -> Option<FunctionPaths> {
    let cfg = cfg::build(names.module()?.info(), func).ok()?;
    let shape = cfg.shape().clone();
    let numbering = PathNumbering::new(&shape);
    let starts = cfg.blocks.iter().map(|block| block.start).collect();
    Some(FunctionPaths { shape, numbering, starts })
}

/// The totals of all bursts.
#[derive(Default)]
struct Stats {
    bursts: u64,
    entries: u64,
    paths: u64,
    accesses: u64,
    different: HashSet<(u32, u64)>,
}

impl Stats {
    fn new(
        events: impl Iterator<Item = Result<BurstEvent, TraceFileError>>,
        failed: &mut Option<TraceFileError>,
    ) -> Stats {
        let mut stats = Stats::default();
        for event in sound(events, failed) {
            match event {
                BurstEvent::Begin { .. } | BurstEvent::BeginByTime { .. } => stats.bursts += 1,
                BurstEvent::Enter { .. } => stats.entries += 1,
                BurstEvent::Access { .. } => stats.accesses += 1,
                BurstEvent::Path { func, id } => {
                    stats.paths += 1;
                    stats.different.insert((func, id));
                }
            }
        }
        stats
    }

    fn text(&self) -> String {
        let (bursts, entries) = (count_of(self.bursts, "burst"), count_of(self.entries, "call"));
        let different = self.different.len() as u64;
        let accesses = match self.accesses {
            0 => String::new(),
            some => format!(", {}", count_of(some, "data reference")),
        };
        format!("{bursts}, {entries}, {}, {different} different{accesses}\n", count_of(self.paths, "path"))
    }
}
