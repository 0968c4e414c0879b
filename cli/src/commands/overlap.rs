//! `wprof overlap`: shows how far two profiles agree.

use std::io;
use std::path::PathBuf;

use anyhow::{Result, ensure};
use clap::{Args, ValueHint};
use wprof_report::diff;
use wprof_report::page::Page;

use crate::output;
use crate::screen::{ColorChoice, screen};

const EXAMPLES: &str = "\
Examples:
  wprof overlap exact.wprof sampled.wprof
  wprof overlap test-input.wprof field.wprof";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, after_long_help = format!("\
The overlap is the sum, over all items of a kind, of the smaller of their two shares: 100% for \
profiles that differ by a factor only, 0% for profiles with nothing in common. `top 10` is the share \
of the ten heaviest items of the first profile that are also among the ten heaviest of the second, by \
weight.

{EXAMPLES}"))]
pub struct OverlapArgs {
    /// The profile to compare with: complete, or trusted
    #[arg(value_name = "PROFILE", value_hint = ValueHint::FilePath)]
    complete: PathBuf,
    /// The profile to judge
    #[arg(value_name = "OTHER", value_hint = ValueHint::FilePath)]
    other: PathBuf,
}

pub fn execute(args: &OverlapArgs, color: ColorChoice) -> Result<()> {
    let (complete, other) = (super::read_profile(&args.complete)?, super::read_profile(&args.other)?);
    for (path, profile) in [(&args.complete, &complete), (&args.other, &other)] {
        ensure!(
            profile.bursts.is_none() || !profile.functions.is_empty(),
            "{} is a sample without bursts, so functions have no shares: give a profile of a longer run, or one of `wprof run --exact`",
            path.display()
        );
    }
    let mut page = Page::new(screen(io::stdout(), color));
    diff::overlap(&mut page, &complete, &other)?;
    output::print(&page.into_text())
}
