//! `wprof instrument`: rewrites a module so that it counts in any engine.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};
use clap::{Args, ValueEnum, ValueHint};
use wprof::Module;
use wprof_instrument::{Collected, JAVASCRIPT, Options};

use super::help;
use crate::{modules, output};

/// What is counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Counted {
    /// How often each branch went each way, and all that follows from it
    #[default]
    Edges,
    /// How often each acyclic path ran; includes edges
    Paths,
    /// How often each basic block ran
    Blocks,
}

/// How a module is rewritten.
#[derive(Clone, Debug, Args)]
pub struct RewriteArgs {
    /// Count edges, paths or blocks
    #[arg(long, value_enum, value_name = "WHAT", default_value_t, help_heading = help::PROFILE)]
    collect: Counted,
    /// Be exact also if a load, a store, a division or the like traps; takes more code
    ///
    /// Without it counts are exact if the program ends itself, throws, executes `unreachable`, or traps in a function of
    /// the host.
    #[arg(long, help_heading = help::PROFILE)]
    exact_traps: bool,
}

impl RewriteArgs {
    /// Returns the options of the rewriter.
    pub fn options(&self) -> Options<'static> {
        let collected = match self.collect {
            Counted::Edges => Collected::Edges,
            Counted::Paths => Collected::Paths,
            Counted::Blocks => Collected::Blocks,
        };
        Options { collected, weights: None, exact_traps: self.exact_traps, single_memory: false }
    }

    /// Returns the options as arguments of `wprof instrument`.
    pub fn to_args(&self) -> Vec<String> {
        let name = match self.collect {
            Counted::Edges => "edges",
            Counted::Paths => "paths",
            Counted::Blocks => "blocks",
        };
        let traps = self.exact_traps.then(|| "--exact-traps".to_owned());
        ["--collect".to_owned(), name.to_owned()].into_iter().chain(traps).collect()
    }
}

const EXAMPLES: &str = "\
Examples:
  wprof instrument app.wasm -o dist/app.wasm     count edges wherever app.wasm runs
  wprof instrument --collect paths app.wasm -o dist/app.wasm
  wprof instrument --js dist/wprof.js            what hands the counters over in a page or in Node
  wprof collect -- node app.js                   or all of it in one command";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, after_long_help = format!("\
The new module does the same, and counts what it runs, in any engine. It imports nothing new. It exports its \
counters, which `wprof collect` turns into the profile that `wprof run --exact` would have taken of the \
same run, of the original module. Names, debug information and other custom sections stay; `wprof.offsets` \
says where code was inserted.

Counters are in a memory of their own. Hosts that know only one memory in a module, such as Node before \
version 22 and Safari, need --single-memory: then they lie behind the program's memory, which looks to the \
program as before. The host sees that it is larger.

{EXAMPLES}"))]
pub struct InstrumentArgs {
    #[command(flatten)]
    rewrite: RewriteArgs,
    /// Put counters where this profile of the module ran least
    #[arg(long, value_name = "PROFILE", value_hint = ValueHint::FilePath, help_heading = help::SPEED)]
    weights: Option<PathBuf>,
    /// Put counters behind the program's memory, for hosts without multi-memory
    #[arg(long, help_heading = help::PROGRAM)]
    single_memory: bool,
    /// Write the JavaScript that hands counters over
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = help::OUTPUT)]
    js: Option<PathBuf>,
    /// Write the new module to this file
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = help::OUTPUT)]
    #[arg(requires = "module")]
    output: Option<PathBuf>,
    /// The module (.wasm or .wat), or a component (.wasm), of which all modules count then
    #[arg(value_name = "MODULE", required_unless_present = "js", requires = "output")]
    #[arg(value_hint = ValueHint::FilePath)]
    module: Option<PathBuf>,
}

pub fn execute(args: &InstrumentArgs) -> Result<()> {
    if let Some(path) = &args.js {
        output::write_file(path, |out| out.write_all(JAVASCRIPT.as_bytes()))?;
    }
    let (Some(module), Some(output)) = (&args.module, &args.output) else { return Ok(()) };
    let weights = args.weights.as_deref().map(super::read_profile).transpose()?;
    let options =
        Options { weights: weights.as_ref(), single_memory: args.single_memory, ..args.rewrite.options() };
    let bytes = binary(module)?;
    let new = wprof_instrument::instrument(&bytes, options);
    let new = new.map_err(|error| anyhow!("{}: {error}", module.display()))?;
    output::write_file(output, |out| out.write_all(&new))
}

/// Returns the bytes of a module in a file, which may be in the text format.
///
/// # Errors
/// Returns an error if the file cannot be read as a module.
pub fn binary(path: &Path) -> Result<Vec<u8>> {
    let bytes = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    if path.extension().is_none_or(|kind| kind != "wat") {
        return Ok(bytes);
    }
    let module = Module::new(&modules::plain_engine()?, bytes).map_err(modules::failure)?;
    Ok(module.info().bytes.to_vec())
}
