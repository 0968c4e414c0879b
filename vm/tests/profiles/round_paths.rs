//! Loops whose iterations are one path count it for several iterations at once: the profile equals that of code that
//! counts each iteration.

use std::sync::Arc;

use wprof::profiler::Profile;
use wprof::*;

type Outcome = std::result::Result<(), Box<dyn std::error::Error>>;

/// `ifs` bits decide `ifs` ifs; with 15 of them there are too many paths for counters. The other loop is left in its
/// middle when its counter is `$stop`, and traps when it is `$trap`.
fn wat(ifs: u32) -> String {
    let decide = |bit: u32| {
        let mask = 1 << bit;
        format!(
            "(if (i32.and (local.get $n) (i32.const {mask})) (then (i32.store (i32.const 8) (local.get $n))))"
        )
    };
    let all: String = (0..ifs).map(decide).collect();
    format!(
        r#"(module (memory 1)
        (func (export "g") (param i32 i32 i32) (call $f (local.get 0) (local.get 1) (local.get 2)))
        (func $f (export "f") (param $n i32) (param $stop i32) (param $trap i32) (local $i i32)
            {all}
            (block $out (loop $again
                (br_if $out (i32.eq (local.get $i) (local.get $stop)))
                (drop (i32.load (i32.mul (i32.const -4) (i32.eq (local.get $i) (local.get $trap)))))
                (br_if $again (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 20)))))))"#
    )
}

const NEVER: i32 = 99;

/// Returns the profile of calls that end in each iteration, normally, in the middle, or by a trap.
fn run(config: &Config, ifs: u32, rounds: std::ops::Range<i32>) -> Result<Profile> {
    let engine = Engine::new(config)?;
    let mut store = Store::new(&engine, ());
    let instance = Instance::new(&mut store, &Module::new(&engine, wat(ifs))?, &[])?;
    let ways = ["f", "g"].map(|name| instance.get_typed_func::<(i32, i32, i32), ()>(&mut store, name));
    for (round, f) in rounds.flat_map(|round| ways.iter().map(move |f| (round, f))) {
        for (stop, trap) in [(round, NEVER), (NEVER, round)] {
            let ended = f.as_ref().expect("exported").call(&mut store, (round * 7, stop, trap));
            assert_eq!(ended.is_err(), (0..20).contains(&trap), "round {round}");
        }
    }
    let mut profile = instance.profile(&store)?;
    profile.verify().map_err(Error::msg)?;
    profile.code = Default::default();
    profile.functions.iter_mut().for_each(|function| function.cost = Default::default());
    Ok(profile)
}

/// Counts paths in calling contexts, where call records have cells for the paths of functions with at most
/// `record_paths` paths.
fn in_contexts(strategy: Strategy, record_paths: u32) -> Config {
    let mut config = config(strategy);
    config.count_contexts(true).flow_contexts(true).record_paths(record_paths);
    config
}

fn config(strategy: Strategy) -> Config {
    let mut config = Config::new();
    config.profiling(ProfilingConfig::Exact(Collect::Paths)).strategy(strategy);
    config.promote_after(7).background_compilation(false);
    config
}

#[test]
fn wherever_a_round_ends_paths_are_those_of_plain_loops() -> Outcome {
    for ifs in [2, 15] {
        let expected = run(&config(Strategy::Baseline), ifs, 0..24)?;
        let loops_little = Arc::new(run(&config(Strategy::Baseline), ifs, 0..1)?);
        for strategy in [Strategy::Optimized, Strategy::Tiered] {
            assert_eq!(run(&config(strategy), ifs, 0..24)?, expected, "{strategy:?}, {ifs} ifs");
            let mut weighted = config(strategy);
            weighted.weights(loops_little.clone());
            assert_eq!(run(&weighted, ifs, 0..24)?, expected, "{strategy:?}, {ifs} ifs, weighted");
        }
    }
    Ok(())
}

#[test]
fn so_are_they_where_interesting_ones_are_told_from_others() -> Outcome {
    for (ifs, some) in [(2, 0..3), (15, 0..3), (15, 22..24), (15, 0..24)] {
        let expected = run(&config(Strategy::Baseline), ifs, 0..24)?;
        let tests = Arc::new(run(&config(Strategy::Baseline), ifs, some)?);
        let untested = expected.residual(&tests)?;
        for strategy in [Strategy::Optimized, Strategy::Tiered] {
            let mut counted = config(strategy);
            counted.interesting_paths(Interesting { beyond: 0, ..Interesting::new(tests.clone()) });
            assert_eq!(run(&counted, ifs, 0..24)?, expected, "{strategy:?}, {ifs} ifs");
            let mut others = config(strategy);
            others.interesting_paths(Interesting { beyond: 0, ..Interesting::uncounted(tests.clone()) });
            let found = run(&others, ifs, 0..24)?;
            assert_eq!(found.functions.len(), expected.only(&untested).functions.len(), "{strategy:?}");
            let paths = |profile: &Profile| profile.functions.first().and_then(|f| f.paths().cloned());
            assert_eq!(paths(&found), paths(&expected.only(&untested)), "{strategy:?}, {ifs} ifs, others");
        }
    }
    Ok(())
}

#[test]
fn so_are_they_in_each_calling_context() -> Outcome {
    for ifs in [2, 15] {
        let expected = run(&in_contexts(Strategy::Baseline, 64), ifs, 0..24)?;
        let tree = expected.contexts.as_ref().expect("counted");
        assert_eq!(tree.records.iter().filter(|record| !record.unfinished.is_empty()).count(), 3);
        for (strategy, cells) in [(Strategy::Optimized, 64), (Strategy::Tiered, 64), (Strategy::Optimized, 0)]
        {
            let found = run(&in_contexts(strategy, cells), ifs, 0..24)?;
            assert_eq!(found, expected, "{strategy:?}, {ifs} ifs, {cells} cells");
        }
    }
    Ok(())
}
