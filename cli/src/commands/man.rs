//! `wprof man`: writes manual pages, one per command.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use clap::{Args, CommandFactory, ValueHint};

use crate::Cli;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  wprof man ~/.local/share/man/man1 && man wprof-run
  wprof man . && man ./wprof.1")]
pub struct ManArgs {
    /// The folder to write them to; it is created if needed
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    folder: PathBuf,
}

pub fn execute(args: &ManArgs) -> Result<()> {
    let folder = &args.folder;
    ensure!(!folder.exists() || folder.is_dir(), "{} is not a folder: give one", folder.display());
    let written = fs::create_dir_all(folder).and_then(|()| clap_mangen::generate_to(Cli::command(), folder));
    written.with_context(|| format!("cannot write to {}", folder.display()))
}
