//! `wprof view`: opens the HTML report in the browser.
//!
//! Unless a file is named, the page is a temporary file, which the system eventually removes.

mod browser;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::{Args, ValueHint};
use wprof_report::View;

use super::report::HtmlReport;
use crate::modules::ModuleOption;
use crate::ownership::OwnershipArgs;
use crate::{modules, output};

const EXAMPLES: &str = "\
Examples:
  wprof run --exact -o f.wprof json.wasm 20 2 && wprof view f.wprof
  wprof view after.wprof --diff before.wprof
  wprof view f.wprof --browser 'firefox --new-window'";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, after_long_help = format!("\
Writes the report of `wprof report --html` to a temporary file, prints its path and opens it. The \
browser is the one that --browser names, otherwise $BROWSER, otherwise the desktop's default. Without \
a browser only the path is printed. A browser in a sandbox may not see temporary files: choose a file \
in your home folder with -o.

{EXAMPLES}"))]
pub struct ViewArgs {
    /// The profile, a file from `wprof run -o`
    #[arg(value_name = "PROFILE", value_hint = ValueHint::FilePath)]
    profile: PathBuf,
    /// Open the page with this command; its path is appended
    #[arg(long, value_name = "COMMAND", value_hint = ValueHint::CommandString)]
    browser: Option<String>,
    /// Show what changed since an earlier profile
    #[arg(long, value_name = "PROFILE", value_hint = ValueHint::FilePath)]
    diff: Option<PathBuf>,
    /// Write the page to this file [default: a temporary file]
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    output: Option<PathBuf>,
    #[command(flatten)]
    ownership: OwnershipArgs,
    #[command(flatten)]
    module: ModuleOption,
}

pub fn execute(args: &ViewArgs) -> Result<()> {
    let mut profile = super::read_profile(&args.profile)?;
    let module = args.module.at_hand(&mut profile, &args.profile)?;
    modules::tell_missing_debug_info(module.as_ref());
    let page = args.output.clone().map_or_else(|| temporary(&args.profile), Ok)?;
    let report = HtmlReport { path: &args.profile, module: &args.module, before: args.diff.as_deref() };
    let ownership = args.ownership.resolve(module.as_ref());
    report.write(&View::new(&profile, module.as_ref()).owned(&ownership), &page)?;
    output::print(&format!("{}\n", page.display()))?;
    browser::open(&page, args.browser.as_deref())
}

/// Creates a new file for the page of a profile. Nobody else can have created it or can read it.
fn temporary(profile: &Path) -> Result<PathBuf> {
    let stem = profile.file_stem().unwrap_or_default().to_string_lossy();
    let file = tempfile::Builder::new().prefix(&format!("wprof-{stem}-")).suffix(".html").tempfile();
    let (_, path) = file.context("cannot make a temporary file")?.keep().context("cannot keep the page")?;
    Ok(path)
}
