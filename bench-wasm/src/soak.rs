//! A long-running service: many threads make instances, call them, take profiles and drop everything, while functions
//! are compiled in the background and engines come and go. Some requests are for a module that throws and allocates
//! objects, some for components that use WASI or answer HTTP requests, some for a program that reads files, and some
//! wait on fibers, which are dropped half-way at times. Engines that trace write traces.
//!
//! Output: the resources of the process after each phase. Tested invariant of the engine: it leaks none.

use std::fmt::Debug;
use std::process::{Command, ExitStatus};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use std::{fs, thread};

use anyhow::{Context, Result, ensure};
use wprof::component::{self, Component};
use wprof::profiler::BurstLengths;
use wprof::wasi::{WasiCtx, WasiCtxBuilder};
use wprof::{
    Adaptive, Caller, Collect, Config, Engine, Error, ExternRef, Instance, Linker, Module, ProfilingConfig,
    Store, Strategy, Tracing, Trap, wasi2,
};

use crate::session::failure;

mod guests;
mod hosted;

use guests::{COMPONENT, MODULE, OBJECTS};
use hosted::Hosted;

/// Number of engines that serve at the same time.
const ENGINES: usize = 6;
/// One request in this many replaces an engine that others still use.
const REPLACE_ONE_OF: u64 = 40;
/// Time limit for the threads of dropped engines to end.
const PATIENCE: Duration = Duration::from_secs(60);

/// Threads and descriptors that the library keeps for the process after its first use: its timer is a thread that
/// waits on a descriptor.
pub const KEPT: usize = 1;

/// The system resources of a process.
#[derive(Clone, Copy, Debug)]
pub struct Usage {
    /// Threads.
    pub threads: usize,
    /// Descriptors.
    pub descriptors: usize,
    /// Mappings.
    pub mappings: usize,
    /// Resident memory in bytes.
    pub resident: u64,
}

impl Usage {
    /// Returns the current resources of this process.
    ///
    /// # Errors
    /// Returns an error if the system does not report them.
    pub fn now() -> Result<Usage> {
        let status = fs::read_to_string("/proc/self/status")?;
        let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:")?.strip_suffix("kB"));
        let kilobytes: u64 = resident.context("no resident memory")?.trim().parse()?;
        Ok(Usage {
            threads: fs::read_dir("/proc/self/task")?.count(),
            descriptors: fs::read_dir("/proc/self/fd")?.count(),
            mappings: fs::read_to_string("/proc/self/maps")?.lines().count(),
            resident: kilobytes << 10,
        })
    }
}

/// Runs this program again, with an allocator that gives back what is free: otherwise its many arenas keep a quarter more or
/// less from one phase to the next, and a small leak could not be seen. Returns how that run ended; `None` in the run
/// itself.
///
/// # Errors
/// Returns an error if the program cannot be started.
pub fn run_with_one_arena() -> Result<Option<ExitStatus>> {
    const LIMITS: [(&str, &str); 4] = [
        ("MALLOC_ARENA_MAX", "1"),
        ("MALLOC_TRIM_THRESHOLD_", "65536"),
        ("MALLOC_MMAP_THRESHOLD_", "65536"),
        ("MALLOC_TOP_PAD_", "0"),
    ];
    if LIMITS.iter().all(|(name, value)| std::env::var(name).is_ok_and(|found| found == *value)) {
        return Ok(None);
    }
    let mut program = Command::new(std::env::current_exe()?);
    Ok(Some(program.args(std::env::args_os().skip(1)).envs(LIMITS).status()?))
}

/// A serving engine with its modules and its component.
struct Serving {
    module: Module,
    linker: Linker<u64>,
    objects: Module,
    component: Component,
    components: component::Linker<WasiCtx>,
    hosted: Hosted,
}

impl Serving {
    /// Creates an engine in one of several configurations, with a module whose functions have not been compiled.
    fn new(number: u64) -> wprof::Result<Serving> {
        let lengths = BurstLengths::new(50 + number as u32 % 100, 20);
        let adaptive = Adaptive { lengths, ..Adaptive::default() };
        let mut config = Config::new();
        match number % 6 {
            0 => config.profiling(ProfilingConfig::Exact(Collect::Edges)).count_contexts(true),
            1 => config.profiling(ProfilingConfig::Exact(Collect::Paths)),
            2 => config.profiling(ProfilingConfig::Off).strategy(Strategy::Optimized),
            3 => config.profiling(ProfilingConfig::Exact(Collect::Edges)).trace(Tracing::Best),
            _ => config.profiling(ProfilingConfig::Adaptive(adaptive)),
        };
        let engine = Engine::new(config.promote_after(20).interruptible(true))?;
        let mut linker = Linker::new(&engine);
        linker.func_wrap("host", "keep", |_: Caller<'_, u64>, kept: Option<ExternRef>| kept)?;
        let mut components = component::Linker::new(&engine);
        wasi2::add_to_linker(&mut components, |wasi: &mut WasiCtx| wasi)?;
        let (module, objects) = (Module::new(&engine, MODULE)?, Module::new(&engine, OBJECTS)?);
        let (component, hosted) = (Component::new(&engine, COMPONENT)?, Hosted::new(&module)?);
        Ok(Serving { module, linker, objects, component, components, hosted })
    }

    /// Serves a request: most are for the module.
    fn serve(&self, number: u64) -> wprof::Result<()> {
        match number % 12 {
            1 => self.hosted.serve_http(number),
            4 => self.serve_objects(number),
            6 => self.hosted.serve_file(number),
            8 => self.serve_component(number),
            10 => self.hosted.serve_waiting(number),
            _ => self.serve_module(number),
        }
    }

    fn serve_objects(&self, number: u64) -> wprof::Result<()> {
        let mut store = Store::try_new(self.objects.engine(), ())?;
        let instance = Linker::new(self.objects.engine()).instantiate(&mut store, &self.objects)?;
        let n = 1000 + (number % 3000) as i32;
        let caught = instance.get_typed_func::<i32, i32>(&mut store, "serve")?.call(&mut store, n)?;
        expect(caught == (n + 3) / 8, "what is 5 more than a multiple of 8 to be caught", &(n, caught))?;
        verified(&instance, &store)
    }

    fn serve_component(&self, number: u64) -> wprof::Result<()> {
        let mut store = Store::try_new(self.component.engine(), WasiCtxBuilder::new().build())?;
        let instance = self.components.instantiate(&mut store, &self.component)?;
        let n = (number % 1000) as u32;
        let served = instance.get_typed_func::<(u32,), (u32,)>("serve")?.call(&mut store, (n,))?;
        expect(served == (n,), "as many bytes as were asked for", &(n, served))
    }

    /// Serves a request in a new store: every seventh request first hits a deadline, and some calls trap.
    fn serve_module(&self, number: u64) -> wprof::Result<()> {
        let module = &self.module;
        let mut store = Store::try_new(module.engine(), number)?;
        let is_traced = module.engine().config().traces();
        if is_traced {
            store.record_trace(module, "soak", std::io::sink(), 1 << 20)?;
        }
        let instance = self.linker.instantiate(&mut store, module)?;
        if number % 7 == 3 {
            store.set_deadline(Some(Instant::now() + Duration::from_micros(200)))?;
            let spin = instance.get_typed_func::<(), ()>(&mut store, "spin")?;
            let stopped = spin.call(&mut store, ()).map_err(|error| error.trap());
            expect(stopped == Err(Some(Trap::Deadline)), "a deadline", &stopped)?;
            store.set_deadline(None)?;
        }
        let serve = instance.get_typed_func::<(i32, Option<ExternRef>), i32>(&mut store, "serve")?;
        for round in 0..1 + number % 3 {
            let n = 50 + ((number * 31 + round) % 3000) as i32;
            let kept = ExternRef::new(vec![0_u8; 100]);
            let served = serve.call(&mut store, (n, Some(kept)));
            expect(served.is_err() == (n % 17 == 0), "a trap for multiples of 17 only", &served)?;
        }
        verified(&instance, &store)
    }
}

/// Checks the profile of an instance, if its engine profiles.
fn verified<T: 'static>(instance: &Instance, store: &Store<T>) -> wprof::Result<()> {
    match instance.module(store).engine().config().profiles() {
        true => instance.profile(store)?.verify().map_err(Error::msg),
        false => Ok(()),
    }
}

fn expect(is_so: bool, what: &str, found: &dyn Debug) -> wprof::Result<()> {
    if is_so { Ok(()) } else { Err(Error::msg(format_args!("expected {what}, found {found:?}"))) }
}

/// A service with the number of its requests so far.
pub struct Service {
    serving: Mutex<Vec<Arc<Serving>>>,
    requests: AtomicU64,
}

impl Service {
    /// Creates a service without requests.
    ///
    /// # Errors
    /// Returns an error if the machine is not supported.
    pub fn new() -> Result<Service> {
        let serving = (0..ENGINES as u64).map(|number| Serving::new(number).map(Arc::new));
        let serving = serving.collect::<wprof::Result<_>>().map_err(failure)?;
        Ok(Service { serving: Mutex::new(serving), requests: AtomicU64::new(0) })
    }

    /// Serves requests on `threads` threads until `is_over` returns true for the number of requests so far.
    ///
    /// # Errors
    /// Returns an error if a request has a wrong result.
    pub fn serve(&self, threads: usize, is_over: impl Fn(u64) -> bool + Sync) -> Result<()> {
        let work = || -> Result<()> {
            loop {
                let request = self.requests.fetch_add(1, Ordering::Relaxed);
                if is_over(request) {
                    return Ok(());
                }
                self.request(request)?;
            }
        };
        thread::scope(|scope| {
            let all: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
            all.into_iter().try_for_each(|thread| thread.join().expect("requests do not panic"))
        })
    }

    fn request(&self, number: u64) -> Result<()> {
        let place = number as usize % ENGINES;
        if number.is_multiple_of(REPLACE_ONE_OF) {
            let fresh = Arc::new(Serving::new(number).map_err(failure)?);
            self.lock()[place] = fresh;
        }
        let serving = self.lock()[place].clone();
        serving.serve(number).map_err(failure)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Arc<Serving>>> {
        self.serving.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the number of requests.
    pub fn requests(&self) -> u64 {
        self.requests.load(Ordering::Relaxed)
    }

    /// Ends the service and waits for the threads of its engines to end; returns the resources of the process then.
    /// `threads` is the number of threads before the service began.
    ///
    /// # Errors
    /// Returns an error if the threads do not end.
    pub fn end(self, threads: usize) -> Result<Usage> {
        drop(self);
        let began = Instant::now();
        loop {
            let left = Usage::now()?;
            if left.threads <= threads + KEPT {
                return Ok(left);
            }
            ensure!(began.elapsed() < PATIENCE, "{} threads are left of {threads}", left.threads);
            thread::sleep(Duration::from_millis(5));
        }
    }
}
