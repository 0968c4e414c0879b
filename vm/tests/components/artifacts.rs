//! Components that are compiled ahead behave as others, and no other bytes are accepted as one.
#![allow(unsafe_code, reason = "who loads machine code vouches for it")]

use std::sync::Arc;

use wprof::component::{Component, Linker, Val};
use wprof::*;

type Outcome = std::result::Result<(), Box<dyn std::error::Error>>;

/// The module of components that add up.
const ADDER: &str = r#"(core module $m
    (func $step (param i32) (result i32) (i32.add (local.get 0) (i32.const 1)))
    (func (export "add") (param $n i32) (result i32) (local $sum i32)
      (loop $next
        (local.set $sum (i32.add (local.get $sum) (call $step (local.get $n))))
        (br_if $next (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
      (local.get $sum)))"#;
/// Core functions that the engine compiles for [`program`]: two of the adder, one that calls, one that divides, and one
/// adapter.
const FUNCTIONS: usize = 5;

/// A component that calls another one, which contains the same module as a third.
fn program() -> String {
    format!(
        r#"(component
  (component $Adder {ADDER}
    (core instance $m (instantiate $m))
    (func $add (param "n" u32) (result u32) (canon lift (core func $m "add")))
    (instance $i (export "add" (func $add)))
    (export "test:sums/adder" (instance $i)))
  (component $Alone {ADDER}
    (core instance $m (instantiate $m))
    (func (export "add") (param "n" u32) (result u32) (canon lift (core func $m "add"))))
  (component $Caller
    (import "test:sums/adder" (instance $adder (export "add" (func (param "n" u32) (result u32)))))
    (import "halve" (func $halve (param "n" u32) (result u32)))
    (core func $add (canon lower (func $adder "add")))
    (core func $halve' (canon lower (func $halve)))
    (core module $m
      (import "" "add" (func $add (param i32) (result i32)))
      (import "" "halve" (func $halve (param i32) (result i32)))
      (func (export "twice") (param i32) (result i32)
        (i32.add (call $add (local.get 0)) (call $halve (call $add (local.get 0)))))
      (func (export "divide") (param i32) (result i32) (i32.div_u (i32.const 100) (local.get 0))))
    (core instance $m (instantiate $m (with "" (instance
      (export "add" (func $add)) (export "halve" (func $halve'))))))
    (func (export "twice") (param "n" u32) (result u32) (canon lift (core func $m "twice")))
    (func (export "divide") (param "n" u32) (result u32) (canon lift (core func $m "divide"))))
  (import "halve" (func $halve (param "n" u32) (result u32)))
  (instance $adder (instantiate $Adder))
  (instance $alone (instantiate $Alone))
  (instance $caller (instantiate $Caller
    (with "test:sums/adder" (instance $adder "test:sums/adder")) (with "halve" (func $halve))))
  (export "twice" (func $caller "twice"))
  (export "divide" (func $caller "divide"))
  (export "alone" (func $alone "add")))"#
    )
}

/// What a program does: its results or traps, and the exact profiles of its modules, if they have any.
type Seen = (Vec<std::result::Result<Val, String>>, Vec<profiler::Profile>);

fn run(component: &Component) -> Result<Seen> {
    let engine = component.engine();
    let mut linker = Linker::new(engine);
    linker.root().func_wrap("halve", |_, (n,): (u32,)| Ok((n / 2,)))?;
    let mut store = Store::new(engine, ());
    let instance = linker.instantiate(&mut store, component)?;
    let mut results = Vec::new();
    for (name, n) in [("twice", 1001), ("alone", 10), ("divide", 7), ("divide", 0)] {
        let mut result = [Val::U32(0)];
        let func = instance.get_func(name).expect("it is exported");
        let called = func.call(&mut store, &[Val::U32(n)], &mut result);
        let shown = |e: Error| format!("{e}\n{}", e.backtrace().map(ToString::to_string).unwrap_or_default());
        let [result] = result;
        results.push(called.map(|()| result).map_err(shown));
    }
    let modules = component.modules().iter().chain(component.adapters());
    // An engine that does not profile returns no profile; a sampled profile differs in each run.
    let profiles = modules.filter_map(|module| module.profile(&store)?.ok());
    Ok((results, profiles.filter(|profile| profile.bursts.is_none()).collect()))
}

fn compiled(component: &Component) -> usize {
    let modules = [&component.modules()[0], &component.modules()[2]];
    modules.into_iter().chain(component.adapters()).map(|module| module.compiled().0).sum()
}

fn deserialize(engine: &Engine, bytes: &[u8]) -> Result<Component> {
    // SAFETY: this test made the bytes, or damaged them where they are checked before any of them is used.
    unsafe { Component::deserialize(engine, bytes) }
}

#[test]
fn a_component_does_compiled_ahead_what_it_does_without() -> Outcome {
    let adaptive = ProfilingConfig::Adaptive(Adaptive::default());
    for profiling in [ProfilingConfig::Off, ProfilingConfig::Exact(Collect::Paths), adaptive] {
        let engine = Engine::with_profiling(profiling)?;
        let component = Component::new(&engine, program())?;
        let seen = run(&component)?;
        assert_eq!(seen.0[0], Ok(Val::U32(502_502 + 251_251)));
        assert!(seen.0[3].as_ref().is_err_and(|text| text.contains("divide by zero")), "{seen:?}");
        let artifact = engine.precompile_component(program())?;
        assert_eq!(Engine::detect_precompiled(&artifact), Some(Precompiled::Component));
        assert!(!Module::is_precompiled(&artifact));
        // Addresses differ, and types have other ids in other engines.
        let other = Engine::new(engine.config())?;
        let types = (0..300).map(|n| format!("(func (param{}))", " i64".repeat(n))).collect::<String>();
        let _types = Module::new(&other, format!("(module {types})"))?;
        for engine in [&engine, &other] {
            let loaded = deserialize(engine, &artifact)?;
            assert_eq!(compiled(&loaded), FUNCTIONS, "all code is there");
            assert_eq!(loaded.bytes(), component.bytes());
            assert_eq!(run(&loaded)?, seen);
            assert_eq!(compiled(&loaded), FUNCTIONS, "nothing was compiled again");
        }
    }
    Ok(())
}

/// An artifact has the code of a module once, however often the component contains the module.
#[test]
fn equal_core_modules_are_one_module() -> Outcome {
    let engine = Engine::with_profiling(ProfilingConfig::Exact(Collect::Edges))?;
    let component = Component::new(&engine, program())?;
    let seen = run(&component)?;
    let [first, second, ..] = &seen.1[..] else { panic!("profiles of all modules") };
    assert_eq!(first, second);
    let entries = |profile: &profiler::Profile| profile.functions.iter().map(|f| f.calls()).sum::<u64>();
    assert_eq!(entries(first), 2 * 1002 + 11, "both instances are in it");
    Ok(())
}

#[test]
fn compiling_ahead_gives_the_same_bytes_each_time() -> Outcome {
    let engine = Engine::default();
    let artifact = engine.precompile_component(program())?;
    assert!(artifact == engine.precompile_component(program())?);
    let component = Component::new(&engine, program())?;
    assert!(artifact == component.serialize()?);
    assert!(artifact == deserialize(&engine, &artifact)?.serialize()?);
    Ok(())
}

#[test]
fn what_a_profile_tells_of_one_module_is_in_the_code() -> Outcome {
    let exact = Engine::with_profiling(ProfilingConfig::Exact(Collect::Edges))?;
    let profile = run(&Component::new(&exact, program())?)?.1.swap_remove(0);
    let (engine, profile) = (Engine::default(), Arc::new(profile));
    let with = engine.precompile_component_with(program(), profile.clone())?;
    assert!(with != engine.precompile_component(program())?);
    let component = deserialize(&engine, &with)?;
    assert_eq!(compiled(&component), FUNCTIONS);
    assert_eq!(run(&component)?.0, run(&Component::new(&engine, program())?)?.0);
    let advised = Engine::new(Config::new().profile_use(profile.clone()))?;
    assert!(with == Component::new(&advised, program())?.serialize()?, "what is known is kept");
    let other = engine.precompile_component_with("(component (core module (func)))", profile);
    assert!(other.is_err(), "the profile is of another module");
    Ok(())
}

/// Adapters take the code that is theirs, and an engine that does without leaves it.
#[test]
fn settings_that_code_does_not_depend_on_may_differ() -> Outcome {
    let (with, without) = (Engine::default(), Engine::new(Config::new().fused_adapters(false))?);
    for (from, to, found) in [(&with, &without, FUNCTIONS - 1), (&without, &with, FUNCTIONS - 1)] {
        let component = deserialize(to, &from.precompile_component(program())?)?;
        assert_eq!(compiled(&component), found);
        assert_eq!(run(&component)?.0, run(&Component::new(from, program())?)?.0);
    }
    Ok(())
}

#[test]
fn a_mapped_file_is_a_component_and_may_be_removed() -> Outcome {
    let (engine, folder) = (Engine::default(), tempfile::tempdir()?);
    let path = folder.path().join("c.cwasm");
    std::fs::write(&path, engine.precompile_component(program())?)?;
    // SAFETY: this test has just written the file, and never changes it.
    let component = unsafe { Component::deserialize_file(&engine, &path)? };
    std::fs::remove_file(&path)?;
    assert_eq!(compiled(&component), FUNCTIONS);
    assert_eq!(run(&component)?, run(&Component::new(&engine, program())?)?);
    // SAFETY: the file does not exist.
    let gone = unsafe { Component::deserialize_file(&engine, &path) };
    assert!(gone.is_err_and(|e| e.kind() == ErrorKind::System));
    Ok(())
}

#[test]
fn damaged_files_are_errors() -> Outcome {
    let engine = Engine::default();
    let artifact = engine.precompile_component(program())?;
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
fn artifacts_of_another_kind_or_for_other_settings_are_errors_that_say_so() -> Outcome {
    let engine = Engine::default();
    let (component, module) =
        (engine.precompile_component(program())?, engine.precompile_module("(module (func))")?);
    let error = deserialize(&engine, &module).unwrap_err().to_string();
    assert!(error.contains("Module::deserialize"), "{error}");
    // SAFETY: this test made the bytes.
    let error = unsafe { Module::deserialize(&engine, &component) }.unwrap_err().to_string();
    assert!(error.contains("Component::deserialize"), "{error}");
    let exact = Engine::with_profiling(ProfilingConfig::Exact(Collect::Edges))?;
    let error = deserialize(&exact, &component).unwrap_err().to_string();
    assert!(error.contains("other settings"), "{error}");
    let small = Engine::new(Config::new().max_module_size(100))?;
    let error = deserialize(&small, &component).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limit, "{error}");
    assert!(small.precompile_component(program()).is_err());
    Ok(())
}

#[test]
fn files_of_others_are_not_loaded_as_own() -> Outcome {
    let (engine, folder) = (Engine::default(), tempfile::tempdir()?);
    let own = OwnArtifacts::open(folder.path().join("own"))?;
    let path = folder.path().join("c.cwasm");
    std::fs::write(&path, own.precompile_component(&engine, program())?)?;
    assert_eq!(compiled(&own.load_component(&engine, &path)?), FUNCTIONS);
    assert!(own.load(&engine, &path).is_err_and(|e| e.to_string().contains("it is a component")));
    std::fs::write(&path, engine.precompile_component("(component)")?)?;
    let error = own.load_component(&engine, &path).unwrap_err().to_string();
    assert!(error.contains("compile it here"), "{error}");
    Ok(())
}

/// Cached code has its module's addresses, so that modules of the same code need each their own.
#[test]
fn modules_of_the_same_code_have_each_their_cached_code() -> Outcome {
    let folder = tempfile::tempdir()?;
    let mut config = Config::new();
    config.code_cache(folder.path().join("code"));
    let module =
        |data: &str| ADDER.replacen("$m", &format!("$m (memory 1) (data (i32.const 0) \"{data}\")"), 1);
    let component = format!(
        r#"(component (component $A {} (core instance $m (instantiate $m))
            (func (export "add") (param "n" u32) (result u32) (canon lift (core func $m "add"))))
        (component $B {} (core instance $m (instantiate $m))
            (func (export "add") (param "n" u32) (result u32) (canon lift (core func $m "add"))))
        (instance $a (instantiate $A)) (instance $b (instantiate $B))
        (export "a" (func $a "add")) (export "b" (func $b "add")))"#,
        module("x"),
        module("y")
    );
    let load = || Component::new(&Engine::new(&config)?, &component);
    let counts =
        |component: &Component| component.modules().iter().map(|m| m.compiled().0).collect::<Vec<_>>();
    for round in 0..3 {
        let component = load()?;
        assert_eq!(component.modules()[0].hash(), component.modules()[1].hash());
        let expected = if round == 0 { [0, 0] } else { [2, 2] };
        assert_eq!(counts(&component), expected, "round {round}");
        let mut store = Store::new(component.engine(), ());
        let instance = Linker::new(component.engine()).instantiate(&mut store, &component)?;
        for name in ["a", "b"] {
            let mut result = [Val::U32(0)];
            instance.get_func(name).ok_or("missing")?.call(&mut store, &[Val::U32(10)], &mut result)?;
            assert_eq!(result, [Val::U32(65)]);
        }
        assert_eq!(counts(&component), [2, 2]);
        drop((instance, store));
        for module in component.modules() {
            assert_eq!(module.update_code_cache()?, round == 0);
        }
    }
    Ok(())
}
