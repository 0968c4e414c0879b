//! A host of plug-ins that it does not trust: each request has a new instance, so much memory and so much time, and the
//! profile says what took it.
//!
//! `cargo run -p wprof --example plugin_host`

use std::time::{Duration, Instant};

use wprof::{
    Caller, Collect, Config, Engine, Error, InstancePre, Linker, Module, ProfilingConfig, Store, StoreLimits,
    StoreLimitsBuilder, UpdateDeadline,
};

/// A plug-in that does what it is told: to sum up numbers, to take memory, or not to end.
const PLUGIN: &str = r#"(module
    (import "host" "log" (func $log (param i32)))
    (memory 1)
    (func $sum_to (param $n i32) (result i32)
        (local $sum i32)
        (loop $next
            (local.set $sum (i32.add (local.get $sum) (local.get $n)))
            (br_if $next (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
        (local.get $sum))
    (func (export "sum") (param i32) (result i32)
        (call $log (i32.const 1))
        (call $sum_to (local.get 0)))
    (func (export "take") (param $pages i32) (result i32) (memory.grow (local.get $pages)))
    (func $spin (export "spin") (param i32) (result i32) (loop $again (br $again)) (unreachable)))"#;

/// Time between two looks at a plug-in that runs.
const SLICE: Duration = Duration::from_millis(5);
/// How often it may go on.
const SLICES: u32 = 4;

/// What the host keeps for a request.
struct Request {
    limits: StoreLimits,
    slices: u32,
    log: Vec<i32>,
}

/// Has a new instance of the plug-in answer one request.
fn answer(plugin: &InstancePre<Request>, name: &str, input: i32) -> Result<String, Error> {
    let limits = StoreLimitsBuilder::new().memory_size(1 << 20).instances(1).build();
    let request = Request { limits, slices: 0, log: Vec::new() };
    let mut store = Store::new(plugin.module().engine(), request);
    store.limiter(|request| &mut request.limits);
    store.deadline_callback(|request| {
        request.slices += 1;
        // Here a server would look whether the client still waits.
        Ok(match request.slices <= SLICES {
            true => UpdateDeadline::Continue(SLICE),
            false => UpdateDeadline::Interrupt,
        })
    });
    store.set_deadline(Some(Instant::now() + SLICE))?;
    let instance = plugin.instantiate(&mut store)?;
    let called = instance.get_typed_func::<i32, i32>(&mut store, name)?.call(&mut store, input);
    let result = match called {
        Ok(value) => format!("{value}"),
        Err(error) => format!("stopped ({error})"),
    };
    let profile = instance.profile(&store)?;
    let hottest = profile.functions_by_ops().first().and_then(|(function, _)| function.name.clone());
    let hottest = hottest.unwrap_or_else(|| "nothing".to_owned());
    Ok(format!("{name} {input}: {result}, most in {hottest}, logged {:?}", store.data().log))
}

/// Answers a few requests; gives a line for each.
pub fn serve() -> Result<Vec<String>, Error> {
    let mut config = Config::new();
    config.profiling(ProfilingConfig::Exact(Collect::Edges)).wasm_simd(false);
    let engine = Engine::new(&config)?;
    let mut linker = Linker::new(&engine);
    linker.func_wrap("host", "log", |mut caller: Caller<'_, Request>, message: i32| {
        caller.data_mut().log.push(message);
    })?;
    // Compiled and linked once, for all requests.
    let plugin = linker.instantiate_pre(&Module::new(&engine, PLUGIN)?)?;
    let requests = [("sum", 1000), ("take", 10), ("take", 100), ("spin", 0), ("sum", 10)];
    requests.into_iter().map(|(name, input)| answer(&plugin, name, input)).collect()
}

#[allow(dead_code, reason = "a test includes this file for `serve`")]
fn main() -> Result<(), Error> {
    serve()?.iter().for_each(|line| println!("{line}"));
    Ok(())
}
