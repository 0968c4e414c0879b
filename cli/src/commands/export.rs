//! `wprof export`: a profile for other tools.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::{Args, ValueEnum};
use wprof_profiler::Profile;

use crate::output;

/// Formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    Json,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Formats:
  json  everything the profile holds and what follows from it, in one object

Examples:
  wprof export --to json f.wprof > f.json
  wprof export --to json f.wprof | jq '.functions[] | [.name, .ops]'
  wprof export --to json -o f.json f.wprof")]
pub struct ExportArgs {
    /// Format
    #[arg(long, value_enum, value_name = "FORMAT")]
    to: Format,
    /// The profile
    #[arg(value_name = "PROFILE")]
    profile: PathBuf,
    /// Where to write it; `-` is standard output
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    output: PathBuf,
}

pub fn execute(args: &ExportArgs) -> Result<()> {
    let profile = super::read_profile(&args.profile)?;
    if args.output == Path::new("-") {
        return output::print_with(|out| write(&profile, args.to, out));
    }
    write_file(&profile, args).with_context(|| format!("cannot write {}", args.output.display()))
}

fn write_file(profile: &Profile, args: &ExportArgs) -> io::Result<()> {
    let mut out = BufWriter::new(File::create(&args.output)?);
    write(profile, args.to, &mut out)?;
    out.flush()
}

/// Writes a profile in a format.
pub fn write(profile: &Profile, format: Format, mut out: impl Write) -> io::Result<()> {
    match format {
        Format::Json => profile.write_json(&mut out)?,
    }
    out.write_all(b"\n")
}
