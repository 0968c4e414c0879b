//! Components that lie, fail or request too much end with errors.

use wprof::component::{Component, Linker, Val};
use wprof::*;

type Outcome = std::result::Result<(), Box<dyn std::error::Error>>;

fn load(text: &str) -> Result<Component, Error> {
    Component::new(&Engine::default(), text)
}

/// Returns a component whose `run` has this type and this core code.
fn component(types: &str, core: &str, ty: &str, options: &str) -> String {
    format!(
        r#"(component {types}
      (core module $m (memory (export "memory") 1) {core})
      (core instance $m (instantiate $m))
      (func (export "run") {ty} (canon lift (core func $m "run") (memory (core memory $m "memory")) {options})))"#
    )
}

/// Calls `run` twice, and returns the errors.
fn run(text: &str, params: &[Val]) -> Result<[Option<Error>; 2], Error> {
    let component = load(text)?;
    let mut store = Store::new(component.engine(), ());
    let run = Linker::new(component.engine()).instantiate(&mut store, &component)?.get_func("run").unwrap();
    let mut results = vec![Val::Bool(false); usize::from(run.ty().result().is_some())];
    Ok([(); 2].map(|()| run.call(&mut store, params, &mut results).err()))
}

/// Checks that the call fails for a reason, and that no further calls are admitted.
#[track_caller]
fn traps(text: &str, params: &[Val], why: &str) {
    let [first, second] = run(text, params).unwrap();
    let first = first.expect("it fails").to_string();
    assert!(first.contains(why), "{first}");
    let second = second.expect("it fails again").to_string();
    assert!(second.contains("cannot enter component instance"), "{second}");
}

/// Returns a component that returns 8 bytes from its memory.
fn returns(ty: &str, bytes: &str) -> String {
    let core =
        format!(r#"(data (i32.const 16) "{bytes}") (func (export "run") (result i32) (i32.const 16))"#);
    component("", &core, &format!("(result {ty})"), "")
}

#[test]
fn what_is_no_value_traps() {
    // Two bytes at address 32: one that is invalid UTF-8, and zero.
    let bad = component(
        "",
        r#"(data (i32.const 16) "\20\00\00\00\02\00\00\00") (data (i32.const 32) "\ff\00")
           (func (export "run") (result i32) (i32.const 16))"#,
        "(result string)",
        "",
    );
    traps(&bad, &[], "string is not UTF-8");
    traps(&returns("string", r"\00\00\01\00\01\00\00\00"), &[], "out of bounds of memory");
    traps(&returns("string", r"\00\00\00\00\ff\ff\ff\ff"), &[], "too long");
    traps(&returns("(list u64)", r"\04\00\00\00\01\00\00\00"), &[], "not aligned to 8 bytes");
    traps(&returns("(list u8)", r"\00\00\00\00\ff\ff\ff\ff"), &[], "out of bounds of memory");
    traps(&returns("(list u64)", r"\08\00\00\00\ff\ff\ff\ff"), &[], "out of bounds of memory");
    traps(&returns("(tuple char u8)", r"\00\d8\00\00\00"), &[], "0xd800 is not a char");
    traps(&returns("(option u32)", r"\02\00\00\00"), &[], "discriminant 2 is out of range");
    let unaligned =
        component("", r#"(func (export "run") (result i32) (i32.const 17))"#, "(result (option u32))", "");
    traps(&unaligned, &[], "not aligned to 4 bytes");
    let outside = component(
        "",
        r#"(func (export "run") (result i32) (i32.const 65534))"#,
        "(result (tuple u8 u16))",
        "",
    );
    traps(&outside, &[], "out of bounds of memory");
    let case = component("", r#"(func (export "run") (result i32) (i32.const 9))"#, "(result (result))", "");
    traps(&case, &[], "discriminant 9 is out of range");
}

#[test]
fn traps_in_post_return_end_the_call() {
    let core =
        r#"(func (export "run") (result i32) (i32.const 7)) (func (export "post") (param i32) unreachable)"#;
    let text = component("", core, "(result u32)", r#"(post-return (core func $m "post"))"#);
    traps(&text, &[], "unreachable");
}

#[test]
fn post_return_gets_the_core_result() {
    let core = r#"(func (export "run") (result i32) (i32.const 7))
        (func (export "post") (param i32) (if (i32.ne (local.get 0) (i32.const 7)) (then unreachable)))"#;
    let text = component("", core, "(result u32)", r#"(post-return (core func $m "post"))"#);
    assert!(run(&text, &[]).unwrap().iter().all(Option::is_none));
}

/// Allocators that return nonsense.
#[test]
fn allocators_are_not_trusted() {
    let text = |at: u32| {
        let core = format!(
            r#"(func (export "run") (param i32 i32))
               (func (export "realloc") (param i32 i32 i32 i32) (result i32) (i32.const {at}))"#
        );
        component("", &core, r#"(param "x" (list u32))"#, r#"(realloc (core func $m "realloc"))"#)
    };
    let list = [Val::List(vec![Val::U32(1); 3])];
    traps(&text(2), &list, "not aligned to 4 bytes");
    traps(&text(65528), &list, "out of bounds of memory");
    traps(&text(0xffff_fffc), &list, "out of bounds of memory");
    assert!(run(&text(65524), &list).unwrap().iter().all(Option::is_none), "the last twelve bytes");
}

/// As single values, half a gigabyte of zeros would take dozens of gigabytes on the host.
#[test]
fn huge_lists_reach_a_limit() -> Outcome {
    let core = r#"(func (export "run") (result i32)
        (drop (memory.grow (i32.const 8192)))
        (i32.store (i32.const 16) (i32.const 64))
        (i32.store (i32.const 20) (i32.const 536870912))
        (i32.const 16))"#;
    let [error, _] = run(&component("", core, "(result (list bool))", ""), &[])?;
    let error = error.expect("it fails");
    assert_eq!(error.kind(), ErrorKind::Limit, "{error}");
    Ok(())
}

/// Each element takes a byte or some of the component's memory, and names, boxes and fields of the host's.
#[test]
fn names_and_fields_of_elements_reach_a_limit() -> Outcome {
    let name = |number: usize| format!("\"{}{number}\"", "a".repeat(10_000));
    let flags: Vec<String> = (0..32).map(name).collect();
    let bools = (0..100).map(|number| format!("(field \"f{number}\" bool)")).collect::<Vec<_>>();
    let types = [
        (format!("(enum {})", name(0)), 60_000),
        (format!("(variant (case {} bool))", name(0)), 60_000),
        (format!("(flags {})", flags.join(" ")), 2_000),
        (format!("(record {})", bools.join(" ")), 60_000),
        (format!("(tuple {})", "bool ".repeat(100)), 100_000),
    ];
    for (ty, length) in types {
        let core = format!(
            r#"(func (export "run") (result i32)
                (drop (memory.grow (i32.const 256)))
                (i32.store (i32.const 16) (i32.const 64))
                (i32.store (i32.const 20) (i32.const {length}))
                (i32.const 16))"#
        );
        let types = format!("(type $plain {ty}) (export $t \"t\" (type $plain))");
        let [error, _] = run(&component(&types, &core, "(result (list $t))", ""), &[])?;
        let error = error.ok_or_else(|| format!("{} elements of {:.20}…", length, ty))?;
        assert_eq!(error.kind(), ErrorKind::Limit, "{error}");
    }
    Ok(())
}

/// Host functions must not be called while a component's allocator or `post-return` runs.
#[test]
fn nothing_leaves_a_component_while_values_are_passed() -> Outcome {
    let text = r#"(component
      (import "log" (func $log))
      (core func $log' (canon lower (func $log)))
      (core module $m
        (import "" "log" (func $log))
        (memory (export "memory") 1)
        (func (export "run") (param i32 i32))
        (func (export "realloc") (param i32 i32 i32 i32) (result i32) (call $log) (i32.const 0)))
      (core instance $m (instantiate $m (with "" (instance (export "log" (func $log'))))))
      (func (export "run") (param "x" string)
        (canon lift (core func $m "run") (memory (core memory $m "memory")) (realloc (core func $m "realloc")))))"#;
    let component = load(text)?;
    let mut linker = Linker::new(component.engine());
    linker.root().func_new("log", |_, _, _| panic!("it must not be called"))?;
    let mut store = Store::new(component.engine(), ());
    let run = linker.instantiate(&mut store, &component)?.get_func("run").unwrap();
    let error = run.call(&mut store, &[Val::String("x".into())], &mut []).unwrap_err();
    assert!(error.to_string().contains("cannot leave component instance"), "{error}");
    Ok(())
}

/// A host function calls the component that has called it.
#[test]
fn components_are_not_entered_again() -> Outcome {
    let text = r#"(component
      (import "again" (func $again))
      (core func $again' (canon lower (func $again)))
      (core module $m (import "" "again" (func $again)) (func (export "run") (call $again)))
      (core instance $m (instantiate $m (with "" (instance (export "again" (func $again'))))))
      (func (export "run") (canon lift (core func $m "run"))))"#;
    let component = load(text)?;
    let mut linker = Linker::<Option<component::Func>>::new(component.engine());
    linker.root().func_new("again", |store, _, _| {
        let run = store.data().clone().expect("it was set");
        run.call(store, &[], &mut [])
    })?;
    let mut store = Store::new(component.engine(), None);
    let run = linker.instantiate(&mut store, &component)?.get_func("run");
    store.data_mut().clone_from(&run);
    let error = run.unwrap().call(&mut store, &[], &mut []).unwrap_err();
    assert!(error.to_string().contains("cannot enter component instance"), "{error}");
    Ok(())
}

#[test]
fn what_is_not_there_yet_is_named() {
    let lifted = |ty: &str| format!(r#"(component (import "f" (func {ty})))"#);
    let cases = [
        (r#"(component (import "c" (component)))"#.to_owned(), "a component as an import"),
        (lifted("async"), "async"),
        (lifted(r#"(param "x" (stream u8))"#), "async"),
        (lifted(r#"(param "x" (future u8))"#), "async"),
        (lifted(r#"(param "x" error-context)"#), "error-context"),
        (lifted(r#"(param "x" (list u8 4))"#), "fixed"),
        ("(component (core func (canon task.cancel)))".to_owned(), "async"),
    ];
    for (text, why) in cases {
        let error = load(&text).expect_err(&text);
        assert_eq!(error.kind(), ErrorKind::Module, "{text}: {error}");
        assert!(error.to_string().contains(why), "{text}: {error}");
    }
}

#[test]
fn modules_are_no_components_and_components_no_modules() {
    let error = load("(module)").unwrap_err().to_string();
    assert!(error.contains("load it as a module"), "{error}");
    assert!(Module::new(&Engine::default(), "(component)").is_err());
    assert!(component::is_component(b"(component)") && !component::is_component(b"(module)"));
}

/// Each component instantiates the previous one twice: a few lines request 2^60 instances.
#[test]
fn nested_components_that_multiply_are_refused() {
    let mut text = "(component $c0)".to_owned();
    for i in 1..60 {
        let before = i - 1;
        text += &format!(
            "(component $c{i} (alias outer 1 $c{before} (component $x)) (instance (instantiate $x)) (instance (instantiate $x)))"
        );
    }
    let error = load(&format!("(component {text} (instance (instantiate $c59)))")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limit, "{error}");
}

/// The validator limits the depth of types, and types below that limit work.
#[test]
fn deep_types_are_refused() {
    let nested = |depth: usize| {
        let mut text = "(type $t0 (list u8))".to_owned();
        for i in 1..depth {
            text += &format!("(type $t{i} (option $t{}))", i - 1);
        }
        format!(r#"(component {text} (import "f" (func (param "x" $t{}))))"#, depth - 1)
    };
    assert!(load(&nested(50)).is_ok());
    assert_eq!(load(&nested(50_000)).unwrap_err().kind(), ErrorKind::Module);
}

/// A component that defines a resource, makes a handle of it as often as it likes, and drops it twice or never.
const HANDLES: &str = r#"(component
  (core module $d (import "" "log" (func $log)) (func (export "dtor") (param i32)
    (if (i32.eq (local.get 0) (i32.const 1)) (then unreachable))
    (if (i32.eq (local.get 0) (i32.const 2)) (then (call $log)))))
  (import "log" (func $log))
  (core func $log' (canon lower (func $log)))
  (core instance $d (instantiate $d (with "" (instance (export "log" (func $log'))))))
  (type $r (resource (rep i32) (dtor (core func $d "dtor"))))
  (core func $new (canon resource.new $r))
  (core func $drop (canon resource.drop $r))
  (core func $rep (canon resource.rep $r))
  (core module $m
    (import "" "new" (func $new (param i32) (result i32)))
    (import "" "drop" (func $drop (param i32)))
    (import "" "rep" (func $rep (param i32) (result i32)))
    (func (export "make") (param i32)
      (loop $more
        (drop (call $new (i32.const 7)))
        (br_if $more (local.tee 0 (i32.sub (local.get 0) (i32.const 1))))))
    (func (export "drop") (param i32) (call $drop (call $new (local.get 0))))
    (func (export "twice") (param i32) (local i32)
      (local.set 1 (call $new (local.get 0)))
      (call $drop (local.get 1))
      (call $drop (local.get 1)))
    (func (export "guess") (param i32) (drop (call $rep (local.get 0)))))
  (core instance $m (instantiate $m (with "" (instance
    (export "new" (func $new)) (export "drop" (func $drop)) (export "rep" (func $rep))))))
  (func (export "make") (param "x" u32) (canon lift (core func $m "make")))
  (func (export "drop") (param "x" u32) (canon lift (core func $m "drop")))
  (func (export "twice") (param "x" u32) (canon lift (core func $m "twice")))
  (func (export "guess") (param "x" u32) (canon lift (core func $m "guess"))))"#;

/// Calls a function of a new instance of [`HANDLES`].
fn handles(name: &str, x: u32) -> Result<Result<()>> {
    handles_within(StoreLimits::default(), name, x)
}

/// The same, in a store with limits.
fn handles_within(limits: StoreLimits, name: &str, x: u32) -> Result<Result<()>> {
    let component = load(HANDLES)?;
    let mut linker = Linker::new(component.engine());
    linker.root().func_new("log", |_, _, _| Err(Error::msg("the host refuses")))?;
    let mut store = Store::new(component.engine(), ());
    store.set_limits(limits);
    let instance = linker.instantiate(&mut store, &component)?;
    let called = instance.get_func(name).expect("it is exported").call(&mut store, &[Val::U32(x)], &mut []);
    if called.is_err() {
        let again = instance.get_func("drop").expect("it is exported");
        let error = again.call(&mut store, &[Val::U32(0)], &mut []).unwrap_err();
        assert!(error.to_string().contains("cannot enter component instance"), "{error}");
    }
    Ok(called)
}

#[test]
fn handles_are_counted_and_guesses_trap() -> Outcome {
    handles("make", 1000)??;
    let error = handles("make", (1 << 20) + 1)?.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limit, "{error}");
    let few = StoreLimits { component_handles: 3, ..StoreLimits::default() };
    handles_within(few, "make", 3)??;
    let error = handles_within(few, "make", 4)?.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limit, "{error}");
    for guess in [0, 1, 1 << 20, u32::MAX] {
        let error = handles("guess", guess)?.unwrap_err().to_string();
        assert!(error.contains("unknown handle index"), "{error}");
    }
    let error = handles("twice", 7)?.unwrap_err().to_string();
    assert!(error.contains("unknown handle index 1"), "{error}");
    Ok(())
}

#[test]
fn destructors_that_fail_end_the_call() -> Outcome {
    handles("drop", 7)??;
    let error = handles("drop", 1)?.unwrap_err();
    assert_eq!(error.trap(), Some(Trap::UnreachableCodeReached), "{error}");
    let error = handles("drop", 2)?.unwrap_err().to_string();
    assert!(error.contains("the host refuses"), "{error}");
    Ok(())
}

/// A `post-return` that calls out, as one that allocates or logs would.
#[test]
fn nothing_leaves_a_component_while_it_cleans_up() -> Outcome {
    let component = load(
        r#"(component
      (import "log" (func $log))
      (core func $log' (canon lower (func $log)))
      (core module $m
        (import "" "log" (func $log))
        (func (export "run") (result i32) (i32.const 7))
        (func (export "post") (param i32) (call $log)))
      (core instance $m (instantiate $m (with "" (instance (export "log" (func $log'))))))
      (func (export "run") (result u32) (canon lift (core func $m "run") (post-return (core func $m "post")))))"#,
    )?;
    let mut linker = Linker::new(component.engine());
    linker.root().func_new("log", |_, _, _| panic!("it must not be called"))?;
    let mut store = Store::new(component.engine(), ());
    let run = linker.instantiate(&mut store, &component)?.get_func("run").unwrap();
    let error = run.call(&mut store, &[], &mut [Val::Bool(false)]).unwrap_err();
    assert!(error.to_string().contains("cannot leave component instance"), "{error}");
    Ok(())
}

/// A list within lists, each of which has the same bytes again: sixteen lines ask for 2^40 values.
#[test]
fn lists_that_share_their_bytes_reach_a_limit() -> Outcome {
    let core = r#"(func (export "run") (result i32)
        ;; 1024 lists at 4096, each of which is those 1024 lists.
        (local i32)
        (loop $more
          (i32.store offset=4096 (local.get 0) (i32.const 4096))
          (i32.store offset=4100 (local.get 0) (i32.const 1024))
          (br_if $more (i32.lt_u (local.tee 0 (i32.add (local.get 0) (i32.const 8))) (i32.const 8192))))
        (i32.const 4096))"#;
    let types = "(type $a (list u8)) (type $b (list $a)) (type $c (list $b)) (type $d (list $c))";
    let [error, _] = run(&component(types, core, "(result $d)", ""), &[])?;
    let error = error.expect("it fails");
    assert_eq!(error.kind(), ErrorKind::Limit, "{error}");
    Ok(())
}

/// Truncated or changed bytes give an error or a component, never a panic.
#[test]
fn broken_components_are_errors() -> Outcome {
    let text = r#"(component
      (import "r" (type $r (sub resource)))
      (import "i" (instance $i (export "f" (func (param "x" (list (option string))) (result (own $r))))))
      (component $n (import "f" (func $f (param "x" u8))) (export "g" (func $f)))
      (core module $m (memory (export "memory") 1)
        (func (export "realloc") (param i32 i32 i32 i32) (result i32) (i32.const 0))
        (func (export "run") (param i32)))
      (core instance $m (instantiate $m))
      (core func (canon lower (func $i "f") (memory (core memory $m "memory")) (realloc (core func $m "realloc"))))
      (core func (canon resource.drop $r))
      (func $run (param "x" u8) (canon lift (core func $m "run")))
      (instance $in (instantiate $n (with "f" (func $run))))
      (export "run" (func $in "g")))"#;
    let engine = Engine::default();
    let bytes = wat::parse_str(text)?;
    Component::new(&engine, &bytes)?;
    // A file that ends between two sections is a component with fewer items.
    let whole = (0..bytes.len()).filter(|&end| Component::new(&engine, &bytes[..end]).is_ok());
    assert!((1..20).contains(&whole.count()));
    let mut loaded = 0;
    for at in 8..bytes.len() {
        for change in [0x01, 0x04, 0x40, 0xff] {
            let mut broken = bytes.clone();
            broken[at] ^= change;
            loaded += usize::from(Component::new(&engine, &broken).is_ok());
        }
    }
    assert!(loaded > 0, "a changed name is a name");
    Ok(())
}

/// Whatever of a component recurses without end, the call ends, and so does the instance.
#[test]
fn a_component_that_uses_up_the_stack_ends_its_call() {
    let endless = "(func $endless (param i32) (call $endless (local.get 0)))";
    let run = component("", &format!("{endless} (export \"run\" (func $endless))"), r#"(param "x" u32)"#, "");
    traps(&run, &[Val::U32(1)], "call stack exhausted");
    let core = format!(
        r#"{endless} (func (export "run") (param i32 i32))
           (func (export "realloc") (param i32 i32 i32 i32) (result i32)
             (call $endless (i32.const 0)) (i32.const 64))"#
    );
    let realloc = component("", &core, r#"(param "x" string)"#, r#"(realloc (core func $m "realloc"))"#);
    traps(&realloc, &[Val::String("x".into())], "call stack exhausted");
    let core = format!(
        r#"{endless} (func (export "run") (result i32) (i32.const 7)) (export "post" (func $endless))"#
    );
    let post = component("", &core, "(result u32)", r#"(post-return (core func $m "post"))"#);
    traps(&post, &[], "call stack exhausted");
}

/// Fuel that ends in an allocator or in `post-return` ends the call as it does elsewhere.
#[test]
fn a_component_that_uses_up_its_fuel_ends_its_call() -> Outcome {
    let engine = Engine::new(Config::new().consume_fuel(true))?;
    let endless = "(loop $again (br $again))";
    let cases = [
        (
            format!(
                r#"(func (export "run") (param i32 i32))
                   (func (export "realloc") (param i32 i32 i32 i32) (result i32) {endless} (i32.const 64))"#
            ),
            r#"(param "x" string)"#,
            r#"(realloc (core func $m "realloc"))"#,
            vec![Val::String("x".into())],
        ),
        (
            format!(r#"(func (export "run")) (func (export "post") {endless})"#),
            "",
            r#"(post-return (core func $m "post"))"#,
            vec![],
        ),
    ];
    for (core, ty, options, params) in cases {
        let component = Component::new(&engine, self::component("", &core, ty, options))?;
        let mut store = Store::new(&engine, ());
        store.set_fuel(10_000)?;
        let run = Linker::new(&engine).instantiate(&mut store, &component)?.get_func("run").unwrap();
        let error = run.call(&mut store, &params, &mut []).unwrap_err();
        assert_eq!(error.trap(), Some(Trap::OutOfFuel), "{error}");
        store.set_fuel(10_000)?;
        let again = run.call(&mut store, &params, &mut []).unwrap_err();
        assert!(again.to_string().contains("cannot enter component instance"), "{again}");
    }
    Ok(())
}

/// A memory that may not grow is the component's affair: its allocator says so by a trap.
#[test]
fn memory_for_values_is_limited_as_all_memory_is() -> Outcome {
    let core = r#"(global $next (mut i32) (i32.const 65536))
        (func (export "run") (param i32 i32))
        (func (export "realloc") (param i32 i32 i32 i32) (result i32)
          (if (i32.eq (memory.grow (i32.div_u (i32.add (local.get 3) (i32.const 65535)) (i32.const 65536)))
                      (i32.const -1)) (then unreachable))
          (global.get $next)
          (global.set $next (i32.mul (memory.size) (i32.const 65536))))"#;
    let text = component("", core, r#"(param "x" (list u8))"#, r#"(realloc (core func $m "realloc"))"#);
    let limits = StoreLimits { memory_size: 1 << 20, ..StoreLimits::default() };
    let engine = Engine::new(Config::new().limits(limits))?;
    let component = Component::new(&engine, text)?;
    let mut store = Store::new(&engine, ());
    let run = Linker::new(&engine).instantiate(&mut store, &component)?.get_func("run").unwrap();
    let list = |length: usize| [Val::List(vec![Val::U8(1); length])];
    run.call(&mut store, &list(1 << 19), &mut [])?;
    let error = run.call(&mut store, &list(1 << 19), &mut []).unwrap_err();
    assert_eq!(error.trap(), Some(Trap::UnreachableCodeReached), "{error}");
    Ok(())
}
