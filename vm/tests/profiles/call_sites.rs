//! Call sites in calling contexts: merged on request, and those that a single path reaches.

use wprof::profiler::{Callee, ContextTree, Profile};
use wprof::*;

type Outcome = std::result::Result<(), Box<dyn std::error::Error>>;

/// `main` calls `f` in both arms of a branch and behind it, and once by the table; `f` calls `g` twice.
const CALLS: &str = r#"(module
  (table 1 funcref) (elem (i32.const 0) $f)
  (func $g)
  (func $f (call $g) (call $g))
  (func $main (export "main") (param i32)
    (if (local.get 0) (then (call $f)) (else (call $f)))
    (call $f)
    (call_indirect (i32.const 0))))"#;

/// Calls `main` with 1, 1 and 0, and returns the profile after it was written and read.
fn profile(config: &Config) -> std::result::Result<Profile, Box<dyn std::error::Error>> {
    let engine = Engine::new(config)?;
    let module = Module::new(&engine, CALLS)?;
    let mut store = Store::new(&engine, ());
    let instance = Instance::new(&mut store, &module, &[])?;
    let main = instance.get_typed_func::<i32, ()>(&mut store, "main")?;
    for argument in [1, 1, 0] {
        main.call(&mut store, argument)?;
    }
    let profile = instance.profile(&store)?;
    assert_eq!(Profile::from_bytes(&profile.to_bytes()?)?, profile);
    Ok(profile)
}

/// Returns the number of records and of calls of each function, by name.
fn records(tree: &ContextTree) -> Vec<(String, usize, u64)> {
    let of = |name: &str| {
        let is_it = |callee: &Callee| matches!(callee, Callee::Function { name: Some(n), .. } if n == name);
        let calls: Vec<u64> =
            (0..).zip(&tree.records).filter(|(n, _)| is_it(tree.callee(*n))).map(|(_, r)| r.calls).collect();
        (name.to_owned(), calls.len(), calls.iter().sum())
    };
    ["main", "f", "g"].map(of).into()
}

#[test]
fn merged_call_sites_have_one_record_also_of_what_is_called_directly_and_indirectly() -> Outcome {
    let forever = Adaptive { lengths: "1:inf".parse()?, checks: "orig".parse()?, ..Adaptive::default() };
    for strategy in [Strategy::Optimized, Strategy::Baseline] {
        for profiling in [ProfilingConfig::Off, ProfilingConfig::Adaptive(forever)] {
            let mut config = Config::new();
            config.strategy(strategy).profiling(profiling).reoptimization(None).count_contexts(true);
            let by_site = profile(&config)?.contexts.ok_or("no contexts")?;
            let by_callee = profile(config.merge_call_sites(true))?.contexts.ok_or("no contexts")?;
            let expected =
                |f, g| [("main", 1, 3), ("f", f, 9), ("g", g, 18)].map(|(n, r, c)| (n.to_owned(), r, c));
            assert_eq!(
                (records(&by_site), records(&by_callee)),
                (expected(4, 8).into(), expected(1, 1).into())
            );
            assert_eq!(by_callee.records, by_site.with_sites_merged().records);
            // Three records; `main` has a slot for direct calls of `f` and one for indirect calls, `f` one for `g`.
            let found =
                [by_site.stats(), by_callee.stats()].map(|stats| (stats.records, stats.sites, stats.bytes));
            assert_eq!(found, [(13, 12, 13 * 16 + 12 * 8), (3, 3, 3 * 16 + 3 * 8)]);
        }
    }
    Ok(())
}

#[test]
fn sums_of_both_kinds_have_merged_call_sites() -> Outcome {
    let mut config = Config::new();
    config.profiling(ProfilingConfig::Off).count_contexts(true);
    let by_site = profile(&config)?.contexts.ok_or("no contexts")?;
    let by_callee = profile(config.merge_call_sites(true))?.contexts.ok_or("no contexts")?;
    let sum = by_site.merged(&by_callee);
    assert_eq!((sum.verify(), sum.merges_sites), (Ok(()), true));
    assert_eq!(
        records(&sum),
        [("main", 1, 6), ("f", 1, 18), ("g", 1, 36)].map(|(n, r, c)| (n.to_owned(), r, c))
    );
    Ok(())
}

#[test]
fn sites_that_a_single_path_reaches_are_counted_by_record() -> Outcome {
    let mut config = Config::new();
    config.profiling(ProfilingConfig::Exact(Collect::Paths)).count_contexts(true).flow_contexts(true);
    // The sites in the arms of `main`, and both of the four records of `f`; the two behind the branch have two paths.
    assert_eq!(profile(&config)?.one_path_sites(), Some(2 + 8));
    assert_eq!(profile(config.merge_call_sites(true))?.one_path_sites(), None);
    let mut without = Config::new();
    without.profiling(ProfilingConfig::Exact(Collect::Paths)).count_contexts(true);
    assert_eq!(profile(&without)?.one_path_sites(), None);
    Ok(())
}
