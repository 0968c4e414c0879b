//! Runs programs in this process, in an engine of any configuration.

use std::io::Write;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use wprof::profiler::Profile;
use wprof::wasi::{self, OutputPipe, WasiCtx, WasiCtxBuilder};
use wprof::{Config, Engine, Instance, Linker, Module, Store};

use crate::programs::Program;

/// A loaded program, which can run several times and keeps its compiled code.
pub struct Loaded<'a> {
    program: &'a Program,
    engine: Engine,
    module: Module,
    linker: Linker<WasiCtx>,
}

/// The remains of a successful run.
pub struct Session {
    /// The store.
    pub store: Store<WasiCtx>,
    /// The program's instance.
    pub instance: Instance,
    /// Running time, including the compilation of its functions.
    pub time: Duration,
}

impl<'a> Loaded<'a> {
    /// Loads a program.
    ///
    /// # Errors
    /// Returns an error if the engine cannot have this configuration, or the program cannot be loaded.
    pub fn new(program: &'a Program, config: &Config) -> Result<Loaded<'a>> {
        let engine = Engine::new(config).map_err(failure)?;
        let module = Module::from_file(&engine, &program.file).map_err(failure)?;
        Self::of_module(program, engine, module)
    }

    /// Loads a module that does what a program does.
    ///
    /// # Errors
    /// Returns the errors of [`new`](Self::new).
    pub fn with_module(program: &'a Program, wasm: &[u8], config: &Config) -> Result<Loaded<'a>> {
        let engine = Engine::new(config).map_err(failure)?;
        let module = Module::new(&engine, wasm).map_err(failure)?;
        Self::of_module(program, engine, module)
    }

    fn of_module(program: &'a Program, engine: Engine, module: Module) -> Result<Loaded<'a>> {
        let mut linker: Linker<WasiCtx> = Linker::new(&engine);
        wasi::add_to_linker(&mut linker, |context| context).map_err(failure)?;
        Ok(Loaded { program, engine, module, linker })
    }

    /// Returns the module.
    pub fn module(&self) -> &Module {
        &self.module
    }

    /// Runs the program in a new instance.
    ///
    /// # Errors
    /// Returns an error if the program cannot be run, or ends with an exit code other than that of success.
    pub fn run(&self, args: &[String]) -> Result<Session> {
        self.run_in(args, |_| Ok(()))
    }

    /// Runs the program and writes a trace to `out`. The engine must trace, and the caller must call
    /// [`Store::finish_trace`].
    ///
    /// # Errors
    /// Returns the errors of [`run`](Self::run), and an error if the engine does not trace.
    pub fn run_recorded(&self, args: &[String], out: impl Write + Send + 'static) -> Result<Session> {
        let name = &self.program.name;
        self.run_in(args, |store| store.record_trace(&self.module, name, out, u64::MAX))
    }

    /// Runs the program and records its bursts to `out`. The engine must allow that, and the caller must call
    /// [`Store::finish_bursts`].
    ///
    /// # Errors
    /// Returns the errors of [`run`](Self::run), and an error if the engine does not record bursts.
    pub fn run_with_bursts(&self, args: &[String], out: impl Write + Send + 'static) -> Result<Session> {
        let name = &self.program.name;
        self.run_in(args, |store| store.record_bursts(&self.module, name, out, u64::MAX))
    }

    /// Runs the program in a store that `prepare` has prepared.
    fn run_in(
        &self,
        args: &[String],
        prepare: impl FnOnce(&mut Store<WasiCtx>) -> wprof::Result<()>,
    ) -> Result<Session> {
        let program = self.program;
        let mut builder = WasiCtxBuilder::new();
        let output = OutputPipe::new();
        builder.stdout_pipe(&output).stderr_pipe(&output).arg(&program.name).map_err(failure)?;
        builder.args(args).map_err(failure)?;
        for (host, guest) in &program.dirs {
            builder.preopened_dir(host, guest).map_err(failure)?;
        }
        let mut store = Store::new(&self.engine, builder.build());
        prepare(&mut store).map_err(failure)?;
        let instance = self.linker.instantiate(&mut store, &self.module).map_err(failure)?;
        let start = instance.get_typed_func::<(), ()>(&mut store, "_start").map_err(failure)?;
        let began = Instant::now();
        let code = start.call(&mut store, ()).map_or_else(|error| error.i32_exit(), |()| Some(0));
        let time = began.elapsed();
        anyhow::ensure!(code == Some(program.exit_code), "{} ended with {code:?}", program.name);
        Ok(Session { store, instance, time })
    }
}

impl Session {
    /// Runs a program with its arguments for benches, or with those for tests.
    ///
    /// # Errors
    /// Returns the errors of [`Loaded::new`] and [`Loaded::run`].
    pub fn run(program: &Program, config: &Config, bench: bool) -> Result<Session> {
        Loaded::new(program, config)?.run(if bench { &program.args } else { &program.quick_args })
    }

    /// Returns the profile of the run.
    ///
    /// # Errors
    /// Returns an error if the engine does not profile.
    pub fn profile(&self) -> Result<Profile> {
        self.instance.profile(&self.store).map_err(failure).context("no profile")
    }
}

/// Converts an engine's error, with its whole message.
pub fn failure(error: wprof::Error) -> anyhow::Error {
    anyhow::anyhow!("{error:?}")
}
