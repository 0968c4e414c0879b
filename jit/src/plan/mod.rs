//! Plans: what is counted in a function, and where.
//!
//! Input: a function and a [`Collection`], what its engine collects. Output: a [`FunctionPlan`], which all versions of
//! the function share: each turns it into probes of its block graph, and whoever reads counters reads them by it.

mod events;
mod split;
mod trace;

use std::sync::Arc;

use wprof_profiler::{EdgePlan, EdgeWeights};

pub use events::FunctionEvents;
pub use split::{Part, Place, Position, SplitCfg};
pub use trace::{FunctionTrace, Moment, Tracing};

use crate::CompileError;
use crate::cfg::Cfg;
use crate::events::EventModel;
use crate::graph::BlockGraph;
use crate::module::ModuleInfo;

/// What an engine collects of all functions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Collection {
    /// What is counted by counters of the instance.
    pub counters: Instrumentation,
    /// Kinds of events that are counted, each by a counter of the store.
    pub events: Vec<EventModel>,
    /// How events are counted.
    pub counting: Counting,
    /// The kind, an index into `events`, of which there is a budget: it is checked at entries and loop headers.
    pub metered: Option<u32>,
    /// How everything that runs is traced, if it is.
    pub tracing: Option<Tracing>,
}

impl Collection {
    /// Whether nothing is collected.
    pub fn is_off(&self) -> bool {
        self.counters == Instrumentation::Off && self.events.is_empty() && self.tracing.is_none()
    }
}

/// How events are counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Counting {
    /// By increments on the chords of a maximum spanning tree.
    #[default]
    Chords,
    /// Each block adds its own: the simple way, for comparison.
    PerBlock,
}

/// What is counted by a version of a function.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Instrumentation {
    /// Nothing.
    #[default]
    Off,
    /// Edges, by counters on the chords of a maximum spanning tree (Ball & Larus 1994, section 3.2).
    Chords,
    /// Blocks, each by its own counter: the simple way, for comparison.
    Blocks,
    /// Edges, each by its own counter: the simplest way, the oracle of [`Instrumentation::Chords`].
    Edges,
}

/// Which counters mean what in one compiled function.
#[derive(Clone, Debug)]
pub enum Plan {
    /// No counters.
    Off,
    /// Counter k of the function counts chord k of the plan.
    Chords(EdgePlan),
    /// Counter k of the function counts block k of the CFG.
    Blocks,
    /// Counter k of the function counts edge k of the CFG.
    Edges,
}

impl Plan {
    /// Number of counters.
    pub fn counters(&self, cfg: &Cfg) -> u32 {
        match self {
            Plan::Off => 0,
            Plan::Chords(plan) => plan.counted.len() as u32,
            Plan::Blocks => cfg.blocks.len() as u32,
            Plan::Edges => cfg.blocks.iter().map(|b| b.edges.len() as u32).sum(),
        }
    }
}

/// What all versions of a function share: its blocks, and how to read its counters.
#[derive(Clone, Debug)]
pub struct FunctionPlan {
    /// The function's blocks.
    pub cfg: Arc<Cfg>,
    /// What its counters count.
    pub plan: Plan,
    /// Index of its first counter in the instance's counter array.
    pub first_counter: u32,
    /// Where its events are counted, if any are.
    pub events: Option<FunctionEvents>,
    /// What it writes into the trace, if there is one.
    pub trace: Option<FunctionTrace>,
}

impl FunctionPlan {
    /// Plans function `func` as `collection` wants it; its counters start at index `first_counter`.
    ///
    /// # Errors
    /// If the function exceeds a limit.
    pub fn new(
        info: &ModuleInfo,
        func: u32,
        collection: &Collection,
        first_counter: u32,
    ) -> Result<FunctionPlan, CompileError> {
        let cfg = Arc::new(crate::cfg::build(info, func)?);
        let plan = plan(&cfg, collection.counters);
        let events = match collection.events.is_empty() {
            true => None,
            false => Some(FunctionEvents::new(info, &cfg, collection)?),
        };
        let trace = collection.tracing.map(|tracing| FunctionTrace::new(info, &cfg, tracing)).transpose()?;
        Ok(FunctionPlan { cfg, plan, first_counter, events, trace })
    }

    /// The graph that has each block once, with the probes of the plan.
    pub fn graph(&self) -> BlockGraph {
        let mut graph = BlockGraph::instrumented(&self.cfg, &self.plan, self.first_counter);
        if let Some(events) = &self.events {
            events.add_probes(&mut graph);
        }
        if let Some(trace) = &self.trace {
            trace.add_probes(&mut graph);
        }
        graph
    }

    /// How many counters it takes from `first_counter` on: the plan's, and one for heat.
    pub fn counters(&self) -> u32 {
        self.plan.counters(&self.cfg) + 1
    }

    /// Index of the counter of its heat.
    pub(crate) fn heat_counter(&self) -> u32 {
        self.first_counter + self.plan.counters(&self.cfg)
    }
}

/// The plan of a function's counters under `instrumentation`, with static weights.
pub fn plan(cfg: &Cfg, instrumentation: Instrumentation) -> Plan {
    match instrumentation {
        Instrumentation::Off => Plan::Off,
        Instrumentation::Blocks => Plan::Blocks,
        Instrumentation::Edges => Plan::Edges,
        Instrumentation::Chords => {
            let shape = cfg.shape();
            Plan::Chords(EdgePlan::new(&shape, &EdgeWeights::estimate(&shape)))
        }
    }
}
