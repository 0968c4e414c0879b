//! Explanations of a function's compilation: its control-flow graph, its counters, its code, and the decisions by a profile.

use std::collections::BTreeMap;
use std::sync::Arc;

use wprof::{Config, Decision, Module, PassSet, Policy};
use wprof_jit::CompileError;
use wprof_jit::abi::VmLayout;
use wprof_jit::compile::{Compiler, CompilerOptions, ModuleEnv, Tier as CompilerTier};
use wprof_jit::graph::BlockGraph;
use wprof_jit::plan::{Collection, FunctionPlan};
use wprof_jit::reoptimize::{Advice, Reoptimized, Reoptimizer};
use wprof_profiler::Profile;

use crate::error::{Context, Error, Result, ensure};
use crate::inlined::{Inlined, Place};
use crate::names::Named;
use crate::program::Program;
use crate::render::numbers::count_of;
use crate::render::plan;
use crate::{fitted_name, inlined, names};

/// The forms that a function takes on its way to machine code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stage {
    /// The control-flow graph: basic blocks over the bytecode.
    Cfg,
    /// The spanning tree, its chords and their counters, path numbers, events, budget checks, trace bits.
    #[default]
    Plan,
    /// The block graph that is compiled: copies of blocks with probes.
    Graph,
    /// Cranelift's intermediate code, before its optimizer.
    Clif,
    /// Machine code. Code slots start at 0, and counters at the first of the module.
    Asm,
    /// The decisions by [`Options::profile`], and the expected gain.
    Decisions,
}

/// The tier of the code that is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Tier {
    /// Code that is compiled fastest, and runs first.
    Baseline,
    /// The best version.
    #[default]
    Optimized,
}

impl Tier {
    fn of_compiler(self) -> CompilerTier {
        match self {
            Tier::Baseline => CompilerTier::Baseline,
            Tier::Optimized => CompilerTier::Optimized,
        }
    }
}

/// The stage of a function that is shown, and the options of its compilation.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Options {
    /// The stage to show.
    pub stage: Stage,
    /// The tier of the graph and the code.
    pub tier: Tier,
    /// The passes of the compiler.
    pub passes: PassSet,
    /// An earlier profile of the module, by which code that counts nothing is made better.
    pub profile: Option<Arc<Profile>>,
    /// The policy for optimizations by that profile; without one there are none.
    pub policy: Option<Policy>,
    /// Whether names are shown in full.
    pub full_names: bool,
    /// The counts of the code.
    collection: Collection,
}

impl Options {
    /// Creates the options for code that counts what an engine of this configuration counts.
    ///
    /// # Errors
    /// Returns an error if no engine can have this configuration.
    pub fn new(config: &Config) -> Result<Self> {
        Ok(Self::collecting(config.collection()?))
    }

    /// Creates the options for code that counts this.
    #[doc(hidden)]
    pub fn collecting(collection: Collection) -> Self {
        Self {
            stage: Stage::default(),
            tier: Tier::default(),
            passes: PassSet::default(),
            profile: None,
            policy: Some(Policy::default()),
            full_names: false,
            collection,
        }
    }
}

/// The number of functions that are explained for one that is inlined into them; of more there is only a list.
const MOST_EXPLAINED: usize = 8;

/// The number of offsets that are listed for each function.
const MOST_STARTS: usize = 4;

/// Explains the function that `asked` names: by index, by its whole name, or by a part that only one name has. For a source
/// function that is inlined everywhere, the functions that contain it are explained.
///
/// # Errors
/// Returns an error if no function or several have the name, if it exceeds a limit of the compiler, if a profile is of
/// another module, or if there are no decisions to show.
pub fn function(module: &Module, asked: &str, options: &Options) -> Result<String> {
    names::shown_in_full(options.full_names, || {
        let functions = names::of_module(module);
        if let Some(found) = inlined::find(&Program::from(module), &functions, asked)? {
            return explain_inlined(options, module, &functions, &found);
        }
        let function = names::find(&functions, asked)?;
        explained(options, module, &function)
    })
}

/// Describes a decision on the way to a better version of function `func`, and its place.
pub fn decision(module: &Module, func: u32, decision: &Decision) -> String {
    let name = |func| names::shown(func, module.func_name(func));
    let place = if decision.func == func { String::new() } else { format!(" in {}", name(decision.func)) };
    format!("{:#x}{place}: {}", decision.offset, decision.verdict.named(name))
}

/// Explains the functions into which a source function is inlined.
fn explain_inlined(
    options: &Options,
    module: &Module,
    functions: &[Named],
    found: &Inlined,
) -> Result<String> {
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
        return Ok(text);
    }
    for function in functions.iter().filter(|function| hosts.contains_key(&function.index)) {
        text += &format!("\n{}", explained(options, module, function)?);
    }
    Ok(text)
}

/// Returns the text about one function.
fn explained(options: &Options, module: &Module, function: &Named) -> Result<String> {
    let collection = &options.collection;
    let interesting = collection.interesting.as_ref().map(|interesting| &interesting.profile);
    let profiles = [
        (collection.weights.as_ref(), "weights belong to"),
        (interesting, "interesting paths belong to"),
        (options.profile.as_ref(), "earlier profile belongs to"),
    ];
    for (profile, what) in profiles {
        ensure!(
            profile.is_none_or(|profile| module.has_hash(&profile.module_hash)),
            "the {what} another module or another build: give a profile of this module"
        );
    }
    let plan = FunctionPlan::new(module.info(), function.index, collection, 0).map_err(Error::told)?;
    let explained = Explained { options, module, plan: &plan };
    Ok(match options.stage {
        Stage::Cfg => plan.cfg.to_string(),
        Stage::Plan => plan::text(module.info(), &plan, collection, &title(&function.shown(), options)),
        Stage::Graph => explained.version()?.0.to_string(),
        Stage::Decisions => explained.decisions()?,
        Stage::Clif | Stage::Asm => explained.code()?,
    })
}

/// The width of a name that leaves room for what is said of the function behind it.
const NAME_WIDTH: usize = 60;

/// Returns a name with which a line begins, cut unless names are shown in full.
fn title(name: &str, options: &Options) -> String {
    if options.full_names { name.to_owned() } else { fitted_name::cut(name, NAME_WIDTH) }
}

/// A function that is compiled to be looked at.
#[derive(Clone, Copy)]
struct Explained<'a> {
    options: &'a Options,
    module: &'a Module,
    plan: &'a FunctionPlan,
}

impl Explained<'_> {
    fn collection(&self) -> &Collection {
        &self.options.collection
    }

    /// Creates a compiler with the options of an engine; its code can be interrupted if anything is collected.
    fn compiler(&self) -> Result<Compiler> {
        let (passes, polls) = (self.options.passes.clone(), !self.collection().is_off());
        let options = CompilerOptions { polls, passes, ..CompilerOptions::default() };
        Compiler::new(options.collecting(self.collection())).map_err(Error::told)
    }

    /// Returns the graph of baseline code, or of the best version that would be compiled, with the decisions behind it.
    fn version(&self) -> Result<(BlockGraph, Option<Vec<Decision>>)> {
        let (compiler, tier, plan) = (self.compiler()?, self.options.tier.of_compiler(), self.plan);
        if tier == CompilerTier::Baseline {
            return Ok((compiler.version(plan, tier), None));
        }
        // Only its code tells which loops cannot be vectorised.
        let settled = self.with_env(|env| {
            compiler.settled(env, plan, tier, |plan| {
                Ok::<_, CompileError>(match self.better(&compiler, plan)? {
                    Some(Reoptimized { graph, decisions }) => (graph, Some(decisions)),
                    None => (compiler.version(plan, tier), None),
                })
            })
        });
        let (_, graph, decisions) = settled.map_err(Error::told)?;
        Ok((graph, decisions))
    }

    /// Returns the improvements that a profile leads to, if one is given and knows the function.
    fn better(&self, compiler: &Compiler, plan: &FunctionPlan) -> Result<Option<Reoptimized>, CompileError> {
        let Options { profile: Some(profile), policy: Some(policy), .. } = self.options else {
            return Ok(None);
        };
        if !self.collection().is_off() {
            return Ok(None);
        }
        let (info, advice) = (self.module.info(), Advice::new(profile));
        let by = Reoptimizer { info, advice: &advice, policy, collection: self.collection() };
        compiler.reoptimized(plan, &by)
    }

    /// Describes the decisions on the way to the best version, one per line.
    fn decisions(&self) -> Result<String> {
        let (_, decisions) = self.version()?;
        let decisions = decisions.context(NO_DECISIONS)?;
        let func = self.plan.cfg.func;
        Ok(decisions.iter().map(|made| decision(self.module, func, made) + "\n").collect())
    }

    /// Calls `with` with what code of a module depends on besides its bytes.
    fn with_env<T>(&self, with: impl FnOnce(&ModuleEnv<'_>) -> T) -> T {
        let (info, events) = (self.module.info(), &self.collection().events);
        let layout = VmLayout::new(info);
        let type_ids: Vec<u32> = (0..info.types.len()).collect();
        let env = ModuleEnv {
            info,
            layout: &layout,
            type_ids: &type_ids,
            events,
            slots: 0,
            dispatch_cells: Some(0),
        };
        with(&env)
    }

    fn code(&self) -> Result<String> {
        let (graph, _) = self.version()?;
        let (compiler, cfg, tier) = (self.compiler()?, &self.plan.cfg, self.options.tier.of_compiler());
        self.with_env(|env| match self.options.stage {
            Stage::Clif => compiler.clif(env, cfg, &graph, tier).map_err(Error::told),
            _ => compiler.disassemble(env, cfg, &graph, tier).map_err(Error::told),
        })
    }
}

/// The error of decisions that nothing led to.
#[doc(hidden)]
pub const NO_DECISIONS: &str = "decisions need a profile in which the function ran";
