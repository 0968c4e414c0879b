//! Typed function references: calls by reference, branches on null, subtypes, and types that modules share.

use wprof::profiler::BurstLengths;
use wprof::*;

type Outcome = std::result::Result<(), Box<dyn std::error::Error>>;

/// Functions of a type, of its subtype, and of another type, in a table and by reference. Each export takes the number
/// of the function to call, and a value.
const WAT: &str = r#"(module
    (type $unary (sub (func (param i32) (result i32))))
    (type $below (sub $unary (func (param i32) (result i32))))
    (type $lowest (sub final $below (func (param i32) (result i32))))
    (type $other (func (param i64) (result i32)))
    (table $all 6 funcref)
    (elem (table $all) (i32.const 0) funcref
        (ref.func $double) (ref.func $square) (ref.func $negate) (ref.func $other) (ref.null func) (ref.func $divide))
    (table $typed 6 6 (ref null $unary))
    (elem (table $typed) (i32.const 0) (ref null $unary)
        (ref.func $double) (ref.func $square) (ref.func $negate) (ref.null $lowest) (ref.null nofunc)
        (ref.func $divide))
    (table $full 3 (ref $unary) (ref.func $square))
    (func $double (type $unary) (i32.mul (local.get 0) (i32.const 2)))
    (func $square (type $below) (i32.mul (local.get 0) (local.get 0)))
    (func $negate (type $lowest) (i32.sub (i32.const 0) (local.get 0)))
    (func $divide (type $below) (i32.div_u (i32.const 1000) (i32.sub (local.get 0) (i32.const 7))))
    (func $other (type $other) (i32.wrap_i64 (local.get 0)))
    (func (export "reference") (param $which i32) (param $value i32) (result i32)
        (i32.add (i32.const 1)
            (call_ref $unary (local.get $value) (table.get $typed (local.get $which)))))
    (func $tail (export "tail") (param $which i32) (param $value i32) (result i32)
        (return_call_ref $unary (local.get $value) (table.get $typed (local.get $which))))
    (func (export "unary") (param $which i32) (param $value i32) (result i32)
        (call_indirect $all (type $unary) (local.get $value) (local.get $which)))
    (func (export "below") (param $which i32) (param $value i32) (result i32)
        (call_indirect $all (type $below) (local.get $value) (local.get $which)))
    (func (export "lowest") (param $which i32) (param $value i32) (result i32)
        (return_call_indirect $all (type $lowest) (local.get $value) (local.get $which)))
    (func (export "typed") (param $which i32) (param $value i32) (result i32)
        (call_indirect $typed (type $unary) (local.get $value) (local.get $which)))
    (func (export "full") (param $which i32) (param $value i32) (result i32)
        (call_ref $unary (local.get $value) (table.get $full (local.get $which))))
    (func (export "non_null") (param $which i32) (param $value i32) (result i32) (local $f (ref $unary))
        (local.set $f (ref.as_non_null (table.get $typed (local.get $which))))
        (call_ref $unary (call_ref $unary (local.get $value) (local.get $f)) (local.get $f)))
    (func (export "on_null") (param $which i32) (param $value i32) (result i32)
        (block $null (result i32)
            (local.get $value) (i32.const -1)
            (br_on_null $null (table.get $typed (local.get $which)))
            (call_ref $unary) (i32.add)))
    (func (export "on_non_null") (param $which i32) (param $value i32) (result i32)
        (block $found (result i32 (ref $unary))
            (i32.const 17) (local.get $value)
            (br_on_non_null $found (table.get $typed (local.get $which)))
            (drop) (return))
        (call_ref $unary) (i32.const 3) (i32.add))
    (func (export "many") (param $which i32) (param $value i32) (result i32) (local $sum i32)
        (loop $again
            (local.set $sum (i32.add (local.get $sum) (call $tail (local.get $which) (local.get $value))))
            (block $null
                (local.set $sum (i32.add (local.get $sum)
                    (call_ref $unary (i32.const 3)
                        (br_on_null $null (table.get $typed (i32.and (local.get $value) (i32.const 1))))))))
            (br_if $again (local.tee $value (i32.sub (local.get $value) (i32.const 1)))))
        (local.get $sum)))"#;

const EXPORTS: [&str; 10] =
    ["reference", "tail", "unary", "below", "lowest", "typed", "full", "non_null", "on_null", "on_non_null"];

/// Returns the outcome of a call: a result, or the trap and the place of each frame.
fn call(store: &mut Store<()>, instance: &Instance, name: &str, args: (i32, i32)) -> Result<String> {
    let f = instance.get_typed_func::<(i32, i32), i32>(&mut *store, name)?;
    Ok(match f.call(store, args) {
        Ok(result) => format!("{name} {args:?}: {result}"),
        Err(error) => {
            let frames = error.backtrace().expect("a trap has one").frames();
            let frames: Vec<_> = frames.iter().map(|f| (f.func_index(), f.func_offset())).collect();
            format!("{name} {args:?}: {:?} at {frames:?}", error.trap().expect("a trap"))
        }
    })
}

fn outcomes(config: &Config) -> Result<(Vec<String>, Option<profiler::Profile>)> {
    let engine = Engine::new(config)?;
    let mut store = Store::new(&engine, ());
    let instance = Instance::new(&mut store, &Module::new(&engine, WAT)?, &[])?;
    let mut all = Vec::new();
    for name in EXPORTS.into_iter().chain(["many"]).chain(EXPORTS) {
        for which in 0..7 {
            for value in if name == "many" { [300, 6] } else { [300, 7] } {
                all.push(call(&mut store, &instance, name, (which, value))?);
            }
        }
    }
    Ok((all, instance.profile(&store).ok()))
}

fn configs() -> Vec<Config> {
    let mut all = Vec::new();
    let bursts = Adaptive { lengths: BurstLengths::new(3, 5), ..Adaptive::default() };
    for strategy in [Strategy::Baseline, Strategy::Optimized, Strategy::Tiered] {
        for profiling in [
            ProfilingConfig::Off,
            ProfilingConfig::Exact(Collect::Edges),
            ProfilingConfig::Exact(Collect::Paths),
            ProfilingConfig::Adaptive(bursts),
        ] {
            let mut config = Config::new();
            config.strategy(strategy).profiling(profiling);
            config.background_compilation(false).promote_after(3);
            if matches!(profiling, ProfilingConfig::Adaptive(_)) {
                config.reoptimization(Some(Policy::eager()));
            }
            all.push(config);
        }
    }
    all
}

#[test]
fn calls_and_branches_do_the_same_in_every_version() -> Outcome {
    let (known, _) = outcomes(&Config::new())?;
    for config in configs() {
        assert_eq!(outcomes(&config)?.0, known, "{config:?}");
    }
    let of = |text: &str| {
        let found = known.iter().find(|line| line.starts_with(text)).expect("called");
        found[text.len()..].trim_start_matches(": ").to_owned()
    };
    assert_eq!(of("reference (1, 300)"), "90001");
    assert!(of("reference (3, 300)").starts_with("NullReference at ["), "{}", of("reference (3, 300)"));
    assert!(of("tail (4, 300)").starts_with("NullReference at ["));
    assert!(of("reference (5, 7)").starts_with("IntegerDivisionByZero at ["), "{}", of("reference (5, 7)"));
    assert_eq!(of("unary (2, 300)"), "-300");
    assert_eq!([of("below (1, 300)"), of("below (2, 300)")], ["90000", "-300"]);
    assert!(of("below (0, 300)").starts_with("BadSignature at ["), "a type above is not of it");
    assert!(of("unary (3, 300)").starts_with("BadSignature at ["));
    assert!(of("unary (4, 300)").starts_with("IndirectCallToNull at ["));
    assert!(of("lowest (1, 300)").starts_with("BadSignature at ["));
    assert!(of("typed (4, 300)").starts_with("IndirectCallToNull at ["));
    assert!(of("typed (6, 300)").starts_with("TableOutOfBounds at ["));
    assert_eq!(of("full (2, 20)".replace("20", "300").as_str()), "90000");
    assert_eq!(of("non_null (0, 300)"), "1200");
    assert!(of("non_null (3, 300)").starts_with("NullReference at ["));
    assert_eq!([of("on_null (0, 300)"), of("on_null (3, 300)")], ["298", "-1"]);
    assert_eq!([of("on_non_null (2, 300)"), of("on_non_null (4, 300)")], ["-297", "17"]);
    Ok(())
}

#[test]
fn few_counters_say_what_all_say_where_references_are_null() -> Outcome {
    for strategy in [Strategy::Baseline, Strategy::Optimized] {
        let profile = |collect| -> Result<profiler::Profile> {
            let (_, profile) =
                outcomes(Config::new().strategy(strategy).profiling(ProfilingConfig::Exact(collect)))?;
            Ok(profile.expect("it profiles"))
        };
        let (few, all) = (profile(Collect::Edges)?, profile(Collect::AllEdges)?);
        few.verify()?;
        for (few, all) in few.functions.iter().zip(&all.functions) {
            assert_eq!((&few.counts, &few.blocks), (&all.counts, &all.blocks), "function {}", few.index);
        }
    }
    Ok(())
}

#[test]
fn bursts_count_the_callees_of_calls_by_reference() -> Outcome {
    let lengths = BurstLengths::new(1, BurstLengths::FOREVER);
    let mut config = Config::new();
    config.profiling(ProfilingConfig::Adaptive(Adaptive { lengths, ..Adaptive::default() }));
    config.strategy(Strategy::Optimized).background_compilation(false);
    let engine = Engine::new(&config)?;
    let mut store = Store::new(&engine, ());
    let instance = Instance::new(&mut store, &Module::new(&engine, WAT)?, &[])?;
    let many = instance.get_typed_func::<(i32, i32), i32>(&mut store, "many")?;
    many.call(&mut store, (2, 100))?;
    let mut counts: Vec<_> =
        instance.call_targets(&store).iter().map(|t| (t.callee.clone(), t.count)).collect();
    counts.sort_unstable_by_key(|&(_, count)| count);
    let counts: Vec<u64> = counts.into_iter().map(|(_, count)| count).collect();
    // Half of the calls each, and the tail calls.
    assert_eq!(counts, [50, 50, 100]);
    Ok(())
}

#[test]
fn a_likely_callee_of_a_call_by_reference_is_inlined() -> Outcome {
    let lengths = BurstLengths::new(3, 5);
    let mut config = Config::new();
    config.profiling(ProfilingConfig::Adaptive(Adaptive { lengths, ..Adaptive::default() }));
    config.reoptimization(Some(Policy::eager())).strategy(Strategy::Tiered).promote_after(2);
    config.background_compilation(false);
    let engine = Engine::new(&config)?;
    let (mut store, module) = (Store::new(&engine, ()), Module::new(&engine, LIKELY)?);
    let instance = Instance::new(&mut store, &module, &[])?;
    for (which, expected) in [(0, 1500), (0, 1500), (0, 1500), (1, 4500), (0, 1500)] {
        let run = instance.get_typed_func::<(i32, i32), i32>(&mut store, "run")?;
        assert_eq!(run.call(&mut store, (1500, which))?, expected);
    }
    let run = instance.get_typed_func::<(i32, i32), i32>(&mut store, "run")?;
    assert_eq!(run.call(&mut store, (9, 2)).expect_err("null").trap(), Some(Trap::NullReference));
    let all = module.reoptimizations();
    let verdicts: Vec<_> = all.iter().flat_map(|done| &done.decisions).map(|d| &d.verdict).collect();
    assert!(verdicts.iter().any(|v| matches!(v, Verdict::Inlined { callee: 0, .. })), "{verdicts:?}");
    Ok(())
}

const LIKELY: &str = r#"(module
    (type $unary (func (param i32) (result i32)))
    (table $t 3 (ref null $unary))
    (elem (table $t) (i32.const 0) (ref null $unary) (ref.func $one) (ref.func $three))
    (func $one (type $unary) (i32.add (local.get 0) (i32.const 1)))
    (func $three (type $unary) (i32.add (local.get 0) (i32.const 3)))
    (func (export "run") (param $n i32) (param $which i32) (result i32) (local $sum i32) (local $f (ref null $unary))
        (local.set $f (table.get $t (local.get $which)))
        (loop $again
            (local.set $sum (call_ref $unary (local.get $sum) (local.get $f)))
            (br_if $again (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
        (local.get $sum)))"#;

/// Reports whether a module with an import of one type links with a module whose function has another type.
fn links(expected: &str, found: &str) -> Result<bool> {
    let types = "(type $a (sub (func (result funcref)))) (type $b (sub $a (func (result (ref func)))))
        (rec (type $r (sub (func (param (ref null $r)))))) (rec (type $s (sub (func (param (ref null $s))))))
        (rec (type $p (sub (func))) (type $q (sub (func (param (ref null $p))))))";
    let engine = Engine::default();
    let mut store = Store::new(&engine, ());
    let exporting = format!("(module {types} {found})");
    let exporter = Instance::new(&mut store, &Module::new(&engine, exporting)?, &[])?;
    let item = exporter.get_export(&mut store, "x").expect("exported");
    // The indices differ, the types are the same.
    let importing = format!("(module (type (func (param f64 f64))) {types} (import \"m\" \"x\" {expected}))");
    let module = Module::new(&engine, importing)?;
    match Instance::new(&mut store, &module, &[item]) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == ErrorKind::Link => Ok(false),
        Err(error) => Err(error),
    }
}

#[test]
fn imports_may_be_of_a_type_below_the_expected_one() -> Outcome {
    let func = |ty: &str| format!("(func (export \"x\") (type {ty}) unreachable)");
    let expected = |ty: &str| format!("(func (type {ty}))");
    for (wanted, found, fits) in [
        ("$a", "$a", true),
        ("$a", "$b", true),
        ("$b", "$a", false),
        ("$r", "$s", true),
        ("$p", "$a", false),
        ("$q", "$r", false),
    ] {
        assert_eq!(links(&expected(wanted), &func(found))?, fits, "{found} as {wanted}");
    }
    let global =
        |ty: &str, init: &str| format!("(func $f (type $b) unreachable) (global (export \"x\") {ty} {init})");
    for (wanted, found, init, fits) in [
        ("funcref", "(ref $b)", "(ref.func $f)", true),
        ("(ref null $a)", "(ref $b)", "(ref.func $f)", true),
        ("(ref $a)", "(ref null $b)", "(ref.null $b)", false),
        ("(mut funcref)", "(mut (ref null $b))", "(ref.null $b)", false),
        ("(mut (ref null $b))", "(mut (ref null $b))", "(ref.null $b)", true),
        ("(ref $r)", "(ref $b)", "(ref.func $f)", false),
    ] {
        let fitted = links(&format!("(global {wanted})"), &global(found, init))?;
        assert_eq!(fitted, fits, "{found} as {wanted}");
    }
    let table = |ty: &str| format!("(table (export \"x\") 1 {ty})");
    assert!(links("(table 1 (ref null $a))", &table("(ref null $a)"))?);
    assert!(!links("(table 1 funcref)", &table("(ref null $a)"))?, "others write to it");
    Ok(())
}

#[test]
fn the_host_gives_only_what_is_of_the_type() -> Outcome {
    let engine = Engine::default();
    let mut store = Store::new(&engine, ());
    let unary = FuncType::new([ValType::I32], [ValType::I32]);
    let f = Func::wrap(&mut store, |n: i32| n + 1);
    let other = Func::wrap(&mut store, |n: i64| n);
    let reference = RefType::new(false, HeapType::ConcreteFunc(unary.clone()));
    let module = Module::new(
        &engine,
        r#"(module (type $u (func (param i32) (result i32)))
            (global (export "g") (mut (ref $u)) (ref.func $f)) (func $f (type $u) (i32.const 5))
            (table (export "t") 2 (ref null $u))
            (func (export "call") (param (ref $u)) (result i32) (call_ref $u (i32.const 41) (local.get 0)))
            (func (export "through") (result i32) (call_ref $u (i32.const 1) (global.get 0))))"#,
    )?;
    let instance = Instance::new(&mut store, &module, &[])?;
    let call = instance.get_func(&mut store, "call").expect("exported");
    assert_eq!(call.ty(&store), FuncType::new([ValType::Ref(reference.clone())], [ValType::I32]));
    let mut results = [Val::I32(0)];
    call.call(&mut store, &[f.into()], &mut results)?;
    assert_eq!(results[0].i32(), Some(42));
    for wrong in [Val::FuncRef(None), Val::FuncRef(Some(other)), Val::ExternRef(None)] {
        let error = call.call(&mut store, &[wrong], &mut results).expect_err("not of the type");
        assert_eq!(error.kind(), ErrorKind::Type, "{error}");
    }
    let global = instance.get_global(&mut store, "g").expect("exported");
    global.set(&mut store, f.into())?;
    assert!(
        global.set(&mut store, other.into()).is_err() && global.set(&mut store, Val::FuncRef(None)).is_err()
    );
    assert_eq!(instance.get_typed_func::<(), i32>(&mut store, "through")?.call(&mut store, ())?, 2);
    let table = instance.get_table(&mut store, "t").expect("exported");
    table.set(&mut store, 0, Ref::Func(Some(f)))?;
    table.set(&mut store, 0, Ref::Func(None))?;
    assert!(table.set(&mut store, 0, Ref::Func(Some(other))).is_err());
    assert!(table.grow(&mut store, 1, Ref::Func(Some(other))).is_err());
    assert!(Ref::Func(Some(f)).matches_ty(&store, &reference));
    assert!(!Ref::Func(Some(other)).matches_ty(&store, &reference));
    // A host function whose results are not of the promised types.
    let promised = FuncType::new([], [ValType::Ref(reference)]);
    let broken = Func::new(&mut store, promised, move |_, _, results| {
        results[0] = other.into();
        Ok(())
    });
    let error = broken.call(&mut store, &[], &mut [Val::FuncRef(None)]).expect_err("of another type");
    assert!(error.to_string().contains("host function"), "{error}");
    Ok(())
}

#[test]
fn proposals_can_be_switched_off() -> Outcome {
    let typed = "(module (type $f (func)) (func (param (ref $f)) (call_ref $f (local.get 0))))";
    let recursive = "(module (type $f (sub (func))) (type (sub $f (func))))";
    let mut config = Config::new();
    config.wasm_gc(false);
    Module::new(&Engine::new(&config)?, typed)?;
    let error = Module::new(&Engine::new(&config)?, recursive).expect_err("off");
    assert!(error.to_string().contains("Config::wasm_gc"), "{error}");
    config.wasm_gc(true).wasm_function_references(false);
    let error = Module::new(&Engine::new(&config)?, typed).expect_err("off");
    assert!(error.to_string().contains("Config::wasm_function_references"), "{error}");
    Ok(())
}

#[test]
fn types_of_many_modules_and_engines_are_told_apart() -> Outcome {
    let kept = Engine::default();
    for round in 0..200 {
        let params = "i32 ".repeat(round % 7 + 1);
        let text = format!(
            "(module (type $f (sub (func (param {params})))) (type $g (sub $f (func (param {params}))))
                (rec (type $a (func (param (ref $b)))) (type $b (func (param (ref $a) (ref $g)))))
                (func $x (type $g)) (table (export \"t\") 1 funcref)
                (elem (i32.const 0) $x)
                (func (export \"run\") {} (call_indirect (type $f) (i32.const 0))))",
            "(i32.const 1) ".repeat(round % 7 + 1)
        );
        for engine in [&kept, &Engine::default()] {
            let mut store = Store::new(engine, ());
            let instance = Instance::new(&mut store, &Module::new(engine, &text)?, &[])?;
            instance.get_typed_func::<(), ()>(&mut store, "run")?.call(&mut store, ())?;
        }
    }
    Ok(())
}
