//! `wprof passes`: lists the passes that wprof adds to Cranelift.

use std::io;

use anyhow::Result;
use clap::Args;
use wprof::{Pass, PassSet};

use crate::output;
use crate::screen::{ColorChoice, screen};

#[derive(Debug, Args)]
#[command(after_help = "\
A line for each pass, in the order in which they work: its name, whether it is on or in which functions, on what it works, \
and what it does.

Examples:
  wprof passes none,redundant-moves@0..57   how a list is read
  wprof run --passes -redundant-moves,-jump-threading json.wasm 20 2   without two passes
  wprof run --passes none json.wasm 20 2   plain Cranelift
  wprof run --passes none,masks json.wasm 20 2   with one pass alone
  wprof run --passes redundant-moves@0..57 json.wasm 20 2   with one in the first 57 functions only")]
pub struct PassesArgs {
    /// A list as in `--passes`, to show which passes it leaves on
    #[arg(value_name = "LIST", allow_hyphen_values = true, default_value = "all")]
    passes: PassSet,
}

pub fn execute(args: &PassesArgs) -> Result<()> {
    let width = screen(io::stdout(), ColorChoice::Never).width;
    let lines = |&pass: &Pass| {
        let on = functions(&args.passes, pass);
        let mut text = format!("{:<17}{on:<9} {:<13} ", pass.name(), pass.stage());
        let begin = text.chars().count();
        let mut column = begin;
        for word in pass.about().split(' ') {
            let length = word.chars().count();
            // The rest continues on the next line.
            if column > begin && column + 1 + length > width {
                text += &format!("\n{}", " ".repeat(begin));
                column = begin;
            } else if column > begin {
                text.push(' ');
                column += 1;
            }
            text += word;
            column += length;
        }
        text + "\n"
    };
    output::print(&Pass::ALL.iter().map(lines).collect::<String>())
}

/// Returns the functions in which a pass is enabled.
fn functions(passes: &PassSet, pass: Pass) -> String {
    match passes.functions(pass) {
        functions if functions == PassSet::all().functions(pass) => "on".to_owned(),
        functions if functions.is_empty() => "off".to_owned(),
        functions => format!("{}..{}", functions.start, functions.end),
    }
}
