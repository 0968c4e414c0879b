//! Modules that are compiled ahead behave as others, in any process, and no other bytes are accepted as one.
#![allow(unsafe_code, reason = "who loads machine code vouches for it")]

use std::sync::Arc;

use wprof::*;

use super::{Outcome, engines};

/// Calls a host function directly, through a table that the compiler may treat as constant and through one that it may
/// not; and reads data.
const PROGRAM: &str = r#"(module
    (type $other (func (param i64)))
    (type $unary (func (param i32) (result i32)))
    (import "host" "double" (func $double (type $unary)))
    (table $constant 2 2 funcref)
    (elem (table $constant) (i32.const 0) func $half $triple)
    (table $open (export "table") 3 3 funcref)
    (elem (table $open) (i32.const 0) func $half $triple $odd)
    (memory (export "memory") 1)
    (data (i32.const 16) "\07\00\00\00")
    (func $half (type $unary) (i32.div_s (local.get 0) (i32.const 2)))
    (func $triple (type $unary) (i32.mul (local.get 0) (i32.const 3)))
    (func $odd (type $other))
    (func $round (param f64) (result f64) (f64.nearest (local.get 0)))
    (func (export "run") (param $n i32) (param $divisor i32) (result i32) (local $sum i32)
        (loop $again
            (local.set $sum (i32.add (local.get $sum) (i32.add
                (call_indirect $constant (type $unary) (local.get $n) (i32.and (local.get $n) (i32.const 1)))
                (call_indirect $open (type $unary) (local.get $n) (i32.and (local.get $n) (i32.const 1))))))
            (local.set $sum (i32.add (local.get $sum) (call $double (local.get $n))))
            (br_if $again (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
        (drop (call $round (f64.convert_i32_s (local.get $sum))))
        (i32.add (i32.load (i32.const 16)) (i32.div_s (local.get $sum) (local.get $divisor))))
    (func (export "wrong") (param i32) (result i32)
        (call_indirect $open (type $unary) (i32.const 1) (local.get 0))))"#;
const FUNCTIONS: usize = 6;

/// The observable behaviour of a program: its results, or its traps with their places; and its exact profile, if it
/// has one.
type Seen = (Vec<std::result::Result<i32, String>>, Option<profiler::Profile>);

fn run(module: &Module) -> Result<Seen> {
    let engine = module.engine();
    let mut linker = Linker::new(engine);
    linker.func_wrap("host", "double", |x: i32| x * 2)?;
    let mut store = Store::new(engine, ());
    let instance = linker.instantiate(&mut store, module)?;
    let run = instance.get_typed_func::<(i32, i32), i32>(&mut store, "run")?;
    let wrong = instance.get_typed_func::<i32, i32>(&mut store, "wrong")?;
    let shown = |result: Result<i32>| {
        result.map_err(|e| format!("{e}\n{}", e.backtrace().map(ToString::to_string).unwrap_or_default()))
    };
    let mut results = vec![run.call(&mut store, (1001, 7)), run.call(&mut store, (10, 0))];
    results.extend([0, 2, 3].map(|index| wrong.call(&mut store, index)));
    // An engine that does not profile returns no profile; a sampled profile differs in each run.
    let profile = instance.profile(&store).ok().filter(|profile| profile.bursts.is_none());
    Ok((results.into_iter().map(shown).collect(), profile))
}

fn deserialize(engine: &Engine, bytes: &[u8]) -> Result<Module> {
    // SAFETY: this test made the bytes, or damaged them where they are checked before any of them is used.
    unsafe { Module::deserialize(engine, bytes) }
}

#[test]
fn a_module_does_compiled_ahead_what_it_does_without() -> Outcome {
    for engine in engines()? {
        let seen = run(&Module::new(&engine, PROGRAM)?)?;
        assert!(seen.0[1].as_ref().is_err_and(|text| text.contains("divide by zero")), "{seen:?}");
        assert!(
            seen.0[3].as_ref().is_err_and(|text| text.contains("indirect call type mismatch")),
            "{seen:?}"
        );
        let artifact = engine.precompile_module(PROGRAM)?;
        // Addresses differ, and types have other ids in other engines.
        let other = Engine::new(engine.config())?;
        let types = (0..300).map(|n| format!("(func (param{}))", " i64".repeat(n))).collect::<String>();
        let _types = Module::new(&other, format!("(module {types})"))?;
        let modules = [&engine, &engine, &other].map(|engine| deserialize(engine, &artifact));
        for module in modules {
            let module = module?;
            assert_eq!((module.compiled().0, module.ran()), (FUNCTIONS, 0), "all code is there");
            assert_eq!(run(&module)?, seen);
            assert_eq!(module.compiled().0, FUNCTIONS);
        }
    }
    Ok(())
}

#[test]
fn compiling_ahead_gives_the_same_bytes_each_time() -> Outcome {
    let engine = Engine::default();
    assert!(engine.precompile_module(PROGRAM)? == engine.precompile_module(PROGRAM)?);
    assert!(engine.precompile_module(PROGRAM)? == Module::new(&engine, PROGRAM)?.serialize()?);
    Ok(())
}

#[test]
fn what_a_profile_tells_is_in_the_code() -> Outcome {
    let exact = Engine::with_profiling(ProfilingConfig::Exact(Collect::Edges))?;
    let profile = Arc::new(run(&Module::new(&exact, PROGRAM)?)?.1.ok_or("no profile")?);
    let engine = Engine::default();
    let (without, with) =
        (engine.precompile_module(PROGRAM)?, engine.precompile_module_with(PROGRAM, profile.clone())?);
    assert!(without != with);
    let module = deserialize(&engine, &with)?;
    assert_eq!(module.compiled().0, FUNCTIONS);
    assert_eq!(run(&module)?.0, run(&Module::new(&engine, PROGRAM)?)?.0);
    let other = engine.precompile_module_with("(module (func))", profile);
    assert!(other.is_err(), "the profile is of another module");
    Ok(())
}

#[test]
fn a_mapped_file_is_a_module_and_may_be_removed() -> Outcome {
    let (engine, folder) = (Engine::default(), tempfile::tempdir()?);
    let path = folder.path().join("m.cwasm");
    std::fs::write(&path, engine.precompile_module(PROGRAM)?)?;
    // SAFETY: this test has just written the file, and never changes it.
    let module = unsafe { Module::deserialize_file(&engine, &path)? };
    std::fs::remove_file(&path)?;
    assert_eq!(module.compiled().0, FUNCTIONS);
    assert_eq!(run(&module)?, run(&Module::new(&engine, PROGRAM)?)?);
    // SAFETY: the file does not exist.
    let gone = unsafe { Module::deserialize_file(&engine, &path) };
    assert!(gone.is_err_and(|e| e.kind() == ErrorKind::System));
    Ok(())
}

#[test]
fn damaged_files_are_errors() -> Outcome {
    let engine = Engine::default();
    let artifact = engine.precompile_module(PROGRAM)?;
    assert!(Module::is_precompiled(&artifact) && !Module::is_precompiled(b"\0asm\x01\0\0\0"));
    let step = artifact.len() / 200;
    for at in (0..200).chain((200..artifact.len()).step_by(step)) {
        for mask in [1, 0x80] {
            let mut damaged = artifact.clone();
            damaged[at] ^= mask;
            let error = deserialize(&engine, &damaged).err().ok_or(at.to_string())?;
            assert_eq!(error.kind(), ErrorKind::Artifact, "byte {at}: {error}");
        }
        assert!(deserialize(&engine, &artifact[..at]).is_err(), "cut at byte {at}");
    }
    assert!(deserialize(&engine, &[&artifact[..], b"x"].concat()).is_err());
    Ok(())
}

#[test]
fn code_for_other_settings_is_an_error_that_says_so() -> Outcome {
    let all = engines()?;
    for (i, engine) in all.iter().enumerate() {
        let artifact = engine.precompile_module(PROGRAM)?;
        for (_, other) in all.iter().enumerate().filter(|(j, _)| *j != i) {
            let error = deserialize(other, &artifact).err().ok_or("taken")?;
            assert!(error.to_string().contains("other settings"), "{error}");
        }
    }
    let versioned = Engine::new(Config::new().module_version(Some("1".into())))?;
    let error =
        deserialize(&versioned, &Engine::default().precompile_module(PROGRAM)?).err().ok_or("taken")?;
    assert!(error.to_string().contains("another build"), "{error}");
    let expected = run(&Module::new(&versioned, PROGRAM)?)?;
    let same = Engine::new(Config::new().module_version(Some("1".into())))?;
    assert_eq!(run(&deserialize(&same, &versioned.precompile_module(PROGRAM)?)?)?.0[0], expected.0[0]);
    Ok(())
}

#[test]
fn code_that_depends_on_more_is_not_compiled_ahead() -> Outcome {
    let exact = ProfilingConfig::Exact(Collect::Edges);
    let profile = run(&Module::new(&Engine::with_profiling(exact)?, PROGRAM)?)?.1.ok_or("no profile")?;
    let engine = Engine::new(Config::new().profiling(exact).weights(Arc::new(profile)))?;
    let error = engine.precompile_module(PROGRAM).err().ok_or("compiled")?;
    assert_eq!(error.kind(), ErrorKind::Artifact);
    assert!(Engine::default().precompile_module("(module (func (drop)))").is_err());
    Ok(())
}

#[test]
fn files_of_others_are_not_loaded_as_own() -> Outcome {
    let (engine, folder) = (Engine::default(), tempfile::tempdir()?);
    let own = OwnArtifacts::open(folder.path().join("own"))?;
    let path = folder.path().join("m.cwasm");
    std::fs::write(&path, own.precompile_module(&engine, PROGRAM)?)?;
    assert_eq!(own.load(&engine, &path)?.compiled().0, FUNCTIONS);
    std::fs::write(&path, engine.precompile_module("(module (func (export \"other\")))")?)?;
    let error = own.load(&engine, &path).err().ok_or("loaded")?;
    assert!(error.to_string().contains("compile it here"), "{error}");
    Ok(())
}
