//! Calling context trees of runs that are small enough to write the trees down.

use wprof::profiler::{CallRecord, Callee, ContextTree, Profile};
use wprof::*;

type Outcome = std::result::Result<(), Box<dyn std::error::Error>>;

/// Returns engines for all ways to compile, alone and with every other kind of count.
fn engines() -> impl Iterator<Item = Engine> {
    let strategies = [Strategy::Optimized, Strategy::Baseline, Strategy::Tiered];
    let others = ["", "edges", "events", "metered", "trace"];
    let bases: [fn() -> Config; 2] = [Config::new, Config::conservative];
    let kinds = strategies.into_iter().flat_map(move |strategy| others.map(|other| (strategy, other)));
    let each = kinds.flat_map(move |kind| bases.map(|base| (kind, base)));
    each.map(|((strategy, other), base)| {
        let mut config = base();
        config.strategy(strategy).background_compilation(false).promote_after(2).count_contexts(true);
        let events = || ["instructions", "loads"].into_iter().filter_map(EventModel::built_in);
        match other {
            "edges" => config.profiling(ProfilingConfig::Exact(Collect::Edges)),
            "events" => config.count_events(events()),
            "metered" => config.count_events(events()).budget("instructions"),
            "trace" => config.trace(Tracing::Best),
            _ => &mut config,
        };
        Engine::new(&config).expect("this machine")
    })
}

/// Formats one line per record: indented names, the number of the call site in the caller, calls, and the targets of
/// recursive calls.
fn text(tree: &ContextTree) -> String {
    tree.verify().expect("valid");
    let name = |record: u32| match tree.callee(record) {
        Callee::Root => "root".to_string(),
        Callee::Function { name, index } => name.clone().unwrap_or(index.to_string()),
        Callee::Elsewhere { instance, name, .. } => format!("{instance}.{}", name.as_deref().unwrap_or("")),
        Callee::Host { module, name } => format!("{module}::{name}"),
        _ => "beyond".to_string(),
    };
    let call = |record: u32, site: u32| {
        let routine = &tree.routines[tree.records[record as usize].routine as usize];
        routine.sites.iter().position(|&known| known == site).map_or(String::new(), |n| format!("{n}:"))
    };
    let mut depths = vec![0; tree.records.len()];
    let mut lines = Vec::new();
    for (record, index) in tree.records.iter().zip(0..).skip(1) {
        depths[index as usize] = depths[record.parent as usize] + 1;
        let indent = "  ".repeat(depths[index as usize] - 1);
        let back = record.back_edges.iter().map(|e| format!(" ^{}{}", call(index, e.site), name(e.to)));
        let (at, back) = (call(record.parent, record.site), back.collect::<String>());
        lines.push(format!("{indent}{at}{} {}{back}", name(index), record.calls));
    }
    lines.join("\n")
}

/// Checks the tree of a profile, also after it is written and read; `drive` calls `wat` on every engine.
fn check(wat: &str, drive: impl Fn(&mut Store<()>, Instance) -> Outcome, expected: &str) -> Outcome {
    for engine in engines() {
        let module = Module::new(&engine, wat)?;
        let mut store = Store::new(&engine, ());
        let mut linker = Linker::new(&engine);
        linker.func_wrap("host", "log", |_: i32| ())?;
        linker.func_wrap("host", "back", |mut caller: Caller<'_, ()>, n: i32| -> Result<i32> {
            let entry = caller.get_export("entry").and_then(Extern::into_func).expect("exported");
            let called = entry.typed::<i32, i32>(&caller)?.call(&mut caller, n);
            if n % 2 == 0 { called } else { Ok(called.unwrap_or(-1)) }
        })?;
        linker.func_wrap("host", "exit", || -> Result<()> { Err(Exit(3).into()) })?;
        let instance = linker.instantiate(&mut store, &module)?;
        drive(&mut store, instance)?;
        let profile = instance.profile(&store)?;
        assert_eq!(Profile::from_bytes(&profile.to_bytes()?)?, profile);
        let tree = profile.contexts.expect("counted");
        let expected: Vec<&str> =
            expected.lines().map(|line| line.strip_prefix("        ").unwrap_or(line)).collect();
        assert_eq!(text(&tree), expected.join("\n").trim(), "{:?}", engine.config());
    }
    Ok(())
}

/// Calls `run`, and checks whether it succeeds.
fn run(arg: i32, succeeds: bool) -> impl Fn(&mut Store<()>, Instance) -> Outcome {
    move |store, instance| {
        let run = instance.get_typed_func::<i32, i32>(&mut *store, "run")?;
        assert_eq!(run.call(store, arg).is_ok(), succeeds);
        Ok(())
    }
}

#[test]
fn each_call_site_has_its_own_records() -> Outcome {
    let wat = r#"(module
        (import "host" "log" (func $log (param i32)))
        (func $leaf (param i32) (result i32) (call $log (local.get 0)) (local.get 0))
        (func $middle (param i32) (result i32)
            (i32.add (call $leaf (local.get 0)) (call $leaf (local.get 0))))
        (func $run (export "run") (param $n i32) (result i32)
            (loop $again
                (drop (call $middle (local.get $n)))
                (if (i32.and (local.get $n) (i32.const 1)) (then (drop (call $leaf (local.get $n)))))
                (br_if $again (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
            (i32.const 7)))"#;
    let expected = "
        run 1
          0:middle 100
            0:leaf 100
              0:host::log 100
            1:leaf 100
              0:host::log 100
          1:leaf 50
            0:host::log 50";
    check(wat, run(100, true), expected)
}

/// Ammons, Ball & Larus 1997, figure 4: the call graph has the path M, D, A, C, which did not run, and C has two
/// contexts.
#[test]
fn the_paper_s_calls_have_the_contexts_that_ran_and_no_others() -> Outcome {
    let wat = r#"(module
        (func $B) (func $C)
        (func $A (param i32) (call $B) (if (local.get 0) (then (call $C))))
        (func $D (call $A (i32.const 0)) (call $C))
        (func $M (export "run") (param i32) (result i32) (call $A (i32.const 1)) (call $D) (i32.const 0)))"#;
    let expected = "
        M 1
          0:A 1
            0:B 1
            1:C 1
          1:D 1
            0:A 1
              0:B 1
            1:C 1";
    check(wat, run(0, true), expected)
}

/// Figure 5: a recursive invocation of A shares the record of its first one.
#[test]
fn the_paper_s_recursion_has_one_record_for_each_function() -> Outcome {
    let wat = r#"(module
        (func $A (param i32) (call $B (local.get 0)))
        (func $B (param i32) (if (local.get 0) (then (call $A (i32.sub (local.get 0) (i32.const 1))))))
        (func $M (export "run") (param i32) (result i32) (call $A (local.get 0)) (i32.const 0)))"#;
    let expected = "
        M 1
          0:A 2
            0:B 2 ^0:A";
    check(wat, run(1, true), expected)
}

#[test]
fn recursion_leads_back_to_the_record_above() -> Outcome {
    let wat = r#"(module
        (func $fib (param i32) (result i32)
            (if (result i32) (i32.lt_s (local.get 0) (i32.const 2))
                (then (local.get 0))
                (else (i32.add
                    (call $fib (i32.sub (local.get 0) (i32.const 1)))
                    (call $fib (i32.sub (local.get 0) (i32.const 2)))))))
        (func $even (param i32) (result i32)
            (if (result i32) (local.get 0)
                (then (call $odd (i32.sub (local.get 0) (i32.const 1)))) (else (i32.const 1))))
        (func $odd (param i32) (result i32)
            (if (result i32) (local.get 0)
                (then (call $even (i32.sub (local.get 0) (i32.const 1)))) (else (i32.const 0))))
        (func $run (export "run") (param i32) (result i32)
            (i32.add (call $fib (local.get 0)) (i32.add (call $even (local.get 0)) (call $odd (local.get 0))))))"#;
    let expected = "
        run 1
          0:fib 177 ^0:fib ^1:fib
          1:even 6
            0:odd 5 ^0:even
          2:odd 6
            0:even 5 ^0:odd";
    check(wat, run(10, true), expected)
}

#[test]
fn an_indirect_call_has_a_record_for_each_callee() -> Outcome {
    let wat = r#"(module
        (import "host" "back" (func $back (param i32) (result i32)))
        (type $f (func (param i32) (result i32)))
        (table funcref (elem $a $b $back $run))
        (func $entry (export "entry") (param i32) (result i32) (local.get 0))
        (func $a (param i32) (result i32) (local.get 0))
        (func $b (param i32) (result i32) (call $a (local.get 0)))
        (func $run (export "run") (param $n i32) (result i32)
            (loop $again
                (if (i32.eqz (local.get $n)) (then (return (i32.const 0))))
                (drop (call_indirect (type $f)
                    (i32.const 0)
                    (select (i32.const 3) (i32.rem_u (local.get $n) (i32.const 3)) (i32.eq (local.get $n) (i32.const 4)))))
                (local.set $n (i32.sub (local.get $n) (i32.const 1)))
                (br $again))
            (unreachable)))"#;
    // Of the numbers 30 to 1, 10 are divisible by 3; the 4 would have been the second function's.
    let expected = "
        run 2 ^0:run
          0:a 10
          0:b 9
            0:a 9
          0:host::back 10
            entry 10";
    check(wat, run(30, true), expected)
}

#[test]
fn a_tail_call_is_below_the_function_whose_frame_it_takes() -> Outcome {
    let wat = r#"(module
        (import "host" "log" (func $log (param i32)))
        (type $f (func (param i32) (result i32)))
        (table funcref (elem $last))
        (func $last (param i32) (result i32) (call $log (local.get 0)) (local.get 0))
        (func $down (param i32) (result i32)
            (if (local.get 0) (then (return_call $down (i32.sub (local.get 0) (i32.const 1)))))
            (return_call_indirect (type $f) (local.get 0) (i32.const 0)))
        (func $quiet (param i32) (return_call $log (local.get 0)))
        (func $run (export "run") (param i32) (result i32)
            (call $quiet (i32.const 1))
            (drop (call $down (local.get 0)))
            (call $last (local.get 0))))"#;
    let expected = "
        run 1
          0:quiet 1
            0:host::log 1
          1:down 1001 ^0:down
            1:last 1
              0:host::log 1
          2:last 1
            0:host::log 1";
    check(wat, run(1000, true), expected)
}

/// The host calls back, which traps when the argument is 5; then the host function fails too if its own argument is
/// even.
const REENTRANT: &str = r#"(module
    (import "host" "back" (func $back (param i32) (result i32)))
    (func $check (param i32) (result i32)
        (if (i32.eq (local.get 0) (i32.const 5)) (then (unreachable)))
        (local.get 0))
    (func $entry (export "entry") (param i32) (result i32)
        (if (i32.eq (local.get 0) (i32.const 8)) (then (return (call $back (i32.const 5)))))
        (call $check (local.get 0)))
    (func $after (param i32) (result i32) (call $check (i32.const 0)))
    (func $run (export "run") (param i32) (result i32)
        (drop (call $back (local.get 0)))
        (call $after (i32.const 0))))"#;

#[test]
fn what_the_host_calls_is_below_its_own_record() -> Outcome {
    // The second entry calls a function that is already on the stack, and so does the host.
    let expected = "
        run 1
          0:host::back 2
            entry 2 ^0:host::back
              1:check 1
          1:after 1
            0:check 1";
    check(REENTRANT, run(8, true), expected)
}

#[test]
fn traps_and_exits_leave_the_tree_complete() -> Outcome {
    let survived = "
        run 1
          0:host::back 1
            entry 1
              1:check 1
          1:after 1
            0:check 1";
    check(REENTRANT, run(5, true), survived)?;
    let wat = r#"(module
        (import "host" "exit" (func $exit))
        (func $f (param i32) (result i32)
            (if (i32.eqz (local.get 0)) (then (call $exit)))
            (i32.div_u (i32.const 1) (i32.sub (local.get 0) (i32.const 1)))
            (drop)
            (call $f (i32.sub (local.get 0) (i32.const 2))))
        (func $run (export "run") (param i32) (result i32) (call $f (local.get 0))))"#;
    let expected = "
        run 2
          0:f 9 ^1:f
            0:host::exit 1";
    let both = |store: &mut Store<()>, instance: Instance| {
        run(6, false)(store, instance)?;
        run(9, false)(store, instance)
    };
    check(wat, both, expected)
}

#[test]
fn functions_of_other_instances_have_their_own_records() -> Outcome {
    for engine in engines().filter(|engine| !engine.config().counts("loads")) {
        let library = r#"(module $lib
            (func $twice (export "twice") (param i32) (result i32) (i32.mul (i32.const 2) (call $one (local.get 0))))
            (func $one (param i32) (result i32) (local.get 0)))"#;
        let program = r#"(module
            (import "a" "twice" (func $a (param i32) (result i32)))
            (import "b" "twice" (func $b (param i32) (result i32)))
            (func $run (export "run") (param i32) (result i32)
                (i32.add (call $a (local.get 0)) (call $b (call $b (local.get 0))))))"#;
        let [library, program] = [library, program].map(|wat| Module::new(&engine, wat));
        let (library, program) = (library?, program?);
        let mut store = Store::new(&engine, ());
        let mut linker = Linker::<()>::new(&engine);
        let [a, b] = ["a", "b"].map(|name| {
            let instance = linker.instantiate(&mut store, &library).expect("no imports");
            linker.instance(&mut store, name, instance).expect("new names");
            instance
        });
        let instance = linker.instantiate(&mut store, &program)?;
        run(3, true)(&mut store, instance)?;
        let tree = |of: Instance| of.profile(&store).map(|profile| text(&profile.contexts.expect("counted")));
        let expected =
            "run 1\n  0:0.twice 1\n    0:0.one 1\n  1:1.twice 1\n    0:1.one 1\n  2:1.twice 1\n    0:1.one 1";
        assert_eq!(tree(instance)?, expected);
        let seen_from_there = expected.replace("run", "2.run");
        assert_eq!(tree(a)?, seen_from_there.replace(":0.", ":"));
        assert_eq!(tree(b)?, seen_from_there.replace(":1.", ":"));
    }
    Ok(())
}

const WIDE: &str = r#"(module
    (func $a (param i32) (result i32) (local.get 0))
    (func $b (param i32) (result i32) (call $a (local.get 0)))
    (func $c (param i32) (result i32) (i32.add (call $a (local.get 0)) (call $b (local.get 0))))
    (func $run (export "run") (param $n i32) (result i32)
        (loop $again
            (drop (call $c (call $b (call $a (local.get $n)))))
            (br_if $again (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
        (i32.const 0)))"#;

#[test]
fn contexts_without_room_are_counted_by_function() -> Outcome {
    let sizes = [0, 300, 750, 1000];
    let (mut cut, mut bytes) = (0, 0);
    for size in sizes {
        let mut config = Config::new();
        config.count_contexts(true).context_memory(size).profiling(ProfilingConfig::Exact(Collect::Edges));
        let engine = Engine::new(&config)?;
        let mut store = Store::new(&engine, ());
        let instance = Instance::new(&mut store, &Module::new(&engine, WIDE)?, &[])?;
        run(10, true)(&mut store, instance)?;
        let profile = instance.profile(&store)?;
        profile.verify()?;
        same_calls(&profile);
        let tree = profile.contexts.expect("counted");
        cut += usize::from(tree.is_cut());
        bytes = tree.stats().bytes;
        assert_eq!(
            tree.records.len(),
            [6, 7, 10, 9][sizes.iter().position(|&s| s == size).expect("one of them")]
        );
    }
    assert_eq!(cut, 3, "only the last has room for all");
    assert_eq!(bytes, 184, "that is what the last one takes");
    Ok(())
}

/// Checks that the records of a function add up to its calls.
fn same_calls(profile: &Profile) {
    let tree = profile.contexts.as_ref().expect("counted");
    for function in &profile.functions {
        let records = tree.records.iter().zip(0..);
        let own = records.filter(|(_, record)| {
            matches!(tree.callee(*record), Callee::Function { index, .. } if *index == function.index)
        });
        assert_eq!(own.map(|(record, _)| record.calls).sum::<u64>(), function.calls(), "{:?}", function.name);
    }
}

#[test]
fn calls_that_overflow_the_stack_are_counted() -> Outcome {
    let wat = r#"(module
        (import "host" "log" (func $log (param i32)))
        (func $deep (param i32) (result i32)
            (if (i32.eq (local.get 0) (i32.const 40)) (then (call $log (i32.const 0))))
            (i32.add (call $other (i32.add (local.get 0) (i32.const 1))) (i32.const 1)))
        (func $other (param i32) (result i32) (i32.add (call $deep (local.get 0)) (i32.const 1)))
        (func $run (export "run") (param i32) (result i32) (call $deep (local.get 0))))"#;
    for strategy in [Strategy::Optimized, Strategy::Baseline, Strategy::Tiered] {
        let mut config = Config::new();
        config.strategy(strategy).count_contexts(true).profiling(ProfilingConfig::Exact(Collect::Edges));
        let engine = Engine::new(config.background_compilation(false).promote_after(2))?;
        let mut linker = Linker::new(&engine);
        linker.func_wrap("host", "log", |_: i32| ())?;
        let mut store = Store::new(&engine, ());
        let instance = linker.instantiate(&mut store, &Module::new(&engine, wat)?)?;
        let overflow = instance.get_typed_func::<i32, i32>(&mut store, "run")?;
        for start in [0, 0, 100] {
            let error = overflow.call(&mut store, start).expect_err("it never ends");
            assert_eq!(error.trap(), Some(Trap::StackOverflow));
        }
        let profile = instance.profile(&store)?;
        same_calls(&profile);
        let tree = profile.contexts.expect("counted");
        assert_eq!(tree.records.len(), 5, "{}", text(&tree));
    }
    Ok(())
}

/// The creation of a call record takes stack for the host. Where there is none, a new context counts as a frame that
/// does not fit.
#[test]
fn a_new_context_at_the_end_of_the_stack_overflows_it() -> Outcome {
    let wat = r#"(module
        (global $depth (export "depth") (mut i32) (i32.const 0))
        (func $late (param i32) (result i32) (local.get 0))
        (func $deep (param $n i32) (param $at i32) (result i32)
            (global.set $depth (local.get $n))
            (if (i32.eq (local.get $n) (local.get $at)) (then (drop (call $late (i32.const 0)))))
            (i32.add (call $deep (i32.add (local.get $n) (i32.const 1)) (local.get $at)) (i32.const 1)))
        (func $run (export "run") (param $at i32) (result i32)
            (drop (call $late (i32.const 0)))
            (call $deep (i32.const 0) (local.get $at))))"#;
    let mut config = Config::new();
    config
        .strategy(Strategy::Optimized)
        .count_contexts(true)
        .profiling(ProfilingConfig::Exact(Collect::Edges));
    let engine = Engine::new(&config)?;
    let mut store = Store::new(&engine, ());
    let instance = Instance::new(&mut store, &Module::new(&engine, wat)?, &[])?;
    let mut depth = |at: i32| -> std::result::Result<i32, Box<dyn std::error::Error>> {
        let run = instance.get_typed_func::<i32, i32>(&mut store, "run")?;
        assert_eq!(run.call(&mut store, at).expect_err("it never ends").trap(), Some(Trap::StackOverflow));
        same_calls(&instance.profile(&store)?);
        let depth = instance.get_global(&mut store, "depth").expect("exported").get(&mut store);
        Ok(depth.i32().expect("an i32"))
    };
    let deepest = depth(-1)?;
    let near = deepest - 10;
    assert_eq!(depth(near)?, near, "the context is new");
    assert_eq!(depth(near)?, deepest, "the context is known");
    let tree = instance.profile(&store)?.contexts.expect("counted");
    let text = text(&tree);
    assert!(
        text.starts_with("run 3\n  0:late 3\n  1:deep ") && text.ends_with(" ^1:deep\n    0:late 2"),
        "{text}"
    );
    Ok(())
}

#[test]
fn the_host_may_look_while_the_program_runs() -> Outcome {
    let engine = Engine::new(Config::new().count_contexts(true))?;
    let mut linker = Linker::<Vec<String>>::new(&engine);
    linker.func_wrap("host", "log", |mut caller: Caller<'_, Vec<String>>, _: i32| -> Result<()> {
        let tree = caller.instance().expect("wasm").profile(&caller)?.contexts.expect("counted");
        caller.data_mut().push(text(&tree));
        Ok(())
    })?;
    let wat = r#"(module (import "host" "log" (func $log (param i32)))
        (func $run (export "run") (call $log (i32.const 0)) (call $log (i32.const 0))))"#;
    let mut store = Store::new(&engine, Vec::new());
    let instance = linker.instantiate(&mut store, &Module::new(&engine, wat)?)?;
    instance.get_typed_func::<(), ()>(&mut store, "run")?.call(&mut store, ())?;
    let first = "run 1\n  0:host::log 1";
    assert_eq!(store.data()[..], [first.to_string(), format!("{first}\n  1:host::log 1")]);
    Ok(())
}

/// Returns the number of frames that ended in each call record, in order; checks that they add up to those of the
/// functions.
fn stopped(profile: &Profile) -> Vec<u64> {
    let tree = profile.contexts.as_ref().expect("counted");
    let in_record = |record: &CallRecord| record.unfinished.iter().map(|path| path.exit.count).sum();
    let stopped: Vec<u64> = tree.records.iter().map(in_record).collect();
    let exits = profile.functions.iter().flat_map(|function| &function.exits);
    assert_eq!(stopped.iter().sum::<u64>(), exits.map(|exit| exit.count).sum::<u64>());
    stopped
}

#[test]
fn frames_that_stop_are_on_a_path_in_their_context() -> Outcome {
    let wat = r#"(module
        (memory 1)
        (func $leaf (param i32) (result i32) (i32.load (local.get 0)))
        (func $odd (param i32) (result i32) (call $leaf (local.get 0)))
        (func $even (param $at i32) (result i32) (loop (result i32)
            (drop (call $leaf (local.get $at)))
            (br 0 (local.set $at (i32.mul (local.get $at) (i32.const 2))))))
        (func $deep (param i32) (result i32) (i32.add (call $deep (local.get 0)) (i32.const 1)))
        (func $run (export "run") (param i32) (result i32)
            (if (i32.eqz (local.get 0)) (then (return (call $deep (i32.const 0)))))
            (if (i32.and (local.get 0) (i32.const 1)) (then (return (call $odd (i32.const -1)))))
            (call $even (local.get 0))))"#;
    for strategy in [Strategy::Optimized, Strategy::Baseline, Strategy::Tiered] {
        let mut config = Config::new();
        config.strategy(strategy).background_compilation(false).promote_after(2);
        config.count_contexts(true).flow_contexts(true).profiling(ProfilingConfig::Exact(Collect::Paths));
        let engine = Engine::new(&config)?;
        let mut store = Store::new(&engine, ());
        let instance = Instance::new(&mut store, &Module::new(&engine, wat)?, &[])?;
        let run = instance.get_typed_func::<i32, i32>(&mut store, "run")?;
        for at in [3, 1, 2] {
            let error = run.call(&mut store, at).expect_err("beyond the memory");
            assert_eq!(error.trap(), Some(Trap::MemoryOutOfBounds));
        }
        let profile = instance.profile(&store)?;
        let tree = profile.contexts.as_ref().expect("counted");
        assert_eq!(text(tree), "run 3\n  1:odd 2\n    0:leaf 2\n  2:even 1\n    0:leaf 16");
        assert_eq!(stopped(&profile), [0, 3, 2, 2, 1, 1]);
        // The loop stopped in an iteration that began with a back edge.
        let (odd, even) = (&tree.records[2].unfinished, &tree.records[4].unfinished);
        assert_eq!((odd.len(), odd[0].exit.count, odd[0].prefix), (1, 2, 0));
        assert!(even[0].prefix > 0);
        assert_eq!(Profile::from_bytes(&profile.to_bytes()?)?, profile);
        let mut both = profile.clone();
        both.merge(&profile)?;
        assert_eq!(stopped(&both), [0, 6, 4, 4, 2, 2]);
        assert_eq!(run.call(&mut store, 0).expect_err("it never ends").trap(), Some(Trap::StackOverflow));
        let all = stopped(&instance.profile(&store)?);
        assert!(all.contains(&4) && all.iter().any(|count| *count > 1000), "{all:?}");
    }
    Ok(())
}
