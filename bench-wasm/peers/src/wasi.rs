//! WASI preview 1 for Wasmtime by wprof's implementation, so that all engines call the very same host functions.

use wasmtime::{Caller, Error, Extern, Linker, Result};
use wprof::wasi::{Guest, MODULE, Preview, WasiCtx};
use wprof::wasi_preview1;

/// Adds every function of preview 1.
pub fn add_to_linker(linker: &mut Linker<WasiCtx>) -> Result<()> {
    macro_rules! define {
        ($($name:ident($($parameter:ident: $type:ty),*) -> $result:ty;)*) => {
            $(
                let func = |mut caller: Caller<'_, WasiCtx>, $($parameter: $type),*| -> Result<$result> {
                    let (bytes, wasi) = guest_memory(&mut caller)?;
                    let mut guest = Guest::new(bytes, Preview::One);
                    wasi.functions().$name(&mut guest, $($parameter),*).map_err(ended)
                };
                linker.func_wrap(MODULE, stringify!($name), func)?;
            )*
        };
    }
    wasi_preview1!(define);
    Ok(())
}

/// The guest called `proc_exit`.
#[derive(Debug)]
pub struct Exit(pub i32);

impl std::fmt::Display for Exit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the program called exit({})", self.0)
    }
}

impl std::error::Error for Exit {}

fn guest_memory<'a>(caller: &'a mut Caller<'_, WasiCtx>) -> Result<(&'a mut [u8], &'a mut WasiCtx)> {
    let Some(Extern::Memory(memory)) = caller.get_export("memory") else {
        return Err(Error::msg("the program exports no memory"));
    };
    Ok(memory.data_and_store_mut(caller))
}

/// What ends a program.
fn ended(error: wprof::Error) -> Error {
    match error.i32_exit() {
        Some(code) => Exit(code).into(),
        None => Error::msg(format!("{error:#?}")),
    }
}
