//! Things to count, as `--collect` names them.

use wprof::{Collect, EventModel};

use crate::cost_model;

/// Something to count.
#[derive(Clone, Debug)]
pub enum What {
    /// How often code ran.
    Code(Collect),
    /// Totals of these kinds of events.
    Events(Vec<EventModel>),
    /// Calling contexts.
    Contexts,
    /// Paths in each calling context.
    Flow,
    /// Ticks of the time-stamp counter.
    Cycles,
    /// What a simulated cache misses.
    Cache,
}

/// What one `--collect` asks for.
#[derive(Clone, Debug)]
pub struct Wanted(pub Vec<What>);

/// What `--collect` means, for the help of commands that have it.
pub const COLLECT_HELP: &str = "\
What to collect, exactly unless it is cycles or cache alone:
  edges        how often each branch went each way, and all that follows from it
  paths        how often each way was gone from an entry or loop header to the next loop round
               or exit; edges follow from them
  blocks       how often each block ran, with no more counters and seldom fewer; branches
               are not known
  cct          how often each function was called in each calling context: by whom, who
               was called by whom, … Alone, it is all that is counted
  flow         paths and cct, and paths in each calling context of their own: the hot ways
               through several functions
  cycles       with paths, cct, flow or bursts: ticks of the time-stamp counter along each path and in each
               context, those of callees not included; what reading it costs is taken off
  cache        likewise: lines that the loads and stores miss in a simulated data
               cache, see --cache; the same on any machine
  events=…     with paths: also along each. Otherwise totals only: no counters in the code but one running sum for each kind.
               Kinds: instructions, loads, stores, calls, indirect_calls, branches, float_ops,
               memory_bytes, back_edges_and_calls, fuel (as Wasmtime counts it), or a file
               such as costs.toml that says what each instruction costs:
                 default = 1      # of instructions not named; also entry, back_edge
                 [cost]
                 \"f64.*\" = 4      # the most specific name decides
  all-edges, all-blocks, block-counters
               edges or blocks counted in simpler ways, to compare with";

/// Several things with commas between them; kinds of events, which have commas themselves, are the last.
pub fn wanted(text: &str) -> Result<Wanted, String> {
    let (mut all, mut rest) = (Vec::new(), Some(text));
    while let Some(text) = rest {
        let (first, others) = match text.split_once(',') {
            Some((first, others)) if !text.starts_with(EVENTS) => (first, Some(others)),
            _ => (text, None),
        };
        all.push(what(first)?);
        rest = others;
    }
    Ok(Wanted(all))
}

const EVENTS: &str = "events=";

fn what(text: &str) -> Result<What, String> {
    if let Some(kinds) = text.strip_prefix(EVENTS) {
        return cost_model::parse_kinds(kinds).map(What::Events).map_err(|error| format!("{error:#}"));
    }
    Ok(What::Code(match text {
        "cct" => return Ok(What::Contexts),
        "flow" => return Ok(What::Flow),
        "cycles" => return Ok(What::Cycles),
        "cache" => return Ok(What::Cache),
        "edges" => Collect::Edges,
        "paths" => Collect::Paths,
        "blocks" => Collect::Blocks,
        "all-edges" => Collect::AllEdges,
        "all-blocks" => Collect::AllBlocks,
        "block-counters" => Collect::BlockCounters,
        _ => {
            return Err(
                "give edges, paths, blocks, cct, flow, cycles, cache, or events=KIND,… such as events=instructions,fuel"
                    .to_owned(),
            );
        }
    }))
}
