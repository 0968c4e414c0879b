//! Baseline code behaves as optimised code in places where code generators are prone to errors.

use wprof::*;

type Outcome = std::result::Result<(), Box<dyn std::error::Error>>;

/// Returns the outcomes of calls of `f`, traps included.
fn outcomes(strategy: Strategy, wat: &str, choices: &[Vec<Val>]) -> Result<Vec<String>> {
    let mut config = Config::new();
    config.strategy(strategy);
    let engine = Engine::new(&config)?;
    let mut store = Store::new(&engine, ());
    let instance = Instance::new(&mut store, &Module::new(&engine, wat)?, &[])?;
    let f = instance.get_func(&mut store, "f").expect("it is exported");
    let mut results: Vec<Val> = f.ty(&store).results().map(|_| Val::I32(0)).collect();
    let mut outcome = |params: &Vec<Val>| match f.call(&mut store, params, &mut results) {
        Ok(()) => format!("{results:?}"),
        Err(error) => format!("{:?}", error.trap()),
    };
    Ok(choices.iter().map(|params| format!("{params:?}: {}", outcome(params))).collect())
}

/// Calls `f` in both tiers with all choices of parameters; checks that the outcomes are equal, and returns them.
fn check(wat: &str, choices: &[Vec<Val>]) -> Result<Vec<String>> {
    let optimized = outcomes(Strategy::Optimized, wat, choices)?;
    assert_eq!(outcomes(Strategy::Baseline, wat, choices)?, optimized, "{wat}");
    Ok(optimized)
}

/// Returns all pairs of numbers.
fn pairs<T: Copy>(numbers: &[T], val: impl Fn(T) -> Val) -> Vec<Vec<Val>> {
    let pair = |&a: &T| numbers.iter().map(|&b| vec![val(a), val(b)]).collect::<Vec<_>>();
    numbers.iter().flat_map(pair).collect()
}

const I32S: [i32; 9] = [0, 1, -1, 2, 31, 32, i32::MIN, i32::MAX, 0x0001_ff80];
const I64S: [i64; 9] = [0, 1, -1, 63, 64, i64::MIN, i64::MAX, 1 << 32, 0xffff_ffff];

fn f64s() -> Vec<f64> {
    let limits = [31, 32, 63, 64].map(|bits| 2_f64.powi(bits));
    let around = limits.iter().flat_map(|&limit| [limit, -limit, limit - 1.0, -limit - 1.0, limit * 0.999]);
    let rest = [0.0, -0.0, 0.5, -0.5, -0.999, -1.0, 1.5, 2.5, f64::NAN, f64::INFINITY, f64::NEG_INFINITY];
    around.chain(rest).collect()
}

#[test]
fn integers_of_both_widths() -> Outcome {
    let operators = [
        "add", "sub", "mul", "div_s", "div_u", "rem_s", "rem_u", "and", "or", "xor", "shl", "shr_s", "shr_u",
        "rotl", "rotr", "eq", "ne", "lt_s", "lt_u", "gt_s", "gt_u", "le_s", "le_u", "ge_s", "ge_u",
    ];
    for op in operators {
        let is_comparison = "eq ne lt gt le ge".split(' ').any(|name| op.starts_with(name));
        for (ty, params) in [("i32", pairs(&I32S, Val::I32)), ("i64", pairs(&I64S, Val::I64))] {
            let result = if is_comparison { "i32" } else { ty };
            // Operands that are live later, and two identical operands.
            check(
                &format!(
                    "(module (func (export \"f\") (param {ty} {ty}) (result {result} {ty} {ty} {result})
                        ({ty}.{op} (local.get 0) (local.get 1)) (local.get 0) (local.get 1)
                        ({ty}.{op} (local.get 1) (local.get 1))))"
                ),
                &params,
            )?;
            for constant in [0, 1, -1, 31, 0x7fff_ffff] {
                check(
                    &format!(
                        "(module (func (export \"f\") (param {ty} {ty}) (result {result} {result})
                            ({ty}.{op} (local.get 0) ({ty}.const {constant}))
                            ({ty}.{op} ({ty}.const {constant}) (local.get 1))))"
                    ),
                    &params,
                )?;
            }
        }
    }
    Ok(())
}

/// The upper half of a register with a 32-bit number is zero, wherever the number came from.
#[test]
fn narrow_numbers_have_nothing_above_them() -> Outcome {
    let sources = [
        "(i32.wrap_i64 (local.get 0))",
        "(i32.shl (i32.wrap_i64 (local.get 0)) (i32.const 0))",
        "(i32.shl (i32.wrap_i64 (local.get 0)) (i32.wrap_i64 (i64.and (local.get 1) (i64.const 0))))",
        "(i32.rotl (i32.wrap_i64 (local.get 0)) (i32.wrap_i64 (local.get 1)))",
        "(select (i32.wrap_i64 (local.get 0)) (i32.wrap_i64 (local.get 1)) (i64.eqz (local.get 1)))",
        "(i32.extend8_s (i32.wrap_i64 (local.get 0)))",
        "(i32.extend16_s (i32.wrap_i64 (local.get 0)))",
        "(call $same (i32.wrap_i64 (local.get 0)))",
        "(i32.add (i32.wrap_i64 (local.get 0)) (i32.wrap_i64 (local.get 1)))",
        "(i32.div_s (i32.wrap_i64 (local.get 0)) (i32.const 3))",
        "(i32.popcnt (i32.wrap_i64 (local.get 0)))",
        "(i32.load8_s (i32.and (i32.wrap_i64 (local.get 0)) (i32.const 0xffff)))",
        "(i32.reinterpret_f32 (f32.convert_i64_s (local.get 0)))",
        "(i32.trunc_sat_f64_u (f64.convert_i64_u (local.get 0)))",
        "(i32.trunc_sat_f64_s (f64.convert_i64_s (local.get 0)))",
        "(i64.lt_s (local.get 0) (local.get 1))",
    ];
    let numbers = [0, 1, -1, 0x1234_5678_9abc_def0, 0xffff_ffff_8000_0000_u64 as i64, i64::MIN];
    for source in sources {
        for extend in ["i64.extend_i32_u", "i64.extend_i32_s"] {
            check(
                &format!(
                    "(module (memory 1) (data (i32.const 0) \"\\ff\\80\") (func $same (param i32) (result i32) (local.get 0))
                        (func (export \"f\") (param i64 i64) (result i64) ({extend} {source})))"
                ),
                &pairs(&numbers, Val::I64),
            )?;
        }
    }
    Ok(())
}

#[test]
fn floats() -> Outcome {
    let binary = ["add", "sub", "mul", "div", "min", "max", "copysign"];
    let compared = ["eq", "ne", "lt", "gt", "le", "ge"];
    let unary = ["abs", "neg", "ceil", "floor", "trunc", "nearest", "sqrt"];
    let values = f64s();
    for (ty, params) in [
        ("f64", pairs(&values, |value| Val::F64(value.to_bits()))),
        ("f32", pairs(&values, |value| Val::F32((value as f32).to_bits()))),
    ] {
        // The bits of a NaN are unspecified.
        let number = |value: &str| format!("(select ({ty}.const nan) {value} ({ty}.ne {value} {value}))");
        for op in binary {
            let computed = number(&format!("({ty}.{op} (local.get 0) (local.get 1))"));
            check(
                &format!(
                    "(module (func (export \"f\") (param {ty} {ty}) (result {ty} {ty}) {computed} (local.get 0)))"
                ),
                &params,
            )?;
        }
        for op in unary {
            let computed = number(&format!("({ty}.{op} (local.get 0))"));
            check(
                &format!(
                    "(module (func (export \"f\") (param {ty} {ty}) (result {ty} {ty}) {computed} (local.get 0)))"
                ),
                &params,
            )?;
        }
        for op in compared {
            check(
                &format!(
                    "(module (func (export \"f\") (param {ty} {ty}) (result i32 i32 {ty} i64)
                        ({ty}.{op} (local.get 0) (local.get 1))
                        (if (result i32) ({ty}.{op} (local.get 0) (local.get 1)) (then (i32.const 5)) (else (i32.const 6)))
                        (select ({ty}.const 1) ({ty}.const 2) ({ty}.{op} (local.get 0) (local.get 1)))
                        (select (i64.const 1) (i64.const 2) ({ty}.{op} (local.get 0) (local.get 1)))
                        (br_if 0 (i32.eqz ({ty}.{op} (local.get 1) (local.get 0))))))"
                ),
                &params,
            )?;
        }
        for to in ["i32", "i64"] {
            for sign in ["s", "u"] {
                for op in ["trunc", "trunc_sat"] {
                    check(
                        &format!(
                            "(module (func (export \"f\") (param {ty} {ty}) (result {to})
                                ({to}.{op}_{ty}_{sign} (local.get 0))))"
                        ),
                        &params,
                    )?;
                }
            }
        }
    }
    Ok(())
}

#[test]
fn floats_of_integers() -> Outcome {
    for ty in ["f32", "f64"] {
        for sign in ["s", "u"] {
            for (from, params) in [("i32", pairs(&I32S, Val::I32)), ("i64", pairs(&I64S, Val::I64))] {
                check(
                    &format!(
                        "(module (func (export \"f\") (param {from} {from}) (result {ty}) ({ty}.convert_{from}_{sign} (local.get 0))))"
                    ),
                    &params,
                )?;
            }
        }
    }
    Ok(())
}

/// Arguments are permuted, in cycles and on the stack, for calls and tail calls.
#[test]
fn arguments_are_passed_all_at_once() -> Outcome {
    let params = "(param i64 i64 i64 i64 i64 i64 f64 f64 i32 f32)";
    let sum = |order: &[usize]| order.iter().map(|place| format!("(local.get {place}) ")).collect::<String>();
    let (turned, same) = (sum(&[1, 2, 3, 0, 5, 4, 7, 6, 8, 9]), sum(&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]));
    let mix = "(i64.add (i64.mul (i64.add (i64.mul (local.get 0) (i64.const 3)) (local.get 1)) (i64.const 5))
        (i64.add (i64.sub (local.get 2) (i64.mul (local.get 3) (i64.const 7)))
            (i64.add (i64.mul (local.get 4) (i64.const 11)) (i64.add (i64.mul (local.get 5) (i64.const 13))
                (i64.add (i64.trunc_sat_f64_s (f64.sub (local.get 6) (local.get 7)))
                    (i64.add (i64.extend_i32_s (local.get 8)) (i64.trunc_sat_f32_s (local.get 9))))))))";
    let wat = format!(
        "(module (func $mix {params} (result i64) {mix})
            (func $tail {params} (result i64) (return_call $mix {turned}))
            (func $short {params} (result i64) (return_call $two (local.get 5) (local.get 0)))
            (func $two (param i64 i64) (result i64) (i64.sub (local.get 0) (local.get 1)))
            (func (export \"f\") {params} (result i64 i64 i64 i64 i64)
                (call $mix {same}) (call $mix {turned}) (call $tail {same}) (call $short {turned})
                (i64.add (local.get 0) (local.get 5))))"
    );
    let float = |value: f64| Val::F64(value.to_bits());
    let mut values: Vec<Val> = (1..7).map(|value| Val::I64(value * 1000)).collect();
    values.extend([float(17.0), float(4.5), Val::I32(-3), Val::F32(2.0_f32.to_bits())]);
    check(&wat, &[values])?;
    Ok(())
}

/// More values are live than there are registers, also across calls and branches.
#[test]
fn what_has_no_register_is_in_the_frame() -> Outcome {
    for (ty, params) in [("i64", pairs(&I64S[..4], Val::I64)), ("i32", pairs(&I32S[..4], Val::I32))] {
        let many: String = (1..30)
            .map(|k| format!("({ty}.add ({ty}.mul (local.get 0) ({ty}.const {k})) (local.get 1)) "))
            .collect();
        let fold = format!("({ty}.xor) ").repeat(28);
        let between = format!("(call $one (local.get 1)) ({ty}.sub) ");
        check(
            &format!(
                "(module (func $one (param {ty}) (result {ty}) ({ty}.const 1))
                    (func (export \"f\") (param {ty} {ty}) (result {ty})
                        {many} {between}
                        (if (param {ty}) (result {ty}) ({ty}.eqz (local.get 0)) (then (local.get 1) ({ty}.add)) (else (local.get 0) ({ty}.sub)))
                        {fold}))"
            ),
            &params,
        )?;
    }
    Ok(())
}

/// Nested sums, each of them used once, also as addresses.
#[test]
fn sums_that_wait_do_not_take_all_registers() -> Outcome {
    let mut sum = "(local.get 0)".to_string();
    for depth in 0..40 {
        sum = format!("(i64.add (i64.mul (local.get 1) (i64.const {depth})) {sum})");
    }
    let wat = format!(
        "(module (memory 1) (data (i32.const 0) \"12345678\") (func (export \"f\") (param i64 i64) (result i64 i64)
            {sum} (i64.load8_u offset=3 (i32.wrap_i64 (i64.and {sum} (i64.const 3))))))"
    );
    check(&wat, &pairs(&I64S, Val::I64))?;
    Ok(())
}

#[test]
fn switches() -> Outcome {
    let wat = "(module (func (export \"f\") (param i32 i32) (result i32)
        (block $c (block $b (block $a (br_table $a $b $a $c (i32.sub (local.get 0) (i32.const 1))))
            (return (i32.const 10))) (return (i32.const 20))) (i32.const 30)))";
    let outcomes = check(wat, &pairs(&I32S, Val::I32))?;
    assert!(outcomes[0].ends_with("[I32(30)]"), "{outcomes:?}");
    Ok(())
}

/// Functions with vectors are left to Cranelift: they call other functions and are called by them.
#[test]
fn vectors_among_other_values() -> Outcome {
    let wat = "(module
        (func $splat (param i64) (result v128) (i64x2.splat (local.get 0)))
        (func $high (param v128 i64) (result i64) (i64.add (i64x2.extract_lane 1 (local.get 0)) (local.get 1)))
        (func $plain (param i64) (result i64) (i64.mul (local.get 0) (i64.const 3)))
        (func (export \"f\") (param i64 i64) (result i64)
            (call $plain (call $high (call $splat (call $plain (local.get 0))) (local.get 1)))))";
    check(wat, &pairs(&I64S, Val::I64))?;
    Ok(())
}

/// A frame larger than a page is touched page by page: a stack overflow ends in an error, not beyond the guard page.
#[test]
fn large_frames_end_at_the_guard() -> Outcome {
    let many: String = (0..900).map(|k| format!("(i64.add (local.get 0) (i64.const {k})) ")).collect();
    let fold = "(i64.xor) ".repeat(899);
    let wat = format!(
        "(module (func $f (export \"f\") (param i64) (result i64)
            {many} (call $f (local.get 0)) (i64.xor) {fold}))"
    );
    let outcomes = check(&wat, &[vec![Val::I64(1)]])?;
    assert!(outcomes[0].ends_with("Some(StackOverflow)"), "{outcomes:?}");
    Ok(())
}

/// A cold block is written after the blocks that only it leads to: the values that they use must be in the frame
/// nevertheless. Here the block that ends in a trap is cold, and a block after it names its callee in the trace.
#[test]
fn cold_code_leads_to_code_that_is_written_before_it() -> Outcome {
    let wat = "(module
        (table funcref (elem $callee $callee)) (type $t (func (param i32 i64)))
        (global $called (export \"called\") (mut i64) (i64.const 0))
        (func $callee (param i32 i64)
            (global.set $called (i64.add (i64.extend_i32_s (local.get 0)) (local.get 1))))
        (func (export \"f\") (param i32 i64)
            (if (i32.and (local.get 0) (i32.const 1)) (then
                (if (i32.eqz (local.get 0)) (then (local.set 1 (i64.const 8))) (else (local.set 0 (i32.const 5))))
                (call_indirect (type $t) (i32.mul (local.get 0) (i32.const 3)) (i64.sub (local.get 1) (i64.const 3))
                    (i32.rem_u (local.get 0) (i32.const 2)))
                unreachable))))";
    let mut configs = vec![Config::new(); 4];
    configs[1].trace(Tracing::Best);
    configs[2].trace(Tracing::Best).trace_references(true);
    configs[3]
        .count_events([EventModel::built_in("instructions").expect("it is known")])
        .budget("instructions");
    for mut config in configs {
        config.strategy(Strategy::Baseline);
        let engine = Engine::new(&config)?;
        let mut store = Store::new(&engine, ());
        if config.meters("instructions") {
            store.set_budget("instructions", 1 << 20)?;
        }
        let instance = Instance::new(&mut store, &Module::new(&engine, wat)?, &[])?;
        let f = instance.get_func(&mut store, "f").expect("it is exported");
        let error = f.call(&mut store, &[Val::I32(1), Val::I64(40)], &mut []).expect_err("it traps");
        assert_eq!(error.trap(), Some(Trap::UnreachableCodeReached), "{error}");
        let called = instance.get_global(&mut store, "called").expect("it is exported");
        assert_eq!(called.get(&mut store).i64(), Some(52));
    }
    Ok(())
}
