//! `wprof completions`: prints a script with which a shell completes wprof's commands and options.

use anyhow::Result;
use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::{Cli, output};

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  wprof completions bash > ~/.local/share/bash-completion/completions/wprof
  wprof completions fish > ~/.config/fish/completions/wprof.fish
  wprof completions zsh > ~/.zfunc/_wprof")]
pub struct CompletionsArgs {
    /// The shell
    #[arg(value_enum, value_name = "SHELL")]
    shell: Shell,
}

pub fn execute(args: &CompletionsArgs) -> Result<()> {
    // The generator panics if a write fails, so it writes to memory.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "wprof", &mut script);
    output::print_with(|out| out.write_all(&script))
}
