//! Engines in a process that owns its signals: nothing faults, no handler is installed, and all else is the same.
//!
//! All engines here are such, and a fault of wasm code would end this program.

use std::error::Error as StdError;
use std::time::{Duration, Instant};

use wprof::profiler::BurstLengths;
use wprof::*;

type Outcome = std::result::Result<(), Box<dyn StdError>>;

fn config() -> Config {
    let mut config = Config::new();
    // Frames of a stack overflow are looked at one by one.
    config.signals_based_traps(false).interruptible(true).max_wasm_stack(Some(2 << 20));
    config
}

/// Returns engines of each tier and with each kind of profile that there is without signals.
fn engines() -> Result<Vec<Engine>> {
    let mut all = Vec::new();
    for strategy in [Strategy::Tiered, Strategy::Optimized, Strategy::Baseline] {
        all.push(Engine::new(config().strategy(strategy).promote_after(1))?);
        all.push(Engine::new(config().strategy(strategy).spectre_guards(false).passes(PassSet::none()))?);
    }
    for collect in [Collect::Edges, Collect::Paths, Collect::Blocks] {
        let profiling = ProfilingConfig::Exact(collect);
        all.push(Engine::new(config().profiling(profiling).count_contexts(true).promote_after(1))?);
    }
    let kinds = BUILT_IN_EVENTS.iter().filter_map(|name| EventModel::built_in(name));
    all.push(Engine::new(config().count_events(kinds).promote_after(1))?);
    for (checking, instrumented) in [(BurstLengths::FOREVER, 1), (1, BurstLengths::FOREVER), (3, 5)] {
        let lengths = BurstLengths::new(checking, instrumented);
        let profiling = ProfilingConfig::Adaptive(Adaptive { lengths, ..Adaptive::default() });
        all.push(Engine::new(config().profiling(profiling).promote_after(1))?);
    }
    let mut conservative = Config::conservative();
    all.push(Engine::new(conservative.signals_based_traps(false).interruptible(true))?);
    let verified = |strategy| Engine::new(config().strategy(strategy).promote_after(1).verify(true));
    all.push(verified(Strategy::Tiered)?);
    Ok(all)
}

/// Returns the handlers of the signals that engines use otherwise.
fn handlers() -> Vec<usize> {
    let mut signals = vec![libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGFPE, libc::SIGURG];
    signals.extend(libc::SIGRTMIN()..=libc::SIGRTMAX());
    let handler = |signal| {
        let mut action = std::mem::MaybeUninit::<libc::sigaction>::zeroed();
        // SAFETY: the call fills the structure.
        unsafe {
            libc::sigaction(signal, std::ptr::null(), action.as_mut_ptr());
            action.assume_init().sa_sigaction
        }
    };
    signals.into_iter().map(handler).collect()
}

const TRAPS: &str = r#"(module
    (type $void (func)) (type $pair (struct (field i32))) (type $row (array (mut i32)))
    (import "host" "fail" (func $fail))
    (memory $m 1) (memory $large i64 1) (table $t 4 funcref) (table $u 2 10 funcref)
    (elem (i32.const 0) func $other) (elem $e func $other) (data $d "abc") (tag $tag)
    (func $other (param i32))
    (func $id (param i32) (result i32) (local.get 0))
    (func (export "memory") (result i32) (i32.load offset=65533 (i32.const 0)))
    (func (export "far") (result i32) (i32.load offset=0xffffffff (i32.const -1)))
    (func (export "wraps") (result i64) (i64.load $large offset=0xfffffff8 (i64.const -1)))
    (func (export "store") (i64.store8 (call $id (i32.const 65536)) (i64.const 1)))
    (func (export "vector") (drop (v128.load (call $id (i32.const 65521)))))
    (func (export "fill") (memory.fill (i32.const 65535) (i32.const 0) (i32.const 2)))
    (func (export "init") (memory.init $d (i32.const 0) (i32.const 2) (i32.const 2)))
    (func (export "unaligned") (drop (i32.atomic.load (call $id (i32.const 2)))))
    (func (export "table") (drop (table.get $t (call $id (i32.const 4)))))
    (func (export "set") (table.set $u (call $id (i32.const 2)) (ref.null func)))
    (func (export "undefined") (call_indirect $t (type $void) (call $id (i32.const 9))))
    (func (export "null") (call_indirect $t (type $void) (call $id (i32.const 1))))
    (func (export "signature") (call_indirect $t (type $void) (call $id (i32.const 0))))
    (func (export "reference") (call_ref $void (ref.null $void)))
    (func (export "field") (drop (struct.get $pair 0 (ref.null $pair))))
    (func (export "cast") (drop (ref.cast (ref $pair) (ref.i31 (i32.const 1)))))
    (func (export "element") (drop (array.get $row (array.new $row (i32.const 1) (i32.const 2)) (i32.const 2))))
    (func (export "overflow") (drop (i32.div_s (call $id (i32.const 0x80000000)) (call $id (i32.const -1)))))
    (func (export "long") (drop (i64.div_s (i64.const 0x8000000000000000)
        (i64.extend_i32_s (call $id (i32.const -1))))))
    (func (export "zero") (drop (i64.rem_u (i64.const 1) (i64.extend_i32_s (call $id (i32.const 0))))))
    (func (export "nan") (drop (i32.trunc_f32_s (f32.const nan))))
    (func (export "large") (drop (i32.trunc_f64_u (f64.const 1e10))))
    (func (export "small") (drop (i32.trunc_f64_s (f64.const -2147483649))))
    (func (export "negative") (drop (i64.trunc_f32_u (f32.const -1))))
    (func (export "unreachable") unreachable)
    (func (export "host") (call $fail))
    (func (export "thrown") (throw $tag))
    (func $deep (export "stack") (call $deep))
    (func (export "fine") (result i32)
        (i32.add (i32.trunc_f64_s (f64.const -2147483648.9)) (i32.rem_s (call $id (i32.const 0x80000000))
            (call $id (i32.const -1))))))"#;

const EXPECTED: [(&str, Option<Trap>); 32] = [
    ("memory", Some(Trap::MemoryOutOfBounds)),
    ("far", Some(Trap::MemoryOutOfBounds)),
    ("wraps", Some(Trap::MemoryOutOfBounds)),
    ("store", Some(Trap::MemoryOutOfBounds)),
    ("vector", Some(Trap::MemoryOutOfBounds)),
    ("fill", Some(Trap::MemoryOutOfBounds)),
    ("init", Some(Trap::MemoryOutOfBounds)),
    ("unaligned", Some(Trap::UnalignedAtomic)),
    ("table", Some(Trap::TableOutOfBounds)),
    ("set", Some(Trap::TableOutOfBounds)),
    ("undefined", Some(Trap::TableOutOfBounds)),
    ("null", Some(Trap::IndirectCallToNull)),
    ("signature", Some(Trap::BadSignature)),
    ("reference", Some(Trap::NullReference)),
    ("field", Some(Trap::NullReference)),
    ("cast", Some(Trap::CastFailure)),
    ("element", Some(Trap::ArrayOutOfBounds)),
    ("overflow", Some(Trap::IntegerOverflow)),
    ("long", Some(Trap::IntegerOverflow)),
    ("zero", Some(Trap::IntegerDivisionByZero)),
    ("nan", Some(Trap::BadConversionToInteger)),
    ("large", Some(Trap::IntegerOverflow)),
    ("small", Some(Trap::IntegerOverflow)),
    ("negative", Some(Trap::IntegerOverflow)),
    ("unreachable", Some(Trap::UnreachableCodeReached)),
    ("host", None),
    ("thrown", None),
    ("stack", Some(Trap::StackOverflow)),
    ("memory", Some(Trap::MemoryOutOfBounds)),
    ("null", Some(Trap::IndirectCallToNull)),
    ("host", None),
    ("zero", Some(Trap::IntegerDivisionByZero)),
];

#[test]
fn each_trap_is_reported_and_no_handler_is_installed() -> Outcome {
    let before = handlers();
    for engine in engines()? {
        let mut linker = Linker::new(&engine);
        linker.func_wrap("host", "fail", || -> Result<()> { Err(Exit(7).into()) })?;
        let mut store = Store::new(&engine, ());
        let instance = linker.instantiate(&mut store, &Module::new(&engine, TRAPS)?)?;
        for (round, (name, trap)) in (0..2).flat_map(|round| EXPECTED.map(|one| (round, one))) {
            let what = format!("{name} in round {round} with {:?}", engine.config());
            let run = instance.get_func(&mut store, name).ok_or("exported")?;
            let mut results = vec![Val::I32(0); run.ty(&store).results().len()];
            let error = run.call(&mut store, &[], &mut results).expect_err(&what);
            assert_eq!(error.trap(), trap, "{what}: {error:?}");
            assert_eq!(error.i32_exit(), (name == "host").then_some(7), "{what}");
            let frames = error.backtrace().map_or(0, |backtrace| backtrace.frames().len());
            assert!(frames >= if name == "stack" { 2 } else { 1 }, "{what}: {frames} frames");
        }
        let fine = instance.get_typed_func::<(), i32>(&mut store, "fine")?;
        assert_eq!(fine.call(&mut store, ())?, i32::MIN);
    }
    assert_eq!(handlers(), before);
    Ok(())
}

const LOOP: &str = r#"(module
    (func $step (param i64) (result i64) (i64.add (local.get 0) (i64.const 1)))
    (func (export "run") (param $n i64) (result i64) (local $i i64)
        (loop $again
            (br_if $again (i64.lt_u (local.tee $i (call $step (local.get $i))) (local.get $n))))
        (local.get $i)))"#;

#[test]
fn deadlines_and_interruptions_stop_programs() -> Outcome {
    let before = handlers();
    for engine in engines()? {
        let mut store = Store::new(&engine, 0);
        store.deadline_callback(|asked| {
            *asked += 1;
            Ok(if *asked == 3 { UpdateDeadline::Interrupt } else { UpdateDeadline::Continue(Duration::ZERO) })
        });
        let instance = Instance::new(&mut store, &Module::new(&engine, LOOP)?, &[])?;
        let run = instance.get_typed_func::<i64, i64>(&mut store, "run")?;
        store.set_deadline(Some(Instant::now() + Duration::from_millis(1)))?;
        let error = run.call(&mut store, i64::MAX).expect_err("it does not end by itself");
        assert_eq!((error.trap(), *store.data()), (Some(Trap::Deadline), 3), "{:?}", engine.config());
        assert!(error.backtrace().is_some_and(|backtrace| !backtrace.frames().is_empty()));
        let handle = store.interrupt_handle();
        let other = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(2));
            handle.interrupt();
        });
        let error = run.call(&mut store, i64::MAX).expect_err("it does not end by itself");
        assert_eq!(error.trap(), Some(Trap::Interrupt), "{:?}", engine.config());
        other.join().map_err(|_| "no panic")?;
        assert_eq!(run.call(&mut store, 1000)?, 1000, "it is over");
    }
    assert_eq!(handlers(), before);
    Ok(())
}

/// A program that is stopped anywhere has counted what it executed.
#[test]
fn exact_profiles_agree_where_programs_trap() -> Outcome {
    let text = r#"(module (memory 1)
        (func $div (param i32 i32) (result i32) (i32.div_u (local.get 0) (local.get 1)))
        (func (export "run") (param $n i32) (result i32) (local $i i32) (local $sum i32)
            (loop $again
                (local.set $sum (i32.add (local.get $sum) (call $div (i32.const 100)
                    (i32.sub (i32.const 50) (local.get $i)))))
                (i32.store (i32.mul (local.get $i) (i32.const 2000)) (local.get $sum))
                (br_if $again (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1)))
                    (local.get $n))))
            (local.get $sum)))"#;
    let counts = |collect| -> std::result::Result<_, Box<dyn StdError>> {
        let mut config = Config::new();
        let config = config.profiling(ProfilingConfig::Exact(collect)).promote_after(3);
        let engine = Engine::new(config.background_compilation(false).signals_based_traps(false))?;
        let mut store = Store::new(&engine, ());
        let instance = Instance::new(&mut store, &Module::new(&engine, text)?, &[])?;
        let run = instance.get_typed_func::<i32, i32>(&mut store, "run")?;
        let ends: Vec<_> = [10, 40, 60, 20].map(|n| run.call(&mut store, n).map_err(|e| e.trap())).to_vec();
        let profile = instance.profile(&store)?;
        let all: Vec<_> = profile.functions.iter().map(|f| (f.index, f.calls(), f.ops())).collect();
        Ok((ends, all))
    };
    let simple = counts(Collect::AllEdges)?;
    let traps = [Trap::MemoryOutOfBounds, Trap::MemoryOutOfBounds].map(|trap| Err(Some(trap)));
    assert_eq!(simple.0[1..3], traps);
    for collect in [Collect::Edges, Collect::Paths, Collect::Blocks] {
        assert_eq!(counts(collect)?, simple, "{collect:?}");
    }
    Ok(())
}

#[test]
fn what_needs_signals_is_refused() -> Outcome {
    let refused = [
        ("traces", config().trace(Tracing::Best).clone()),
        ("fuel", config().consume_fuel(true).clone()),
        ("samples of time", config().sample_time(Some(1000)).clone()),
    ];
    for (what, config) in refused {
        let error = Engine::new(&config).expect_err(what).to_string();
        assert!(error.contains(what) && error.contains("signals_based_traps"), "{error}");
    }
    Ok(())
}

/// A frame that might reach beyond the guard page below the stack is not entered.
#[test]
fn functions_with_large_frames_are_refused() -> Outcome {
    let locals = "(local v128)".repeat(9000);
    let set: String = (0..9000).map(|i| format!("(local.set {i} (i8x16.splat (local.get $x)))")).collect();
    let get: String = (0..9000).map(|i| format!("(v128.xor (local.get {i}))")).collect();
    let text = format!(
        r#"(module (func $f (param i32)) (func (export "f") (result i64) {locals} (local $x i32) {set}
            (call $f (local.get $x)) (v128.const i64x2 0 0) {get} (i64x2.extract_lane 0)))"#
    );
    let engine = Engine::new(config().strategy(Strategy::Baseline))?;
    let mut store = Store::new(&engine, ());
    let instance = Instance::new(&mut store, &Module::new(&engine, &text)?, &[])?;
    let f = instance.get_typed_func::<(), i64>(&mut store, "f")?;
    let error = f.call(&mut store, ()).expect_err("its frame is too large").to_string();
    assert!(error.contains("a frame of"), "{error}");
    Ok(())
}
