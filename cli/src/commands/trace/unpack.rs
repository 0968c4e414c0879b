//! `wprof trace unpack`: restores a packed trace.

use std::fs::File;
use std::io::{BufReader, BufWriter};
use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::{Args, ValueHint};
use wprof_profiler::unpack_trace;
use wprof_report::numbers::count_of;

use crate::help;
use crate::progress::{self, Reading};
use crate::{output, sizes};

const EXAMPLES: &str = "\
Examples:
  wprof trace unpack json.wtpk
  wprof trace unpack json.wtpk -o again.wtrace";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, after_long_help = format!("\
The result is the packed trace, bit for bit; each chunk has a checksum. If the file is damaged, the chunks before the \
damage are written.

{EXAMPLES}"))]
pub struct UnpackArgs {
    /// The packed trace, a file from `wprof trace pack`
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    file: PathBuf,
    /// Write to this file [default: the name of the packed one with `.wtrace`, in this folder]
    #[arg(short, long, value_name = "TRACE", value_hint = ValueHint::FilePath, help_heading = help::OUTPUT)]
    output: Option<PathBuf>,
    /// Limit the size of the trace
    #[arg(long, value_name = "SIZE", value_parser = sizes::parse, default_value = "4G")]
    #[arg(help_heading = help::LIMITS)]
    max_size: u64,
    /// Print no summary
    #[arg(short, long, help_heading = help::OUTPUT)]
    quiet: bool,
}

pub fn execute(args: &UnpackArgs) -> Result<()> {
    let input = File::open(&args.file).and_then(Reading::new);
    let input = input.with_context(|| format!("cannot read {}", args.file.display()))?;
    let position = input.position();
    let path = super::output_for(args.output.as_ref(), &args.file, "wtrace");
    let file = File::create(&path).with_context(|| format!("cannot write {}", path.display()))?;
    let unpack = || unpack_trace(&mut BufReader::new(input), &mut BufWriter::new(file), args.max_size);
    let bytes = progress::during_reading("unpacking", &position, unpack);
    let bytes = bytes.map_err(|error| super::with_path(&args.file, &error))?;
    if !args.quiet {
        output::tell_line(format_args!("wprof: {} in {}", count_of(bytes, "byte"), path.display()));
    }
    Ok(())
}
