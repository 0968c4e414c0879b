//! Fuel, which is a budget under another name.

use wprof::*;

use super::Outcome;

const WAT: &str = r#"(module
    (import "host" "look" (func $look))
    (func (export "run") (param $n i32) (result i32) (local $sum i32)
        (loop $again
            (local.set $sum (i32.add (local.get $sum) (local.get $n)))
            (br_if $again (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
        (call $look)
        (local.get $sum)))"#;

/// A store that records the fuel that the host observes, and the program in it.
type Fueled = (Store<Vec<u64>>, TypedFunc<i32, i32>);

fn fueled(config: &mut Config) -> Result<Fueled> {
    let engine = Engine::new(config.consume_fuel(true))?;
    let mut linker = Linker::new(&engine);
    linker.func_wrap("host", "look", |mut caller: Caller<'_, Vec<u64>>| -> Result<()> {
        let fuel = caller.get_fuel()?;
        caller.data_mut().push(fuel);
        caller.set_fuel(fuel + 1000)
    })?;
    let mut store = Store::new(&engine, Vec::new());
    let instance = linker.instantiate(&mut store, &Module::new(&engine, WAT)?)?;
    let run = instance.get_typed_func(&mut store, "run")?;
    Ok((store, run))
}

fn configs() -> Vec<Config> {
    let strategies = [Strategy::Baseline, Strategy::Optimized, Strategy::Tiered];
    let profiles = [ProfilingConfig::Off, ProfilingConfig::Exact(Collect::Edges)];
    let all = strategies.into_iter().flat_map(|strategy| profiles.map(|profiling| (strategy, profiling)));
    all.map(|(strategy, profiling)| {
        let mut config = Config::new();
        config.strategy(strategy).profiling(profiling);
        config
    })
    .collect()
}

#[test]
fn programs_consume_what_they_do() -> Outcome {
    let mut consumed = Vec::new();
    for mut config in configs() {
        let (mut store, run) = fueled(&mut config)?;
        assert_eq!(store.get_fuel()?, 0, "a store begins without");
        let mut of_run = |n| -> Result<u64> {
            store.set_fuel(1_000_000)?;
            assert_eq!(run.call(&mut store, n)?, n * (n + 1) / 2);
            let left = store.get_fuel()?;
            assert!(left < *store.data().last().expect("it looked") + 1000, "what came after the call");
            assert!(store.event_count("fuel")? > 0);
            Ok(1_001_000 - left)
        };
        let (one, ten, hundred) = (of_run(1)?, of_run(10)?, of_run(100)?);
        assert_eq!((hundred - ten) / 90, (ten - one) / 9, "each round costs the same");
        assert!(ten > one + 9 * 5, "{one} {ten}");
        consumed.push((one, ten, hundred));
    }
    assert!(consumed.windows(2).all(|pair| pair[0] == pair[1]), "{consumed:?}");
    Ok(())
}

#[test]
fn a_program_without_fuel_ends_at_the_same_place() -> Outcome {
    for fuel in [0, 1, 50, 1000] {
        let mut places = Vec::new();
        for mut config in configs() {
            let (mut store, run) = fueled(&mut config)?;
            store.set_fuel(fuel)?;
            let error = run.call(&mut store, i32::MAX).expect_err("there is too little");
            assert_eq!(error.trap(), Some(Trap::OutOfFuel), "{error}");
            assert!(error.to_string().contains("all fuel consumed by WebAssembly"), "{error}");
            assert_eq!(store.get_fuel()?, 0);
            let frame = &error.backtrace().ok_or("wasm code has trapped")?.frames()[0];
            places.push((frame.func_offset(), store.event_count("fuel")?));
            store.set_fuel(1_000_000)?;
            assert_eq!(run.call(&mut store, 10)?, 55, "more fuel is more fuel");
        }
        assert!(places.windows(2).all(|pair| pair[0] == pair[1]), "{fuel}: {places:?}");
    }
    Ok(())
}

#[test]
fn an_embedder_can_give_more_when_it_is_used_up() -> Outcome {
    let (mut store, run) = fueled(&mut Config::new())?;
    store.on_out_of_budget(|asked, _| {
        asked.push(0);
        Some(100)
    });
    assert_eq!(run.call(&mut store, 1000)?, 500_500);
    assert!(store.data().len() > 30, "{:?}", store.data());
    Ok(())
}

#[test]
fn fuel_is_counted_beside_other_events() -> Outcome {
    let mut config = Config::new();
    config.consume_fuel(true).count_events(EventModel::built_in("instructions"));
    let (mut store, run) = fueled(&mut config)?;
    store.set_fuel(1000)?;
    run.call(&mut store, 3)?;
    let counts = store.event_counts()?;
    assert!(counts.len() == 2 && counts.iter().all(|&(_, count)| count > 10), "{counts:?}");
    Ok(())
}

#[test]
fn without_it_there_is_no_fuel() -> Outcome {
    for config in [Config::new().consume_fuel(true).consume_fuel(false), &mut Config::new()] {
        let mut store = Store::new(&Engine::new(config)?, ());
        let error = store.set_fuel(1).expect_err("none is consumed");
        assert!(error.to_string().contains("Config::consume_fuel"), "{error}");
        assert!(store.get_fuel().is_err());
    }
    Ok(())
}

/// Operations whose work depends on an operand; each has 10 units of work.
const MANY: &str = r#"(module
    (type $bytes (array (mut i8))) (type $funcs (array (mut funcref)))
    (memory 1 100) (table $t 20 200 funcref) (data $d "0123456789") (elem $e func 0 0 0 0 0 0 0 0 0 0)
    (func (export "memory.grow") (drop (memory.grow (i32.const 10))))
    (func (export "memory.fill") (memory.fill (i32.const 0) (i32.const 1) (i32.const 10)))
    (func (export "memory.copy") (memory.copy (i32.const 0) (i32.const 9) (i32.const 10)))
    (func (export "memory.init") (memory.init $d (i32.const 0) (i32.const 0) (i32.const 10)))
    (func (export "table.grow") (drop (table.grow $t (ref.null func) (i32.const 10))))
    (func (export "table.fill") (table.fill $t (i32.const 0) (ref.null func) (i32.const 10)))
    (func (export "table.copy") (table.copy $t $t (i32.const 0) (i32.const 9) (i32.const 10)))
    (func (export "table.init") (table.init $t $e (i32.const 0) (i32.const 0) (i32.const 10)))
    (func (export "array.new") (drop (array.new $bytes (i32.const 1) (i32.const 10))))
    (func (export "array.new_default") (drop (array.new_default $bytes (i32.const 10))))
    (func (export "array.new_data") (drop (array.new_data $bytes $d (i32.const 0) (i32.const 10))))
    (func (export "array.new_elem") (drop (array.new_elem $funcs $e (i32.const 0) (i32.const 10))))
    (func (export "array.fill")
        (array.fill $bytes (array.new_default $bytes (i32.const 10)) (i32.const 0) (i32.const 1) (i32.const 10)))
    (func (export "array.copy") (local $a (ref null $bytes))
        (local.set $a (array.new_default $bytes (i32.const 10)))
        (array.copy $bytes $bytes (local.get $a) (i32.const 0) (local.get $a) (i32.const 0) (i32.const 10)))
    (func (export "array.init_data")
        (array.init_data $bytes $d
            (array.new_default $bytes (i32.const 10)) (i32.const 0) (i32.const 0) (i32.const 10)))
    (func (export "array.init_elem")
        (array.init_elem $funcs $e
            (array.new_default $funcs (i32.const 10)) (i32.const 0) (i32.const 0) (i32.const 10))))"#;

#[test]
fn operations_on_many_cost_by_how_many_in_every_tier() -> Outcome {
    let costs = |per_unit| CustomModel { name: "gas".into(), per_unit, ..CustomModel::default() };
    for mut config in configs() {
        let names: Vec<String> = {
            let module = Module::new(&Engine::default(), MANY)?;
            module.exports().map(|export| export.name().to_string()).collect()
        };
        for name in &names {
            let model = EventModel::custom(&costs(vec![(name.clone(), 7)]))?;
            let engine = Engine::new(config.consume_fuel(true).fuel_costs(Some(model)))?;
            let mut store = Store::new(&engine, ());
            let instance = Instance::new(&mut store, &Module::new(&engine, MANY)?, &[])?;
            for called in &names {
                store.set_fuel(1000)?;
                instance.get_typed_func::<(), ()>(&mut store, called)?.call(&mut store, ())?;
                let made = called.as_str() == "array.new_default" || name.as_str() != "array.new_default";
                let costs = called == name
                    || !made && matches!(called.as_str(), "array.fill" | "array.copy")
                    || !made && called.starts_with("array.init");
                assert_eq!(store.get_fuel()?, if costs { 930 } else { 1000 }, "{name}, {called}");
            }
        }
    }
    Ok(())
}

#[test]
fn what_costs_too_much_ends_the_program_at_the_next_check() -> Outcome {
    let wat = r#"(module (memory 1)
        (func $after) (func (export "run") (drop (memory.grow (i32.const 3))) (call $after)
            (loop $l (br $l))))"#;
    for mut config in configs() {
        let mut costs = CustomModel { name: "gas".into(), ..CustomModel::default() };
        costs.per_unit.push(("memory.grow".into(), 1000));
        let engine = Engine::new(config.consume_fuel(true).fuel_costs(Some(EventModel::custom(&costs)?)))?;
        let mut store = Store::new(&engine, ());
        let instance = Instance::new(&mut store, &Module::new(&engine, wat)?, &[])?;
        store.set_fuel(2999)?;
        let run = instance.get_typed_func::<(), ()>(&mut store, "run")?;
        let error = run.call(&mut store, ()).expect_err("3000 are consumed");
        assert_eq!(error.trap(), Some(Trap::OutOfFuel));
        assert!(error.to_string().contains("overdrawn by 1"), "{error}");
    }
    Ok(())
}

/// Polls a future until it is ready, and returns the number of polls.
fn poll_to_the_end<F: Future>(future: F) -> (F::Output, u32) {
    let mut future = std::pin::pin!(future);
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    for polls in 1.. {
        if let std::task::Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return (output, polls);
        }
    }
    unreachable!("it ends, or runs for ever")
}

#[test]
fn awaited_calls_let_others_run_each_time_that_so_much_is_consumed() -> Outcome {
    for mut config in configs() {
        let (mut store, run) = fueled(&mut config)?;
        store.set_fuel(1_000_000)?;
        assert_eq!(run.call(&mut store, 1000)?, 500_500);
        let consumed = 1_001_000 - store.get_fuel()?;
        store.fuel_async_yield_interval(Some(100))?;
        store.set_fuel(1_000_000)?;
        assert_eq!(store.get_fuel()?, 1_000_000, "what is given out later is there");
        let (result, polls) = poll_to_the_end(run.call_async(&mut store, 1000));
        assert_eq!(result?, 500_500);
        assert_eq!(1_001_000 - store.get_fuel()?, consumed, "waiting costs nothing");
        let wanted = consumed as u32 / 100;
        assert!((wanted - 3..=wanted + 3).contains(&polls), "{polls} polls, {consumed} units");
        // Synchronous calls do not wait, and end at the same place.
        store.set_fuel(1000)?;
        let error = run.call(&mut store, i32::MAX).expect_err("there is too little");
        assert_eq!((error.trap(), store.get_fuel()?), (Some(Trap::OutOfFuel), 0));
        let with = error.to_string();
        store.fuel_async_yield_interval(None)?;
        store.set_fuel(1000)?;
        let error = run.call(&mut store, i32::MAX).expect_err("there is too little");
        assert_eq!(error.to_string(), with);
        assert!(store.fuel_async_yield_interval(Some(0)).is_err());
    }
    Ok(())
}

#[test]
fn a_call_that_is_dropped_while_others_run_ends() -> Outcome {
    let (mut store, run) = fueled(&mut Config::new())?;
    store.fuel_async_yield_interval(Some(10))?;
    store.set_fuel(1_000_000)?;
    {
        let mut call = Box::pin(run.call_async(&mut store, i32::MAX));
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        for _ in 0..5 {
            assert!(call.as_mut().poll(&mut context).is_pending());
        }
    }
    let left = store.get_fuel()?;
    assert!((999_900..1_000_000).contains(&left), "{left}");
    assert_eq!(run.call(&mut store, 10)?, 55);
    Ok(())
}

/// Programs, and the units that each has consumed at its last check, by hand: an entry costs 1 and is checked, a loop header
/// is checked and costs nothing, `call`, constants, variables, arithmetic and branches cost 1. As in Wasmtime, a program
/// goes on at a check if it has more than it has consumed.
const LAST_CHECKS: &[(&str, u64)] = &[
    // The entry.
    ("(func (export \"run\"))", 1),
    ("(global $g (mut i32) (i32.const 0)) (func (export \"run\") SETS)", 1),
    // The entry, `call`, and the entry of a leaf; what follows the call is not checked.
    ("(global $g (mut i32) (i32.const 0)) (func (export \"run\") (call $leaf) SETS) (func $leaf SETS)", 3),
    ("(func (export \"run\") (return_call $leaf)) (func $leaf)", 3),
    // The entry, twice `call` and a leaf of 3.
    (
        "(func (export \"run\") (call $leaf) (call $leaf)) (func $leaf (drop (i32.add (i32.const 1) (i32.const 2))))",
        8,
    ),
    // The entry, 2 for the counter, and four of five rounds of 5.
    (
        "(func (export \"run\") (local $n i32) (local.set $n (i32.const 5))
            (loop $again (br_if $again (local.tee $n (i32.sub (local.get $n) (i32.const 1))))))",
        1 + 2 + 4 * 5,
    ),
    // The same, and in each round `call` and the entry of a leaf; the last entry comes after the last loop header.
    (
        "(func (export \"run\") (local $n i32) (local.set $n (i32.const 5))
            (loop $again (call $leaf) (br_if $again (local.tee $n (i32.sub (local.get $n) (i32.const 1))))))
        (func $leaf)",
        1 + 2 + 4 * (5 + 2) + 2,
    ),
];

#[test]
fn a_program_runs_with_one_unit_more_than_it_consumes_up_to_its_last_check() -> Outcome {
    let sets = "(global.set $g (i32.const 1))".repeat(1000);
    for mut config in configs() {
        let engine = Engine::new(config.consume_fuel(true))?;
        for (functions, consumed) in LAST_CHECKS {
            let module = Module::new(&engine, format!("(module {})", functions.replace("SETS", &sets)))?;
            for fuel in [None, Some(0), Some(1), Some(consumed - 1), Some(*consumed), Some(consumed + 1)] {
                let mut store = Store::new(&engine, ());
                let instance = Instance::new(&mut store, &module, &[])?;
                let run = instance.get_typed_func::<(), ()>(&mut store, "run")?;
                fuel.map(|fuel| store.set_fuel(fuel)).transpose()?;
                let trap = run.call(&mut store, ()).err().and_then(|e| e.trap());
                let is_enough = fuel.is_some_and(|fuel| fuel > *consumed);
                assert_eq!(trap, (!is_enough).then_some(Trap::OutOfFuel), "{fuel:?} for {functions}");
                if fuel == Some(*consumed) {
                    assert_eq!(store.event_count("fuel")?, *consumed, "{functions}");
                }
                if fuel.is_none_or(|fuel| fuel <= 1) {
                    assert_eq!(store.event_count("fuel")?, 1, "it stops at the entry: {functions}");
                }
            }
        }
    }
    Ok(())
}

#[test]
fn who_is_asked_for_fuel_and_gives_none_is_not_asked_again() -> Outcome {
    let (mut store, run) = fueled(&mut Config::new())?;
    store.on_out_of_budget(|asked, left| {
        assert!(left <= 0);
        asked.push(0);
        Some(0)
    });
    assert_eq!(run.call(&mut store, 1).expect_err("there is none").trap(), Some(Trap::OutOfFuel));
    assert_eq!(store.data().len(), 1);
    Ok(())
}
