//! `wprof trace pack`: stores a trace in fewer bits.

use std::fs::File;
use std::io::BufWriter;
use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::{Args, ValueHint};
use wprof_report::numbers::{count_of, percent};

use crate::help;
use crate::{output, progress};

const EXAMPLES: &str = "\
Examples:
  wprof trace pack json.wtrace
  wprof trace unpack json.wtpk -o again.wtrace";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, after_long_help = format!("\
A model predicts each branch from its block, from what the branch did before, and from the path that led there; \
arithmetic coding then writes only what the prediction does not know. This takes a fraction of the bits of a recorded \
trace, but more time than recording. `wprof trace unpack` restores the same trace; the other commands read recorded \
traces only.

{EXAMPLES}"))]
pub struct PackArgs {
    /// The trace, a file from `wprof trace record`
    #[arg(value_name = "TRACE", value_hint = ValueHint::FilePath)]
    trace: PathBuf,
    /// Write to this file [default: the trace's name with `.wtpk`, in this folder]
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = help::OUTPUT)]
    output: Option<PathBuf>,
    /// Print no summary
    #[arg(short, long, help_heading = help::OUTPUT)]
    quiet: bool,
}

pub fn execute(args: &PackArgs) -> Result<()> {
    let (mut reader, position) = super::open(&args.trace)?;
    let path = super::output_for(args.output.as_ref(), &args.trace, "wtpk");
    let file = File::create(&path).with_context(|| format!("cannot write {}", path.display()))?;
    let pack = || reader.pack(&mut BufWriter::new(file));
    let summary = progress::during_reading("packing", &position, pack);
    let summary = summary.map_err(|error| super::with_path(&args.trace, &error))?;
    if !args.quiet {
        let bits =
            summary.bits_per_branch().map(|bits| format!("{bits:.3} bits a branch, ")).unwrap_or_default();
        let before = position.length();
        output::tell_line(format_args!(
            "wprof: {bits}{} in {}, {} of the trace",
            count_of(summary.file_bytes, "byte"),
            path.display(),
            percent(summary.file_bytes, before)
        ));
    }
    super::note_ending(&reader);
    Ok(())
}
