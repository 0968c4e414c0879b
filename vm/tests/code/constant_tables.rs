//! Calls through constant tables behave as calls through other tables, including traps and backtraces.

use wprof::*;

type Outcome = std::result::Result<(), Box<dyn std::error::Error>>;

/// Returns a module with a table of functions of two types and a hole. A function that is itself called calls any
/// index of the table; `extra` may make the table mutable.
fn wat(extra: &str) -> String {
    format!(
        r#"(module (type $unary (func (param i32) (result i32))) (type $nullary (func (result i32)))
        (table $t 6 funcref) (elem (i32.const 0) $double $seven $square) (elem (i32.const 4) $double)
        (func $double (type $unary) (i32.mul (local.get 0) (i32.const 2)))
        (func $seven (type $nullary) (i32.const 7))
        (func $square (type $unary) (i32.mul (local.get 0) (local.get 0)))
        {extra}
        (func $inner (param $index i32) (param $value i32) (result i32)
            (i32.add (i32.const 1) (call_indirect $t (type $unary) (local.get $value) (local.get $index))))
        (func (export "call") (param i32 i32) (result i32)
            (i32.add (i32.const 0) (call $inner (local.get 0) (local.get 1))))
        (func (export "tail") (param i32 i32) (result i32)
            (return_call_indirect $t (type $unary) (local.get 1) (local.get 0)))
        (func (export "many") (param $index i32) (param $times i32) (result i32) (local $sum i32)
            (loop $again
                (local.set $sum (i32.add (local.get $sum) (call $inner (local.get $index) (local.get $times))))
                (br_if $again (local.tee $times (i32.sub (local.get $times) (i32.const 1)))))
            (local.get $sum)))"#
    )
}

/// Returns the outcome of a call of each index: a result, or the trap with the functions and offsets of its backtrace.
fn outcomes(config: &Config, wat: &str) -> Result<Vec<String>> {
    let engine = Engine::new(config)?;
    let mut store = Store::new(&engine, ());
    let instance = Instance::new(&mut store, &Module::new(&engine, wat)?, &[])?;
    let mut all = Vec::new();
    for name in ["call", "tail", "many", "call"] {
        let f = instance.get_typed_func::<(i32, i32), i32>(&mut store, name)?;
        for index in [0, 1, 2, 3, 4, 5, 6, 7, 1 << 20, -1, i32::MIN] {
            all.push(match f.call(&mut store, (index, 300)) {
                Ok(result) => format!("{name} {index}: {result}"),
                Err(error) => {
                    let frames = error.backtrace().expect("a trap has one").frames();
                    let frames: Vec<_> = frames.iter().map(|f| (f.func_index(), f.func_offset())).collect();
                    format!("{name} {index}: {:?} at {frames:?}", error.trap())
                }
            });
        }
    }
    Ok(all)
}

fn configs() -> Vec<Config> {
    let mut all = Vec::new();
    for strategy in [Strategy::Baseline, Strategy::Optimized, Strategy::Tiered] {
        for spectre_guards in [true, false] {
            for profiling in [
                ProfilingConfig::Off,
                ProfilingConfig::Exact(Collect::Edges),
                ProfilingConfig::Adaptive(Adaptive::default()),
            ] {
                let mut config = Config::new();
                config.strategy(strategy).spectre_guards(spectre_guards).profiling(profiling);
                config.background_compilation(false).promote_after(7);
                all.push(config);
            }
        }
    }
    all
}

#[test]
fn calls_and_traps_are_those_of_tables_that_may_change() -> Outcome {
    let (constant, changing) = (wat(""), wat("(export \"t\" (table $t))"));
    for config in configs() {
        assert_eq!(outcomes(&config, &constant)?, outcomes(&config, &changing)?, "{config:?}");
    }
    let known = outcomes(&Config::new(), &constant)?;
    assert_eq!(known[0], "call 0: 601");
    assert!(known[1].starts_with("call 1: Some(BadSignature) at [(3, "), "{}", known[1]);
    assert!(known[3].starts_with("call 3: Some(IndirectCallToNull) at [(3, "), "{}", known[3]);
    assert!(known[6].starts_with("call 6: Some(TableOutOfBounds) at [(3, "), "{}", known[6]);
    Ok(())
}

#[test]
fn each_instance_calls_its_own_functions() -> Outcome {
    let engine = Engine::new(&Config::new())?;
    let module = Module::new(
        &engine,
        r#"(module (type $f (func (result i32))) (global $n (mut i32) (i32.const 0)) (table 1 funcref)
        (elem (i32.const 0) $next)
        (func $next (result i32)
            (global.set $n (i32.add (global.get $n) (i32.const 1))) (global.get $n))
        (func (export "next") (result i32) (call_indirect (type $f) (i32.const 0))))"#,
    )?;
    let mut store = Store::new(&engine, ());
    let instances = [0, 1].map(|_| Instance::new(&mut store, &module, &[]).expect("instantiates"));
    for (instance, expected) in [(0, 1), (0, 2), (1, 1), (0, 3), (1, 2)] {
        let next = instances[instance].get_typed_func::<(), i32>(&mut store, "next")?;
        assert_eq!(next.call(&mut store, ())?, expected);
    }
    Ok(())
}
