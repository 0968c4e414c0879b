//! Adapters: what calls between components do beside passing values, and where there are none.

use wprof::component::{Component, Linker, Val};
use wprof::profiler::Callee;
use wprof::*;

type Outcome = std::result::Result<(), Box<dyn std::error::Error>>;

/// Returns a component in which `a` calls `f` of `b`, whose core modules have this code, and which both import `out`.
fn two(ty: &str, [caller, callee]: [&str; 2], [options, lift]: [&str; 2]) -> String {
    let memory = r#"(memory (export "memory") 1)
        (func (export "realloc") (param i32 i32 i32 i32) (result i32) (i32.const 1024))"#;
    format!(
        r#"(component
  (import "out" (func $out))
  (component $B
    (import "out" (func $out))
    (core func $out' (canon lower (func $out)))
    (core module $m (import "" "out" (func $out)) {memory} {callee})
    (core instance $m (instantiate $m (with "" (instance (export "out" (func $out'))))))
    (func $f {ty} (canon lift (core func $m "f") (memory (core memory $m "memory")) {lift}))
    (instance $i (export "f" (func $f)))
    (export "test:two/b" (instance $i)))
  (component $A
    (import "test:two/b" (instance $b (export "f" (func {ty}))))
    (core module $libc {memory})
    (core instance $libc (instantiate $libc))
    (core func $f (canon lower (func $b "f")
      (memory (core memory $libc "memory")) (realloc (core func $libc "realloc")) {options}))
    (core module $m (import "libc" "memory" (memory 1)) {caller})
    (core instance $m (instantiate $m (with "libc" (instance $libc))
      (with "b" (instance (export "f" (func $f))))))
    (func (export "run") (param "x" u32) (result u32) (canon lift (core func $m "run"))))
  (instance $b (instantiate $B (with "out" (func $out))))
  (instance $a (instantiate $A (with "test:two/b" (instance $b "test:two/b"))))
  (export "run" (func $a "run"))
  (export "f" (func $b "test:two/b" "f")))"#
    )
}

const ADD: [&str; 2] = [
    r#"(import "b" "f" (func $f (param i32) (result i32)))
       (func (export "run") (param i32) (result i32) (i32.add (i32.const 1) (call $f (local.get 0))))"#,
    r#"(func (export "f") (param i32) (result i32) (i32.mul (local.get 0) (i32.const 2)))"#,
];
const NUMBERS: &str = r#"(param "x" u32) (result u32)"#;
const UTF16: [&str; 2] =
    ["string-encoding=utf16", r#"string-encoding=utf16 (realloc (core func $m "realloc"))"#];
const TEXT: &str = r#"(param "x" string) (result u32)"#;
const LENGTH: [&str; 2] = [
    r#"(import "b" "f" (func $f (param i32 i32) (result i32)))
       (func (export "run") (param i32) (result i32) (call $f (i32.const 64) (local.get 0)))"#,
    r#"(func (export "f") (param i32 i32) (result i32) (local.get 1))"#,
];

fn linker(engine: &Engine) -> Linker<()> {
    let mut linker = Linker::new(engine);
    linker.root().func_wrap("out", |_, (): ()| Ok(())).unwrap();
    linker
}

/// Calls `run` with a number, twice.
fn run(config: &Config, text: &str, x: u32) -> Result<[std::result::Result<Val, String>; 2]> {
    let engine = Engine::new(config)?;
    let component = Component::new(&engine, text)?;
    let mut store = Store::new(&engine, ());
    let run = linker(&engine).instantiate(&mut store, &component)?.get_func("run").expect("it is exported");
    Ok([(); 2].map(|()| {
        let mut results = [Val::Bool(false)];
        run.call(&mut store, &[Val::U32(x)], &mut results).map_err(|error| error.root_cause().to_string())?;
        Ok(results[0].clone())
    }))
}

/// Checks that a call traps in both ways, and why; and that no other call is admitted.
#[track_caller]
fn traps(text: &str, x: u32, why: &str) {
    for fuses in [true, false] {
        let [first, second] = run(Config::new().fused_adapters(fuses), text, x).unwrap();
        assert!(first.as_ref().is_err_and(|error| error.contains(why)), "{fuses}: {first:?}");
        assert!(second.as_ref().is_err_and(|error| error.contains("cannot enter")), "{fuses}: {second:?}");
    }
}

#[test]
fn adapters_are_there_where_they_can_be() -> Outcome {
    let count =
        |text: &str| Component::new(&Engine::default(), text).map(|component| component.adapters().count());
    assert_eq!(count(&two(NUMBERS, ADD, ["", ""]))?, 1);
    let text = two(TEXT, LENGTH, ["", r#"(realloc (core func $m "realloc"))"#]);
    assert_eq!(count(&text)?, 1);
    assert_eq!(count(&two(TEXT, LENGTH, UTF16))?, 0, "only UTF-8");
    for text in [text, two(TEXT, LENGTH, UTF16)] {
        assert_eq!(run(&Config::new(), &text, 5)?[1], Ok(Val::U32(5)));
    }
    Ok(())
}

/// The component has three core modules.
#[test]
fn adapters_are_no_instances_that_count() -> Outcome {
    let with = |instances| {
        let mut config = Config::new();
        config.limits(StoreLimitsBuilder::new().instances(instances).build());
        run(&config, &two(NUMBERS, ADD, ["", ""]), 20)
    };
    assert_eq!(with(3)?, [Ok(Val::U32(41)), Ok(Val::U32(41))]);
    assert_eq!(with(2).expect_err("one is missing").kind(), ErrorKind::Limit);
    Ok(())
}

#[test]
fn allocators_and_post_return_call_nobody() {
    let realloc = r#"(realloc (core func $m "allocate"))"#;
    let allocate =
        r#"(func (export "allocate") (param i32 i32 i32 i32) (result i32) (call $out) (i32.const 0))"#;
    let text = two(TEXT, [LENGTH[0], &format!("{} {allocate}", LENGTH[1])], ["", realloc]);
    traps(&text, 3, "cannot leave component instance");
    let post = r#"(func (export "post") (param i32) (call $out))"#;
    let text =
        two(NUMBERS, [ADD[0], &format!("{} {post}", ADD[1])], ["", r#"(post-return (core func $m "post"))"#]);
    traps(&text, 3, "cannot leave component instance");
    let post = r#"(func (export "post") (param i32) unreachable)"#;
    let text =
        two(NUMBERS, [ADD[0], &format!("{} {post}", ADD[1])], ["", r#"(post-return (core func $m "post"))"#]);
    traps(&text, 3, "unreachable");
}

/// Text that is not UTF-8 at one place, short and long.
#[test]
fn text_is_checked_to_its_last_byte() -> Outcome {
    let caller = r#"(import "b" "f" (func $f (param i32 i32) (result i32)))
        (func (export "run") (param i32) (result i32)
          (i32.store8 (i32.add (i32.const 64) (i32.and (local.get 0) (i32.const 255))) (i32.const 255))
          (call $f (i32.const 64) (i32.shr_u (local.get 0) (i32.const 8))))"#;
    let text = two(TEXT, [caller, LENGTH[1]], ["", r#"(realloc (core func $m "realloc"))"#]);
    for length in [0_u32, 1, 7, 8, 9, 20, 64, 70] {
        for at in [0, 1, 7, 8, 12, 15, 16, 19, 63, 64, 69] {
            let [first, _] = run(&Config::new(), &text, at | length << 8)?;
            match at < length {
                true => {
                    let why = format!("invalid utf-8 sequence of 1 bytes from index {at}");
                    assert!(
                        first.as_ref().is_err_and(|error| error.contains(&why)),
                        "{length} {at}: {first:?}"
                    );
                }
                false => assert_eq!(first, Ok(Val::U32(length)), "{at}"),
            }
        }
    }
    Ok(())
}

/// An exception of the callee is a trap, which its caller cannot catch.
#[test]
fn exceptions_do_not_leave_components() {
    let caller = r#"(import "b" "f" (func $f (param i32) (result i32)))
        (func (export "run") (param i32) (result i32)
          (block $caught (try_table (catch_all $caught) (return (call $f (local.get 0)))))
          (i32.const 7))"#;
    let callee = r#"(tag $t) (func (export "f") (param i32) (result i32) (throw $t))"#;
    traps(&two(NUMBERS, [caller, callee], ["", ""]), 1, "an exception must not leave a component");
    let allocate = r#"(tag $t)
        (func (export "allocate") (param i32 i32 i32 i32) (result i32) (throw $t))"#;
    let text = two(
        TEXT,
        [LENGTH[0], &format!("{} {allocate}", LENGTH[1])],
        ["", r#"(realloc (core func $m "allocate"))"#],
    );
    traps(&text, 3, "an exception must not leave a component");
}

/// While `b` runs for `a`, the host can enter neither of them, and afterwards both.
#[test]
fn components_that_are_called_by_others_are_entered() -> Outcome {
    let callee =
        r#"(func (export "f") (param i32) (result i32) (call $out) (i32.mul (local.get 0) (i32.const 2)))"#;
    let text = two(NUMBERS, [ADD[0], callee], ["", ""]);
    for fuses in [true, false] {
        let engine = Engine::new(Config::new().fused_adapters(fuses))?;
        let component = Component::new(&engine, &text)?;
        let mut linker: Linker<Vec<component::Func>> = Linker::new(&engine);
        linker.root().func_wrap("out", |mut store: StoreContextMut<'_, Vec<component::Func>>, (): ()| {
            for func in std::mem::take(store.data_mut()) {
                let error = func.call(&mut store, &[Val::U32(1)], &mut [Val::Bool(false)]).unwrap_err();
                assert!(error.to_string().contains("cannot enter component instance"), "{error}");
            }
            Ok(())
        })?;
        let mut store = Store::new(&engine, Vec::new());
        let instance = linker.instantiate(&mut store, &component)?;
        let funcs = ["run", "f"].map(|name| instance.get_func(name).expect("it is exported"));
        *store.data_mut() = funcs.to_vec();
        let mut results = [Val::Bool(false)];
        for (func, expected) in [(0, 41), (1, 40), (0, 41)] {
            funcs[func].call(&mut store, &[Val::U32(20)], &mut results)?;
            assert_eq!(results, [Val::U32(expected)]);
        }
    }
    Ok(())
}

/// The host keeps single values, which a limit allows no more than 256 MiB of; adapters keep none.
#[test]
fn lists_as_large_as_memory_pass() -> Outcome {
    let caller = r#"(import "b" "f" (func $f (param i32 i32) (result i32)))
        (func (export "run") (param i32) (result i32)
          (drop (memory.grow (i32.const 160))) (i32.store8 (i32.const 9999999) (i32.const 5))
          (call $f (i32.const 0) (i32.const 10000000)))"#;
    let callee = r#"(func (export "grow") (param i32 i32 i32 i32) (result i32)
          (i32.mul (memory.grow (i32.const 160)) (i32.const 65536)))
        (func (export "f") (param i32 i32) (result i32)
          (i32.load8_u (i32.sub (i32.add (local.get 0) (local.get 1)) (i32.const 1))))"#;
    let text = two(
        r#"(param "x" (list u8)) (result u32)"#,
        [caller, callee],
        ["", r#"(realloc (core func $m "grow"))"#],
    );
    assert_eq!(run(&Config::new(), &text, 0)?[0], Ok(Val::U32(5)));
    Ok(())
}

#[test]
fn adapters_are_profiled_by_name() -> Outcome {
    let mut config = Config::new();
    config.profiling(ProfilingConfig::Exact(Collect::Edges)).count_contexts(true);
    let engine = Engine::new(&config)?;
    let component = Component::new(&engine, two(NUMBERS, ADD, ["", ""]))?;
    let mut store = Store::new(&engine, ());
    let run = linker(&engine).instantiate(&mut store, &component)?.get_func("run").expect("it is exported");
    for _ in 0..3 {
        run.call(&mut store, &[Val::U32(1)], &mut [Val::Bool(false)])?;
    }
    let adapters = component.adapters().next().expect("there is one");
    let profile = adapters.profile(&store).expect("it ran")?;
    let names: Vec<_> = profile.functions.iter().map(|function| function.name.as_deref()).collect();
    assert_eq!(names, [Some("adapter test:two/b#f")]);
    let caller = component.modules().last().expect("three").profile(&store).expect("it ran")?;
    let tree = caller.contexts.as_ref().expect("contexts are counted");
    let is_adapter = |callee: &Callee| matches!(callee, Callee::Elsewhere { name: Some(name), .. } if name == "adapter test:two/b#f");
    let calls = (0..tree.records.len() as u32).filter(|&record| is_adapter(tree.callee(record)));
    assert_eq!(calls.map(|record| tree.records[record as usize].calls).collect::<Vec<_>>(), [3]);
    Ok(())
}

/// A type that has more parts than adapters have code for, and one whose parts are shared.
#[test]
fn large_types_go_through_the_host() -> Outcome {
    let mut ty = "u32".to_owned();
    for _ in 0..9 {
        ty = format!("(tuple {ty} {ty})");
    }
    let caller = r#"(import "b" "f" (func $f (param i32) (result i32)))
        (func (export "run") (param i32) (result i32) (i32.store (i32.const 2044) (local.get 0)) (call $f (i32.const 0)))"#;
    let callee = r#"(func (export "f") (param i32) (result i32) (i32.load offset=2044 (local.get 0)))"#;
    let options = ["", r#"(realloc (core func $m "realloc"))"#];
    let text = two(&format!(r#"(param "x" {ty}) (result u32)"#), [caller, callee], options);
    assert_eq!(Component::new(&Engine::default(), &text)?.adapters().count(), 0);
    assert_eq!(run(&Config::new(), &text, 9)?[1], Ok(Val::U32(9)));
    Ok(())
}

/// A value that is passed in memory is there as a whole, even if the rest of it means nothing.
#[test]
fn values_end_within_memory() {
    let caller = r#"(import "b" "f" (func $f (param i32) (result i32)))
        (func (export "run") (param i32) (result i32) (call $f (i32.const 65528)))"#;
    let callee = r#"(func (export "f") (param i32) (result i32) (i32.const 0))"#;
    let params: String = (0..6).map(|i| format!(r#"(param "p{i}" string)"#)).collect();
    let many =
        format!(r#"(param "x" (option u64)) {params} (param "y" (tuple u64 u64 u64 u64)) (result u32)"#);
    let text = two(&many, [caller, callee], ["", r#"(realloc (core func $m "realloc"))"#]);
    traps(&text, 0, "value of 96 bytes at 0xfff8 is out of bounds of memory");
}
