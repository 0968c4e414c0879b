//! Calls inside a `try` are inlined, and what throws in them is caught where it was, with the same backtraces.

use wprof::profiler::BurstLengths;
use wprof::*;

type Outcome = std::result::Result<(), Box<dyn std::error::Error>>;

/// Each `run…(n, m)` makes `n` rounds with calls inside a `try`; what is thrown in them depends on `m`.
const WAT: &str = r#"(module
    (type $unary (func (param i32) (result i32)))
    (import "host" "look" (func $look (type $unary)))
    (import "host" "tag" (tag $host (param i32)))
    (import "host" "tag" (tag $again (param i32)))
    (tag $t (export "t") (param i32 f64))
    (tag $u (param i32))
    (tag $empty)
    (table 4 funcref)
    (elem (i32.const 0) $leaf $may $both $looks)
    (func $leaf (type $unary) (i32.mul (local.get 0) (i32.const 3)))
    (func $may (type $unary)
        (if (i32.eqz (i32.and (local.get 0) (i32.const 7)))
            (then (throw $t (local.get 0) (f64.const 1.5))))
        (i32.add (local.get 0) (i32.const 1)))
    (func $both (type $unary)
        (if (i32.eq (i32.and (local.get 0) (i32.const 3)) (i32.const 2)) (then (throw $u (local.get 0))))
        (i32.add (call $may (local.get 0)) (call $leaf (local.get 0))))
    (func $looks (type $unary)
        (i32.add (call $look (local.get 0)) (call $may (local.get 0))))
    ;; Catches some itself, and throws others again.
    (func $old (type $unary) (local $x i32)
        try (result i32)
            (call $both (local.get 0))
        catch $u
            (local.set $x)
            (if (i32.and (local.get $x) (i32.const 16)) (then (rethrow 1)))
            (i32.const 1000)
        catch_all
            (rethrow 0)
        end)
    (func $spin (param $n i32) (param $last i32) (result i32) (local $sum i32)
        (loop $again
            (local.set $sum (i32.add (i32.mul (local.get $sum) (i32.const 3)) (local.get $n)))
            (br_if $again (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
        (if (i32.eqz (i32.rem_u (local.get $sum) (local.get $last))) (then (throw $u (local.get $sum))))
        (local.get $sum))
    (func $run (export "run") (param $n i32) (param $m i32) (result i32) (local $sum i32)
        (loop $again
            (local.set $sum (i32.add (local.get $sum)
                (block $out (result i32)
                    (i32.mul (i32.const 5)
                        (block $u (result i32)
                            (block $t (result i32 f64)
                                (br $out
                                    (try_table (result i32) (catch $t $t) (catch $u $u)
                                        (local.set $sum (i32.add (local.get $sum) (i32.const 7)))
                                        (i32.xor (local.get $n) (call $old (i32.and (local.get $n) (local.get $m)))))))
                            (i32.add (i32.trunc_sat_f64_s))
                            (br $out))))))
            (br_if $again (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
        (local.get $sum))
    (func (export "run_leaf") (param $n i32) (param $m i32) (result i32) (local $sum i32)
        (loop $again
            (block $h
                (try_table (catch_all $h)
                    (local.set $sum (i32.add (local.get $sum) (call $leaf (local.get $n))))))
            (br_if $again (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
        (local.get $sum))
    (func (export "run_table") (param $n i32) (param $m i32) (result i32) (local $sum i32)
        (loop $again
            (local.set $sum (i32.add (local.get $sum)
                (block $h (result i32)
                    (block $all
                        (br $h (try_table (result i32) (catch $u $h) (catch_all $all)
                            (call_indirect (type $unary) (local.get $n)
                                (select (local.get $m) (i32.const 1)
                                    (i32.eqz (i32.rem_u (local.get $n) (i32.const 100))))))))
                    (i32.const 77))))
            (br_if $again (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
        (local.get $sum))
    (func (export "run_loops") (param $n i32) (param $m i32) (result i32) (local $sum i32)
        (loop $again
            (local.set $sum (i32.add (local.get $sum)
                (block $h (result i32)
                    (try_table (result i32) (catch $u $h)
                        (call $spin (i32.add (i32.and (local.get $n) (i32.const 31)) (i32.const 1))
                            (local.get $m))))))
            (br_if $again (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
        (local.get $sum))
    ;; A handler that is the head of a loop, and a tag that two imports name.
    (func (export "run_host") (param $n i32) (param $m i32) (result i32) (local $sum i32)
        (i32.const 0)
        (loop $caught (param i32)
            (local.set $sum (i32.add (local.get $sum)))
            (loop $again
                (if (i32.le_s (local.get $n) (i32.const 0)) (then (return (local.get $sum))))
                (local.set $n (i32.sub (local.get $n) (i32.const 1)))
                (try_table (catch $again $caught)
                    (local.set $sum (i32.add (local.get $sum) (call $throws_host (local.get $n) (local.get $m)))))
                (br $again)))
        (unreachable))
    (func $throws_host (param $n i32) (param $m i32) (result i32)
        (if (i32.eqz (i32.rem_u (local.get $n) (local.get $m))) (then (throw $host (i32.const 11))))
        (i32.const 2))
    ;; Nobody catches the last exception: the handlers do not fit.
    (func (export "run_uncaught") (param $n i32) (param $m i32) (result i32) (local $sum i32)
        (loop $again
            (block $h
                (try_table (catch $empty $h)
                    (local.set $sum
                        (call $both (select (i32.const 1) (local.get $m) (i32.gt_s (local.get $n) (i32.const 1)))))))
            (br_if $again (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
        (local.get $sum))
    (func (export "run_looks") (param $n i32) (param $m i32) (result i32) (local $sum i32)
        (loop $again
            (block $h
                (block $f (result i32 f64)
                    (try_table (catch $t $f) (catch_all $h)
                        (local.set $sum (i32.add (local.get $sum) (call $looks (local.get $n)))))
                    (br $h))
                (local.set $sum (i32.add (i32.trunc_sat_f64_s) (local.get $sum)))
                (drop))
            (br_if $again (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
        (local.get $sum))
    ;; The first handler asks for the tag by its other name; behind it is one for all.
    (func (export "run_names") (param $n i32) (param $m i32) (result i32) (local $sum i32)
        (loop $next
            (block $done
                (block $all
                    (local.set $sum (i32.add (local.get $sum)
                        (block $caught (result i32)
                            (try_table (catch $again $caught) (catch_all $all)
                                (local.set $sum
                                    (i32.add (local.get $sum) (call $throws_host (local.get $n) (local.get $m)))))
                            (br $done))))
                    (br $done))
                (local.set $sum (i32.add (local.get $sum) (i32.const 1000))))
            (br_if $next (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
        (local.get $sum)))"#;

/// The function index of each callee.
const LEAF: u32 = 1;
const MAY: u32 = 2;
const BOTH: u32 = 3;
const LOOKS: u32 = 4;
const OLD: u32 = 5;
const THROWS_HOST: u32 = 12;
const SPIN: u32 = 6;

struct Program {
    store: Store<()>,
    module: Module,
    instance: Instance,
}

/// A configuration that makes better versions soon. With proofs, Cranelift's code runs where there is none.
fn eager(lengths: BurstLengths, verify: bool) -> Config {
    let adaptive = Adaptive { lengths, ..Adaptive::default() };
    let mut config = Config::new();
    config.strategy(Strategy::Tiered).background_compilation(false).promote_after(2).verify(verify);
    config.profiling(ProfilingConfig::Adaptive(adaptive)).reoptimization(Some(Policy::eager()));
    config
}

impl Program {
    fn new(config: &Config) -> Result<Program> {
        let engine = Engine::new(config)?;
        let (mut store, module) = (Store::new(&engine, ()), Module::new(&engine, WAT)?);
        let mut linker = Linker::new(&engine);
        let tag = Tag::new(&mut store, &TagType::new(FuncType::new([ValType::I32], [])));
        linker.define(&store, "host", "tag", tag)?;
        // Throws at some numbers.
        linker.func_wrap("host", "look", move |mut caller: Caller<'_, ()>, n: i32| -> Result<i32> {
            if n % 5 != 3 {
                return Ok(n);
            }
            let thrown = ExnRef::new(&mut caller, &tag, &[Val::I32(n)])?;
            caller.as_context_mut().throw(thrown)
        })?;
        let instance = linker.instantiate(&mut store, &module)?;
        Ok(Program { store, module, instance })
    }

    fn call(&mut self, name: &str, args: (i32, i32)) -> Result<i32> {
        self.instance.get_typed_func::<(i32, i32), i32>(&mut self.store, name)?.call(&mut self.store, args)
    }

    /// Returns the functions inlined in better versions of exported functions.
    fn inlined(&self) -> Vec<u32> {
        let verdict = |decision: &Decision| match decision.verdict {
            Verdict::Inlined { callee, .. } => Some(callee),
            _ => None,
        };
        let all = self.module.reoptimizations();
        all.iter()
            .filter(|done| done.func > SPIN)
            .flat_map(|done| &done.decisions)
            .filter_map(verdict)
            .collect()
    }
}

/// Lengths of bursts that begin and end everywhere.
const LENGTHS: [BurstLengths; 3] =
    [BurstLengths::new(3, 5), BurstLengths::new(7, 23), BurstLengths::new(50, 10)];

fn same(name: &str, args: &[(i32, i32)], inlined: &[u32]) -> Outcome {
    let mut plain = Program::new(Config::new().profiling(ProfilingConfig::Off))?;
    for (lengths, verify) in LENGTHS.into_iter().map(|lengths| (lengths, false)).chain([(LENGTHS[0], true)]) {
        let mut better = Program::new(&eager(lengths, verify))?;
        for _ in 0..2 {
            for &args in args {
                assert_eq!(better.call(name, args)?, plain.call(name, args)?, "{args:?} {lengths:?}");
            }
        }
        let found = better.inlined();
        assert!(inlined.iter().all(|callee| found.contains(callee)), "{found:?} {lengths:?}");
        let found = better.store.engine().unproven();
        assert!(found.is_empty(), "{found:?}");
    }
    Ok(())
}

#[test]
fn exceptions_of_inlined_calls_reach_the_handlers_in_their_order() -> Outcome {
    same("run", &[(500, 63), (500, 15), (777, 8), (300, 3)], &[OLD, BOTH, MAY, LEAF])
}

#[test]
fn a_call_that_throws_nothing_leaves_the_handlers_out() -> Outcome {
    same("run_leaf", &[(500, 0), (100, 0)], &[LEAF])
}

#[test]
fn a_wrong_guess_inside_a_try_is_caught_as_well() -> Outcome {
    same("run_table", &[(999, 0), (999, 2), (500, 3)], &[MAY])
}

#[test]
fn what_an_inlined_frame_throws_after_it_has_left_for_another_version_is_caught() -> Outcome {
    same("run_loops", &[(400, 3), (400, 1), (400, 1000)], &[SPIN])
}

#[test]
fn a_handler_may_head_a_loop_and_tags_may_have_two_names() -> Outcome {
    same("run_host", &[(900, 3), (900, 50), (300, 1)], &[THROWS_HOST])?;
    same("run_names", &[(900, 3), (900, 50), (300, 1)], &[THROWS_HOST])
}

#[test]
fn the_host_throws_through_inlined_calls() -> Outcome {
    same("run_looks", &[(900, 0), (100, 0)], &[LOOKS, MAY])
}

fn places(error: &Error) -> Vec<(u32, usize)> {
    let trace = error.backtrace().expect("wasm threw it");
    trace.frames().iter().map(|frame| (frame.func_index(), frame.module_offset())).collect()
}

#[test]
fn exceptions_that_nobody_catches_have_the_frames_of_inlined_calls() -> Outcome {
    let mut plain = Program::new(Config::new().profiling(ProfilingConfig::Off))?;
    for lengths in LENGTHS {
        let mut better = Program::new(&eager(lengths, false))?;
        for _ in 0..3 {
            for m in [1, 2, 8] {
                match (plain.call("run_uncaught", (300, m)), better.call("run_uncaught", (300, m))) {
                    (Ok(expected), Ok(found)) => assert_eq!(found, expected),
                    (Err(expected), Err(found)) => {
                        let frames = places(&expected);
                        assert_eq!(places(&found), frames, "{m} {lengths:?}");
                        assert_eq!(frames.len(), if m == 8 { 3 } else { 2 });
                    }
                    (expected, found) => panic!("{expected:?}, {found:?}"),
                }
            }
        }
        let found = better.inlined();
        assert!(found.contains(&BOTH) && found.contains(&MAY), "{found:?}");
    }
    Ok(())
}
