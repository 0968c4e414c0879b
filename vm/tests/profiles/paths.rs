//! Path profiles with a counter per path and with a table, in every tier, wherever frames end.

use std::collections::BTreeMap;

use wprof::profiler::{FunctionProfile, Profile, UnfinishedPath};
use wprof::*;

type Outcome = std::result::Result<(), Box<dyn std::error::Error>>;

/// Executions of each path, by its blocks.
type Ways = BTreeMap<Vec<u32>, u64>;

/// `ifs` bits decide `ifs` ifs in each iteration; with 15 of them there are too many paths for counters.
fn bits(ifs: u32) -> String {
    let decide = |bit: u32| {
        format!(
            "(if (i32.and (local.get $x) (i32.const {})) (then (local.set $s (i32.add (local.get $s) (i32.const {})))))",
            1 << bit,
            3 * bit + 1
        )
    };
    let all: String = (0..ifs).map(decide).collect();
    format!(
        r#"(module (import "host" "f" (func $f (param i32)))
            (func $bits (export "bits") (param $n i32) (result i32) (local $x i32) (local $s i32)
                (loop $again
                    (local.set $x (i32.mul (local.get $n) (i32.const 0x9e3779b1)))
                    {all}
                    (call $f (local.get $n))
                    (br_if $again (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
                (local.get $s)))"#
    )
}

/// Returns the blocks of the iteration with this `n`: the entry before the first iteration, the loop header, and for
/// each bit its arm, if the bit is set, and the block after the arm.
fn round(ifs: u32, n: i32, is_first: bool) -> Vec<u32> {
    let x = (n as u32).wrapping_mul(0x9e37_79b1);
    let arms = (0..ifs).map(|bit| (x >> bit & 1 == 1, 2 + 2 * bit));
    let arms = arms.flat_map(|(is_set, arm)| if is_set { vec![arm, arm + 1] } else { vec![arm + 1] });
    let before = if is_first { vec![0, 1] } else { vec![1] };
    before.into_iter().chain(arms).collect()
}

/// Returns the executions of each path of a run of `rounds` iterations, up to the end of iteration `n`; the last
/// iteration leaves.
fn expected(ifs: u32, rounds: i32, until: i32) -> Ways {
    let mut ways = Ways::new();
    for n in until..=rounds {
        let mut way = round(ifs, n, n == rounds);
        way.extend((n == 1).then_some(2 * ifs + 2));
        *ways.entry(way).or_default() += 1;
    }
    ways
}

fn ways(function: &FunctionProfile) -> Ways {
    let (cfg, numbering) = (function.cfg().expect("a graph"), function.path_numbering().expect("paths"));
    let paths = &function.paths().expect("paths").finished;
    let blocks = |id| numbering.path(id).expect("a path").blocks(&cfg).iter().map(|b| b.0).collect();
    paths.iter().map(|path| (blocks(path.id), path.count)).collect()
}

fn engine(strategy: Strategy) -> Result<Engine> {
    let mut config = Config::new();
    config.profiling(ProfilingConfig::Exact(Collect::Paths)).strategy(strategy);
    config.promote_after(20).background_compilation(false);
    Engine::new(&config)
}

fn sample<R: WasmRet + 'static>(
    engine: &Engine,
    wat: &str,
    host: impl Fn(Caller<'_, Vec<Profile>>, i32) -> R + Send + Sync + 'static,
) -> Result<(Store<Vec<Profile>>, Instance)> {
    let module = Module::new(engine, wat)?;
    let mut linker = Linker::new(engine);
    linker.func_wrap("host", "f", host)?;
    let mut store = Store::new(engine, Vec::new());
    let instance = linker.instantiate(&mut store, &module)?;
    Ok((store, instance))
}

const STRATEGIES: [Strategy; 3] = [Strategy::Baseline, Strategy::Optimized, Strategy::Tiered];

#[test]
fn paths_are_counted_by_counters_and_by_a_table() -> Outcome {
    for (ifs, possible) in [(3, 32), (12, 1 << 14), (15, 1 << 17)] {
        for strategy in STRATEGIES {
            let (mut store, instance) = sample(&engine(strategy)?, &bits(ifs), |_, _| ())?;
            let run = instance.get_typed_func::<i32, i32>(&mut store, "bits")?;
            run.call(&mut store, 300)?;
            let profile = instance.profile(&store)?;
            profile.verify()?;
            let function = &profile.functions[0];
            assert_eq!(function.paths().map(|paths| paths.possible), Some(possible));
            assert_eq!(ways(function), expected(ifs, 300, 1), "{strategy:?}, {ifs} ifs");
            assert_eq!(Profile::from_bytes(&profile.to_bytes()?)?, profile);
        }
    }
    Ok(())
}

/// In each call of the host the path of the current iteration is unfinished; the finished paths are those of the
/// earlier iterations.
#[test]
fn a_frame_on_the_stack_tells_its_path() -> Outcome {
    for (ifs, strategy) in [(3, Strategy::Tiered), (15, Strategy::Tiered), (3, Strategy::Baseline)] {
        let (mut store, instance) = sample(&engine(strategy)?, &bits(ifs), |mut caller, _| {
            let profile = caller.instance().expect("wasm").profile(&caller).expect("consistent");
            caller.data_mut().push(profile);
        })?;
        instance.get_typed_func::<i32, i32>(&mut store, "bits")?.call(&mut store, 100)?;
        for (profile, n) in store.data().iter().zip((1..=100).rev()) {
            profile.verify()?;
            let function = &profile.functions[0];
            assert_eq!(unfinished(function), [(round(ifs, n, n == 100), 1)], "round {n}");
            assert_eq!(ways(function), expected(ifs, 100, n + 1), "round {n}");
        }
        assert_eq!(store.data().len(), 100);
    }
    Ok(())
}

/// Recursion from the middle of a loop, ended by a trap: each frame is on its own path.
#[test]
fn each_frame_that_a_trap_ends_has_its_own_path() -> Outcome {
    let wat = r#"(module (func $down (export "down") (param $n i32) (local $i i32)
        (loop $again
            (local.set $i (i32.add (local.get $i) (i32.const 1)))
            (if (i32.and (local.get $n) (i32.const 1)) (then (nop)))
            (br_if $again (i32.lt_u (local.get $i) (local.get $n)))
            (if (i32.eqz (local.get $n)) (then (unreachable)))
            (call $down (i32.sub (local.get $n) (i32.const 1))))))"#;
    for strategy in STRATEGIES {
        let engine = engine(strategy)?;
        let mut store = Store::new(&engine, ());
        let instance = Instance::new(&mut store, &Module::new(&engine, wat)?, &[])?;
        let down = instance.get_typed_func::<i32, ()>(&mut store, "down")?;
        down.call(&mut store, 60).expect_err("unreachable");
        let profile = instance.profile(&store)?;
        profile.verify()?;
        let found: Ways = unfinished(&profile.functions[0]).into_iter().collect();
        // Odd frames went through the arm; those of 1 and 0 ran a single iteration, so that their path began at the
        // entry.
        let frames = [(vec![1, 2, 3, 4, 6], 29), (vec![1, 3, 4, 6], 30)];
        let last = [(vec![0, 1, 2, 3, 4, 6], 1), (vec![0, 1, 3, 4, 5], 1)];
        assert_eq!(found, frames.into_iter().chain(last).collect::<Ways>(), "{strategy:?}");
    }
    Ok(())
}

/// The stack overflows in versions of all tiers, in the callee's entry and in the builtin of the path table.
#[test]
fn stacks_that_overflow_leave_a_consistent_profile() -> Outcome {
    let decide = |bit: u32| format!("(if (i32.and (local.get $n) (i32.const {})) (then (nop)))", 1 << bit);
    for ifs in [2, 16] {
        let decides: String = (0..ifs).map(decide).collect();
        let wat = format!(
            r#"(module (func $f (export "f") (param $n i32) (local $i i32)
                (loop $again
                    {decides}
                    (local.set $i (i32.add (local.get $i) (i32.const 1)))
                    (br_if $again (i32.lt_u (local.get $i) (i32.const 7))))
                (call $f (i32.add (local.get $n) (i32.const 1)))))"#
        );
        for strategy in STRATEGIES {
            let engine = engine(strategy)?;
            let mut store = Store::new(&engine, ());
            let instance = Instance::new(&mut store, &Module::new(&engine, &wat)?, &[])?;
            let f = instance.get_typed_func::<i32, ()>(&mut store, "f")?;
            for _ in 0..2 {
                assert_eq!(f.call(&mut store, 0).expect_err("overflow").trap(), Some(Trap::StackOverflow));
            }
            instance.profile(&store)?.verify()?;
        }
    }
    Ok(())
}

#[test]
fn instances_of_one_module_have_paths_of_their_own() -> Outcome {
    for ifs in [3, 15] {
        let engine = engine(Strategy::Tiered)?;
        let module = Module::new(&engine, bits(ifs))?;
        let mut store = Store::new(&engine, ());
        let host: Extern = Func::wrap(&mut store, |_: i32| ()).into();
        let instances =
            [Instance::new(&mut store, &module, &[host])?, Instance::new(&mut store, &module, &[host])?];
        for (instance, rounds) in instances.iter().zip([40, 70]) {
            instance.get_typed_func::<i32, i32>(&mut store, "bits")?.call(&mut store, rounds)?;
        }
        for (instance, rounds) in instances.iter().zip([40, 70]) {
            assert_eq!(ways(&instance.profile(&store)?.functions[0]), expected(ifs, rounds, 1));
        }
    }
    Ok(())
}

fn unfinished(function: &FunctionProfile) -> Vec<(Vec<u32>, u64)> {
    let (cfg, numbering) = (function.cfg().expect("a graph"), function.path_numbering().expect("paths"));
    let paths = &function.paths().expect("paths").unfinished;
    let blocks = |path: &UnfinishedPath| {
        let prefix = numbering.prefix(path.exit.block, path.prefix).expect("a prefix");
        prefix.blocks_of_prefix(&cfg).iter().map(|block| block.0).collect()
    };
    paths.iter().map(|path| (blocks(path), path.exit.count)).collect()
}
