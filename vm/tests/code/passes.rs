//! Each pass of the compiler can be disabled separately, without changing the behaviour of any program.

use wprof::*;

type Outcome = std::result::Result<(), Box<dyn std::error::Error>>;

/// Loops, switches, calls through tables, and loads and stores of all widths, on bytes that depend on the parameter.
const PROGRAM: &str = r#"(module
    (memory 1)
    (type $unary (func (param i32) (result i32)))
    (table funcref (elem $half $third $same))
    (global $seed (mut i32) (i32.const 12345))
    (func $half (type $unary) (i32.div_s (local.get 0) (i32.const 2)))
    (func $third (type $unary) (i32.rem_u (local.get 0) (i32.const 3)))
    (func $same (type $unary) (local.get 0))
    (func (export "mixed") (param i32) (result i32)
        (i32.add (i32.load8_s (local.get 0)) (i32.load8_u (local.get 0))))
    (func $next (result i32)
        (global.set $seed
            (i32.add (i32.mul (global.get $seed) (i32.const 1103515245)) (i32.const 12345)))
        (i32.shr_u (global.get $seed) (i32.const 16)))
    (func $fill (param $n i32) (local $at i32)
        (loop $again
            (i32.store8 (local.get $at) (call $next))
            (br_if $again (i32.lt_u (local.tee $at (i32.add (local.get $at) (i32.const 1))) (local.get $n)))))
    (func $step (param $code i32) (param $sum i32) (param $rounds i32) (result i32)
        (block $out (block $d (block $c (block $b (block $a
            (br_table $a $b $c $d $a $c $b $out (i32.and (local.get $code) (i32.const 7))))
            (return (i32.add (local.get $sum) (i32.mul (local.get $rounds) (i32.const 5)))))
            (return (i32.xor (local.get $sum) (i32.div_u (local.get $rounds) (i32.const 7)))))
            (return (i32.rotl (local.get $sum) (i32.and (local.get $code) (i32.const 31)))))
            (if (i32.eqz (i32.rem_u (local.get $rounds) (i32.const 6))) (then (return (i32.const 1)))))
        (i32.sub (local.get $sum) (i32.load16_u offset=2 (i32.shl (local.get $code) (i32.const 1)))))
    (func $run (export "run") (param $n i32) (result i32)
        (local $at i32) (local $sum i32) (local $byte i32) (local $wide i64)
        (call $fill (local.get $n))
        (loop $again
            (local.set $byte (i32.load8_u (local.get $at)))
            (local.set $sum (call $step (local.get $byte) (local.get $sum) (local.get $at)))
            (local.set $sum (i32.add (local.get $sum)
                (call_indirect (type $unary) (local.get $sum) (i32.rem_u (local.get $byte) (i32.const 3)))))
            (if (i32.eq (i32.and (local.get $sum) (i32.const 255)) (i32.const 17))
                (then (i32.store16 offset=8 (local.get $at) (local.get $sum))))
            (local.set $wide (i64.add (local.get $wide)
                (i64.mul (i64.load8_s (local.get $at)) (i64.extend_i32_u (local.get $n)))))
            (local.set $sum (i32.xor (local.get $sum) (i32.add (local.get $n) (i32.const 80))))
            (br_if $again (i32.lt_u (local.tee $at (i32.add (local.get $at) (i32.const 1))) (local.get $n))))
        (i32.add (local.get $sum) (i32.wrap_i64 (i64.xor (local.get $wide)
            (i64.shr_u (local.get $wide) (i64.const 32)))))))"#;

/// Returns the results of the program's functions.
fn results(config: &Config) -> Result<[i32; 3]> {
    let engine = Engine::new(config)?;
    let module = Module::new(&engine, PROGRAM)?;
    let mut store = Store::new(&engine, ());
    let instance = Linker::new(&engine).instantiate(&mut store, &module)?;
    let run = instance.get_typed_func::<i32, i32>(&mut store, "run")?;
    let mixed = instance.get_typed_func::<i32, i32>(&mut store, "mixed")?;
    Ok([run.call(&mut store, 3000)?, run.call(&mut store, 77)?, mixed.call(&mut store, 3)?])
}

/// Returns a configuration that optimises at once, and one with all tiers, bursts and reoptimization.
fn configs() -> [Config; 2] {
    let mut optimized = Config::new();
    optimized.strategy(Strategy::Optimized).background_compilation(false);
    let mut tiered = Config::new();
    let lengths = profiler::BurstLengths::new(20, 30);
    tiered.profiling(ProfilingConfig::Adaptive(Adaptive { lengths, ..Adaptive::default() }));
    tiered.promote_after(10).background_compilation(false).reoptimization(Some(Policy::eager()));
    [optimized, tiered]
}

#[test]
fn what_programs_do_depends_on_no_pass() -> Outcome {
    let expected = results(&Config::conservative())?;
    for mut config in configs() {
        for passes in [PassSet::none(), PassSet::all()] {
            assert_eq!(results(config.passes(passes.clone()))?, expected, "{passes}");
        }
        for &pass in Pass::ALL {
            for passes in [PassSet::all().with(pass, false), PassSet::none().with(pass, true)] {
                assert_eq!(results(config.passes(passes.clone()))?, expected, "{passes}");
            }
        }
    }
    Ok(())
}

#[test]
fn a_load_that_is_extended_in_two_ways_is_right() -> Outcome {
    let wat = r#"(module (memory 1) (data (i32.const 0) "\ff")
        (func (export "f") (param i32) (result i32)
            (i32.add (i32.load8_s (local.get 0)) (i32.load8_u (local.get 0)))))"#;
    for config in configs() {
        let engine = Engine::new(&config)?;
        let mut store = Store::new(&engine, ());
        let instance = Linker::new(&engine).instantiate(&mut store, &Module::new(&engine, wat)?)?;
        let f = instance.get_typed_func::<i32, i32>(&mut store, "f")?;
        for _ in 0..20 {
            assert_eq!(f.call(&mut store, 0)?, 254);
        }
    }
    Ok(())
}

#[test]
fn conservative_code_is_neither_made_ahead_nor_anew() -> Outcome {
    let mut config = Config::conservative();
    config.profiling(ProfilingConfig::Adaptive(Adaptive::default()));
    let engine = Engine::new(&config)?;
    let module = Module::new(&engine, PROGRAM)?;
    let mut store = Store::new(&engine, ());
    let instance = Linker::new(&engine).instantiate(&mut store, &module)?;
    let run = instance.get_typed_func::<i32, i32>(&mut store, "run")?;
    (0..50).try_for_each(|_| run.call(&mut store, 3000).map(drop))?;
    assert_eq!(module.compiled_ahead(), (0, 0));
    assert!(module.reoptimizations().is_empty());
    Ok(())
}

#[test]
fn code_of_other_passes_is_not_taken_from_the_cache() -> Outcome {
    let folder = tempfile::tempdir()?;
    let mut config = Config::new();
    config.strategy(Strategy::Optimized).code_cache(folder.path().join("code"));
    let mut compiled = Vec::new();
    for passes in ["all", "-redundant-moves", "redundant-moves@0..3", "all"] {
        let engine = Engine::new(config.passes(passes.parse()?))?;
        let module = Module::new(&engine, PROGRAM)?;
        compiled.push(module.compiled().0 > 0);
        let mut store = Store::new(&engine, ());
        let instance = Linker::new(&engine).instantiate(&mut store, &module)?;
        instance.get_typed_func::<i32, i32>(&mut store, "run")?.call(&mut store, 100)?;
        module.update_code_cache()?;
    }
    // Only the last run finds the code of the first.
    assert_eq!(compiled, [false, false, false, true]);
    Ok(())
}
