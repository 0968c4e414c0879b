//! One WASI command: what it is given, how it is run, and how it ended.

use crate::settings::{Settings, Startup};
use crate::wasi::{self, Exit};
use rustix::time::{ClockId, clock_gettime};
use std::path::PathBuf;
use std::time::{Duration, Instant};
use wasmtime::error::Context;
use wasmtime::{Error, Linker, Result, Store, TypedFunc};
use wprof::wasi::{WasiCtx, WasiCtxBuilder};

/// A program with what it sees of the world besides standard input, output and error, which it shares with us.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// The module.
    pub file: PathBuf,
    /// What follows the program's name in its argument list.
    pub args: Vec<String>,
    /// Folders that it may use: host path, name that it sees.
    pub dirs: Vec<(PathBuf, String)>,
    /// Its environment variables; it inherits none.
    pub env: Vec<(String, String)>,
}

/// How a program ended.
#[derive(Debug)]
pub enum Outcome {
    /// It returned (0) or called `proc_exit`.
    Exited(i32),
    /// It trapped; the text holds the reason and a backtrace.
    Trapped(String),
}

/// Wall-clock time of the phases of a run.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    /// Reading, and compiling unless compiled before.
    pub load: Duration,
    /// Linking and instantiating.
    pub instantiate: Duration,
    /// From `_start` to its end.
    pub run: Duration,
    /// The processor time of its thread in that time.
    pub thread: Duration,
}

impl Program {
    pub(crate) fn wasi(&self) -> Result<WasiCtx> {
        let mut builder = WasiCtxBuilder::new();
        builder.inherit_stdio();
        let name = self.file.file_name().unwrap_or_default().to_string_lossy();
        let refused = |error: wprof::Error| Error::msg(format!("{error}"));
        builder.arg(&name).and_then(|builder| builder.args(&self.args)).map_err(refused)?;
        for (name, value) in &self.env {
            builder.env(name, value).map_err(refused)?;
        }
        for (host, guest) in &self.dirs {
            builder.preopened_dir(host, guest).map_err(refused)?;
        }
        Ok(builder.build())
    }
}

/// Fuel that a program consumed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fuel {
    /// By instantiation.
    pub instantiate: u64,
    /// By `_start`, as the store shows it at the end.
    pub run: u64,
}

/// A program that only has to be called.
struct Ready {
    store: Store<WasiCtx>,
    start: TypedFunc<(), ()>,
    load: Duration,
    instantiate: Duration,
}

/// What a store gets where fuel is counted: more than any run needs.
const TANK: u64 = u64::MAX;

impl Ready {
    fn new(program: &Program, settings: Settings, startup: Startup) -> Result<Ready> {
        let begin = Instant::now();
        let engine = settings.engine(startup)?;
        let module = startup
            .load(&engine, &program.file)
            .with_context(|| format!("cannot load {}", program.file.display()))?;
        let load = begin.elapsed();

        let begin = Instant::now();
        let mut linker = Linker::new(&engine);
        wasi::add_to_linker(&mut linker)?;
        let mut store = Store::new(&engine, program.wasi()?);
        if settings.fuel {
            store.set_fuel(TANK)?;
        }
        if settings.epochs {
            store.set_epoch_deadline(1 << 40);
        }
        let instance = linker.instantiate(&mut store, &module)?;
        let start = instance.get_typed_func::<(), ()>(&mut store, "_start")?;
        Ok(Ready { store, start, load, instantiate: begin.elapsed() })
    }

    fn call(&mut self) -> Outcome {
        match self.start.call(&mut self.store, ()) {
            Ok(()) => Outcome::Exited(0),
            Err(error) => match error.downcast_ref::<Exit>() {
                Some(Exit(code)) => Outcome::Exited(*code),
                None => Outcome::Trapped(format!("{error:?}")),
            },
        }
    }

    fn consumed(&self) -> Result<u64> {
        Ok(TANK - self.store.get_fuel()?)
    }
}

/// What `run` gives, how long it takes, and what this thread has of a processor in that time.
pub(crate) fn timed<T>(run: impl FnOnce() -> T) -> (T, Duration, Duration) {
    let thread = || Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).expect("it is not negative");
    let (begin, before) = (Instant::now(), thread());
    let outcome = run();
    (outcome, begin.elapsed(), thread() - before)
}

/// Runs a program to its end.
///
/// # Errors
/// When it could not be started. A trap is an outcome, not an error.
pub fn run(program: &Program, settings: Settings, startup: Startup) -> Result<(Outcome, Times)> {
    let mut ready = Ready::new(program, settings, startup)?;
    let (outcome, run, thread) = timed(|| ready.call());
    let Ready { load, instantiate, .. } = ready;
    Ok((outcome, Times { load, instantiate, run, thread }))
}

/// Runs a program to its end, counting fuel at the default costs.
///
/// # Errors
/// As [`run`].
pub fn fuel(program: &Program) -> Result<(Outcome, Fuel)> {
    let settings = Settings { fuel: true, ..Settings::default() };
    let mut ready = Ready::new(program, settings, Startup::default())?;
    let instantiate = ready.consumed()?;
    let outcome = ready.call();
    Ok((outcome, Fuel { instantiate, run: ready.consumed()? - instantiate }))
}
