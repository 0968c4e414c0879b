//! What values of components cost: time for each, memory for all, and when a call that passes many ends.

use std::time::{Duration, Instant};

use wprof::component::{Component, Linker, Val};
use wprof::*;

type Outcome = std::result::Result<(), Box<dyn std::error::Error>>;

/// Returns an enum type of so many cases, exported as `$t`.
fn enumeration(cases: usize) -> String {
    let names: String = (0..cases).map(|number| format!(" \"c{number}\"")).collect();
    format!("(type $plain (enum{names})) (export $t \"t\" (type $plain))")
}

/// Returns a component that returns the list that it is given. Its allocator has a memory of 16 MiB.
fn echo(types: &str) -> String {
    format!(
        r#"(component {types}
      (core module $m
        (memory (export "memory") 256)
        (func (export "realloc") (param i32 i32 i32 i32) (result i32) (i32.const 65536))
        (func (export "run") (param i32 i32) (result i32)
          (i32.store (i32.const 16) (local.get 0))
          (i32.store (i32.const 20) (local.get 1))
          (i32.const 16)))
      (core instance $m (instantiate $m))
      (func (export "run") (param "x" (list $t)) (result (list $t))
        (canon lift (core func $m "run") (memory (core memory $m "memory")) (realloc (core func $m "realloc")))))"#
    )
}

/// Returns the least time that something takes, of some tries.
fn least(mut what: impl FnMut() -> Result<()>) -> Result<Duration> {
    let mut least = Duration::MAX;
    for _ in 0..3 {
        let start = Instant::now();
        what()?;
        least = least.min(start.elapsed());
    }
    Ok(least)
}

#[test]
fn a_value_of_a_large_enum_costs_what_one_of_a_small_enum_does() -> Outcome {
    let engine = Engine::default();
    let time = |cases: usize| {
        let component = Component::new(&engine, echo(&enumeration(cases)))?;
        let mut store = Store::new(&engine, ());
        let run = Linker::new(&engine).instantiate(&mut store, &component)?.get_func("run").unwrap();
        let list = [Val::List(vec![Val::Enum(format!("c{}", cases - 1)); 20_000])];
        let mut results = [Val::Bool(false)];
        let time = least(|| run.call(&mut store, &list, &mut results))?;
        assert_eq!(results, list);
        Ok::<_, Error>(time)
    };
    let (few, many) = (time(2)?, time(10_000)?);
    assert!(many < few * 20, "{many:?} for values of 10,000 cases, {few:?} for those of two");
    Ok(())
}

/// Nine thousand values in ten functions, of which one component calls those of another.
#[test]
fn adapters_for_large_enums_cost_what_those_for_small_ones_do() -> Outcome {
    let engine = Engine::default();
    let time = |cases: usize| {
        let (ty, fields) = (enumeration(cases), "$t ".repeat(900));
        // In the type of an instance an export of a type is written in another way.
        let imported = ty.replace("(export $t \"t\" (type $plain))", "(export \"t\" (type $t (eq $plain)))");
        let memory = r#"(memory (export "memory") 1)
            (func (export "realloc") (param i32 i32 i32 i32) (result i32) (i32.const 1024))"#;
        let lowered = r#"(core func (canon lower (func $b "f") (memory (core memory $libc "memory"))
            (realloc (core func $libc "realloc"))))"#;
        let bytes = wat::parse_str(format!(
            r#"(component
              (component $B
                {ty}
                (core module $m {memory} (func (export "f") (param i32)))
                (core instance $m (instantiate $m))
                (func (export "f") (param "x" (tuple {fields})) (canon lift (core func $m "f")
                  (memory (core memory $m "memory")) (realloc (core func $m "realloc")))))
              (instance $b (instantiate $B))
              (component $A
                (import "b" (instance $b
                  {imported}
                  (export "f" (func (param "x" (tuple {fields}))))))
                (core module $libc {memory})
                (core instance $libc (instantiate $libc))
                {})
              (instance (instantiate $A (with "b" (instance $b)))))"#,
            lowered.repeat(10)
        ))
        .map_err(Error::msg)?;
        assert_eq!(Component::new(&engine, &bytes)?.adapters().count(), 1);
        least(|| Component::new(&engine, &bytes).map(drop))
    };
    let (few, many) = (time(2)?, time(10_000)?);
    assert!(many < few * 20, "{many:?} for enums of 10,000 cases, {few:?} for those of two");
    Ok(())
}

/// Code that can be stopped, and a component that it passes much to and from.
fn stoppable() -> Result<Component> {
    let engine = Engine::new(Config::new().interruptible(true))?;
    Component::new(&engine, echo(&enumeration(2)))
}

/// Whether the deadline comes while values are lifted is chance, so some tries are made.
#[test]
fn a_deadline_ends_a_call_while_it_lifts() -> Outcome {
    let text = r#"(component
      (type $plain (enum "a" "b")) (export $t "t" (type $plain))
      (import "soon" (func $soon))
      (core func $soon' (canon lower (func $soon)))
      (core module $m
        (import "" "soon" (func $soon))
        (memory (export "memory") 64)
        (func (export "run") (result i32)
          (i32.store (i32.const 16) (i32.const 64))
          (i32.store (i32.const 20) (i32.const 3000000))
          (call $soon)
          (i32.const 16)))
      (core instance $m (instantiate $m (with "" (instance (export "soon" (func $soon'))))))
      (func (export "run") (result (list $t))
        (canon lift (core func $m "run") (memory (core memory $m "memory")))))"#;
    let engine = Engine::new(Config::new().interruptible(true))?;
    let component = Component::new(&engine, text)?;
    let mut linker = Linker::new(&engine);
    linker.root().func_wrap("soon", |mut store: StoreContextMut<'_, ()>, (): ()| {
        store.set_deadline(Instant::now().checked_add(Duration::from_millis(3)))
    })?;
    let is_ended = || {
        let mut store = Store::new(&engine, ());
        let run = linker.instantiate(&mut store, &component)?.get_func("run").unwrap();
        let ended = run.call(&mut store, &[], &mut [Val::Bool(false)]);
        Ok::<_, Error>(ended.is_err_and(|error| error.trap() == Some(Trap::Deadline)))
    };
    for _ in 0..10 {
        if is_ended()? {
            return Ok(());
        }
    }
    Err("no call ended at its deadline".into())
}

/// The list lies in memory up to where the deadline came.
#[test]
fn a_deadline_ends_a_call_while_it_lowers() -> Outcome {
    let component = stoppable()?;
    let linker = Linker::new(component.engine());
    let list = [Val::List(vec![Val::Enum("c1".to_owned()); 1_000_000])];
    let call = |after: Option<Duration>| {
        let mut store = Store::new(component.engine(), ());
        let instance = linker.instantiate(&mut store, &component)?;
        let (run, core) = (instance.get_func("run").unwrap(), instance.core_instances()[0]);
        let start = Instant::now();
        store.set_deadline(after.and_then(|after| start.checked_add(after)))?;
        let ended = run.call(&mut store, &list, &mut [Val::Bool(false)]);
        let took = start.elapsed();
        let memory = core.get_memory(&mut store, "memory").unwrap();
        let written = &memory.data(&store)[65536..][..1_000_000];
        Ok::<_, Error>((took, ended.err(), [written[0], written[999_999]]))
    };
    let (whole, error, written) = call(None)?;
    assert_eq!((error.map(|error| error.to_string()), written), (None, [1, 1]));
    for part in 1..40 {
        let (_, error, written) = call(Some(whole * part / 40))?;
        if let Some(error) = error {
            assert_eq!(error.trap(), Some(Trap::Deadline), "{error}");
        }
        if written == [1, 0] {
            return Ok(());
        }
    }
    Err("no deadline came between the first element and the last".into())
}

/// A component whose `run` passes a list of booleans to the host.
const TAKEN: &str = r#"(component
  (import "take" (func $take (param "x" (list bool))))
  (core module $libc (memory (export "memory") 256))
  (core instance $libc (instantiate $libc))
  (core func $take' (canon lower (func $take) (memory (core memory $libc "memory"))))
  (core module $m (import "" "take" (func $take (param i32 i32)))
    (func (export "run") (param i32) (call $take (i32.const 0) (local.get 0))))
  (core instance $m (instantiate $m (with "" (instance (export "take" (func $take'))))))
  (func (export "run") (param "length" u32) (canon lift (core func $m "run"))))"#;

/// How many values take 160 MiB of the 256 MiB that a store's calls have.
const MANY: u32 = ((160 << 20) / size_of::<Val>()) as u32;

/// A host function calls another instance, which passes as much again.
#[test]
fn calls_within_a_call_share_its_budget() -> Outcome {
    type Next = Option<component::Func>;
    let engine = Engine::default();
    let component = Component::new(&engine, TAKEN)?;
    let mut linker = Linker::<Next>::new(&engine);
    linker.root().func_new("take", |mut store, _, _| match store.data_mut().take() {
        Some(next) => next.call(&mut store, &[Val::U32(MANY)], &mut []),
        None => Ok(()),
    })?;
    let mut store = Store::new(&engine, None);
    let mut run = |next: Next, length| {
        let run = linker.instantiate(&mut store, &component)?.get_func("run").unwrap();
        *store.data_mut() = next;
        let called = run.call(&mut store, &[Val::U32(length)], &mut []);
        Ok::<_, Error>((called.map_err(|error| error.kind()), run))
    };
    let (alone, other) = run(None, MANY)?;
    assert_eq!(alone, Ok(()));
    assert_eq!(run(Some(other.clone()), 10)?.0, Ok(()), "the outer one passes little");
    assert_eq!(run(Some(other), MANY)?.0, Err(ErrorKind::Limit));
    for _ in 0..3 {
        assert_eq!(run(None, MANY)?.0, Ok(()), "what calls took is there again, also after one that failed");
    }
    // The limit is the store's.
    store.set_limits(StoreLimits { component_values: 1 << 20, ..StoreLimits::default() });
    let mut run = |length| {
        let run = linker.instantiate(&mut store, &component)?.get_func("run").unwrap();
        Ok::<_, Error>(run.call(&mut store, &[Val::U32(length)], &mut []))
    };
    assert!(run(1000)?.is_ok());
    let error = run(MANY)?.unwrap_err();
    assert!(error.kind() == ErrorKind::Limit && error.to_string().contains("1048576"), "{error}");
    Ok(())
}
