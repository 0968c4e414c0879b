//! The options that say whose source files are.

use clap::Args;
use wprof_report::{Ownership, Program};

use crate::help;

/// Says whose source files are.
#[derive(Clone, Debug, Default, Args)]
pub struct OwnershipArgs {
    /// Attribute lines of these source files, as a library's, to the line of yours that leads to them
    ///
    /// `*` stands for any text and `?` for one character. GLOB matches the whole path or some of its parts, such as
    /// `third_party` or `*/json.hpp`. wprof recognizes standard libraries by their paths.
    #[arg(long, value_name = "GLOB", help_heading = help::VIEW, hide_short_help = true)]
    library: Vec<String>,
    /// Show lines of these source files as the program's own, even if they look like a library's
    #[arg(long, value_name = "GLOB", help_heading = help::VIEW, hide_short_help = true)]
    mine: Vec<String>,
}

impl OwnershipArgs {
    /// Reports whether any files are named.
    pub fn is_given(&self) -> bool {
        !self.library.is_empty() || !self.mine.is_empty()
    }

    /// Returns the ownership of a program's source files.
    pub fn resolve(&self, program: Option<&Program>) -> Ownership {
        Ownership::new(program, self.library.clone(), self.mine.clone())
    }
}
