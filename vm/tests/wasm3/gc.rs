//! Garbage collection: programs with objects behave the same in every tier and mode, and with a collection at every
//! allocation; unreachable objects are freed, reachable ones stay; exact profiles stay exact.

use wprof::profiler::{BurstLengths, Profile};
use wprof::*;

type Outcome = std::result::Result<(), Box<dyn std::error::Error>>;

/// Lists and trees in locals, fields, arrays, tables and globals; branches on casts; traps.
const WAT: &str = r#"(module
    (rec
        (type $shape (sub (struct (field $id i32))))
        (type $circle (sub $shape (struct (field $id i32) (field $radius (mut i32)))))
        (type $square (sub final $shape (struct (field $id i32) (field $side i32) (field $next (ref null $shape))))))
    (type $node (struct (field $value i64) (field $next (ref null $node))))
    (type $tree (struct (field $left (ref null $tree)) (field $right (ref null $tree)) (field $key i8)))
    (type $nodes (array (mut (ref null $node))))
    (type $bytes (array (mut i8)))
    (import "host" "look" (func $look (param anyref) (result anyref)))
    (table $table 8 anyref)
    (global $kept (mut (ref null $node)) (ref.null $node))
    (global $constant (ref $node) (struct.new $node (i64.const 1000) (struct.new $node (i64.const 2000) (ref.null $node))))

    (func $list (param $n i32) (result (ref null $node)) (local $head (ref null $node))
        (block $done (loop $more
            (br_if $done (i32.eqz (local.get $n)))
            (local.set $head (struct.new $node (i64.extend_i32_u (local.get $n)) (local.get $head)))
            (local.set $n (i32.sub (local.get $n) (i32.const 1)))
            (br $more)))
        (local.get $head))
    (func $sum (param $list (ref null $node)) (result i64) (local $sum i64)
        (block $done (loop $more
            (br_if $done (ref.is_null (local.get $list)))
            (local.set $sum (i64.add (local.get $sum) (struct.get $node $value (local.get $list))))
            (local.set $list (struct.get $node $next (local.get $list)))
            (br $more)))
        (local.get $sum))
    (func $grow (param $depth i32) (result (ref null $tree))
        (if (result (ref null $tree)) (i32.eqz (local.get $depth))
            (then (ref.null $tree))
            (else (struct.new $tree
                (call $grow (i32.sub (local.get $depth) (i32.const 1)))
                (call $grow (i32.sub (local.get $depth) (i32.const 1)))
                (i32.sub (i32.const 0) (local.get $depth))))))
    (func $weigh (param $tree (ref null $tree)) (result i32)
        (if (result i32) (ref.is_null (local.get $tree))
            (then (i32.const 0))
            (else (i32.sub
                (i32.add (call $weigh (struct.get $tree $left (local.get $tree)))
                    (call $weigh (struct.get $tree $right (local.get $tree))))
                (struct.get_s $tree $key (local.get $tree))))))
    (func $area (param $shape (ref null $shape)) (result i32)
        (block $square (result (ref $square))
            (block $circle (result (ref $circle))
                (local.get $shape)
                (br_on_cast $circle (ref null $shape) (ref $circle))
                (br_on_cast $square (ref null $shape) (ref $square))
                (struct.get $shape $id)
                (return))
            (struct.get $circle $radius)
            (return (i32.mul (i32.const 3))))
        (struct.get $square $side)
        (i32.const 100)
        (i32.add))
    (func (export "run") (param $rounds i32) (result i64)
        (local $sum i64) (local $nodes (ref null $nodes)) (local $i i32) (local $list (ref null $node))
        (local.set $nodes (array.new_default $nodes (i32.const 10)))
        (loop $again
            (local.set $i (i32.rem_u (local.get $rounds) (i32.const 10)))
            (array.set $nodes (local.get $nodes) (local.get $i) (call $list (local.get $i)))
            (local.set $sum (i64.add (local.get $sum)
                (call $sum (array.get $nodes (local.get $nodes) (i32.rem_u (i32.mul (local.get $rounds) (i32.const 7)) (i32.const 10))))))
            (local.set $sum (i64.add (local.get $sum) (i64.extend_i32_s (call $weigh (call $grow (i32.and (local.get $rounds) (i32.const 3)))))))
            (local.set $sum (i64.add (local.get $sum) (i64.extend_i32_s (i32.add
                (call $area (struct.new $circle (i32.const 1) (local.get $rounds)))
                (i32.add
                    (call $area (struct.new $square (i32.const 2) (local.get $rounds) (struct.new $shape (i32.const 3))))
                    (call $area (struct.new $shape (local.get $i))))))))
            (if (i32.eqz (local.get $i)) (then
                (table.set $table (i32.and (local.get $rounds) (i32.const 7)) (call $list (i32.const 5)))
                (global.set $kept (ref.cast (ref null $node) (call $look (table.get $table (i32.and (local.get $rounds) (i32.const 3))))))
                (local.set $sum (i64.add (local.get $sum) (call $sum (global.get $kept))))))
            (local.set $list (array.get $nodes (local.get $nodes) (i32.const 3)))
            (br_if $again (local.tee $rounds (i32.sub (local.get $rounds) (i32.const 1)))))
        (i64.add (local.get $sum) (i64.add (call $sum (global.get $constant)) (call $sum (local.get $list)))))
    (func (export "keep") (param $n i32) (result i64)
        (global.set $kept (call $list (local.get $n)))
        (call $sum (global.get $kept)))
    (func (export "kept") (result i64) (call $sum (global.get $kept)))
    (func (export "garbage") (param $n i32)
        (loop $again
            (drop (array.new_default $bytes (i32.const 100)))
            (br_if $again (local.tee $n (i32.sub (local.get $n) (i32.const 1))))))
    (func (export "large") (param $size i32) (param $n i32) (result i32) (local $last (ref null $bytes))
        (loop $again
            (local.set $last (array.new $bytes (i32.const 7) (local.get $size)))
            (br_if $again (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
        (array.get_u $bytes (local.get $last) (i32.sub (local.get $size) (i32.const 1))))
    (func (export "cast") (param i32) (result i32)
        (struct.get $circle $radius (ref.cast (ref $circle) (select (result (ref null $shape))
            (struct.new $shape (i32.const 1)) (struct.new $circle (i32.const 1) (i32.const 5)) (local.get 0)))))
    (func (export "beyond") (param i32) (result i32)
        (array.get_s $bytes (array.new $bytes (i32.const 200) (i32.const 3)) (local.get 0)))
    (func (export "null") (result i32) (struct.get $shape $id (ref.null $shape))))"#;

fn store(config: &Config) -> Result<(Store<()>, Instance)> {
    let engine = Engine::new(config)?;
    let module = Module::new(&engine, wat::parse_str(WAT).expect("valid text"))?;
    let mut store = Store::new(&engine, ());
    let ty = FuncType::new([ValType::ANYREF], [ValType::ANYREF]);
    let look = Func::new(&mut store, ty, |mut caller, params, results| {
        caller.as_context_mut().gc();
        results[0] = params[0].clone();
        Ok(())
    });
    let instance = Instance::new(&mut store, &module, &[look.into()])?;
    Ok((store, instance))
}

/// Returns each configuration, with and without a collection at every allocation.
fn configs() -> Vec<(String, Config)> {
    let mut all = Vec::new();
    for (name, strategy) in
        [("tiered", Strategy::Tiered), ("optimized", Strategy::Optimized), ("baseline", Strategy::Baseline)]
    {
        for profiling in ["off", "exact", "bursts"] {
            for stress in [false, true] {
                let mut config = Config::new();
                config.strategy(strategy).background_compilation(false).gc_stress(stress);
                config.profiling(match profiling {
                    "off" => ProfilingConfig::Off,
                    "exact" => ProfilingConfig::Exact(Collect::Edges),
                    _ => ProfilingConfig::Adaptive(Adaptive {
                        lengths: BurstLengths::new(3, 7),
                        ..Adaptive::default()
                    }),
                });
                all.push((format!("{name}, {profiling}, stress: {stress}"), config));
            }
        }
    }
    all
}

#[test]
fn programs_do_the_same_however_they_run_and_whenever_they_collect() -> Outcome {
    let mut expected = None;
    for (name, config) in configs() {
        let (mut store, instance) = store(&config)?;
        let run = instance.get_typed_func::<i32, i64>(&mut store, "run")?;
        let found = (run.call(&mut store, 1)?, run.call(&mut store, 80)?);
        assert_eq!(*expected.get_or_insert(found), found, "{name}");
    }
    Ok(())
}

#[test]
fn what_is_held_survives_and_what_is_not_makes_room() -> Outcome {
    let (mut store, instance) = store(&Config::new())?;
    let keep = instance.get_typed_func::<i32, i64>(&mut store, "keep")?;
    let kept = instance.get_typed_func::<(), i64>(&mut store, "kept")?;
    let garbage = instance.get_typed_func::<i32, ()>(&mut store, "garbage")?;
    let sum = keep.call(&mut store, 10_000)?;
    assert_eq!(sum, 10_000 * 10_001 / 2);
    garbage.call(&mut store, 1_000_000)?;
    let statistics = store.gc_statistics().expect("it has objects");
    assert!(statistics.collections >= 5, "{statistics:?}");
    assert!(statistics.live < 4 << 20, "100 MB of garbage went: {statistics:?}");
    assert_eq!(kept.call(&mut store, ())?, sum);
    keep.call(&mut store, 1)?;
    let before = store.gc_statistics().expect("it has objects").objects;
    keep.call(&mut store, 3)?;
    assert_eq!(store.gc_statistics().expect("it has objects").objects, before + 3, "without a collection");
    keep.call(&mut store, 1)?;
    store.gc();
    let statistics = store.gc_statistics().expect("it has objects");
    assert!(statistics.live < 64 << 10, "the list went: {statistics:?}");
    assert!(statistics.objects >= 1_010_000 && statistics.bytes >= 112 * 1_000_000, "{statistics:?}");
    Ok(())
}

#[test]
fn a_heap_that_is_full_traps_and_can_be_used_again() -> Outcome {
    let mut config = Config::new();
    config.limits(StoreLimits { heap_bytes: 4 << 20, ..StoreLimits::default() });
    let (mut store, instance) = store(&config)?;
    let keep = instance.get_typed_func::<i32, i64>(&mut store, "keep")?;
    let error = keep.call(&mut store, 1_000_000).expect_err("24 MB do not fit");
    assert_eq!(error.trap(), Some(Trap::GcOutOfMemory));
    assert_eq!(keep.call(&mut store, 1000)?, 1000 * 1001 / 2);
    let large = instance.get_typed_func::<(i32, i32), i32>(&mut store, "large")?;
    assert_eq!(large.call(&mut store, (1 << 20, 100))?, 7);
    let error = large.call(&mut store, (8 << 20, 1)).expect_err("it does not fit");
    assert_eq!(error.trap(), Some(Trap::GcOutOfMemory));
    let error = large.call(&mut store, (-1, 1)).expect_err("it does not fit");
    assert_eq!(error.trap(), Some(Trap::GcOutOfMemory));
    Ok(())
}

/// A list of objects, and then as much garbage.
const STOPPED: &str = r#"(module
    (type $node (struct (field (ref null $node)) (field i64)))
    (import "host" "stop" (func $stop))
    (global $list (mut (ref null $node)) (ref.null $node))
    (func (export "f") (param $n i32) (local $left i32)
        (local.set $left (local.get $n))
        (loop $next
            (global.set $list (struct.new $node (global.get $list) (i64.const 2)))
            (br_if $next (local.tee $left (i32.sub (local.get $left) (i32.const 1)))))
        (loop $next
            (drop (struct.new $node (ref.null $node) (i64.const 1)))
            (br_if $next (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
        (call $stop)))"#;

#[test]
fn a_collection_ends_when_its_program_is_to_stop() -> Outcome {
    const LENGTH: u64 = 100_000;
    let engine = Engine::default();
    let mut store = Store::new(&engine, ());
    let handle = store.interrupt_handle();
    let mut linker = Linker::new(&engine);
    linker.func_wrap("host", "stop", move |mut caller: Caller<'_, ()>| {
        handle.interrupt();
        caller.as_context_mut().gc();
    })?;
    let instance = linker.instantiate(&mut store, &Module::new(&engine, STOPPED)?)?;
    let f = instance.get_typed_func::<i32, ()>(&mut store, "f")?;
    let error = f.call(&mut store, LENGTH as i32).expect_err("it is interrupted");
    assert_eq!(error.trap(), Some(Trap::Interrupt));
    let live = |store: &mut Store<()>| store.gc_statistics().expect("it has objects").live;
    assert!(live(&mut store) >= 2 * 24 * LENGTH, "nothing was freed: {}", live(&mut store));
    store.gc();
    assert!(live(&mut store) < 25 * LENGTH + (64 << 10), "the garbage was: {}", live(&mut store));
    Ok(())
}

#[test]
fn calls_that_have_ended_leave_nothing_behind() -> Outcome {
    for stack in [None, Some(4 << 20)] {
        let mut config = Config::new();
        config.strategy(Strategy::Tiered).background_compilation(false).promote_after(150_000);
        config.profiling(ProfilingConfig::Off).max_wasm_stack(stack);
        config.limits(StoreLimits { heap_bytes: 4 << 20, ..StoreLimits::default() });
        let (mut store, instance) = store(&config)?;
        let keep = instance.get_typed_func::<i32, i64>(&mut store, "keep")?;
        // The loop moves to optimized code when the list is almost as long as the heap has room for. So both the OSR
        // buffer and the frame in baseline code have held a long list.
        let error = keep.call(&mut store, 1_000_000).expect_err("24 MB do not fit");
        assert_eq!(error.trap(), Some(Trap::GcOutOfMemory));
        assert_eq!(keep.call(&mut store, 100_000)?, 100_000 * 100_001 / 2);
    }
    Ok(())
}

#[test]
fn an_object_may_be_larger_than_what_is_allocated_between_collections() -> Outcome {
    let mut config = Config::new();
    config.limits(StoreLimits { heap_bytes: 64 << 20, ..StoreLimits::default() });
    let (mut store, instance) = store(&config)?;
    let large = instance.get_typed_func::<(i32, i32), i32>(&mut store, "large")?;
    assert_eq!(large.call(&mut store, (16 << 20, 9))?, 7, "old ones make room");
    let error = large.call(&mut store, (65 << 20, 1)).expect_err("it does not fit");
    assert_eq!(error.trap(), Some(Trap::GcOutOfMemory));
    let keep = instance.get_typed_func::<i32, i64>(&mut store, "keep")?;
    keep.call(&mut store, 1_200_000)?;
    let error = large.call(&mut store, (40 << 20, 1)).expect_err("the list is there");
    assert_eq!(error.trap(), Some(Trap::GcOutOfMemory));
    Ok(())
}

#[test]
fn traps_say_what_was_wrong_in_every_tier() -> Outcome {
    for (name, config) in configs() {
        let (mut store, instance) = store(&config)?;
        let cast = instance.get_typed_func::<i32, i32>(&mut store, "cast")?;
        assert_eq!(cast.call(&mut store, 0)?, 5, "{name}");
        let trap = |result: Result<i32>| result.expect_err("a trap").trap();
        assert_eq!(trap(cast.call(&mut store, 1)), Some(Trap::CastFailure), "{name}");
        let beyond = instance.get_typed_func::<i32, i32>(&mut store, "beyond")?;
        assert_eq!(beyond.call(&mut store, 2)?, -56, "{name}");
        assert_eq!(trap(beyond.call(&mut store, 3)), Some(Trap::ArrayOutOfBounds), "{name}");
        assert_eq!(trap(beyond.call(&mut store, -1)), Some(Trap::ArrayOutOfBounds), "{name}");
        let null = instance.get_typed_func::<(), i32>(&mut store, "null")?;
        assert_eq!(trap(null.call(&mut store, ())), Some(Trap::NullReference), "{name}");
    }
    Ok(())
}

/// Returns the calls and instructions by function.
fn counts(profile: &Profile) -> Vec<(u32, u64, u64)> {
    profile.functions.iter().map(|f| (f.index, f.calls(), f.ops())).collect()
}

#[test]
fn exact_profiles_are_the_same_in_every_tier_and_with_traps() -> Outcome {
    let mut expected = None;
    for (name, mut config) in configs() {
        if !name.contains("exact") {
            continue;
        }
        for collect in [Collect::Edges, Collect::AllEdges, Collect::Blocks] {
            config.profiling(ProfilingConfig::Exact(collect));
            let (mut store, instance) = store(&config)?;
            let run = instance.get_typed_func::<i32, i64>(&mut store, "run")?;
            run.call(&mut store, 40)?;
            let cast = instance.get_typed_func::<i32, i32>(&mut store, "cast")?;
            let _ = cast.call(&mut store, 1).expect_err("a trap");
            let found = counts(&instance.profile(&store)?);
            assert_eq!(*expected.get_or_insert_with(|| found.clone()), found, "{name}");
        }
    }
    Ok(())
}

#[test]
fn the_host_makes_objects_and_holds_them() -> Outcome {
    let mut config = Config::new();
    config.gc_stress(true);
    let engine = Engine::new(&config)?;
    let module = Module::new(
        &engine,
        wat::parse_str(
            r#"(module
            (type $pair (struct (field (mut i8)) (field anyref) (field (mut externref))))
            (type $words (array (mut i16)))
            (func (export "pair") (param i32) (param anyref) (param externref) (result (ref $pair))
                (struct.new $pair (local.get 0) (local.get 1) (local.get 2)))
            (func (export "words") (param i32) (result (ref $words)) (array.new $words (i32.const -1) (local.get 0)))
            (func (export "first") (param (ref $pair)) (result anyref) (struct.get $pair 1 (local.get 0)))
            (func (export "extern") (param anyref) (result externref) (extern.convert_any (local.get 0)))
            (func (export "any") (param externref) (result anyref) (any.convert_extern (local.get 0))))"#,
        )?,
    )?;
    let mut store = Store::new(&engine, ());
    let instance = Instance::new(&mut store, &module, &[])?;
    let call = |store: &mut Store<()>, name: &str, params: &[Val]| -> Result<Val> {
        let func = instance.get_func(&mut *store, name).expect("exported");
        let mut results = [Val::I32(0)];
        func.call(store, params, &mut results)?;
        let [result] = results;
        Ok(result)
    };
    let any = |value: &Val| match value {
        Val::AnyRef(Some(any)) => any.clone(),
        other => panic!("{other:?} is no anyref"),
    };
    let words = any(&call(&mut store, "words", &[Val::I32(5)])?);
    let host = ExternRef::new(77_u32);
    let params = [Val::I32(300), Val::from(Some(words.clone())), Val::from(host.clone())];
    let pair = any(&call(&mut store, "pair", &params)?).as_struct(&store).expect("a structure");
    for _ in 0..10 {
        call(&mut store, "words", &[Val::I32(1000)])?;
        store.gc();
    }
    assert_eq!(pair.field(&store, 0)?.i32(), Some(44));
    let found = any(&pair.field(&store, 1)?);
    assert!(AnyRef::ref_eq(&found, &words));
    let array = found.as_array(&store).expect("an array");
    assert_eq!((array.len(&store), array.get(&store, 4)?.i32()), (5, Some(0xffff)));
    assert!(array.get(&store, 5).is_err() && pair.field(&store, 3).is_err());
    array.set(&mut store, 4, Val::I32(3))?;
    assert_eq!(array.get(&store, 4)?.i32(), Some(3));
    assert!(pair.set_field(&mut store, 1, Val::AnyRef(None)).is_err(), "it is not mutable");
    pair.set_field(&mut store, 0, Val::I32(9))?;
    assert_eq!(pair.field(&store, 0)?.i32(), Some(9));
    let Val::ExternRef(Some(found)) = pair.field(&store, 2)? else { panic!("an externref") };
    assert!(ExternRef::ptr_eq(&found, &host));

    let HeapType::ConcreteStruct(ty) = pair.to_anyref().ty(&store) else { panic!("a structure") };
    let fields = [Val::I32(1), Val::from(Some(AnyRef::from(I31::wrapping_i32(-5)))), Val::ExternRef(None)];
    let own = StructRef::new(&mut store, &ty, &fields)?;
    let first = any(&call(&mut store, "first", &[Val::from(Some(own.to_anyref()))])?);
    assert_eq!(first.as_i31().map(I31::get_i32), Some(-5));
    assert!(call(&mut store, "first", &[Val::from(Some(words.clone()))]).is_err(), "an array is no pair");

    let converted = call(&mut store, "extern", &[Val::from(Some(words.clone()))])?;
    let back = any(&call(&mut store, "any", &[converted])?);
    assert!(AnyRef::ref_eq(&back, &words));
    let converted = any(&call(&mut store, "any", &[Val::from(host.clone())])?);
    assert!(ExternRef::ptr_eq(&converted.convert_to_extern(), &host));
    Ok(())
}
