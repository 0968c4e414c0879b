//! `wprof report`: where the instructions went.

use std::io;
use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use wprof::Module;
use wprof_profiler::Profile;

use super::export::{self, Format};
use crate::render::functions::Order;
use crate::render::page::Page;
use crate::render::report;
use crate::render::screen::{ColorChoice, Screen};
use crate::render::view::View;
use crate::{modules, output};

#[derive(Debug, Args)]
#[command(after_help = "\
All figures are exact counts. Instructions are WebAssembly instructions executed in \
a function itself, not in those that it calls. `trips` is how often a loop goes round \
each time it is entered. Source lines are shown if the module is at hand and has debug \
information; otherwise offsets in the module.

Examples:
  wprof report f.wprof
  wprof report f.wprof --top 30 --sort calls
  wprof report f.wprof --json | jq .ops")]
pub struct ReportArgs {
    /// The profile, a file that `wprof run -o` wrote
    #[arg(value_name = "PROFILE")]
    profile: PathBuf,
    /// How many rows each table has
    #[arg(short = 'n', long, value_name = "N", default_value_t = 10)]
    top: usize,
    /// Show the functions in one order only [default: both]
    #[arg(long, value_enum, value_name = "ORDER")]
    sort: Option<Order>,
    /// The module, for source lines [default: where it ran, or beside the profile]
    #[arg(short, long, value_name = "MODULE")]
    module: Option<PathBuf>,
    /// Print the profile as JSON instead, as `wprof export --to json`
    #[arg(long)]
    json: bool,
}

pub fn execute(args: &ReportArgs, color: ColorChoice) -> Result<()> {
    let profile = super::read_profile(&args.profile)?;
    if args.json {
        return output::print_with(|out| export::write(&profile, Format::Json, out));
    }
    let module = module(&profile, args)?;
    let mut page = Page::new(Screen::of(io::stdout(), color));
    report::write(&mut page, &View::new(&profile, module.as_ref()), args.top, args.sort);
    output::print(&page.into_text())
}

/// The module, if it was given or can be found without asking.
fn module(profile: &Profile, args: &ReportArgs) -> Result<Option<Module>> {
    match &args.module {
        Some(path) => modules::of_profile(profile, path).map(Some),
        None => Ok(modules::of_profile(profile, &modules::locate(profile, &args.profile)).ok()),
    }
}
