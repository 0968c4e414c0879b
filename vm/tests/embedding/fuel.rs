//! Fuel, which is a budget by another name.

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

/// A store that keeps what fuel the host saw, and the program in it.
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
