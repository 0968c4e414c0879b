//! Events in calling contexts, of runs that are small enough to write the events down.

use std::sync::{Arc, Mutex};

use wprof::profiler::{Callee, Profile};
use wprof::*;

type Outcome = std::result::Result<(), Box<dyn std::error::Error>>;

/// Returns engines for all ways to compile and to count.
fn engines() -> impl Iterator<Item = Engine> {
    let strategies = [Strategy::Optimized, Strategy::Baseline, Strategy::Tiered];
    let others = ["", "edges", "flow", "metered", "blocks", "steps", "metrics"];
    strategies.into_iter().flat_map(move |strategy| others.map(|other| engine(strategy, other)))
}

fn engine(strategy: Strategy, other: &str) -> Engine {
    let mut config = Config::new();
    config.strategy(strategy).background_compilation(false).promote_after(2).count_contexts(true);
    config.count_events(["instructions", "loads", "fuel"].into_iter().filter_map(EventModel::built_in));
    match other {
        "edges" => config.profiling(ProfilingConfig::Exact(Collect::Edges)),
        "flow" => config.profiling(ProfilingConfig::Exact(Collect::Paths)).flow_contexts(true),
        "metered" => config.budget("instructions"),
        "blocks" => config.event_counting(Counting::PerBlock),
        "steps" => config.event_counting(Counting::PerInstruction),
        "metrics" => config.measure([Metric::Cycles]),
        _ => &mut config,
    };
    Engine::new(&config).expect("this machine")
}

const SAMPLE: &str = r#"(module
    (import "host" "look" (func $look))
    (memory 1)
    (tag $e)
    (func $twice (drop (i32.load (i32.const 0))) (drop (i32.load (i32.const 4))))
    (func $thrower (param i32)
        (drop (i32.load (i32.const 0)))
        (if (local.get 0) (then (throw $e)))
        (drop (i32.load (i32.const 4))))
    (func $catcher (param i32)
        (block $caught
            (try_table (catch $e $caught)
                (call $thrower (local.get 0))
                (drop (i32.load (i32.const 8)))))
        (drop (i32.load (i32.const 12))))
    (func $tail (drop (i32.load (i32.const 0))) (return_call $twice))
    (func $deep (param i32)
        (drop (i32.load (i32.const 0)))
        (if (local.get 0) (then (call $deep (i32.sub (local.get 0) (i32.const 1))))))
    (func $filler (memory.fill (i32.const 0) (i32.const 0) (i32.const 100)))
    (func (export "run") (param $by i32) (local $n i32)
        (call $catcher (i32.const 0))
        (call $catcher (i32.const 1))
        (call $tail)
        (call $deep (i32.const 9))
        (call $filler)
        (loop $again
            (drop (i32.load (i32.const 0)))
            (call $look)
            (br_if $again (i32.lt_u (local.tee $n (i32.add (local.get $n) (i32.const 1))) (i32.const 3))))
        (drop (i32.div_u (i32.load (i32.const 0)) (local.get $by)))
        (call $twice)))"#;

/// Returns the names and counts of all records with events of a kind, the root first.
fn of_kind(profile: &Profile, kind: &str) -> Vec<(String, u64)> {
    let tree = profile.contexts.as_ref().expect("counted");
    let column = tree.metrics.iter().position(|metric| metric.name == kind).expect("counted");
    let name = |record: u32| match tree.callee(record) {
        Callee::Function { name, index } => name.clone().unwrap_or(index.to_string()),
        other => other.to_string(),
    };
    let amounts = (0..).zip(tree.amounts(column)).filter(|(_, amount)| *amount > 0);
    amounts.map(|(record, amount)| (name(record), amount)).collect()
}

#[test]
fn each_context_has_the_events_of_its_own_code() -> Outcome {
    for engine in engines() {
        for by in [0, 1] {
            let loads = run(&engine, by)?;
            let expected = [
                ("run", 4),
                ("catcher", 2),
                ("thrower", 2),
                ("catcher", 1),
                ("thrower", 1),
                ("tail", 1),
                ("twice", 2),
                ("deep", 10),
            ];
            let mut expected: Vec<(String, u64)> = expected.map(|(name, n)| (name.to_string(), n)).to_vec();
            if by == 1 {
                expected.push(("twice".to_string(), 2));
            }
            assert_eq!(loads, expected, "{:?}", engine.config());
        }
    }
    Ok(())
}

/// Returns the loads of a run that succeeds or traps. The host inspects the profile at each stage.
fn run(engine: &Engine, by: i32) -> std::result::Result<Vec<(String, u64)>, Box<dyn std::error::Error>> {
    let module = Module::new(engine, SAMPLE)?;
    let seen: Arc<Mutex<Vec<(u64, u64, u64)>>> = Arc::default();
    let mut store = Store::new(engine, ());
    let mut linker = Linker::new(engine);
    let sees = seen.clone();
    linker.func_wrap("host", "look", move |caller: Caller<'_, ()>| -> Result<()> {
        let profile = caller.instance().expect("wasm calls").profile(&caller)?;
        let sum = |kind: &str| of_kind(&profile, kind).iter().map(|(_, n)| n).sum();
        let all = (of_kind(&profile, "loads")[0].1, sum("loads"), sum("instructions"));
        assert_eq!((all.1, all.2), (event_count(&caller, "loads")?, event_count(&caller, "instructions")?));
        sees.lock().expect("no panic").push(all);
        Ok(())
    })?;
    let instance = linker.instantiate(&mut store, &module)?;
    let called = instance.get_typed_func::<i32, ()>(&mut store, "run")?.call(&mut store, by);
    assert_eq!(called.is_ok(), by == 1);
    let own: Vec<u64> = seen.lock().expect("no panic").iter().map(|seen| seen.0).collect();
    assert_eq!(own, [1, 2, 3], "{:?}", engine.config());
    let profile = instance.profile(&store)?;
    assert_eq!(Profile::from_bytes(&profile.to_bytes()?)?, profile);
    for kind in ["loads", "instructions", "fuel"] {
        let sum: u64 = of_kind(&profile, kind).iter().map(|(_, n)| n).sum();
        assert_eq!(sum, store.event_count(kind)?, "{kind} {:?}", engine.config());
    }
    let fuel = of_kind(&profile, "fuel");
    let filled = fuel.iter().find(|(name, _)| name == "filler").map_or(0, |(_, fuel)| *fuel);
    assert!(filled > 100, "{fuel:?}: each byte takes fuel");
    Ok(of_kind(&profile, "loads"))
}
