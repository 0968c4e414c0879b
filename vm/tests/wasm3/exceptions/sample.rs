//! A program that throws and catches, what it must do, and configurations that run it.

use wprof::profiler::{BurstLengths, Profile};
use wprof::*;

/// Throws with several tags, from callees, through frames that do not catch, with clean-ups on the way, in a loop.
const WAT: &str = r#"(module
    (type $unary (func (param i32) (result i32)))
    (import "host" "look" (func $look (type $unary)))
    (import "host" "tag" (tag $host (param i32)))
    (tag $a (export "a") (param i32))
    (tag $b (param i64 i32))
    (tag $empty)
    (table funcref (elem $old $cleanup))
    (global $cleanups (export "cleanups") (mut i32) (i32.const 0))
    (func $work (export "work") (type $unary)
        (block $d (block $c (block $b (block $a
            (br_table $a $b $c $d (i32.rem_u (local.get 0) (i32.const 5))))
            (throw $a (local.get 0)))
            (throw $b (i64.const 7) (local.get 0)))
            (throw $empty))
        (drop (call $look (local.get 0)))
        (local.get 0))
    (func $through (export "through") (type $unary) (i32.add (call $work (local.get 0)) (i32.const 1)))
    (func $cleanup (type $unary)
        (block $handler (result exnref)
            (try_table (catch_all_ref $handler) (return (call $through (local.get 0))))
            (unreachable))
        (global.set $cleanups (i32.add (global.get $cleanups) (i32.const 1)))
        (throw_ref))
    (func $old (type $unary) (local $x i32)
        try $outer (result i32)
            try (result i32)
                try (result i32) (call $cleanup (local.get 0)) delegate $outer
            catch_all
                unreachable
            end
        catch $empty
            (if (i32.and (local.get 0) (i32.const 4)) (then (rethrow $outer)))
            (i32.const 100)
        catch $b
            (local.set $x)
            (i32.add (i32.wrap_i64) (local.get $x))
        end)
    (func $run (export "run") (param $n i32) (result i32) (local $sum i32) (local $base i32)
        (loop $again
            (block $done
                (local.set $sum (i32.add (local.get $sum) (i32.mul (i32.const 2) (block $on_a (result i32)
                    (local.set $sum (i32.add (local.get $sum) (i32.mul (i32.const 3) (block $on_host (result i32)
                        (block $on_all
                            (try_table (catch $a $on_a) (catch $host $on_host) (catch_all $on_all)
                                (local.set $base (local.get $sum))
                                (local.set $sum (i32.add (local.get $base)
                                    (call_indirect (type $unary)
                                        (local.get $n) (i32.and (local.get $n) (i32.const 1)))))
                                (br $done)))
                        (local.set $sum (i32.add (local.get $sum) (i32.const 1000)))
                        (br $done)))))
                    (br $done))))))
            (br_if $again (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
        (local.get $sum))
    (func (export "own") (param $n i32) (result i32) (local $sum i32)
        (loop $again
            (block $caught (result i32)
                (try_table (result i32) (catch $a $caught)
                    (if (i32.and (local.get $n) (i32.const 1)) (then (throw $a (local.get $n))))
                    (i32.const 5)))
            (local.set $sum (i32.add (local.get $sum)))
            (br_if $again (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
        (local.get $sum)))"#;

/// The exceptions that the functions of `WAT` throw.
enum Thrown {
    A(i32),
    B(i32),
    Host(i32),
    Empty,
}

/// The behaviour of `look`.
fn looked_at(n: i32) -> std::result::Result<(), Thrown> {
    if n % 7 == 3 { Err(Thrown::Host(n)) } else { Ok(()) }
}

/// The behaviour of `cleanup`.
fn cleaned(n: i32, cleanups: &mut i32) -> std::result::Result<i32, Thrown> {
    let through = match n % 5 {
        0 => Err(Thrown::A(n)),
        1 => Err(Thrown::B(n)),
        2 => Err(Thrown::Empty),
        _ => looked_at(n).map(|()| n + 1),
    };
    *cleanups += i32::from(through.is_err());
    through
}

/// Returns the result of `run` and the number of clean-ups.
pub fn expected(rounds: i32) -> (i32, i32) {
    let (mut sum, mut cleanups) = (0, 0);
    for n in 1..=rounds {
        let called = match cleaned(n, &mut cleanups) {
            Err(Thrown::Empty) if n & 5 == 0 => Ok(100),
            Err(Thrown::B(n)) if n & 1 == 0 => Ok(7 + n),
            other => other,
        };
        sum += match called {
            Ok(n) => n,
            Err(Thrown::A(n)) => 2 * n,
            Err(Thrown::Host(n)) => 3 * n,
            Err(Thrown::B(_) | Thrown::Empty) => 1000,
        };
    }
    (sum, cleanups)
}

/// The instruction counts that the host observed, by the counter and by the profile, where both are counted.
#[derive(Default)]
pub struct Seen {
    pub counts: Vec<(u64, u64)>,
    pub profiles: Vec<Profile>,
    pub exits_at: Option<i32>,
    pub takes_profiles: bool,
}

/// Creates an instance of `WAT`. `look` throws at some numbers, catches exceptions of its callbacks at others, and
/// exits if told to.
pub fn sample(config: &Config) -> Result<(Store<Seen>, Module, Linker<Seen>)> {
    let engine = Engine::new(config)?;
    let module = Module::new(&engine, WAT)?;
    let mut store = Store::new(&engine, Seen::default());
    let mut linker = Linker::new(&engine);
    let tag = Tag::new(&mut store, &TagType::new(FuncType::new([ValType::I32], [])));
    linker.define(&store, "host", "tag", tag)?;
    linker.func_wrap("host", "look", move |mut caller: Caller<'_, Seen>, n: i32| -> Result<i32> {
        let instance = caller.instance().expect("wasm calls it");
        if caller.data().takes_profiles {
            let profile = instance.profile(&caller)?;
            profile.verify().expect("consistent");
            if let Ok(count) = event_count(&caller, "instructions") {
                let ops = profile.ops();
                caller.data_mut().counts.push((count, ops));
            }
            caller.data_mut().profiles.push(profile);
        }
        if n % 11 == 4 {
            let through = instance.get_typed_func::<i32, i32>(&mut caller, "through")?;
            let error = through.call(&mut caller, 10 * n).expect_err("it throws");
            let thrown = error.exception().expect("an exception").clone();
            assert_eq!(Some(thrown.tag()), instance.get_tag(&mut caller, "a"));
            assert_eq!(thrown.values(&caller)[0].i32(), Some(10 * n));
        }
        if caller.data().exits_at == Some(n) {
            return Err(Exit(3).into());
        }
        match looked_at(n) {
            Ok(()) => Ok(n),
            Err(_) => {
                let thrown = ExnRef::new(&mut caller, &tag, &[Val::I32(n)])?;
                caller.as_context_mut().throw(thrown)
            }
        }
    })?;
    Ok((store, module, linker))
}

pub fn strategies() -> impl Iterator<Item = Config> {
    [Strategy::Baseline, Strategy::Optimized, Strategy::Tiered].into_iter().map(|strategy| {
        let mut config = Config::new();
        config.strategy(strategy).background_compilation(false).promote_after(5);
        config
    })
}

/// Returns configurations for every tier, function parts, bursts that begin and end everywhere, code that they
/// reoptimize, and plain Cranelift.
pub fn configs() -> Vec<Config> {
    let mut all: Vec<Config> = strategies().collect();
    all.push(Config::conservative());
    let tiered = || {
        let mut config = Config::new();
        config.strategy(Strategy::Tiered).background_compilation(false).promote_after(2);
        config
    };
    let mut parts = tiered();
    parts.parts_above(1).promote_after(10);
    all.push(parts);
    for (checking, instrumented, optimized) in [(1, 1, None), (3, 5, Some(false)), (20, 100, Some(true))] {
        let lengths = BurstLengths::new(checking, instrumented);
        let checks: Checks = "orig".parse().expect("a name");
        let adaptive = Adaptive { lengths, checks, optimized, ..Adaptive::default() };
        let mut config = tiered();
        config.profiling(ProfilingConfig::Adaptive(adaptive)).parts_above(1).loop_entries_above(0);
        all.push(config.clone());
        config.shared_loops_above(0).reoptimization(Some(Policy::eager()));
        all.push(config);
    }
    all
}
