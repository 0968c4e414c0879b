//! Reoptimized functions behave the same, and what is reported about them is correct.

use std::sync::{Arc, Mutex};

use wprof::profiler::BurstLengths;
use wprof::*;

type Outcome = std::result::Result<(), Box<dyn std::error::Error>>;

/// `run(n, x)` calls `middle` n times, which calls `leaf`; `leaf` divides by x, calls the host, and loops x times.
const WAT: &str = r#"(module
    (import "host" "look" (func $look))
    (type $binary (func (param i32 i32) (result i32)))
    (table (export "table") 4 funcref)
    (elem (i32.const 0) $add $subtract)
    (func $add (param i32 i32) (result i32) (i32.add (local.get 0) (local.get 1)))
    (func $subtract (param i32 i32) (result i32) (i32.sub (local.get 0) (local.get 1)))
    (func $other (export "other") (result i32) (i32.const 1))
    (elem (i32.const 3) $other)
    (func $leaf (param $i i32) (param $x i32) (result i32) (local $sum i32)
        (if (i32.eq (local.get $i) (i32.const 7)) (then (call $look)))
        (loop $again
            (local.set $sum (i32.add (local.get $sum) (local.get $i)))
            (br_if $again (local.tee $i (i32.shr_u (local.get $i) (i32.const 1)))))
        (i32.add (local.get $sum) (i32.div_u (i32.const 1000) (local.get $x))))
    (func $middle (param $i i32) (param $x i32) (result i32)
        (i32.mul (call $leaf (local.get $i) (local.get $x)) (i32.const 3)))
    (func (export "run") (param $n i32) (param $x i32) (result i32) (local $sum i32)
        (loop $again
            (local.set $sum (i32.add (local.get $sum) (call $middle (local.get $n) (local.get $x))))
            (br_if $again (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
        (local.get $sum))
    (func (export "through") (param $n i32) (param $which i32) (result i32) (local $sum i32)
        (loop $again
            (local.set $sum (call_indirect (type $binary) (local.get $sum) (local.get $n) (local.get $which)))
            (br_if $again (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
        (local.get $sum))
    (memory 1)
    (func $touch (param $pages i32) (local $at i32)
        (loop $again
            (drop (i32.load (local.get $at)))
            (local.set $at (i32.add (local.get $at) (i32.const 4096)))
            (br_if $again (local.tee $pages (i32.sub (local.get $pages) (i32.const 1))))))
    (func (export "touches") (param $n i32) (param $last i32) (result i32)
        (loop $again
            (call $touch (select (i32.const 9) (local.get $last) (i32.gt_u (local.get $n) (i32.const 1))))
            (br_if $again (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
        (i32.const 0))
    (func $spin (param $n i32)
        (loop $again (br_if $again (local.tee $n (i32.sub (local.get $n) (i32.const 1))))))
    (func (export "spins") (param $n i32) (param $long i32) (result i32)
        (loop $again
            (call $spin (local.get $long))
            (br_if $again (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
        (i32.const 0))
)"#;

/// A configuration with checks everywhere and short bursts.
fn adaptive(lengths: BurstLengths) -> Config {
    let adaptive = Adaptive { lengths, ..Adaptive::default() };
    let mut config = Config::new();
    config.profiling(ProfilingConfig::Adaptive(adaptive)).reoptimization(Some(Policy::eager()));
    config.strategy(Strategy::Tiered).promote_after(2).background_compilation(false);
    config
}

const SHORT: BurstLengths = BurstLengths::new(3, 5);

struct Program {
    store: Store<()>,
    module: Module,
    instance: Instance,
    /// The frames that the host saw in its last call.
    seen: Arc<Mutex<Vec<(u32, usize)>>>,
}

fn places(trace: &WasmBacktrace) -> Vec<(u32, usize)> {
    trace.frames().iter().map(|frame| (frame.func_index(), frame.module_offset())).collect()
}

impl Program {
    fn new(config: &Config) -> Result<Program> {
        let engine = Engine::new(config)?;
        let (mut store, module) = (Store::new(&engine, ()), Module::new(&engine, WAT)?);
        let seen = Arc::new(Mutex::default());
        let mut linker = Linker::new(&engine);
        let to = seen.clone();
        linker.func_wrap("host", "look", move |caller: Caller<'_, ()>| {
            *to.lock().expect("no panic") = places(&WasmBacktrace::capture(&caller));
        })?;
        let instance = linker.instantiate(&mut store, &module)?;
        Ok(Program { store, module, instance, seen })
    }

    fn call(&mut self, name: &str, args: (i32, i32)) -> Result<i32> {
        self.instance.get_typed_func::<(i32, i32), i32>(&mut self.store, name)?.call(&mut self.store, args)
    }

    fn inlined(&self) -> Vec<u32> {
        let verdict = |decision: &Decision| match decision.verdict {
            Verdict::Inlined { callee, .. } => Some(callee),
            _ => None,
        };
        let all = self.module.reoptimizations();
        all.iter().flat_map(|done| &done.decisions).filter_map(verdict).collect()
    }
}

#[test]
fn backtraces_show_inlined_frames() -> Outcome {
    let (mut plain, mut better) = (Program::new(&Config::new())?, Program::new(&adaptive(SHORT))?);
    for round in 0..4 {
        assert_eq!(better.call("run", (500, 3))?, plain.call("run", (500, 3))?, "round {round}");
    }
    let (leaf, middle) = (4, 5);
    let inlined = better.inlined();
    assert!(inlined.contains(&leaf) && inlined.contains(&middle), "{inlined:?}");
    let seen = better.seen.lock().expect("no panic").clone();
    assert_eq!(seen, *plain.seen.lock().expect("no panic"));
    assert_eq!(seen.len(), 3);
    let traps =
        [&mut plain, &mut better].map(|program| program.call("run", (500, 0)).expect_err("it divides"));
    assert_eq!(traps[1].trap(), Some(Trap::IntegerDivisionByZero));
    let [expected, found] = traps.map(|error| error.backtrace().map(places));
    assert_eq!(found, expected);
    assert_eq!(found.map(|frames| frames.len()), Some(3));
    Ok(())
}

/// A burst begins or ends in the inlined loop, so that the frame continues in a version called by the enclosing
/// machine frame.
#[test]
fn backtraces_show_inlined_frames_once_that_have_left_for_another_version() -> Outcome {
    let expected = Program::new(&Config::new())?.call("touches", (1, 50)).expect_err("beyond the memory");
    let mut better = Program::new(&adaptive(BurstLengths::new(7, 23)))?;
    better.call("touches", (300, 9))?;
    assert!(better.inlined().contains(&8), "{:?}", better.module.reoptimizations());
    for calls in 1..60 {
        let found = better.call("touches", (calls, 50)).expect_err("beyond the memory");
        assert_eq!(found.backtrace().map(places), expected.backtrace().map(places), "after {calls} calls");
    }
    Ok(())
}

#[test]
fn a_wrong_guess_calls_what_the_table_holds() -> Outcome {
    let (mut plain, mut better) = (Program::new(&Config::new())?, Program::new(&adaptive(SHORT))?);
    for which in [0, 0, 0, 1, 0] {
        assert_eq!(better.call("through", (300, which))?, plain.call("through", (300, which))?);
    }
    assert!(better.inlined().contains(&1), "{:?}", better.module.reoptimizations());
    for (which, trap) in [(2, Trap::IndirectCallToNull), (3, Trap::BadSignature), (4, Trap::TableOutOfBounds)]
    {
        assert_eq!(better.call("through", (10, which)).expect_err("traps").trap(), Some(trap));
    }
    Ok(())
}

#[test]
fn an_inlined_loop_can_be_interrupted() -> Outcome {
    // Bursts of several iterations of the outer loop.
    let lengths = BurstLengths::new(7, 23);
    let mut program = Program::new(&adaptive(lengths))?;
    for _ in 0..3 {
        program.call("spins", (300, 5))?;
    }
    assert!(program.inlined().contains(&10), "{:?}", program.module.reoptimizations());
    for round in 0..20 {
        let handle = program.store.interrupt_handle();
        let interrupter = std::thread::spawn(move || {
            std::thread::sleep(std::time::Duration::from_micros(97 * round));
            handle.interrupt();
        });
        let error = program.call("spins", (i32::MAX, i32::MAX)).expect_err("it takes years");
        assert_eq!(error.trap(), Some(Trap::Interrupt), "{error}");
        interrupter.join().expect("it does not panic");
    }
    Ok(())
}

#[test]
fn an_earlier_profile_does_it_at_once_and_must_be_of_the_module() -> Outcome {
    let mut config = Config::new();
    let mut exact = Program::new(config.profiling(ProfilingConfig::Exact(Collect::Paths)))?;
    let expected = exact.call("run", (300, 3))?;
    let profile = Arc::new(exact.instance.profile(&exact.store)?);
    for profiling in [ProfilingConfig::Off, ProfilingConfig::Adaptive(Adaptive::default())] {
        let mut config = Config::new();
        config.strategy(Strategy::Optimized).profiling(profiling).profile_use(profile.clone());
        let mut better = Program::new(&config)?;
        assert_eq!(better.call("run", (300, 3))?, expected);
        assert!(better.inlined().contains(&5), "{:?}", better.module.reoptimizations());
        let engine = Engine::new(&config)?;
        let error = Module::new(&engine, "(module (func))").expect_err("another module");
        assert!(error.to_string().contains("another module"), "{error}");
    }
    Ok(())
}

#[test]
fn two_threads_share_what_is_made_better() -> Outcome {
    let mut config = adaptive(BurstLengths::new(50, 10));
    let engine = Engine::new(config.background_compilation(true))?;
    let module = Module::new(&engine, WAT)?;
    let expected = Program::new(&Config::new())?.call("run", (2000, 3))?;
    let run = || -> Result<()> {
        let mut store = Store::new(&engine, ());
        let mut linker = Linker::new(&engine);
        linker.func_wrap("host", "look", || ())?;
        let instance = linker.instantiate(&mut store, &module)?;
        let func = instance.get_typed_func::<(i32, i32), i32>(&mut store, "run")?;
        for _ in 0..200 {
            assert_eq!(func.call(&mut store, (2000, 3))?, expected);
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..3).map(|_| scope.spawn(run)).collect();
        threads.into_iter().try_for_each(|thread| thread.join().expect("no panic"))
    })?;
    Ok(())
}

/// A superblock would not improve a loop with a single path.
#[test]
fn a_version_that_saves_nothing_is_not_made() -> Outcome {
    let spin = 10;
    let run = |policy: Policy| -> std::result::Result<Program, Box<dyn std::error::Error>> {
        let mut config = adaptive(SHORT);
        config.strategy(Strategy::Optimized).reoptimization(Some(Policy { inlining: false, ..policy }));
        let mut program = Program::new(&config)?;
        program.call("spins", (30, 500))?;
        Ok(program)
    };
    let eager = run(Policy::eager())?;
    assert!(eager.module.reoptimizations().iter().any(|done| done.func == spin));
    assert_eq!(eager.module.not_reoptimized(), []);
    let picky = run(Policy { least_gain: Policy::default().least_gain, ..Policy::eager() })?;
    assert!(!picky.module.reoptimizations().iter().any(|done| done.func == spin));
    let refused = picky.module.not_reoptimized();
    let (_, why) = refused.iter().find(|(func, _)| *func == spin).expect("it was looked at");
    assert!(why.saved - why.before < Policy::default().least_gain, "{why}");
    Ok(())
}
