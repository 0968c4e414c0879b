//! JavaScript strings: the builtins and string constants, in all tiers, and their limits.

use wprof::*;

type Outcome = std::result::Result<(), Box<dyn std::error::Error>>;

/// All builtins, exported, with their types as in the proposal.
const ALL: &str = r#"(module
    (type $units (array (mut i16)))
    (import "wasm:js-string" "cast" (func $cast (param externref) (result (ref extern))))
    (import "wasm:js-string" "test" (func $test (param externref) (result i32)))
    (import "wasm:js-string" "fromCharCodeArray"
        (func $from (param (ref null $units) i32 i32) (result (ref extern))))
    (import "wasm:js-string" "intoCharCodeArray" (func $into (param externref (ref null $units) i32) (result i32)))
    (import "wasm:js-string" "fromCharCode" (func $char (param i32) (result (ref extern))))
    (import "wasm:js-string" "fromCodePoint" (func $point (param i32) (result (ref extern))))
    (import "wasm:js-string" "charCodeAt" (func $char_at (param externref i32) (result i32)))
    (import "wasm:js-string" "codePointAt" (func $point_at (param externref i32) (result i32)))
    (import "wasm:js-string" "length" (func $length (param externref) (result i32)))
    (import "wasm:js-string" "concat" (func $concat (param externref externref) (result (ref extern))))
    (import "wasm:js-string" "substring" (func $substring (param externref i32 i32) (result (ref extern))))
    (import "wasm:js-string" "equals" (func $equals (param externref externref) (result i32)))
    (import "wasm:js-string" "compare" (func $compare (param externref externref) (result i32)))
    (import "'" "constant" (global $constant (ref extern)))
    (import "'" "" (global $empty externref))
    (export "cast" (func $cast)) (export "test" (func $test)) (export "fromCharCode" (func $char))
    (export "fromCodePoint" (func $point)) (export "charCodeAt" (func $char_at))
    (export "codePointAt" (func $point_at)) (export "length" (func $length)) (export "concat" (func $concat))
    (export "substring" (func $substring)) (export "equals" (func $equals)) (export "compare" (func $compare))
    (func (export "constants") (result externref) (call $concat (global.get $constant) (global.get $empty)))
    ;; Through an array of `size` units at `at`, and back from `start` to `end`.
    (func (export "through") (param $s externref) (param $size i32) (param $at i32) (param $start i32) (param $end i32)
        (result externref) (local $array (ref $units))
        (local.set $array (array.new_default $units (local.get $size)))
        (drop (call $into (local.get $s) (local.get $array) (local.get $at)))
        (call $from (local.get $array) (local.get $start) (local.get $end)))
    (func (export "from-null") (result externref) (call $from (ref.null $units) (i32.const 0) (i32.const 0)))
    (func (export "into-null") (result i32) (call $into (global.get $constant) (ref.null $units) (i32.const 0)))
    ;; Doubles a string so many times.
    (func (export "double") (param $s externref) (param $n i32) (result externref)
        (loop $again
            (local.set $s (call $concat (local.get $s) (local.get $s)))
            (br_if $again (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
        (local.get $s))
    ;; Makes so much garbage, and counts units.
    (func (export "garbage") (param $s externref) (param $n i32) (result i32) (local $units i32)
        (loop $again
            (local.set $units (i32.add (local.get $units)
                (call $length (call $concat (local.get $s) (call $char (local.get $n))))))
            (br_if $again (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
        (local.get $units)))"#;

fn string(text: &str) -> Val {
    Val::ExternRef(Some(ExternRef::new(JsString::from(text))))
}

/// Describes a value: a string's text, a number, or nothing.
fn told(value: &Val) -> String {
    match value {
        Val::ExternRef(Some(value)) => {
            value.downcast_ref::<JsString>().map_or("no string".to_owned(), JsString::to_string)
        }
        Val::I32(value) => value.to_string(),
        _ => String::new(),
    }
}

struct Program {
    store: Store<()>,
    instance: Instance,
}

impl Program {
    fn new(engine: &Engine, limits: StoreLimits) -> Result<Program> {
        let module = Module::new(engine, ALL)?;
        let mut store = Store::new(engine, ());
        store.set_limits(limits);
        let mut linker = Linker::new(engine);
        linker.define_js_strings()?.define_string_constants(&mut store, &module, "'")?;
        let instance = linker.instantiate(&mut store, &module)?;
        Ok(Program { store, instance })
    }

    fn call(&mut self, name: &str, args: &[Val]) -> Result<String> {
        let func = self.instance.get_func(&mut self.store, name).expect("exported");
        let mut results = [Val::I32(0)];
        func.call(&mut self.store, args, &mut results)?;
        Ok(told(&results[0]))
    }

    fn trap(&mut self, name: &str, args: &[Val]) -> Option<Trap> {
        self.call(name, args).expect_err("it traps").trap()
    }
}

fn engines() -> Vec<Engine> {
    let with = |change: &dyn Fn(&mut Config)| {
        let mut config = Config::new();
        change(&mut config);
        Engine::new(&config).expect("valid")
    };
    vec![
        with(&|config| {
            config.strategy(Strategy::Baseline);
        }),
        with(&|config| {
            config.strategy(Strategy::Optimized);
        }),
        with(&|config| {
            config.profiling(ProfilingConfig::Exact(Collect::Paths)).count_contexts(true);
        }),
        with(&|config| {
            config.gc_stress(true);
        }),
    ]
}

#[test]
fn builtins_do_what_the_proposal_says() -> Outcome {
    for engine in engines() {
        let mut program = Program::new(&engine, StoreLimits::default())?;
        let mut call = |name: &str, args: &[Val]| program.call(name, args).expect(name);
        let (null, other) = (Val::ExternRef(None), Val::ExternRef(Some(ExternRef::new(7))));
        let smile = string("a\u{1f600}");
        assert_eq!(call("constants", &[]), "constant");
        assert_eq!(call("cast", &[string("x")]), "x");
        let tests = [string(""), null.clone(), other].map(|value| call("test", &[value]));
        assert_eq!(tests, ["1", "0", "0"]);
        assert_eq!(call("fromCharCode", &[Val::I32(0x1_0041)]), "A", "only the low half counts");
        assert_eq!(call("fromCodePoint", &[Val::I32(0x1f600)]), "\u{1f600}");
        assert_eq!(call("length", std::slice::from_ref(&smile)), "3");
        assert_eq!(call("charCodeAt", &[smile.clone(), Val::I32(1)]), 0xd83d.to_string());
        assert_eq!(call("codePointAt", &[smile.clone(), Val::I32(1)]), 0x1f600.to_string());
        assert_eq!(call("codePointAt", &[smile.clone(), Val::I32(2)]), 0xde00.to_string());
        assert_eq!(call("concat", &[smile, string("b")]), "a\u{1f600}b");
        let part = |start, end| [string("abcd"), Val::I32(start), Val::I32(end)];
        let parts =
            [(1, 3), (1, -1), (3, 1), (-1, -1)].map(|(start, end)| call("substring", &part(start, end)));
        assert_eq!(parts, ["bc", "bcd", "", ""]);
        assert_eq!(call("equals", &[null.clone(), null.clone()]), "1");
        assert_eq!(call("equals", &[null, string("a")]), "0");
        assert_eq!(call("equals", &[string("a"), string("a")]), "1");
        let orders = [("a", "b"), ("b", "ab"), ("a", "a"), ("a", "ab"), ("\u{ffff}", "\u{1f600}")];
        let orders = orders.map(|(a, b)| call("compare", &[string(a), string(b)]));
        assert_eq!(orders, ["-1", "1", "0", "-1", "1"], "by units, not by code points");
        let through =
            |at, start, end| [string("xyz"), Val::I32(6), Val::I32(at), Val::I32(start), Val::I32(end)];
        assert_eq!(call("through", &through(2, 2, 5)), "xyz");
        assert_eq!(call("through", &through(3, 4, 4)), "");
        assert_eq!(call("through", &through(0, 1, 4)), "yz\0");
    }
    Ok(())
}

#[test]
fn what_is_no_string_or_beyond_its_end_traps() -> Outcome {
    for engine in engines() {
        let mut program = Program::new(&engine, StoreLimits::default())?;
        let (null, other) = (Val::ExternRef(None), Val::ExternRef(Some(ExternRef::new(7))));
        for bad in [null, other.clone()] {
            let zero = Val::I32(0);
            let (good, zeros) = (string("a"), [zero.clone(), zero.clone()]);
            for args in [vec![bad.clone()], vec![bad.clone(), good.clone()], vec![good, bad.clone()]] {
                let names: &[&str] =
                    if args.len() == 1 { &["cast", "length"] } else { &["concat", "compare"] };
                names.iter().for_each(|name| {
                    assert_eq!(program.trap(name, &args), Some(Trap::CastFailure), "{name}");
                });
            }
            for name in ["charCodeAt", "codePointAt"] {
                assert_eq!(program.trap(name, &[bad.clone(), zero.clone()]), Some(Trap::CastFailure));
            }
            let [from, to] = zeros;
            assert_eq!(program.trap("substring", &[bad, from, to]), Some(Trap::CastFailure));
        }
        assert_eq!(program.trap("equals", &[string("a"), other]), Some(Trap::CastFailure));
        for (name, at) in [("charCodeAt", 1), ("charCodeAt", -1), ("codePointAt", 1)] {
            assert_eq!(program.trap(name, &[string("a"), Val::I32(at)]), Some(Trap::StringOutOfBounds));
        }
        for point in [0x11_0000, -1] {
            assert_eq!(program.trap("fromCodePoint", &[Val::I32(point)]), Some(Trap::BadCodePoint));
        }
        for name in ["from-null", "into-null"] {
            assert_eq!(program.trap(name, &[]), Some(Trap::NullReference));
        }
        for (at, start, end) in [(4, 0, 0), (-1, 0, 0), (7, 0, 0), (0, 2, 1), (0, 0, 7), (0, -1, -1)] {
            let numbers = [6, at, start, end].map(Val::I32);
            let args: Vec<_> = [string("xyz")].into_iter().chain(numbers).collect();
            assert_eq!(program.trap("through", &args), Some(Trap::ArrayOutOfBounds), "{at} {start} {end}");
        }
    }
    Ok(())
}

#[test]
fn strings_count_against_the_limit_of_the_heap_until_they_are_garbage() -> Outcome {
    for engine in engines() {
        let limits = StoreLimits { heap_bytes: 1 << 20, ..StoreLimits::default() };
        let mut program = Program::new(&engine, limits)?;
        assert_eq!(program.call("double", &[string("x"), Val::I32(17)])?.len(), 1 << 17);
        assert_eq!(program.trap("double", &[string("x"), Val::I32(40)]), Some(Trap::GcOutOfMemory));
        // Twenty times the permitted amount.
        let text = "y".repeat(9_999);
        assert_eq!(program.call("garbage", &[string(&text), Val::I32(1000)])?, (10_000 * 1000).to_string());
    }
    Ok(())
}

#[test]
fn imports_of_other_types_are_refused() -> Outcome {
    let engine = Engine::default();
    let mut linker = Linker::<()>::new(&engine);
    linker.define_js_strings()?;
    let mut instantiate = |wat: &str| -> Result<Instance> {
        let module = Module::new(&engine, wat)?;
        let mut store = Store::new(&engine, ());
        linker.define_string_constants(&mut store, &module, "'")?;
        linker.instantiate(&mut store, &module)
    };
    let from = |array: &str| {
        format!(
            r#"(module (type $a {array}) (import "wasm:js-string" "fromCharCodeArray"
                (func (param (ref null $a) i32 i32) (result externref))))"#
        )
    };
    instantiate(r#"(module (import "wasm:js-string" "length" (func (param externref) (result i32))))"#)?;
    for (wat, what) in [
        (from("(array i16)"), "incompatible import type"),
        (from("(array (mut i32))"), "incompatible import type"),
        (from("(sub (array (mut i16)))"), "incompatible import type"),
        (
            r#"(module (import "wasm:js-string" "length" (func (param externref) (result i64))))"#.into(),
            "incompatible",
        ),
        (r#"(module (import "wasm:js-string" "shout" (func (param externref))))"#.into(), "shout"),
        (r#"(module (import "'" "x" (global (mut externref))))"#.into(), "not defined"),
        (r#"(module (import "'" "x" (global i32)))"#.into(), "not defined"),
    ] {
        let error = instantiate(&wat).expect_err("refused").to_string();
        assert!(error.contains(what), "{error}");
    }
    Ok(())
}

#[test]
fn profiles_name_builtins() -> Outcome {
    let mut config = Config::new();
    config.profiling(ProfilingConfig::Exact(Collect::Edges)).count_contexts(true);
    let engine = Engine::new(&config)?;
    let mut program = Program::new(&engine, StoreLimits::default())?;
    program.call("garbage", &[string("z"), Val::I32(10)])?;
    let profile = program.instance.profile(&program.store)?;
    let tree = profile.contexts.as_ref().expect("counted");
    let calls = |name: &str| -> u64 {
        let named = |&record: &u32| tree.callee(record).to_string().contains(name);
        (0..tree.records.len() as u32).filter(named).map(|record| tree.records[record as usize].calls).sum()
    };
    assert_eq!((calls("concat"), calls("fromCharCode"), calls("compare")), (10, 10, 0));
    Ok(())
}
