//! What is demanded of every generated module.
//!
//! * [`Engines::differential`]: in every mode our engine leaves behind what the reference interpreter does.
//! * [`Engines::superblocks`]: so it does when it is reoptimized by any profile.
//! * [`Engines::contexts`]: the calling context tree is that of a shadow stack.
//! * [`Engines::paths`]: the paths of the profile are those of a trace of the same run.
//! * [`Engines::preferential`]: with a part of the paths interesting, counted or not, they are the same.
//! * [`Engines::oracle`]: the profile is exactly what the module counts of itself, in the interpreter.

use std::sync::Arc;

use wprof::{
    Collect, Config, Engine, Interesting, Metric, Module, Policy, ProfilingConfig, Reoptimization, Strategy,
    Tracing, Verdict,
};
use wprof_jit::cfg::{self, End};
use wprof_jit::module::parse;
use wprof_profiler::{
    BurstLengths, ContextTree, CounterCost, EdgeKind, FigureKind, FunctionProfile, PathProfile, Profile,
};

use crate::engines::{ours, reference};
use crate::generate::Case;
use crate::mode::{Mode, bursts};
use crate::nonsense;
use crate::oracle::cache::small_cache;
use crate::oracle::references::{Log, logging};
use crate::oracle::{Compared, ComparedPaths, Detail, Oracle, What, compare, compare_flow, compare_paths};
use crate::outcome::Outcome;
use crate::shadow::{self, calls_by_chain, without_calls_by_host};

/// The engines that modules run in; each is used for many of them.
#[derive(Debug)]
pub struct Engines {
    reference: wasmi::Engine,
    off: Engine,
    exact: Engine,
    every_edge: Engine,
    every_block: Engine,
    paths: Engine,
    traced_paths: [Engine; 3],
    metered: Engine,
    /// Different lengths of bursts, and a burst that does not end.
    bursts: [Engine; 6],
    burst: Engine,
    traced: Engine,
    /// Every way of recording data references.
    referenced: Vec<Engine>,
    contexts: Engine,
    /// A burst that does not end, and others.
    contexts_in_burst: Engine,
    contexts_in_bursts: [Engine; 2],
    contexts_traced: [Engine; 3],
    flow_traced: [Engine; 3],
    checked: Engine,
    unguarded: Engine,
}

impl Default for Engines {
    /// All engines.
    ///
    /// # Panics
    /// If this machine is not supported.
    fn default() -> Engines {
        let profiling = |collect| {
            let engine = Engine::with_profiling(ProfilingConfig::Exact(collect));
            engine.expect("an engine for this machine")
        };
        Engines {
            reference: reference::engine(),
            off: Mode::Off.engine(),
            exact: Mode::Exact.engine(),
            every_edge: profiling(Collect::AllEdges),
            every_block: profiling(Collect::AllBlocks),
            paths: tracing_paths(Strategy::Tiered, None),
            traced_paths: STRATEGIES.map(|strategy| tracing_paths(strategy, Some(Tracing::Best))),
            metered: Mode::Metered.engine(),
            bursts: [
                Mode::Bursts.engine(),
                Mode::Timed.engine(),
                bursty(Strategy::Optimized, bursts(1, 1, "orig")),
                bursty(Strategy::Tiered, bursts(1, 1, "default")),
                bursty(Strategy::Optimized, bursts(7, 2, "default")),
                bursty(Strategy::Tiered, bursts(1000, 50, "EC+L4")),
            ],
            burst: bursty(Strategy::Optimized, bursts(1, BurstLengths::FOREVER, "orig")),
            traced: engine(Config::new().trace(Tracing::Best)),
            referenced: referenced(),
            contexts: engine(tiered().count_contexts(true)),
            contexts_in_burst: contexts_in(Strategy::Optimized, bursts(1, BurstLengths::FOREVER, "orig")),
            contexts_in_bursts: [
                contexts_in(Strategy::Tiered, bursts(2, 3, "orig")),
                contexts_in(Strategy::Optimized, bursts(7, 2, "default")),
            ],
            contexts_traced: [Strategy::Tiered, Strategy::Baseline, Strategy::Optimized].map(|strategy| {
                let mut config = tiered();
                config.strategy(strategy).trace(Tracing::Best).trace_references(true).count_contexts(true);
                engine(config.measure([Metric::CacheMisses(small_cache())]))
            }),
            flow_traced: [Strategy::Tiered, Strategy::Baseline, Strategy::Optimized].map(|strategy| {
                let mut config = tiered();
                config.strategy(strategy).trace(Tracing::Best).count_contexts(true).flow_contexts(true);
                engine(config.profiling(ProfilingConfig::Exact(Collect::Paths)).measure([Metric::Cycles]))
            }),
            checked: Mode::Checked.engine(),
            unguarded: Mode::Unguarded.engine(),
        }
    }
}

fn tiered() -> Config {
    Mode::Tiered.config()
}

fn engine(config: &Config) -> Engine {
    Engine::new(config).expect("an engine for this machine")
}

/// An engine that counts paths in bursts.
fn bursty(strategy: Strategy, profiling: ProfilingConfig) -> Engine {
    engine(tiered().strategy(strategy).profiling(profiling))
}

/// An engine that counts contexts in bursts.
fn contexts_in(strategy: Strategy, profiling: ProfilingConfig) -> Engine {
    engine(tiered().strategy(strategy).profiling(profiling).count_contexts(true))
}

/// An engine that counts paths, and perhaps traces.
fn tracing_paths(strategy: Strategy, tracing: Option<Tracing>) -> Engine {
    let mut config = tiered();
    config.strategy(strategy).profiling(ProfilingConfig::Exact(Collect::Paths));
    if let Some(tracing) = tracing {
        config.trace(tracing).trace_references(true);
        config.measure([Metric::Cycles, Metric::CacheMisses(small_cache())]);
    }
    engine(&config)
}

const STRATEGIES: [Strategy; 3] = [Strategy::Baseline, Strategy::Optimized, Strategy::Tiered];

/// An engine that tells interesting paths from others.
fn preferential(strategy: Strategy, interesting: Interesting) -> Config {
    let mut config = tiered();
    config.strategy(strategy).profiling(ProfilingConfig::Exact(Collect::Paths));
    config.interesting_paths(interesting);
    config
}

/// Whether any function of a module ends in a tail call.
fn has_tail_calls(wasm: &[u8]) -> Result<bool, String> {
    let info = parse(wasm.to_vec().into()).map_err(|e| e.to_string())?;
    for func in info.imported_funcs..info.funcs.len() as u32 {
        let cfg = cfg::build(&info, func).map_err(|e| e.to_string())?;
        if cfg.blocks.iter().any(|block| block.how == End::TailCall) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether a frame ended at a tail call. In traced code one of a host function is a call and a return, so if the host does
/// not return, the frame has stopped; else its path has ended.
fn stops_in_tail_calls(profile: &Profile) -> bool {
    profile.functions.iter().any(|function| {
        let mut stopped = function.exits.iter().flat_map(|exit| function.out_edges(exit.block));
        stopped.any(|(_, edge)| edge.kind == EdgeKind::TailCall)
    })
}

/// Of each function every second path that ran to its end, the even or the odd ones.
pub fn every_second_path(profile: &Profile, seed: u64) -> Profile {
    let mut part = profile.clone();
    for paths in part.functions.iter_mut().filter_map(|function| function.paths.as_mut()) {
        let mut keep = (0..).map(|index: u64| index % 2 == seed % 2);
        paths.finished.retain(|_| keep.next() == Some(true));
        paths.unfinished.clear();
    }
    part
}

/// The paths of each function, without what was measured along them.
fn plain_paths(profile: &Profile) -> Vec<(u32, PathProfile)> {
    let of = |function: &FunctionProfile| {
        let mut paths = function.paths.clone()?;
        paths.finished.iter_mut().for_each(|path| path.metrics.clear());
        paths.unfinished.iter_mut().for_each(|path| path.metrics.clear());
        Some((function.index, paths))
    };
    profile.functions.iter().filter_map(of).collect()
}

/// Demands that both have the same functions with the same paths.
fn same_paths(found: &Profile, expected: &Profile) -> Result<(), String> {
    let paths = |profile: &Profile| -> Vec<_> {
        profile.functions.iter().map(|function| (function.index, function.paths.clone())).collect()
    };
    if found.functions == expected.functions {
        return Ok(());
    }
    Err(format!("{:?}, expected {:?}", paths(found), paths(expected)))
}

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
    /// Paths in contexts that have been.
    pub flow: u64,
    /// Calls that were inlined.
    pub inlined: u64,
    /// Superblocks that were formed.
    pub superblocks: u64,
    /// Paths that have been compared with a trace.
    pub paths: ComparedPaths,
}

impl Summary {
    fn of(outcome: &Outcome) -> Summary {
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
            flow: 0,
            inlined: 0,
            superblocks: 0,
            paths: ComparedPaths::default(),
        }
    }

    fn add_decisions(&mut self, done: &[Reoptimization]) {
        for decision in done.iter().flat_map(|done| &done.decisions) {
            match decision.verdict {
                Verdict::Inlined { .. } => self.inlined += 1,
                Verdict::Superblock { .. } => self.superblocks += 1,
                Verdict::Refused { .. } => {}
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
            flow: self.flow + other.flow,
            inlined: self.inlined + other.inlined,
            superblocks: self.superblocks + other.superblocks,
            paths: self.paths.plus(other.paths),
        }
    }
}

impl Engines {
    /// Demands that our engine leaves behind what the interpreter does: without and with a profile, and in one more
    /// mode, which the seed selects.
    ///
    /// # Errors
    /// The first difference.
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
        ];
        let (name, engine) = more[(case.seed / 4 % 7) as usize];
        let mut summary = Summary::of(&expected);
        let bursts = &self.bursts[(case.seed / 4 % 5) as usize];
        let others = [("off", &self.off), ("exact", &self.exact), ("bursts", bursts), (name, engine)];
        for (name, engine) in others {
            let ran = ours::run(engine, &case.wasm, &case.drive).map_err(|e| format!("{name}: {e}"))?;
            if ran.outcome.overflowed() || expected.overflowed() {
                summary.overflowed = 1;
                continue;
            }
            expected.same_as(&ran.outcome).map_err(|e| format!("{name}, reference first: {e}"))?;
        }
        Ok(summary)
    }

    /// Demands that functions that are reoptimized by an invented profile, with and without checks and bursts, leave behind
    /// what the interpreter does.
    ///
    /// # Errors
    /// The first difference.
    pub fn superblocks(&self, case: &Case) -> Result<Summary, String> {
        let expected = reference::run(&self.reference, &case.wasm, &case.drive)?.outcome;
        let mut summary = Summary::of(&expected);
        let plain = Module::new(&self.off, &case.wasm).map_err(|e| e.to_string())?;
        let profile = Arc::new(nonsense::profile(&plain, case.seed));
        let ways = [
            ("plain", Strategy::Optimized, ProfilingConfig::Off),
            ("tiered", Strategy::Tiered, ProfilingConfig::Off),
            ("in bursts", Strategy::Optimized, bursts(1, 1, "orig")),
            ("in tiers and bursts", Strategy::Tiered, bursts(2, 3, "default")),
        ];
        for (name, strategy, profiling) in ways {
            let mut config = tiered();
            config.strategy(strategy).profiling(profiling).reoptimization(Some(Policy::eager()));
            let engine = engine(config.profile_use(profile.clone()));
            let ran = ours::run(&engine, &case.wasm, &case.drive).map_err(|e| format!("{name}: {e}"))?;
            summary.add_decisions(&ran.reoptimizations());
            if ran.outcome.overflowed() || expected.overflowed() {
                summary.overflowed = 1;
                continue;
            }
            expected.same_as(&ran.outcome).map_err(|e| format!("{name}, reference first: {e}"))?;
        }
        Ok(summary)
    }

    /// Demands that the calling context tree is what a shadow stack says that follows the trace of the same run; and that
    /// it is the same when there is no trace, and when all else is counted too.
    ///
    /// # Errors
    /// The first difference.
    pub fn contexts(&self, case: &Case) -> Result<Summary, String> {
        let engine = &self.contexts_traced[(case.seed / 4 % 3) as usize];
        let module = Module::new(engine, &case.wasm).map_err(|e| e.to_string())?;
        let traced = ours::run(engine, &case.wasm, &case.drive)?;
        let mut summary = Summary::of(&traced.outcome);
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
            if !ran.outcome.overflowed() && contexts_of(&ran)?.as_ref() != Some(&tree) {
                return Err(format!("the tree is another one {name}"));
            }
        }
        summary.sampled_contexts = self.contexts_in_bursts(case, &tree)?;
        Ok(summary)
    }

    /// Demands that a burst that does not end sees all calls that wasm makes in the tree, and that others see a part of them;
    /// gives how many contexts those have seen. Frames that tail calls have replaced are not on the stack when a burst begins.
    fn contexts_in_bursts(&self, case: &Case, tree: &ContextTree) -> Result<u64, String> {
        if has_tail_calls(&case.wasm)? {
            return Ok(0);
        }
        let expected = without_calls_by_host(tree);
        let some = &self.contexts_in_bursts[(case.seed / 4 % 2) as usize];
        let all = ours::run(&self.contexts_in_burst, &case.wasm, &case.drive)?;
        let some = ours::run(some, &case.wasm, &case.drive)?;
        if all.outcome.overflowed() || some.outcome.overflowed() {
            return Ok(0);
        }
        let all = contexts_of(&all)?.map(|tree| ContextTree { kind: FigureKind::Exact, ..tree });
        if all.as_ref() != Some(&expected) {
            return Err(format!("in a burst {all:#?}, exactly {expected:#?}"));
        }
        let (expected, found) =
            (calls_by_chain(&expected), contexts_of(&some)?.map(|tree| calls_by_chain(&tree)));
        let found = found.unwrap_or_default();
        let wrong = found.iter().find(|(chain, calls)| expected.get(*chain).is_none_or(|most| most < *calls));
        match wrong {
            Some((chain, calls)) => Err(format!("{calls} calls in bursts of {chain:?}, more than there are")),
            None => Ok(found.len() as u64),
        }
    }

    /// Demands that the profile is exactly what the module counts of itself in the interpreter; that a counter on
    /// every edge gives the same profile, and one in every block the same block counts; and that counting does not
    /// change what the module does.
    ///
    /// # Errors
    /// The first difference.
    pub fn oracle(&self, case: &Case) -> Result<Summary, String> {
        let oracle = Oracle::new(&case.wasm, Detail::Instructions)?;
        let counted = reference::run(&self.reference, &oracle.wasm, &case.drive)?;
        let ran = ours::run(&self.exact, &case.wasm, &case.drive)?;
        let mut summary = Summary::of(&counted.outcome);
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
            return self.same_run(case).map(|compared| Summary { compared, ..summary });
        }
        counted.outcome.same_as(&ran.outcome)?;
        summary.compared = compare(&oracle, &counted.counters, &profile)?;
        host_calls(&profile, &counted.outcome)?;
        self.every_edge(case, &profile)?;
        self.edges_of_paths(case, &profile)?;
        self.paths_in_a_burst(case)?;
        self.every_block(case, &oracle, &counted.counters)?;
        if (case.seed / 4).is_multiple_of(4) {
            self.same_run(case)?;
        }
        Ok(summary)
    }

    /// Demands that a trace has the data references that the module logs of itself in the interpreter.
    ///
    /// # Errors
    /// The first difference.
    pub fn references(&self, case: &Case) -> Result<Summary, String> {
        let logged = reference::run(&self.reference, &logging(&case.wasm)?, &case.drive)?;
        let mut summary = Summary::of(&logged.outcome);
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

    /// The same for modules that use up the stack, where engines differ and so do runs: one run counts in both ways.
    ///
    /// # Errors
    /// The first difference.
    pub fn overflow(&self, case: &Case) -> Result<Summary, String> {
        let ran = ours::run(&self.exact, &case.wasm, &case.drive)?;
        ran.profile().ok_or("not instantiated")?.and_then(|p| Ok(p.verify()?)).map_err(|e| e.to_string())?;
        Ok(Summary { compared: self.same_run(case)?, ..Summary::of(&ran.outcome) })
    }

    /// One run that counts in both ways, so that it does not matter where it ends.
    fn same_run(&self, case: &Case) -> Result<Compared, String> {
        let oracle = Oracle::new(&case.wasm, Detail::Blocks)?.of_itself()?;
        let mut ran = ours::run(&self.exact, &oracle.wasm, &case.drive)?;
        let profile = ran.profile().ok_or("not instantiated")?.map_err(|e| e.to_string())?;
        compare(&oracle, &ran.counters(), &profile).map_err(|e| format!("in the same run: {e}"))
    }

    fn every_edge(&self, case: &Case, profile: &Profile) -> Result<(), String> {
        let ran = ours::run(&self.every_edge, &case.wasm, &case.drive)?;
        let simple = ran.profile().ok_or("not instantiated")?.map_err(|e| e.to_string())?;
        same_counts(&simple, profile).map_err(|e| format!("a counter on every edge first: {e}"))
    }

    /// Demands that a burst that does not end counts every path that ran to its end.
    fn paths_in_a_burst(&self, case: &Case) -> Result<(), String> {
        let finished = |engine: &Engine| {
            let ran = ours::run(engine, &case.wasm, &case.drive)?;
            let profile = ran.profile().ok_or("not instantiated")?.map_err(|e| e.to_string())?;
            let of = |function: &FunctionProfile| {
                let paths = function.paths.as_ref().filter(|paths| !paths.finished.is_empty())?;
                Some((function.index, paths.finished.clone()))
            };
            let functions = profile.functions.iter().filter_map(of).collect::<Vec<_>>();
            Ok::<_, String>((functions, ran.outcome.overflowed()))
        };
        let ((expected, overflowed), (found, also)) = (finished(&self.paths)?, finished(&self.burst)?);
        if found == expected || overflowed || also {
            return Ok(());
        }
        Err(format!("in a burst {found:?}, exactly {expected:?}"))
    }

    /// Paths say of edges what counters on edges say.
    fn edges_of_paths(&self, case: &Case, profile: &Profile) -> Result<(), String> {
        let ran = ours::run(&self.paths, &case.wasm, &case.drive)?;
        let mut paths = ran.profile().ok_or("not instantiated")?.map_err(|e| e.to_string())?;
        paths.verify().map_err(|e| e.to_string())?;
        paths.functions.iter_mut().for_each(|function| function.paths = None);
        same_counts(&paths, profile).map_err(|e| format!("edges that follow from paths first: {e}"))
    }

    /// Demands that every second path can be interesting: if these are counted too, paths are those of a trace of the same
    /// run; if not, they are the others alone. All functions are taken to have too many paths for counters.
    ///
    /// # Errors
    /// The first difference.
    pub fn preferential(&self, case: &Case) -> Result<Summary, String> {
        let plain = ours::run(&self.paths, &case.wasm, &case.drive)?;
        let summary = Summary::of(&plain.outcome);
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
        // Untraced, so that loops are unrolled.
        let others = ours::run(&engine(&preferential(strategy, uncounted)), &case.wasm, &case.drive)?;
        // Else the stack may have ended elsewhere.
        if !ran.outcome.overflowed() && !others.outcome.overflowed() && !stops_in_tail_calls(&all) {
            let found = others.profile().ok_or("not instantiated")?.map_err(|e| e.to_string())?;
            found.verify().map_err(|e| e.to_string())?;
            let expected = all.only(&all.residual(&tests).map_err(|e| e.to_string())?);
            same_paths(&found, &expected)?;
        }
        Ok(Summary { paths, ..summary })
    }

    /// Demands that the paths that were counted are those of a trace of the same run, wherever it ends, in the tier that
    /// the seed selects.
    ///
    /// # Errors
    /// The first difference.
    pub fn paths(&self, case: &Case) -> Result<Summary, String> {
        let engine = &self.traced_paths[(case.seed / 4 % 3) as usize];
        let ran = ours::run(engine, &case.wasm, &case.drive)?;
        let trace = ran.trace.as_ref().ok_or("not traced")?;
        let summary = Summary::of(&ran.outcome);
        let Some(profile) = ran.profile() else { return Ok(summary) };
        let info = parse(Arc::from(&*case.wasm)).map_err(|e| e.to_string())?;
        let profile = profile.map_err(|e| e.to_string())?;
        let paths = compare_paths(&info, &profile, trace)?;
        if !ran.outcome.overflowed() && !stops_in_tail_calls(&profile) {
            self.paths_alone(case, &profile)?;
        }
        Ok(Summary { paths, ..summary })
    }

    /// Demands the same paths where nothing but paths is recorded, so that loops are unrolled.
    fn paths_alone(&self, case: &Case, profile: &Profile) -> Result<(), String> {
        let ran = ours::run(&self.paths, &case.wasm, &case.drive)?;
        let alone = ran.profile().ok_or("not instantiated")?.map_err(|e| e.to_string())?;
        let (found, expected) = (plain_paths(&alone), plain_paths(profile));
        if ran.outcome.overflowed() || found == expected {
            return Ok(());
        }
        Err(format!("alone {found:?}, expected {expected:?}"))
    }

    /// Demands that the paths in each calling context are those of a trace of the same run.
    ///
    /// # Errors
    /// The first difference.
    pub fn flow(&self, case: &Case) -> Result<Summary, String> {
        let engine = &self.flow_traced[(case.seed / 4 % 3) as usize];
        let module = Module::new(engine, &case.wasm).map_err(|e| e.to_string())?;
        let ran = ours::run(engine, &case.wasm, &case.drive)?;
        let mut summary = Summary::of(&ran.outcome);
        let Some(profile) = ran.profile() else { return Ok(summary) };
        let profile = profile.map_err(|e| e.to_string())?;
        profile.verify().map_err(|e| e.to_string())?;
        let trace = ran.trace.as_ref().ok_or("not traced")?;
        summary.flow = compare_flow(&module, &profile, trace, ran.host_log())? as u64;
        Ok(summary)
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

/// Each tier, chunks that end everywhere, and bounds checks in the code.
fn referenced() -> Vec<Engine> {
    let strategies = [Strategy::Optimized, Strategy::Baseline, Strategy::Tiered];
    let settings = strategies.into_iter().zip([8, 64 << 10, 100]);
    let engine = |(strategy, buffer)| {
        let mut config = Config::new();
        config.trace(Tracing::Best).trace_references(true).trace_buffer(buffer);
        config.strategy(strategy).promote_after(3).background_compilation(false);
        if strategy == Strategy::Baseline {
            config.memory_reservation(1 << 16).spectre_guards(false);
        }
        Engine::new(&config).expect("an engine for this machine")
    };
    settings.map(engine).collect()
}

/// Demands that two profiles differ in nothing but their cost.
///
/// # Errors
/// The first difference.
pub fn same_counts(a: &Profile, b: &Profile) -> Result<(), String> {
    if a.functions.len() != b.functions.len() {
        return Err(format!("{} or {} functions", a.functions.len(), b.functions.len()));
    }
    for (a, b) in a.functions.iter().zip(&b.functions) {
        if let Some((a, b)) = a.edges.iter().zip(&b.edges).find(|(a, b)| a != b) {
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
