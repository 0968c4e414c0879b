//! Traps of each kind, their backtraces, and the exit from them anywhere.

use wprof::*;

type Outcome = std::result::Result<(), Box<dyn std::error::Error>>;

/// Creates a store whose instance imports `host.f`.
fn with_host<R: WasmRet + 'static>(
    wat: &str,
    host: impl Fn(Caller<'_, ()>) -> R + Send + Sync + 'static,
) -> Result<(Store<()>, Instance)> {
    let engine = Engine::default();
    let module = Module::new(&engine, wat)?;
    let mut linker = Linker::new(&engine);
    linker.func_wrap("host", "f", host)?;
    let mut store = Store::new(&engine, ());
    let instance = linker.instantiate(&mut store, &module)?;
    Ok((store, instance))
}

fn call(store: &mut Store<()>, instance: Instance, name: &str) -> Result<()> {
    let func = instance.get_func(&mut *store, name).expect("exported");
    let mut results = vec![Val::I32(0); func.ty(&*store).results().len()];
    func.call(store, &[], &mut results)
}

fn names(error: &Error) -> Vec<String> {
    let frames = error.backtrace().expect("wasm errors have a backtrace").frames();
    frames.iter().map(|f| f.func_name().unwrap_or("?").to_string()).collect()
}

const ALL_TRAPS: &str = r#"(module
    (memory 1) (table $t 4 funcref) (elem (i32.const 0) func $other) (elem $e func $other)
    (type $void (func)) (data $d "abc")
    (func $other (param i32))
    (func (export "memory") (result i32) (i32.load offset=65533 (i32.const 0)))
    (func (export "memory far") (result i32) (i32.load offset=0xffffffff (i32.const -1)))
    (func (export "fill") (memory.fill (i32.const 65535) (i32.const 0) (i32.const 2)))
    (func (export "init") (memory.init $d (i32.const 0) (i32.const 2) (i32.const 2)))
    (func (export "table") (result funcref) (table.get $t (i32.const 4)))
    (func (export "table init") (table.init $t $e (i32.const 4) (i32.const 0) (i32.const 1)))
    (func (export "undefined") (call_indirect $t (type $void) (i32.const 9)))
    (func (export "null") (call_indirect $t (type $void) (i32.const 1)))
    (func (export "signature") (call_indirect $t (type $void) (i32.const 0)))
    (func (export "overflow") (result i32) (i32.div_s (i32.const 0x80000000) (i32.const -1)))
    (func (export "zero") (result i64) (i64.rem_u (i64.const 1) (i64.const 0)))
    (func (export "nan") (result i32) (i32.trunc_f32_s (f32.const nan)))
    (func (export "large") (result i32) (i32.trunc_f64_u (f64.const 1e10)))
    (func (export "unreachable") unreachable)
    (func $deep (export "stack") (call $deep)))"#;

#[test]
fn each_kind_of_trap_is_reported_and_the_store_goes_on() -> Outcome {
    let engine = Engine::default();
    let module = Module::new(&engine, ALL_TRAPS)?;
    let mut store = Store::new(&engine, ());
    let instance = Instance::new(&mut store, &module, &[])?;
    let expected = [
        ("memory", Trap::MemoryOutOfBounds),
        ("memory far", Trap::MemoryOutOfBounds),
        ("fill", Trap::MemoryOutOfBounds),
        ("init", Trap::MemoryOutOfBounds),
        ("table", Trap::TableOutOfBounds),
        ("table init", Trap::TableOutOfBounds),
        ("undefined", Trap::TableOutOfBounds),
        ("null", Trap::IndirectCallToNull),
        ("signature", Trap::BadSignature),
        ("overflow", Trap::IntegerOverflow),
        ("zero", Trap::IntegerDivisionByZero),
        ("nan", Trap::BadConversionToInteger),
        ("large", Trap::IntegerOverflow),
        ("unreachable", Trap::UnreachableCodeReached),
        ("stack", Trap::StackOverflow),
    ];
    for _ in 0..3 {
        for (name, trap) in expected {
            let error = call(&mut store, instance, name).expect_err(name);
            assert_eq!(error.trap(), Some(trap), "{name}: {error:?}");
            let expected = if name == "stack" { "deep" } else { name };
            assert_eq!(names(&error)[0], expected, "{error:?}");
        }
    }
    Ok(())
}

#[test]
fn a_backtrace_names_functions_and_offsets() -> Outcome {
    let engine = Engine::default();
    let module = Module::new(
        &engine,
        r#"(module $m (func $inner (drop (i32.const 7)) unreachable)
            (func $middle (call $inner)) (func $outer (export "run") (call $middle) (call $middle)))"#,
    )?;
    let mut store = Store::new(&engine, ());
    let instance = Instance::new(&mut store, &module, &[])?;
    let error = call(&mut store, instance, "run").expect_err("unreachable");
    assert_eq!(names(&error), ["inner", "middle", "outer"]);
    let frames = error.backtrace().expect("present").frames();
    assert_eq!(frames[0].module().name(), Some("m"));
    // The body begins with the number of locals; then i32.const, 7, drop.
    assert_eq!(frames[0].func_offset(), 4);
    assert_eq!(module.info().bytes[frames[0].module_offset()], 0, "the opcode of unreachable");
    assert_eq!(module.info().bytes[frames[2].module_offset()], 0x10, "the opcode of call");
    assert_eq!(frames[2].func_offset(), 1, "the first call");
    let text = format!("{error:?}");
    assert!(text.contains("wasm trap: wasm `unreachable` instruction executed\nwasm backtrace:"), "{text}");
    assert!(text.contains("- m!inner"), "{text}");
    Ok(())
}

#[derive(Debug, thiserror::Error, PartialEq)]
#[error("number {0}")]
struct Mine(u32);

#[test]
fn a_host_error_comes_back_as_it_was() -> Outcome {
    let (mut store, instance) = with_host(
        r#"(module (import "host" "f" (func $f)) (func $run (export "run") (call $f)))"#,
        |_| -> Result<()> { Err(Mine(7))? },
    )?;
    let error = call(&mut store, instance, "run").expect_err("host error");
    assert_eq!(error.kind(), ErrorKind::Host);
    assert_eq!(error.downcast_ref::<Mine>(), Some(&Mine(7)));
    assert_eq!(names(&error), ["run"]);
    assert_eq!(error.downcast::<Mine>().ok(), Some(Mine(7)));
    Ok(())
}

const NEST: &str = r#"(module (import "host" "f" (func $f)) (func $run (export "run") (call $f))
    (func $end (export "end") unreachable))"#;

#[test]
fn a_trap_passes_through_nested_host_frames_with_all_wasm_frames() -> Outcome {
    let (mut store, instance) = with_host(NEST, |mut caller| -> Result<()> {
        let end = caller.get_export("end").and_then(Extern::into_func).expect("exported");
        end.call(&mut caller, &[], &mut [])
    })?;
    for _ in 0..100 {
        let error = call(&mut store, instance, "run").expect_err("unreachable");
        assert_eq!(error.trap(), Some(Trap::UnreachableCodeReached));
        assert_eq!(names(&error), ["end", "run"]);
    }
    Ok(())
}

#[test]
fn a_host_function_may_survive_an_inner_trap() -> Outcome {
    let (mut store, instance) = with_host(NEST, |mut caller| {
        let end = caller.get_export("end").and_then(Extern::into_func).expect("exported");
        assert!(end.call(&mut caller, &[], &mut []).is_err());
        let here: Vec<_> = caller.backtrace().frames().iter().map(|f| f.func_index()).collect();
        assert_eq!(here, [1], "frames below are still known after the inner trap");
    })?;
    call(&mut store, instance, "run")?;
    Ok(())
}

#[test]
fn a_panic_in_a_host_function_crosses_wasm_and_the_store_stays_usable() -> Outcome {
    let (mut store, instance) = with_host(NEST, |_| -> Result<()> { panic!("from the host") })?;
    for _ in 0..10 {
        let caught =
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| call(&mut store, instance, "run")));
        let payload = caught.expect_err("panic");
        assert_eq!(payload.downcast_ref::<&str>(), Some(&"from the host"));
    }
    assert_eq!(
        call(&mut store, instance, "end").expect_err("trap").trap(),
        Some(Trap::UnreachableCodeReached)
    );
    Ok(())
}

#[test]
fn unlimited_recursion_through_the_host_is_a_stack_overflow() -> Outcome {
    let (mut store, instance) = with_host(NEST, |mut caller| -> Result<()> {
        let run = caller.get_export("run").and_then(Extern::into_func).expect("exported");
        run.call(&mut caller, &[], &mut [])
    })?;
    for _ in 0..5 {
        assert_eq!(
            call(&mut store, instance, "run").expect_err("overflow").trap(),
            Some(Trap::StackOverflow)
        );
    }
    Ok(())
}

#[test]
fn large_frames_cannot_jump_over_the_guard_page() -> Outcome {
    let locals = "(local i64)".repeat(2_000);
    let uses: String =
        (0..2_000).map(|i| format!("(local.set {i} (i64.add (local.get {i}) (call $f)))")).collect();
    let sum: String =
        (0..2_000).map(|i| format!("(global.set $g (i64.add (global.get $g) (local.get {i})))")).collect();
    let wat = format!(
        "(module (global $g (mut i64) (i64.const 0)) (func $f (export \"run\") (result i64) {locals} {uses} {sum} (global.get $g)))"
    );
    let engine = Engine::default();
    let module = Module::new(&engine, wat)?;
    let mut store = Store::new(&engine, ());
    let instance = Instance::new(&mut store, &module, &[])?;
    assert_eq!(call(&mut store, instance, "run").expect_err("overflow").trap(), Some(Trap::StackOverflow));
    Ok(())
}

#[test]
fn a_start_function_and_a_segment_can_trap() -> Outcome {
    let engine = Engine::default();
    let mut store = Store::new(&engine, ());
    let module = Module::new(&engine, "(module (func $s unreachable) (start $s))")?;
    let error = Instance::new(&mut store, &module, &[]).expect_err("start traps");
    assert_eq!(error.trap(), Some(Trap::UnreachableCodeReached));
    let memory = Memory::new(&mut store, MemoryType::new(1, None))?;
    let module = Module::new(
        &engine,
        r#"(module (import "m" "m" (memory 1)) (data (i32.const 0) "kept") (data (i32.const 65535) "no"))"#,
    )?;
    let error = Instance::new(&mut store, &module, &[memory.into()]).expect_err("segment does not fit");
    assert_eq!(error.trap(), Some(Trap::MemoryOutOfBounds));
    assert_eq!(&memory.data(&store)[..4], b"kept");
    Ok(())
}

#[test]
fn foreign_signals_reach_the_previous_handler() -> Outcome {
    const ROLE: &str = "WPROF_TEST_FOREIGN_SIGNAL";
    match std::env::var(ROLE).as_deref() {
        Ok("handled") => {
            // A handler that was installed before the engine existed must see a foreign fault.
            unsafe extern "C" fn exit(_: i32) {
                // SAFETY: `_exit` is async-signal-safe.
                unsafe { libc::_exit(42) }
            }
            // SAFETY: the handler has the right signature.
            unsafe { libc::signal(libc::SIGSEGV, exit as *const () as usize) };
            let (mut store, instance) = with_host(NEST, |_| {
                // SAFETY: none: this is a deliberate fault, in host code called from wasm.
                unsafe { std::ptr::without_provenance_mut::<u8>(8).write_volatile(1) }
            })?;
            call(&mut store, instance, "run")?;
        }
        Ok("default") => {
            // SAFETY: the call restores the default handler, as in a program without Rust's own handler.
            unsafe { libc::signal(libc::SIGSEGV, libc::SIG_DFL) };
            let _engine = Engine::default();
            // SAFETY: the call sends a signal to this thread.
            unsafe { libc::raise(libc::SIGSEGV) };
        }
        _ => {
            use std::os::unix::process::ExitStatusExt;
            let run = |role| {
                std::process::Command::new(std::env::current_exe()?)
                    .args(["foreign_signals_reach_the_previous_handler", "--exact", "--test-threads=1"])
                    .env(ROLE, role)
                    .output()
            };
            assert_eq!(run("handled")?.status.code(), Some(42));
            assert_eq!(run("default")?.status.signal(), Some(libc::SIGSEGV));
        }
    }
    Ok(())
}

/// Each export traps where an optimiser tends to merge several instructions.
const MERGED: &str = r#"(module
    (memory 1) (global $g (mut i32) (i32.const 0))
    (func (export "branch") (param i32) (result i32)
        (if (i32.gt_u (local.get 0) (i32.const 7)) (then (nop) (unreachable)))
        (i32.const 1))
    (func (export "far branch") (param i32) (result i32)
        (block $bad (block $worse
            (br_if $bad (i32.eq (local.get 0) (i32.const 1)))
            (br_if $worse (i32.eq (local.get 0) (i32.const 0x7fffffff)))
            (return (i32.const 1)))
            (unreachable))
        (unreachable))
    (func (export "switch") (param i32) (result i32)
        (block $a (block $b (br_table $a $b (i32.and (local.get 0) (i32.const 1)))) (unreachable))
        (unreachable))
    (func (export "load") (param i32) (result i32)
        (local $loaded i32)
        (local.set $loaded (i32.load offset=2 (local.get 0)))
        (i32.or (i32.mul (local.get 0) (i32.const 3)) (local.get $loaded)))
    (func (export "compared load") (param i32) (result i32)
        (local $loaded i32)
        (local.set $loaded (i32.load8_u (local.get 0)))
        (global.set $g (i32.add (global.get $g) (i32.const 1)))
        (if (i32.eq (local.get $loaded) (i32.const 5)) (then (return (i32.const 2))))
        (i32.const 1))
    (func (export "two stores") (param i32) (result i32)
        (i32.store (local.get 0) (i32.const 1))
        (i32.store (local.get 0) (i32.const 2))
        (i32.const 1))
    (func (export "two loads") (param i32) (result i32)
        (i32.add (i32.load (local.get 0)) (i32.load offset=8 (local.get 0))))
    (func (export "division") (param i32) (result i32)
        (i32.add (i32.div_u (i32.const 100) (i32.and (local.get 0) (i32.const 0x80)))
            (i32.rem_u (i32.const 100) (i32.and (local.get 0) (i32.const 0x80)))))
    (func $callee (param i32) (result i32)
        (if (i32.eq (local.get 0) (i32.const 0x7fffffff)) (then (unreachable)))
        (i32.load offset=4 (local.get 0)))
    (func (export "call") (param i32) (result i32)
        (i32.add (call $callee (i32.const 16)) (call $callee (local.get 0)))))"#;

/// Returns the reason and the places of a trap, frame by frame.
fn places(
    store: &mut Store<()>,
    instance: Instance,
    name: &str,
    argument: i32,
) -> Option<(Trap, Vec<usize>)> {
    let func = instance.get_typed_func::<i32, i32>(&mut *store, name).expect("of this type");
    let error = func.call(store, argument).err()?;
    let frames = error.backtrace().expect("of wasm code").frames();
    Some((error.trap().expect("a trap"), frames.iter().map(FrameInfo::module_offset).collect()))
}

#[test]
fn a_trap_is_at_the_same_place_however_code_was_compiled() -> Outcome {
    let mut expected = None;
    for profiling in [
        ProfilingConfig::Off,
        ProfilingConfig::Exact(Collect::Edges),
        ProfilingConfig::Adaptive(Adaptive::default()),
    ] {
        for strategy in [Strategy::Baseline, Strategy::Optimized, Strategy::Tiered] {
            let mut config = Config::new();
            config.profiling(profiling).strategy(strategy).background_compilation(false).promote_after(2);
            let engine = Engine::new(&config)?;
            let module = Module::new(&engine, MERGED)?;
            let mut store = Store::new(&engine, ());
            let instance = Instance::new(&mut store, &module, &[])?;
            let mut seen = Vec::new();
            for export in module.exports() {
                for argument in [1, 1, 1, 1, 128, -1, i32::MAX, 65535, 0] {
                    seen.push((
                        export.name().to_owned(),
                        places(&mut store, instance, export.name(), argument),
                    ));
                }
            }
            assert!(seen.iter().filter(|(_, places)| places.is_some()).count() > 20);
            let expected = expected.get_or_insert_with(|| seen.clone());
            for (seen, expected) in seen.iter().zip(expected.iter()) {
                assert_eq!(seen, expected, "{profiling:?} {strategy:?}, baseline second");
            }
        }
    }
    Ok(())
}

/// Wasm and the host call each other, directly, through a table and in the middle of more calls, in code of each tier.
#[test]
fn a_long_backtrace_has_all_its_frames_in_all_code() -> Outcome {
    let wat = r#"(module
        (type $unary (func (param i32) (result i32)))
        (import "host" "f" (func $host (type $unary)))
        (table funcref (elem $host $inner))
        (func $inner (type $unary)
            (if (result i32) (i32.eqz (local.get 0))
                (then (i32.div_s (i32.const 1) (local.get 0)))
                (else (i32.add (i32.const 1) (call_indirect (type $unary)
                    (i32.sub (local.get 0) (i32.const 1)) (i32.const 0))))))
        (func $outer (export "run") (type $unary)
            (i32.add (i32.const 1) (call_indirect (type $unary) (local.get 0) (i32.const 1)))))"#;
    let lengths = profiler::BurstLengths::new(7, 5);
    let burst = || ProfilingConfig::Adaptive(Adaptive { lengths, ..Adaptive::default() });
    let mut found_frames = Vec::new();
    for strategy in [Strategy::Baseline, Strategy::Optimized, Strategy::Tiered] {
        for profiling in [ProfilingConfig::Off, burst()] {
            for depth in [None, Some(1 << 20)] {
                let mut config = Config::new();
                config.strategy(strategy).profiling(profiling).max_call_depth(depth);
                config.promote_after(2).reoptimization(Some(Policy::eager()));
                let engine = Engine::new(&config)?;
                let module = Module::new(&engine, wat)?;
                let mut linker = Linker::new(&engine);
                linker.func_wrap("host", "f", |mut caller: Caller<'_, ()>, n: i32| -> Result<i32> {
                    let instance = caller.instance().expect("wasm calls it");
                    instance.get_typed_func::<i32, i32>(&mut caller, "run")?.call(&mut caller, n)
                })?;
                let mut store = Store::new(&engine, ());
                let run =
                    linker.instantiate(&mut store, &module)?.get_typed_func::<i32, i32>(&mut store, "run")?;
                for n in [10, 30, 31, 80, 80, 80] {
                    let error = run.call(&mut store, n).expect_err("it divides by zero");
                    let found = names(&error);
                    let all = (0..2 * (n as usize + 1)).map(|at| ["inner", "outer"][at % 2]);
                    assert_eq!(found, all.take(64).collect::<Vec<_>>(), "{strategy:?} {n}");
                    found_frames.push(found.len());
                }
            }
        }
    }
    assert_eq!(found_frames.iter().filter(|&&len| len == 64).count(), 12 * 4);
    Ok(())
}
