//! The log of bursts, in order: a burst that never ends records the whole run, path by path. Extended paths counted at
//! run time equal those of the log.

use std::io::{Cursor, Write};
use std::sync::{Arc, Mutex};

use wprof::profiler::{
    BurstEvent, BurstLengths, BurstReader, ExtendedPaths, Extension, Profile, TraceEnding, TraceEvent,
    TraceReader, TraceStep,
};
use wprof::*;

type Outcome = std::result::Result<(), Box<dyn std::error::Error>>;

/// A loop with a branch that calls itself, a leaf, and a host function.
const WAT: &str = r#"(module
    (import "host" "tick" (func $tick))
    (memory 1)
    (func $leaf (param $n i32) (result i32)
        (i64.store offset=8 (local.get $n) (i64.load32_u (i32.const 16)))
        (memory.fill (local.get $n) (i32.const 1) (i32.const 5))
        (if (result i32) (i32.and (local.get $n) (i32.const 1))
            (then (i32.mul (local.get $n) (i32.const 3))) (else (local.get $n))))
    (func $run (export "run") (param $n i32) (result i32) (local $i i32) (local $sum i32)
        (if (i32.eqz (local.get $n)) (then (call $tick) (return (i32.const 1))))
        (loop $again
            (local.set $sum (i32.add (local.get $sum) (call $leaf (local.get $i))))
            (if (i32.eq (local.get $i) (i32.const 3))
                (then (local.set $sum (i32.add (local.get $sum)
                    (call $run (i32.sub (local.get $n) (i32.const 1)))))))
            (br_if $again (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 7))))
        (local.get $sum))
)"#;

#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().expect("not poisoned").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn config(lengths: BurstLengths) -> Config {
    let mut config = Config::new();
    let checks = "orig".parse().expect("a known name");
    config.profiling(ProfilingConfig::Adaptive(Adaptive { lengths, checks, ..Adaptive::default() }));
    config.strategy(Strategy::Optimized).background_compilation(false).record_bursts(true);
    config
}

/// The events of a program's bursts, and its profile.
struct Recorded {
    events: Vec<BurstEvent>,
    profile: Profile,
}

/// Runs the program, and returns its burst events and its profile.
fn record(config: &Config) -> std::result::Result<(Vec<BurstEvent>, Profile), Box<dyn std::error::Error>> {
    run(config).map(|Recorded { events, profile, .. }| (events, profile))
}

fn run(config: &Config) -> std::result::Result<Recorded, Box<dyn std::error::Error>> {
    let engine = Engine::new(config)?;
    let module = Module::new(&engine, WAT)?;
    let (mut store, mut linker) = (Store::new(&engine, ()), Linker::new(&engine));
    linker.func_wrap("host", "tick", || ())?;
    let instance = linker.instantiate(&mut store, &module)?;
    let out = Shared::default();
    store.record_bursts(&module, "test", out.clone(), u64::MAX)?;
    instance.get_typed_func::<i32, i32>(&mut store, "run")?.call(&mut store, 20)?;
    let summary = store.finish_bursts()?;
    let bytes = std::mem::take(&mut *out.0.lock().expect("not poisoned"));
    assert_eq!((summary.bytes, summary.limit_reached), (bytes.len() as u64, false));
    let mut reader = BurstReader::open(Cursor::new(bytes))?;
    assert_eq!((reader.ending(), reader.head().module_hash), (TraceEnding::Finished, module.hash()));
    let events = reader.events().collect::<std::result::Result<_, _>>()?;
    Ok(Recorded { events, profile: instance.profile(&store)? })
}

/// Reports whether a path leaves its function.
fn leaves(profile: &Profile, func: u32, id: u64) -> std::result::Result<bool, Box<dyn std::error::Error>> {
    let function = profile.function(func).expect("it ran");
    let (cfg, numbering) = (function.cfg()?, function.path_numbering().expect("paths"));
    let path = numbering.path(id).expect("a path of the function");
    Ok(cfg.edge(*path.edges.last().expect("paths have edges")).to == cfg.exit())
}

/// Returns a trace of the same run.
fn trace() -> std::result::Result<TraceReader<Cursor<Vec<u8>>>, Box<dyn std::error::Error>> {
    let mut config = Config::new();
    let engine = Engine::new(config.trace(Tracing::Best).trace_references(true))?;
    let module = Module::new(&engine, WAT)?;
    let (mut store, mut linker) = (Store::new(&engine, ()), Linker::new(&engine));
    linker.func_wrap("host", "tick", || ())?;
    let instance = linker.instantiate(&mut store, &module)?;
    let out = Shared::default();
    store.record_trace(&module, "test", out.clone(), u64::MAX)?;
    instance.get_typed_func::<i32, i32>(&mut store, "run")?.call(&mut store, 20)?;
    store.finish_trace()?;
    let bytes = std::mem::take(&mut *out.0.lock().expect("not poisoned"));
    Ok(TraceReader::open(Cursor::new(bytes))?)
}

/// Returns the functions that the traced run enters.
fn traced_entries() -> std::result::Result<Vec<u32>, Box<dyn std::error::Error>> {
    let mut reader = trace()?;
    let mut entries = Vec::new();
    for event in reader.events_from(0) {
        if let TraceEvent::Enter(func) = event? {
            entries.push(func);
        }
    }
    Ok(entries)
}

#[test]
fn a_burst_without_end_records_every_entry_and_path_in_order() -> Outcome {
    let (events, profile) = record(&config(BurstLengths::new(1, BurstLengths::FOREVER)))?;
    assert_eq!(events[0], BurstEvent::Begin { checks: 0 });
    let entered = |event: &BurstEvent| match event {
        BurstEvent::Enter { func } => Some(*func),
        _ => None,
    };
    assert_eq!(events.iter().filter_map(entered).collect::<Vec<_>>(), traced_entries()?);
    // Each path occurs as often as it is counted; a path that leaves its function ends the innermost frame.
    let mut live = Vec::new();
    for event in &events[1..] {
        match *event {
            BurstEvent::Begin { .. } | BurstEvent::BeginByTime { .. } | BurstEvent::Access { .. } => {
                panic!("one burst, no accesses")
            }
            BurstEvent::Enter { func } => live.push(func),
            BurstEvent::Path { func, id } => {
                assert_eq!(live.last(), Some(&func), "only the innermost frame runs");
                if leaves(&profile, func, id)? {
                    live.pop();
                }
            }
        }
    }
    assert!(live.is_empty());
    for function in &profile.functions {
        for path in &function.paths().expect("paths").finished {
            let event = BurstEvent::Path { func: function.index, id: path.id };
            let count = events.iter().filter(|found| **found == event).count();
            assert_eq!(count as u64, path.count);
        }
    }
    Ok(())
}

#[test]
fn a_burst_without_end_records_every_access_if_asked_to() -> Outcome {
    let forever = BurstLengths::new(1, BurstLengths::FOREVER);
    let (events, _) = record(config(forever).trace_references(true))?;
    let accesses = events.iter().filter_map(|event| match *event {
        BurstEvent::Access { site, address, bytes } => Some((site, address, bytes)),
        _ => None,
    });
    let mut expected = Vec::new();
    for step in trace()?.steps_from(0) {
        if let TraceStep::Reference(found) = step? {
            expected.push((found.access.site, found.address, found.bytes));
        }
    }
    assert!(expected.len() > 300);
    assert_eq!(accesses.collect::<Vec<_>>(), expected);
    Ok(())
}

/// Reports whether a burst equals a section of the run, except for paths of frames that were called before the burst.
fn is_seen(burst: &[BurstEvent], mut all: &[BurstEvent]) -> bool {
    burst.iter().all(|event| {
        let at = all.iter().position(|found| found == event);
        let missed = at.map(|at| all.split_at(at));
        all = missed.map_or(&[], |(_, rest)| &rest[1..]);
        missed.is_some_and(|(missed, _)| missed.iter().all(|event| matches!(event, BurstEvent::Path { .. })))
    })
}

#[test]
fn short_bursts_are_parts_of_that_and_say_where_they_begin() -> Outcome {
    let (all, _) = record(&config(BurstLengths::new(1, BurstLengths::FOREVER)))?;
    let (events, profile) = record(&config(BurstLengths::new(20, 5)))?;
    let begins = events.iter().filter_map(|event| match event {
        BurstEvent::Begin { checks } => Some(*checks),
        _ => None,
    });
    let begins: Vec<u64> = begins.collect();
    assert!(begins.len() > 3, "{begins:?}");
    assert!(begins.windows(2).all(|pair| pair[1] - pair[0] == 25), "{begins:?}");
    let bursts = events.split(|event| matches!(event, BurstEvent::Begin { .. })).skip(1);
    for burst in bursts {
        // The first path may have begun before the burst.
        let whole = burst.get(1..).unwrap_or_default();
        assert!((0..all.len()).any(|start| is_seen(whole, &all[start..])), "{burst:?}");
    }
    let paths = events.iter().filter(|event| matches!(event, BurstEvent::Path { .. })).count() as u64;
    // The log has the paths that end during a burst. The counts have the paths whose check was in a burst: the two
    // differ at either end.
    let counted = profile.functions.iter().flat_map(|function| function.paths());
    let counted = counted.flat_map(|paths| &paths.finished).map(|path| path.count).sum::<u64>();
    assert!(counted.abs_diff(paths) <= 4 * begins.len() as u64, "{counted} {paths} {}", begins.len());
    Ok(())
}

#[test]
fn extended_paths_of_a_running_program_are_those_of_its_bursts() -> Outcome {
    let extensions = ["back-edges:1", "back-edges:3", "calls:1", "calls:2"];
    for (checking, instrumented) in [(1, BurstLengths::FOREVER), (20, 5), (3, 40)] {
        for extension in extensions.map(|text| text.parse::<Extension>().expect("an extension")) {
            let mut config = config(BurstLengths::new(checking, instrumented));
            let Recorded { events, profile } = run(config.extend_paths(Some(extension)))?;
            let mut expected = ExtendedPaths::new(extension);
            for event in events {
                match event {
                    BurstEvent::Enter { func } => expected.enter(func),
                    BurstEvent::Path { func, id } => expected.end((func, id), leaves(&profile, func, id)?),
                    _ => expected.begin(),
                }
            }
            let expected = expected.profile();
            assert!(expected.paths.iter().any(|path| path.pieces.len() > 1), "{extension:?}");
            assert_eq!(profile.extended.as_ref(), Some(&expected), "{extension:?} {checking}:{instrumented}");
            let mut twice = Profile::from_bytes(&profile.to_bytes()?)?;
            assert_eq!(twice, profile);
            twice.merge(&profile)?;
            let of_both = twice.extended.as_ref().expect("both have some").by_count()[0].count;
            assert_eq!(of_both, 2 * expected.by_count()[0].count);
        }
    }
    assert_eq!(run(&config(BurstLengths::default()))?.profile.extended, None);
    Ok(())
}

#[test]
fn what_cannot_be_recorded_is_refused() -> Outcome {
    let engine = Engine::with_profiling(ProfilingConfig::adaptive())?;
    let module = Module::new(&engine, WAT)?;
    let mut store = Store::new(&engine, ());
    assert!(store.record_bursts(&module, "test", std::io::sink(), 1 << 20).is_err());
    assert!(store.finish_bursts().is_err());
    Ok(())
}
