//! `wprof merge`: the sum of several runs.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::Args;
use wprof_profiler::Profile;

#[derive(Debug, Args)]
#[command(after_help = "\
Counts are added, runs are listed, and a function that ran in any of them is in the sum.
Totals of events are kept of the kinds that all of them counted; where one counted blocks
only, so does the sum.

Example:
  wprof run -q --exact -o a.wprof json.wasm 20 2
  wprof run -q --exact -o b.wprof json.wasm 300 1
  wprof merge a.wprof b.wprof -o both.wprof")]
pub struct MergeArgs {
    /// Profiles of one module
    #[arg(value_name = "PROFILE", required = true, num_args = 2..)]
    profiles: Vec<PathBuf>,
    /// Where to write the sum
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
}

pub fn execute(args: &MergeArgs) -> Result<()> {
    super::write_profile(&sum(&args.profiles, super::read_profile)?, &args.output)
}

/// The sum of the profiles in some files.
///
/// # Errors
/// If one cannot be read, or is of another module.
pub fn sum(paths: &[PathBuf], read: fn(&Path) -> Result<Profile>) -> Result<Profile> {
    let mut sum: Option<Profile> = None;
    for path in paths {
        let next = read(path)?;
        match &mut sum {
            None => sum = Some(next),
            Some(sum) => sum.merge(&next).with_context(|| path.display().to_string())?,
        }
    }
    sum.context("give a profile")
}
