//! Functions of resources are called one after the other, with results of earlier calls.

use super::{Folder, wprof};

/// A resource that counts from its number on, with a constructor, a method, and two static functions: one takes
/// two, and one fails for 0.
const COUNTER: &str = r#"(component
  (component $Counters
    (core module $d (func (export "dtor") (param i32)))
    (core instance $d (instantiate $d))
    (type $counter' (resource (rep i32) (dtor (core func $d "dtor"))))
    (core func $new (canon resource.new $counter'))
    (core func $rep (canon resource.rep $counter'))
    (core module $m
      (import "" "new" (func $new (param i32) (result i32)))
      (import "" "rep" (func $rep (param i32) (result i32)))
      (memory (export "memory") 1)
      (func (export "new") (param i32) (result i32)
        (i32.store (i32.mul (i32.const 4) (local.get 0)) (local.get 0))
        (call $new (i32.mul (i32.const 4) (local.get 0))))
      (func (export "next") (param i32) (result i32)
        (i32.store (local.get 0) (i32.add (i32.const 1) (i32.load (local.get 0))))
        (i32.load (local.get 0)))
      (func (export "open") (param i32) (result i32)
        (i32.store (i32.const 1024) (i32.eqz (local.get 0)))
        (i32.store (i32.const 1028) (i32.const 9))
        (if (local.get 0) (then (i32.store (i32.const 1028) (call $new (i32.mul (i32.const 4) (local.get 0))))))
        (i32.const 1024))
      (func (export "sum") (param i32 i32) (result i32)
        (i32.add (i32.load (call $rep (local.get 0))) (i32.load (call $rep (local.get 1))))))
    (core instance $m (instantiate $m (with "" (instance
      (export "new" (func $new)) (export "rep" (func $rep))))))
    (func $new' (param "from" u32) (result (own $counter')) (canon lift (core func $m "new")))
    (func $next' (param "self" (borrow $counter')) (result u32) (canon lift (core func $m "next")))
    (func $open' (param "from" u32) (result (result (own $counter') (error u32)))
      (canon lift (core func $m "open") (memory (core memory $m "memory"))))
    (func $sum' (param "a" (own $counter')) (param "b" (own $counter')) (result u32)
      (canon lift (core func $m "sum")))
    (component $Interface
      (import "import-counter" (type $counter (sub resource)))
      (import "import-new" (func $new (param "from" u32) (result (own $counter))))
      (import "import-next" (func $next (param "self" (borrow $counter)) (result u32)))
      (import "import-open" (func $open (param "from" u32) (result (result (own $counter) (error u32)))))
      (import "import-sum" (func $sum (param "a" (own $counter)) (param "b" (own $counter)) (result u32)))
      (export $out "counter" (type $counter))
      (export "[constructor]counter" (func $new)
        (func (param "from" u32) (result (own $out))))
      (export "[method]counter.next" (func $next)
        (func (param "self" (borrow $out)) (result u32)))
      (export "[static]counter.open" (func $open)
        (func (param "from" u32) (result (result (own $out) (error u32)))))
      (export "[static]counter.sum" (func $sum)
        (func (param "a" (own $out)) (param "b" (own $out)) (result u32))))
    (instance $interface (instantiate $Interface
      (with "import-counter" (type $counter')) (with "import-new" (func $new'))
      (with "import-open" (func $open')) (with "import-next" (func $next')) (with "import-sum" (func $sum'))))
    (export "test:counters/counters" (instance $interface)))
  (instance $counters (instantiate $Counters))
  (export "test:counters/counters" (instance $counters "test:counters/counters")))"#;

fn run(component: &str, calls: &[&str]) -> super::Ran {
    let invoke = calls.iter().flat_map(|call| ["--invoke", call]);
    wprof(&["run", "-q"].into_iter().chain(invoke).chain([component]).collect::<Vec<_>>())
}

#[test]
fn functions_of_resources_take_named_results() {
    let folder = Folder::new();
    let component = folder.file("counter.wat", COUNTER);
    let whole = [
        "c = test:counters/counters#[constructor]counter(5)",
        "test:counters/counters#[method]counter.next($c)",
        "[method]counter.next($c)",
    ];
    assert_eq!(run(&component, &whole).succeeded(), "6\n7\n");
    let short = ["a=counter(5)", "b = counter(7)", "counter.next( $b )", "counter.sum($a, $b)"];
    assert_eq!(run(&component, &short).succeeded(), "8\n13\n");
}

/// What makes a resource often returns a result.
#[test]
fn what_a_result_holds_is_an_argument_too() {
    let folder = Folder::new();
    let component = folder.file("counter.wat", COUNTER);
    assert_eq!(run(&component, &["c = counter.open(5)", "counter.next($c)"]).succeeded(), "1\n");
    let said = run(&component, &["c = counter.open(0)", "counter.next($c)"]).failed();
    assert!(said.contains("argument `self`: `$c` is err(9)"), "{said}");
}

#[test]
fn resources_are_listed_by_their_names() {
    let folder = Folder::new();
    let component = folder.file("counter.wat", COUNTER);
    let said = wprof(&["run", &component]).failed();
    for listed in [
        "#[constructor]counter: func(from: u32) -> own<counter>",
        "#[method]counter.next: func(self: borrow<counter>) -> u32",
        "#[static]counter.open: func(from: u32) -> result<own<counter>, u32>",
    ] {
        assert!(said.contains(listed), "{said}");
    }
    let said = run(&component, &["counter.next()"]).failed();
    assert!(said.contains("the function is func(self: borrow<counter>) -> u32"), "{said}");
    let said = run(&component, &["c = counter(5)", "n = counter.next($c)", "counter.next($n)"]).failed();
    assert!(said.contains("argument `self`: expected a value of type borrow<counter>"), "{said}");
}

#[test]
fn what_cannot_be_called_with_results_is_explained() {
    let folder = Folder::new();
    let component = folder.file("counter.wat", COUNTER);
    let said = run(&component, &["counter.next(1)"]).failed();
    assert!(said.contains("argument `self`") && said.contains("--invoke 'x = CONSTRUCTOR()'"), "{said}");
    let said = run(&component, &["c = counter(5)", "counter.next($d)"]).failed();
    assert!(said.contains("no earlier call named its result `d`"), "{said}");
    let said = run(&component, &["c = counter(5)", "n = counter.next($c)", "counter.next($n)"]);
    assert!(said.failed().contains("argument `self`: expected a value of type"));
    let passed_on = run(&component, &["c = counter(5)", "counter.sum($c, $c)"]);
    assert!(passed_on.code != Some(0) && passed_on.err.contains("passed on"), "{passed_on:?}");
    let module = folder.file("count.wat", super::COUNT);
    let said = run(&module, &["count", "count"]).failed();
    assert!(said.contains("only components can have several --invoke"), "{said}");
}
