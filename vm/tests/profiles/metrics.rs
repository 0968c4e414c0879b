//! Metrics along paths, of runs that are small enough to predict the values.

use wprof::profiler::{AccessEnergy, CacheLevels, CacheShape, Callee, FunctionProfile, LevelMisses, Profile};
use wprof::*;
use wprof_jit::events::CustomModel;

type Outcome = std::result::Result<(), Box<dyn std::error::Error>>;

const STRATEGIES: [Strategy; 3] = [Strategy::Baseline, Strategy::Optimized, Strategy::Tiered];

/// Creates an engine that measures every metric along paths, with a cache of 1 KiB, 2 ways, lines of 64 bytes.
fn engine(strategy: Strategy) -> Result<Engine> {
    let mut config = Config::new();
    config.profiling(ProfilingConfig::Exact(Collect::Paths)).strategy(strategy);
    config.promote_after(20).background_compilation(false);
    config.measure([Metric::CacheMisses(CacheShape::new(1024, 2, 64).expect("a cache")), Metric::Cycles]);
    let kinds = ["instructions", "loads", "back_edges_and_calls"];
    config.count_events(kinds.into_iter().filter_map(EventModel::built_in));
    Engine::new(&config)
}

fn instance(engine: &Engine, wat: &str) -> Result<(Store<()>, Instance)> {
    let mut linker = Linker::new(engine);
    linker.func_wrap("host", "f", || ())?;
    linker.func_wrap("host", "back", |mut caller: Caller<'_, ()>| -> Result<()> {
        let func = caller.get_export("touch").and_then(Extern::into_func).expect("exported");
        func.typed::<i32, ()>(&caller)?.call(&mut caller, 4096)
    })?;
    let mut store = Store::new(engine, ());
    let instance = linker.instantiate(&mut store, &Module::new(engine, wat)?)?;
    Ok((store, instance))
}

/// Returns the sums of a metric over all finished paths of a function, and over all unfinished ones.
fn sums(profile: &Profile, function: &FunctionProfile, metric: &str) -> [u64; 2] {
    let column = profile.metrics.iter().position(|known| known.name == metric).expect("measured");
    let paths = function.paths().expect("paths");
    let finished = paths.finished.iter().map(|path| path.metrics[column]);
    [finished.sum(), paths.unfinished.iter().map(|path| path.metrics[column]).sum()]
}

fn function<'a>(profile: &'a Profile, name: &str) -> &'a FunctionProfile {
    profile.functions.iter().find(|function| function.name.as_deref() == Some(name)).expect("it ran")
}

const WAT: &str = r#"(module
    (import "host" "f" (func $f)) (import "host" "back" (func $back))
    (memory (export "memory") 2)
    (func $touch (export "touch") (param i32) (drop (i64.load (local.get 0))))
    (func $run (export "run") (param $n i32) (local $i i32)
        (loop $again
            (i32.store8 offset=1 (i32.mul (local.get $i) (i32.const 64)) (i32.const 1))
            (call $touch (i32.const 65536))
            (call $f)
            (br_if $again (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (local.get $n)))))
    (func $reenter (export "reenter") (param $at i32)
        (call $back)
        (drop (i32.load (local.get $at)))
        (call $back)
        (drop (i32.load (i32.const 70000)))
        (if (local.get $at) (then (unreachable)))))"#;

#[test]
fn paths_pay_for_their_own_misses_only() -> Outcome {
    for strategy in STRATEGIES {
        let (mut store, instance) = instance(&engine(strategy)?, WAT)?;
        instance.get_typed_func::<i32, ()>(&mut store, "run")?.call(&mut store, 100)?;
        let profile = instance.profile(&store)?;
        profile.verify()?;
        // Each iteration touches a new line, which always misses; the callee's line stays in its set of two ways.
        assert_eq!(sums(&profile, function(&profile, "run"), "cache-misses"), [100, 0], "{strategy:?}");
        assert_eq!(sums(&profile, function(&profile, "touch"), "cache-misses"), [1, 0], "{strategy:?}");
        assert_eq!(Profile::from_bytes(&profile.to_bytes()?)?, profile);
    }
    Ok(())
}

#[test]
fn a_frame_that_ends_early_pays_until_it_ends() -> Outcome {
    for strategy in STRATEGIES {
        let (mut store, instance) = instance(&engine(strategy)?, WAT)?;
        let reenter = instance.get_typed_func::<i32, ()>(&mut store, "reenter")?;
        reenter.call(&mut store, 0)?;
        reenter.call(&mut store, 1 << 20).expect_err("out of bounds");
        reenter.call(&mut store, 8192).expect_err("unreachable");
        let profile = instance.profile(&store)?;
        profile.verify()?;
        // Lines 0, 70000 and then 2^20, which traps, and 8192; 4096 stays.
        assert_eq!(sums(&profile, function(&profile, "reenter"), "cache-misses"), [2, 2], "{strategy:?}");
        let touch = sums(&profile, function(&profile, "touch"), "cache-misses");
        assert_eq!((touch[1], touch[0] >= 1), (0, true), "{strategy:?}");
    }
    Ok(())
}

#[test]
fn events_along_paths_add_up_to_the_totals() -> Outcome {
    for strategy in STRATEGIES {
        let (mut store, instance) = instance(&engine(strategy)?, WAT)?;
        instance.get_typed_func::<i32, ()>(&mut store, "run")?.call(&mut store, 100)?;
        let reenter = instance.get_typed_func::<i32, ()>(&mut store, "reenter")?;
        reenter.call(&mut store, 1 << 20).expect_err("out of bounds");
        let profile = instance.profile(&store)?;
        for total in &profile.events {
            let of_function = |function| sums(&profile, function, &total.name).iter().sum::<u64>();
            let along_paths: u64 = profile.functions.iter().map(of_function).sum();
            assert_eq!(along_paths, total.count, "{}, {strategy:?}", total.name);
        }
        assert_eq!(profile.events.len(), 3);
    }
    Ok(())
}

/// Copies and fills a number of bytes, along one path or another, and then perhaps more bytes than there are.
#[test]
fn lengths_of_bulk_operations_are_events_of_the_paths_that_ask_for_them() -> Outcome {
    let wat = r#"(module (memory 1)
        (func $clear (param $n i32) (memory.fill (i32.const 0) (i32.const 0) (local.get $n)))
        (func $run (export "run") (param $n i32)
            (loop $again
                (if (i32.and (local.get $n) (i32.const 1))
                    (then (call $clear (local.get $n)))
                    (else (memory.copy (i32.const 0) (i32.const 9) (i32.const 100))))
                (br_if $again (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
            (memory.copy (i32.const 0) (i32.const 0) (i32.const 0x20000))))"#;
    let definition = CustomModel {
        name: "copied".into(),
        per_unit: vec![("memory.copy".into(), 2)],
        cost: vec![("memory.copy".into(), 1)],
        ..CustomModel::default()
    };
    for strategy in STRATEGIES {
        let mut config = Config::new();
        config.profiling(ProfilingConfig::Exact(Collect::Paths)).strategy(strategy).promote_after(20);
        let copied = EventModel::custom(&definition)?;
        config.count_events([copied, EventModel::built_in("fuel").expect("there is one")]);
        let engine = Engine::new(config.background_compilation(false))?;
        let (mut store, instance) = instance(&engine, wat)?;
        let run = instance.get_typed_func::<i32, ()>(&mut store, "run")?;
        run.call(&mut store, 100).expect_err("out of bounds");
        let profile = instance.profile(&store)?;
        profile.verify()?;
        assert_eq!(Profile::from_bytes(&profile.to_bytes()?)?, profile);
        // The last, unfinished path copies 100 bytes or none before it traps.
        let last = 1 + 2 * 0x20000;
        let [finished, unfinished] = sums(&profile, function(&profile, "run"), "copied");
        assert_eq!((finished, unfinished), (50 * 201, last), "{strategy:?}");
        assert_eq!(sums(&profile, function(&profile, "clear"), "copied"), [0, 0]);
        for total in &profile.events {
            let all: u64 = profile.functions.iter().flat_map(|f| sums(&profile, f, &total.name)).sum();
            assert_eq!(all, total.count, "{}, {strategy:?}", total.name);
        }
    }
    Ok(())
}

/// A length larger than any memory does not affect later measurements.
#[test]
fn lengths_without_end_are_those_of_the_path_that_traps() -> Outcome {
    let wat = r#"(module (memory i64 1)
        (func (export "run") (param $n i64) (memory.fill (i64.const 0) (i32.const 0) (local.get $n))
            (if (i64.eqz (local.get $n)) (then (unreachable)))))"#;
    let mut config = Config::new();
    config.profiling(ProfilingConfig::Exact(Collect::Paths)).count_events(EventModel::built_in("fuel"));
    let (mut store, instance) = instance(&Engine::new(&config)?, wat)?;
    let run = instance.get_typed_func::<i64, ()>(&mut store, "run")?;
    run.call(&mut store, -1).expect_err("out of bounds");
    run.call(&mut store, 0).expect_err("unreachable");
    run.call(&mut store, 10)?;
    let profile = instance.profile(&store)?;
    let [finished, unfinished] = sums(&profile, &profile.functions[0], "fuel");
    // An entry, the operation, its length, and the condition.
    assert_eq!((finished, finished + unfinished), (1 + 4 + 10 + 3, store.event_count("fuel")?));
    assert!(unfinished > i64::MAX as u64);
    Ok(())
}

#[test]
fn more_metrics_than_a_frame_has_room_for_are_refused() {
    let all = SystemEvent::names().filter_map(SystemEvent::named).map(Metric::System);
    let mut config = Config::new();
    config.profiling(ProfilingConfig::Exact(Collect::Paths)).measure(all);
    assert!(Engine::new(&config).expect_err("too many").to_string().contains("at most 6 metrics"));
}

/// The system's page fault counter of this thread grows in host functions, between calls and during compilation; none
/// of this is charged to paths or contexts.
#[test]
fn what_the_host_does_is_not_measured() -> Outcome {
    let touch_pages = || std::hint::black_box(vec![1_u8; 64 << 20]).len();
    let wat = r#"(module (import "host" "f" (func $f))
        (func $callee (call $f)) (func (export "run") (call $f) (call $callee)))"#;
    for strategy in STRATEGIES {
        let mut config = Config::new();
        config.profiling(ProfilingConfig::Exact(Collect::Paths)).count_contexts(true).strategy(strategy);
        let faults = SystemEvent::named("page-faults").expect("there is one");
        config.background_compilation(false).measure([Metric::System(faults)]);
        let engine = Engine::new(&config)?;
        let mut linker = Linker::new(&engine);
        linker.func_wrap("host", "f", move || {
            touch_pages();
        })?;
        let mut store = Store::new(&engine, ());
        let instance = linker.instantiate(&mut store, &Module::new(&engine, wat)?)?;
        let run = instance.get_typed_func::<(), ()>(&mut store, "run")?;
        for _ in 0..3 {
            touch_pages();
            run.call(&mut store, ())?;
        }
        let profile = instance.profile(&store)?;
        let along_paths: u64 =
            profile.functions.iter().flat_map(|f| sums(&profile, f, "perf-page-faults")).sum();
        // With pages of 2 MiB there would be 32 faults each time, nine times.
        assert!(along_paths < 100, "{along_paths}, {strategy:?}");
        assert_eq!(records(&profile, "perf-page-faults")[0].3, along_paths);
    }
    Ok(())
}

#[test]
fn cycles_along_paths_are_fewer_than_those_of_the_run() -> Outcome {
    for strategy in STRATEGIES {
        let (mut store, instance) = instance(&engine(strategy)?, WAT)?;
        let run = instance.get_typed_func::<i32, ()>(&mut store, "run")?;
        run.call(&mut store, 1)?;
        let clock = std::time::Instant::now();
        for _ in 0..100 {
            run.call(&mut store, 1000)?;
        }
        // No processor has more than 10 ticks per nanosecond.
        let most = clock.elapsed().as_nanos() as u64 * 10;
        let profile = instance.profile(&store)?;
        let all: u64 = profile.functions.iter().flat_map(|f| sums(&profile, f, "cycles")).sum();
        assert!(0 < all && all < most, "{all} of {most}, {strategy:?}");
        assert!(profile.metrics.iter().any(|metric| metric.name == "cycles" && metric.taken_off > 0));
    }
    Ok(())
}

/// A function that computes takes most of the time, and one that the simulations look at all the time takes little.
#[test]
fn what_simulations_cost_is_not_the_programs() -> Outcome {
    const UNEQUAL: &str = r#"(module
        (memory 16)
        (func $compute (param $n i32) (result i64) (local $x i64)
            (local.set $x (i64.const -3))
            (loop $again
                (local.set $x (i64.div_u (i64.mul (local.get $x) (i64.const -5)) (i64.const 3)))
                (local.set $x (i64.div_u (i64.sub (i64.const -7) (local.get $x)) (i64.or (local.get $x) (i64.const 1))))
                (local.set $x (i64.div_u (i64.const -9) (i64.add (local.get $x) (i64.const 1))))
                (br_if $again (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
            local.get $x)
        (func $look (param $n i32) (local $at i32)
            (loop $again
                (local.set $at (i32.and (i32.add (local.get $at) (i32.const 64)) (i32.const 0x7fff)))
                (i32.store (local.get $at) (local.get $n))
                (br_if $again (local.tee $n (i32.sub (local.get $n) (i32.const 1))))))
        (func (export "run") (param $n i32)
            (drop (call $compute (i32.mul (local.get $n) (i32.const 40))))
            (call $look (local.get $n))))"#;
    let cache = || Metric::CacheMisses(CacheShape::new(1024, 2, 64).expect("a cache"));
    // The least of several runs, since other programs take time as well.
    let cycles = |metrics: &[Metric]| -> std::result::Result<[u64; 3], Box<dyn std::error::Error>> {
        let mut least = [u64::MAX; 3];
        for _ in 0..5 {
            let mut config = Config::new();
            config.strategy(Strategy::Optimized).count_contexts(true).measure(metrics.to_vec());
            let (mut store, instance) = instance(&Engine::new(&config)?, UNEQUAL)?;
            instance.get_typed_func::<i32, ()>(&mut store, "run")?.call(&mut store, 2000)?;
            let found = records(&instance.profile(&store)?, "cycles");
            let of = |name: &str| found.iter().find(|(known, ..)| known == name).map_or(0, |record| record.2);
            let now = [of("compute"), of("look"), found[0].3];
            least = std::array::from_fn(|at| least[at].min(now[at]));
        }
        Ok(least)
    };
    let [compute, look, all] = cycles(&[Metric::Cycles])?;
    assert!(compute > 2 * look, "{compute} and {look}");
    for others in [vec![cache()], vec![Metric::Mispredictions], vec![cache(), Metric::Mispredictions]] {
        let [with_compute, with_look, with_all] = cycles(&[vec![Metric::Cycles], others].concat())?;
        // A reading that went back would be near 2^64.
        assert!(with_all < 4 * all, "{with_all} instead of {all}");
        assert!(with_compute > with_look, "{with_compute} and {with_look}, without {compute} and {look}");
    }
    Ok(())
}

/// The log of the simulated cache fills up many times in this loop, between bulk operations and before a trap.
#[test]
fn a_cache_sees_accesses_in_order_however_many_there_are() -> Outcome {
    const MANY: &str = r#"(module
        (memory 2)
        (func $many (export "many") (param $n i32) (local $at i32) (local $i i32)
            (loop $again
                (local.set $at (i32.and (i32.add (i32.mul (local.get $at) (i32.const 1664525)) (i32.const 1013904223))
                    (i32.const 0xffff)))
                (i64.store (local.get $at) (i64.extend_i32_u (local.get $i)))
                (drop (i32.load8_u offset=60 (local.get $at)))
                (if (i32.eqz (i32.rem_u (local.get $i) (i32.const 100)))
                    (then (memory.fill (local.get $at) (i32.const 1) (i32.const 200))))
                (local.set $i (i32.add (local.get $i) (i32.const 1)))
                (br_if $again (i32.lt_u (local.get $i) (local.get $n))))
            (drop (i64.load (i32.const 8)))
            (drop (i32.load (i32.const -4)))
            (drop (i64.load (i32.const 64)))))"#;
    const N: u32 = 2000;
    let shape = |bytes| CacheShape::new(bytes, 2, 64).expect("a cache");
    let (first, second) = (shape(1024), shape(1 << 14));
    let mut cache = CacheLevels::new(first, Some(second));
    let (mut at, mut expected) = (0_u32, LevelMisses::default());
    for i in 0..N {
        at = at.wrapping_mul(1_664_525).wrapping_add(1_013_904_223) & 0xffff;
        expected.add(cache.touch(0, at.into(), 8));
        expected.add(cache.touch(0, u64::from(at) + 60, 1));
        if i.is_multiple_of(100) {
            expected.add(cache.touch(0, at.into(), 200));
        }
    }
    // What traps is seen, too.
    expected.add(cache.touch(0, 8, 8));
    expected.add(cache.touch(0, 0xffff_fffc, 4));
    let energy = cache.energy(expected, AccessEnergy::USUAL);
    let levels =
        [Metric::CacheMisses(first), Metric::SecondLevelMisses(second), Metric::Energy(AccessEnergy::USUAL)];
    let expected =
        [("cache-misses", expected.first), ("second-level-misses", expected.second), ("picojoules", energy)];
    for strategy in STRATEGIES {
        for metrics in [vec![], vec![Metric::Cycles], vec![Metric::Cycles, Metric::Mispredictions]] {
            let mut config = Config::new();
            config.strategy(strategy).promote_after(20).background_compilation(false);
            config.profiling(ProfilingConfig::Exact(Collect::Paths)).count_contexts(true);
            config.measure([metrics, levels.to_vec()].concat());
            let (mut store, instance) = instance(&Engine::new(&config)?, MANY)?;
            let many = instance.get_typed_func::<i32, ()>(&mut store, "many")?;
            assert!(many.call(&mut store, N as i32).is_err());
            let profile = instance.profile(&store)?;
            for (metric, amount) in expected {
                let found = sums(&profile, function(&profile, "many"), metric);
                assert_eq!(found.iter().sum::<u64>(), amount, "{metric} {strategy:?}");
                assert_eq!(records(&profile, metric)[0].3, amount, "{metric} {strategy:?}");
            }
        }
    }
    Ok(())
}

#[test]
fn there_must_be_something_to_measure() {
    let refused =
        |config: &mut Config| Engine::new(config.measure([Metric::Cycles])).err().map(|e| e.to_string());
    assert!(refused(&mut Config::new()).is_some_and(|message| message.contains("paths")));
    assert_eq!(refused(Config::new().count_contexts(true)), None);
    let mut config = Config::new();
    config.profiling(ProfilingConfig::Exact(Collect::Paths));
    assert_eq!(refused(&mut config), None);
    let energy = Engine::new(config.measure([Metric::Energy(AccessEnergy::USUAL)])).err();
    assert!(energy.is_some_and(|error| error.to_string().contains("measure its misses as well")));
}

/// Returns the tree of a run: name, calls, and one metric, of the record alone and including its descendants.
fn records(profile: &Profile, metric: &str) -> Vec<(String, u64, u64, u64)> {
    let tree = profile.contexts.as_ref().expect("contexts");
    let column = tree.metrics.iter().position(|known| known.name == metric).expect("measured");
    let amounts = tree.amounts(column);
    let inclusive = tree.inclusive(&amounts);
    let name = |record: u32| match tree.callee(record) {
        Callee::Function { name, .. } => name.clone().unwrap_or_default(),
        Callee::Host { name, .. } => name.clone(),
        _ => String::new(),
    };
    let row = |(record, (own, all)): (u32, (&u64, u64))| {
        (name(record), tree.records[record as usize].calls, *own, all)
    };
    (0..).zip(amounts.iter().zip(inclusive)).map(row).collect()
}

/// Returns engines that measure in contexts, alone and together with paths and a trace.
fn contexts(strategy: Strategy) -> impl Iterator<Item = Engine> {
    ["", "paths", "trace"].into_iter().map(move |other| {
        let mut config = Config::new();
        config.strategy(strategy).promote_after(20).background_compilation(false).count_contexts(true);
        config.measure([Metric::CacheMisses(CacheShape::new(1024, 2, 64).expect("a cache")), Metric::Cycles]);
        match other {
            "paths" => config.profiling(ProfilingConfig::Exact(Collect::Paths)),
            "trace" => config.trace(Tracing::Best),
            _ => &mut config,
        };
        Engine::new(&config).expect("this machine")
    })
}

#[test]
fn contexts_pay_for_their_own_and_include_their_callees() -> Outcome {
    for engine in STRATEGIES.into_iter().flat_map(contexts) {
        let (mut store, instance) = instance(&engine, WAT)?;
        instance.get_typed_func::<i32, ()>(&mut store, "run")?.call(&mut store, 100)?;
        let reenter = instance.get_typed_func::<i32, ()>(&mut store, "reenter")?;
        reenter.call(&mut store, 1 << 20).expect_err("out of bounds");
        let profile = instance.profile(&store)?;
        profile.verify()?;
        assert_eq!(Profile::from_bytes(&profile.to_bytes()?)?, profile);
        let row = |name: &str, calls, own, all| (name.to_string(), calls, own, all);
        let expected = [
            row("", 0, 0, 103),
            row("run", 1, 100, 101),
            row("touch", 100, 1, 1),
            row("f", 100, 0, 0),
            row("reenter", 1, 1, 2),
            row("back", 1, 0, 1),
            row("touch", 1, 1, 1),
        ];
        let mut found = records(&profile, "cache-misses");
        found.sort();
        let mut expected = expected.to_vec();
        expected.sort();
        assert_eq!(found, expected, "{:?}", engine.config());
        let cycles = records(&profile, "cycles");
        let own: u64 = cycles.iter().map(|(_, _, own, _)| own).sum();
        assert!(own > 0 && cycles[0].3 == own, "what the root includes is all there is");
    }
    Ok(())
}

/// Recursion, also by a tail call, that ends in a trap: each frame is charged for its work until then.
#[test]
fn frames_that_a_trap_ends_are_charged() -> Outcome {
    let wat = r#"(module (memory 16)
        (func $down (export "down") (param $n i32)
            (drop (i32.load (i32.mul (local.get $n) (i32.const 64))))
            (if (i32.eqz (local.get $n)) (then (unreachable)))
            (if (i32.and (local.get $n) (i32.const 1)) (then (return_call $other (local.get $n))))
            (call $down (i32.sub (local.get $n) (i32.const 1)))
            (drop (i32.load (i32.const 0))))
        (func $other (param $n i32)
            (drop (i32.load offset=65536 (i32.mul (local.get $n) (i32.const 64))))
            (call $down (i32.sub (local.get $n) (i32.const 1)))))"#;
    for engine in STRATEGIES.into_iter().flat_map(contexts) {
        let (mut store, instance) = instance(&engine, wat)?;
        let down = instance.get_typed_func::<i32, ()>(&mut store, "down")?;
        down.call(&mut store, 100).expect_err("unreachable");
        let profile = instance.profile(&store)?;
        profile.verify()?;
        let row = |name: &str, calls, own, all| (name.to_string(), calls, own, all);
        let expected = [row("", 0, 0, 151), row("down", 101, 101, 151), row("other", 50, 50, 50)];
        assert_eq!(records(&profile, "cache-misses"), expected, "{:?}", engine.config());
    }
    Ok(())
}

/// The profile that a host function takes includes the measurements of the frames on the stack so far.
#[test]
fn frames_on_the_stack_are_charged() -> Outcome {
    for engine in STRATEGIES.into_iter().flat_map(contexts) {
        let module = Module::new(&engine, WAT)?;
        let mut linker = Linker::new(&engine);
        linker.func_wrap("host", "back", || ())?;
        linker.func_wrap("host", "f", |mut caller: Caller<'_, Vec<u64>>| {
            let profile = caller.instance().expect("wasm").profile(&caller).expect("consistent");
            let misses = records(&profile, "cache-misses")[0].3;
            caller.data_mut().push(misses);
        })?;
        let mut store = Store::new(&engine, Vec::new());
        let instance = linker.instantiate(&mut store, &module)?;
        instance.get_typed_func::<i32, ()>(&mut store, "run")?.call(&mut store, 50)?;
        assert_eq!(*store.data(), (2..=51).collect::<Vec<u64>>(), "{:?}", engine.config());
    }
    Ok(())
}

/// A system counter that every machine has; each iteration touches a page for the first time.
#[test]
fn page_faults_are_those_of_the_paths_that_touch_pages() -> Outcome {
    let wat = r#"(module (memory 64)
        (func (export "touch") (param $n i32)
            (loop $again
                (local.set $n (i32.sub (local.get $n) (i32.const 1)))
                (i32.store (i32.mul (local.get $n) (i32.const 4096)) (i32.const 1))
                (br_if $again (local.get $n)))))"#;
    for strategy in STRATEGIES {
        let mut config = Config::new();
        config.profiling(ProfilingConfig::Exact(Collect::Paths)).count_contexts(true).strategy(strategy);
        let faults = SystemEvent::named("page-faults").expect("there is one");
        config.background_compilation(false).measure([Metric::System(faults), Metric::Cycles]);
        let engine = Engine::new(&config)?;
        let (mut store, instance) = instance(&engine, wat)?;
        instance.get_typed_func::<i32, ()>(&mut store, "touch")?.call(&mut store, 1000)?;
        let profile = instance.profile(&store)?;
        let [finished, _] = sums(&profile, &profile.functions[0], "perf-page-faults");
        let in_contexts = records(&profile, "perf-page-faults")[0].3;
        // The system may provide larger pages, and counters have their own pages.
        assert!(0 < finished && finished <= 1100 && in_contexts == finished, "{finished}, {in_contexts}");
    }
    Ok(())
}
