//! The timeline of a store: when each version of a module's code was compiled, and when bursts ran.

use std::time::Instant;

use wprof_jit::reoptimize::{Decision, Verdict};
use wprof_profiler::{Benefit, CodeDecision, CodeVersion, DecisionKind, Timeline};

use crate::demangle;
use crate::module::{CompiledVersion, ModuleInner};
use crate::runtime::burst::burst_spans::BurstSpans;
use crate::runtime::burst::store_bursts::StoreBursts;
use crate::runtime::counts::running_time::nanoseconds;
use crate::runtime::instances::store_opaque::StoreOpaque;

/// Returns the timeline of a store, if it has one, for the code of one module.
pub fn of_store(store: &StoreOpaque, module: &ModuleInner) -> Option<Timeline> {
    let since = store.observed.started();
    if !store.engine().config().observed.time_line {
        return None;
    }
    let versions = module.versions();
    let versions = versions.iter().map(|version| code_version(module, version, since)).collect();
    let bursts =
        store.observed.bursts.as_ref().and_then(StoreBursts::spans).map_or_else(Vec::new, BurstSpans::all);
    Some(Timeline { versions, bursts })
}

/// Describes a version; one compiled before `since` counts as compiled at `since`.
fn code_version(module: &ModuleInner, version: &CompiledVersion, since: Instant) -> CodeVersion {
    let name = |func| {
        let name = module.names().func(func).map(demangle);
        name.unwrap_or_else(|| format!("wasm-function[{func}]"))
    };
    let decision = |decision: &Decision| CodeDecision {
        offset: decision.offset,
        kind: kind(&decision.verdict),
        text: decision.verdict.named(name),
    };
    CodeVersion {
        function: version.func,
        name: module.names().func(version.func).map(str::to_owned),
        tier: version.tier,
        began_ns: nanoseconds(version.began.saturating_duration_since(since)),
        took_ns: nanoseconds(version.took),
        bytes: version.bytes as u64,
        bytes_before: version.bytes_before.map(|bytes| bytes as u64),
        decisions: version.decisions.iter().flatten().map(decision).collect(),
        benefit: benefit(version.decisions.iter().flatten()),
    }
}

/// Returns what a version saves, according to the decisions behind it.
fn benefit<'a>(decisions: impl Iterator<Item = &'a Decision>) -> Benefit {
    let millionths = |part: f64| Some((1e6 * part) as i32);
    decisions.fold(Benefit::default(), |known, decision| match &decision.verdict {
        Verdict::Predicted(estimate) => Benefit { predicted: millionths(estimate.saved), ..known },
        Verdict::Tried { result, .. } => Benefit { measured: millionths(1.0 - result.ratio()), ..known },
        _ => known,
    })
}

fn kind(verdict: &Verdict) -> DecisionKind {
    match verdict {
        Verdict::Superblock { .. } => DecisionKind::Superblock,
        Verdict::Inlined { .. } => DecisionKind::Inlined,
        Verdict::Refused { .. } | Verdict::NoSuperblock { .. } | Verdict::NotVectorized(_) => {
            DecisionKind::Declined
        }
        Verdict::Vectorized { .. } => DecisionKind::Vectorized,
        Verdict::Predicted(_) => DecisionKind::Predicted,
        Verdict::Tried { .. } => DecisionKind::Tried,
        Verdict::Prefetched => DecisionKind::Prefetched,
        Verdict::PhaseChange { .. } => DecisionKind::PhaseChange,
    }
}
