//! Exact profiles: after returns, traps, exits, interrupts and overflows, and in the middle of a run.

use wprof::profiler::Profile;
use wprof::*;

type Outcome = std::result::Result<(), Box<dyn std::error::Error>>;

/// A loop with a branch and a call in each iteration, and a host call at the end.
const WAT: &str = r#"(module $sample
    (import "host" "f" (func $f (param i32)))
    (func $odd (param i32) (result i32) (i32.and (local.get 0) (i32.const 1)))
    (func $run (export "run") (param $n i32) (result i32) (local $sum i32)
        (loop $again
            (if (call $odd (local.get $n))
                (then (local.set $sum (i32.add (local.get $sum) (i32.const 3))))
                (else (local.set $sum (i32.sub (local.get $sum) (i32.const 1)))))
            (call $f (local.get $n))
            (br_if $again (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
        (local.get $sum))
    (func $deep (export "deep") (param $n i32)
        (if (i32.eqz (local.get $n)) (then (call $f (i32.const 0))))
        (call $deep (i32.sub (local.get $n) (i32.const 1)))))"#;

fn sample<R: WasmRet + 'static>(
    collect: Collect,
    host: impl Fn(Caller<'_, Vec<Profile>>, i32) -> R + Send + Sync + 'static,
) -> Result<(Store<Vec<Profile>>, Instance)> {
    let engine = Engine::with_profiling(ProfilingConfig::Exact(collect))?;
    let module = Module::new(&engine, WAT)?;
    let mut linker = Linker::new(&engine);
    linker.func_wrap("host", "f", host)?;
    let mut store = Store::new(&engine, Vec::new());
    let instance = linker.instantiate(&mut store, &module)?;
    Ok((store, instance))
}

fn calls(profile: &Profile, name: &str) -> u64 {
    profile.functions.iter().find(|f| f.name.as_deref() == Some(name)).map_or(0, |f| f.calls())
}

#[test]
fn a_finished_run_is_counted_exactly_in_every_mode() -> Outcome {
    let mut ops = Vec::new();
    for collect in [Collect::Edges, Collect::AllEdges, Collect::Paths] {
        let (mut store, instance) = sample(collect, |_, _| ())?;
        let run = instance.get_typed_func::<i32, i32>(&mut store, "run")?;
        run.call(&mut store, 100)?;
        run.call(&mut store, 11)?;
        let profile = instance.profile(&store)?;
        profile.verify()?;
        assert_eq!((calls(&profile, "run"), calls(&profile, "odd"), calls(&profile, "deep")), (2, 111, 0));
        assert_eq!((profile.host_calls[0].name.as_str(), profile.host_calls[0].count), ("f", 111));
        assert_eq!((profile.code.functions, profile.code.compiled), (3, 2));
        ops.push((profile.ops(), instance.block_counts(&store)?));
    }
    assert_eq!((&ops[0], &ops[0]), (&ops[1], &ops[2]));
    Ok(())
}

const ALL: [Collect; 6] = [
    Collect::AllEdges,
    Collect::Edges,
    Collect::Paths,
    Collect::Blocks,
    Collect::BlockCounters,
    Collect::AllBlocks,
];

/// The figures on which all placements must agree: block counts by function, calls and instructions, and where frames
/// ended.
fn figures(profile: &Profile) -> impl PartialEq + std::fmt::Debug + use<> {
    let functions = profile.functions.iter();
    let figures = functions.map(|f| (f.index, f.calls(), f.ops(), f.block_counts(), f.exits.clone()));
    figures.collect::<Vec<_>>()
}

#[test]
fn all_placements_count_blocks_alike_whatever_ends_the_program() -> Outcome {
    // Each way to end: the iterations of `run`, the depth of `deep`, and the call at which the host fails.
    for (rounds, depth, fails) in [(100, 0, -1), (100, 0, 90), (11, 0, 7), (1, 50, 0)] {
        let mut found = Vec::new();
        for collect in ALL {
            let (mut store, instance) = sample(collect, move |mut caller, n| -> Result<()> {
                let profile = caller.instance().expect("wasm").profile(&caller)?;
                profile.verify().expect("consistent");
                caller.data_mut().push(profile);
                if n == fails { Err(Exit(3).into()) } else { Ok(()) }
            })?;
            let run = instance.get_typed_func::<i32, i32>(&mut store, "run")?;
            assert_eq!(run.call(&mut store, rounds).is_ok(), !(1..=rounds).contains(&fails));
            if depth > 0 {
                let deep = instance.get_typed_func::<i32, ()>(&mut store, "deep")?;
                assert!(deep.call(&mut store, depth).is_err(), "the host exits");
            }
            let profile = instance.profile(&store)?;
            profile.verify()?;
            let by_edges = matches!(collect, Collect::AllEdges | Collect::Edges | Collect::Paths);
            assert!(profile.functions.iter().all(|f| f.has_edge_counts() == by_edges));
            assert_eq!(Profile::from_bytes(&profile.to_bytes()?)?, profile);
            let counts = instance.block_counts(&store)?;
            let seen: Vec<_> = store.data().iter().map(figures).collect();
            found.push((figures(&profile), counts, seen));
        }
        for (other, collect) in found.iter().zip(ALL) {
            assert_eq!(other, &found[0], "{collect:?}");
        }
    }
    Ok(())
}

/// In an overflow only calls end, including the one that did not fit; the number of calls that fit depends on the
/// code.
#[test]
fn all_placements_count_calls_that_overflow() -> Outcome {
    for collect in ALL {
        let (mut store, instance) = sample(collect, |_, _| ())?;
        let deep = instance.get_typed_func::<i32, ()>(&mut store, "deep")?;
        for _ in 0..3 {
            assert_eq!(deep.call(&mut store, -1).expect_err("overflow").trap(), Some(Trap::StackOverflow));
        }
        let profile = instance.profile(&store)?;
        profile.verify()?;
        let deep = &profile.functions[0];
        assert_eq!(deep.calls(), deep.exits.iter().map(|exit| exit.count).sum::<u64>(), "{collect:?}");
        assert_eq!(deep.block_counts()[0], deep.calls(), "{collect:?}");
    }
    Ok(())
}

/// The edges from `$to1` and `$to2` to `$a` and `$b` are a cycle without a pipe, and heavier than the surrounding
/// edges, so that three of them are in the tree; the fourth needs no counter if only blocks are counted.
#[test]
fn blocks_take_fewer_counters_than_edges() -> Outcome {
    let wat = r#"(module (func (export "cross") (param i32 i32)
        (block $b
            (block $a
                (block $to2
                    (block $to1
                        (block $5 (block $4 (block $3 (block $2 (block $1 (block $0
                            (br_table $0 $1 $2 $3 $4 $5 (local.get 0)))
                            (nop) (br $to1))
                            (nop) (br $to1))
                            (nop) (br $to1))
                            (nop) (br $to2))
                            (nop) (br $to2))
                        (nop) (br $to2))
                    (br_table $a $b (local.get 1)))
                (br_table $a $b (local.get 1)))
            (block $y (block $x (br_table $x $y 2 (local.get 0))) (return))
            (return))
        (block $y (block $x (br_table $x $y 1 (local.get 0))) (return))))"#;
    let cost = |collect| -> std::result::Result<_, Box<dyn std::error::Error>> {
        let engine = Engine::with_profiling(ProfilingConfig::Exact(collect))?;
        let mut store = Store::new(&engine, ());
        let instance = Instance::new(&mut store, &Module::new(&engine, wat)?, &[])?;
        let cross = instance.get_typed_func::<(i32, i32), ()>(&mut store, "cross")?;
        for (way, other) in [(0, 0), (0, 1), (1, 0), (1, 1), (1, 1)] {
            cross.call(&mut store, (way, other))?;
        }
        Ok((instance.counter_cost(&store).counters, instance.block_counts(&store)?))
    };
    let [all, edges, paths, blocks, reduced, each] = ALL.map(cost);
    let (all, edges, paths, blocks, reduced, each) = (all?, edges?, paths?, blocks?, reduced?, each?);
    assert_eq!([all.0, edges.0, blocks.0, reduced.0, each.0], [25, 11, 10, 10, 15]);
    assert!(
        [&edges, &paths, &blocks, &reduced, &each].iter().all(|other| other.1 == all.1),
        "{all:?} {blocks:?}"
    );
    Ok(())
}

#[test]
fn chords_take_fewer_increments_than_blocks() -> Outcome {
    let cost = |collect| -> Result<u64> {
        let (mut store, instance) = sample(collect, |_, _| ())?;
        instance.get_typed_func::<i32, i32>(&mut store, "run")?.call(&mut store, 1000)?;
        Ok(instance.counter_cost(&store).increments)
    };
    let (chords, blocks, all) = (cost(Collect::Edges)?, cost(Collect::AllBlocks)?, cost(Collect::AllEdges)?);
    assert!(chords < blocks && blocks <= all, "{chords} {blocks} {all}");
    Ok(())
}

#[test]
fn an_exit_from_deep_calls_leaves_a_consistent_profile() -> Outcome {
    for collect in [Collect::Edges, Collect::AllEdges, Collect::Paths] {
        let (mut store, instance) = sample(collect, |_, _| -> Result<()> { Err(Exit(3).into()) })?;
        let deep = instance.get_typed_func::<i32, ()>(&mut store, "deep")?;
        assert_eq!(deep.call(&mut store, 50).expect_err("exit").i32_exit(), Some(3));
        let profile = instance.profile(&store)?;
        profile.verify()?;
        let deep = &profile.functions[0];
        assert_eq!(deep.calls(), 51);
        assert_eq!(deep.exits.iter().map(|e| e.count).sum::<u64>(), 51);
        // 50 frames in the recursive call, one in the call of the host.
        assert_eq!(deep.exits.iter().map(|e| e.count).max(), Some(50));
    }
    Ok(())
}

#[test]
fn a_trap_an_overflow_and_a_panic_leave_a_consistent_profile() -> Outcome {
    let (mut store, instance) = sample(Collect::Edges, |_, n| -> Result<()> {
        assert!(n != 7, "seven");
        if n == 90 { Err(Trap::Interrupt.into()) } else { Ok(()) }
    })?;
    let run = instance.get_typed_func::<i32, i32>(&mut store, "run")?;
    assert_eq!(run.call(&mut store, 100).expect_err("trap").trap(), Some(Trap::Interrupt));
    let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| run.call(&mut store, 10)));
    assert!(panic.is_err());
    let deep = instance.get_typed_func::<i32, ()>(&mut store, "deep")?;
    assert_eq!(deep.call(&mut store, -1).expect_err("overflow").trap(), Some(Trap::StackOverflow));
    let profile = instance.profile(&store)?;
    profile.verify()?;
    assert_eq!((calls(&profile, "run"), calls(&profile, "odd")), (2, 15));
    assert!(calls(&profile, "deep") > 1000);
    Ok(())
}

#[test]
fn a_profile_taken_inside_a_host_function_counts_live_frames() -> Outcome {
    let (mut store, instance) = sample(Collect::Edges, |mut caller, n| -> Result<()> {
        if n % 25 == 0 {
            let profile = caller.instance().expect("wasm").profile(&caller)?;
            caller.data_mut().push(profile);
        }
        Ok(())
    })?;
    instance.get_typed_func::<i32, i32>(&mut store, "run")?.call(&mut store, 100)?;
    let profiles = store.data().clone();
    assert_eq!(profiles.len(), 4);
    for (profile, rounds) in profiles.iter().zip([1, 26, 51, 76]) {
        profile.verify()?;
        assert_eq!((calls(profile, "run"), calls(profile, "odd")), (1, rounds));
        let run = profile.functions.iter().find(|f| f.name.as_deref() == Some("run")).expect("ran");
        assert_eq!(run.exits.iter().map(|e| e.count).sum::<u64>(), 1);
    }
    let last = instance.profile(&store)?;
    last.verify()?;
    assert!(last.functions.iter().all(|f| f.exits.is_empty()));
    Ok(())
}

#[test]
fn an_interrupted_loop_leaves_a_consistent_profile() -> Outcome {
    let engine = Engine::with_profiling(ProfilingConfig::Exact(Collect::Edges))?;
    let module = Module::new(
        &engine,
        r#"(module (import "host" "starts" (func $starts)) (func (export "spin") (local i32)
            (call $starts)
            (loop $l (if (i32.and (local.tee 0 (i32.add (local.get 0) (i32.const 1))) (i32.const 1)) (then nop)) (br $l))))"#,
    )?;
    let (starts, started) = std::sync::mpsc::sync_channel(1);
    let mut linker = Linker::new(&engine);
    linker.func_wrap("host", "starts", move || starts.send(()).expect("somebody waits"))?;
    let started = std::sync::Arc::new(std::sync::Mutex::new(started));
    let mut store = Store::new(&engine, ());
    let instance = linker.instantiate(&mut store, &module)?;
    let spin = instance.get_typed_func::<(), ()>(&mut store, "spin")?;
    for round in 1..20 {
        let (handle, started) = (store.interrupt_handle(), started.clone());
        let timer = std::thread::spawn(move || {
            started.lock().expect("no panic").recv().expect("it starts");
            std::thread::sleep(std::time::Duration::from_millis(2));
            handle.interrupt();
        });
        assert_eq!(spin.call(&mut store, ()).expect_err("interrupted").trap(), Some(Trap::Interrupt));
        timer.join().expect("no panic");
        let profile = instance.profile(&store)?;
        profile.verify()?;
        assert_eq!(profile.calls(), round);
    }
    Ok(())
}

#[test]
fn instances_have_counters_of_their_own() -> Outcome {
    let (mut store, first) = sample(Collect::Edges, |_, _| ())?;
    let module = first.module(&store).clone();
    let f = Func::wrap(&mut store, |_: i32| ());
    let second = Instance::new(&mut store, &module, &[f.into()])?;
    first.get_typed_func::<i32, i32>(&mut store, "run")?.call(&mut store, 5)?;
    second.get_typed_func::<i32, i32>(&mut store, "run")?.call(&mut store, 7)?;
    assert_eq!(calls(&first.profile(&store)?, "odd"), 5);
    assert_eq!(calls(&second.profile(&store)?, "odd"), 7);
    Ok(())
}

#[test]
fn frames_belong_to_the_instance_that_they_run_in() -> Outcome {
    // `down` alternates between two instances of the module through the table, and then traps, exits or overflows.
    let wat = r#"(module
        (import "host" "f" (func $f (param i32)))
        (type $t (func (param i32)))
        (table (import "host" "table") 3 funcref)
        (elem declare func $down)
        (func (export "put") (param i32) (table.set (local.get 0) (ref.func $down)))
        (func $down (type $t)
            (if (i32.eqz (local.get 0)) (then (call $f (i32.const 0)) unreachable))
            (call_indirect (type $t) (i32.sub (local.get 0) (i32.const 1)) (i32.and (local.get 0) (i32.const 1)))))"#;
    let engine = Engine::with_profiling(ProfilingConfig::Exact(Collect::Edges))?;
    let module = Module::new(&engine, wat)?;
    for (depth, fails, calls) in [(10, false, [6, 5]), (11, true, [6, 6]), (-1, false, [0, 0])] {
        let mut store = Store::new(&engine, ());
        let table = Table::new(&mut store, TableType::new(RefType::FUNCREF, 3, None), Ref::Func(None))?;
        let mut linker = Linker::new(&engine);
        linker.func_wrap(
            "host",
            "f",
            move |_: i32| if fails { Err(Exit(3).into()) } else { Ok::<(), Error>(()) },
        )?;
        linker.define(&mut store, "host", "table", table)?;
        let instances = [linker.instantiate(&mut store, &module)?, linker.instantiate(&mut store, &module)?];
        for (i, instance) in (0..).zip(instances) {
            instance.get_typed_func::<i32, ()>(&mut store, "put")?.call(&mut store, i)?;
        }
        let Some(Ref::Func(Some(down))) = table.get(&mut store, 0) else { panic!("a function") };
        assert!(down.call(&mut store, &[Val::I32(depth)], &mut []).is_err());
        let mut found = [0; 2];
        for (found, instance) in found.iter_mut().zip(instances) {
            let profile = instance.profile(&store)?;
            profile.verify()?;
            *found = profile.functions.iter().find(|f| f.index == 2).map_or(0, |f| f.calls());
        }
        if depth > 0 {
            assert_eq!(found, calls, "depth {depth}");
        } else {
            // The frame that did not fit counts for its caller's instance.
            assert!(found[0].abs_diff(found[1]) <= 2 && found[0] > 1000, "{found:?}");
        }
    }
    Ok(())
}

#[test]
fn host_functions_are_timed_without_what_they_call_back() -> Outcome {
    const WAT: &str = r#"(module
        (import "host" "wait" (func $wait))
        (import "host" "back" (func $back))
        (func (export "run") (call $back) (call $wait))
        (func (export "again") (call $wait)))"#;
    const WAIT: std::time::Duration = std::time::Duration::from_millis(20);
    for times in [true, false] {
        let mut config = Config::new();
        config.profiling(ProfilingConfig::Exact(Collect::Edges)).time_host_calls(times);
        let engine = Engine::new(&config)?;
        let mut linker = Linker::new(&engine);
        linker.func_wrap("host", "wait", || std::thread::sleep(WAIT))?;
        linker.func_wrap("host", "back", |mut caller: Caller<'_, ()>| -> Result<()> {
            let again = caller.get_export("again").and_then(Extern::into_func).expect("exported");
            again.typed::<(), ()>(&mut caller)?.call(&mut caller, ())
        })?;
        let mut store = Store::new(&engine, ());
        let instance = linker.instantiate(&mut store, &Module::new(&engine, WAT)?)?;
        let began = std::time::Instant::now();
        instance.get_typed_func::<(), ()>(&mut store, "run")?.call(&mut store, ())?;
        let profile = instance.profile(&store)?;
        let found: Vec<_> =
            profile.host_calls.iter().map(|c| (c.name.as_str(), c.count, c.time_ns)).collect();
        let [("back", 1, back), ("wait", 2, wait)] = found[..] else { panic!("{found:?}") };
        assert_eq!((back.is_some(), wait.is_some()), (times, times));
        if let (Some(back), Some(wait)) = (back, wait) {
            // The two clocks agree except for the time of reading them.
            assert!(wait >= 2 * WAIT.as_nanos() as u64 * 99 / 100, "{wait}");
            assert!(back < WAIT.as_nanos() as u64, "{back}");
            assert!(u128::from(back + wait) * 99 / 100 <= began.elapsed().as_nanos());
        }
    }
    Ok(())
}
