//! Events in calling contexts: chords must add the same events to call records as single instructions do.

use wprof::{Collect, Config, Counting, Metric, ProfilingConfig, Strategy};
use wprof_profiler::ContextTree;

use super::engines::{Engines, Made, made, tiered};
use super::{Summary, contexts_of};
use crate::engines::ours;
use crate::generate::Case;
use crate::mode::{Mode, kinds};
use crate::oracle::cache::small_cache;

/// Returns the engine in which every instruction adds its own events: the simple way.
pub(super) fn simple() -> Made {
    let mut config = Mode::Baseline.config();
    made(config.count_events(kinds()).count_contexts(true).event_counting(Counting::PerInstruction))
}

/// Returns the engines that count events by chords, together with everything else that moves events or takes words of
/// call records, and the engine that counts by blocks.
pub(super) fn clever() -> Vec<Made> {
    let counted = |mut config: Config| {
        config.count_events(kinds()).count_contexts(true);
        config
    };
    let (mut metered, mut measured) = (counted(tiered()), counted(Mode::Off.config()));
    let (mut flow, mut blocks) = (counted(tiered()), counted(Mode::Baseline.config()));
    metered.budget("instructions");
    measured.measure([Metric::CacheMisses(small_cache()), Metric::Cycles]);
    flow.profiling(ProfilingConfig::Exact(Collect::Paths)).flow_contexts(true).measure([Metric::Cycles]);
    blocks.event_counting(Counting::PerBlock);
    let parts = counted(Mode::Parts.config());
    [metered, measured, flow, blocks, parts].iter().map(made).collect()
}

/// Returns the engine that counts totals without contexts.
pub(super) fn totals() -> Made {
    made(tiered().strategy(Strategy::Tiered).count_events(kinds()))
}

impl Engines {
    /// Checks that each call record has the events of its function's own instructions in its context, counted one by
    /// one, under every way of counting; that the events add up to the totals; and that the instruction counts equal
    /// those of an edge profile for each function.
    ///
    /// # Errors
    /// Returns the first difference that it finds.
    pub fn events(&self, case: &Case) -> Result<Summary, String> {
        let ran = ours::run(&self.events_simply, &case.wasm, &case.drive)?;
        let mut summary = Summary::new(&ran.outcome);
        let Some(expected) = contexts_of(&ran)? else { return Ok(summary) };
        let totals = ours::run(&self.events_alone, &case.wasm, &case.drive)?;
        if ran.outcome.overflowed() || totals.outcome.overflowed() {
            summary.overflowed = 1;
            return Ok(summary);
        }
        for kind in kinds() {
            let sum = column(&expected, &kind.name)?.into_iter().fold(0, u64::wrapping_add);
            for (ran, how) in [(&ran, "in records"), (&totals, "in one counter")] {
                if ran.events(&kind.name) != sum {
                    let found = ran.events(&kind.name);
                    return Err(format!("{found} {} {how}, {sum} one by one in contexts", kind.name));
                }
            }
        }
        for (number, engine) in (0..).zip(&self.events_in_contexts) {
            self.same_events(case, (number, engine), &expected)?;
        }
        // These engines compare each profile with its edges as well.
        self.same_events(case, (usize::MAX, &self.exact), &expected)?;
        summary.contexts = expected.records.len() as u64;
        summary.events_in_contexts =
            column(&expected, "instructions")?.into_iter().filter(|&own| own > 0).count() as u64;
        Ok(summary)
    }

    fn same_events(
        &self,
        case: &Case,
        (number, engine): (usize, &Made),
        expected: &ContextTree,
    ) -> Result<(), String> {
        let ran = ours::run(engine, &case.wasm, &case.drive)?;
        let Some(found) = contexts_of(&ran)?.filter(|_| !ran.outcome.overflowed()) else { return Ok(()) };
        if found.calls() != expected.calls() {
            return Err(format!(
                "engine {number}: {:?} calls, {:?} one by one",
                found.calls(),
                expected.calls()
            ));
        }
        for kind in kinds() {
            let (found, expected) = (column(&found, &kind.name)?, column(expected, &kind.name)?);
            if found != expected {
                return Err(format!("engine {number}, {}: {found:?}, {expected:?} one by one", kind.name));
            }
        }
        Ok(())
    }
}

/// Returns the events of one kind, by call record.
fn column(tree: &ContextTree, kind: &str) -> Result<Vec<u64>, String> {
    let found = tree.metrics.iter().position(|metric| metric.name == kind);
    Ok(tree.amounts(found.ok_or_else(|| format!("contexts have no {kind}"))?))
}
