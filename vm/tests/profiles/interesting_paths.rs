//! Interesting paths: if they are counted, the profile is that of plain paths; if not, it has the other paths only.

use std::sync::Arc;

use wprof::profiler::{FigureKind, Profile};
use wprof::*;

type Outcome = std::result::Result<(), Box<dyn std::error::Error>>;

/// 15 bits of a number decide 15 ifs in each iteration: too many paths for counters.
fn bits() -> String {
    let decide = |bit: u32| {
        format!(
            "(if (i32.and (local.get $x) (i32.const {})) (then (local.set $s (i32.add (local.get $s) (i32.const {bit})))))",
            1 << bit
        )
    };
    let all: String = (0..15).map(decide).collect();
    format!(
        r#"(module (import "host" "f" (func $f (param i32)))
            (func $bits (export "bits") (param $n i32) (result i32) (local $x i32) (local $s i32)
                (loop $again
                    (local.set $x (i32.mul (i32.rem_u (local.get $n) (i32.const 50)) (i32.const 0x9e3779b1)))
                    {all}
                    (call $f (local.get $n))
                    (br_if $again (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
                (local.get $s)))"#
    )
}

fn config(strategy: Strategy) -> Config {
    let mut config = Config::new();
    config.profiling(ProfilingConfig::Exact(Collect::Paths)).strategy(strategy);
    config.promote_after(20).background_compilation(false);
    config
}

/// Returns the profile of `rounds` iterations, their result, and the profiles that the host took meanwhile.
fn run(config: &Config, rounds: i32) -> std::result::Result<(Profile, i32, Vec<Profile>), Error> {
    let engine = Engine::new(config)?;
    let module = Module::new(&engine, bits())?;
    let mut linker = Linker::new(&engine);
    linker.func_wrap("host", "f", |mut caller: Caller<'_, Vec<Profile>>, n: i32| {
        if n % 30 == 0 {
            let profile = caller.instance().expect("wasm").profile(&caller).expect("consistent");
            caller.data_mut().push(profile);
        }
    })?;
    let mut store = Store::new(&engine, Vec::new());
    let instance = linker.instantiate(&mut store, &module)?;
    let result = instance.get_typed_func::<i32, i32>(&mut store, "bits")?.call(&mut store, rounds)?;
    let profile = instance.profile(&store)?;
    profile.verify().map_err(Error::msg)?;
    Ok((profile, result, store.data().clone()))
}

const STRATEGIES: [Strategy; 3] = [Strategy::Baseline, Strategy::Optimized, Strategy::Tiered];

/// The paths of twenty iterations are interesting; three hundred iterations include all of the fifty paths but the
/// last.
fn interesting() -> std::result::Result<Arc<Profile>, Error> {
    Ok(Arc::new(run(&config(Strategy::Optimized), 20)?.0))
}

/// Returns the paths and everything derived from them; the cost of counting may differ.
fn counts(profile: &Profile) -> Profile {
    let mut profile = profile.clone();
    profile.code = Default::default();
    profile.functions.iter_mut().for_each(|function| function.cost = Default::default());
    profile
}

#[test]
fn counted_they_are_paths_as_all_others() -> Outcome {
    let interesting = interesting()?;
    for strategy in STRATEGIES {
        let (plain, expected, meanwhile) = run(&config(strategy), 300)?;
        let mut config = config(strategy);
        let (profile, result, taken) =
            run(config.interesting_paths(Interesting::new(interesting.clone())), 300)?;
        assert_eq!(counts(&profile), counts(&plain), "{strategy:?}");
        assert_eq!(result, expected);
        assert!(meanwhile.len() == 10 && taken.iter().map(counts).eq(meanwhile.iter().map(counts)));
    }
    Ok(())
}

#[test]
fn not_counted_they_leave_the_others() -> Outcome {
    let interesting = interesting()?;
    for strategy in STRATEGIES {
        let (plain, _, meanwhile) = run(&config(strategy), 300)?;
        let mut config = config(strategy);
        let (profile, _, taken) =
            run(config.interesting_paths(Interesting::uncounted(interesting.clone())), 300)?;
        let untested = |plain: &Profile| plain.residual(&interesting).expect("of one module");
        let others = |plain: &Profile| plain.only(&untested(plain)).functions;
        assert_eq!(profile.functions, others(&plain), "{strategy:?}");
        let paths = |profile: &Profile| profile.functions[0].paths().map(|paths| paths.finished.len());
        assert!(paths(&profile) < paths(&plain), "some are interesting");
        assert_eq!(profile.functions[0].kind, FigureKind::Selected);
        assert!(taken.iter().zip(&meanwhile).all(|(taken, plain)| taken.functions == others(plain)));
        let (nothing, ..) = run(&config, 20)?;
        assert_eq!(nothing.functions, [], "all of it was interesting");
    }
    Ok(())
}

#[test]
fn interesting_paths_of_something_else_are_refused() -> Outcome {
    let interesting = interesting()?;
    let mut config = config(Strategy::Optimized);
    config.interesting_paths(Interesting::new(interesting.clone()));
    let other = Module::new(&Engine::new(&config)?, "(module)").expect_err("another module").to_string();
    assert!(other.contains("the interesting paths are a profile of another module"), "{other}");
    let mut edges = config.clone();
    let refused = Engine::new(edges.profiling(ProfilingConfig::Exact(Collect::Edges)));
    assert!(refused.expect_err("edges").to_string().contains("paths are not counted"));
    let nothing = Interesting::new(Arc::new(Profile::default()));
    let refused = Engine::new(config.interesting_paths(nothing)).expect_err("no paths").to_string();
    assert!(refused.contains("says nothing about paths"), "{refused}");
    Ok(())
}

/// Runs a function with few paths, all of which the run takes, except the path that leaves the loop with an even
/// number. Returns the size of its code in bytes, its result, and its profile.
fn steps(config: &Config) -> std::result::Result<(usize, i32, Profile), Error> {
    let wat = r#"(module (func (export "steps") (param $n i32) (result i32) (local $s i32)
        (loop $again
            (if (i32.and (local.get $n) (i32.const 1)) (then (local.set $s (i32.add (local.get $s) (local.get $n)))))
            (br_if $again (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
        (local.get $s)))"#;
    let module = Module::new(&Engine::new(config)?, wat)?;
    let mut store = Store::new(module.engine(), ());
    let instance = Linker::new(module.engine()).instantiate(&mut store, &module)?;
    let steps = instance.get_typed_func::<i32, i32>(&mut store, "steps")?;
    let result = [1, 2, 7, 8].into_iter().map(|n| steps.call(&mut store, n)).sum::<Result<i32>>()?;
    Ok((module.code_bytes(), result, instance.profile(&store)?))
}

#[test]
fn an_end_of_known_paths_alone_is_not_counted() -> Outcome {
    let mut config = Config::new();
    config.profiling(ProfilingConfig::Exact(Collect::Paths)).strategy(Strategy::Baseline);
    let (bytes, result, profile) = steps(&config)?;
    let paths = profile.functions[0].paths().expect("paths were counted");
    let (_, _, other) = steps(config.interesting_paths(Interesting::new(Arc::new(profile.clone()))))?;
    assert_eq!(counts(&other), counts(&profile));
    let few = steps(config.interesting_paths(Interesting::uncounted(Arc::new(profile.clone()))))?;
    assert_eq!((few.1, few.2.functions.len()), (result, 0), "{paths:?}");
    assert!(few.0 < bytes, "{} bytes, and {bytes} where paths are counted: {paths:?}", few.0);
    Ok(())
}
