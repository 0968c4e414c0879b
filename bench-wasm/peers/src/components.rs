//! Calls between components, in wprof through adapters and through the host, and in Wasmtime.

use std::sync::LazyLock;

use wprof_spec_tests::drive::Drive;
use wprof_spec_tests::generate::{Case, Maker, component_calls};

/// The functions that are called, in order: two hash the memories of the components.
const CALLS: [&str; 4] = ["run", "digest-a", "digest-b", "run"];

/// What each call returned; `None` if it failed. Engines word errors differently.
type Seen = Vec<Option<Option<u64>>>;

/// Returns the component of a seed, as text.
pub fn case(seed: u64) -> Case {
    let wasm = component_calls::component(seed).into_bytes();
    Case { seed, maker: Maker::Hot, wasm, drive: Drive { calls: Vec::new(), fuel: 0 }, tree: None }
}

/// Checks that calls between the components do the same in both engines.
///
/// # Errors
/// Returns the first difference that it finds, or an error if an engine refuses the component.
pub fn agree(case: &Case) -> Result<(), String> {
    let text = str::from_utf8(&case.wasm).map_err(|e| e.to_string())?;
    let theirs = in_wasmtime(text).map_err(|e| format!("Wasmtime: {e:?}"))?;
    for (engine, how) in ENGINES.iter().zip(["through adapters", "through the host"]) {
        let ours = in_wprof(engine, text).map_err(|e| format!("{how}: {e}"))?;
        if ours != theirs {
            return Err(format!("{ours:?} {how}, {theirs:?} in Wasmtime"));
        }
    }
    Ok(())
}

static ENGINES: LazyLock<[wprof::Engine; 2]> = LazyLock::new(|| {
    let engine = |fuses| wprof::Engine::new(wprof::Config::new().fused_adapters(fuses));
    [true, false].map(|fuses| engine(fuses).expect("an engine of this machine"))
});

fn in_wprof(engine: &wprof::Engine, text: &str) -> wprof::Result<Seen> {
    use wprof::component::{Component, Linker, Val};
    let component = Component::new(engine, text)?;
    let mut store = wprof::Store::new(engine, ());
    let instance = Linker::new(engine).instantiate(&mut store, &component)?;
    let called = CALLS.map(|name| {
        let func = instance.get_func(name).expect("exported");
        let mut results = vec![Val::Bool(false); usize::from(name != "run")];
        func.call(&mut store, &[], &mut results).ok()?;
        Some(results.first().map(|hash| match hash {
            Val::U64(hash) => *hash,
            other => unreachable!("{other:?} is no hash"),
        }))
    });
    Ok(called.into())
}

static WASMTIME: LazyLock<wasmtime::Engine> = LazyLock::new(wasmtime::Engine::default);

fn in_wasmtime(text: &str) -> wasmtime::Result<Seen> {
    use wasmtime::component::{Component, Linker, Val};
    let component = Component::new(&WASMTIME, text)?;
    let mut store = wasmtime::Store::new(&WASMTIME, ());
    let instance = Linker::new(&WASMTIME).instantiate(&mut store, &component)?;
    let called = CALLS.map(|name| {
        let func = instance.get_func(&mut store, name).expect("exported");
        let mut results = vec![Val::Bool(false); usize::from(name != "run")];
        func.call(&mut store, &[], &mut results).ok()?;
        Some(results.first().map(|hash| match hash {
            Val::U64(hash) => *hash,
            other => unreachable!("{other:?} is no hash"),
        }))
    });
    Ok(called.into())
}
