//! A plug-in host that charges each tenant for exactly what its plug-in executed, and knows which function it was.
//!
//! `cargo run -p wprof --example tenants`

use wprof::{Collect, Engine, Error, Linker, Module, ProfilingConfig, Store};

/// A plug-in that a tenant brought. It scores a number, with the host's help.
const PLUGIN: &str = r#"(module
    (import "host" "rate" (func $rate (param i32) (result i32)))
    (func $sum_to (param $n i32) (result i32)
        (local $sum i32)
        (loop $next
            (local.set $sum (i32.add (local.get $sum) (local.get $n)))
            (br_if $next (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
        (local.get $sum))
    (func (export "score") (param $n i32) (result i32)
        (i32.mul (call $sum_to (local.get $n)) (call $rate (local.get $n)))))"#;

/// What the host knows while a tenant's plug-in runs.
struct Tenant {
    rate: i32,
}

/// Runs the plug-in for one tenant in a store of its own; gives the result and what it cost.
fn serve(linker: &Linker<Tenant>, module: &Module, rate: i32, input: i32) -> Result<String, Error> {
    let mut store = Store::new(module.engine(), Tenant { rate });
    let instance = linker.instantiate(&mut store, module)?;
    let score = instance.get_typed_func::<i32, i32>(&mut store, "score")?.call(&mut store, input)?;
    let profile = instance.profile(&store)?;
    let (hottest, share) =
        profile.functions_by_ops().first().map_or(("nothing".to_owned(), 0), |(function, ops)| {
            let name = function.name.clone().unwrap_or_else(|| format!("function {}", function.index));
            (name, 100 * ops / profile.ops())
        });
    Ok(format!("score {score}, {} instructions, {share}% in {hottest}", profile.ops()))
}

/// Serves two tenants; gives a line for each.
pub fn bill() -> Result<Vec<String>, Error> {
    let engine = Engine::with_profiling(ProfilingConfig::Exact(Collect::Edges))?;
    // Compiled once, for all tenants.
    let module = Module::new(&engine, PLUGIN)?;
    let mut linker = Linker::new(&engine);
    linker.func_wrap("host", "rate", |caller: wprof::Caller<'_, Tenant>, _: i32| caller.data().rate)?;
    [("ada", 2, 10), ("bob", 3, 1000)]
        .into_iter()
        .map(|(name, rate, input)| Ok(format!("{name}: {}", serve(&linker, &module, rate, input)?)))
        .collect()
}

#[allow(dead_code, reason = "a test includes this file for `bill`")]
fn main() -> Result<(), Error> {
    bill()?.iter().for_each(|line| println!("{line}"));
    Ok(())
}
