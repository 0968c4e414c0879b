//! `wprof trace replay`: shows what ran, in order.

use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::{Result, anyhow, ensure};
use clap::{Args, ValueHint};
use wprof_profiler::{AccessKind, BlockId, DataReference, Frame, TraceEvent, TraceFileError, TraceStep};

use super::names::Names;
use crate::modules::ModuleOption;
use crate::output;

/// The maximum depth to which calls are indented.
const DEEPEST: usize = 30;

const EXAMPLES: &str = "\
Examples:
  wprof trace replay json.wtrace | less
  wprof trace replay json.wtrace --from-chunk 3 --limit 1000";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, after_long_help = format!("\
Each event is one line: `enter` and `leave` of a function, a `block` with the byte of the module where \
its code begins, `host` calls and their `back`, and `unwound` frames that a trap or an exit ended. \
Blocks end at branches and after calls. A trace can be read from the start of any chunk; then the \
frames that are live there come first, as `inside`. With --addresses each block is followed by its \
loads and stores: the byte of the instruction in the module, the memory, the address, the number of \
bytes. An access that trapped is the last one.

{EXAMPLES}
  wprof trace replay --addresses json.wtrace | less
  wprof trace replay json.wtrace | grep -c enter"))]
pub struct ReplayArgs {
    /// The trace, a file from `wprof trace record`
    #[arg(value_name = "TRACE", value_hint = ValueHint::FilePath)]
    trace: PathBuf,
    /// Begin with chunk K; the first is 0
    #[arg(long, value_name = "K", default_value_t = 0)]
    from_chunk: usize,
    /// Show loads and stores; needs a trace recorded with --addresses
    #[arg(long)]
    addresses: bool,
    /// Stop after N events
    #[arg(long, value_name = "N")]
    limit: Option<u64>,
    #[command(flatten)]
    module: ModuleOption,
}

pub fn execute(args: &ReplayArgs) -> Result<()> {
    let (mut reader, _) = super::open(&args.trace)?;
    let names = Names::new(reader.head(), &args.trace, &args.module)?;
    if !names.are_known() {
        output::tell_line(format_args!(
            "wprof: cannot find the module, so functions are shown by number: give its path with --module"
        ));
    }
    let fail = |error| super::with_path(&args.trace, &error);
    let start = match reader.chunk_count() {
        0 => Vec::new(),
        _ => reader.segment(args.from_chunk).map_err(fail)?.start,
    };
    ensure!(
        !args.addresses || reader.has_references(),
        "{} has no addresses: record them with `wprof trace record --addresses`",
        args.trace.display()
    );
    let limit = args.limit.map_or(usize::MAX, |limit| limit as usize);
    let text = Text { names, depth: 0 };
    let failed = match args.addresses {
        true => print(text, &start, reader.steps_from(args.from_chunk).take(limit)),
        false => {
            let events = reader.events_from(args.from_chunk).map(|event| event.map(TraceStep::Event));
            print(text, &start, events.take(limit))
        }
    }?;
    match failed {
        Some(error) => Err(anyhow!("{}: {error}", args.trace.display())),
        None => {
            super::note_ending(&reader);
            Ok(())
        }
    }
}

/// Prints the live frames, and then the steps. Returns the error that ends the steps, if there is one.
fn print(
    mut text: Text,
    start: &[Frame],
    steps: impl Iterator<Item = Result<TraceStep, TraceFileError>>,
) -> Result<Option<TraceFileError>> {
    let mut failed = None;
    output::print_with(|out| {
        text.start(start, out)?;
        for step in steps {
            match step {
                Ok(TraceStep::Event(event)) => text.event(event, out)?,
                Ok(TraceStep::Reference(reference)) => text.reference(&reference, out)?,
                Err(error) => {
                    failed = Some(error);
                    break;
                }
            }
        }
        Ok(())
    })?;
    Ok(failed)
}

/// The text of a replayed run.
struct Text {
    names: Names,
    depth: usize,
}

impl Text {
    /// Prints the frames that are live at the beginning.
    fn start(&mut self, frames: &[Frame], out: &mut dyn Write) -> io::Result<()> {
        for &Frame { function, block, .. } in frames {
            let what = self.place_in(function, block);
            self.line("inside", &what, out)?;
            self.depth += 1;
        }
        Ok(())
    }

    fn event(&mut self, event: TraceEvent, out: &mut dyn Write) -> io::Result<()> {
        let (kind, what) = match event {
            TraceEvent::Enter(function) => ("enter", self.names.function(function).to_owned()),
            TraceEvent::Leave(function) => ("leave", self.names.function(function).to_owned()),
            TraceEvent::Unwound { function, block } => ("unwound", self.place_in(function, block)),
            TraceEvent::Block(function, block) => ("block", self.names.block(function, block)),
            TraceEvent::HostCall(function, block) => ("host", self.names.block(function, block)),
            TraceEvent::HostReturn(function, block) => ("back", self.names.block(function, block)),
        };
        if matches!(event, TraceEvent::Leave(_) | TraceEvent::Unwound { .. }) {
            self.depth = self.depth.saturating_sub(1);
        }
        self.line(kind, &what, out)?;
        self.depth += usize::from(matches!(event, TraceEvent::Enter(_)));
        Ok(())
    }

    fn reference(&mut self, reference: &DataReference, out: &mut dyn Write) -> io::Result<()> {
        let DataReference { access, address, bytes, .. } = reference;
        let kind = match access.kind {
            AccessKind::Load => "load",
            AccessKind::Store => "store",
        };
        let what = format!("{:#x} memory {} {address:#x} {bytes}", access.site, access.memory);
        self.line(kind, &what, out)
    }

    fn place_in(&mut self, function: u32, block: BlockId) -> String {
        let place = self.names.block(function, block);
        format!("{} {place}", self.names.function(function))
    }

    fn line(&self, kind: &str, what: &str, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "{:indent$}{kind} {what}", "", indent = 2 * self.depth.min(DEEPEST))
    }
}
