//! The properties that every generated module must have.
//!
//! * [`Engines::differential`]: in every mode our engine leaves the same state as the reference interpreter.
//! * [`Engines::sampled`]: so it does with any settings.
//! * [`Engines::hot`]: so does it for hot programs, under every optimisation.
//! * [`Engines::wasm3`]: modules with exceptions, function references and objects, which the interpreter does not
//!   support, leave the same state in all modes as in plain Cranelift code, wherever collections take place.
//! * [`Engines::hot_objects`]: so do hot programs with these features, and so does the interpreter with the lowered
//!   form of the same program.
//! * [`Engines::superblocks`]: so does code that is reoptimized by an arbitrary profile.
//! * [`Engines::contexts`]: the calling context tree equals that of a shadow stack.
//! * [`Engines::events`]: each calling context has the events of its instructions, counted one by one.
//! * [`Engines::paths`]: the paths of the profile equal those of a trace of the same run.
//! * [`Engines::preferential`]: the paths stay the same when some of them are declared interesting, counted or not.
//! * [`Engines::oracle`]: the profile equals the counts of the self-counting module in the interpreter.
//! * [`Engines::simple_counts`]: so does the profile of modules that the interpreter does not support, in our engine.

mod engines;
mod events;
mod hot;
mod places;
mod sampled;
mod summary;
mod wasm3;

use std::sync::Arc;

use wprof::{Collect, Config, Engine, Interesting, Module, Policy, ProfilingConfig, Strategy, Tracing};
use wprof_jit::module::parse;
use wprof_profiler::{
    Callee, ContextTree, CounterCost, EdgeKind, FigureKind, FunctionProfile, PathProfile, Profile,
};

use crate::engines::{ours, reference};
use crate::generate::Case;
use crate::mode::{Mode, bursts, unoptimized};
use crate::nonsense;
use crate::oracle::references::{Log, logging};
use crate::oracle::{Compared, Detail, Oracle, What, compare, compare_flow, compare_paths, same_flow};
use crate::outcome::Outcome;
use crate::shadow::{self, calls_by_chain, without_calls_by_host};
pub use engines::Engines;
use engines::{STRATEGIES, engine, tiered};
pub use hot::{Hot, ways as hot_ways};
use places::{TailCalls, same_places, tail_calls};
pub use sampled::{SEEDS_OF_ROW, settings_of};
pub use summary::Summary;

/// Returns the configuration of an engine that separates interesting paths from the others.
fn preferential(strategy: Strategy, interesting: Interesting) -> Config {
    let mut config = tiered();
    config.strategy(strategy).profiling(ProfilingConfig::Exact(Collect::Paths));
    config.interesting_paths(interesting);
    config
}

/// Checks that our engine leaves the expected state, both with an empty code cache and with code kept by an earlier
/// run.
fn kept(case: &Case, expected: &Outcome) -> Result<(), String> {
    let folder = tempfile::tempdir().map_err(|e| e.to_string())?;
    for (round, engine) in Mode::Cached.engines(folder.path()).enumerate() {
        let ran = ours::run(&engine, &case.wasm, &case.drive)?;
        if !ran.outcome.overflowed() && !expected.overflowed() {
            expected
                .same_as(&ran.outcome)
                .map_err(|e| format!("cached, run {round}, reference first: {e}"))?;
        }
        ran.keep_code()?;
    }
    Ok(())
}

/// Reports whether a frame ended at a tail call. In traced code, a tail call of a host function is a call and a
/// return: the frame has stopped if the host does not return; otherwise its path has ended.
fn stops_in_tail_calls(profile: &Profile) -> bool {
    profile.functions.iter().any(|function| {
        let mut stopped = function.exits.iter().flat_map(|exit| function.out_edges(exit.block));
        stopped.any(|(_, edge)| edge.kind == EdgeKind::TailCall)
    })
}

/// Returns a profile that keeps every second finished path of each function: the even or the odd ones, as the seed
/// selects.
pub fn every_second_path(profile: &Profile, seed: u64) -> Profile {
    let mut part = profile.clone();
    for paths in part.functions.iter_mut().filter_map(|function| function.counts.paths_mut()) {
        let mut keep = (0..).map(|index: u64| index % 2 == seed % 2);
        paths.finished.retain(|_| keep.next() == Some(true));
        paths.unfinished.clear();
    }
    part
}

/// Returns the paths of each function without their metrics.
fn plain_paths(profile: &Profile) -> Vec<(u32, PathProfile)> {
    let of = |function: &FunctionProfile| {
        let mut paths = function.paths()?.clone();
        paths.finished.iter_mut().for_each(|path| path.metrics.clear());
        paths.unfinished.iter_mut().for_each(|path| path.metrics.clear());
        Some((function.index, paths))
    };
    profile.functions.iter().filter_map(of).collect()
}

/// Checks that both profiles have the same functions with the same paths.
fn same_paths(found: &Profile, expected: &Profile) -> Result<(), String> {
    let paths = |profile: &Profile| -> Vec<_> {
        profile.functions.iter().map(|function| (function.index, function.paths().cloned())).collect()
    };
    if found.functions == expected.functions {
        return Ok(());
    }
    Err(format!("{:?}, expected {:?}", paths(found), paths(expected)))
}

impl Engines {
    /// Checks that our engine leaves the same state as the interpreter, without a profile, with one, and in one more
    /// mode that the seed selects; and that traps occur at the same places as in baseline code.
    ///
    /// # Errors
    /// Returns the first difference that it finds.
    pub fn differential(&self, case: &Case) -> Result<Summary, String> {
        let expected = reference::run(&self.reference, &case.wasm, &case.drive)?.outcome;
        let more = [
            ("checked", &self.checked),
            ("unguarded", &self.unguarded),
            ("every edge", &self.every_edge),
            ("every block", &self.every_block),
            ("metered", &self.metered),
            ("traced", &self.traced),
            ("contexts", &self.contexts),
            ("default", &self.default),
            ("eager", &self.eager),
        ];
        let (name, engine) = more[(case.seed / 4 % more.len() as u64) as usize];
        let mut summary = Summary::new(&expected);
        let baseline =
            ours::run(&self.baseline, &case.wasm, &case.drive).map_err(|e| format!("baseline: {e}"))?;
        let bursts = &self.bursts[(case.seed / 4) as usize % self.bursts.len()];
        let others = [
            ("off", &self.off),
            ("exact", &self.exact),
            ("parts", &self.parts),
            ("frame", &self.frame),
            ("bursts", bursts),
            (name, engine),
        ];
        for (name, engine) in others {
            let ran = ours::run(engine, &case.wasm, &case.drive).map_err(|e| format!("{name}: {e}"))?;
            if [&ran.outcome, &baseline.outcome, &expected].into_iter().any(Outcome::overflowed) {
                summary.overflowed = 1;
                continue;
            }
            expected.same_as(&ran.outcome).map_err(|e| format!("{name}, reference first: {e}"))?;
            let ignored = if name == "traced" { tail_calls(&case.wasm)? } else { TailCalls::new() };
            same_places(&ran.places, &baseline.places, &ignored)
                .map_err(|e| format!("{name}, baseline second: {e}"))?;
        }
        if (case.seed / 4).is_multiple_of(8) {
            kept(case, &expected)?;
        }
        Ok(summary)
    }

    /// Checks that functions reoptimized by an invented profile, with and without checks and bursts, leave the same
    /// state as in the interpreter.
    ///
    /// # Errors
    /// Returns the first difference that it finds.
    pub fn superblocks(&self, case: &Case) -> Result<Summary, String> {
        let expected = reference::run(&self.reference, &case.wasm, &case.drive)?.outcome;
        let mut summary = Summary::new(&expected);
        let plain = Module::new(&self.off, &case.wasm).map_err(|e| e.to_string())?;
        let baseline =
            ours::run(&self.baseline, &case.wasm, &case.drive).map_err(|e| format!("baseline: {e}"))?;
        let profile = Arc::new(nonsense::profile(&plain, case.seed));
        let ways = [
            ("plain", Strategy::Optimized, ProfilingConfig::Off),
            ("tiered", Strategy::Tiered, ProfilingConfig::Off),
            ("in bursts", Strategy::Optimized, unoptimized(bursts(1, 1, "orig"))),
            ("in tiers and bursts", Strategy::Tiered, bursts(2, 3, "default")),
        ];
        for (name, strategy, profiling) in ways {
            let mut config = tiered();
            let main_loops = if strategy == Strategy::Tiered { usize::MAX } else { 0 };
            config.strategy(strategy).parts_above(10).loop_entries_above(main_loops).profiling(profiling);
            config.reoptimization(Some(Policy::eager()));
            let engine = engine(config.profile_use(profile.clone()));
            let ran = ours::run(&engine, &case.wasm, &case.drive).map_err(|e| format!("{name}: {e}"))?;
            summary.add_decisions(&ran.reoptimizations());
            if [&ran.outcome, &baseline.outcome, &expected].into_iter().any(Outcome::overflowed) {
                summary.overflowed = 1;
                continue;
            }
            expected.same_as(&ran.outcome).map_err(|e| format!("{name}, reference first: {e}"))?;
            same_places(&ran.places, &baseline.places, &TailCalls::new())
                .map_err(|e| format!("{name}, baseline second: {e}"))?;
        }
        Ok(summary)
    }

    /// Checks that the calling context tree equals that of a shadow stack which follows the trace of the same run; and
    /// that the tree stays the same without a trace, and when everything else is counted too.
    ///
    /// # Errors
    /// Returns the first difference that it finds.
    pub fn contexts(&self, case: &Case) -> Result<Summary, String> {
        let engine = &self.contexts_traced[(case.seed / 4 % 3) as usize];
        let module = Module::new(engine, &case.wasm).map_err(|e| e.to_string())?;
        let traced = ours::run(engine, &case.wasm, &case.drive)?;
        let mut summary = Summary::new(&traced.outcome);
        let Some(tree) = contexts_of(&traced)? else { return Ok(summary) };
        let trace = traced.trace.as_ref().ok_or("not traced")?;
        let shadow = shadow::fold(&module, trace, traced.host_log())?;
        summary.contexts = tree.records.len() as u64;
        if traced.outcome.overflowed() {
            summary.overflowed = 1;
            return shadow.allows(&tree).map(|()| summary);
        }
        shadow.is(&tree)?;
        summary.misses_in_contexts = tree.amounts(0).iter().sum();
        let tree = shadow::without_metrics(&tree);
        for (name, engine) in [("alone", &self.contexts), ("with all", &self.exact)] {
            let ran = ours::run(engine, &case.wasm, &case.drive)?;
            let found = contexts_of(&ran)?.map(|tree| shadow::without_metrics(&tree));
            if !ran.outcome.overflowed() && found.as_ref() != Some(&tree) {
                return Err(format!("the tree is another one {name}"));
            }
        }
        summary.sampled_contexts = self.contexts_in_bursts(case, &tree)?;
        self.contexts_by_callee(case, &tree)?;
        Ok(summary)
    }

    /// Checks that where call sites are merged, the tree is that by call site with its call sites merged.
    fn contexts_by_callee(&self, case: &Case, tree: &ContextTree) -> Result<(), String> {
        let expected = shadow::by_callee(tree);
        let ran = ours::run(&self.contexts_by_callee, &case.wasm, &case.drive)?;
        match contexts_of(&ran)?.map(|tree| shadow::by_callee(&tree)) {
            found if ran.outcome.overflowed() || found.as_ref() == Some(&expected) => Ok(()),
            found => Err(format!("by callee {found:#?}, expected {expected:#?}")),
        }
    }

    /// Checks that a burst that never ends records all calls that wasm makes, and that shorter bursts record a subset.
    /// Returns the number of contexts that the shorter bursts have recorded. Frames that tail calls have replaced are
    /// not on the stack when a burst begins.
    fn contexts_in_bursts(&self, case: &Case, tree: &ContextTree) -> Result<u64, String> {
        if !tail_calls(&case.wasm)?.is_empty() {
            return Ok(0);
        }
        let expected = without_calls_by_host(tree);
        let some = &self.contexts_in_bursts[(case.seed / 4 % 2) as usize];
        let all = ours::run(&self.contexts_in_burst[(case.seed / 8 % 2) as usize], &case.wasm, &case.drive)?;
        let some = ours::run(some, &case.wasm, &case.drive)?;
        if all.outcome.overflowed() || some.outcome.overflowed() {
            return Ok(0);
        }
        let exact = |tree: ContextTree| ContextTree { kind: FigureKind::Exact, ..tree };
        // The shadow stack counts no instructions.
        let all = contexts_of(&all)?.map(|tree| shadow::without_metrics(&exact(tree)));
        // A burst during which no call happened has no tree.
        let is_as_expected = all.as_ref().map_or(expected.records.len() == 1, |all| *all == expected);
        if !is_as_expected {
            return Err(format!("in a burst {all:#?}, exactly {expected:#?}"));
        }
        let (expected, found) =
            (calls_by_chain(&expected), contexts_of(&some)?.map(|tree| calls_by_chain(&tree)));
        let mut found = found.unwrap_or_default();
        found.retain(|chain, _| chain.first().is_some_and(|(first, _)| *first != Callee::Beyond));
        let wrong = found.iter().find(|(chain, calls)| expected.get(*chain).is_none_or(|most| most < *calls));
        match wrong {
            Some((chain, calls)) => Err(format!("{calls} calls in bursts of {chain:?}, more than there are")),
            None => Ok(found.len() as u64),
        }
    }

    /// Checks that the profile equals the counts of the self-counting module in the interpreter; that a counter on
    /// every edge gives the same profile, and a counter in every block the same block counts; and that counting does
    /// not change what the module does.
    ///
    /// # Errors
    /// Returns the first difference that it finds.
    pub fn oracle(&self, case: &Case) -> Result<Summary, String> {
        let oracle = Oracle::new(&case.wasm, Detail::Instructions)?;
        let counted = reference::run(&self.reference, &oracle.wasm, &case.drive)?;
        let ran = ours::run(&self.exact, &case.wasm, &case.drive)?;
        let mut summary = Summary::new(&counted.outcome);
        let Some(profile) = ran.profile() else {
            return if counted.outcome.refused.is_some() {
                Ok(summary)
            } else {
                Err("not instantiated".into())
            };
        };
        let profile = profile.map_err(|e| e.to_string())?;
        if ran.outcome.overflowed() || counted.outcome.overflowed() {
            summary.overflowed = 1;
            return same_run(&self.exact, case).map(|compared| Summary { compared, ..summary });
        }
        counted.outcome.same_as(&ran.outcome)?;
        summary.compared = compare(&oracle, &counted.counters, &profile)?;
        host_calls(&profile, &counted.outcome)?;
        self.every_edge(case, &profile)?;
        self.edges_of_paths(case, &profile)?;
        self.paths_in_a_burst(case)?;
        self.every_block(case, &oracle, &counted.counters)?;
        if (case.seed / 4).is_multiple_of(4) {
            same_run(&self.exact, case)?;
        }
        Ok(summary)
    }

    /// Checks that a counter on every edge, paths, and paths in a burst that never ends give the profile of few
    /// counters; and that it equals the counts that the module makes of itself in the same run. This is what
    /// [`Engines::oracle`] checks of modules that the interpreter does not support.
    ///
    /// # Errors
    /// Returns the first difference that it finds.
    pub fn simple_counts(&self, case: &Case) -> Result<Summary, String> {
        let ran = ours::run(&self.exact, &case.wasm, &case.drive)?;
        let mut summary = Summary::new(&ran.outcome);
        let Some(profile) = ran.profile() else { return Ok(summary) };
        let profile = profile.map_err(|e| e.to_string())?;
        summary.compared = same_run(&self.exact, case)?;
        if ran.outcome.overflowed() {
            summary.overflowed = 1;
            return Ok(summary);
        }
        host_calls(&profile, &ran.outcome)?;
        self.every_edge(case, &profile)?;
        self.edges_of_paths(case, &profile)?;
        self.paths_in_a_burst(case)?;
        Ok(summary)
    }

    /// Checks that a trace has the data references that the self-logging module logs in the interpreter.
    ///
    /// # Errors
    /// Returns the first difference that it finds.
    pub fn references(&self, case: &Case) -> Result<Summary, String> {
        let logged = reference::run(&self.reference, &logging(&case.wasm)?, &case.drive)?;
        let mut summary = Summary::new(&logged.outcome);
        let Some(expected) = Log::counted(&logged.counters) else { return Ok(summary) };
        for (number, engine) in self.referenced.iter().enumerate() {
            let ran = ours::run(engine, &case.wasm, &case.drive)?;
            if ran.outcome.overflowed() || logged.outcome.overflowed() {
                summary.overflowed = 1;
                continue;
            }
            logged.outcome.same_as(&ran.outcome)?;
            let trace = ran.trace.ok_or("no trace")?;
            let found = Log::traced(&trace).map_err(|e| format!("engine {number}: {e}"))?;
            if found != expected {
                return Err(format!("engine {number}: {found:?} in the trace, logged {expected:?}"));
            }
        }
        summary.references = expected.loads[0] + expected.stores[0];
        Ok(summary)
    }

    /// Checks the profile of a module that overflows the stack. The overflow happens at different points in different
    /// engines and runs, so a single run counts in both ways.
    ///
    /// # Errors
    /// Returns the first difference that it finds.
    pub fn overflow(&self, case: &Case) -> Result<Summary, String> {
        let ran = ours::run(&self.exact, &case.wasm, &case.drive)?;
        ran.profile().ok_or("not instantiated")?.and_then(|p| Ok(p.verify()?)).map_err(|e| e.to_string())?;
        Ok(Summary { compared: same_run(&self.exact, case)?, ..Summary::new(&ran.outcome) })
    }

    fn every_edge(&self, case: &Case, profile: &Profile) -> Result<(), String> {
        let ran = ours::run(&self.every_edge, &case.wasm, &case.drive)?;
        let simple = ran.profile().ok_or("not instantiated")?.map_err(|e| e.to_string())?;
        same_counts(&simple, profile).map_err(|e| format!("a counter on every edge first: {e}"))
    }

    /// Checks that a burst that never ends counts every path that ran to its end.
    fn paths_in_a_burst(&self, case: &Case) -> Result<(), String> {
        let finished = |engine: &Engine| {
            let ran = ours::run(engine, &case.wasm, &case.drive)?;
            let profile = ran.profile().ok_or("not instantiated")?.map_err(|e| e.to_string())?;
            let of = |function: &FunctionProfile| {
                let paths = function.paths().filter(|paths| !paths.finished.is_empty())?;
                Some((function.index, paths.finished.clone()))
            };
            let functions = profile.functions.iter().filter_map(of).collect::<Vec<_>>();
            Ok::<_, String>((functions, ran.outcome.overflowed()))
        };
        let burst = &self.burst[(case.seed / 8 % 2) as usize];
        let ((expected, overflowed), (found, also)) = (finished(&self.paths)?, finished(burst)?);
        if found == expected || overflowed || also {
            return Ok(());
        }
        Err(format!("in a burst {found:?}, exactly {expected:?}"))
    }

    /// Checks that the edge counts derived from paths equal those of edge counters.
    fn edges_of_paths(&self, case: &Case, profile: &Profile) -> Result<(), String> {
        let ran = ours::run(&self.paths, &case.wasm, &case.drive)?;
        let mut paths = ran.profile().ok_or("not instantiated")?.map_err(|e| e.to_string())?;
        paths.verify().map_err(|e| e.to_string())?;
        paths.functions.iter_mut().for_each(|function| function.counts.forget_paths());
        same_counts(&paths, profile).map_err(|e| format!("edges that follow from paths first: {e}"))
    }

    /// Checks profiles in which every second path is interesting: if interesting paths are counted too, the paths are
    /// those of a trace of the same run; if not, only the other paths are counted. All functions are treated as if
    /// they had too many paths for counters.
    ///
    /// # Errors
    /// Returns the first difference that it finds.
    pub fn preferential(&self, case: &Case) -> Result<Summary, String> {
        let plain = ours::run(&self.paths, &case.wasm, &case.drive)?;
        let summary = Summary::new(&plain.outcome);
        let Some(profile) = plain.profile() else { return Ok(summary) };
        let profile = profile.map_err(|e| e.to_string())?;
        let tests = Arc::new(every_second_path(&profile, case.seed));
        if !tests.has_paths() {
            return Ok(summary);
        }
        let strategy = STRATEGIES[(case.seed / 4 % 3) as usize];
        let counted = Interesting { beyond: 0, ..Interesting::new(tests.clone()) };
        let traced = engine(preferential(strategy, counted).trace(Tracing::Best));
        let ran = ours::run(&traced, &case.wasm, &case.drive)?;
        let (Some(all), Some(trace)) = (ran.profile(), &ran.trace) else { return Ok(summary) };
        let all = all.map_err(|e| e.to_string())?;
        let info = parse(Arc::from(&*case.wasm)).map_err(|e| e.to_string())?;
        let paths = compare_paths(&info, &all, trace)?;
        let uncounted = Interesting { beyond: 0, ..Interesting::uncounted(tests.clone()) };
        // The run is not traced, so that loops are unrolled.
        let others = ours::run(&engine(&preferential(strategy, uncounted)), &case.wasm, &case.drive)?;
        // In the other cases the stack may have overflowed at another point.
        if !ran.outcome.overflowed() && !others.outcome.overflowed() && !stops_in_tail_calls(&all) {
            let found = others.profile().ok_or("not instantiated")?.map_err(|e| e.to_string())?;
            found.verify().map_err(|e| e.to_string())?;
            let expected = all.only(&all.residual(&tests).map_err(|e| e.to_string())?);
            same_paths(&found, &expected)?;
            self.split_along(case, preferential(strategy, Interesting::new(tests)), &all)?;
        }
        Ok(Summary { paths, ..summary })
    }

    /// Checks that the paths stay the same where functions with path counters are split along the interesting paths.
    fn split_along(&self, case: &Case, config: Config, expected: &Profile) -> Result<(), String> {
        let ran = ours::run(&engine(&config), &case.wasm, &case.drive)?;
        let found = ran.profile().ok_or("not instantiated")?.map_err(|e| e.to_string())?;
        found.verify().map_err(|e| e.to_string())?;
        if ran.outcome.overflowed() || plain_paths(&found) == plain_paths(expected) {
            return Ok(());
        }
        Err(format!("split along {:?}, expected {:?}", plain_paths(&found), plain_paths(expected)))
    }

    /// Checks that the counted paths are those of a trace of the same run, wherever the run ends, in the tier that the
    /// seed selects.
    ///
    /// # Errors
    /// Returns the first difference that it finds.
    pub fn paths(&self, case: &Case) -> Result<Summary, String> {
        let engine = &self.traced_paths[(case.seed / 4 % 3) as usize];
        let ran = ours::run(engine, &case.wasm, &case.drive)?;
        let trace = ran.trace.as_ref().ok_or("not traced")?;
        let summary = Summary::new(&ran.outcome);
        let Some(profile) = ran.profile() else { return Ok(summary) };
        let info = parse(Arc::from(&*case.wasm)).map_err(|e| e.to_string())?;
        let profile = profile.map_err(|e| e.to_string())?;
        let paths = compare_paths(&info, &profile, trace)?;
        if !ran.outcome.overflowed() && !stops_in_tail_calls(&profile) {
            self.paths_alone(case, &profile)?;
        }
        Ok(Summary { paths, ..summary })
    }

    /// Checks that the paths stay the same where only paths are recorded, so that loops are unrolled.
    fn paths_alone(&self, case: &Case, profile: &Profile) -> Result<(), String> {
        let ran = ours::run(&self.paths, &case.wasm, &case.drive)?;
        let alone = ran.profile().ok_or("not instantiated")?.map_err(|e| e.to_string())?;
        let (found, expected) = (plain_paths(&alone), plain_paths(profile));
        if ran.outcome.overflowed() || found == expected {
            return Ok(());
        }
        Err(format!("alone {found:?}, expected {expected:?}"))
    }

    /// Checks that the paths in each calling context are those of a trace of the same run.
    ///
    /// # Errors
    /// Returns the first difference that it finds.
    pub fn flow(&self, case: &Case) -> Result<Summary, String> {
        let engine = &self.flow_traced[(case.seed / 4 % 3) as usize];
        let module = Module::new(engine, &case.wasm).map_err(|e| e.to_string())?;
        let ran = ours::run(engine, &case.wasm, &case.drive)?;
        let mut summary = Summary::new(&ran.outcome);
        let Some(profile) = ran.profile() else { return Ok(summary) };
        let profile = profile.map_err(|e| e.to_string())?;
        profile.verify().map_err(|e| e.to_string())?;
        let trace = ran.trace.as_ref().ok_or("not traced")?;
        summary.flow = compare_flow(&module, &profile, trace, ran.host_log())? as u64;
        if !ran.outcome.overflowed() && !stops_in_tail_calls(&profile) {
            self.flow_alone(case, &profile)?;
        }
        Ok(summary)
    }

    /// Checks that the paths in contexts stay the same where nothing else is recorded, so that loops are unrolled;
    /// whether call records have cells for paths or share rows.
    fn flow_alone(&self, case: &Case, profile: &Profile) -> Result<(), String> {
        for engine in &self.flow {
            let ran = ours::run(engine, &case.wasm, &case.drive)?;
            let alone = ran.profile().ok_or("not instantiated")?.map_err(|e| e.to_string())?;
            if !ran.outcome.overflowed() {
                same_flow(&alone, profile).map_err(|e| format!("alone: {e}"))?;
            }
        }
        let ran = ours::run(&self.flow_by_callee, &case.wasm, &case.drive)?;
        let found = ran.profile().ok_or("not instantiated")?.map_err(|e| e.to_string())?;
        let contexts = profile.contexts.as_ref().map(shadow::by_callee);
        let expected = Profile { contexts, ..profile.clone() };
        if ran.outcome.overflowed() {
            return Ok(());
        }
        same_flow(&found, &expected).map_err(|e| format!("by callee: {e}"))
    }

    fn every_block(&self, case: &Case, oracle: &Oracle, counters: &[u64]) -> Result<(), String> {
        let ran = ours::run(&self.every_block, &case.wasm, &case.drive)?;
        let found = ran.block_counts().ok_or("not instantiated")?.map_err(|e| e.to_string())?;
        for (place, &count) in oracle.places.iter().zip(counters) {
            let What::Block(block) = place.what else { continue };
            let counts = found.iter().find(|(func, _)| *func == place.func);
            let counted = counts.map_or(0, |(_, counts)| counts[block as usize]);
            if counted != count {
                return Err(format!("a counter in every block: {place:?} ran {count} times, not {counted}"));
            }
        }
        Ok(())
    }
}

/// Compares both ways of counting within one run, so that it does not matter where the run ends.
fn same_run(exact: &Engine, case: &Case) -> Result<Compared, String> {
    let oracle = Oracle::new(&case.wasm, Detail::Blocks)?.of_itself()?;
    let mut ran = ours::run(exact, &oracle.wasm, &case.drive)?;
    let profile = ran.profile().ok_or("not instantiated")?.map_err(|e| e.to_string())?;
    compare(&oracle, &ran.counters(), &profile).map_err(|e| format!("in the same run: {e}"))
}

/// Checks that two profiles differ only in their cost.
///
/// # Errors
/// Returns the first difference that it finds.
pub fn same_counts(a: &Profile, b: &Profile) -> Result<(), String> {
    if a.functions.len() != b.functions.len() {
        return Err(format!("{} or {} functions", a.functions.len(), b.functions.len()));
    }
    for (a, b) in a.functions.iter().zip(&b.functions) {
        if let Some((a, b)) = a.counted_edges().zip(b.counted_edges()).find(|(a, b)| a != b) {
            return Err(format!("{a:?} or {b:?}"));
        }
        if a.exits != b.exits {
            return Err(format!("function {}: {:?} or {:?}", a.index, a.exits, b.exits));
        }
        let without_cost =
            |f: &FunctionProfile| FunctionProfile { cost: CounterCost::default(), ..f.clone() };
        if without_cost(a) != without_cost(b) {
            return Err(format!("function {}: {a:?} or {b:?}", a.index));
        }
    }
    Ok(())
}

fn host_calls(profile: &Profile, outcome: &Outcome) -> Result<(), String> {
    let counted: u64 = profile.host_calls.iter().map(|calls| calls.count).sum();
    if counted == outcome.host.0 {
        return Ok(());
    }
    Err(format!("{} calls of host functions, {counted} by the profile", outcome.host.0))
}

fn contexts_of(ran: &ours::Ran) -> Result<Option<ContextTree>, String> {
    let Some(profile) = ran.profile() else { return Ok(None) };
    let profile = profile.map_err(|e| e.to_string())?;
    profile.verify().map_err(|e| e.to_string())?;
    Ok(profile.contexts)
}
