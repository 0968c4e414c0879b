//! `wprof annotate`: one function with its counts.

use std::io;
use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Args;
use wprof_profiler::{FunctionProfile, Path};

use crate::modules::ModuleOption;
use crate::render::annotation::{self, Annotated};
use crate::render::page::Page;
use crate::render::path_annotation::{self, AnnotatedPath};
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
  wprof annotate f.wprof main -m old/json.wasm
  wprof annotate f.wprof main --path 697722    a number that `wprof residual` or JSON tells")]
pub struct AnnotateArgs {
    /// The profile, a file that `wprof run -o` wrote
    #[arg(value_name = "PROFILE")]
    profile: PathBuf,
    /// Name, part of a name, or index of a function that ran
    #[arg(value_name = "FUNC")]
    function: String,
    /// Show only the way of the path with this number
    #[arg(long, value_name = "ID")]
    path: Option<u64>,
    #[command(flatten)]
    module: ModuleOption,
}

pub fn execute(args: &AnnotateArgs, color: ColorChoice) -> Result<()> {
    let profile = super::read_profile(&args.profile)?;
    let found = names::find(&names::of_profile(&profile), &args.function);
    let found = match profile.bursts {
        Some(_) => found
            .context("this is a sample, and has what bursts saw: `wprof run --exact` counts all that runs")?,
        None => found?,
    };
    let function = profile.function(found.index).context("the function did not run")?;
    let module = args.module.needed(&profile, &args.profile)?;
    modules::tell_missing_debug_info(Some(&module));
    let view = View::new(&profile, Some(&module));
    let (code, sources) = (
        disassembly::of_function(&module, found.index)?,
        Sources::new(&args.module.path(&profile, &args.profile)),
    );
    let mut page = Page::new(Screen::of(io::stdout(), color));
    match args.path {
        Some(id) => {
            let path = numbered_path(function, id)?;
            path_annotation::write(&mut page, AnnotatedPath { view, function, id, path, code, sources });
        }
        None => annotation::write(&mut page, Annotated { view, function, code, sources }),
    }
    output::print(&page.into_text())
}

fn numbered_path(function: &FunctionProfile, id: u64) -> Result<Path> {
    let numbering = function
        .path_numbering()
        .context("the profile has no paths: take one by `wprof run --collect paths`")?;
    let paths = numbering.paths();
    numbering
        .path(id)
        .with_context(|| format!("there is no path {id}: numbers are below {paths}, and some are of no path"))
}
