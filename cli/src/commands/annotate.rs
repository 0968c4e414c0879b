//! `wprof annotate`: one function with its counts.

use std::io;
use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Args;

use crate::render::annotation::{self, Annotated};
use crate::render::page::Page;
use crate::render::screen::{ColorChoice, Screen};
use crate::render::view::View;
use crate::sources::Sources;
use crate::{disassembly, modules, names, output};

#[derive(Debug, Args)]
#[command(after_help = "\
The margin shows how often each basic block began and each edge out of a branch was \
taken. Source lines stand where the code of another line begins, if the module has \
debug information; their text is shown if the file is there, as named or beside the \
module.

Examples:
  wprof annotate f.wprof parse_value   a name, as written in the source
  wprof annotate f.wprof pars          a part that only one name has
  wprof annotate f.wprof 17            an index
  wprof annotate f.wprof main -m old/json.wasm")]
pub struct AnnotateArgs {
    /// The profile, a file that `wprof run -o` wrote
    #[arg(value_name = "PROFILE")]
    profile: PathBuf,
    /// Name, part of a name, or index of a function that ran
    #[arg(value_name = "FUNC")]
    function: String,
    /// The module that ran [default: where it ran, or beside the profile]
    #[arg(short, long, value_name = "MODULE")]
    module: Option<PathBuf>,
}

pub fn execute(args: &AnnotateArgs, color: ColorChoice) -> Result<()> {
    let profile = super::read_profile(&args.profile)?;
    let found = names::find(&names::of_profile(&profile), &args.function)?;
    let function = profile.function(found.index).context("the function did not run")?;
    let path = args.module.clone().unwrap_or_else(|| modules::locate(&profile, &args.profile));
    let module = modules::of_profile(&profile, &path)?;
    let annotated = Annotated {
        view: View::new(&profile, Some(&module)),
        function,
        code: disassembly::of_function(&module, found.index)?,
        sources: Sources::new(&path),
    };
    let mut page = Page::new(Screen::of(io::stdout(), color));
    annotation::write(&mut page, annotated);
    output::print(&page.into_text())
}
