//! `wprof explain`: how a function is compiled.

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use clap::{Args, ValueEnum};
use wprof::Module;
use wprof_jit::abi::VmLayout;
use wprof_jit::compile::{Compiler, CompilerOptions, ModuleEnv, Tier};
use wprof_jit::graph::BlockGraph;
use wprof_jit::plan::{Collection, FunctionPlan};
use wprof_jit::reoptimize::{Advice, Reoptimized, Reoptimizer};

use super::run::collect::Limit;
use super::run::{COLLECT_HELP, PassesArgs, ProfileArgs, ReoptimizeArgs, decided};
use super::trace::Method;
use crate::render::plan;
use crate::{modules, names, output};

/// The forms that a function takes on its way to machine code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Stage {
    Cfg,
    Plan,
    Graph,
    Clif,
    Asm,
    Decisions,
}

/// How much is done for the code that is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ShownTier {
    Baseline,
    Optimized,
}

impl From<ShownTier> for Tier {
    fn from(tier: ShownTier) -> Tier {
        match tier {
            ShownTier::Baseline => Tier::Baseline,
            ShownTier::Optimized => Tier::Optimized,
        }
    }
}

#[derive(Debug, Args)]
#[command(after_help = format!("\
Stages:
  cfg    basic blocks over the bytecode
  plan   which edges are in the spanning tree, which chords carry counters, how paths are
         numbered, where events add to their sums, where the budget is checked, and what goes
         into the trace
  graph  copies of blocks, with probes on their wires: what is compiled
  clif   Cranelift's code, before it is optimised
  asm    machine code
  decisions  what a profile leads to (`--profile-use`), and what that is expected to save

{COLLECT_HELP}

Shown is the optimised version, or baseline code with `--tier baseline`. Addresses in machine code are those of no real run: code slots start at 0, and \
counters at the first of the module.

Examples:
  wprof explain json.wasm parse_value   where its counters are
  wprof explain json.wasm parse_value --stage asm
  wprof explain json.wasm 17 --stage asm --profile off
  wprof explain json.wasm 17 --stage asm --profile off --tier baseline   what runs first
  wprof explain json.wasm 17 --stage asm --profile off --passes -copies   without a pass
  wprof explain json.wasm 17 --collect blocks --collect events=instructions,loads
  wprof explain json.wasm 17 --weights f.wprof   with the counts of a run for weights
  wprof explain json.wasm 17 --budget fuel=1000000   where it is checked
  wprof explain json.wasm 17 --trace best --stage asm   as `wprof trace record` compiles it
  wprof explain json.wasm 17 --profile off --profile-use f.wprof --stage decisions
  wprof explain json.wasm 17 --collect paths
  wprof explain json.wasm 17 --stage graph --collect all-blocks"))]
pub struct ExplainArgs {
    /// The module, binary or text
    #[arg(value_name = "MODULE")]
    module: PathBuf,
    /// Name, part of a name, or index of a function
    #[arg(value_name = "FUNC")]
    function: String,
    /// What to show, see below
    #[arg(long, value_enum, value_name = "STAGE", default_value = "plan")]
    stage: Stage,
    /// Graph and code of this tier
    #[arg(long, value_enum, value_name = "TIER", default_value = "optimized")]
    tier: ShownTier,
    /// As it is traced, by this method; nothing is counted then
    #[arg(long, value_enum, value_name = "METHOD")]
    trace: Option<Method>,
    /// With data references in the trace
    #[arg(long, requires = "trace")]
    addresses: bool,
    /// As it is when there is a budget
    #[arg(long, value_name = "KIND=N", value_parser = Limit::parse, conflicts_with = "trace")]
    budget: Option<Limit>,
    #[command(flatten)]
    profile: ProfileArgs,
    #[command(flatten)]
    reoptimize: ReoptimizeArgs,
    #[command(flatten)]
    passes: PassesArgs,
}

pub fn execute(args: &ExplainArgs) -> Result<()> {
    let module = modules::load(&modules::plain_engine()?, &args.module)?;
    let function = names::find(&names::of_module(&module), &args.function)?;
    let counted = args.profile.exact_unless_told().counted(args.budget.as_ref(), None)?;
    let interesting = counted.interesting.as_ref().map(|interesting| &interesting.profile);
    let used = args.reoptimize.profile()?;
    let profiles = [
        (counted.weights.as_ref(), "weights are a profile"),
        (interesting, "interesting paths are a profile"),
        (used.as_ref(), "earlier profile is one"),
    ];
    for (profile, what) in profiles {
        ensure!(
            profile.is_none_or(|profile| profile.module_hash == module.hash()),
            "the {what} of another module, or of another build of it: take one of this module"
        );
    }
    let collection = match args.trace {
        Some(method) => {
            let (tracing, weights) = (Some(method.into()), counted.weights.clone());
            Collection { tracing, weights, references: args.addresses, ..Collection::default() }
        }
        None => counted.collection(),
    };
    let plan = FunctionPlan::new(module.info(), function.index, &collection, 0)?;
    let text = match args.stage {
        Stage::Cfg => plan.cfg.to_string(),
        Stage::Plan => plan::text(module.info(), &plan, &collection, &function.shown()),
        Stage::Graph => graph(args, &module, &plan, &collection)?.to_string(),
        Stage::Decisions => decisions(args, &module, &plan, &collection)?,
        Stage::Clif | Stage::Asm => {
            let graph = graph(args, &module, &plan, &collection)?;
            code(args, &module, &plan, &collection, &graph)?
        }
    };
    output::print(&text)
}

/// A compiler with the options of `wprof run`, which can be interrupted wherever anything is collected.
fn compiler(args: &ExplainArgs, collection: &Collection) -> Result<Compiler> {
    let passes = args.passes.set();
    let options = CompilerOptions { polls: !collection.is_off(), passes, ..CompilerOptions::default() };
    Ok(Compiler::new(options.collecting(collection))?)
}

/// The graph of baseline code, or of the best version there would be.
fn graph(
    args: &ExplainArgs,
    module: &Module,
    plan: &FunctionPlan,
    collection: &Collection,
) -> Result<BlockGraph> {
    let better = match args.tier {
        ShownTier::Baseline => None,
        ShownTier::Optimized => better(args, module, plan, collection)?,
    };
    Ok(match better {
        Some(better) => better.graph,
        None => compiler(args, collection)?.version(plan, args.tier.into()),
    })
}

/// What a profile leads to, if one is to be used and knows the function.
fn better(
    args: &ExplainArgs,
    module: &Module,
    plan: &FunctionPlan,
    collection: &Collection,
) -> Result<Option<Reoptimized>> {
    let (Some(profile), Some(policy), true) =
        (args.reoptimize.profile()?, args.reoptimize.policy(), collection.is_off())
    else {
        return Ok(None);
    };
    let (info, advice) = (module.info(), Advice::new(&profile));
    let by = Reoptimizer { info, advice: &advice, policy: &policy, collection };
    Ok(compiler(args, collection)?.reoptimized(plan, &by)?)
}

/// What is decided on the way to the best version, a line each.
fn decisions(
    args: &ExplainArgs,
    module: &Module,
    plan: &FunctionPlan,
    collection: &Collection,
) -> Result<String> {
    let better = better(args, module, plan, collection)?;
    let better = better.context(
        "nothing is decided without a profile that knows the function: give --profile-use, and --profile off",
    )?;
    let func = plan.cfg.func;
    Ok(better.decisions.iter().map(|decision| decided(module, func, decision) + "\n").collect())
}

fn code(
    args: &ExplainArgs,
    module: &Module,
    plan: &FunctionPlan,
    collection: &Collection,
    graph: &BlockGraph,
) -> Result<String> {
    let (info, events) = (module.info(), &collection.events);
    let layout = VmLayout::new(info);
    let type_ids: Vec<u32> = (0..info.types.len() as u32).collect();
    let env =
        ModuleEnv { info, layout: &layout, type_ids: &type_ids, events, slots: 0, dispatch_cells: Some(0) };
    let compiler = compiler(args, collection)?;
    Ok(match args.stage {
        Stage::Clif => compiler.clif(&env, &plan.cfg, graph, args.tier.into())?,
        _ => compiler.disassemble(&env, &plan.cfg, graph, args.tier.into())?,
    })
}
