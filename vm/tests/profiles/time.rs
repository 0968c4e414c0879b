//! Sampled time is attributed to the right functions, in all kinds of code, and sampling changes nothing.

use std::thread;

use wprof::profiler::{BurstLengths, Callee, Interval, Profile, TimeProfile, Timed};
use wprof::*;

type Outcome = std::result::Result<(), Box<dyn std::error::Error>>;

/// More samples per second than any kernel has ticks, so that each tick is a sample.
const OFTEN: u32 = 20_000;

/// Tolerance of a share beyond its interval, for the work between the clock and the code.
const SLACK: f64 = 0.02;

/// Minimum number of samples in a test; there may be as few as 100 per second.
const SAMPLES: u64 = 160;

/// Returns this thread's processor time in nanoseconds.
pub fn clock() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Two functions with the same work, `b` for three times as long, called alternately; the host records their times.
const TWO: &str = r#"(module
    (import "host" "begin" (func $begin))
    (import "host" "end" (func $end (param i32)))
    (func $work (param $n i64) (result i64) (local $x i64)
        (loop $again
            (local.set $x (i64.add (i64.mul (local.get $x) (i64.const 0x5851f42d4c957f2d)) (local.get $n)))
            (local.set $n (i64.sub (local.get $n) (i64.const 1)))
            (br_if $again (i64.ne (local.get $n) (i64.const 0))))
        (local.get $x))
    (func $a (param $n i64) (result i64) (local $x i64)
        (loop $again
            (local.set $x (i64.add (i64.mul (local.get $x) (i64.const 0x5851f42d4c957f2d)) (local.get $n)))
            (local.set $n (i64.sub (local.get $n) (i64.const 1)))
            (br_if $again (i64.ne (local.get $n) (i64.const 0))))
        (local.get $x))
    (func $b (param $n i64) (result i64)
        (i64.add (call $work (i64.mul (local.get $n) (i64.const 3))) (i64.const 1)))
    (func (export "run") (param $n i64) (result i64) (local $x i64)
        (call $begin)
        (local.set $x (call $a (local.get $n)))
        (call $end (i32.const 0))
        (call $begin)
        (local.set $x (i64.xor (local.get $x) (call $b (local.get $n))))
        (call $end (i32.const 1))
        (local.get $x)))"#;

fn adaptive() -> ProfilingConfig {
    ProfilingConfig::Adaptive(Adaptive { lengths: BurstLengths::new(1000, 50), ..Adaptive::default() })
}

/// A change of the configuration.
type Change = fn(&mut Config) -> &mut Config;

/// Returns all configurations that differ in the places where a thread may be.
fn configs() -> Vec<(&'static str, Config)> {
    let config = |change: Change| {
        let mut config = Config::new();
        change(config.sample_time(Some(1000)));
        config
    };
    vec![
        ("tiered", config(|config| config)),
        ("baseline", config(|config| config.strategy(Strategy::Baseline))),
        ("optimised", config(|config| config.strategy(Strategy::Optimized))),
        ("edges", config(|config| config.profiling(ProfilingConfig::Exact(Collect::Edges)))),
        ("paths", config(|config| config.profiling(ProfilingConfig::Exact(Collect::Paths)))),
        ("contexts", config(|config| config.count_contexts(true))),
        ("adaptive", config(|config| config.profiling(adaptive()).count_contexts(true))),
        ("conservative", {
            let mut config = Config::conservative();
            config.sample_time(Some(1000));
            config
        }),
    ]
}

pub fn time_of(profile: &Profile) -> &TimeProfile {
    profile.verify().expect("valid");
    assert_eq!(Profile::from_bytes(&profile.to_bytes().expect("written")).expect("read"), *profile);
    profile.time.as_ref().expect("sampled")
}

/// Returns the time of the function `name`: its own, and in total.
pub fn timed(time: &TimeProfile, name: &str) -> (Timed, Timed) {
    let is_it = |callee: &Callee| match callee {
        Callee::Function { name: found, .. } => found.as_deref() == Some(name),
        Callee::Host { name: found, .. } => found == name,
        Callee::Engine => name == "engine",
        _ => false,
    };
    let found = time.routines().into_iter().find(|routine| is_it(routine.callee));
    found.map(|routine| (routine.own, routine.total)).unwrap_or_default()
}

/// Checks a share. An interval misses the true share in one of twenty cases; the tests check dozens of shares, on
/// machines with other load. The check therefore uses an interval more than twice as wide, which misses in one of
/// 100,000 cases.
pub fn assert_share(what: &str, part: Timed, all: Timed, expected: f64) {
    const WIDER: f64 = 2.3;
    let found = Interval::of_share(part, all);
    let (below, above) = (WIDER * (found.share - found.least), WIDER * (found.most - found.share));
    assert!(
        (found.share - below - SLACK..found.share + above + SLACK).contains(&expected),
        "{what}: {found:?} of {} samples, but it was {expected:.3}",
        all.samples
    );
}

#[test]
fn shares_of_functions_are_those_of_the_clock() -> Outcome {
    for (name, config) in configs() {
        let engine = Engine::new(&config)?;
        let module = Module::new(&engine, TWO)?;
        let mut linker: Linker<([u64; 2], u64)> = Linker::new(&engine);
        linker.func_wrap("host", "begin", |mut caller: Caller<'_, ([u64; 2], u64)>| {
            caller.data_mut().1 = clock();
        })?;
        linker.func_wrap("host", "end", |mut caller: Caller<'_, ([u64; 2], u64)>, which: i32| {
            let (times, began) = caller.data_mut();
            times[which as usize] += clock() - *began;
        })?;
        let mut store = Store::new(&engine, ([0; 2], 0));
        let instance = linker.instantiate(&mut store, &module)?;
        let run = instance.get_typed_func::<i64, i64>(&mut store, "run")?;
        // The lengths vary widely from one round to the next, so that no loop is in step with the kernel's ticks. Beside
        // other processes a thread that waited begins at a tick: so many rounds come before one waits for a profile.
        for look in 0.. {
            for round in 20 * look..20 * (look + 1) {
                run.call(&mut store, 100_000 + round * 309_017 % 500_000)?;
            }
            let profile = instance.profile(&store)?;
            let time = time_of(&profile);
            if time.total().samples < SAMPLES {
                continue;
            }
            let [a, b] = store.data().0;
            let all = timed(time, "run").1;
            let expected = b as f64 / (a + b) as f64;
            assert!((0.55..0.95).contains(&expected), "{name}: {expected}");
            assert_share(name, timed(time, "b").1, all, expected);
            assert_share(name, timed(time, "a").1, all, 1.0 - expected);
            // `b` calls `work`, and the engine, which compiles it: the machine decides how long that takes.
            let (work, engine) = (timed(time, "work").0, timed(time, "engine").0);
            let called = timed(time, "b").1.samples - timed(time, "b").0.samples;
            assert!(
                (work.samples..=work.samples + engine.samples).contains(&called),
                "{name}: {called} samples below `b`, {work:?} in `work`, {engine:?} in the engine"
            );
            assert!(timed(time, "b").0.samples <= all.samples / 20, "{name}: `b` only calls");
            // The thread's clock, and the sum of all samples, which stand for the whole time.
            let sampled = time.total().time_ns as f64 / (a + b) as f64;
            assert!((0.8..1.6).contains(&sampled), "{name}: {sampled} of the time");
            assert_eq!(time.lost, 0, "{name}");
            break;
        }
    }
    Ok(())
}

/// Spins for `milliseconds` by the thread's own clock.
fn spin(milliseconds: u64) {
    let end = clock() + milliseconds * 1_000_000;
    while clock() < end {
        std::hint::spin_loop();
    }
}

#[test]
fn time_of_the_host_is_its_functions_called_from_where_they_are_called() -> Outcome {
    const WAT: &str = r#"(module
        (import "host" "short" (func $short))
        (import "host" "long" (func $long))
        (func $first (call $short))
        (func $second (call $long) (call $short))
        (func (export "inner") (call $short))
        (func (export "run") (call $first) (call $second)))"#;
    for (name, config) in configs() {
        let engine = Engine::new(&config)?;
        let module = Module::new(&engine, WAT)?;
        let mut linker: Linker<()> = Linker::new(&engine);
        linker.func_wrap("host", "short", || spin(30))?;
        // Half of its time is its own, the other half is its callback's.
        linker.func_wrap("host", "long", |mut caller: Caller<'_, ()>| -> Result<()> {
            spin(30);
            let inner = caller.get_export("inner").and_then(Extern::into_func).expect("exported");
            inner.typed::<(), ()>(&caller)?.call(&mut caller, ())
        })?;
        let mut store = Store::new(&engine, ());
        let instance = linker.instantiate(&mut store, &module)?;
        let run = instance.get_typed_func::<(), ()>(&mut store, "run")?;
        while instance.profile(&store)?.time.expect("sampled").total().samples < SAMPLES {
            run.call(&mut store, ())?;
        }
        let profile = instance.profile(&store)?;
        let time = time_of(&profile);
        let all = time.total();
        // Two of four spans are within long, three are short's, and three are within second.
        assert_share(name, timed(time, "short").0, all, 0.75);
        assert_share(name, timed(time, "long").0, all, 0.25);
        assert_share(name, timed(time, "long").1, all, 0.5);
        assert_share(name, timed(time, "second").1, all, 0.75);
        assert_share(name, timed(time, "first").1, all, 0.25);
        assert_share(name, timed(time, "inner").1, all, 0.25);
        assert_share(name, timed(time, "run").1, all, 1.0);
        assert_share(name, timed(time, "run").0, all, 0.0);
    }
    Ok(())
}

#[test]
fn recursion_has_its_time_once_and_every_caller_is_there() -> Outcome {
    const WAT: &str = r#"(module
        (func $fib (export "fib") (param $n i64) (result i64)
            (if (result i64) (i64.lt_u (local.get $n) (i64.const 2))
                (then (local.get $n))
                (else (i64.add
                    (call $fib (i64.sub (local.get $n) (i64.const 1)))
                    (call $fib (i64.sub (local.get $n) (i64.const 2)))))))
        (func (export "run") (param $n i64) (result i64)
            (i64.add (call $fib (local.get $n)) (i64.const 1))))"#;
    for (name, config) in configs() {
        let engine = Engine::new(&config)?;
        let module = Module::new(&engine, WAT)?;
        let mut store = Store::new(&engine, ());
        let instance = Instance::new(&mut store, &module, &[])?;
        let run = instance.get_typed_func::<i64, i64>(&mut store, "run")?;
        while instance.profile(&store)?.time.expect("sampled").total().samples < SAMPLES {
            assert_eq!(run.call(&mut store, 24)?, 46369);
        }
        let profile = instance.profile(&store)?;
        let time = time_of(&profile);
        let (own, total) = timed(time, "fib");
        assert!(total.samples <= time.total().samples && own.samples <= total.samples, "{name}");
        // The time outside `fib` belongs to `run`, and to the engine, which compiles both.
        let outside = time.total().samples - total.samples;
        let (caller, engine) = (timed(time, "run").0, timed(time, "engine").0);
        assert!(outside <= caller.samples + engine.samples && caller.samples * 20 < total.samples, "{name}");
        let is_called = |node: usize| {
            matches!(time.callee(node), Callee::Function { name, .. }
            if name.as_deref() == Some("fib"))
                && time.nodes[node].caller.is_none()
        };
        let orphans: u64 = (0..time.nodes.len())
            .filter(|&node| is_called(node))
            .map(|node| time.inclusive()[node].samples)
            .sum();
        assert!(orphans * 50 <= total.samples, "{name}: {orphans} of {} have no caller", total.samples);
    }
    Ok(())
}

#[test]
fn places_are_the_instructions_that_take_long() -> Outcome {
    // A 64-bit division takes most of each iteration, in the second loop only.
    const WAT: &str = r#"(module
        (func (export "run") (param $n i64) (result i64) (local $x i64) (local $i i64)
            (local.set $i (local.get $n))
            (loop $cheap
                (local.set $x (i64.xor (local.get $x) (local.get $i)))
                (br_if $cheap (i64.ne (local.tee $i (i64.sub (local.get $i) (i64.const 1))) (i64.const 0))))
            (local.set $i (local.get $n))
            (loop $dear
                (local.set $x (i64.add (i64.rem_u (i64.const -7) (i64.add (local.get $x) (i64.const 3)))
                    (i64.rem_u (i64.const -9) (local.get $i))))
                (local.set $x (i64.rem_u (i64.const -77) (i64.or (local.get $x) (i64.const 1))))
                (br_if $dear (i64.ne (local.tee $i (i64.sub (local.get $i) (i64.const 1))) (i64.const 0))))
            (local.get $x)))"#;
    for (name, config) in configs() {
        let engine = Engine::new(&config)?;
        let module = Module::new(&engine, WAT)?;
        let loops: Vec<u32> = {
            let body = module.info().body(0);
            let cfg = wprof_jit::cfg::build(module.info(), 0)?;
            assert!(cfg.blocks[0].start as usize >= body.start);
            cfg.blocks.iter().map(|block| block.start).collect()
        };
        let mut store = Store::new(&engine, ());
        let instance = Instance::new(&mut store, &module, &[])?;
        let run = instance.get_typed_func::<i64, i64>(&mut store, "run")?;
        while instance.profile(&store)?.time.expect("sampled").total().samples < SAMPLES {
            run.call(&mut store, 100_000)?;
        }
        let profile = instance.profile(&store)?;
        let time = time_of(&profile);
        // The second loop begins at the third block.
        let dear = time.nodes.iter().filter(|node| node.offset >= loops[2]).map(|node| node.own);
        let dear = dear.fold(Timed::default(), Timed::plus);
        let all = timed(time, "run").0;
        assert!(dear.samples * 10 > all.samples * 8, "{name}: {dear:?} of {all:?}");
        let in_module = |offset: u32| module.info().func_at(offset as usize).is_some();
        let is_code = |callee: &Callee| matches!(callee, Callee::Function { .. });
        let mut code = (0..time.nodes.len()).filter(|&node| is_code(time.callee(node)));
        assert!(code.all(|node| in_module(time.nodes[node].offset)), "{name}");
    }
    Ok(())
}

#[test]
fn what_is_inlined_is_told_from_what_it_is_inlined_into() -> Outcome {
    // Names and an order are compared, no shares.
    const FEW: u64 = 30;
    const WAT: &str = r#"(module
        (func $leaf (param $x i64) (result i64)
            (i64.rem_u (i64.const -7) (i64.or (i64.mul (local.get $x) (local.get $x)) (i64.const 1))))
        (func $outer (param $n i64) (result i64) (local $x i64)
            (loop $again
                (local.set $x (i64.add (local.get $x) (call $leaf (i64.add (local.get $x) (local.get $n)))))
                (br_if $again (i64.ne (local.tee $n (i64.sub (local.get $n) (i64.const 1))) (i64.const 0))))
            (local.get $x))
        (func (export "run") (param $n i64) (result i64) (call $outer (local.get $n))))"#;
    let mut config = Config::new();
    config.strategy(Strategy::Tiered).profiling(adaptive()).count_contexts(true).sample_time(Some(1000));
    config.reoptimization(Some(Policy { trial_calls: 0, most_phases: 0, ..Policy::default() }));
    let engine = Engine::new(&config)?;
    let module = Module::new(&engine, WAT)?;
    let mut store = Store::new(&engine, ());
    let instance = Instance::new(&mut store, &module, &[])?;
    let run = instance.get_typed_func::<i64, i64>(&mut store, "run")?;
    let is_inlined = || {
        let all = module.reoptimizations();
        all.iter()
            .flat_map(|made| &made.decisions)
            .any(|made| matches!(made.verdict, Verdict::Inlined { .. }))
    };
    let began = clock();
    while !is_inlined() && clock() - began < 60_000_000_000 {
        run.call(&mut store, 100_000)?;
    }
    assert!(is_inlined(), "the reoptimizer inlines such a call");
    let inlined = |profile: &Profile| {
        let nodes = time_of(profile).nodes.clone();
        nodes.iter().filter(|node| node.is_inlined).map(|node| node.own.samples).sum::<u64>()
    };
    // A profile takes longer than a run: many runs to a look. Other processes do not count.
    let began = clock();
    while inlined(&instance.profile(&store)?) < FEW && clock() - began < 60_000_000_000 {
        (0..50).try_for_each(|_| run.call(&mut store, 100_000).map(drop))?;
    }
    let profile = instance.profile(&store)?;
    let time = time_of(&profile);
    let all = time.total();
    assert!(inlined(&profile) >= FEW, "{} of {all:?}, {:?}", inlined(&profile), module.reoptimizations());
    for node in (0..time.nodes.len()).filter(|&node| time.nodes[node].is_inlined) {
        let names: Vec<String> = time.stack(node).map(|node| time.callee(node).to_string()).collect();
        assert_eq!(names, ["leaf", "outer", "run"]);
    }
    assert!(timed(time, "leaf").0.samples > timed(time, "outer").0.samples, "the division is the leaf's");
    Ok(())
}

/// Returns an instance of [`TWO`] in a store of its own, with a host that records nothing, and its function.
fn instance_of_two(engine: &Engine, module: &Module) -> Result<(Store<()>, Instance, TypedFunc<i64, i64>)> {
    let mut linker: Linker<()> = Linker::new(engine);
    linker.func_wrap("host", "begin", || ())?;
    linker.func_wrap("host", "end", |_: i32| ())?;
    let mut store = Store::new(engine, ());
    let instance = linker.instantiate(&mut store, module)?;
    let run = instance.get_typed_func(&mut store, "run")?;
    Ok((store, instance, run))
}

#[test]
fn each_thread_and_each_store_has_its_own_time() -> Outcome {
    let mut config = Config::new();
    config.sample_time(Some(1000));
    let engine = Engine::new(&config)?;
    let module = Module::new(&engine, TWO)?;
    let one = |rounds: i64| -> Result<(Timed, u64)> {
        let (mut store, instance, run) = instance_of_two(&engine, &module)?;
        let began = clock();
        for _ in 0..rounds {
            run.call(&mut store, 400_000)?;
        }
        let took = clock() - began;
        Ok((instance.profile(&store)?.time.expect("sampled").total(), took))
    };
    thread::scope(|scope| -> Outcome {
        let threads: Vec<_> =
            [200, 400, 600].map(|rounds| scope.spawn(move || one(rounds))).into_iter().collect();
        for thread in threads {
            let (time, took) = thread.join().expect("no panic")?;
            let share = time.time_ns as f64 / took as f64;
            assert!((0.8..1.2).contains(&share) && time.samples > 5, "{time:?} of {took}");
        }
        Ok(())
    })
}

/// With timers of processor time alone, a run that is shorter than one tick would have no sample.
#[test]
fn a_run_of_a_few_milliseconds_has_a_sample_of_each() -> Outcome {
    let mut config = Config::new();
    config.sample_time(Some(1000));
    let engine = Engine::new(&config)?;
    let module = Module::new(&engine, TWO)?;
    // Compiles everything. Each run has a thread of its own, since only a thread's first samples are exact.
    let one = |milliseconds: u64| -> Result<(Profile, u64)> {
        let (mut store, instance, run) = instance_of_two(&engine, &module)?;
        let began = clock();
        while clock() - began < milliseconds * 1_000_000 {
            run.call(&mut store, 20_000)?;
        }
        let took = clock() - began;
        Ok((instance.profile(&store)?, took))
    };
    let run =
        |milliseconds| thread::scope(|scope| scope.spawn(|| one(milliseconds)).join().expect("no panic"));
    run(50)?;
    // Beside other processes a thread often waits for a processor, and then has fewer exact samples.
    let (mut most, mut work, mut all) = (0, 0, 0);
    for _ in 0..30 {
        let (profile, took) = run(8)?;
        let time = time_of(&profile);
        assert!(time.total().time_ns <= took + 1_000_000, "{:?} of {took}", time.total());
        most = most.max(time.total().samples);
        work += timed(time, "work").0.time_ns;
        all += time.total().time_ns;
    }
    assert!(most >= 5, "{most} samples of 8 ms");
    // Three quarters of the time.
    assert!(2 * work > all, "{work} of {all}");
    Ok(())
}

#[test]
fn of_two_stores_the_outer_one_is_in_the_host() -> Outcome {
    const INNER: &str = r#"(module (func (export "spin") (param $n i64)
        (loop $again (br_if $again
            (i64.ne (local.tee $n (i64.sub (local.get $n) (i64.const 1))) (i64.const 0))))))"#;
    const OUTER: &str =
        r#"(module (import "host" "inner" (func $inner)) (func (export "run") (call $inner)))"#;
    let mut config = Config::new();
    config.sample_time(Some(1000));
    let engine = Engine::new(&config)?;
    let module = Module::new(&engine, INNER)?;
    let mut inner = Store::new(&engine, ());
    let inner_instance = Instance::new(&mut inner, &module, &[])?;
    let spin = inner_instance.get_typed_func::<i64, ()>(&mut inner, "spin")?;
    let inner = std::sync::Mutex::new(inner);
    let inner: &'static _ = Box::leak(Box::new(inner));
    let mut linker: Linker<()> = Linker::new(&engine);
    linker.func_wrap("host", "inner", move || -> Result<()> {
        let mut inner = inner.lock().expect("not poisoned");
        spin.call(&mut *inner, 2_000_000)
    })?;
    let mut store = Store::new(&engine, ());
    let instance = linker.instantiate(&mut store, &Module::new(&engine, OUTER)?)?;
    let run = instance.get_typed_func::<(), ()>(&mut store, "run")?;
    while instance.profile(&store)?.time.expect("sampled").total().samples < SAMPLES {
        run.call(&mut store, ())?;
    }
    let outer = instance.profile(&store)?;
    let outer = time_of(&outer);
    assert_share("outer", timed(outer, "inner").0, outer.total(), 1.0);
    assert_share("run", timed(outer, "run").1, outer.total(), 1.0);
    let inner = inner.lock().expect("not poisoned");
    let inner = inner_instance.profile(&*inner)?;
    assert_share("inner", timed(time_of(&inner), "spin").0, time_of(&inner).total(), 1.0);
    Ok(())
}

#[test]
fn time_in_bulk_operations_is_the_callers_and_compiling_is_the_engines() -> Outcome {
    let functions: String = (0..4000)
        .map(|i| {
            let body = format!("(i32.add (i32.mul (local.get 0) (i32.const {i})) (i32.const 77))");
            format!("(func $f{i} (param i32) (result i32) (local i32) (local.set 0 {body}) (local.set 0 {body}) (local.get 0))\n")
        })
        .collect();
    let calls: String = (0..4000).map(|i| format!("(drop (call $f{i} (i32.const 1)))\n")).collect();
    let wat = format!(
        r#"(module (memory 64) {functions}
        (func $fill (memory.fill (i32.const 0) (i32.const 7) (i32.const 4000000)))
        (func (export "bulk") (call $fill))
        (func (export "compile") {calls}))"#
    );
    let mut config = Config::new();
    config.sample_time(Some(OFTEN)).background_compilation(false);
    let engine = Engine::new(&config)?;
    let module = Module::new(&engine, wat)?;
    let mut store = Store::new(&engine, ());
    let instance = Instance::new(&mut store, &module, &[])?;
    instance.get_typed_func::<(), ()>(&mut store, "compile")?.call(&mut store, ())?;
    let profile = instance.profile(&store)?;
    let time = time_of(&profile);
    let (engine_own, all) = (timed(time, "engine").0, time.total());
    assert!(all.samples > 5 && engine_own.time_ns * 2 > all.time_ns, "{engine_own:?} of {all:?}");
    // The first samples stand for less time than others, and are of the compilation of `compile` itself.
    assert!(timed(time, "compile").1.time_ns * 2 > all.time_ns, "it is called from there");
    let bulk = instance.get_typed_func::<(), ()>(&mut store, "bulk")?;
    while timed(instance.profile(&store)?.time.as_ref().expect("sampled"), "bulk").1.samples < SAMPLES {
        bulk.call(&mut store, ())?;
    }
    let profile = instance.profile(&store)?;
    let time = time_of(&profile);
    assert_share("fill", timed(time, "fill").0, timed(time, "bulk").1, 1.0);
    Ok(())
}

#[test]
fn there_are_no_samples_unless_asked_for() -> Outcome {
    let engine = Engine::with_profiling(ProfilingConfig::Exact(Collect::Edges))?;
    let module = Module::new(&engine, "(module (func (export \"run\")))")?;
    let mut store = Store::new(&engine, ());
    let instance = Instance::new(&mut store, &module, &[])?;
    instance.get_typed_func::<(), ()>(&mut store, "run")?.call(&mut store, ())?;
    assert_eq!(instance.profile(&store)?.time, None);
    Ok(())
}

/// A list that grows, so that there is always more to mark: most of the time is the collector's.
const GROWING: &str = r#"(module
    (type $node (struct (field $next (ref null $node)) (field i64)))
    (global $list (mut (ref null $node)) (ref.null $node))
    (func (export "grow") (param $n i32)
        (loop $again
            (global.set $list (struct.new $node (global.get $list) (i64.const 7)))
            (br_if $again (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))))"#;

#[test]
fn pauses_are_time_of_the_collector() -> Outcome {
    let mut config = Config::new();
    config.sample_time(Some(OFTEN));
    let engine = Engine::new(&config)?;
    let module = Module::new(&engine, GROWING)?;
    let mut store = Store::new(&engine, ());
    let instance = Linker::new(&engine).instantiate(&mut store, &module)?;
    let grow = instance.get_typed_func::<i32, ()>(&mut store, "grow")?;
    let collector = loop {
        grow.call(&mut store, 500_000)?;
        let profile = instance.profile(&store)?;
        let time = time_of(&profile);
        let of = |callee: &Callee| *callee == Callee::Collector;
        let found = time.routines().into_iter().find(|routine| of(routine.callee)).map(|routine| routine.own);
        if let Some(found) = found.filter(|found| found.samples >= 5) {
            break (found, time.total(), profile.collector.expect("it has objects"));
        }
    };
    let (sampled, all, work) = collector;
    assert!(sampled.time_ns <= all.time_ns);
    let statistics = store.gc_statistics().expect("it has objects");
    assert_eq!(work.collections, statistics.collections);
    assert_eq!(u128::from(work.paused_ns), statistics.paused.as_nanos());
    assert!(0 < work.longest_ns && work.longest_ns <= work.paused_ns);
    // Pauses are measured by the clock on the wall, which goes on while others have the processor.
    assert!(sampled.time_ns / 4 <= work.paused_ns, "{sampled:?} {work:?}");
    Ok(())
}
