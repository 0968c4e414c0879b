//! `wprof instrument`: rewrites a module so that it counts in any engine.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, anyhow, ensure};
use clap::{Args, ValueEnum, ValueHint};
use wprof::{Collect, EventModel, Module};
use wprof_instrument::{Collected, Error, EventKind, Options, Source, bulk_operations, javascript};
use wprof_profiler::Profile;

use super::run::collect::wanted::{CollectValue, What, wanted};
use crate::help;
use crate::{modules, output, progress, sizes};

/// The options for rewriting a module.
#[derive(Clone, Debug, Args)]
pub struct RewriteArgs {
    /// Count edges, paths, blocks, cct, flow, or events=KIND,…; separate several with commas
    ///
    /// They mean the same as in `wprof run --exact --collect`. Give only one of edges, paths and blocks.
    #[arg(long, value_parser = asked, value_name = "WHAT", default_value = "edges", help_heading = help::PROFILE)]
    collect: Selection,
    /// Record the sequence of all blocks that run instead of counting, for short runs
    ///
    /// The trace is the one that `wprof trace record` writes. It stays in the module's memory until `wprof collect`
    /// takes it.
    #[arg(long, help_heading = help::PROFILE, conflicts_with_all = ["collect", "exact_traps"])]
    trace: bool,
    /// Limit the memory for a trace; a full trace keeps the beginning of the run
    #[arg(long, value_name = "SIZE", value_parser = sizes::parse, default_value = "16M")]
    #[arg(help_heading = help::LIMITS, hide_short_help = true)]
    max_trace: u64,
    /// Keep counts exact even if a load, a store, a division or the like traps; takes more code
    ///
    /// Without it, counts are exact if the program ends itself, throws, executes `unreachable`, or traps in a function
    /// of the host.
    #[arg(long, help_heading = help::PROFILE)]
    exact_traps: bool,
    /// Limit the memory for calling contexts; beyond it, new contexts count by function only
    #[arg(long, value_name = "SIZE", value_parser = sizes::parse, default_value = "256M")]
    #[arg(help_heading = help::LIMITS, hide_short_help = true)]
    max_context_memory: u64,
    /// Put counters on the edges that ran least in this earlier profile of the module
    #[arg(long, value_parser = earlier, value_name = "PROFILE", value_hint = ValueHint::FilePath)]
    #[arg(help_heading = help::SPEED, hide_short_help = true)]
    weights: Option<Earlier>,
    /// With --collect paths: give cheap counters to the paths of this earlier profile of the module
    #[arg(long, value_parser = earlier_paths, value_name = "PROFILE", value_hint = ValueHint::FilePath)]
    #[arg(help_heading = help::PROFILE, hide_short_help = true, conflicts_with = "trace")]
    interesting: Option<Earlier>,
    /// Put counters after the program's memory, for hosts without multi-memory
    #[arg(long, help_heading = help::PROGRAM)]
    single_memory: bool,
}

/// An earlier profile.
#[derive(Clone, Debug)]
struct Earlier {
    path: PathBuf,
    profile: Arc<Profile>,
}

/// Reads the value of `--weights`.
fn earlier(path: &str) -> Result<Earlier, String> {
    Earlier::read(path, super::read_profile)
}

/// Reads the value of `--interesting`.
fn earlier_paths(path: &str) -> Result<Earlier, String> {
    Earlier::read(path, super::read_paths)
}

impl Earlier {
    fn read(path: &str, read: impl Fn(&Path) -> Result<Profile>) -> Result<Earlier, String> {
        let path = PathBuf::from(path);
        let profile = read(&path).map_err(|error| format!("{error:#}"))?;
        Ok(Earlier { path, profile: Arc::new(profile) })
    }
}

/// The counts that an option asks for.
#[derive(Clone, Debug)]
struct Selection {
    text: String,
    collected: Collected,
    contexts: bool,
    events: Vec<EventKind>,
}

/// Parses the names in a value of `--collect`.
fn known(text: &str) -> Result<CollectValue, String> {
    match wanted(text) {
        // The list of `wprof run` has more than a rewritten module counts.
        Err(_) if !text.contains("events=") => Err(KINDS.to_owned()),
        other => other,
    }
}

/// The kinds of counts of a rewritten module, for error messages.
const KINDS: &str = "a rewritten module counts edges, paths, blocks, cct, flow and events=KIND,…";

/// Parses the value of `--collect`.
fn asked(text: &str) -> Result<Selection, String> {
    let mut code: Vec<Collected> = Vec::new();
    let (mut contexts, mut events) = (false, Vec::new());
    for what in known(text)?.0 {
        match what {
            What::Code(Collect::Edges) => code.push(Collected::Edges),
            What::Code(Collect::Paths) => code.push(Collected::Paths),
            What::Code(Collect::Blocks) => code.push(Collected::Blocks),
            What::Flow => code.push(Collected::Flow),
            What::Contexts { merges_sites: false } => contexts = true,
            What::Events(kinds) => {
                events = kinds.iter().map(event_kind).collect();
            }
            _ => {
                return Err(KINDS.to_owned());
            }
        }
    }
    // Flow includes paths.
    if code.contains(&Collected::Flow) {
        code.retain(|what| *what != Collected::Paths);
    }
    let collected = match code[..] {
        [] => Collected::Nothing,
        [only] => only,
        _ => return Err("edges, paths and blocks cannot be counted together: give one of them".to_owned()),
    };
    let contexts = contexts || collected == Collected::Flow;
    Ok(Selection { text: text.to_owned(), collected, contexts, events })
}

/// Converts a kind of events.
fn event_kind(model: &EventModel) -> EventKind {
    let EventModel { name, entry, back_edge, .. } = model;
    let lengths = bulk_operations().iter().map(|op| model.per_unit(op)).collect();
    let costs = model.costs().to_vec();
    EventKind { name: name.clone(), entry: *entry, back_edge: *back_edge, costs, lengths }
}

impl RewriteArgs {
    /// Returns the options of the rewriter for a module; profiles of others are left out.
    pub fn options(&self, module: &[u8]) -> Options<'_> {
        let [weights, interesting] = [&self.weights, &self.interesting].map(|earlier| {
            let earlier = earlier.as_ref().map(|earlier| &*earlier.profile);
            earlier.filter(|earlier| is_of(earlier, module))
        });
        Options { weights, interesting, single_memory: self.single_memory, ..self.counting() }
    }

    /// Checks that options do not contradict each other.
    ///
    /// # Errors
    /// Returns an error that says which options to change.
    pub fn check(&self) -> Result<()> {
        let has_paths = self.collect.collected == Collected::Paths;
        ensure!(self.interesting.is_none() || has_paths, "{}", Error::InterestingWithoutPaths);
        Ok(())
    }

    /// Returns the options that say what is counted.
    fn counting(&self) -> Options<'_> {
        let memory = u32::try_from(self.max_context_memory).unwrap_or(u32::MAX);
        if self.trace {
            let trace_memory = u32::try_from(self.max_trace.max(1)).unwrap_or(u32::MAX);
            return Options { collected: Collected::Trace, trace_memory, ..Options::default() };
        }
        Options {
            collected: self.collect.collected,
            exact_traps: self.exact_traps,
            contexts: self.collect.contexts.then_some(memory),
            events: &self.collect.events,
            ..Options::default()
        }
    }

    /// Reports whether a trace is to be written.
    pub fn is_trace(&self) -> bool {
        self.trace
    }

    /// Returns the options as arguments of `wprof instrument`, for any module and in any folder.
    pub fn to_args(&self) -> Vec<String> {
        let mut all = self.counting_args();
        let earlier = [("weights", &self.weights), ("interesting", &self.interesting)];
        for (option, Earlier { path, .. }) in
            earlier.iter().filter_map(|(option, earlier)| Some((option, earlier.as_ref()?)))
        {
            let path = path.canonicalize().unwrap_or_else(|_| path.clone());
            all.push(format!("--{option}={}", path.display()));
        }
        let is_any = self.weights.is_some() || self.interesting.is_some();
        all.extend(is_any.then(|| "--any-weights".to_owned()));
        all.extend(self.single_memory.then(|| "--single-memory".to_owned()));
        all
    }

    fn counting_args(&self) -> Vec<String> {
        if self.trace {
            return vec!["--trace".to_owned(), format!("--max-trace={}", self.max_trace)];
        }
        let traps = self.exact_traps.then(|| "--exact-traps".to_owned());
        let memory = format!("--max-context-memory={}", self.max_context_memory);
        [format!("--collect={}", self.collect.text), memory].into_iter().chain(traps).collect()
    }

    /// Reports whether counters are to lie behind the program's memory in any host.
    pub fn has_single_memory(&self) -> bool {
        self.single_memory
    }
}

const EXAMPLES: &str = "\
Examples:
  wprof instrument app.wasm -o dist/app.wasm     count edges wherever app.wasm runs
  wprof instrument --collect paths,cct app.wasm -o dist/app.wasm
  wprof instrument --trace app.wasm -o dist/app.wasm     keep the sequence of blocks that run
  wprof instrument --js dist/wprof.js            what hands the counters over in a page or in Node
  wprof collect -- node app.js                   or all of it in one command";

/// The placement of counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Plan {
    /// In the fewest places, where they run least often
    Fewest,
    /// In each block: the simplest way, for comparison
    EveryBlock,
}

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, after_long_help = format!("\
The new module does the same as the original and counts its execution, in any engine. It imports nothing new. It \
exports its counters; `wprof collect` turns them into the profile of the original module that `wprof run --exact` \
would take of the same run. Names, debug information and other custom sections stay; `wprof.offsets` says where code \
was inserted.

With cct, flow or a trace the module also exports two variables, wprof_current and wprof_slot. If an error passes \
through the module and the host continues, the host must set them to their values before the call. Otherwise later \
calls may count below the host function that failed.

Counters are in a memory of their own. Hosts that allow only one memory per module, such as Node before version 22 and \
Safari, need --single-memory: it puts the counters after the program's memory. The program sees its memory as before; \
the host sees a larger one.

{EXAMPLES}"))]
pub struct InstrumentArgs {
    #[command(flatten)]
    rewrite: RewriteArgs,
    /// Leave --weights and --interesting out if they are of another module
    #[arg(long, hide = true)]
    any_weights: bool,
    /// Choose where counters are
    ///
    /// With `every-block`, counts of blocks are not exact where functions end by traps, throws and exits.
    #[arg(long, value_enum, default_value = "fewest", help_heading = help::SPEED, hide_short_help = true)]
    plan: Plan,
    /// Write the JavaScript that reads the counters out
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = help::OUTPUT)]
    js: Option<PathBuf>,
    /// Write the new module to this file
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = help::OUTPUT)]
    #[arg(requires = "module")]
    output: Option<PathBuf>,
    /// The module (.wasm or .wat), or a component (.wasm), all of whose modules then count
    #[arg(value_name = "MODULE", required_unless_present = "js", requires = "output")]
    #[arg(value_hint = ValueHint::FilePath)]
    module: Option<PathBuf>,
}

pub fn execute(args: &InstrumentArgs) -> Result<()> {
    args.rewrite.check()?;
    if let Some(path) = &args.js {
        output::write_file(path, |out| out.write_all(javascript().as_bytes()))?;
    }
    let (Some(module), Some(output)) = (&args.module, &args.output) else { return Ok(()) };
    let bytes = binary(module)?;
    let mut options = args.rewrite.options(&bytes);
    let [weights, interesting] = [&args.rewrite.weights, &args.rewrite.interesting].map(Option::is_some);
    for (option, is_given, is_used) in [
        ("--weights", weights, options.weights.is_some()),
        ("--interesting", interesting, options.interesting.is_some()),
    ] {
        ensure!(
            args.any_weights || is_given == is_used,
            "the profile of {option} belongs to another module than {}: give a profile of this module",
            module.display()
        );
    }
    if args.plan == Plan::EveryBlock {
        ensure!(
            options.collected == Collected::Blocks,
            "--plan every-block counts only blocks: add --collect blocks, or leave it out"
        );
        options.collected = Collected::EveryBlock;
    }
    let instrumenting = format!("instrumenting {}", modules::short(module));
    let new = progress::during(&instrumenting, || wprof_instrument::instrument(&bytes, options));
    let new = new.map_err(|error| anyhow!("{}: {error}", module.display()))?;
    output::write_file(output, |out| out.write_all(&new))
}

/// Reports whether a profile is of a module, or of one in a component. What is no module has its own error later.
fn is_of(profile: &Profile, bytes: &[u8]) -> bool {
    wprof_instrument::modules(bytes).map_or(true, |modules| {
        let is_its = |source: &Source<'_>| {
            let of_parts = profile.parts.iter().map(|part| &part.module_hash);
            of_parts.chain([&profile.module_hash]).any(|hash| source.has_hash(hash))
        };
        modules.iter().any(|module| Source::new(module).map_or(true, |source| is_its(&source)))
    })
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
