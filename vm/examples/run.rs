//! Runs a WASI program with an exact profile: `cargo run --example run -- program.wasm args…`
//!
//! The directory `.` is the program's root. Functions go to standard error, those that executed most first.

use wprof::wasi::{self, WasiCtx, WasiCtxBuilder};
use wprof::{Collect, Engine, Error, Linker, Module, ProfilingConfig, Store};

fn main() -> Result<(), Error> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let Some(path) = args.first() else {
        return Err(Error::msg("usage: run program.wasm args…"));
    };
    let engine = Engine::with_profiling(ProfilingConfig::Exact(Collect::Edges))?;
    let module = Module::from_file(&engine, path)?;
    let mut linker: Linker<WasiCtx> = Linker::new(&engine);
    wasi::add_to_linker(&mut linker, |ctx| ctx)?;
    let ctx = WasiCtxBuilder::new().args(&args)?.inherit_stdio().preopened_dir(".", "/")?.build();
    let mut store = Store::new(&engine, ctx);
    let instance = linker.instantiate(&mut store, &module)?;
    let outcome = instance.get_typed_func::<(), ()>(&mut store, "_start")?.call(&mut store, ());

    let profile = instance.profile(&store)?;
    let mut functions: Vec<_> = profile.functions.iter().map(|f| (f.ops(), f.calls(), f)).collect();
    functions.sort_by_key(|&(ops, ..)| std::cmp::Reverse(ops));
    eprintln!("{} instructions in {} functions", profile.ops(), functions.len());
    for (ops, calls, function) in functions.into_iter().take(10) {
        let name = function.name.as_deref().map_or_else(|| format!("#{}", function.index), wprof::demangle);
        eprintln!("{ops:>15} {calls:>12} {name}");
    }
    match outcome {
        Err(error) if error.i32_exit().is_some() => std::process::exit(error.i32_exit().unwrap_or(0)),
        outcome => outcome,
    }
}
