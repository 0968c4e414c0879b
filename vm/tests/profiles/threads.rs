//! Threads over one memory, each with a store and an instance of its own: what each does is counted, seen in bursts, sampled
//! and traced apart from the others, and the merged profile is the whole program's.

use std::collections::BTreeMap;
use std::sync::Barrier;

use wprof::profiler::{BurstLengths, Callee, ContextTree, Profile, ThreadProfile, TraceEvent};
use wprof::*;

use crate::memory_file::File;

type Outcome = std::result::Result<(), Box<dyn std::error::Error>>;

/// `run` does a thread's work: a round calls `add`, which all threads do at one cell, and by a table `left`, which adds a
/// second time, or `right`. Nothing here depends on when other threads do it.
const WAT: &str = r#"(module
    (import "env" "memory" (memory 1 1 shared))
    (type $unary (func (param i32)))
    (table funcref (elem $left $right))
    (func $add (param $n i32) (drop (i32.atomic.rmw.add (i32.const 0) (local.get $n))))
    (func $left (type $unary) (call $add (local.get 0)))
    (func $right (type $unary)
        (if (i32.and (local.get 0) (i32.const 1)) (then (drop (i64.atomic.rmw16.or_u (i32.const 8) (i64.const 256))))))
    (func (export "run") (param $which i32) (param $n i32) (result i32)
        (loop $again
            (call $add (i32.const 1))
            (call_indirect (type $unary) (local.get $n) (local.get $which))
            (br_if $again (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
        (i32.atomic.load (i32.const 0)))
    ;; Burns time in one of two functions.
    (func $spin (param $n i32)
        (loop $again
            (drop (i32.atomic.rmw.add (i32.const 16) (local.get $n)))
            (br_if $again (local.tee $n (i32.sub (local.get $n) (i32.const 1))))))
    (func $spin-left (param $n i32) (call $spin (local.get $n)))
    (func $spin-right (param $n i32) (call $spin (local.get $n)))
    (func (export "spin") (param $which i32) (param $n i32)
        (if (local.get $which)
            (then (call $spin-right (local.get $n)))
            (else (call $spin-left (local.get $n))))))"#;

/// The rounds of each thread: threads with an odd number call `right`, others `left`.
const ROUNDS: [i32; 4] = [10, 200, 3000, 45];

/// Runs a function of a store and its instance on several threads at once; returns the results in their order.
fn on_threads<R: Send>(
    engine: &Engine,
    threads: usize,
    work: impl Fn(usize, &Module, &mut Store<()>, &mut dyn FnMut(&mut Store<()>) -> Result<Instance>) -> Result<R>
    + Sync,
) -> Result<Vec<R>> {
    let module = Module::new(engine, WAT)?;
    let memory = SharedMemory::new(engine, MemoryType::shared(1, 1))?;
    let mut linker = Linker::<()>::new(engine);
    linker.define_shared_memory("env", "memory", &memory)?;
    let barrier = Barrier::new(threads);
    let run = |number: usize| {
        let mut store = Store::new(engine, ());
        barrier.wait();
        work(number, &module, &mut store, &mut |store| linker.instantiate(store, &module))
    };
    std::thread::scope(|scope| {
        let run = &run;
        let all: Vec<_> = (0..threads).map(|number| scope.spawn(move || run(number))).collect();
        all.into_iter().map(|thread| thread.join().expect("no panic")).collect()
    })
}

/// Has each thread do its rounds; returns their profiles.
fn profiles(config: &Config) -> Result<Vec<Profile>> {
    on_threads(&Engine::new(config)?, ROUNDS.len(), |number, _, store, instantiate| {
        let instance = instantiate(store)?;
        let run = instance.get_typed_func::<(i32, i32), i32>(&mut *store, "run")?;
        run.call(&mut *store, (number as i32 % 2, ROUNDS[number]))?;
        instance.profile(&*store)
    })
}

/// Returns the calls of named functions.
fn calls(profile: &Profile) -> BTreeMap<&str, u64> {
    let named = profile.functions.iter().filter_map(|f| Some((f.name.as_deref()?, f.calls())));
    named.filter(|(_, calls)| *calls > 0).collect()
}

/// Returns the calls by chain of callees.
fn chains(tree: &ContextTree) -> BTreeMap<Vec<Callee>, u64> {
    let mut chains: Vec<Vec<Callee>> = vec![Vec::new()];
    for (record, index) in tree.records.iter().zip(0..).skip(1) {
        let mut chain = chains[record.parent as usize].clone();
        chain.push(tree.callee(index).clone());
        chains.push(chain);
    }
    let mut all = BTreeMap::new();
    for (chain, calls) in chains.into_iter().zip(tree.calls()).filter(|(_, calls)| *calls > 0) {
        *all.entry(chain).or_default() += calls;
    }
    all
}

fn merged(profiles: &[Profile]) -> Profile {
    let (first, others) = profiles.split_first().expect("there are threads");
    let mut sum = first.clone();
    others.iter().for_each(|other| sum.merge(other).expect("of one module"));
    sum
}

/// Checks that each thread has its own figures, and all together their sum.
fn assert_apart_and_together(profiles: &[Profile], how: &str) {
    let expected = |number: usize| {
        let n = ROUNDS[number] as u64;
        match number % 2 {
            0 => BTreeMap::from([("add", 2 * n), ("left", n), ("run", 1)]),
            _ => BTreeMap::from([("add", n), ("right", n), ("run", 1)]),
        }
    };
    for (number, profile) in profiles.iter().enumerate() {
        assert_eq!(calls(profile), expected(number), "thread {number}, {how}");
        let row = ThreadProfile::new(number as u32, 1, profile);
        assert_eq!((row.calls(), row.ops()), (profile.calls(), profile.ops()), "thread {number}, {how}");
    }
    let sum = merged(profiles);
    let total = |name: &str| (0..ROUNDS.len()).filter_map(|number| expected(number).get(name).copied()).sum();
    let all = ["add", "left", "right", "run"].map(|name| (name, total(name)));
    assert_eq!(calls(&sum), BTreeMap::from(all), "{how}");
    assert_eq!(sum.ops(), profiles.iter().map(Profile::ops).sum::<u64>(), "{how}");
    let mut whole: BTreeMap<Vec<Callee>, u64> = BTreeMap::new();
    for profile in profiles {
        for (chain, calls) in chains(profile.contexts.as_ref().expect("counted")) {
            *whole.entry(chain).or_default() += calls;
        }
    }
    assert_eq!(chains(&sum.contexts.expect("counted")), whole, "{how}");
}

fn strategies() -> [(Strategy, Config); 3] {
    [Strategy::Baseline, Strategy::Optimized, Strategy::Tiered].map(|strategy| {
        let mut config = Config::new();
        // A burst before its code is compiled would be skipped.
        config.strategy(strategy).promote_after(20).count_contexts(true).background_compilation(false);
        (strategy, config)
    })
}

#[test]
fn counts_and_contexts_of_threads_are_their_own_and_add_up() -> Outcome {
    for (strategy, mut config) in strategies() {
        for collect in [Collect::Edges, Collect::Paths] {
            config.profiling(ProfilingConfig::Exact(collect));
            assert_apart_and_together(&profiles(&config)?, &format!("{strategy:?}"));
        }
    }
    Ok(())
}

#[test]
fn bursts_without_end_see_what_each_thread_does() -> Outcome {
    for (strategy, mut config) in strategies() {
        let lengths = BurstLengths::new(1, BurstLengths::FOREVER);
        config.profiling(ProfilingConfig::Adaptive(Adaptive {
            lengths,
            checks: "orig".parse()?,
            ..Adaptive::default()
        }));
        assert_apart_and_together(&profiles(&config)?, &format!("{strategy:?}"));
    }
    Ok(())
}

/// Bursts of other threads begin and end while those of one do: none sees what another thread does, or twice what its own did.
#[test]
fn bursts_of_a_thread_see_no_other_thread() -> Outcome {
    let mut seen = 0;
    for (_, mut config) in strategies() {
        for (checking, instrumented) in [(1, 1), (3, 2), (100, 10)] {
            let lengths = BurstLengths::new(checking, instrumented);
            let checks = "orig".parse()?;
            config.profiling(ProfilingConfig::Adaptive(Adaptive { lengths, checks, ..Adaptive::default() }));
            let profiles = profiles(&config)?;
            for (number, profile) in profiles.iter().enumerate() {
                let (called, n) = (calls(profile), ROUNDS[number] as u64);
                let other = ["right", "left"][number % 2];
                assert!(!called.contains_key(other), "thread {number} calls no {other}: {called:?}");
                assert!(called.values().all(|&calls| calls <= 2 * n), "thread {number}: {called:?}");
            }
            assert_eq!(merged(&profiles).bursts, profiles.iter().map(|profile| profile.bursts).sum());
            seen += merged(&profiles).ops();
        }
    }
    // While one thread compiles code for bursts, others skip theirs; not all do so always.
    assert!(seen > 0);
    Ok(())
}

#[test]
fn traces_of_threads_are_their_own() -> Outcome {
    for (strategy, mut config) in strategies() {
        config.profiling(ProfilingConfig::Exact(Collect::Edges)).trace(Tracing::Best).trace_buffer(64);
        let engine = Engine::new(&config)?;
        let traced = on_threads(&engine, ROUNDS.len(), |number, module, store, instantiate| {
            let file = File::default();
            store.record_trace(module, "thread", file.clone(), u64::MAX)?;
            let instance = instantiate(store)?;
            let run = instance.get_typed_func::<(i32, i32), i32>(&mut *store, "run")?;
            run.call(&mut *store, (number as i32 % 2, ROUNDS[number]))?;
            store.finish_trace()?;
            Ok((file, instance.profile(&*store)?))
        })?;
        let profiles: Vec<Profile> = traced.iter().map(|(_, profile)| profile.clone()).collect();
        assert_apart_and_together(&profiles, &format!("traced, {strategy:?}"));
        for (file, profile) in traced {
            let mut entered: BTreeMap<u32, u64> = BTreeMap::new();
            for event in file.events() {
                if let TraceEvent::Enter(func) = event {
                    *entered.entry(func).or_default() += 1;
                }
            }
            let counted =
                profile.functions.iter().map(|f| (f.index, f.calls())).filter(|(_, calls)| *calls > 0);
            assert_eq!(entered, counted.collect(), "{strategy:?}");
        }
    }
    Ok(())
}

/// A timer of each thread counts its own processor time, so a busy machine makes a test slower and no less sure.
#[test]
fn timers_sample_their_own_threads() -> Outcome {
    const SAMPLES: u64 = 5;
    let mut config = Config::new();
    config.profiling(ProfilingConfig::Adaptive(Adaptive::default())).sample_time(Some(10_000));
    let profiles = on_threads(&Engine::new(&config)?, 2, |number, _, store, instantiate| {
        let instance = instantiate(store)?;
        let spin = instance.get_typed_func::<(i32, i32), ()>(&mut *store, "spin")?;
        loop {
            spin.call(&mut *store, (number as i32, 200_000))?;
            let profile = instance.profile(&*store)?;
            if profile.time.as_ref().is_some_and(|time| time.total().samples >= SAMPLES) {
                return Ok(profile);
            }
        }
    })?;
    let has = |profile: &Profile, wanted: &str| {
        let time = profile.time.as_ref().expect("sampled");
        let is_it =
            |callee: &Callee| matches!(callee, Callee::Function { name: Some(name), .. } if name == wanted);
        time.callees.iter().any(is_it)
    };
    for (profile, [own, other]) in
        profiles.iter().zip([["spin-left", "spin-right"], ["spin-right", "spin-left"]])
    {
        assert!(has(profile, own) && !has(profile, other), "{:?}", profile.time);
    }
    let total = |profile: &Profile| profile.time.as_ref().expect("sampled").total();
    let sum = merged(&profiles);
    assert_eq!(total(&sum), total(&profiles[0]).plus(total(&profiles[1])));
    assert!(has(&sum, "spin-left") && has(&sum, "spin-right"));
    Ok(())
}
