//! The cost of an adaptive profile: little of the processor time, unless the user requests a certain sample.

use std::time::Duration;

use wprof::profiler::BurstLengths;
use wprof::*;

type Outcome = std::result::Result<(), Box<dyn std::error::Error>>;

/// Processor time in which there are some hundred bursts.
const ENOUGH: Duration = Duration::from_secs(1);

/// Number of functions in the program.
const FUNCTIONS: u32 = 8;

/// `run(n)` calls each function n times; the functions have short loops.
fn program() -> String {
    let step = |of: u32| {
        format!(
            "(if (i32.and (local.get $i) (i32.const {of}))
                (then (local.set $x (i32.add (local.get $x) (i32.const {of}))))
                (else (local.set $x (i32.xor (local.get $x) (i32.const {of})))))"
        )
    };
    let steps: String = (1..20).map(step).collect();
    let function = |index: u32| {
        format!(
            "(func $f{index} (param $x i32) (result i32) (local $i i32)
                (loop $again
                    {steps}
                    (br_if $again (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 20))))
                (local.get $x))"
        )
    };
    let call = |index: u32| format!("(local.set $x (call $f{index} (local.get $x)))");
    let functions: String = (0..FUNCTIONS).map(function).collect();
    let calls: String = (0..FUNCTIONS).map(call).collect();
    format!(
        r#"(module {functions}
            (func (export "run") (param $n i32) (result i32) (local $x i32)
                (loop $again {calls}
                    (br_if $again (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
                (local.get $x)))"#
    )
}

/// Runs the program with bursts of these lengths; if the cost is limited, until there was time for a good sample.
fn run(lengths: BurstLengths) -> Result<(Module, Option<ProfilingCost>)> {
    let adaptive = Adaptive { lengths, ..Adaptive::default() };
    let mut config = Config::new();
    config.profiling(ProfilingConfig::Adaptive(adaptive));
    let engine = Engine::new(&config)?;
    let (mut store, module) = (Store::new(&engine, ()), Module::new(&engine, program())?);
    let instance = Linker::new(&engine).instantiate(&mut store, &module)?;
    let run = instance.get_typed_func::<i32, i32>(&mut store, "run")?;
    run.call(&mut store, 1)?;
    while engine.profiling_cost().is_some_and(|cost| cost.of < ENOUGH) {
        run.call(&mut store, 1000)?;
    }
    Ok((module, engine.profiling_cost()))
}

#[test]
fn by_default_a_program_is_sampled_as_far_as_that_costs_little() -> Outcome {
    let (module, cost) = run(BurstLengths::default())?;
    let cost = cost.ok_or("there is an account")?;
    // The last operation may take longer than estimated.
    let most = cost.of.mul_f64(0.03) + Duration::from_millis(4);
    assert!(cost.sum() - cost.reoptimization <= most, "{cost:?}");
    assert!(cost.reoptimization <= most, "{cost:?}");
    assert!(!cost.bursts.is_zero() && !cost.burst_code.is_zero(), "{cost:?}");
    assert!(module.ran() > FUNCTIONS as usize);
    Ok(())
}

#[test]
fn a_sample_of_a_certain_size_is_taken_whatever_it_costs() -> Outcome {
    let lengths = BurstLengths { checking: 50_000, ..BurstLengths::default() };
    assert!(run(lengths)?.1.is_none());
    Ok(())
}
