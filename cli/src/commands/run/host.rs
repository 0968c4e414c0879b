//! What the program finds around it: WASI, with its arguments, environment and folders.

use anyhow::{Result, anyhow};
use wprof::wasi::{self, WasiCtx, WasiCtxBuilder};
use wprof::{Engine, ImportType, Linker, Module, Store};

use super::args::ProgramArgs;
use crate::modules::failure;
use crate::names;

/// The program's view of the system.
///
/// # Errors
/// If a folder cannot be opened, or an argument cannot be passed.
pub fn wasi(args: &ProgramArgs) -> Result<WasiCtx> {
    let mut builder = WasiCtxBuilder::new();
    builder.inherit_stdio();
    for arg in args.program_args() {
        builder.arg(&arg).map_err(failure)?;
    }
    for (name, value) in &args.env {
        builder.env(name, value).map_err(failure)?;
    }
    for folder in &args.dirs {
        builder.preopened_dir(&folder.host, &folder.guest).map_err(failure)?;
    }
    Ok(builder.build())
}

/// All that a program may import.
///
/// # Errors
/// None that we know of.
pub fn linker(engine: &Engine) -> Result<Linker<WasiCtx>> {
    let mut linker = Linker::new(engine);
    wasi::add_to_linker(&mut linker, |wasi: &mut WasiCtx| wasi).map_err(failure)?;
    Ok(linker)
}

/// What to do about a program that needs something else than WASI.
const ADVICE: &str = "wprof run provides WASI preview 1 and nothing else: build the program for WASI, or run it in a host \
    of your own with the crate wprof, whose Linker defines such imports";

/// What the module needs and is not here; nothing if all is here.
pub fn missing_imports(
    linker: &Linker<WasiCtx>,
    store: &mut Store<WasiCtx>,
    module: &Module,
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
    (!missing.is_empty()).then(|| anyhow!("needs imports that wprof does not provide: {all}\n{ADVICE}"))
}
