//! Many tenants run one module at once, each in instances of its own, and each has a flame graph of its own.
//!
//! `cargo run -p wprof --example multi_tenant_profiles`

use std::collections::BTreeMap;
use std::sync::Mutex;

use wprof::profiler::Profile;
use wprof::{Collect, Config, Engine, Error, Instance, Module, PoolingConfig, ProfilingConfig, Store};

/// Parses, or renders, depending on what a tenant asks for.
const SERVICE: &str = r#"(module
    (func $parse (param $n i32) (result i32)
        (loop $next (br_if $next (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
        (local.get $n))
    (func $render (param $n i32) (result i32)
        (loop $next (br_if $next (local.tee $n (i32.sub (local.get $n) (i32.const 2)))))
        (local.get $n))
    (func (export "handle") (param $renders i32) (param $n i32) (result i32)
        (if (result i32) (local.get $renders)
            (then (call $render (local.get $n)))
            (else (call $parse (local.get $n))))))"#;

/// Handles a request of a tenant in an instance of its own; gives its profile.
fn handle(module: &Module, renders: bool, n: i32) -> Result<Profile, Error> {
    let mut store = Store::new(module.engine(), ());
    let instance = Instance::new(&mut store, module, &[])?;
    let handle = instance.get_typed_func::<(i32, i32), i32>(&mut store, "handle")?;
    handle.call(&mut store, (i32::from(renders), n))?;
    instance.profile(&store)
}

/// Serves `tenants` on two threads, three requests each; gives for each what most of its instructions were in.
pub fn serve(tenants: u32) -> Result<Vec<String>, Error> {
    let mut config = Config::new();
    config.profiling(ProfilingConfig::Exact(Collect::Edges)).pooling(Some(PoolingConfig::for_instances(2)));
    let module = Module::new(&Engine::new(&config)?, SERVICE)?;
    let profiles: Mutex<BTreeMap<u32, Profile>> = Mutex::default();
    let work = |thread: u32| -> Result<(), Error> {
        for request in 0..3 {
            for tenant in (0..tenants).filter(|tenant| tenant % 2 == thread) {
                let profile = handle(&module, tenant % 3 == 0, 2 * (100 + request))?;
                let mut profiles = profiles.lock().map_err(|_| Error::msg("a thread has panicked"))?;
                match profiles.get_mut(&tenant) {
                    Some(known) => known.merge(&profile)?,
                    None => drop(profiles.insert(tenant, profile)),
                }
            }
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let work = &work;
        let threads = [0, 1].map(|thread| scope.spawn(move || work(thread)));
        threads.into_iter().try_for_each(|thread| thread.join().expect("the work does not panic"))
    })?;
    let profiles = profiles.into_inner().map_err(|_| Error::msg("a thread has panicked"))?;
    Ok(profiles.iter().map(|(tenant, profile)| line(*tenant, profile)).collect())
}

fn line(tenant: u32, profile: &Profile) -> String {
    let all = profile.functions_by_ops();
    let (name, ops) = all.first().map_or(("nothing", 0), |(function, ops)| {
        (function.name.as_deref().unwrap_or("a function without a name"), *ops)
    });
    format!("tenant {tenant}: {} instructions, {ops} of them in {name}", profile.ops())
}

#[allow(dead_code, reason = "a test includes this file for `serve`")]
fn main() -> Result<(), Error> {
    serve(100)?.iter().for_each(|line| println!("{line}"));
    Ok(())
}
