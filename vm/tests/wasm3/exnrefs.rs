//! Exception references and tags, in wasm and in the host.

use wprof::*;

type Outcome = std::result::Result<(), Box<dyn std::error::Error>>;

fn strategies() -> impl Iterator<Item = Config> {
    [Strategy::Baseline, Strategy::Optimized, Strategy::Tiered].into_iter().map(|strategy| {
        let mut config = Config::new();
        config.strategy(strategy).background_compilation(false).promote_after(5);
        config
    })
}

/// Exception references and their payloads, in tables, globals, other exceptions and the host.
const REFERENCES: &str = r#"(module
    (import "host" "pass" (func $pass (param exnref) (result exnref)))
    (tag $extern (export "extern") (param externref))
    (tag $nested (param exnref))
    (table $kept (export "kept") 4 exnref)
    (global $last (export "last") (mut exnref) (ref.null exn))
    (func $caught (param externref) (result exnref)
        (block $handler (result exnref)
            (try_table (catch_all_ref $handler) (throw $extern (local.get 0)))
            unreachable))
    (func (export "keep") (param $at i32) (param externref)
        (table.set $kept (local.get $at) (call $pass (call $caught (local.get 1)))))
    (func (export "nest") (param externref)
        (block $handler (result exnref)
            (try_table (catch_all_ref $handler) (throw $nested (call $caught (local.get 0))))
            unreachable)
        (global.set $last))
    (func (export "unnest") (result externref) (local exnref)
        (block $inner (result exnref)
            (try_table (catch $nested $inner) (throw_ref (global.get $last)))
            unreachable)
        (local.set 0)
        (block $value (result externref)
            (try_table (catch $extern $value) (throw_ref (local.get 0)))
            unreachable))
    (func (export "value") (param $at i32) (result externref)
        (block $value (result externref)
            (try_table (catch $extern $value) (throw_ref (table.get $kept (local.get $at))))
            unreachable))
    (func (export "many") (param $n i32) (param externref)
        (loop $again
            (drop (call $caught (local.get 1)))
            (br_if $again (local.tee $n (i32.sub (local.get $n) (i32.const 1))))))
    (func (export "null") (throw_ref (ref.null exn))))"#;

fn references(config: &Config) -> Result<(Store<()>, Instance)> {
    let engine = Engine::new(config)?;
    let module = Module::new(&engine, REFERENCES)?;
    let mut store = Store::new(&engine, ());
    let mut linker = Linker::new(&engine);
    linker.func_wrap("host", "pass", |exception: Option<ExnRef>| exception)?;
    let instance = linker.instantiate(&mut store, &module)?;
    Ok((store, instance))
}

fn number(value: Option<ExternRef>) -> Option<i32> {
    value?.downcast_ref().copied()
}

#[test]
fn exceptions_live_as_long_as_anybody_holds_them() -> Outcome {
    for config in strategies() {
        let (mut store, instance) = references(&config)?;
        let extern_of = |n: i32| Some(ExternRef::new(n));
        let keep = instance.get_typed_func::<(i32, Option<ExternRef>), ()>(&mut store, "keep")?;
        let nest = instance.get_typed_func::<Option<ExternRef>, ()>(&mut store, "nest")?;
        let many = instance.get_typed_func::<(i32, Option<ExternRef>), ()>(&mut store, "many")?;
        keep.call(&mut store, (1, extern_of(11)))?;
        keep.call(&mut store, (2, extern_of(12)))?;
        nest.call(&mut store, extern_of(13))?;
        many.call(&mut store, (100_000, extern_of(14)))?;
        assert!(store.exnref_count() < 10_000, "{} of 100,000 are left", store.exnref_count());
        store.gc();
        assert_eq!((store.exnref_count(), store.externref_count()), (4, 3));
        let value = instance.get_typed_func::<i32, Option<ExternRef>>(&mut store, "value")?;
        assert_eq!(number(value.call(&mut store, 1)?), Some(11));
        assert_eq!(number(value.call(&mut store, 2)?), Some(12));
        let unnest = instance.get_typed_func::<(), Option<ExternRef>>(&mut store, "unnest")?;
        assert_eq!(number(unnest.call(&mut store, ())?), Some(13));
        // The host holds a reference that wasm does not hold.
        let table = instance.get_table(&mut store, "kept").expect("exported");
        let Some(Ref::Exn(Some(held))) = table.get(&mut store, 1) else { panic!("an exception") };
        table.set(&mut store, 1, Ref::Exn(None))?;
        instance.get_global(&mut store, "last").expect("exported").set(&mut store, Val::ExnRef(None))?;
        store.gc();
        assert_eq!(store.exnref_count(), 2);
        let [Val::ExternRef(carried)] = &held.values(&store)[..] else { panic!("one externref") };
        assert_eq!(number(carried.clone()), Some(11));
        drop(held);
        store.gc();
        assert_eq!(store.exnref_count(), 1);
        assert_eq!(value.call(&mut store, 1).expect_err("null").trap(), Some(Trap::NullReference));
        let null = instance.get_typed_func::<(), ()>(&mut store, "null")?;
        assert_eq!(null.call(&mut store, ()).expect_err("null").trap(), Some(Trap::NullReference));
    }
    Ok(())
}

/// A tag that two modules share, and a tag that they do not share.
#[test]
fn tags_are_known_across_modules() -> Outcome {
    let engine = Engine::default();
    let thrower = Module::new(
        &engine,
        r#"(module (tag $shared (export "shared") (param f64)) (tag $own (param f64))
            (func (export "throw") (param i32)
                (if (local.get 0) (then (throw $shared (f64.const 1.5))))
                (throw $own (f64.const 2.5))))"#,
    )?;
    let catcher = Module::new(
        &engine,
        r#"(module (import "m" "shared" (tag $shared (param f64))) (import "m" "throw" (func $throw (param i32)))
            (tag $own (param f64))
            (func (export "catch") (param i32) (result f64)
                (block $all
                    (block $caught (result f64)
                        (try_table (catch $own $caught) (catch $shared $caught) (catch_all $all)
                            (call $throw (local.get 0)))
                        (f64.const 0))
                    (return))
                (f64.const -1)))"#,
    )?;
    let mut store = Store::new(&engine, ());
    let mut linker = Linker::new(&engine);
    let first = linker.instantiate(&mut store, &thrower)?;
    linker.instance(&mut store, "m", first)?;
    let second = linker.instantiate(&mut store, &catcher)?;
    let catch = second.get_typed_func::<i32, f64>(&mut store, "catch")?;
    assert_eq!((catch.call(&mut store, 1)?, catch.call(&mut store, 0)?), (1.5, -1.0));
    let other = Tag::new(&mut store, &TagType::new(FuncType::new([ValType::I32], [])));
    linker.allow_shadowing(true).define(&store, "m", "shared", other)?;
    let error = linker.instantiate(&mut store, &catcher).expect_err("another type");
    assert!(
        error.to_string().contains("incompatible import type for `m::shared`: expected tag (f64) -> ()"),
        "{error}"
    );
    Ok(())
}
