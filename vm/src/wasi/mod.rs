//! WASI preview 1: the system interface of command-line programs.
//!
//! [`Wasi`] is the interface of a program, one method per function of `wasi_snapshot_preview1`; [`WasiCtx`] holds an
//! implementation. [`WasiCtxBuilder`] creates the usual one: `system.rs`, whose functions are in `calls`, over
//! `cap-std`, which confines programs to their directories, and `rustix`. `functions.rs` contains the only list of the
//! functions.
//!
//! ```no_run
//! use wprof::wasi::{self, WasiCtx, WasiCtxBuilder};
//! use wprof::{Engine, Linker, Module, Store};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let engine = Engine::default();
//! let mut linker: Linker<WasiCtx> = Linker::new(&engine);
//! wasi::add_to_linker(&mut linker, |ctx| ctx)?;
//! let ctx = WasiCtxBuilder::new().arg("program")?.inherit_stdio().build();
//! let mut store = Store::new(&engine, ctx);
//! let instance = linker.instantiate(&mut store, &Module::from_file(&engine, "program.wasm")?)?;
//! let outcome = instance.get_typed_func::<(), ()>(&mut store, "_start")?.call(&mut store, ());
//! let code = outcome.err().and_then(|e| e.i32_exit()).unwrap_or(0);
//! # Ok(())
//! # }
//! ```
#![allow(clippy::too_many_arguments, reason = "they are WASI's")]

pub(crate) mod attributes;
pub(crate) mod budget;
mod builder;
pub(crate) mod calls;
pub(crate) mod clocks;
pub(crate) mod constants;
pub(crate) mod descriptors;
pub(crate) mod fail;
pub(crate) mod folder;
mod functions;
pub(crate) mod guest;
pub(crate) mod host_file;
pub(crate) mod network;
pub(crate) mod opening;
pub(crate) mod paths;
mod pipe;
mod random;
mod strings;
pub(crate) mod system;
mod turns;
pub(crate) mod wait;

pub use builder::WasiCtxBuilder;
pub use clocks::{Clock, Clocks};
pub use guest::{Guest, Preview};
pub use network::SocketAddrUse;
pub use pipe::OutputPipe;
pub use turns::SharedWasi;

use system::System;

use crate::{AsContextMut, Caller, Error, ErrorKind, Extern, Linker, Memory, Result};

/// The module name that programs import these functions from.
pub const MODULE: &str = "wasi_snapshot_preview1";

/// The module name of the previous version, preview 0: the same functions with other layouts of some structures.
pub const MODULE_OF_PREVIEW_0: &str = "wasi_unstable";

/// The state of one program's system interface.
pub struct WasiCtx(Implementation);

enum Implementation {
    /// The usual implementation, which also provides WASI 0.2.
    Usual(Box<System>),
    Own(Box<dyn Wasi>),
}

impl WasiCtx {
    /// Creates a context with a custom implementation, of preview 1 only.
    pub fn new(implementation: impl Wasi) -> WasiCtx {
        WasiCtx(Implementation::Own(Box::new(implementation)))
    }

    /// Returns the context's functions, for callers from another engine.
    pub fn functions(&mut self) -> &mut dyn Wasi {
        match &mut self.0 {
            Implementation::Usual(system) => &mut **system,
            Implementation::Own(own) => &mut **own,
        }
    }

    /// Returns the usual implementation.
    ///
    /// # Errors
    /// Fails if the context has a custom implementation.
    pub(crate) fn system(&mut self) -> Result<&mut System> {
        match &mut self.0 {
            Implementation::Usual(system) => Ok(system),
            Implementation::Own(_) => {
                let message = "WASI 0.2 needs a context of WasiCtxBuilder, this one has preview 1 only";
                Err(Error::new(ErrorKind::Host, message))
            }
        }
    }
}

impl std::fmt::Debug for WasiCtx {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("WasiCtx")
    }
}

macro_rules! define_trait {
    ($($name:ident($($arg:ident: $ty:ty),*) -> $result:ty;)*) => {
        /// An implementation of the system interface.
        ///
        /// Each method takes the calling program, with the memory into which its pointers point, and returns a WASI
        /// error number (0 for success). An `Err` ends the program: [`Exit`](crate::Exit) for `proc_exit`, anything
        /// else as a failure of the host.
        pub trait Wasi: Send + Sync + 'static {
            $(
                #[doc = concat!("`", stringify!($name), "`")]
                ///
                /// # Errors
                /// Returns the error that ends the program.
                fn $name(&mut self, guest: &mut Guest<'_>, $($arg: $ty),*) -> Result<$result>;
            )*
        }

        /// Defines all functions of `wasi_snapshot_preview1`, and those of `wasi_unstable`; `context` finds a store's
        /// context in its data.
        ///
        /// # Errors
        /// Fails if one of the names is taken.
        pub fn add_to_linker<T: 'static>(
            linker: &mut Linker<T>,
            context: impl Fn(&mut T) -> &mut WasiCtx + Copy + Send + Sync + 'static,
        ) -> Result<()> {
            for (module, preview) in [(MODULE, Preview::One), (MODULE_OF_PREVIEW_0, Preview::Zero)] {
                $(
                    let func = move |mut caller: Caller<'_, T>, $($arg: $ty),*| -> Result<$result> {
                        let memory = memory(&mut caller)?;
                        let store = caller.as_context_mut().0;
                        let mut guest = Guest::in_store(&mut store.opaque, memory, preview);
                        context(&mut store.above.data).functions().$name(&mut guest, $($arg),*)
                    };
                    linker.func_wrap(module, stringify!($name), func)?;
                )*
            }
            Ok(())
        }
    };
}

crate::wasi_preview1!(define_trait);

/// Returns the memory of the calling program.
fn memory<T>(caller: &mut Caller<'_, T>) -> Result<Memory> {
    caller
        .get_export("memory")
        .and_then(Extern::into_memory)
        .ok_or_else(|| Error::new(ErrorKind::Link, "WASI needs the program's memory: export it as `memory`"))
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Seek, Write};

    use super::*;
    use crate::{Engine, Module, Store};

    /// Hands all of the memory to the system, whichever function is called.
    struct Own(std::fs::File);

    macro_rules! implement_own {
        ($($name:ident($($arg:ident: $ty:ty),*) -> $result:ty;)*) => {
            impl Wasi for Own {
                $(
                    fn $name(&mut self, guest: &mut Guest<'_>, $(_: $ty),*) -> Result<$result> {
                        self.0.write_all(guest.memory()?)?;
                        Ok(Default::default())
                    }
                )*
            }
        };
    }

    crate::wasi_preview1!(implement_own);

    #[test]
    fn implementations_of_ones_own_have_all_of_a_memory()
    -> std::result::Result<(), Box<dyn std::error::Error>> {
        const LEN: usize = 1 << 20;
        let data: String = (0..LEN).map(|i| char::from(b'a' + (i / 5000 % 26) as u8)).collect();
        let wat = format!(
            r#"(module (import "wasi_snapshot_preview1" "sched_yield" (func $yield (result i32)))
                (memory (export "memory") 17) (data (i32.const 0) "{data}")
                (func (export "_start") (drop (call $yield))))"#
        );
        let engine = Engine::default();
        let mut file = tempfile::NamedTempFile::new()?;
        file.write_all(&Module::new(&engine, wat)?.info().bytes)?;
        let module = Module::from_file(&engine, file.path())?;
        let mut linker: Linker<WasiCtx> = Linker::new(&engine);
        add_to_linker(&mut linker, |ctx| ctx)?;
        let mut out = tempfile::tempfile()?;
        let mut store = Store::new(&engine, WasiCtx::new(Own(out.try_clone()?)));
        let instance = linker.instantiate(&mut store, &module)?;
        instance.get_typed_func::<(), ()>(&mut store, "_start")?.call(&mut store, ())?;
        let mut written = Vec::new();
        out.rewind()?;
        out.read_to_end(&mut written)?;
        assert_eq!(written.len(), 17 << 16);
        assert!(written[..LEN] == *data.as_bytes());
        Ok(())
    }
}
