//! `wprof man`: manual pages, one for each command.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::{Args, CommandFactory};

use crate::Cli;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  wprof man ~/.local/share/man/man1 && man wprof-run
  wprof man . && man ./wprof.1")]
pub struct ManArgs {
    /// The folder that they are written to, which is made if it is not there
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

pub fn execute(args: &ManArgs) -> Result<()> {
    let written = fs::create_dir_all(&args.folder)
        .and_then(|()| clap_mangen::generate_to(Cli::command(), &args.folder));
    written.with_context(|| format!("cannot write to {}", args.folder.display()))
}
