//! `wprof annotate`: shows one function with its counts.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::io;
use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::{Args, ValueHint};
use wprof_profiler::{FunctionProfile, Path};
use wprof_report::inlined::Inlined;
use wprof_report::render::annotation::{self, Annotated};
use wprof_report::render::page::Page;
use wprof_report::render::path_annotation::{self, AnnotatedPath};
use wprof_report::render::view::View;
use wprof_report::sources::Sources;
use wprof_report::{code_map, disassembly, inlined, names, render};

use crate::modules::ModuleOption;
use crate::screen::{ColorChoice, screen};
use crate::{modules, output};

const EXAMPLES: &str = "\
Examples:
  wprof annotate f.wprof parse_value   a name, as written in the source
  wprof annotate f.wprof pars          a part of one name only
  wprof annotate f.wprof 17            a function index";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, after_long_help = format!("\
The margin shows the sampled time of each instruction and source line, how often each basic block ran, and each branch \
went each way. A source line is shown \
where its code begins, if the module has debug information; its text is shown if the source file is \
found where the debug information says, or beside the module. A source function that is inlined everywhere is shown \
at each place where it is, with the counts of the blocks that its code became a part of.

{EXAMPLES}
  wprof annotate f.wprof main -m old/json.wasm
  wprof annotate f.wprof main --path 697722   a path number from `wprof residual` or JSON"))]
pub struct AnnotateArgs {
    /// The profile, a file from `wprof run -o`
    #[arg(value_name = "PROFILE", value_hint = ValueHint::FilePath)]
    profile: PathBuf,
    /// A function that ran, in code of its own or inlined: its name, part of its name, or its index
    #[arg(value_name = "FUNC")]
    function: String,
    /// Show only the path with this number
    #[arg(long, value_name = "ID")]
    path: Option<u64>,
    #[command(flatten)]
    module: ModuleOption,
}

pub fn execute(args: &AnnotateArgs, color: ColorChoice) -> Result<()> {
    let mut profile = super::read_profile(&args.profile)?;
    let module = args.module.needed(&mut profile, &args.profile)?;
    modules::tell_missing_debug_info(Some(&module));
    let functions = names::of_profile(&profile);
    let path = args.module.path(&profile, &args.profile);
    let inlined = match args.path {
        None => inlined::find(&module, &functions, &args.function)?,
        Some(_) => None,
    };
    if let Some(inlined) = inlined {
        let mut page = Page::new(screen(io::stdout(), color));
        write_inlined(&mut page, View::new(&profile, Some(&module)), &inlined, Sources::new(&path))?;
        return output::print(&page.into_text());
    }
    let found = names::find(&functions, &args.function);
    let found = match profile.bursts {
        Some(_) => found
            .context("this is a sample, and the function may have run outside its bursts: `wprof run --exact` counts everything")?,
        None => found?,
    };
    let function = match profile.function(found.index) {
        Some(counted) => Cow::Borrowed(counted),
        // Only the timer found it.
        None => Cow::Owned(module.idle_function(found.index).map_err(modules::failure)?),
    };
    let is_counted = matches!(function, Cow::Borrowed(_));
    let function = &*function;
    let view = View::new(&profile, Some(&module));
    let (code, sources) = (disassembly::of_function(&module, found.index)?, Sources::new(&path));
    let mut page = Page::new(screen(io::stdout(), color));
    match args.path {
        Some(id) => {
            let path = numbered_path(function, id)?;
            path_annotation::write(&mut page, AnnotatedPath { view, function, id, path, code, sources });
        }
        None => annotation::write(&mut page, Annotated { view, function, is_counted, code, sources }),
    }
    output::print(&page.into_text())
}

/// Writes a source function that exists only inlined.
fn write_inlined(page: &mut Page, view: View<'_>, inlined: &Inlined, sources: Sources) -> Result<()> {
    let Some(module) = view.module else { return Ok(()) };
    let functions: BTreeSet<u32> = inlined.places.iter().map(|place| place.function).collect();
    let ran: Vec<&FunctionProfile> =
        functions.iter().filter_map(|&function| view.profile.function(function)).collect();
    let ops = render::inlined::ops(view.profile, &code_map::of_instructions(module, &ran)?, &inlined.places);
    let code = disassembly::of_functions(module, &functions.into_iter().collect::<Vec<_>>())?;
    render::inlined::write(page, view, inlined, &ops, (code, sources));
    Ok(())
}

fn numbered_path(function: &FunctionProfile, id: u64) -> Result<Path> {
    let numbering = function
        .path_numbering()
        .context("the profile has no paths: record one with `wprof run --collect paths`")?;
    let paths = numbering.paths();
    numbering.path(id).with_context(|| {
        format!("there is no path {id}: path numbers are below {paths}, and some of them are unused")
    })
}
