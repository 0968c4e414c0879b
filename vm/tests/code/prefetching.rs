//! Prefetching in loops that follow pointers: whatever the streams hold, the program does the same.

use std::time::{Duration, Instant};

use wprof::profiler::BurstLengths;
use wprof::*;

type Outcome = std::result::Result<(), Box<dyn std::error::Error>>;

/// `link(n, by, from)` links nodes of 16 bytes, each `by` nodes further modulo n, a power of two, to one list that ends at
/// an address of nothing (`end`); `walk(p)` adds up its values until 0; `grow` grows the memory by a page. `last(p)` keeps
/// the previous node, as compilers do, and `walk_far` has the pointer far from the node.
const WAT: &str = r#"(module
    (memory (export "memory") 2 10)
    (func (export "grow") (result i32) (memory.grow (i32.const 1)))
    (func (export "link") (param $n i32) (param $by i32) (param $end i32) (local $i i32) (local $at i32) (local $to i32)
        (loop $next
            (local.set $to (i32.and (i32.add (local.get $at) (local.get $by)) (i32.sub (local.get $n) (i32.const 1))))
            (i32.store offset=16 (i32.mul (local.get $at) (i32.const 16))
                (i32.add (i32.const 16) (i32.mul (local.get $to) (i32.const 16))))
            (i32.store offset=20 (i32.mul (local.get $at) (i32.const 16)) (local.get $i))
            (local.set $at (local.get $to))
            (br_if $next (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (local.get $n))))
        (i32.store offset=16 (i32.mul (i32.and (i32.sub (i32.const 0) (local.get $by)) (i32.sub (local.get $n) (i32.const 1)))
            (i32.const 16)) (local.get $end)))
    (func $walk (export "walk") (param $p i32) (result i32) (local $sum i32)
        (loop $next
            (local.set $sum (i32.add (i32.mul (local.get $sum) (i32.const 31)) (i32.load offset=4 (local.get $p))))
            (br_if $next (local.tee $p (i32.load (local.get $p)))))
        (local.get $sum))
    (func $last (export "last") (param $p i32) (result i32) (local $q i32)
        (loop $next
            (local.set $q (local.get $p))
            (br_if $next (local.tee $p (i32.load (local.get $q)))))
        (local.get $q))
    (func $plain (param $n i32) (result i32) (local $sum i32)
        (loop $next
            (local.set $sum (i32.add (local.get $sum) (i32.load (local.get $n))))
            (br_if $next (local.tee $n (i32.shr_u (local.get $n) (i32.const 1)))))
        (local.get $sum))
    (func (export "run") (param $p i32) (param $rounds i32) (result i32) (local $sum i32)
        (loop $next
            (local.set $sum (i32.add (i32.mul (local.get $sum) (i32.const 17)) (call $walk (local.get $p))))
            (local.set $sum (i32.add (local.get $sum) (call $last (local.get $p))))
            (local.set $sum (i32.add (local.get $sum) (call $plain (local.get $p))))
            (br_if $next (local.tee $rounds (i32.sub (local.get $rounds) (i32.const 1)))))
        (local.get $sum)))"#;

/// Number of functions with a loop that follows a pointer.
const FOLLOWING: usize = 2;
/// The address of the first node.
const FIRST: i32 = 16;

struct Program {
    store: Store<()>,
    module: Module,
    instance: Instance,
}

impl Program {
    fn new(config: &Config) -> Result<Program> {
        let engine = Engine::new(config)?;
        let module = Module::new(&engine, WAT)?;
        Program::instantiate(&engine, &module)
    }

    fn instantiate(engine: &Engine, module: &Module) -> Result<Program> {
        let mut store = Store::new(engine, ());
        let instance = Linker::new(engine).instantiate(&mut store, module)?;
        Ok(Program { store, module: module.clone(), instance })
    }

    fn link(&mut self, nodes: i32, by: i32, end: i32) -> Result<()> {
        self.instance
            .get_typed_func::<(i32, i32, i32), ()>(&mut self.store, "link")?
            .call(&mut self.store, (nodes, by, end))
    }

    fn run(&mut self, rounds: i32) -> Result<i32> {
        self.instance
            .get_typed_func::<(i32, i32), i32>(&mut self.store, "run")?
            .call(&mut self.store, (FIRST, rounds))
    }

    fn call(&mut self, name: &str) -> Result<i32> {
        self.instance.get_typed_func::<i32, i32>(&mut self.store, name)?.call(&mut self.store, FIRST)
    }

    /// Returns for each trial of a version that prefetches whether it was reverted.
    fn tried(&self) -> Vec<bool> {
        let all = self.module.reoptimizations();
        let prefetching = all
            .iter()
            .map(|done| &done.decisions)
            .filter(|decisions| decisions.iter().any(|decision| decision.verdict == Verdict::Prefetched));
        let verdict = |decision: &Decision| match decision.verdict {
            Verdict::Tried { reverted, .. } => Some(reverted),
            _ => None,
        };
        prefetching.flatten().filter_map(verdict).collect()
    }
}

/// Returns a configuration in which each version that prefetches is tried in a few calls, and kept unless it saves less
/// than `gain` of a call.
fn prefetching(gain: f64) -> Config {
    let mut config = Config::new();
    let lengths = BurstLengths::new(3, 5);
    config.profiling(ProfilingConfig::Adaptive(Adaptive { lengths, ..Adaptive::default() }));
    config.reoptimization(Some(policy(gain))).strategy(Strategy::Tiered).promote_after(2);
    config
}

fn policy(gain: f64) -> Policy {
    Policy {
        prefetching: true,
        prefetching_calls: 8,
        prefetching_gain: gain,
        trial_calls: 6,
        inlining: false,
        ..Policy::eager()
    }
}

/// The lists of a test: nodes, distance, and the address behind the last.
const LISTS: [(i32, i32, i32); 5] = [(4, 1, 0), (64, 37, 0), (1024, 389, 0), (1024, 391, 0), (4096, 1551, 0)];

/// Runs lists until the program `is_done`, compares the results, and verifies the profile.
fn run_until(program: &mut Program, is_done: impl Fn(&Program) -> bool) -> Outcome {
    let (mut plain, until) = (Program::new(&Config::new())?, Instant::now() + Duration::from_secs(120));
    while !is_done(program) {
        for (nodes, by, end) in LISTS {
            for program in [&mut *program, &mut plain] {
                program.link(nodes, by, end)?;
            }
            assert_eq!(program.run(9)?, plain.run(9)?, "{nodes} nodes, each {by} further");
        }
        assert!(Instant::now() < until, "{:?}", program.module.reoptimizations());
    }
    Ok(program.instance.profile(&program.store)?.verify()?)
}

#[test]
fn loops_that_follow_pointers_prefetch_if_the_trial_says_so() -> Outcome {
    for (gain, reverted) in [(-1e12, false), (1e12, true)] {
        let mut program = Program::new(&prefetching(gain))?;
        run_until(&mut program, |program| program.tried().len() >= FOLLOWING)?;
        assert_eq!(program.tried(), [reverted; FOLLOWING]);
        // No version is tried twice, and no other loop is.
        run_until(&mut program, |_| true)?;
        for _ in 0..50 {
            program.run(9)?;
        }
        assert_eq!(program.tried().len(), FOLLOWING);
    }
    Ok(())
}

/// In the next run callers have optimised code at once. What was not kept is tried again.
#[test]
fn code_of_an_earlier_run_gets_prefetching_versions_too() -> Outcome {
    let folder = tempfile::tempdir()?;
    let mut config = prefetching(1e12);
    // Nothing else makes these functions better.
    config.reoptimization(Some(Policy { least_gain: f64::INFINITY, ..policy(1e12) }));
    config.code_cache(folder.path().join("code"));
    for is_kept in [false, true] {
        let until = Instant::now() + Duration::from_secs(60);
        let mut program = Program::new(&config)?;
        // The earlier module keeps its slots as long as the compiler's thread works for it.
        while (program.module.compiled().0 > 0) != is_kept && Instant::now() < until {
            drop(program);
            std::thread::sleep(Duration::from_millis(10));
            program = Program::new(&config)?;
        }
        assert_eq!(program.module.compiled().0 > 0, is_kept);
        run_until(&mut program, |program| program.tried().len() >= FOLLOWING)?;
        program.module.update_code_cache()?;
    }
    Ok(())
}

#[test]
fn prefetching_loops_trap_where_others_do() -> Outcome {
    let (mut program, mut plain) = (Program::new(&prefetching(-1e12))?, Program::new(&Config::new())?);
    run_until(&mut program, |program| program.tried().len() >= FOLLOWING)?;
    let places = |error: &Error| {
        let frames = error.backtrace().expect("it trapped").frames().iter();
        frames.map(|frame| (frame.func_index(), frame.module_offset())).collect::<Vec<_>>()
    };
    // The lists end at addresses that are not in the memory, near its end, and far away.
    for end in [0x2_0000, 0x2_0000 - 2, -1, i32::MIN, 0x2_0000] {
        for (nodes, by) in [(1024, 389), (64, 37)] {
            let errors = [&mut program, &mut plain].map(|program| {
                program.link(nodes, by, end).expect("links");
                (
                    program.call("walk").expect_err("no memory there"),
                    program.call("last").expect_err("nor there"),
                )
            });
            let [found, expected] = &errors;
            for (found, expected) in [(&found.0, &expected.0), (&found.1, &expected.1)] {
                assert_eq!(found.trap(), Some(Trap::MemoryOutOfBounds));
                assert_eq!(places(found), places(expected), "behind the last node {end:#x}");
            }
        }
        // What the streams hold now leads out of the memory.
        run_until(&mut program, |_| true)?;
        for program in [&mut program, &mut plain] {
            program.link(1024, 389, 0)?;
        }
        assert_eq!(program.run(40)?, plain.run(40)?);
    }
    Ok(())
}

#[test]
fn instances_have_streams_of_their_own_and_threads_share_code() -> Outcome {
    let engine = Engine::new(&prefetching(-1e12))?;
    let module = Module::new(&engine, WAT)?;
    let mut plain = Program::new(&Config::new())?;
    plain.link(1024, 389, 0)?;
    let expected = plain.run(20)?;
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let mut program = Program::instantiate(&engine, &module).expect("instantiates");
                program.link(1024, 389, 0).expect("links");
                for _ in 0..60 {
                    assert_eq!(program.run(20).expect("runs"), expected);
                }
            });
        }
    });
    let mut program = Program::instantiate(&engine, &module)?;
    run_until(&mut program, |program| program.tried().len() >= FOLLOWING)
}

#[test]
fn memories_without_room_for_guards_are_followed_too() -> Outcome {
    let mut config = prefetching(-1e12);
    let mut program = Program::new(config.memory_reservation(0).memory_guard_size(0))?;
    run_until(&mut program, |program| program.tried().len() >= FOLLOWING)?;
    let grow = program.instance.get_typed_func::<(), i32>(&mut program.store, "grow")?;
    for _ in 0..3 {
        grow.call(&mut program.store, ())?;
        run_until(&mut program, |_| true)?;
        program.link(1024, 389, 0)?;
        let found = program.run(30)?;
        let mut plain = Program::new(&Config::new())?;
        plain.link(1024, 389, 0)?;
        assert_eq!(found, plain.run(30)?);
    }
    Ok(())
}
