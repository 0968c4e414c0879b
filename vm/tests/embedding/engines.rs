//! Engines: their epochs, references to them, and what they recognise.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use wprof::*;

use super::{Outcome, engines};

const LOOP: &str = r#"(module (import "host" "tick" (func $tick))
    (func (export "run") (param $n i32)
        (loop $again
            (call $tick)
            (br_if $again (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))))"#;

/// Returns a program that begins an epoch each time around, and counts them.
fn ticking(engine: &Engine) -> Result<(Store<u32>, TypedFunc<i32, ()>)> {
    let mut linker = Linker::new(engine);
    linker.func_wrap("host", "tick", |mut caller: Caller<'_, u32>| {
        *caller.data_mut() += 1;
        caller.engine().increment_epoch();
    })?;
    let mut store = Store::new(engine, 0);
    let instance = linker.instantiate(&mut store, &Module::new(engine, LOOP)?)?;
    let run = instance.get_typed_func::<i32, ()>(&mut store, "run")?;
    Ok((store, run))
}

#[test]
fn a_program_stops_when_its_epoch_has_come() -> Outcome {
    for engine in engines()? {
        let (mut store, run) = ticking(&engine)?;
        store.set_epoch_deadline(5)?;
        let error = run.call(&mut store, 1000).expect_err("it ends after five");
        assert_eq!((error.trap(), *store.data()), (Some(Trap::Deadline), 5), "{:?}", engine.config());
        run.call(&mut store, 10)?;
        store.set_epoch_deadline(100)?;
        store.set_epoch_deadline(0)?;
        let error = run.call(&mut store, 1).expect_err("at once");
        assert_eq!((error.trap(), *store.data()), (Some(Trap::Deadline), 15));
    }
    Ok(())
}

#[test]
fn a_later_epoch_replaces_one_that_came_too_soon() -> Outcome {
    let engine = Engine::new(Config::new().epoch_interruption(true))?;
    let (mut store, run) = ticking(&engine)?;
    let (other, _) = ticking(&engine)?;
    store.set_epoch_deadline(1)?;
    engine.increment_epoch();
    store.set_epoch_deadline(50)?;
    drop(other);
    run.call(&mut store, 49)?;
    assert_eq!(run.call(&mut store, 2).expect_err("the fiftieth").trap(), Some(Trap::Deadline));
    Ok(())
}

#[test]
fn the_embedder_decides_when_an_epoch_has_come() -> Outcome {
    let engine = Engine::new(Config::new().epoch_interruption(true))?;
    let (mut store, run) = ticking(&engine)?;
    store.deadline_callback(|_| Ok(UpdateDeadline::Continue(Duration::from_secs(1000))));
    store.set_epoch_deadline(3)?;
    run.call(&mut store, 20)?;
    assert_eq!(*store.data(), 20);
    Ok(())
}

/// The program begins an epoch in each of its 20 rounds.
#[test]
fn the_embedder_is_asked_again_after_some_epochs() -> Outcome {
    let engine = Engine::new(Config::new().epoch_interruption(true))?;
    let (mut store, run) = ticking(&engine)?;
    let asked = Arc::new(AtomicU64::new(0));
    let counted = asked.clone();
    store.deadline_callback(move |_| {
        let before = counted.fetch_add(1, Ordering::Relaxed);
        Ok(if before < 4 { UpdateDeadline::ContinueEpochs(3) } else { UpdateDeadline::Interrupt })
    });
    store.set_epoch_deadline(3)?;
    let trap = run.call(&mut store, 20).expect_err("interrupted");
    assert_eq!(trap.trap(), Some(Trap::Deadline));
    // After 3, 6, 9, 12 and 15 rounds.
    assert_eq!((asked.load(Ordering::Relaxed), *store.data()), (5, 15));
    // Without an executor nobody comes first.
    store.deadline_callback(|_| Ok(UpdateDeadline::YieldEpochs(1)));
    store.set_epoch_deadline(1)?;
    *store.data_mut() = 0;
    run.call(&mut store, 20)?;
    assert_eq!(*store.data(), 20);
    Ok(())
}

/// The callback sees the data, the engine, and the frames that wait.
#[test]
fn the_embedder_sees_where_the_program_waits() -> Outcome {
    for engine in engines()? {
        let (mut store, run) = ticking(&engine)?;
        store.epoch_deadline_callback(|mut context| {
            assert!(!context.backtrace().frames().is_empty());
            *context.data_mut() += 100;
            context.engine().increment_epoch();
            Ok(if *context.data() < 300 {
                UpdateDeadline::ContinueEpochs(1)
            } else {
                context.interrupt_handle().interrupt();
                UpdateDeadline::Continue(Duration::from_secs(1000))
            })
        });
        store.set_epoch_deadline(2)?;
        // After 2, 3 and 4 rounds; then the callback interrupts what it lets go on.
        let error = run.call(&mut store, 1000).expect_err("interrupted");
        assert_eq!(error.trap(), Some(Trap::Interrupt), "{:?}", engine.config());
        // Of a loop that is unrolled some rounds pass before it looks.
        assert!((304..=308).contains(store.data()), "{}", store.data());
    }
    Ok(())
}

#[test]
fn without_a_callback_any_more_the_program_ends() -> Outcome {
    for engine in engines()? {
        let (mut store, run) = ticking(&engine)?;
        store.epoch_deadline_callback(|_| Ok(UpdateDeadline::ContinueEpochs(1)));
        store.set_epoch_deadline(1)?;
        run.call(&mut store, 20)?;
        store.epoch_deadline_trap();
        let error = run.call(&mut store, 20).expect_err("the deadline is still there");
        assert_eq!((error.trap(), *store.data()), (Some(Trap::Deadline), 21), "{:?}", engine.config());
        // A host function may set and remove it, too.
        store.epoch_deadline_callback(|_| Ok(UpdateDeadline::ContinueEpochs(1)));
        let mut context = store.as_context_mut();
        context.epoch_deadline_trap();
        context.set_epoch_deadline(3)?;
        let error = run.call(&mut store, 20).expect_err("after three");
        assert_eq!((error.trap(), *store.data()), (Some(Trap::Deadline), 24));
    }
    Ok(())
}

#[test]
fn a_weak_reference_does_not_keep_an_engine() -> Outcome {
    let engine = Engine::default();
    let weak = engine.weak();
    assert!(weak.upgrade().is_some_and(|other| Engine::same(&engine, &other)));
    drop(engine);
    assert!(weak.upgrade().is_none());
    Ok(())
}

#[test]
fn compiled_modules_are_recognised() -> Outcome {
    let engine = Engine::new(Config::new().module_version(Some("test".into())))?;
    let artifact = engine.precompile_module("(module)")?;
    assert_eq!(Engine::detect_precompiled(&artifact), Some(Precompiled::Module));
    assert_eq!(Engine::detect_precompiled(b"\0asm\x01\0\0\0"), None);
    assert_eq!(Engine::detect_precompiled(b""), None);
    Ok(())
}

#[test]
fn files_of_compiled_modules_are_recognised() -> Outcome {
    let engine = Engine::new(Config::new().module_version(Some("test".into())))?;
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("module");
    let error = Engine::detect_precompiled_file(&path).expect_err("there is none");
    assert!(error.kind() == ErrorKind::System && error.to_string().contains("module"), "{error}");
    std::fs::write(&path, engine.precompile_module("(module)")?)?;
    assert_eq!(Engine::detect_precompiled_file(&path)?, Some(Precompiled::Module));
    for bytes in [&b"\0asm\x01\0\0\0"[..], b"", b"\0wp"] {
        std::fs::write(&path, bytes)?;
        assert_eq!(Engine::detect_precompiled_file(&path)?, None);
    }
    Ok(())
}

#[test]
fn engines_with_equal_hashes_load_what_each_other_has_compiled() -> Outcome {
    let engine = |version: &str, nans| {
        Engine::new(Config::new().module_version(Some(version.into())).canonical_nans(nans))
    };
    let hash = |engine: &Engine| {
        let mut hasher = std::hash::DefaultHasher::new();
        std::hash::Hash::hash(&engine.precompile_compatibility_hash(), &mut hasher);
        std::hash::Hasher::finish(&hasher)
    };
    let first = engine("a", false)?;
    assert_eq!(hash(&first), hash(&engine("a", false)?));
    assert_ne!(hash(&first), hash(&engine("a", true)?));
    assert_ne!(hash(&first), hash(&engine("b", false)?));
    Ok(())
}
