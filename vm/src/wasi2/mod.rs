//! WASI 0.2: the system interface of components.
//!
//! Functions of `wasi:cli`, `wasi:clocks`, `wasi:filesystem`, `wasi:io`, `wasi:random` and `wasi:sockets`, on the same
//! base as preview 1: one [`WasiCtx`], built by a [`WasiCtxBuilder`](crate::wasi::WasiCtxBuilder), serves both. Sockets
//! are denied unless the builder specifies the allowed addresses. Components for any version 0.2.x are supported.
//!
//! Invariant: all waiting happens in `wasi::wait`, where deadlines and interruptions end it; no host memory
//! grows with a number that a component chooses, beyond fixed limits; misused handles trap.
//!
//! Source: the WIT packages `wasi:*@0.2.6`; where they leave a choice this implementation follows Wasmtime.
//!
//! ```no_run
//! use wprof::component::{Component, Linker, Val};
//! use wprof::wasi::{WasiCtx, WasiCtxBuilder};
//! use wprof::{Engine, Store, wasi2};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let engine = Engine::default();
//! let mut linker: Linker<WasiCtx> = Linker::new(&engine);
//! wasi2::add_to_linker(&mut linker, |ctx| ctx)?;
//! let ctx = WasiCtxBuilder::new().arg("program")?.inherit_stdio().build();
//! let mut store = Store::new(&engine, ctx);
//! let command = linker.instantiate(&mut store, &Component::from_file(&engine, "program.wasm")?)?;
//! let outcome = wasi2::run(&mut store, &command);
//! let code = outcome.err().and_then(|e| e.i32_exit()).unwrap_or(0);
//! # Ok(())
//! # }
//! ```

mod answer;
mod attributes;
mod cli;
mod clocks;
mod directories;
mod errors;
mod files;
mod filesystem;
mod host;
pub mod http;
mod input;
mod interface;
mod output;
mod poll;
mod random;
mod sockets;
mod streams;
mod terminal;

use crate::component::{Instance, Linker, Val};
use crate::wasi::WasiCtx;
use crate::{AsContextMut, Error, ErrorKind, Exit, Result};

/// The interface that a command exports to be run, without its version.
const RUN: &str = "wasi:cli/run@0.2.";

/// Defines all functions of WASI 0.2; `context` finds a store's context in its data.
///
/// # Errors
/// Fails if one of the names is taken.
pub fn add_to_linker<T: 'static>(
    linker: &mut Linker<T>,
    context: impl Fn(&mut T) -> &mut WasiCtx + Copy + Send + Sync + 'static,
) -> Result<()> {
    errors::define(linker, context)?;
    poll::define(linker, context)?;
    streams::define(linker, context)?;
    cli::define(linker, context)?;
    terminal::define(linker, context)?;
    clocks::define(linker, context)?;
    random::define(linker, context)?;
    filesystem::define(linker, context)?;
    sockets::define(linker, context)
}

/// Returns the function that runs a command, `wasi:cli/run#run` of any version 0.2.x, if an instance exports it.
pub fn run_name(funcs: impl IntoIterator<Item = impl AsRef<str>>) -> Option<String> {
    let is_it = |name: &str| name.starts_with(RUN) && name.ends_with("#run");
    funcs.into_iter().find(|name| is_it(name.as_ref())).map(|name| name.as_ref().to_owned())
}

/// Runs a command.
///
/// # Errors
/// Returns [`Exit`] with the exit code if the command exits or fails; fails also if it traps, or is not a command.
pub fn run(mut store: impl AsContextMut, command: &Instance) -> Result<()> {
    let names = command.component().funcs().into_iter().map(|(name, _)| name);
    let func = run_name(names).and_then(|name| command.get_func(&name));
    let func = func.ok_or_else(|| {
        Error::new(ErrorKind::Link, "the component is no command: it does not export wasi:cli/run")
    })?;
    let mut results = [Val::Bool(false)];
    func.call(&mut store, &[], &mut results)?;
    if matches!(results, [Val::Result(Err(_))]) { Err(Exit(1).into()) } else { Ok(()) }
}
