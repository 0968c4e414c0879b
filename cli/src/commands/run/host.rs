//! The program's host environment: WASI, with arguments, environment variables and folders.

use std::path::Path;

use anyhow::{Result, anyhow};
use wprof::wasi::{self, WasiCtx, WasiCtxBuilder};
use wprof::{Engine, ImportType, Linker, Module, Store};
use wprof_report::names;

use super::args::ProgramArgs;
use super::network;
use crate::modules::failure;

/// The seed of random numbers in deterministic runs.
const SEED: u64 = 0;

/// Creates the program's view of the system; with the same random numbers each time if the run is deterministic.
///
/// # Errors
/// Returns an error if a folder cannot be opened, or an argument cannot be passed.
pub fn wasi(args: &ProgramArgs, is_deterministic: bool) -> Result<WasiCtx> {
    let mut builder = WasiCtxBuilder::new();
    builder.inherit_stdio();
    if is_deterministic {
        builder.random_seed(SEED);
    }
    for arg in args.program_args() {
        builder.arg(&arg).map_err(failure)?;
    }
    for (name, value) in &args.env {
        builder.env(name, value).map_err(failure)?;
    }
    for folder in &args.dirs {
        builder.preopened_dir(&folder.host, &folder.guest).map_err(failure)?;
    }
    let bodies = usize::try_from(args.max_http_bodies).unwrap_or(usize::MAX);
    builder.max_descriptors(args.max_open_files).max_http_bodies(bodies).max_requests(args.max_requests);
    network::allow(&mut builder, &args.net);
    Ok(builder.build())
}

/// Creates a linker with everything that a program may import.
///
/// # Errors
/// Returns an error if a definition fails, of which no case is known.
pub fn linker(engine: &Engine) -> Result<Linker<WasiCtx>> {
    let mut linker = Linker::new(engine);
    wasi::add_to_linker(&mut linker, |wasi: &mut WasiCtx| wasi).map_err(failure)?;
    linker.define_js_strings().map_err(failure)?;
    Ok(linker)
}

/// Describes the module's missing imports; nothing if all are available.
pub fn missing_imports(
    linker: &Linker<WasiCtx>,
    store: &mut Store<WasiCtx>,
    module: &Module,
    path: &Path,
) -> Option<anyhow::Error> {
    let is_missing = |store: &mut Store<WasiCtx>, import: &ImportType<'_>| {
        linker.get(&mut *store, import.module(), import.name()).is_none()
    };
    let described = |import: ImportType<'_>| {
        let name = names::harmless(&format!("{}.{}", import.module(), import.name()));
        format!("{name} ({})", import.ty())
    };
    let missing = module.imports().filter(|import| is_missing(store, import));
    let missing: Vec<String> = missing.map(described).collect();
    let all = missing.join(", ");
    let advice = format!(
        "build it for WASI, run it with --stub-imports, or instrument it for its own host: wprof instrument {} -o FILE",
        path.display()
    );
    (!missing.is_empty()).then(|| anyhow!("needs imports that wprof does not provide: {all}\n{advice}"))
}
