//! `wprof man`: manual pages, one for each command.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
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
    let folder = &args.folder;
    ensure!(!folder.exists() || folder.is_dir(), "{} is not a folder: name one", folder.display());
    let written = fs::create_dir_all(folder).and_then(|()| clap_mangen::generate_to(Cli::command(), folder));
    written.with_context(|| format!("cannot write to {}", folder.display()))
}
