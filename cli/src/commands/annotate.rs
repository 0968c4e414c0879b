//! `wprof annotate`: shows one function with its counts.

use std::io;
use std::path::PathBuf;

use anyhow::Result;
use clap::{Args, ValueHint};
use wprof_report::page::Page;
use wprof_report::{Sources, View, annotate};

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
The margin shows the sampled time of each instruction and source line, the count of each basic block, and how often \
each branch went each way. A source line appears where its code begins, if the module has debug information. Its text \
appears if the source file is where the debug information says, or beside the module. A source function that is \
inlined everywhere is shown at each of these places, with the counts of the blocks that contain its code.

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
    let sources = Sources::new(&args.module.path(&profile, &args.profile));
    let view = View::new(&profile, Some(&module));
    let mut page = Page::new(screen(io::stdout(), color));
    match args.path {
        Some(id) => annotate::path(&mut page, &view, &args.function, id, sources)?,
        None => annotate::function(&mut page, &view, &args.function, sources)?,
    }
    output::print(&page.into_text())
}
