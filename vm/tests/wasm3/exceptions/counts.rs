//! Counts, contexts, bursts and traces are exact across throws.

use std::collections::BTreeMap;

use wprof::profiler::{BurstLengths, EdgeKind, Profile, TraceEvent};
use wprof::*;

use super::Outcome;
use super::sample::{expected, sample, strategies};
use crate::memory_file::File;

const ALL: [Collect; 6] = [
    Collect::AllEdges,
    Collect::Edges,
    Collect::Paths,
    Collect::Blocks,
    Collect::BlockCounters,
    Collect::AllBlocks,
];

/// The figures on which all placements must agree: block counts by function, calls and instructions, and where frames
/// ended.
fn figures(profile: &Profile) -> impl Clone + PartialEq + std::fmt::Debug + use<> {
    let functions = profile.functions.iter();
    let figures = functions.map(|f| (f.index, f.calls(), f.ops(), f.block_counts(), f.exits.clone()));
    figures.collect::<Vec<_>>()
}

#[test]
fn all_placements_count_alike_across_throws() -> Outcome {
    for exits_at in [None, Some(33)] {
        let mut first = None;
        for (collect, mut config) in
            ALL.into_iter().flat_map(|collect| strategies().map(move |c| (collect, c)))
        {
            config.profiling(ProfilingConfig::Exact(collect));
            let (mut store, module, linker) = sample(&config)?;
            (store.data_mut().takes_profiles, store.data_mut().exits_at) = (true, exits_at);
            let instance = linker.instantiate(&mut store, &module)?;
            let run = instance.get_typed_func::<i32, i32>(&mut store, "run")?;
            assert_eq!(run.call(&mut store, 60).ok(), exits_at.is_none().then(|| expected(60).0));
            let profile = instance.profile(&store)?;
            profile.verify()?;
            let seen: Vec<_> = store.data().profiles.iter().map(figures).collect();
            let found = (figures(&profile), instance.block_counts(&store)?, seen);
            assert!(found.2.len() > 10);
            let first = first.get_or_insert(found.clone());
            assert_eq!(&found, first, "{collect:?} {config:?}");
        }
    }
    Ok(())
}

#[test]
fn edges_to_handlers_have_names_and_counts() -> Outcome {
    let mut config = Config::new();
    config.profiling(ProfilingConfig::Exact(Collect::Edges));
    let (mut store, module, linker) = sample(&config)?;
    let instance = linker.instantiate(&mut store, &module)?;
    instance.get_typed_func::<i32, i32>(&mut store, "run")?.call(&mut store, 60)?;
    let profile = instance.profile(&store)?;
    let of = |name: &str, kind: EdgeKind| {
        let function = profile.functions.iter().find(|f| f.name.as_deref() == Some(name)).expect("it ran");
        function.counted_edges().filter(|(edge, _)| edge.kind == kind).map(|(_, count)| count).sum::<u64>()
    };
    assert_eq!(of("cleanup", EdgeKind::CatchAll), expected(60).1 as u64);
    // Tag 0 is the host's, tag 1 is `a`.
    assert_eq!(of("run", EdgeKind::Catch(1)), (1..=60).filter(|n| n % 5 == 0).count() as u64);
    let by_host = (1..=60).filter(|n| n % 5 > 2 && n % 7 == 3).count() as u64;
    assert_eq!(of("run", EdgeKind::Catch(0)), by_host);
    Ok(())
}

#[test]
fn counts_of_events_are_exact_across_throws() -> Outcome {
    for counting in [Counting::Chords, Counting::PerBlock, Counting::PerInstruction] {
        for (budget, mut config) in
            [None, Some("instructions")].into_iter().flat_map(|b| strategies().map(move |c| (b, c)))
        {
            let events = BUILT_IN_EVENTS.iter().filter_map(|name| EventModel::built_in(name));
            config
                .profiling(ProfilingConfig::Exact(Collect::Edges))
                .count_events(events)
                .event_counting(counting);
            if let Some(kind) = budget {
                config.budget(kind);
            }
            for exits_at in [None, Some(33)] {
                let (mut store, module, linker) = sample(&config)?;
                (store.data_mut().takes_profiles, store.data_mut().exits_at) = (true, exits_at);
                let instance = linker.instantiate(&mut store, &module)?;
                let run = instance.get_typed_func::<i32, i32>(&mut store, "run")?;
                assert_eq!(run.call(&mut store, 60).is_ok(), exits_at.is_none());
                assert_eq!(store.event_count("instructions")?, instance.profile(&store)?.ops(), "{config:?}");
                assert!(store.data().counts.len() > 10);
                for (counted, truth) in &store.data().counts {
                    assert_eq!(counted, truth, "{config:?}");
                }
            }
        }
    }
    Ok(())
}

#[test]
fn contexts_are_counted_across_throws() -> Outcome {
    for mut config in strategies() {
        config.profiling(ProfilingConfig::Exact(Collect::Edges)).count_contexts(true);
        let (mut store, module, linker) = sample(&config)?;
        let instance = linker.instantiate(&mut store, &module)?;
        instance.get_typed_func::<i32, i32>(&mut store, "run")?.call(&mut store, 60)?;
        let profile = instance.profile(&store)?;
        let tree = profile.contexts.as_ref().expect("counted");
        tree.verify()?;
        for function in &profile.functions {
            let records = (0..tree.records.len() as u32).filter(|&record| {
                matches!(tree.callee(record), profiler::Callee::Function { index, .. } if *index == function.index)
            });
            let calls: u64 = records.clone().map(|record| tree.records[record as usize].calls).sum();
            assert_eq!(calls, function.calls(), "{:?}", function.name);
        }
        // `run` calls two functions at one call site, and one of these calls the other.
        let cleanups = tree.records.iter().filter(|record| {
            let routine = &tree.routines[record.routine as usize];
            matches!(&routine.callee, profiler::Callee::Function { name: Some(name), .. } if name == "cleanup")
        });
        assert_eq!(cleanups.count(), 2);
    }
    Ok(())
}

/// Returns the paths that ran to their end, by function.
fn finished(profile: &Profile) -> BTreeMap<u32, Vec<(u64, u64)>> {
    let paths = |f: &profiler::FunctionProfile| {
        let finished = &f.paths()?.finished;
        Some((f.index, finished.iter().map(|path| (path.id, path.count)).collect::<Vec<_>>()))
    };
    profile.functions.iter().filter_map(paths).filter(|(_, paths)| !paths.is_empty()).collect()
}

/// Returns the calls of each function from each caller, over all contexts.
fn calls(tree: &profiler::ContextTree) -> BTreeMap<(String, String), u64> {
    let mut calls = BTreeMap::new();
    for record in tree.records.iter().skip(1) {
        let name = |routine: u32| format!("{:?}", tree.routines[routine as usize].callee);
        let caller = name(tree.records[record.parent as usize].routine);
        *calls.entry((caller, name(record.routine))).or_default() += record.calls;
    }
    calls
}

#[test]
fn a_burst_without_end_sees_all_paths_and_calls_across_throws() -> Outcome {
    let checks: Checks = "orig".parse()?;
    let lengths = BurstLengths::new(1, BurstLengths::FOREVER);
    let forever = Adaptive { lengths, checks, ..Adaptive::default() };
    let mut profiles = Vec::new();
    for profiling in [ProfilingConfig::Exact(Collect::Paths), ProfilingConfig::Adaptive(forever)] {
        let mut config = Config::new();
        config.strategy(Strategy::Optimized).background_compilation(false).count_contexts(true);
        let (mut store, module, linker) = sample(config.profiling(profiling))?;
        let instance = linker.instantiate(&mut store, &module)?;
        let run = instance.get_typed_func::<i32, i32>(&mut store, "run")?;
        assert_eq!(run.call(&mut store, 60)?, expected(60).0);
        profiles.push(instance.profile(&store)?);
    }
    assert_eq!(finished(&profiles[0]), finished(&profiles[1]));
    let [exact, sampled] = [0, 1].map(|of: usize| calls(profiles[of].contexts.as_ref().expect("counted")));
    assert_eq!(exact, sampled);
    Ok(())
}

/// Returns, from a trace, how often each function is entered, and how often it is left by a return and otherwise.
fn traced_ends(file: &File) -> BTreeMap<u32, (u64, u64)> {
    let (mut ends, mut stack) = (BTreeMap::<u32, (u64, u64)>::new(), Vec::new());
    for event in file.events() {
        match event {
            TraceEvent::Enter(func) => {
                ends.entry(func).or_default().0 += 1;
                stack.push(func);
            }
            TraceEvent::Block(func, _) | TraceEvent::HostCall(func, _) | TraceEvent::HostReturn(func, _) => {
                assert_eq!(stack.last(), Some(&func));
            }
            TraceEvent::Leave(func) => assert_eq!(stack.pop(), Some(func)),
            TraceEvent::Unwound { function, .. } => {
                assert_eq!(stack.pop(), Some(function));
                ends.entry(function).or_default().1 += 1;
            }
        }
    }
    assert!(stack.is_empty());
    ends
}

#[test]
fn a_traced_run_is_replayed_across_throws() -> Outcome {
    let (mut chunks, mut unwound) = (0, 0);
    for (buffer, mut config) in [8, 1 << 16].into_iter().flat_map(|b| strategies().map(move |c| (b, c))) {
        config.profiling(ProfilingConfig::Exact(Collect::Edges)).trace(Tracing::Best).trace_buffer(buffer);
        for exits_at in [None, Some(33)] {
            let (mut store, module, linker) = sample(&config)?;
            store.data_mut().exits_at = exits_at;
            let file = File::default();
            store.record_trace(&module, "sample", file.clone(), u64::MAX)?;
            let instance = linker.instantiate(&mut store, &module)?;
            let run = instance.get_typed_func::<i32, i32>(&mut store, "run")?;
            assert_eq!(run.call(&mut store, 60).ok(), exits_at.is_none().then(|| expected(60).0));
            let own = instance.get_typed_func::<i32, i32>(&mut store, "own")?;
            own.call(&mut store, 20)?;
            assert!(!store.finish_trace()?.limit_reached);
            let ends = traced_ends(&file);
            for function in &instance.profile(&store)?.functions {
                let stopped: u64 = function.exits.iter().map(|exit| exit.count).sum();
                assert_eq!(ends[&function.index], (function.calls(), stopped), "{:?}", function.name);
                unwound += stopped;
            }
            chunks += file.trace().chunk_count();
        }
    }
    assert!(chunks > 100 && unwound > 500, "{chunks} {unwound}");
    Ok(())
}
