//! `wprof trace compress`: computes the whole program path of a trace.

use std::fs::File;
use std::io::BufWriter;
use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::{Args, ValueHint};
use wprof_profiler::{Compressor, WholePath};
use wprof_report::numbers::count_of;

use crate::help;
use crate::{output, progress};

const EXAMPLES: &str = "\
Examples:
  wprof trace record json.wasm 20 2
  wprof trace compress json.wtrace -o json.wpp
  wprof trace hot json.wpp";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, after_long_help = format!("\
The whole program path is the sequence of all acyclic paths, calls and returns of a run. A path ends at a \
call, at the end of an iteration of a loop, and where its function returns. The sequence is written as a \
grammar (Sequitur): whatever comes again becomes a rule, and rules are made of rules. So `wprof trace hot` \
finds what came often without looking at the whole sequence.

A trace that is longer than the window is compressed window by window; rules that several windows share are stored \
once. A larger window takes more memory and makes a smaller file.

{EXAMPLES}"))]
pub struct CompressArgs {
    /// The trace, a file from `wprof trace record`
    #[arg(value_name = "TRACE", value_hint = ValueHint::FilePath)]
    trace: PathBuf,
    /// Write to this file [default: the trace's name with `.wpp`, in this folder]
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = help::OUTPUT)]
    output: Option<PathBuf>,
    /// Compress N paths, calls and returns at a time
    #[arg(long, value_name = "N", default_value_t = Compressor::WINDOW, help_heading = help::LIMITS)]
    window: usize,
    /// Print no summary
    #[arg(short, long, help_heading = help::OUTPUT)]
    quiet: bool,
}

pub fn execute(args: &CompressArgs) -> Result<()> {
    let (mut reader, position) = super::open(&args.trace)?;
    let compress = || WholePath::of_trace(&mut reader, args.window);
    let whole = progress::during_reading("compressing", &position, compress);
    let whole = whole.map_err(|error| super::with_path(&args.trace, &error))?;
    let path = super::output_for(args.output.as_ref(), &args.trace, "wpp");
    let file = File::create(&path).with_context(|| format!("cannot write {}", path.display()))?;
    let bytes = whole.write(BufWriter::new(file)).map_err(|error| super::with_path(&path, &error))?;
    if !args.quiet {
        let grammar = whole.grammar();
        let rules = grammar.rules().len() as u64 - 1;
        output::tell_line(format_args!(
            "wprof: {} as {} and {} in {}; {} in {}",
            count_of(grammar.length(), "item"),
            count_of(grammar.size() as u64, "symbol"),
            count_of(rules, "rule"),
            count_of(whole.items().len() as u64, "different item"),
            count_of(bytes, "byte"),
            path.display()
        ));
    }
    super::note_ending(&reader);
    Ok(())
}
