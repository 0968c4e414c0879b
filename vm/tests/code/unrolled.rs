//! Unrolled loops count as plain ones do, wherever an iteration ends.

use wprof::profiler::{BurstLengths, Profile};
use wprof::*;

type Outcome = std::result::Result<(), Box<dyn std::error::Error>>;

/// Loops that `end` after a given number of iterations in a trap (1: a load, 2: a division, 3: `unreachable`), in an
/// exit from their middle (4), or normally (0), after 20 iterations.
const WAT: &str = r#"(module
    (memory 1 100)
    (func (export "one_block") (param $end i32) (param $round i32) (result i32) (local $i i32)
        (local.set $end (i32.mul (i32.eq (local.get $end) (i32.const 1)) (i32.const -4)))
        (loop $again (result i32)
            (i32.load (i32.and (i32.sub (i32.ne (local.get $i) (local.get $round)) (i32.const 1)) (local.get $end)))
            (br_if $again (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 20)))))
    (func (export "branches") (param $end i32) (param $round i32) (result i32) (local $i i32) (local $sum i32)
        (loop $outer
            (block $out
                (loop $again
                    (if (i32.and (local.get $i) (i32.const 2))
                        (then (local.set $sum (i32.add (local.get $sum) (i32.const 5))))
                        (else (local.set $sum (i32.xor (local.get $sum) (i32.const 3)))))
                    (if (i32.eq (local.get $i) (local.get $round)) (then
                        (if (i32.eq (local.get $end) (i32.const 3)) (then unreachable))
                        (br_if $out (i32.eq (local.get $end) (i32.const 4)))
                        (local.set $sum (i32.div_u (local.get $sum) (i32.sub (local.get $end) (i32.const 2))))))
                    (local.set $i (i32.add (local.get $i) (i32.const 1)))
                    (br_if $again (i32.rem_u (local.get $i) (i32.const 20)))))
            (local.set $i (i32.add (local.get $i) (i32.const 1)))
            (br_if $outer (i32.lt_u (local.get $i) (i32.const 60))))
        (local.get $sum)))"#;

/// The number of executed instructions and branches, and everything in a profile except the cost of its counters.
type Figures = (Vec<u64>, Vec<(u32, u64, Vec<u64>, u64)>, Vec<u64>);

fn figures(profile: &Profile, events: Vec<u64>) -> Figures {
    let functions = profile.functions.iter();
    let all = functions.map(|f| {
        let edges = f.counts.edges().expect("edges were counted").to_vec();
        (f.index, f.calls(), edges, f.exits.iter().map(|exit| exit.count).sum())
    });
    (events, all.collect(), profile.functions.iter().flat_map(|f| f.block_counts()).collect())
}

fn config(strategy: Strategy, collect: Collect) -> Config {
    let mut config = Config::new();
    let kinds = ["instructions", "branches"].into_iter().filter_map(EventModel::built_in);
    config.strategy(strategy).background_compilation(false).promote_after(3);
    config.profiling(ProfilingConfig::Exact(collect)).count_events(kinds.collect::<Vec<_>>());
    config
}

/// Returns the result of `name`, and the counts after it.
fn run(engine: &Engine, name: &str, end: i32, round: i32) -> Result<(Option<i32>, Figures)> {
    let mut store = Store::new(engine, ());
    let instance = Linker::new(engine).instantiate(&mut store, &Module::new(engine, WAT)?)?;
    let result = instance.get_typed_func::<(i32, i32), i32>(&mut store, name)?.call(&mut store, (end, round));
    let events = ["instructions", "branches"].iter().map(|kind| store.event_count(kind));
    let events = events.collect::<Result<Vec<u64>>>()?;
    let profile = instance.profile(&store)?;
    profile.verify().expect("consistent");
    assert_eq!(events[0], profile.ops());
    Ok((result.ok(), figures(&profile, events)))
}

#[test]
fn wherever_a_round_ends_the_counts_are_those_of_plain_loops() -> Outcome {
    let plain = Engine::new(&config(Strategy::Baseline, Collect::AllEdges))?;
    let unrolled = [Strategy::Optimized, Strategy::Tiered].into_iter().flat_map(|strategy| {
        [Collect::Edges, Collect::AllEdges, Collect::Paths]
            .map(|collect| Engine::new(&config(strategy, collect)))
    });
    let unrolled: Vec<Engine> = unrolled.collect::<Result<_>>()?;
    for name in ["one_block", "branches"] {
        for (end, round) in (0..5).flat_map(|end| (0..12).map(move |round| (end, round))) {
            let expected = run(&plain, name, end, round)?;
            for engine in &unrolled {
                assert_eq!(run(engine, name, end, round)?, expected, "{name}, end {end} in round {round}");
            }
        }
    }
    Ok(())
}

/// Returns a loop that counts from the first parameter by `step` while it compares as `goes_on` with the second, for
/// at most as many iterations as the third parameter says; its results are the final count and the number of
/// iterations. The test is at its end or at its beginning.
fn counted(ty: &str, step: i64, goes_on: &str, is_at_end: bool) -> String {
    let step = format!("(local.set $i ({ty}.add (local.get $i) ({ty}.const {step})))");
    let test = format!("({ty}.{goes_on} (local.get $i) (local.get $bound))");
    let round = "(local.set $rounds (i32.add (local.get $rounds) (i32.const 1)))
        (br_if $out (i32.ge_u (local.get $rounds) (local.get $most)))";
    let body = match is_at_end {
        true => format!("{round} {step} (br_if $again {test})"),
        false => format!("(br_if $out (i32.eqz {test})) {round} {step} (br $again)"),
    };
    format!(
        r#"(module (func (export "run") (param $i {ty}) (param $bound {ty}) (param $most i32) (result {ty} i32)
            (local $rounds i32)
            (block $out (loop $again {body}))
            (local.get $i) (local.get $rounds)))"#
    )
}

/// Returns the results of the loop for bounds close to the ends of the range, and the counts of all these runs.
fn outcomes(engine: &Engine, wat: &str, is_64: bool) -> Result<(Vec<String>, Vec<u64>)> {
    let mut store = Store::new(engine, ());
    let instance = Linker::new(engine).instantiate(&mut store, &Module::new(engine, wat)?)?;
    let run = instance.get_func(&mut store, "run").expect("exported");
    let (least, most) = if is_64 { (i64::MIN, i64::MAX) } else { (i32::MIN.into(), i32::MAX.into()) };
    let ends = [least, least + 7, -9, -1, 0, 1, 10, 21, 36, 51, most - 21, most];
    let value = |number: i64| if is_64 { Val::I64(number) } else { Val::I32(number as i32) };
    let mut all = Vec::new();
    for (from, to) in ends.iter().flat_map(|&from| ends.map(|to| (from, to))) {
        let mut results = vec![value(0), Val::I32(0)];
        run.call(&mut store, &[value(from), value(to), Val::I32(45)], &mut results)?;
        all.push(format!("{results:?}"));
    }
    let profile = instance.profile(&store)?;
    profile.verify().expect("consistent");
    Ok((all, profile.functions.iter().flat_map(|f| f.block_counts()).collect()))
}

#[test]
fn loops_that_count_make_as_many_rounds_however_they_compare() -> Outcome {
    let plain = Engine::new(&config(Strategy::Baseline, Collect::AllEdges))?;
    let exact = Engine::new(&config(Strategy::Optimized, Collect::Edges))?;
    let mut adaptive = Config::new();
    let lengths = BurstLengths::new(3, 2);
    let profiling = ProfilingConfig::Adaptive(Adaptive { lengths, ..Adaptive::default() });
    adaptive.strategy(Strategy::Optimized).background_compilation(false).profiling(profiling);
    let adaptive = Engine::new(&adaptive)?;
    for (ty, is_64) in [("i32", false), ("i64", true)] {
        for goes_on in ["ne", "eq", "lt_s", "lt_u", "le_s", "le_u", "gt_s", "gt_u", "ge_s", "ge_u"] {
            for step in [-65_537, -65_536, -3, -1, 0, 1, 2, 5, 65_536, 65_537] {
                for is_at_end in [true, false] {
                    let wat = counted(ty, step, goes_on, is_at_end);
                    let expected = outcomes(&plain, &wat, is_64)?;
                    let what = format!("{ty}.{goes_on} by {step}, at the end: {is_at_end}");
                    assert_eq!(outcomes(&exact, &wat, is_64)?, expected, "{what}");
                    assert_eq!(outcomes(&adaptive, &wat, is_64)?.0, expected.0, "{what}");
                }
            }
        }
    }
    Ok(())
}

/// Returns what was left of the budget each time that it was exhausted and renewed.
fn stops(
    (strategy, collect): (Strategy, Collect),
    name: &str,
    round: i32,
    budget: u64,
) -> Result<(Vec<i64>, u64, Figures)> {
    let engine = Engine::new(config(strategy, collect).budget("instructions"))?;
    let mut store = Store::new(&engine, Vec::new());
    store.on_out_of_budget(move |stops: &mut Vec<i64>, left| {
        stops.push(left);
        (stops.len() < 50).then_some(budget)
    });
    store.set_budget("instructions", budget)?;
    let instance = Linker::new(&engine).instantiate(&mut store, &Module::new(&engine, WAT)?)?;
    let run = instance.get_typed_func::<(i32, i32), i32>(&mut store, name)?;
    let _ = run.call(&mut store, (1, round));
    let profile = instance.profile(&store)?;
    profile.verify().expect("consistent");
    let count = store.event_count("instructions")?;
    assert_eq!(count, profile.ops());
    Ok((store.data().clone(), count, figures(&profile, Vec::new())))
}

#[test]
fn a_budget_is_used_up_in_the_round_in_which_a_plain_loop_uses_it_up() -> Outcome {
    let mut all = 0;
    for (name, round) in [("one_block", 30), ("one_block", 7), ("branches", 30)] {
        for budget in 0..90 {
            let expected = stops((Strategy::Baseline, Collect::Edges), name, round, budget)?;
            all += expected.0.len();
            for how in [
                (Strategy::Optimized, Collect::Edges),
                (Strategy::Tiered, Collect::Edges),
                (Strategy::Tiered, Collect::Paths),
            ] {
                assert_eq!(stops(how, name, round, budget)?, expected, "{name}, budget {budget}, {how:?}");
            }
        }
    }
    assert!(all > 2000, "{all} stops");
    Ok(())
}
