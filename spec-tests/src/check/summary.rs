//! The amount of work that checks have run and compared.

use wprof::{Reoptimization, Verdict};

use crate::oracle::{Compared, ComparedPaths};
use crate::outcome::Outcome;

/// Counts of what has been run and compared.
#[derive(Clone, Copy, Debug, Default)]
pub struct Summary {
    /// Modules that ran.
    pub modules: u64,
    /// Modules that no engine could instantiate.
    pub refused: u64,
    /// Modules that overflowed the stack in some engine, so that engines may differ.
    pub overflowed: u64,
    /// Calls of exported functions.
    pub calls: u64,
    /// Calls that trapped or that the host ended.
    pub stopped: u64,
    /// Calls of host functions.
    pub host_calls: u64,
    /// Compared loads and stores of fixed width.
    pub references: u64,
    /// Comparisons with the oracle.
    pub compared: Compared,
    /// Compared call records.
    pub contexts: u64,
    /// Contexts that bursts have recorded.
    pub sampled_contexts: u64,
    /// Cache lines missed in these contexts.
    pub misses_in_contexts: u64,
    /// Compared call records that have instruction counts.
    pub events_in_contexts: u64,
    /// Compared paths in contexts.
    pub flow: u64,
    /// Inlined calls.
    pub inlined: u64,
    /// Superblocks.
    pub superblocks: u64,
    /// Versions that side exits left too often.
    pub phase_changes: u64,
    /// Paths compared with a trace.
    pub paths: ComparedPaths,
}

impl Summary {
    pub(super) fn new(outcome: &Outcome) -> Summary {
        Summary {
            modules: 1,
            refused: u64::from(outcome.refused.is_some()),
            overflowed: u64::from(outcome.overflowed()),
            calls: outcome.calls.len() as u64,
            stopped: outcome.stopped() as u64,
            host_calls: outcome.host.0,
            references: 0,
            compared: Compared::default(),
            contexts: 0,
            sampled_contexts: 0,
            misses_in_contexts: 0,
            events_in_contexts: 0,
            flow: 0,
            inlined: 0,
            superblocks: 0,
            phase_changes: 0,
            paths: ComparedPaths::default(),
        }
    }

    pub(super) fn add_decisions(&mut self, done: &[Reoptimization]) {
        for decision in done.iter().flat_map(|done| &done.decisions) {
            match decision.verdict {
                Verdict::Inlined { .. } => self.inlined += 1,
                Verdict::Superblock { .. } => self.superblocks += 1,
                Verdict::PhaseChange { .. } => self.phase_changes += 1,
                Verdict::NoSuperblock { .. } | Verdict::Refused { .. } | Verdict::NotVectorized(_) => {}
                Verdict::Vectorized { .. } => {}
                Verdict::Predicted(_) | Verdict::Prefetched | Verdict::Tried { .. } => {}
            }
        }
    }

    /// Returns the sum of both summaries.
    #[must_use]
    pub fn plus(self, other: Summary) -> Summary {
        Summary {
            modules: self.modules + other.modules,
            refused: self.refused + other.refused,
            overflowed: self.overflowed + other.overflowed,
            calls: self.calls + other.calls,
            stopped: self.stopped + other.stopped,
            host_calls: self.host_calls + other.host_calls,
            references: self.references + other.references,
            compared: self.compared.plus(other.compared),
            contexts: self.contexts + other.contexts,
            sampled_contexts: self.sampled_contexts + other.sampled_contexts,
            misses_in_contexts: self.misses_in_contexts + other.misses_in_contexts,
            events_in_contexts: self.events_in_contexts + other.events_in_contexts,
            flow: self.flow + other.flow,
            inlined: self.inlined + other.inlined,
            superblocks: self.superblocks + other.superblocks,
            phase_changes: self.phase_changes + other.phase_changes,
            paths: self.paths.plus(other.paths),
        }
    }
}
