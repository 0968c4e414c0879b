//! The same programs in the interpreter wasmi.

use std::time::Instant;

use wasmi::{Caller, Engine, Error, Extern, Linker, Module, Store};
use wasmtime::Result;
use wasmtime::error::Context;
use wprof::wasi::{Guest, MODULE, Preview, WasiCtx};
use wprof::wasi_preview1;

use crate::program::timed;
use crate::{Outcome, Program, Times};

fn linker(engine: &Engine) -> Result<Linker<WasiCtx>, Error> {
    let mut linker = Linker::new(engine);
    macro_rules! define {
        ($($name:ident($($parameter:ident: $type:ty),*) -> $result:ty;)*) => {
            $(
                let func = |mut caller: Caller<'_, WasiCtx>, $($parameter: $type),*| -> Result<$result, Error> {
                    let (bytes, wasi) = guest_memory(&mut caller)?;
                    let mut guest = Guest::new(bytes, Preview::One);
                    wasi.functions().$name(&mut guest, $($parameter),*).map_err(ended)
                };
                linker.func_wrap(MODULE, stringify!($name), func)?;
            )*
        };
    }
    wasi_preview1!(define);
    Ok(linker)
}

fn guest_memory<'a>(caller: &'a mut Caller<'_, WasiCtx>) -> Result<(&'a mut [u8], &'a mut WasiCtx), Error> {
    let Some(Extern::Memory(memory)) = caller.get_export("memory") else {
        return Err(Error::new("the program exports no memory"));
    };
    Ok(memory.data_and_store_mut(caller))
}

/// What ends a program.
fn ended(error: wprof::Error) -> Error {
    match error.i32_exit() {
        Some(code) => Error::i32_exit(code),
        None => Error::new(format!("{error:#?}")),
    }
}

/// Runs a program to its end in wasmi, as it is by default.
///
/// # Errors
/// When it could not be started. A trap is an outcome, not an error.
pub fn run_in_wasmi(program: &Program) -> Result<(Outcome, Times)> {
    let begin = Instant::now();
    let engine = Engine::default();
    let bytes =
        std::fs::read(&program.file).with_context(|| format!("cannot read {}", program.file.display()))?;
    let module = Module::new(&engine, &bytes)?;
    let load = begin.elapsed();

    let begin = Instant::now();
    let mut store = Store::new(&engine, program.wasi()?);
    let instance = linker(&engine)?.instantiate_and_start(&mut store, &module)?;
    let start = instance.get_typed_func::<(), ()>(&store, "_start")?;
    let instantiate = begin.elapsed();

    let (ended, run, thread) = timed(|| start.call(&mut store, ()));
    let outcome = match ended {
        Ok(()) => Outcome::Exited(0),
        Err(error) => match error.i32_exit_status() {
            Some(code) => Outcome::Exited(code),
            None => Outcome::Trapped(error.to_string()),
        },
    };
    Ok((outcome, Times { load, instantiate, run, thread }))
}
