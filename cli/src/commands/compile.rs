//! `wprof compile`: compiles a module or component ahead of time, for `wprof run`.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use clap::{Args, ValueHint};
use wprof::component::is_component;
use wprof::{Config, Engine, OwnArtifacts};

use super::run::{COLLECT_HELP, PassesArgs, ProfileArgs, ReoptimizeArgs, rate};
use crate::help;
use crate::{modules, output, progress};

const EXAMPLES: &str = "\
Examples:
  wprof compile json.wasm -o json.cwasm        compile and optimize all functions
  wprof run json.cwasm 4000 150                run it
  wprof compile --profile-use f.wprof json.wasm -o json.cwasm";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, after_long_help = format!("\
The file holds the module and its machine code; for a component, the code of all its core modules. `wprof run` takes \
it in place of the module or component. The version of wprof, the kind of processor and the options for what is \
collected must be the same; otherwise an error names the difference.

Machine code cannot be checked as a module can: it may do anything that the user may do. So wprof remembers the files \
that it has compiled, and runs no others.

{COLLECT_HELP}

{EXAMPLES}"))]
pub struct CompileArgs {
    #[command(flatten)]
    profile: ProfileArgs,
    #[command(flatten)]
    reoptimize: ReoptimizeArgs,
    #[command(flatten)]
    passes: PassesArgs,
    /// Write the module with its machine code to this file
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = help::OUTPUT)]
    output: PathBuf,
    /// The module or component (.wasm or .wat)
    #[arg(value_name = "MODULE", value_hint = ValueHint::FilePath)]
    module: PathBuf,
}

pub fn execute(args: &CompileArgs) -> Result<()> {
    let mut config = Config::new();
    let counted = args.profile.counted(None, None)?;
    ensure!(counted.across.is_none(), "only `wprof run` counts paths across calls: leave out --depth");
    counted.configure(&mut config);
    config.sample_time(rate::choose(None, &counted)?);
    config.passes(args.passes.set());
    args.reoptimize.configure(&counted, &mut config)?;
    let engine = Engine::new(&config).map_err(modules::failure)?;
    let bytes = fs::read(&args.module).with_context(|| format!("cannot read {}", args.module.display()))?;
    let own = OwnArtifacts::of_user().map_err(modules::failure)?;
    let compiling = format!("compiling {}", args.module.display());
    let compiled = progress::during(&compiling, || match is_component(&bytes) {
        true => own.precompile_component(&engine, bytes),
        false => own.precompile_module(&engine, bytes),
    });
    let compiled = compiled.map_err(|error| modules::failure(error.context(args.module.display())))?;
    output::write_file(&args.output, |out| out.write_all(&compiled))
}
