//! Event counts are exact in host functions, at traps and after exits; budgets stop the program at the right place.

use wprof::*;

type Outcome = std::result::Result<(), Box<dyn std::error::Error>>;

/// Loops, calls of all kinds in the middle of blocks and at their ends, recursion, and a callback from the host.
const WAT: &str = r#"(module
    (type $unary (func (param i32) (result i32)))
    (import "host" "look" (func $look (param i32) (result i32)))
    (memory 1)
    (table funcref (elem $even $odd $look))
    (func $even (type $unary)
        (if (result i32) (i32.eqz (local.get 0)) (then (i32.const 1))
            (else (call $odd (i32.sub (local.get 0) (i32.const 1))))))
    (func $odd (type $unary)
        (drop (call $look (i32.add (local.get 0) (i32.const 100))))
        (if (result i32) (i32.eqz (local.get 0)) (then (i32.const 0))
            (else (return_call $even (i32.sub (local.get 0) (i32.const 1))))))
    (func $tail (type $unary)
        (if (result i32) (i32.and (local.get 0) (i32.const 1))
            (then (return_call $look (i32.add (local.get 0) (i32.const 300))))
            (else (return_call_indirect (type $unary) (local.get 0) (i32.const 2)))))
    (func $inner (export "inner") (type $unary)
        (i32.store8 (local.get 0) (call $look (i32.const 200)))
        (i32.load (local.get 0)))
    (func (export "run") (param $n i32) (result i32) (local $sum i32) (local $i i32)
        (loop $outer
            (local.set $i (i32.and (local.get $n) (i32.const 7)))
            (block $done
                (loop $again
                    (br_if $done (i32.eqz (local.get $i)))
                    (local.set $sum (i32.add (local.get $sum) (i32.div_s (i32.const 1000) (local.get $i))))
                    (local.set $i (i32.sub (local.get $i) (i32.const 1)))
                    (br $again)))
            (local.set $sum (i32.add
                (call_indirect (type $unary) (local.get $n) (i32.rem_u (local.get $n) (i32.const 3)))
                (i32.add (call $tail (local.get $n)) (call $even (local.get $n)))))
            (drop (call $look (local.get $n)))
            (if (i32.eq (local.get $n) (i32.const 41)) (then unreachable))
            (memory.fill (local.get $n) (i32.const 1) (local.get $n))
            (br_if $outer (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
        (local.get $sum)))"#;

/// Pairs of the count that a host function observed and the expected count.
type Seen = Vec<(u64, u64)>;

fn kinds() -> Vec<EventModel> {
    BUILT_IN_EVENTS.iter().filter_map(|name| EventModel::built_in(name)).collect()
}

/// Creates a store whose host function compares the instruction count with the edge profile at each call, calls back
/// into wasm at 13, and fails at 42 if `fails`.
fn sample(config: &mut Config, fails: bool) -> Result<(Store<Seen>, Instance)> {
    let engine = Engine::new(config.profiling(ProfilingConfig::Exact(Collect::Edges)).count_events(kinds()))?;
    let module = Module::new(&engine, WAT)?;
    let mut linker = Linker::new(&engine);
    linker.func_wrap("host", "look", move |mut caller: Caller<'_, Seen>, n: i32| -> Result<i32> {
        let instance = caller.instance().expect("wasm calls it");
        let seen = (event_count(&caller, "instructions")?, instance.profile(&caller)?.ops());
        caller.data_mut().push(seen);
        if n == 13 {
            let inner = instance.get_typed_func::<i32, i32>(&mut caller, "inner")?;
            inner.call(&mut caller, 8)?;
            assert!(inner.call(&mut caller, -1).is_err());
        }
        if fails && n == 42 { Err(Exit(3).into()) } else { Ok(n) }
    })?;
    let mut store = Store::new(&engine, Vec::new());
    let instance = linker.instantiate(&mut store, &module)?;
    Ok((store, instance))
}

fn configs() -> Vec<Config> {
    let mut all = Vec::new();
    // With and without the pinned register, and with calls of the host where others make tail calls.
    let traced = || {
        let mut config = Config::new();
        config.trace(Tracing::Best);
        config
    };
    let bases: [fn() -> Config; 3] = [Config::new, Config::conservative, traced];
    for (counting, base) in [Counting::Chords, Counting::PerBlock, Counting::PerInstruction]
        .into_iter()
        .flat_map(|counting| bases.map(|base| (counting, base)))
    {
        for budget in [None, Some("instructions")] {
            for strategy in [Strategy::Tiered, Strategy::Optimized] {
                let mut config = base();
                config.event_counting(counting).strategy(strategy);
                config.promote_after(20).background_compilation(false);
                if let Some(kind) = budget {
                    config.budget(kind);
                }
                all.push(config);
            }
        }
    }
    all
}

#[test]
fn counts_are_exact_wherever_the_host_looks() -> Outcome {
    for mut config in configs() {
        for (n, fails) in [(60, false), (60, true), (13, false), (5, false)] {
            let (mut store, instance) = sample(&mut config, fails)?;
            let run = instance.get_typed_func::<i32, i32>(&mut store, "run")?;
            assert_eq!(run.call(&mut store, n).is_err(), n > 40);
            assert_eq!(store.event_count("instructions")?, instance.profile(&store)?.ops());
            assert!(!store.data().is_empty());
            for (counted, truth) in store.data() {
                assert_eq!(counted, truth, "{n} {fails}");
            }
        }
    }
    Ok(())
}

#[test]
fn all_placements_count_the_same() -> Outcome {
    let mut found = Vec::new();
    for mut config in configs() {
        let (mut store, instance) = sample(&mut config, true)?;
        let run = instance.get_typed_func::<i32, i32>(&mut store, "run")?;
        assert!(run.call(&mut store, 60).is_err());
        found.push(store.event_counts()?);
    }
    let counts = &found[0];
    assert!(counts.len() > 5 && counts.iter().filter(|(_, count)| *count > 0).count() > 5, "{counts:?}");
    for other in &found {
        assert_eq!(other, counts);
    }
    Ok(())
}

/// Measured weights from an earlier run move the increments, but do not change the counts.
#[test]
fn measured_weights_change_no_count() -> Outcome {
    let run = |config: &mut Config| -> Result<_> {
        let (mut store, instance) = sample(config, true)?;
        let run = instance.get_typed_func::<i32, i32>(&mut store, "run")?;
        assert!(run.call(&mut store, 60).is_err());
        for (counted, truth) in store.data() {
            assert_eq!(counted, truth);
        }
        Ok((instance.profile(&store)?, store.event_counts()?, instance.counter_cost(&store).increments))
    };
    for mut config in configs() {
        let (profile, counts, increments) = run(&mut config)?;
        let weighted = run(config.weights(std::sync::Arc::new(profile.clone())))?;
        assert_eq!(weighted.1, counts);
        assert!(weighted.2 <= increments, "{} {increments}", weighted.2);
        for (found, truth) in weighted.0.functions.iter().zip(&profile.functions) {
            assert_eq!((&found.counts, &found.exits), (&truth.counts, &truth.exits));
        }
    }
    Ok(())
}

#[test]
fn weights_of_another_module_are_refused() -> Outcome {
    let profile = std::sync::Arc::new(profiler::Profile::default());
    let engine = Engine::new(Config::new().weights(profile))?;
    let refused = Module::new(&engine, WAT).expect_err("another hash");
    assert!(refused.to_string().contains("profile of another module"), "{refused}");
    Ok(())
}

/// Runs the program with each budget in turn.
#[test]
fn a_budget_stops_at_a_check_and_not_a_longest_path_later() -> Outcome {
    let endless = r#"(module
        (func $leaf (param i32) (result i32) (i32.add (local.get 0) (i32.const 1)))
        (func (export "run") (param i32)
            (loop $again
                (drop (call $leaf (i32.const 5)))
                (if (i32.and (local.get 0) (i32.const 1)) (then (nop) (nop) (nop)))
                (local.set 0 (i32.add (local.get 0) (i32.const 1)))
                (br $again))))"#;
    let mut last = 0;
    for budget in 0..200 {
        let mut counts = Vec::new();
        for strategy in [Strategy::Tiered, Strategy::Optimized] {
            let mut config = Config::new();
            config.count_events(kinds()).budget("instructions").strategy(strategy);
            config.promote_after(5).background_compilation(false);
            let engine = Engine::new(&config)?;
            let module = Module::new(&engine, endless)?;
            let mut store = Store::new(&engine, ());
            let instance = Instance::new(&mut store, &module, &[])?;
            store.set_budget("instructions", budget)?;
            let run = instance.get_typed_func::<i32, ()>(&mut store, "run")?;
            let error = run.call(&mut store, 0).expect_err("it would never end");
            assert_eq!(error.trap(), Some(Trap::OutOfBudget));
            let (count, left) = (store.event_count("instructions")?, store.budget_left("instructions")?);
            assert_eq!(count as i64 - budget as i64, -left);
            assert_eq!(
                error.to_string(),
                format!("budget of instructions overdrawn by {}: wasm trap: out of budget", -left)
            );
            assert!((1..=16).contains(&-left), "{left}");
            counts.push(count);
        }
        assert_eq!(counts[0], counts[1]);
        assert!(counts[0] >= last);
        last = counts[0];
    }
    Ok(())
}

/// A leaf function does not check its budget on entry: its caller does, and if that is the host, the runtime.
#[test]
fn the_host_cannot_call_what_there_is_no_budget_for() -> Outcome {
    let mut config = Config::new();
    let engine = Engine::new(config.count_events(kinds()).budget("instructions"))?;
    let leaf =
        r#"(module (func (export "leaf") (param i32) (result i32) (i32.add (local.get 0) (i32.const 1))))"#;
    let module = Module::new(&engine, leaf)?;
    let mut store = Store::new(&engine, 0);
    let instance = Instance::new(&mut store, &module, &[])?;
    let leaf = instance.get_typed_func::<i32, i32>(&mut store, "leaf")?;
    store.set_budget("instructions", 10)?;
    // Three instructions per call.
    for _ in 0..4 {
        assert_eq!(leaf.call(&mut store, 5)?, 6);
    }
    for _ in 0..3 {
        let error = leaf.call(&mut store, 5).expect_err("two too many");
        assert_eq!(error.to_string(), "budget of instructions overdrawn by 2: wasm trap: out of budget");
        assert_eq!(store.event_count("instructions")?, 12);
    }
    store.on_out_of_budget(|asked, _| {
        *asked += 1;
        (*asked < 2).then_some(4)
    });
    let calls = (0..10).take_while(|_| leaf.call(&mut store, 5).is_ok()).count();
    assert_eq!((calls, *store.data()), (2, 2));
    Ok(())
}

#[test]
fn the_host_can_refill_a_budget() -> Outcome {
    let mut config = Config::new();
    let engine = Engine::new(config.count_events(kinds()).budget("instructions"))?;
    let module = Module::new(
        &engine,
        r#"(module (func (export "run") (param i32)
            (loop (br_if 0 (local.tee 0 (i32.sub (local.get 0) (i32.const 1)))))))"#,
    )?;
    let mut store = Store::new(&engine, Vec::<i64>::new());
    let instance = Instance::new(&mut store, &module, &[])?;
    store.on_out_of_budget(|asked, left| {
        asked.push(left);
        (asked.len() < 5).then_some(100)
    });
    store.set_budget("instructions", 100)?;
    let run = instance.get_typed_func::<i32, ()>(&mut store, "run")?;
    run.call(&mut store, 60)?;
    assert_eq!((store.data().len(), store.event_count("instructions")?), (2, 300));
    assert_eq!(run.call(&mut store, 6000).expect_err("it asks for more").trap(), Some(Trap::OutOfBudget));
    assert_eq!(store.data().len(), 5);
    assert!(store.data().iter().all(|left| (-5..0).contains(left)), "{:?}", store.data());
    Ok(())
}

/// Uses `kib` KiB of stack.
#[inline(never)]
fn use_stack(kib: usize) -> u64 {
    let frame = std::hint::black_box([kib as u8; 4096]);
    if kib < 4 { u64::from(frame[0]) } else { use_stack(kib - 4) + u64::from(frame[17]) }
}

fn endless(engine: &Engine) -> Result<(Store<()>, TypedFunc<i32, i32>)> {
    let module = Module::new(
        engine,
        r#"(module
            (func $down (export "down") (param i32) (result i32)
                (if (result i32) (i32.eqz (local.get 0)) (then (i32.const 0))
                    (else (i32.add (i32.const 1) (call $down (i32.sub (local.get 0) (i32.const 1)))))))
            (func (export "run") (param i32) (result i32) (local $x i64) (local $y f64)
                (local.set $y (f64.const 1.5))
                (loop $again
                    (local.set $x (i64.add (local.get $x) (i64.const 3)))
                    (local.set $y (f64.add (local.get $y) (f64.const 0.5)))
                    (br_if $again (local.tee 0 (i32.sub (local.get 0) (i32.const 1)))))
                (i32.add (i32.wrap_i64 (local.get $x)) (i32.trunc_f64_s (local.get $y)))))"#,
    )?;
    let mut store = Store::new(engine, ());
    let instance = Instance::new(&mut store, &module, &[])?;
    let run = instance.get_typed_func::<i32, i32>(&mut store, "run")?;
    Ok((store, run))
}

fn metered() -> Result<Engine> {
    let mut config = Config::new();
    Engine::new(config.count_events(kinds()).budget("instructions"))
}

#[test]
fn who_refills_a_budget_has_as_much_stack_as_a_host_function() -> Outcome {
    let (mut store, run) = endless(&metered()?)?;
    store.on_out_of_budget(|_, _| {
        assert!(use_stack(600) > 0);
        Some(100)
    });
    store.set_budget("instructions", 100)?;
    assert_eq!(run.call(&mut store, 1000)?, 3000 + 501);
    Ok(())
}

#[test]
fn who_refills_a_budget_can_run_wasm_in_another_store() -> Outcome {
    let other = Engine::default();
    let module = Module::new(
        &other,
        r#"(module (func $down (export "down") (param i32) (result i32)
            (if (result i32) (i32.eqz (local.get 0)) (then (i32.const 0))
                (else (i32.add (i32.const 1) (call $down (i32.sub (local.get 0) (i32.const 1)))))))
            (func (export "fail") (param i32) (result i32) unreachable))"#,
    )?;
    let mut inner = Store::new(&other, ());
    let instance = Instance::new(&mut inner, &module, &[])?;
    let down = instance.get_typed_func::<i32, i32>(&mut inner, "down")?;
    let fail = instance.get_typed_func::<i32, i32>(&mut inner, "fail")?;
    let (mut store, run) = endless(&metered()?)?;
    store.on_out_of_budget(move |_, _| {
        assert_eq!(down.call(&mut inner, 1000).expect("there is stack for it"), 1000);
        assert_eq!(down.call(&mut inner, i32::MAX).expect_err("too deep").trap(), Some(Trap::StackOverflow));
        let error = fail.call(&mut inner, 1).expect_err("it traps");
        assert_eq!(error.trap(), Some(Trap::UnreachableCodeReached));
        // The backtrace includes the interrupted frames of the outer activation.
        let trace = error.backtrace().expect("wasm has trapped");
        let frames: Vec<u32> = trace.frames().iter().map(FrameInfo::func_index).collect();
        assert_eq!(frames.first(), Some(&1), "{frames:?}");
        Some(100)
    });
    store.set_budget("instructions", 100)?;
    assert_eq!(run.call(&mut store, 1000)?, 3000 + 501);
    Ok(())
}

#[test]
fn a_panic_of_who_refills_a_budget_goes_through_wasm() -> Outcome {
    let (mut store, run) = endless(&metered()?)?;
    store.on_out_of_budget(|_, left| panic!("left {left}"));
    store.set_budget("instructions", 100)?;
    let call = std::panic::AssertUnwindSafe(|| run.call(&mut store, 1000));
    let panic = std::panic::catch_unwind(call).expect_err("it panics");
    assert!(panic.downcast_ref::<String>().is_some_and(|message| message.starts_with("left -")));
    store.on_out_of_budget(|_, _| Some(1_000_000));
    assert_eq!(run.call(&mut store, 1000)?, 3000 + 501);
    Ok(())
}

#[test]
fn nobody_is_asked_for_a_budget_on_the_last_of_the_stack() -> Outcome {
    let engine = metered()?;
    let module = Module::new(&engine, r#"(module (func $f (export "f") (call $f) (call $f)))"#)?;
    for pad in 0..40 {
        let mut store = Store::new(&engine, 0);
        let instance = Instance::new(&mut store, &module, &[])?;
        let f = instance.get_typed_func::<(), ()>(&mut store, "f")?;
        store.on_out_of_budget(|asked, _| {
            *asked += 1;
            Some(use_stack(100) + 1)
        });
        store.set_budget("instructions", 100_000 + pad)?;
        let error = f.call(&mut store, ()).expect_err("it never returns");
        assert_eq!(error.trap(), Some(Trap::StackOverflow), "{error}");
    }
    let mut store = Store::new(&engine, ());
    let instance = Instance::new(&mut store, &module, &[])?;
    let f = instance.get_typed_func::<(), ()>(&mut store, "f")?;
    // Without a callback, the budget ends the program wherever it is.
    let mut seen = std::collections::BTreeSet::new();
    for budget in (0..20).map(|i| 10_000 << i) {
        store.set_budget("instructions", budget)?;
        seen.insert(
            f.call(&mut store, ()).expect_err("it never returns").trap().map(|trap| trap.to_string()),
        );
        store.set_budget("instructions", 0)?;
    }
    assert!(seen.contains(&Some(Trap::OutOfBudget.to_string())), "{seen:?}");
    Ok(())
}

#[test]
fn what_is_not_counted_is_said() -> Outcome {
    let engine = Engine::new(Config::new().count_events(kinds()))?;
    let mut store = Store::new(&engine, ());
    assert!(store.event_count("sheep").expect_err("no such kind").to_string().contains("sheep"));
    assert!(store.set_budget("loads", 1).expect_err("no budget").to_string().contains("Config::budget"));
    assert!(Engine::new(Config::new().budget("loads")).is_err());
    assert!(Engine::new(Config::new().count_events([kinds(), kinds()].concat())).is_err());
    Ok(())
}

/// The states through which an interpreter of `run` below would go.
#[test]
fn a_program_stops_at_the_very_instruction() -> Outcome {
    let wat = r#"(module
        (func $double (param i32) (result i32) (i32.mul (local.get 0) (i32.const 2)))
        (func (export "run") (param $n i32) (result i32) (local $sum i64)
            (loop $again
                (local.set $sum (i64.add (local.get $sum) (i64.extend_i32_s (call $double (local.get $n)))))
                (br_if $again (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
            (i32.wrap_i64 (local.get $sum))))"#;
    use StoppedValue::{I32, I64};
    let (double, run) = (0, 1);
    // Function, locals and operands before instruction 1, 2, ...
    let round = |n: i32, sum: i64| {
        let (outer, inner) = (vec![I32(n), I64(sum)], vec![I32(n)]);
        vec![
            (run, outer.clone(), vec![]),
            (run, outer.clone(), vec![I64(sum)]),
            (run, outer.clone(), vec![I64(sum), I32(n)]),
            (double, inner.clone(), vec![]),
            (double, inner.clone(), vec![I32(n)]),
            (double, inner, vec![I32(n), I32(2)]),
            (run, outer.clone(), vec![I64(sum), I32(2 * n)]),
            (run, outer.clone(), vec![I64(sum), I64(2 * i64::from(n))]),
            (run, outer, vec![I64(sum + 2 * i64::from(n))]),
            (run, vec![I32(n), I64(sum + 2 * i64::from(n))], vec![]),
            (run, vec![I32(n), I64(sum + 2 * i64::from(n))], vec![I32(n)]),
            (run, vec![I32(n), I64(sum + 2 * i64::from(n))], vec![I32(n), I32(1)]),
            (run, vec![I32(n), I64(sum + 2 * i64::from(n))], vec![I32(n - 1)]),
            (run, vec![I32(n - 1), I64(sum + 2 * i64::from(n))], vec![I32(n - 1)]),
        ]
    };
    let mut expected = [round(3, 0), round(2, 6), round(1, 10)].concat();
    expected.push((run, vec![I32(0), I64(12)], vec![]));
    expected.push((run, vec![I32(0), I64(12)], vec![I64(12)]));
    for strategy in [Strategy::Optimized, Strategy::Baseline] {
        let mut config = Config::new();
        config.count_events(kinds()).budget("instructions").strategy(strategy);
        let engine = Engine::new(config.event_counting(Counting::PerInstruction))?;
        let module = Module::new(&engine, wat)?;
        for (count, (func, locals, operands)) in (1..).zip(&expected) {
            let mut store = Store::new(&engine, ());
            let instance = Instance::new(&mut store, &module, &[])?;
            store.set_budget("instructions", count - 1)?;
            let result = instance.get_typed_func::<i32, i32>(&mut store, "run")?.call(&mut store, 3);
            let error = result.expect_err("stopped");
            assert_eq!(store.event_count("instructions")?, count);
            assert_eq!(error.backtrace().map(|trace| trace.frames().len()), Some(2 - *func as usize));
            let stop = store.stop()?.expect("where it was");
            assert_eq!((&stop.func, &stop.locals, &stop.operands), (func, locals, operands), "{count}");
        }
        let mut store = Store::new(&engine, ());
        let instance = Instance::new(&mut store, &module, &[])?;
        let run = instance.get_typed_func::<i32, i32>(&mut store, "run")?;
        assert_eq!(
            (run.call(&mut store, 3)?, store.event_count("instructions")?),
            (12, expected.len() as u64)
        );
    }
    Ok(())
}

/// Each instant of a run, identified by the software instruction counter and a place, is found again with the same
/// state in code that counts by chords and checks only there. When recursive calls return one after the other, they
/// pass one place several times without another such event: the pair identifies the first of these instants.
#[test]
fn an_instant_is_found_again_by_its_place_and_the_software_instruction_counter() -> Outcome {
    const SIC: &str = "back_edges_and_calls";
    let wat = r#"(module
        (func $sum (param i32) (result i32)
            (if (result i32) (local.get 0)
                (then (i32.add (local.get 0) (call $sum (i32.sub (local.get 0) (i32.const 1)))))
                (else (i32.const 0))))
        (func (export "run") (param $n i32) (result i32) (local $sum i32)
            (loop $again
                (if (i32.and (local.get $n) (i32.const 1))
                    (then (local.set $sum (i32.add (local.get $sum) (call $sum (local.get $n)))))
                    (else (local.set $sum (i32.mul (local.get $sum) (i32.const 3)))))
                (br_if $again (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
            (local.get $sum)))"#;
    let wasm = wat::parse_str(wat)?;
    let run = |strategy: Strategy, counting: Counting, (kind, limit): (&str, u64), contexts: bool| {
        let mut config = Config::new();
        config.strategy(strategy).background_compilation(false).promote_after(2).count_contexts(contexts);
        config.count_events(["instructions", SIC].into_iter().filter_map(EventModel::built_in));
        let engine = Engine::new(config.event_counting(counting).budget(kind))?;
        let mut store = Store::new(&engine, ());
        let instance = Instance::new(&mut store, &Module::new(&engine, &wasm)?, &[])?;
        store.set_budget(kind, limit)?;
        let ended = instance.get_typed_func::<i32, i32>(&mut store, "run")?.call(&mut store, 5);
        let counts = [SIC, "instructions"].map(|kind| store.event_count(kind).expect("counted"));
        Ok::<_, Error>((ended.ok(), store.stop()?, counts))
    };
    let mut instants = std::collections::HashMap::new();
    for number in 0.. {
        let by_number = ("instructions", number);
        let (ended, stop, [sic, instructions]) =
            run(Strategy::Baseline, Counting::PerInstruction, by_number, false)?;
        let Some(stop) = stop else {
            assert_eq!(ended, Some(154));
            break;
        };
        assert_eq!(instructions, number + 1);
        // This configuration counts the instruction itself; a call is one of these events.
        let before = sic - u64::from(wasm[stop.offset as usize] == 0x10);
        let strategies = [Strategy::Optimized, Strategy::Baseline, Strategy::Tiered];
        let (strategy, contexts) = (strategies[(number % 3) as usize], number % 2 == 0);
        let found = run(strategy, Counting::Before(stop.offset), (SIC, before), contexts)?;
        let first = instants.entry((before, stop.offset)).or_insert((number, stop));
        assert_eq!(found, (None, Some(first.1.clone()), [before, first.0]), "{strategy:?}");
    }
    assert!(instants.len() > 100, "{}", instants.len());
    Ok(())
}

/// Returns the fuel that `run` of a text module consumes, equal for all placements, and whether it returned.
fn fuel(wat: &str) -> std::result::Result<(u64, bool), Box<dyn std::error::Error>> {
    let mut found = Vec::new();
    for mut config in configs() {
        let engine = Engine::new(config.count_events(kinds()))?;
        let module = Module::new(&engine, wat)?;
        let mut store = Store::new(&engine, ());
        let instance = Instance::new(&mut store, &module, &[])?;
        let returned = instance.get_typed_func::<(), ()>(&mut store, "run")?.call(&mut store, ()).is_ok();
        found.push((store.event_count("fuel")?, returned));
    }
    assert!(found.iter().all(|one| *one == found[0]), "{found:?}");
    Ok(found[0])
}

/// Wasmtime's rules, which `bench-wasm/peers/tests/fuel.rs` tests there: 1 for the entry and for each instruction
/// except `drop`, plus the length.
#[test]
fn lengths_of_bulk_operations_are_events() -> Outcome {
    let all = r#"(module (memory 1) (table 4 funcref) (data $d "12345678") (elem $e func $f $f) (func $f)
        (func (export "run")
            (memory.fill (i32.const 0) (i32.const 1) (i32.const 100))
            (memory.copy (i32.const 8) (i32.const 0) (i32.const 50))
            (memory.init $d (i32.const 0) (i32.const 0) (i32.const 8))
            (table.init $e (i32.const 0) (i32.const 0) (i32.const 2))
            (table.copy (i32.const 2) (i32.const 0) (i32.const 2))
            (table.fill (i32.const 0) (ref.null func) (i32.const 3))
            (drop (table.grow (ref.null func) (i32.const 5)))
            (drop (memory.grow (i32.const 1)))))"#;
    let by_length = 100 + 50 + 8 + 2 + 2 + 3 + 5;
    assert_eq!(fuel(all)?, (1 + 6 * 4 + 3 + 2 + by_length, true));
    let traps = "(module (memory 1) (func (export \"run\")
        (memory.fill (i32.const 0) (i32.const 0) (i32.const 0x20000)) nop))";
    assert_eq!(fuel(traps)?, (1 + 4 + 0x20000, false));
    let too_long = "(module (memory i64 1) (func (export \"run\")
        (memory.fill (i64.const 0) (i32.const 0) (i64.const -1))))";
    assert_eq!(fuel(too_long)?, (1 + 4 + i64::MAX as u64, false));
    Ok(())
}

#[test]
fn a_query_tells_what_a_frame_has_not_counted() -> Outcome {
    let engine = Engine::new(Config::new().count_events(EventModel::built_in("instructions")))?;
    // All events are counted at the exit.
    let module = Module::new(&engine, "(module (func (i32.const 1) (drop) (nop)))")?;
    let mut store = Store::new(&engine, ());
    let instance = Instance::new(&mut store, &module, &[])?;
    let first = module.info().body(0).start as u32 + 1;
    let queries =
        [first, first + 2, first + 3].map(|offset| instance.query(&store, 0, offset).expect("live code"));
    assert_eq!(queries, [[1], [2], [3]]);
    assert!(instance.query(&store, 0, first + 100).is_err());
    assert!(instance.query(&store, 7, first).is_err());
    Ok(())
}
