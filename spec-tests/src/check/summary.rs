//! What has been run, and compared.

use wprof::{Reoptimization, Verdict};

use crate::oracle::{Compared, ComparedPaths};
use crate::outcome::Outcome;

/// What has been run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Summary {
    /// Modules.
    pub modules: u64,
    /// Modules that could not be instantiated, in no engine.
    pub refused: u64,
    /// Modules that ran out of stack somewhere, so that engines may differ.
    pub overflowed: u64,
    /// Calls of exported functions.
    pub calls: u64,
    /// Calls that trapped or were ended by the host.
    pub stopped: u64,
    /// Calls of host functions.
    pub host_calls: u64,
    /// Loads and stores of fixed width that have been compared.
    pub references: u64,
    /// What has been compared with the oracle.
    pub compared: Compared,
    /// Call records that have been compared.
    pub contexts: u64,
    /// Contexts that bursts have seen.
    pub sampled_contexts: u64,
    /// Lines missed in these contexts.
    pub misses_in_contexts: u64,
    /// Call records with instructions that have been compared.
    pub events_in_contexts: u64,
    /// Paths in contexts that have been.
    pub flow: u64,
    /// Calls that were inlined.
    pub inlined: u64,
    /// Superblocks that were formed.
    pub superblocks: u64,
    /// Versions that were left by side exits too often.
    pub phase_changes: u64,
    /// Paths that have been compared with a trace.
    pub paths: ComparedPaths,
}

impl Summary {
    pub(super) fn of(outcome: &Outcome) -> Summary {
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
                Verdict::NoSuperblock { .. } | Verdict::Refused { .. } => {}
                Verdict::Predicted(_) | Verdict::Tried { .. } => {}
            }
        }
    }

    /// Both together.
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
