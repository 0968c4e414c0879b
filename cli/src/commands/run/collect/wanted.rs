//! The values of `--collect`.

use std::ffi::OsStr;
use std::sync::LazyLock;

use crate::cost_model;
use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use clap::{Arg, Command};
use wprof::{Collect, EventModel};
use wprof_jit::events::BUILT_IN;

/// One thing to count.
#[derive(Clone, Debug)]
pub enum What {
    /// The execution counts of code.
    Code(Collect),
    /// The totals of these kinds of events.
    Events(Vec<EventModel>),
    /// Calling contexts, by call site or only by function.
    Contexts {
        /// Whether the call sites of one callee in one caller are merged.
        merges_sites: bool,
    },
    /// The paths in each calling context.
    Flow,
    /// The ticks of the time-stamp counter.
    Cycles,
    /// The misses of a simulated cache.
    Cache,
    /// The energy that accesses take by the levels of a simulated cache.
    Energy,
    /// The mispredictions of a simulated branch predictor.
    Branches,
    /// The allocations, by calling context.
    Allocations,
    /// The callees of each indirect call.
    Callees,
}

/// The value of one `--collect` option.
#[derive(Clone, Debug)]
pub struct CollectValue(pub Vec<What>);

/// The help text for `--collect`, of all commands that have it.
pub const COLLECT_HELP: &str = "\
What --collect counts, exactly unless it is cycles, cache or energy alone:
  edges        how often each branch went each way, and so how often each block and loop ran
  paths        how often each acyclic path from a function entry or loop header to the end of the
               iteration or an exit ran; includes edges
  blocks       how often each basic block ran, but not which way branches went
  cct          the calling context tree: how often each function was called in each calling
               context; alone, it counts nothing else
  cct=by-callee
               the same, but contexts differ by functions only, not by call sites: less memory
  flow         paths, cct, and the paths in each calling context: hot paths through several functions
  callees      with edges, paths or blocks: which functions each indirect call called, and how often, for
               the call graph of callgrind; alone, it includes edges
  cycles       with paths, cct, flow or sampling: time-stamp counter ticks along each path and in
               each context, without callees and without the cost of measuring; up to about twice too many
               beside cache or branches, as simulations slow the program
  cache        as cycles: misses in a simulated data cache (see --cache), the same on any machine
  energy       as cycles: cache, and the picojoules that loads and stores take, by the level of the cache
               that holds their line (see --energy)
  allocations  bytes and blocks that malloc, calloc, realloc, __rust_alloc and so on (see --allocator)
               allocate and free releases, in each calling context; what was live at the peak and at the
               end, how long blocks lived, and the objects of garbage collection; includes cct
  branches     with paths, cct or flow: conditional branches that a simulated predictor mispredicts (gshare of
               64 Kbit), by branch, along each path and in each context, the same on any machine
  events=…     totals of event kinds, each by one running sum; with paths also along each path,
               with cct in each context, callees not included.
               Kinds: instructions, loads, stores, calls, indirect_calls, branches, float_ops,
               memory_bytes, back_edges_and_calls, fuel (as Wasmtime counts it), or a cost model,
               a file such as costs.toml:
                 default = 1      # cost of instructions not named; also: entry, back_edge
                 [cost]
                 \"f64.*\" = 4      # the most specific name applies
  all-edges, all-blocks, block-counters
               edges or blocks counted in simpler ways, for comparison";

/// The parser of `--collect`, which also knows the completions for shells.
#[derive(Clone, Debug)]
pub struct CollectParser;

impl TypedValueParser for CollectParser {
    type Value = CollectValue;

    fn parse_ref(
        &self,
        command: &Command,
        arg: Option<&Arg>,
        value: &OsStr,
    ) -> Result<CollectValue, clap::Error> {
        StringValueParser::new().try_map(|text| wanted(&text)).parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        // Clap requires names that live as long as the program.
        static EVENT_KINDS: LazyLock<Vec<String>> =
            LazyLock::new(|| BUILT_IN.iter().map(|kind| format!("{EVENTS}{kind}")).collect());
        let single = SINGLE.iter().map(|(name, _)| *name);
        let events = EVENT_KINDS.iter().map(String::as_str);
        Some(Box::new(single.chain(events).map(PossibleValue::new)))
    }
}

/// Parses values separated by commas; kinds of events, which contain commas themselves, come last.
pub fn wanted(text: &str) -> Result<CollectValue, String> {
    let (mut all, mut rest) = (Vec::new(), Some(text));
    while let Some(text) = rest {
        let (first, others) = match text.split_once(',') {
            Some((first, others)) if !text.starts_with(EVENTS) => (first, Some(others)),
            _ => (text, None),
        };
        all.push(what(first)?);
        rest = others;
    }
    Ok(CollectValue(all))
}

const EVENTS: &str = "events=";

/// All values except events, by name, the most useful first.
const SINGLE: [(&str, What); 15] = [
    ("edges", What::Code(Collect::Edges)),
    ("paths", What::Code(Collect::Paths)),
    ("blocks", What::Code(Collect::Blocks)),
    ("cct", What::Contexts { merges_sites: false }),
    ("cct=by-callee", What::Contexts { merges_sites: true }),
    ("flow", What::Flow),
    ("cycles", What::Cycles),
    ("cache", What::Cache),
    ("energy", What::Energy),
    ("branches", What::Branches),
    ("allocations", What::Allocations),
    ("callees", What::Callees),
    ("all-edges", What::Code(Collect::AllEdges)),
    ("all-blocks", What::Code(Collect::AllBlocks)),
    ("block-counters", What::Code(Collect::BlockCounters)),
];

fn what(text: &str) -> Result<What, String> {
    if let Some(kinds) = text.strip_prefix(EVENTS) {
        return cost_model::parse_kinds(kinds).map(What::Events).map_err(|error| format!("{error:#}"));
    }
    let found = SINGLE.iter().find(|(name, _)| *name == text);
    found.map(|(_, what)| what.clone()).ok_or_else(|| {
        "give edges, paths, blocks, cct, cct=by-callee, flow, cycles, cache, energy, branches, allocations, callees, or events=KIND,… such as events=instructions,fuel"
            .to_owned()
    })
}
