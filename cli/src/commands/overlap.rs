//! `wprof overlap`: how much two profiles say the same.

use std::io;
use std::path::PathBuf;

use anyhow::{Result, ensure};
use clap::Args;
use wprof_profiler::Comparison;

use crate::output;
use crate::render::comparison;
use crate::render::page::Page;
use crate::render::screen::{ColorChoice, Screen};

#[derive(Debug, Args)]
#[command(after_help = "\
The overlap is the sum, over all items of a kind, of the smaller of their shares in the two
profiles: 100% for profiles that differ by a factor only, 0% for those that have nothing in
common. `top 10` is the share of the weight of the ten heaviest items of the first profile
that is of items also among the ten heaviest of the second.

Examples:
  wprof overlap complete.wprof other.wprof
  wprof overlap test-input.wprof field.wprof")]
pub struct OverlapArgs {
    /// The profile that is complete, or that is trusted
    #[arg(value_name = "PROFILE")]
    complete: PathBuf,
    /// The profile that is measured by it
    #[arg(value_name = "OTHER")]
    other: PathBuf,
}

pub fn execute(args: &OverlapArgs, color: ColorChoice) -> Result<()> {
    let (complete, other) = (super::read_profile(&args.complete)?, super::read_profile(&args.other)?);
    let comparison = Comparison::new(&complete, &other);
    ensure!(
        comparison::can_overlap(&comparison),
        "the profiles have no figures of one kind: collect the same for both"
    );
    let mut page = Page::new(Screen::of(io::stdout(), color));
    comparison::write_overlap(&mut page, &comparison);
    output::print(&page.into_text())
}
