//! Samples of deep stacks: however deep it is, the outermost functions and the innermost ones are in the sample.

use wprof::profiler::{Callee, TimeProfile, Timed};
use wprof::*;

use crate::time::{assert_share, time_of, timed};

type Outcome = std::result::Result<(), Box<dyn std::error::Error>>;

/// Minimum number of samples in a test.
const SAMPLES: u64 = 60;

/// The work at the end of all calls.
const WORK: &str = r#"
    (func $work (param $n i64) (result i64) (local $x i64)
        (loop $again
            (local.set $x (i64.add (i64.mul (local.get $x) (i64.const 0x5851f42d4c957f2d)) (local.get $n)))
            (local.set $n (i64.sub (local.get $n) (i64.const 1)))
            (br_if $again (i64.ne (local.get $n) (i64.const 0))))
        (local.get $x))"#;

/// Returns a function that calls `next` until its depth is 0.
fn recursive(name: &str, next: &str) -> String {
    format!(
        r#"(func ${name} (param $d i32) (param $n i64) (result i64)
            (if (result i64) (local.get $d)
                (then (i64.add (i64.const 1)
                    (call ${next} (i32.sub (local.get $d) (i32.const 1)) (local.get $n))))
                (else (call $work (local.get $n)))))"#
    )
}

/// Returns a `main` that calls `first` with a depth.
fn main_of(first: &str, depth: u32) -> String {
    format!(
        r#"(func $main (export "main") (param $n i64) (result i64)
            (i64.add (i64.const 1) (call ${first} (i32.const {depth}) (local.get $n))))"#
    )
}

/// Returns the time of a program, once its work has enough samples.
fn sampled(strategy: Strategy, functions: &str) -> Result<TimeProfile> {
    let mut config = Config::new();
    config.strategy(strategy).sample_time(Some(1000));
    let engine = Engine::new(&config)?;
    let module = Module::new(&engine, format!("(module {WORK} {functions})"))?;
    let mut store = Store::new(&engine, ());
    let instance = Instance::new(&mut store, &module, &[])?;
    let main = instance.get_typed_func::<i64, i64>(&mut store, "main")?;
    while timed(&instance.profile(&store)?.time.expect("sampled"), "work").0.samples < SAMPLES {
        main.call(&mut store, 20_000_000)?;
    }
    Ok(time_of(&instance.profile(&store)?).clone())
}

/// Returns the time with callees of the outermost places whose routine is not `main`.
fn without_main(time: &TimeProfile) -> Timed {
    let sums = time.inclusive();
    let is_main = |callee: &Callee| callee.to_string() == "main";
    let outermost = (0..time.nodes.len()).filter(|&node| time.nodes[node].caller.is_none());
    outermost
        .filter(|&node| !is_main(time.callee(node)))
        .map(|node| sums[node])
        .fold(Timed::default(), Timed::plus)
}

/// Checks that all time is that of `main` with its callees, in functions and in contexts. Some is the engine's, which
/// compiles what is called.
fn assert_all_is_below_main(how: &str, time: &TimeProfile) {
    let all = time.total();
    assert_share(how, timed(time, "main").1, all, 1.0);
    let (work, engine) = (timed(time, "work").0, timed(time, "engine").0);
    assert!(
        (work.samples + engine.samples) * 20 >= all.samples * 19,
        "{how}: {work:?}, {engine:?} of {all:?}"
    );
    let orphans = without_main(time);
    assert!(orphans.samples * 20 <= all.samples, "{how}: {orphans:?} of {all:?} begin elsewhere");
    let contexts = time.contexts();
    let below_root = contexts.records.iter().zip(0..).skip(1).filter(|(record, _)| record.parent == 0);
    let names: Vec<String> = below_root.map(|(_, at)| contexts.callee(at).to_string()).collect();
    assert!(names.iter().any(|name| name == "main"), "{how}: {names:?}");
}

#[test]
fn callers_of_deep_recursion_have_its_time() -> Outcome {
    let direct = recursive("again", "again") + &main_of("again", 5000);
    let mutual = recursive("a", "b") + &recursive("b", "c") + &recursive("c", "a") + &main_of("a", 5000);
    for (name, functions) in [("direct", direct), ("mutual", mutual)] {
        for strategy in [Strategy::Baseline, Strategy::Optimized] {
            let how = format!("{name} recursion, {strategy:?}");
            let time = sampled(strategy, &functions)?;
            assert_all_is_below_main(&how, &time);
            let work = timed(&time, "work").0;
            for function in if name == "direct" { &["again"][..] } else { &["a", "b", "c"] } {
                let total = timed(&time, function).1;
                assert!(total.samples * 20 >= work.samples * 19, "{how}: {function} {total:?} of {work:?}");
            }
            let unknown = timed_beyond(&time);
            assert!(unknown.samples * 20 <= work.samples, "{how}: {unknown:?}, though the stack is known");
        }
    }
    Ok(())
}

/// Returns the time below callers that are unknown.
fn timed_beyond(time: &TimeProfile) -> Timed {
    let found = time.routines().into_iter().find(|routine| *routine.callee == Callee::Beyond);
    found.map(|routine| routine.total).unwrap_or_default()
}

#[test]
fn a_stack_of_too_many_functions_has_a_gap_between_its_ends() -> Outcome {
    const FUNCTIONS: usize = 1500;
    let chain: String = (0..FUNCTIONS - 1)
        .map(|i| {
            let next = i + 1;
            format!(
                "(func $f{i} (param $d i32) (param $n i64) (result i64)
                    (i64.add (i64.const {i}) (call $f{next} (local.get $d) (local.get $n))))\n"
            )
        })
        .collect();
    let last = format!(
        "(func $f{} (param $d i32) (param $n i64) (result i64) (i64.add (i64.const 1) (call $work (local.get $n))))",
        FUNCTIONS - 1
    );
    let time = sampled(Strategy::Baseline, &(chain + &last + &main_of("f0", 0)))?;
    assert_all_is_below_main("a chain", &time);
    let (left_out, work) = (timed_beyond(&time), timed(&time, "work").0);
    assert!(
        left_out.samples * 20 >= work.samples * 19,
        "{left_out:?} below a gap, {work:?} at the end of the chain"
    );
    let number =
        |callee: &Callee| callee.to_string().strip_prefix('f').and_then(|name| name.parse::<usize>().ok());
    let mut seen = 0;
    for (node, caller) in time.nodes.iter().enumerate().filter_map(|(at, node)| Some((at, node.caller?))) {
        if let (Some(callee), Some(caller)) =
            (number(time.callee(node)), number(time.callee(caller as usize)))
        {
            assert_eq!(callee, caller + 1, "only neighbours call each other");
            seen += 1;
        }
    }
    assert!(seen > 300, "{seen} calls between functions of the chain are known");
    Ok(())
}
