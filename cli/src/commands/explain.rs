//! `wprof explain`: how a function is compiled.

use std::path::PathBuf;

use anyhow::Result;
use clap::{Args, ValueEnum};
use wprof::Module;
use wprof_jit::abi::VmLayout;
use wprof_jit::cfg::{self, Cfg};
use wprof_jit::compile::{Compiler, CompilerOptions, ModuleEnv};
use wprof_jit::graph::BlockGraph;
use wprof_jit::plan::{Instrumentation, plan};

use super::run::ProfileArgs;
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
}

#[derive(Debug, Args)]
#[command(after_help = "\
Stages:
  cfg    basic blocks over the bytecode
  plan   which edges carry counters: the chords of a spanning tree
  graph  copies of blocks, with probes on their wires: what is compiled
  clif   Cranelift's code, before it is optimised
  asm    machine code

Shown is the optimised version. Addresses in machine code are those of no real run: code slots start at 0, and \
counters at the first of the module.

Examples:
  wprof explain json.wasm parse_value   where its counters are
  wprof explain json.wasm parse_value --stage asm
  wprof explain json.wasm 17 --stage asm --profile off
  wprof explain json.wasm 17 --stage graph --collect blocks")]
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
    #[command(flatten)]
    profile: ProfileArgs,
}

pub fn execute(args: &ExplainArgs) -> Result<()> {
    let module = modules::load(&modules::plain_engine()?, &args.module)?;
    let function = names::find(&names::of_module(&module), &args.function)?;
    let cfg = cfg::build(module.info(), function.index)?;
    let plan = plan(&cfg, args.profile.instrumentation());
    let text = match args.stage {
        Stage::Cfg => cfg.to_string(),
        Stage::Plan => plan::text(&cfg, &plan, &function.shown()),
        Stage::Graph => graph(&cfg, args.profile.instrumentation()).to_string(),
        Stage::Clif | Stage::Asm => code(&module, &cfg, args)?,
    };
    output::print(&text)
}

/// What `wprof run` compiles.
fn graph(cfg: &Cfg, instrumentation: Instrumentation) -> BlockGraph {
    let mut graph = BlockGraph::instrumented(cfg, &plan(cfg, instrumentation), 0);
    if instrumentation != Instrumentation::Off {
        graph.add_polls(cfg);
    }
    graph
}

fn code(module: &Module, cfg: &Cfg, args: &ExplainArgs) -> Result<String> {
    let info = module.info();
    let layout = VmLayout::new(info);
    let type_ids: Vec<u32> = (0..info.types.len() as u32).collect();
    let env = ModuleEnv { info, layout: &layout, type_ids: &type_ids, events: &[], slots: 0 };
    let compiler = Compiler::new(CompilerOptions::default())?;
    let graph = graph(cfg, args.profile.instrumentation());
    Ok(match args.stage {
        Stage::Clif => compiler.clif(&env, cfg, &graph)?,
        _ => compiler.disassemble(&env, cfg, &graph)?,
    })
}
