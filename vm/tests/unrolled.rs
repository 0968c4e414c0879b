//! Unrolled loops count what plain ones count, wherever a round ends.

use wprof::profiler::Profile;
use wprof::*;

type Outcome = std::result::Result<(), Box<dyn std::error::Error>>;

/// Loops that `end` after so many rounds in a trap (1: a load, 2: a division, 3: `unreachable`), in an exit from their
/// middle (4), or as they should (0), after 20 rounds.
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

/// How many instructions and branches were executed, and all that a profile says, but for the cost of its counters.
type Figures = (Vec<u64>, Vec<(u32, u64, Vec<u64>, u64)>, Vec<u64>);

fn figures(profile: &Profile, events: Vec<u64>) -> Figures {
    let functions = profile.functions.iter();
    let all = functions.map(|f| {
        let edges = f.edges.iter().map(|edge| edge.count).collect();
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

/// What `name` returns, and what is counted then.
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

/// What was left of the budget each time that it was used up and given again.
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
