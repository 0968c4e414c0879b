//! `wprof merge`: adds up the profiles of several runs.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::{Args, ValueHint};
use wprof_profiler::Profile;

#[derive(Debug, Args)]
#[command(
    after_help = "\
Examples:
  wprof run -q --exact -o a.wprof json.wasm 20 2
  wprof run -q --exact -o b.wprof json.wasm 300 1
  wprof merge a.wprof b.wprof -o both.wprof",
    after_long_help = "\
wprof adds up the counts and lists the runs. A function that ran in any profile is in the sum. The \
sum keeps the event kinds that all profiles counted; if one profile counted blocks only, so does the \
sum.

Examples:
  wprof run -q --exact -o a.wprof json.wasm 20 2
  wprof run -q --exact -o b.wprof json.wasm 300 1
  wprof merge a.wprof b.wprof -o both.wprof"
)]
pub struct MergeArgs {
    /// Two or more profiles of one module
    #[arg(value_name = "PROFILE", required = true, num_args = 2.., value_hint = ValueHint::FilePath)]
    profiles: Vec<PathBuf>,
    /// Write the sum to this file
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    output: PathBuf,
}

pub fn execute(args: &MergeArgs) -> Result<()> {
    super::write_profile(&sum(&args.profiles, super::read_profile)?, &args.output)
}

/// Returns the sum of the profiles in some files.
///
/// # Errors
/// Returns an error if a file cannot be read, or the profiles are of different modules.
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
