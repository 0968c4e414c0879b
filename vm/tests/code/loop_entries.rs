//! On-stack replacement enters the regular code at the header of the main loop, or a separate version at any loop.

use wprof::profiler::{BurstLengths, CacheShape, CodeTier, CodeVersion, Profile};
use wprof::*;

type Outcome = std::result::Result<(), Box<dyn std::error::Error>>;

/// Eight parameters, some of them passed on the stack; the main loop is nested in two others, with an operand below
/// it, and contains a loop, a call, a store and a trap; the code after the main loop uses values of the function's
/// first blocks.
const WAT: &str = r#"(module
    (memory 1)
    (func $mix (param $x i64) (result i64) (i64.xor (local.get $x) (i64.shr_u (local.get $x) (i64.const 3))))
    (func (export "run")
        (param $rounds i32) (param $b i64) (param $c f64) (param $d i32) (param $e i64) (param $f i32) (param $g i64)
        (param $end i32) (result i64) (local $i i32) (local $j i32) (local $v v128) (local $sum i64) (local $first i64)
        (local.set $first (i64.mul (local.get $b) (i64.const 31)))
        (if (local.get $d) (then (local.set $first (i64.add (local.get $first) (local.get $e)))))
        (loop $outermost
            (loop $around
                (i64.store (i32.and (i32.mul (local.get $i) (i32.const 56)) (i32.const 0xfff8)) (local.get $e))
                (i64.add (local.get $first) (local.get $g))
                (loop $main (param i64) (result i64)
                    (i64.add (call $mix (i64.extend_i32_u (local.get $i))))
                    (i64.store (i32.and (i32.mul (local.get $i) (i32.const 72)) (i32.const 0xfff8)) (local.get $e))
                    (local.set $v (i64x2.add (local.get $v) (i64x2.splat (local.get $b))))
                    (local.set $c (f64.add (local.get $c) (f64.const 0.5)))
                    (if (i32.and (local.get $i) (i32.const 2))
                        (then (local.set $e (i64.rotl (local.get $e) (i64.const 7))))
                        (else (local.set $e (i64.add (local.get $e) (local.get $first)))))
                    (if (i32.eqz (i32.rem_u (local.get $i) (i32.const 50))) (then
                        (local.set $j (i32.const 3))
                        (loop $small
                            (local.set $sum (i64.add (i64.mul (local.get $sum) (i64.const 5)) (local.get $e)))
                            (br_if $small (local.tee $j (i32.sub (local.get $j) (i32.const 1)))))))
                    (if (i32.eq (local.get $i) (local.get $end)) (then unreachable))
                    (local.set $i (i32.add (local.get $i) (i32.const 1)))
                    (br_if $main (i32.rem_u (local.get $i) (local.get $f))))
                (local.set $sum (i64.add (local.get $sum)))
                (drop (i64.load (i32.and (local.get $i) (i32.const 0xff))))
                (br_if $around (i32.rem_u (local.get $i) (i32.mul (local.get $f) (i32.const 3)))))
            (br_if $outermost (local.tee $rounds (i32.sub (local.get $rounds) (i32.const 1)))))
        (i64.add (i64.trunc_sat_f64_s (local.get $c)) (i64.add (local.get $first)
            (i64.add (local.get $sum) (i64x2.extract_lane 1 (local.get $v))))))
)"#;

/// Arguments of `run`: the iterations of the outermost loop, the iterations of the main loop in each iteration of its
/// parent, and the iteration that traps.
type Way = (i32, i32, i32);

fn run(engine: &Engine, ways: &[Way]) -> Result<(Vec<Option<i64>>, Vec<CodeTier>)> {
    run_module(&Module::new(engine, WAT)?, ways)
}

/// Returns the results of the calls, and the versions of `run` that are made meanwhile.
fn run_module(module: &Module, ways: &[Way]) -> Result<(Vec<Option<i64>>, Vec<CodeTier>)> {
    let (results, versions) = versions_made(module, ways)?;
    Ok((results, versions.iter().map(|version| version.tier).collect()))
}

fn versions_made(module: &Module, ways: &[Way]) -> Result<(Vec<Option<i64>>, Vec<CodeVersion>)> {
    let engine = module.engine();
    let mut store = Store::new(engine, ());
    let instance = Linker::new(engine).instantiate(&mut store, module)?;
    let run = instance.get_typed_func::<(i32, i64, f64, i32, i64, i32, i64, i32), i64>(&mut store, "run")?;
    let results = ways.iter().map(|&(rounds, of_main, end)| {
        match run.call(&mut store, (rounds, 12345, 0.25, rounds & 1, 99, of_main, -7, end)) {
            Err(error) if error.trap() == Some(Trap::UnreachableCodeReached) => Ok(None),
            result => result.map(Some),
        }
    });
    let results = results.collect::<Result<Vec<_>>>()?;
    let timeline = engine.config().profiles().then(|| instance.profile(&store)).transpose()?;
    let versions = timeline.and_then(|profile| profile.timeline).map_or(Vec::new(), |line| line.versions);
    Ok((results, versions.into_iter().filter(|version| version.function == 1).collect()))
}

fn config(strategy: Strategy, lengths: BurstLengths) -> Config {
    let mut config = Config::new();
    config.strategy(strategy).promote_after(100).background_compilation(false).time_line(true);
    config.loop_entries_above(0).reoptimization(None);
    // All loops have checks.
    let checks = "orig".parse().expect("a known name");
    config.profiling(ProfilingConfig::Adaptive(Adaptive { lengths, checks, ..Adaptive::default() }));
    config
}

const WAYS: [Way; 7] =
    [(1, 1, -1), (1, 1000, -1), (2, 7, -1), (40, 5, -1), (3, 200, 500), (3, 200, -1), (1, 300, 899)];

fn expected(ways: &[Way]) -> Result<Vec<Option<i64>>> {
    let mut config = Config::new();
    Ok(run(&Engine::new(config.strategy(Strategy::Baseline))?, ways)?.0)
}

/// Returns the optimised versions of a function whose frame is in the main loop.
fn versions(loop_entries_above: usize) -> std::result::Result<Vec<CodeTier>, Box<dyn std::error::Error>> {
    let mut config = config(Strategy::Tiered, "inf:1".parse()?);
    config.loop_entries_above(loop_entries_above);
    let (results, versions) = run(&Engine::new(&config)?, &WAYS[1..2])?;
    assert_eq!(results, expected(&WAYS[1..2])?);
    Ok(versions.into_iter().filter(|tier| *tier != CodeTier::Baseline).collect())
}

#[test]
fn frames_in_the_main_loop_go_on_in_the_version_for_callers() -> Outcome {
    assert_eq!(versions(0)?, [CodeTier::Optimized]);
    assert_eq!(versions(usize::MAX)?, [CodeTier::Loop]);
    Ok(())
}

#[test]
fn wherever_frames_enter_results_are_the_same() -> Outcome {
    let expected = expected(&WAYS)?;
    assert!(expected.contains(&None) && expected.iter().filter(|result| result.is_some()).count() == 5);
    for strategy in [Strategy::Tiered, Strategy::Optimized] {
        for lengths in ["inf:1", "1:1", "2:3", "7:1", "50:20"] {
            let policies = [None, Some(Policy::eager())];
            for (policy, main_loops) in policies.into_iter().flat_map(|p| [(p, 0), (p, usize::MAX)]) {
                let mut config = config(strategy, lengths.parse()?);
                config.reoptimization(policy).loop_entries_above(main_loops).shared_loops_above(0);
                // All ways in order, and each way as the first one.
                let engine = Engine::new(&config)?;
                assert_eq!(run(&engine, &WAYS)?.0, expected, "{strategy:?} {lengths} {main_loops}");
                for (way, expected) in WAYS.iter().zip(&expected) {
                    let (results, _) = run(&Engine::new(&config)?, &[*way])?;
                    assert_eq!(results, [*expected], "{strategy:?} {lengths} {main_loops} {way:?}");
                }
            }
        }
    }
    Ok(())
}

/// Returns the bytes of machine code of OSR versions and of burst code. Bursts begin and end in all four loops.
fn bytes_of_versions(loop_entries_above: usize) -> std::result::Result<[u64; 2], Box<dyn std::error::Error>> {
    let mut config = config(Strategy::Optimized, "2:3".parse()?);
    let engine = Engine::new(config.loop_entries_above(loop_entries_above))?;
    let (results, versions) = versions_made(&Module::new(&engine, WAT)?, &WAYS)?;
    assert_eq!(results, expected(&WAYS)?);
    let bytes =
        |tier| versions.iter().filter(|version| version.tier == tier).map(|version| version.bytes).sum();
    Ok([CodeTier::Loop, CodeTier::Burst].map(bytes))
}

#[test]
fn versions_that_are_entered_elsewhere_have_no_copy_of_the_main_loop() -> Outcome {
    for (entered, copied) in bytes_of_versions(0)?.into_iter().zip(bytes_of_versions(usize::MAX)?) {
        assert!(entered > 0 && 3 * entered < 2 * copied, "{entered} and {copied} bytes");
    }
    Ok(())
}

/// Returns the number of OSR versions when bursts lead to all four loops.
fn versions_for_frames(shared_loops_above: usize) -> std::result::Result<usize, Box<dyn std::error::Error>> {
    let mut config = config(Strategy::Optimized, "2:3".parse()?);
    config.loop_entries_above(usize::MAX).shared_loops_above(shared_loops_above);
    let (results, versions) = run(&Engine::new(&config)?, &WAYS)?;
    assert_eq!(results, expected(&WAYS)?);
    Ok(versions.into_iter().filter(|tier| *tier == CodeTier::Loop).count())
}

#[test]
fn frames_in_all_loops_go_on_in_one_version() -> Outcome {
    assert_eq!(versions_for_frames(0)?, 1);
    assert_eq!(versions_for_frames(usize::MAX)?, 4);
    Ok(())
}

#[test]
fn a_burst_begins_in_a_loop_only_if_there_is_code_to_come_back_to() -> Outcome {
    let mut config = config(Strategy::Optimized, BurstLengths::new(100, 10));
    config.loop_entries_above(usize::MAX);
    let ways = [(1, 1000, -1)];
    let (results, versions) = run(&Engine::new(&config)?, &ways)?;
    assert_eq!(results, expected(&ways)?);
    let first = |tier| versions.iter().position(|&of| of == tier);
    let (back, burst) = (first(CodeTier::Loop), first(CodeTier::Burst));
    assert!(back.is_some() && burst.is_some() && back < burst, "{versions:?}");
    Ok(())
}

/// An OSR version need not contain the code before its loop.
#[test]
fn what_resumes_near_the_end_is_a_version_of_its_own() -> Outcome {
    let branch =
        "(if (i32.and (local.get $n) (i32.const 1)) (then (i32.store (local.get $n) (local.get $x))))
        (local.set $x (i32.add (local.get $x) (i32.div_u (local.get $n) (i32.const 3))))";
    let wat = format!(
        "(module (memory 1) (func (export \"run\") (param $n i32) (result i32) (local $x i32) {}
            (loop $last
                (local.set $x (i32.add (i32.mul (local.get $x) (i32.const 5)) (local.get $n)))
                (br_if $last (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
            (local.get $x)))",
        branch.repeat(40)
    );
    let mut config = config(Strategy::Optimized, "2:3".parse()?);
    let engine = Engine::new(config.loop_entries_above(usize::MAX).shared_loops_above(0))?;
    let mut store = Store::new(&engine, ());
    let instance = Linker::new(&engine).instantiate(&mut store, &Module::new(&engine, &wat)?)?;
    instance.get_typed_func::<i32, i32>(&mut store, "run")?.call(&mut store, 100)?;
    let versions = instance.profile(&store)?.timeline.expect("a time line").versions;
    let bytes = |tier| versions.iter().find(|version| version.tier == tier).map(|version| version.bytes);
    let (all, last) = (bytes(CodeTier::Optimized), bytes(CodeTier::Loop));
    assert!(2 * last.expect("a version for frames") < all.expect("one for callers"), "{versions:?}");
    Ok(())
}

/// A nested loop that begins with more operands than fit into the OSR buffer.
#[test]
fn frames_come_to_a_loop_in_one_where_they_could_not_go_on() -> Outcome {
    let (types, values, drops) = ("i32 ".repeat(1000), "(i32.const 7)".repeat(1000), "drop ".repeat(1000));
    let wat = format!(
        "(module (type $many (func (param {types})))
            (func (export \"run\") (param $n i32) (result i32) (local $i i32) (local $x i32) (local {})
                {values} loop $outer (type $many) {drops}
                    (loop $inner
                        (local.set $x (i32.add (i32.mul (local.get $x) (i32.const 5)) (local.get $i)))
                        (local.set $i (i32.add (local.get $i) (i32.const 1)))
                        (br_if $inner (i32.rem_u (local.get $i) (i32.const 7))))
                    (if (i32.lt_u (local.get $i) (local.get $n)) (then {values} br $outer))
                end (local.get $x)))",
        "i32 ".repeat(3500)
    );
    let expected = (0..1001).fold(0_i32, |x, i| x.wrapping_mul(5).wrapping_add(i));
    for strategy in [Strategy::Optimized, Strategy::Tiered] {
        let mut config = config(strategy, "1:1".parse()?);
        config.loop_entries_above(usize::MAX).shared_loops_above(0).promote_after(1);
        let engine = Engine::new(&config)?;
        let mut store = Store::new(&engine, ());
        let instance = Linker::new(&engine).instantiate(&mut store, &Module::new(&engine, &wat)?)?;
        let run = instance.get_typed_func::<i32, i32>(&mut store, "run")?;
        assert_eq!(run.call(&mut store, 1000)?, expected, "{strategy:?}");
        let profile = instance.profile(&store)?;
        let versions = profile.timeline.expect("a time line").versions;
        assert!(versions.iter().any(|version| version.tier == CodeTier::Loop), "{strategy:?}");
    }
    Ok(())
}

#[test]
fn code_for_bursts_is_optimised_or_not() -> Outcome {
    let bytes = |optimized| -> std::result::Result<u64, Box<dyn std::error::Error>> {
        let lengths = "2:3".parse()?;
        let mut config = config(Strategy::Optimized, lengths);
        config.profiling(ProfilingConfig::Adaptive(Adaptive { lengths, optimized, ..Adaptive::default() }));
        let (_, versions) = versions_made(&Module::new(&Engine::new(&config)?, WAT)?, &WAYS)?;
        let of_bursts = versions.iter().filter(|version| version.tier == CodeTier::Burst);
        Ok(of_bursts.map(|version| version.bytes).sum())
    };
    // By default burst code is optimised here, because these bursts have more than half of the checks.
    assert_eq!(bytes(None)?, bytes(Some(true))?);
    assert!(bytes(Some(false))? > bytes(Some(true))?);
    Ok(())
}

/// Returns the profile of calls of `run` that return.
fn profile(engine: &Engine) -> std::result::Result<Profile, Box<dyn std::error::Error>> {
    let mut store = Store::new(engine, ());
    let instance = Linker::new(engine).instantiate(&mut store, &Module::new(engine, WAT)?)?;
    let run = instance.get_typed_func::<(i32, i64, f64, i32, i64, i32, i64, i32), i64>(&mut store, "run")?;
    for (rounds, of_main) in [(1, 1), (1, 1000), (40, 5)] {
        run.call(&mut store, (rounds, 12345, 0.25, rounds & 1, 99, of_main, -7, -1))?;
    }
    Ok(instance.profile(&store)?)
}

/// A burst that never ends enters the main loop from the entry and from the other loops.
#[test]
fn a_path_goes_on_in_the_main_loop_and_so_does_what_is_measured_along_it() -> Outcome {
    let counted = |profile: &Profile| -> Vec<_> {
        profile.functions.iter().map(|function| function.paths().expect("paths").finished.clone()).collect()
    };
    let misses = [Metric::CacheMisses(CacheShape::new(1024, 2, 64)?)];
    let mut config = Config::new();
    config.strategy(Strategy::Optimized).profiling(ProfilingConfig::Exact(Collect::Paths));
    config.count_contexts(true).measure(misses).loop_entries_above(0).background_compilation(false);
    let exact = counted(&profile(&Engine::new(&config)?)?);
    assert!(exact.iter().flatten().any(|path| path.metrics[0] > 0));
    for optimized in [true, false].map(Some) {
        let (lengths, checks) = (BurstLengths::new(1, BurstLengths::FOREVER), "orig".parse()?);
        let adaptive = Adaptive { lengths, checks, optimized, ..Adaptive::default() };
        config.profiling(ProfilingConfig::Adaptive(adaptive)).reoptimization(None);
        assert_eq!(counted(&profile(&Engine::new(&config)?)?), exact, "{optimized:?}");
    }
    Ok(())
}

#[test]
fn frames_enter_code_of_an_earlier_run() -> Outcome {
    let (folder, expected) = (tempfile::tempdir()?, expected(&WAYS)?);
    let mut config = config(Strategy::Tiered, "20:10".parse()?);
    config.code_cache(folder.path().join("code"));
    for is_first in [true, false] {
        let module = Module::new(&Engine::new(&config)?, WAT)?;
        assert_eq!(module.compiled().0 == 0, is_first);
        let (results, versions) = run_module(&module, &WAYS)?;
        assert_eq!(results, expected);
        // Frames in other loops have their own versions in each run.
        assert_eq!(versions.contains(&CodeTier::Optimized), is_first);
        module.update_code_cache()?;
    }
    Ok(())
}
