//! `wprof explain`: shows how a function is compiled.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use clap::{Args, ValueEnum, ValueHint};
use wprof::Module;
use wprof_jit::abi::VmLayout;
use wprof_jit::compile::{Compiler, CompilerOptions, ModuleEnv, Tier};
use wprof_jit::graph::BlockGraph;
use wprof_jit::plan::{Collection, FunctionPlan};
use wprof_jit::reoptimize::{Advice, Decision, Reoptimized, Reoptimizer};
use wprof_report::inlined::{Inlined, Place};
use wprof_report::names::Named;
use wprof_report::render::numbers::count_of;
use wprof_report::render::plan;
use wprof_report::{inlined, names};

use super::run::collect::Limit;
use super::run::{COLLECT_HELP, PassesArgs, ProfileArgs, ReoptimizeArgs, decided};
use super::trace::Method;
use crate::help;
use crate::{modules, output};

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
    /// What a profile leads to (with --profile-use), and the expected gain
    Decisions,
}

/// How much is done for the code that is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ShownTier {
    /// Code that is compiled fastest, and runs first
    Baseline,
    /// The best version
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

/// The number of functions that are explained for one that is inlined into them; of more there is only a list.
const MOST_EXPLAINED: usize = 8;

/// The number of offsets that are listed for each function.
const MOST_STARTS: usize = 4;

const EXAMPLES: &str = "\
Examples:
  wprof explain json.wasm parse_value                       where its counters are
  wprof explain json.wasm parse_value --stage asm
  wprof explain json.wasm 17 --stage asm --profile off      plain machine code";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, after_long_help = format!("\
The optimized version is shown, or baseline code with `--tier baseline`. Addresses in machine code are \
not those of a real run: code slots start at 0, and counters at the first of the module.

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
    /// The module (.wasm or .wat)
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
    /// Show the code for traces by this method, which counts nothing
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
    profile: ProfileArgs,
    #[command(flatten)]
    reoptimize: ReoptimizeArgs,
    #[command(flatten)]
    passes: PassesArgs,
}

pub fn execute(args: &ExplainArgs) -> Result<()> {
    let module = modules::load(&modules::plain_engine()?, &args.module)?;
    let functions = names::of_module(&module);
    if let Some(found) = inlined::find(&module, &functions, &args.function)? {
        return explain_inlined(args, &module, &functions, &found);
    }
    let function = names::find(&functions, &args.function)?;
    output::print(&explained(args, &module, &function)?)
}

/// Explains the functions into which a source function is inlined.
fn explain_inlined(args: &ExplainArgs, module: &Module, functions: &[Named], found: &Inlined) -> Result<()> {
    let mut hosts: BTreeMap<u32, Vec<&Place>> = BTreeMap::new();
    for place in &found.places {
        hosts.entry(place.function).or_default().push(place);
    }
    let mut text = format!("{}: inlined into {}\n", found.name, count_of(hosts.len() as u64, "function"));
    for (index, places) in &hosts {
        let Some(function) = functions.iter().find(|function| function.index == *index) else { continue };
        let instructions: usize = places.iter().map(|place| place.offsets.len()).sum();
        let starts = places.iter().filter_map(|place| place.offsets.first());
        let starts: Vec<String> = starts.take(MOST_STARTS).map(|start| format!("{start:#x}")).collect();
        let more = if places.len() > MOST_STARTS { ", …" } else { "" };
        let instructions = count_of(instructions as u64, "instruction");
        let name = function.shown();
        text += &format!("  {index:>6}  {name}: {instructions}, from {}{more} on\n", starts.join(", "));
    }
    if hosts.len() > MOST_EXPLAINED {
        text += "give the index of one function to explain it\n";
        return output::print(&text);
    }
    for function in functions.iter().filter(|function| hosts.contains_key(&function.index)) {
        text += &format!("\n{}", explained(args, module, function)?);
    }
    output::print(&text)
}

/// Returns the text about one function.
fn explained(args: &ExplainArgs, module: &Module, function: &Named) -> Result<String> {
    let counted = args.profile.exact_unless_told().counted(args.budget.as_ref(), None)?;
    ensure!(counted.across.is_none(), "--depth is for `wprof run`: leave it out");
    let interesting = counted.interesting.as_ref().map(|interesting| &interesting.profile);
    let used = args.reoptimize.profile()?;
    let profiles = [
        (counted.weights.as_ref(), "weights are a profile"),
        (interesting, "interesting paths are a profile"),
        (used.as_ref(), "earlier profile is one"),
    ];
    for (profile, what) in profiles {
        ensure!(
            profile.is_none_or(|profile| module.has_hash(&profile.module_hash)),
            "the {what} of another module, or of another build of it: give one of this module"
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
    Ok(match args.stage {
        Stage::Cfg => plan.cfg.to_string(),
        Stage::Plan => plan::text(module.info(), &plan, &collection, &function.shown()),
        Stage::Graph => version(args, module, &plan, &collection)?.0.to_string(),
        Stage::Decisions => decisions(args, module, &plan, &collection)?,
        Stage::Clif | Stage::Asm => {
            let (graph, _) = version(args, module, &plan, &collection)?;
            code(args, module, &plan, &collection, &graph)?
        }
    })
}

/// Creates a compiler with the options of `wprof run`; its code can be interrupted if anything is collected.
fn compiler(args: &ExplainArgs, collection: &Collection) -> Result<Compiler> {
    let passes = args.passes.set();
    let options = CompilerOptions { polls: !collection.is_off(), passes, ..CompilerOptions::default() };
    Ok(Compiler::new(options.collecting(collection))?)
}

/// Returns the graph of baseline code, or of the best version that would be compiled, with the decisions behind it.
fn version(
    args: &ExplainArgs,
    module: &Module,
    plan: &FunctionPlan,
    collection: &Collection,
) -> Result<(BlockGraph, Option<Vec<Decision>>)> {
    let compiler = compiler(args, collection)?;
    let tier = args.tier.into();
    if tier == Tier::Baseline {
        return Ok((compiler.version(plan, tier), None));
    }
    // Only its code tells which loops cannot be vectorised.
    let settled = with_env(module, collection, |env| {
        compiler.settled(env, plan, tier, |plan| {
            Ok::<_, anyhow::Error>(match better(args, module, plan, collection)? {
                Some(Reoptimized { graph, decisions }) => (graph, Some(decisions)),
                None => (compiler.version(plan, tier), None),
            })
        })
    });
    let (_, graph, decisions) = settled?;
    Ok((graph, decisions))
}

/// Returns the improvements that a profile leads to, if one is given and knows the function.
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

/// Describes the decisions on the way to the best version, one per line.
fn decisions(
    args: &ExplainArgs,
    module: &Module,
    plan: &FunctionPlan,
    collection: &Collection,
) -> Result<String> {
    let (_, decisions) = version(args, module, plan, collection)?;
    let decisions = decisions.context(
        "decisions need a profile in which the function ran: give --profile-use, and --profile off",
    )?;
    let func = plan.cfg.func;
    Ok(decisions.iter().map(|decision| decided(module, func, decision) + "\n").collect())
}

/// Calls `with` with what code of a module depends on besides its bytes.
fn with_env<T>(module: &Module, collection: &Collection, with: impl FnOnce(&ModuleEnv<'_>) -> T) -> T {
    let (info, events) = (module.info(), &collection.events);
    let layout = VmLayout::new(info);
    let type_ids: Vec<u32> = (0..info.types.len()).collect();
    let env =
        ModuleEnv { info, layout: &layout, type_ids: &type_ids, events, slots: 0, dispatch_cells: Some(0) };
    with(&env)
}

fn code(
    args: &ExplainArgs,
    module: &Module,
    plan: &FunctionPlan,
    collection: &Collection,
    graph: &BlockGraph,
) -> Result<String> {
    let compiler = compiler(args, collection)?;
    with_env(module, collection, |env| {
        Ok(match args.stage {
            Stage::Clif => compiler.clif(env, &plan.cfg, graph, args.tier.into())?,
            _ => compiler.disassemble(env, &plan.cfg, graph, args.tier.into())?,
        })
    })
}
