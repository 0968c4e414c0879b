//! `wprof explain`: shows how a function is compiled.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Result, anyhow, ensure};
use clap::{Args, ValueEnum, ValueHint};
use wprof::{Interesting, Module};
use wprof_jit::plan::Collection;
use wprof_profiler::Profile;
use wprof_report::explain::{self, Options};

use super::run::collect::Limit;
use super::run::{COLLECT_HELP, PassesArgs, ProfileArgs, ReoptimizeArgs};
use super::trace::Method;
use crate::core_module::CoreModuleOption;
use crate::help;
use crate::output;
use crate::screen::are_names_full;

/// The forms that a function takes on its way to machine code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Stage {
    /// The control-flow graph: basic blocks over the bytecode
    Cfg,
    /// The spanning tree, its chords and their counters, path numbers, events, budget checks, trace bits
    Plan,
    /// The block graph that is compiled: copies of blocks with probes
    Graph,
    /// Cranelift's intermediate code, before its optimizer
    Clif,
    /// Machine code
    Asm,
    /// The optimizations that a profile causes (with --profile-use), and the expected gain
    Decisions,
}

/// The tier of the code that is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ShownTier {
    /// The code that compiles fastest and runs first
    Baseline,
    /// The best version
    Optimized,
}

impl From<ShownTier> for explain::Tier {
    fn from(tier: ShownTier) -> Self {
        match tier {
            ShownTier::Baseline => Self::Baseline,
            ShownTier::Optimized => Self::Optimized,
        }
    }
}

impl From<Stage> for explain::Stage {
    fn from(stage: Stage) -> Self {
        match stage {
            Stage::Cfg => Self::Cfg,
            Stage::Plan => Self::Plan,
            Stage::Graph => Self::Graph,
            Stage::Clif => Self::Clif,
            Stage::Asm => Self::Asm,
            Stage::Decisions => Self::Decisions,
        }
    }
}

const EXAMPLES: &str = "\
Examples:
  wprof explain json.wasm parse_value                       where its counters are
  wprof explain json.wasm parse_value --stage asm
  wprof explain json.wasm 17 --stage asm --profile off      plain machine code";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, after_long_help = format!("\
This shows the optimized version of the function, or its baseline code with `--tier baseline`. Addresses in the \
machine code are not those of a real run: code slots start at address 0, and the function's counters are placed as the \
first ones of its module.

{COLLECT_HELP}

{EXAMPLES}

More examples:
  wprof explain json.wasm 17 --stage asm --profile off --tier baseline   what runs first
  wprof explain json.wasm 17 --collect paths
  wprof explain json.wasm 17 --stage asm --profile off --passes -redundant-moves   without a pass
  wprof explain json.wasm 17 --collect blocks --collect events=instructions,loads
  wprof explain json.wasm 17 --weights f.wprof   with the counts of a run as weights
  wprof explain json.wasm 17 --budget fuel=1000000   where the budget is checked
  wprof explain json.wasm 17 --trace best --stage asm   as `wprof trace record` compiles it
  wprof explain json.wasm 17 --profile off --profile-use f.wprof --stage decisions
  wprof explain json.wasm 17 --stage graph --collect all-blocks"))]
pub struct ExplainArgs {
    /// The module or component (.wasm or .wat)
    #[arg(value_name = "MODULE", value_hint = ValueHint::FilePath)]
    module: PathBuf,
    /// A function: its name, part of its name, or its index
    #[arg(value_name = "FUNC")]
    function: String,
    /// Choose what to show
    #[arg(long, value_enum, value_name = "STAGE", default_value = "plan", help_heading = help::VIEW)]
    stage: Stage,
    /// Show the graph and code of this tier
    #[arg(long, value_enum, value_name = "TIER", default_value = "optimized", help_heading = help::VIEW)]
    tier: ShownTier,
    /// Show the code that records a trace by this method; it counts nothing
    #[arg(long, value_enum, value_name = "METHOD", help_heading = help::VIEW, hide_short_help = true)]
    trace: Option<Method>,
    /// With --trace: include the addresses of loads and stores
    #[arg(long, requires = "trace", help_heading = help::VIEW, hide_short_help = true)]
    addresses: bool,
    /// Show the code for a budget of this event kind
    #[arg(long, value_name = "KIND=N", value_parser = Limit::parse, conflicts_with = "trace")]
    #[arg(help_heading = help::VIEW, hide_short_help = true)]
    budget: Option<Limit>,
    #[command(flatten)]
    core_module: CoreModuleOption,
    #[command(flatten)]
    profile: ProfileArgs,
    #[command(flatten)]
    reoptimize: ReoptimizeArgs,
    #[command(flatten)]
    passes: PassesArgs,
}

pub fn execute(args: &ExplainArgs) -> Result<()> {
    let (module, function) = args.core_module.load(&args.module, &args.function, &profiled(args)?)?;
    let explained = explain::function(&module, &function, &options(args, &module)?);
    output::print(&explained.map_err(advised)?)
}

/// Returns the hashes of the modules that the given profiles are of.
fn profiled(args: &ExplainArgs) -> Result<Vec<[u8; 32]>> {
    let counted = args.profile.exact_unless_told().counted(args.budget.as_ref(), None)?;
    let interesting = counted.interesting.as_ref().map(|interesting| interesting.profile.module_hash);
    let weights = counted.weights.as_ref().map(|weights| weights.module_hash);
    let used = args.reoptimize.profile()?.map(|used| used.module_hash);
    Ok([interesting, weights, used].into_iter().flatten().collect())
}

/// Adds to an error which options would help.
fn advised(error: wprof_report::Error) -> anyhow::Error {
    match error.to_string() == explain::NO_DECISIONS {
        true => anyhow!("{error}: give --profile-use, and --profile off"),
        false => error.into(),
    }
}

/// Returns what is shown, and how the function is compiled.
fn options(args: &ExplainArgs, module: &Module) -> Result<Options> {
    let mut counted = args.profile.exact_unless_told().counted(args.budget.as_ref(), None)?;
    counted.weights = counted.weights.map(|weights| of_module(weights, module));
    counted.interesting = counted
        .interesting
        .map(|interesting| Interesting { profile: of_module(interesting.profile, module), ..interesting });
    ensure!(counted.across.is_none(), "only `wprof run` counts paths across calls: leave out --depth");
    let collection = match args.trace {
        Some(method) => {
            let (tracing, weights) = (Some(method.into()), counted.weights.clone());
            Collection { tracing, weights, references: args.addresses, ..Collection::default() }
        }
        None => counted.collection(),
    };
    let mut options = Options::collecting(collection);
    options.stage = args.stage.into();
    options.tier = args.tier.into();
    options.passes = args.passes.set();
    options.profile = args.reoptimize.profile()?.map(|used| of_module(used, module));
    options.policy = args.reoptimize.policy();
    options.full_names = are_names_full();
    Ok(options)
}

/// Returns the part of a component's profile that is of a module, or the profile itself if it has no such part.
fn of_module(profile: Arc<Profile>, module: &Module) -> Arc<Profile> {
    profile.of_module(|hash| module.has_hash(hash)).map_or(profile, Arc::new)
}
