//! A program run in this process, by an engine that profiles it.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use wprof::profiler::Profile;
use wprof::wasi::{self, OutputPipe, WasiCtx, WasiCtxBuilder};
use wprof::{Config, Engine, Instance, Linker, Module, Store};

use crate::programs::Program;

/// What is left of a run that ended as it should.
pub struct Session {
    /// The store.
    pub store: Store<WasiCtx>,
    /// The program's instance.
    pub instance: Instance,
    /// How long it ran, compilation of its functions included.
    pub time: Duration,
}

impl Session {
    /// Runs a program with its arguments for benches, or with those for tests.
    ///
    /// # Errors
    /// If it cannot be run, or ends with another exit code than the one that says that it did its work.
    pub fn run(program: &Program, config: &Config, bench: bool) -> Result<Session> {
        let engine = Engine::new(config).map_err(failure)?;
        let module = Module::from_file(&engine, &program.file).map_err(failure)?;
        let mut builder = WasiCtxBuilder::new();
        let output = OutputPipe::new();
        builder.stdout_pipe(&output).stderr_pipe(&output).arg(&program.name).map_err(failure)?;
        builder.args(if bench { &program.args } else { &program.quick_args }).map_err(failure)?;
        for (host, guest) in &program.dirs {
            builder.preopened_dir(host, guest).map_err(failure)?;
        }
        let mut linker: Linker<WasiCtx> = Linker::new(&engine);
        wasi::add_to_linker(&mut linker, |context| context).map_err(failure)?;
        let mut store = Store::new(&engine, builder.build());
        let instance = linker.instantiate(&mut store, &module).map_err(failure)?;
        let start = instance.get_typed_func::<(), ()>(&mut store, "_start").map_err(failure)?;
        let began = Instant::now();
        let code = start.call(&mut store, ()).map_or_else(|error| error.i32_exit(), |()| Some(0));
        let time = began.elapsed();
        anyhow::ensure!(code == Some(program.exit_code), "{} ended with {code:?}", program.name);
        Ok(Session { store, instance, time })
    }

    /// What it has executed.
    ///
    /// # Errors
    /// If the engine does not profile.
    pub fn profile(&self) -> Result<Profile> {
        self.instance.profile(&self.store).map_err(failure).context("no profile")
    }
}

/// An engine's error with all that it says.
pub fn failure(error: wprof::Error) -> anyhow::Error {
    anyhow::anyhow!("{error:?}")
}
