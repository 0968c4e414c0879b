//! A module that is compiled ahead with what an earlier run has told, kept in a file, and instantiated from a pool.
//!
//! `cargo run -p wprof --example precompile`

use std::sync::Arc;

use wprof::{
    Collect, Config, Engine, Error, Instance, Module, OwnArtifacts, PoolingConfig, ProfilingConfig, Store,
};

/// Classifies numbers; nearly all of them are small.
const PROGRAM: &str = r#"(module
    (memory 1)
    (data (i32.const 0) "\03\05\07")
    (func $class (param $n i32) (result i32)
        (if (result i32) (i32.gt_u (local.get $n) (i32.const 1000000))
            (then (i32.rem_u (local.get $n) (i32.const 10)))
            (else (i32.load8_u (i32.rem_u (local.get $n) (i32.const 3))))))
    (func (export "classify") (param $n i32) (result i32)
        (local $sum i32)
        (loop $next
            (local.set $sum (i32.add (local.get $sum) (call $class (local.get $n))))
            (br_if $next (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
        (local.get $sum)))"#;

fn classify(module: &Module, n: i32) -> Result<(i32, Option<wprof::profiler::Profile>), Error> {
    let mut store = Store::new(module.engine(), ());
    let instance = Instance::new(&mut store, module, &[])?;
    let result = instance.get_typed_func::<i32, i32>(&mut store, "classify")?.call(&mut store, n)?;
    Ok((result, instance.profile(&store).ok()))
}

/// Learns, compiles, and serves some requests; gives a line for each step.
pub fn compile_and_serve() -> Result<Vec<String>, Error> {
    // At home: a run that counts everything.
    let exact = Engine::with_profiling(ProfilingConfig::Exact(Collect::Paths))?;
    let (sum, profile) = classify(&Module::new(&exact, PROGRAM)?, 1000)?;
    let profile = profile.ok_or_else(|| Error::msg("there is no profile"))?;
    let mut said = vec![format!("learned from {} instructions: {sum}", profile.ops())];

    // Once for each release: all functions are compiled, with what was learned.
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("program.cwasm");
    let mut config = Config::new();
    config.profile_use(Arc::new(profile));
    let own = OwnArtifacts::open(folder.path().join("own"))?;
    std::fs::write(&file, own.precompile_module(&Engine::new(&config)?, PROGRAM)?)?;

    // In each process: nothing is compiled, and instances take what others have left.
    let server = Engine::new(Config::new().pooling(Some(PoolingConfig::for_instances(10))))?;
    let module = own.load(&server, &file)?;
    said.push(format!("{} functions are ready", module.compiled().0));
    for request in [10, 100, 1000] {
        said.push(format!("{request}: {}", classify(&module, request)?.0));
    }
    let (memories, instances) = server.pooled();
    said.push(format!("{memories} memory and {instances} instance are kept for the next request"));
    Ok(said)
}

#[allow(dead_code, reason = "a test includes this file for `compile_and_serve`")]
fn main() -> Result<(), Error> {
    compile_and_serve()?.iter().for_each(|line| println!("{line}"));
    Ok(())
}
