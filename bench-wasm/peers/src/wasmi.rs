//! The same programs in the interpreter wasmi.

use std::time::Instant;

use wasi_common::WasiCtx;
use wasi_common::snapshots::preview_1::wasi_snapshot_preview1 as preview1;
use wasmi::{Caller, Engine, Error, Extern, Linker, Module, Store};
use wasmtime::Result;
use wasmtime::error::Context;
use wiggle::{GuestMemory, anyhow, run_in_dummy_executor};

use crate::program::timed;
use crate::wasi::for_each_function;
use crate::{Outcome, Program, Times};

/// Defines each function `name(parameter: type, …) -> result` in a linker under its own name.
macro_rules! define {
    ($linker:expr; $($name:ident($($parameter:ident: $type:ty),*);)*) => {
        $($linker.func_wrap(
            "wasi_snapshot_preview1",
            stringify!($name),
            |mut caller: Caller<'_, WasiCtx>, $($parameter: $type),*| -> Result<i32, Error> {
                let (bytes, wasi) = guest_memory(&mut caller)?;
                let mut memory = GuestMemory::Unshared(bytes);
                finish(run_in_dummy_executor(preview1::$name(wasi, &mut memory, $($parameter),*)))
            },
        )?;)*
    };
}

fn linker(engine: &Engine) -> Result<Linker<WasiCtx>, Error> {
    let mut linker = Linker::new(engine);
    for_each_function!(define, linker);
    linker.func_wrap("wasi_snapshot_preview1", "proc_exit", |code: i32| -> Result<(), Error> {
        Err(Error::i32_exit(code))
    })?;
    Ok(linker)
}

fn guest_memory<'a>(caller: &'a mut Caller<'_, WasiCtx>) -> Result<(&'a mut [u8], &'a mut WasiCtx), Error> {
    let Some(Extern::Memory(memory)) = caller.get_export("memory") else {
        return Err(Error::new("the program exports no memory"));
    };
    Ok(memory.data_and_store_mut(caller))
}

/// Flattens the executor's and the call's results into an error number or a trap.
fn finish(result: anyhow::Result<anyhow::Result<i32>>) -> Result<i32, Error> {
    result.and_then(|errno| errno).map_err(|error| Error::new(format!("{error:#}")))
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
