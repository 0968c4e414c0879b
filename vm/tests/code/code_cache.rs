//! The code cache: code of an earlier run behaves as freshly compiled code, and no other file content is ever used.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use wprof::profiler::BurstLengths;
use wprof::*;

type Outcome = std::result::Result<(), Box<dyn std::error::Error>>;

/// Sums `host.double` of 1 to n by an indirect call, then divides by zero if requested.
const PROGRAM: &str = r#"(module
    (type $unary (func (param i32) (result i32)))
    (import "host" "double" (func $double (type $unary)))
    (table funcref (elem $double $half))
    (func $half (type $unary) (i32.div_s (local.get 0) (i32.const 2)))
    (func $round (param f64) (result f64) (f64.nearest (local.get 0)))
    (func (export "run") (param $n i32) (param $divisor i32) (result i32) (local $sum i32)
        (loop $again
            (local.set $sum (i32.add (local.get $sum)
                (call_indirect (type $unary) (local.get $n) (i32.and (local.get $n) (i32.const 1)))))
            (br_if $again (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
        (drop (call $round (f64.convert_i32_s (local.get $sum))))
        (i32.div_s (local.get $sum) (local.get $divisor))))"#;

/// The observable behaviour of a program: its result, or its trap with the place; and its profile.
type Seen = (std::result::Result<i32, String>, Option<profiler::Profile>);

fn load(config: &Config) -> Result<Module> {
    Module::new(&Engine::new(config)?, PROGRAM)
}

fn run(module: &Module, divisor: i32) -> Result<Seen> {
    let engine = module.engine();
    let mut linker = Linker::new(engine);
    linker.func_wrap("host", "double", |x: i32| x * 2)?;
    let mut store = Store::new(engine, ());
    let instance = linker.instantiate(&mut store, module)?;
    let run = instance.get_typed_func::<(i32, i32), i32>(&mut store, "run")?;
    let result = run
        .call(&mut store, (1001, divisor))
        .map_err(|e| format!("{e}\n{}", e.backtrace().expect("of wasm code")));
    // An engine that does not profile returns no profile.
    Ok((result, instance.profile(&store).ok()))
}

fn configs(folder: &Path) -> Vec<Config> {
    let mut all = Vec::new();
    for profiling in [ProfilingConfig::Off, ProfilingConfig::Exact(Collect::Edges)] {
        for strategy in [Strategy::Tiered, Strategy::Optimized, Strategy::Baseline] {
            let mut config = Config::new();
            config.profiling(profiling).strategy(strategy).promote_after(100).background_compilation(false);
            config.code_cache(folder.join("code")).count_contexts(profiling != ProfilingConfig::Off);
            all.push(config);
        }
    }
    all
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder.join("code")).expect("the cache makes its folder");
    entries.map(|entry| entry.expect("readable").path()).collect()
}

/// A cache key would have to contain the weights.
#[test]
fn code_placed_by_weights_is_not_kept() -> Outcome {
    let folder = tempfile::tempdir()?;
    let mut config = Config::new();
    let (_, profile) = run(&load(config.profiling(ProfilingConfig::Exact(Collect::Edges)))?, 7)?;
    config.code_cache(folder.path().join("code"));
    let unweighted = load(&config)?;
    assert!(run(&unweighted, 7)?.0.is_ok());
    assert!(unweighted.update_code_cache()?);
    let weighted = load(config.weights(std::sync::Arc::new(profile.expect("it profiles"))))?;
    assert_eq!(weighted.compiled().0, 0);
    assert!(run(&weighted, 7)?.0.is_ok());
    assert!(!weighted.update_code_cache()?);
    assert_eq!(files(folder.path()).len(), 1);
    Ok(())
}

#[test]
fn kept_code_does_what_it_did() -> Outcome {
    let folder = tempfile::tempdir()?;
    for (round, config) in configs(folder.path()).iter().enumerate() {
        let module = load(config)?;
        assert_eq!(module.compiled().0, 0);
        let first = [run(&module, 7)?, run(&module, 0)?];
        assert!(first[1].0.as_ref().is_err_and(|text| text.contains("divide by zero")), "{first:?}");
        assert!(module.update_code_cache()?);
        assert!(!module.update_code_cache()?, "nothing is new");
        assert_eq!(files(folder.path()).len(), round + 1, "one file a configuration");
        drop(module);

        let module = load(config)?;
        assert_eq!(module.compiled().0, 3, "all that ran is there");
        assert_eq!([run(&module, 7)?, run(&module, 0)?], first);
        assert!(!module.update_code_cache()?);
    }
    Ok(())
}

#[test]
fn code_is_not_used_beside_the_module_that_it_was_made_for() -> Outcome {
    let folder = tempfile::tempdir()?;
    let config = &configs(folder.path())[0];
    let module = load(config)?;
    let seen = run(&module, 7)?;
    module.update_code_cache()?;
    let other = load(config)?;
    assert_eq!(other.compiled().0, 0, "its slots are still taken");
    assert_eq!(run(&other, 7)?, seen);
    Ok(())
}

#[test]
fn damaged_code_is_not_used() -> Outcome {
    let folder = tempfile::tempdir()?;
    let config = &configs(folder.path())[0];
    let module = load(config)?;
    let seen = run(&module, 7)?;
    module.update_code_cache()?;
    drop(module);
    let path = &files(folder.path())[0];
    let content = fs::read(path)?;
    for at in (0..content.len()).step_by(content.len() / 40) {
        let mut damaged = content.clone();
        damaged[at] ^= 1;
        fs::write(path, damaged)?;
        assert_eq!(load(config)?.compiled().0, 0, "byte {at}");
        fs::write(path, &content[..at])?;
        assert_eq!(load(config)?.compiled().0, 0, "cut at byte {at}");
    }
    let module = load(config)?;
    assert_eq!(run(&module, 7)?, seen);
    assert!(module.update_code_cache()?);
    assert_eq!(fs::read(path)?.len(), content.len());
    Ok(())
}

#[test]
fn a_folder_that_others_may_write_to_is_not_used() -> Outcome {
    let folder = tempfile::tempdir()?;
    let config = &configs(folder.path())[0];
    fs::create_dir(folder.path().join("code"))?;
    fs::set_permissions(folder.path().join("code"), fs::Permissions::from_mode(0o777))?;
    let module = load(config)?;
    assert!(run(&module, 7)?.0.is_ok());
    assert!(!module.update_code_cache()?);
    assert!(files(folder.path()).is_empty());
    Ok(())
}

#[test]
fn code_that_cannot_be_stored_is_an_error() -> Outcome {
    let folder = tempfile::tempdir()?;
    let config = &configs(folder.path())[0];
    let module = load(config)?;
    assert!(run(&module, 7)?.0.is_ok());
    fs::remove_dir(folder.path().join("code"))?;
    assert!(module.update_code_cache().is_err());
    Ok(())
}

#[test]
fn code_from_the_cache_is_sampled_as_any() -> Outcome {
    let folder = tempfile::tempdir()?;
    let lengths = BurstLengths::new(10, 5);
    let mut config = Config::new();
    config.profiling(ProfilingConfig::Adaptive(Adaptive { lengths, ..Adaptive::default() }));
    config.promote_after(100).background_compilation(false).code_cache(folder.path().join("code"));
    for kept in [false, true] {
        let module = load(&config)?;
        assert_eq!(module.compiled().0 > 0, kept);
        let (result, profile) = run(&module, 7)?;
        assert!(result.is_ok());
        let profile = profile.ok_or("no profile")?;
        profile.verify()?;
        assert!(profile.functions.iter().any(|function| function.ops() > 0), "kept: {kept}");
        module.update_code_cache()?;
    }
    Ok(())
}

/// `run` is called once, so this run requests only a version for the frame in its loop; the next run has an optimised
/// one.
#[test]
fn the_next_run_has_optimised_code_of_functions_called_once() -> Outcome {
    let folder = tempfile::tempdir()?;
    let mut config = Config::new();
    config.profiling(ProfilingConfig::Exact(Collect::Edges)).promote_after(100).background_compilation(false);
    config.code_cache(folder.path().join("code")).time_line(true);
    let versions = || -> std::result::Result<Vec<_>, Box<dyn std::error::Error>> {
        let module = load(&config)?;
        let profile = run(&module, 7)?.1.ok_or("no profile")?;
        module.update_code_cache()?;
        let versions = profile.timeline.ok_or("no time line")?.versions;
        Ok(versions.iter().filter(|version| version.function == 3).map(|version| version.tier).collect())
    };
    use wprof::profiler::CodeTier::{Baseline, Loop, Optimized};
    assert_eq!(versions()?, [Baseline, Loop, Optimized]);
    assert_eq!(versions()?, []);
    Ok(())
}

/// Four functions, each called by an export or by another function; `a` calls `b` only if its argument is not 0.
const FOUR: &str = r#"(module
    (func $b (result i32) (i32.const 42))
    (func (export "a") (param i32) (result i32)
        (if (result i32) (local.get 0) (then (call $b)) (else (i32.const 7))))
    (func (export "c") (param i32) (result i32) (i32.const 3))
    (func (export "d") (param i32) (result i32) (i32.const 4)))"#;

/// Simulates the run of a separate process: calls an export, waits until `ahead` functions have been compiled ahead
/// without being called, and stores the code.
fn call_once(config: &Config, export: &str, argument: i32, ahead: usize) -> Result<(i32, usize)> {
    let engine = Engine::new(config)?;
    let module = Module::new(&engine, FOUR)?;
    let mut store = Store::new(&engine, ());
    let instance = Instance::new(&mut store, &module, &[])?;
    let result = instance.get_typed_func::<i32, i32>(&mut store, export)?.call(&mut store, argument)?;
    let began = std::time::Instant::now();
    while module.compiled_ahead().1 < ahead {
        assert!(began.elapsed().as_secs() < 60, "nothing is compiled ahead");
        std::thread::yield_now();
    }
    module.update_code_cache()?;
    Ok((result, module.ran()))
}

/// Code that was compiled ahead and not called is not kept, but its counters remain separate in later runs.
#[test]
fn a_cache_of_many_runs_has_counters_for_all_functions() -> Outcome {
    for profiling in [ProfilingConfig::Off, ProfilingConfig::Exact(Collect::Edges)] {
        let folder = tempfile::tempdir()?;
        let mut config = Config::new();
        config.profiling(profiling).speculative_compilation(true).code_cache(folder.path().join("code"));
        assert_eq!(call_once(&config, "a", 0, 1)?, (7, 1));
        assert_eq!(call_once(&config, "c", 0, 0)?, (3, 1));
        assert_eq!(call_once(&config, "d", 0, 0)?, (4, 1));
        assert_eq!(call_once(&config, "a", 1, 0)?, (42, 2));
        let engine = Engine::new(&config)?;
        Module::new(&engine, FOUR)?.compile_all()?;
    }
    Ok(())
}

#[test]
fn code_that_was_kept_or_compiled_for_all_has_not_run_yet() -> Outcome {
    let folder = tempfile::tempdir()?;
    for config in configs(folder.path()) {
        let fresh = load(&config)?;
        fresh.compile_all()?;
        assert_eq!((fresh.compiled().0, fresh.ran()), (3, 0));
        let seen = run(&fresh, 7)?;
        assert_eq!((fresh.compiled().0, fresh.ran()), (3, 3));
        assert!(fresh.update_code_cache()?);
        drop(fresh);
        let kept = load(&config)?;
        assert_eq!((kept.compiled().0, kept.ran()), (3, 0));
        assert_eq!(run(&kept, 7)?.0, seen.0);
        assert_eq!((kept.compiled().0, kept.ran()), (3, 3));
    }
    Ok(())
}
