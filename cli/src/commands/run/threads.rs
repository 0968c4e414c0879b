//! Threads of a program: wasi-threads.
//!
//! Each thread has its own store and instance; all instances import the one memory. The first thread that exits or
//! traps ends all. Profiles of threads are added to the main thread's, and say what each thread did. Each thread has the
//! whole budget, and a trace of its own.
//! Source: the wasi-threads proposal, which defines the names below.

use std::collections::HashMap;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::Result;
use rustix::time::{ClockId, clock_gettime};
use wprof::wasi::{SharedWasi, WasiCtx};
use wprof::{Error, ExternType, InterruptHandle, Linker, Module, SharedMemory, Store, Trap};
use wprof_profiler::{MergeError, Profile, ThreadProfile};

use super::collect::Budget;
use super::live::LiveSnapshots;
use super::traced::{ThreadTrace, TraceTarget};
use super::{ending, nanoseconds};
use crate::modules::failure;

/// The import that starts a thread: it takes an argument, and returns the thread's number or a negative number.
const SPAWN: (&str, &str) = ("wasi", "thread-spawn");
/// The export that a thread runs, called with the thread's number and the argument.
const START: &str = "wasi_thread_start";
/// The number of the main thread here; a program's threads have positive ones.
pub const MAIN: i32 = 0;
/// The exclusive upper bound of thread numbers.
const NUMBERS: i32 = 1 << 29;
/// The interval at which a thread is asked to end, until it has.
const ASK_AGAIN: Duration = Duration::from_millis(10);
/// The maximum time for a program to end when it is asked to.
const PATIENCE: Duration = Duration::from_secs(2);

/// All threads of one program.
#[derive(Clone)]
pub struct ProgramThreads(Arc<Shared>);

struct Shared {
    module: Module,
    wasi: SharedWasi,
    /// The program's imports, including the function that starts threads.
    linker: OnceLock<Linker<WasiCtx>>,
    most: usize,
    stack: u64,
    deadline: Option<Instant>,
    can_stop: bool,
    has_profile: bool,
    budget: Option<Budget>,
    recorded: Vec<TraceTarget>,
    program: String,
    numbers: AtomicI32,
    /// The place where threads hand over profiles while the program runs.
    live: OnceLock<LiveSnapshots>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The handles of running threads by their numbers; the main thread has 0.
    handles: HashMap<i32, InterruptHandle>,
    /// The number of threads that were started and have not ended, without the main thread.
    running: usize,
    /// The threads that may still run.
    joins: Vec<JoinHandle<()>>,
    /// The results of threads that have ended.
    ended: Ended,
    /// Whether the program has ended.
    is_over: bool,
    /// Whether the main thread has ended.
    has_main_ended: bool,
}

/// The results of the threads other than the main one.
#[derive(Default)]
pub struct Ended {
    /// The reason, if one of them ended the program.
    pub error: Option<Error>,
    /// The number of events of the kind that has a budget in the thread that used it up.
    pub overdrawn: Option<u64>,
    /// The sum of the profiles of threads that have ended.
    pub profile: Option<Profile>,
    /// Their recordings.
    pub traces: Vec<ThreadTrace>,
}

impl Ended {
    /// Adds the profile of a thread that has ended.
    fn add(&mut self, profile: Profile) -> Result<(), MergeError> {
        match &mut self.profile {
            Some(sum) => sum.merge(&profile),
            none => {
                *none = Some(profile);
                Ok(())
            }
        }
    }
}

/// The settings that threads take from the main one.
pub struct Limits {
    /// The maximum number of threads at a time, besides the main thread.
    pub most: usize,
    /// The size of a stack, in bytes.
    pub stack: u64,
    /// The instant at which threads stop.
    pub deadline: Option<Instant>,
    /// Whether code polls for requests to stop.
    pub can_stop: bool,
    /// Whether profiles are needed.
    pub has_profile: bool,
    /// The budget of each thread in events of a kind.
    pub budget: Option<Budget>,
    /// The kind of recording, and its file for the main thread.
    pub recorded: Vec<TraceTarget>,
    /// The program's name in traces.
    pub program: String,
}

impl ProgramThreads {
    /// Reports whether a program starts threads.
    pub fn are_wanted(module: &Module) -> bool {
        module.imports().any(|import| (import.module(), import.name()) == SPAWN)
    }

    /// Defines the imports of a program that starts threads: the function, and the memory.
    ///
    /// # Errors
    /// Returns an error if there is no address space for the memory.
    pub fn new(
        module: &Module,
        linker: &mut Linker<WasiCtx>,
        wasi: WasiCtx,
        limits: Limits,
    ) -> Result<ProgramThreads> {
        let Limits { most, stack, deadline, can_stop, has_profile, budget, recorded, program } = limits;
        let threads = ProgramThreads(Arc::new(Shared {
            module: module.clone(),
            wasi: SharedWasi::new(wasi),
            linker: OnceLock::new(),
            most,
            stack,
            deadline,
            can_stop,
            has_profile,
            budget,
            recorded,
            program,
            numbers: AtomicI32::new(1),
            live: OnceLock::new(),
            state: Mutex::default(),
        }));
        for import in module.imports() {
            if let ExternType::Memory(ty) = import.ty()
                && ty.is_shared
            {
                let memory = SharedMemory::new(module.engine(), ty).map_err(failure)?;
                linker.define_shared_memory(import.module(), import.name(), &memory).map_err(failure)?;
            }
        }
        // A weak reference: the linker belongs to the threads, so a strong one would be a cycle.
        let weak = Arc::downgrade(&threads.0);
        let spawn = move |arg: i32| Weak::upgrade(&weak).map_or(-1, |shared| shared.spawn(arg));
        linker.func_wrap(SPAWN.0, SPAWN.1, spawn).map_err(failure)?;
        // Nobody else sets the linker.
        let _ = threads.0.linker.set(linker.clone());
        Ok(threads)
    }

    /// Returns the system interface, which all threads share.
    pub fn context(&self) -> WasiCtx {
        self.0.wasi.context()
    }

    /// Has the threads hand over profiles while the program runs. Call it before the program starts.
    pub fn follow(&self, live: &LiveSnapshots) {
        // The program has one such place.
        let _ = self.0.live.set(live.clone());
    }

    /// Registers the main thread, which is about to run: it stops too when another thread ends the program.
    pub fn begin(&self, handle: InterruptHandle) {
        self.0.state().handles.insert(MAIN, handle);
    }

    /// Ends the program with its main thread. Returns the results of the other threads that stop when asked to.
    pub fn end(&self) -> Ended {
        self.0.state().has_main_ended = true;
        self.0.stop(None);
        let joins = std::mem::take(&mut self.0.state().joins);
        let end = Instant::now() + PATIENCE;
        // Threads that do not stop end with the process.
        while self.0.is_waited_for() && joins.iter().any(|join| !join.is_finished()) && Instant::now() < end {
            self.0.interrupt_all();
            thread::sleep(ASK_AGAIN);
        }
        std::mem::take(&mut self.0.state().ended)
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reports whether anything is left of a thread when it has ended.
    fn is_waited_for(&self) -> bool {
        self.has_profile || !self.recorded.is_empty()
    }

    /// Starts a thread and returns its number, or -1 if there are too many already.
    fn spawn(self: &Arc<Self>, arg: i32) -> i32 {
        let number = self.numbers.fetch_add(1, Ordering::Relaxed);
        let mut state = self.state();
        if number >= NUMBERS || state.is_over || state.running >= self.most {
            return -1;
        }
        let shared = self.clone();
        let run = move || {
            let ended = shared.run(number, arg);
            shared.state().running -= 1;
            if let Err(error) = ended {
                shared.end_program(error);
            }
        };
        let thread = thread::Builder::new().name(format!("thread {number}")).stack_size(self.stack as usize);
        match thread.spawn(run) {
            Ok(join) => {
                // A handle of a thread that has ended keeps its stack.
                state.joins.retain(|join| !join.is_finished());
                state.joins.push(join);
                state.running += 1;
                number
            }
            Err(_) => -1,
        }
    }

    fn run(&self, number: i32, arg: i32) -> Result<(), Error> {
        let mut store = Store::try_new(self.module.engine(), self.wasi.context())?;
        store.set_deadline(self.deadline)?;
        {
            let mut state = self.state();
            if state.is_over {
                return Ok(());
            }
            state.handles.insert(number, store.interrupt_handle());
        }
        let ended = self.run_in(&mut store, (number, arg));
        self.state().handles.remove(&number);
        ended
    }

    fn run_in(&self, store: &mut Store<WasiCtx>, (number, arg): (i32, i32)) -> Result<(), Error> {
        let linker = self.linker.get().expect("set before any thread is started");
        if let Some(Budget { kind, limit }) = &self.budget {
            store.set_budget(kind, *limit)?;
        }
        let targets = self.begin_to_record(store, number)?;
        if let Some(live) = self.live.get() {
            let finish =
                move |profile: &mut Profile| profile.threads = vec![row(number, cpu_time(), profile)];
            live.follow(store, (&self.module, None), number, finish)?;
        }
        let instance = linker.instantiate(&mut *store, &self.module)?;
        let start = instance.get_typed_func::<(i32, i32), ()>(&mut *store, START)?;
        let ended = start.call(&mut *store, (number, arg));
        for target in targets {
            let summary = target.finish(store)?;
            self.state().ended.traces.push(ThreadTrace { path: target.path, summary });
        }
        if self.has_profile {
            let mut profile = instance.profile(&*store)?;
            profile.threads = vec![row(number, cpu_time(), &profile)];
            self.live.get().into_iter().for_each(|live| live.end(number, profile.clone()));
            self.state().ended.add(profile).map_err(Error::msg)?;
        }
        if let (Err(error), Some(budget)) = (&ended, &self.budget)
            && error.trap() == Some(Trap::OutOfBudget)
        {
            let spent = store.event_count(&budget.kind)?;
            self.state().ended.overdrawn.get_or_insert(spent);
        }
        ended
    }

    /// Begins to record a thread, unless there are too many: the program says how many files that would be.
    fn begin_to_record(&self, store: &mut Store<WasiCtx>, number: i32) -> Result<Vec<TraceTarget>, Error> {
        let mut targets = Vec::new();
        for target in self.recorded.iter().filter(|_| number.cast_unsigned() < ThreadProfile::MOST) {
            let target = target.of_thread(number);
            let begun =
                target.create().and_then(|file| target.begin(store, &self.module, &self.program, file));
            begun.map_err(|error| Error::msg(format!("{error:#}")))?;
            targets.push(target);
        }
        Ok(targets)
    }

    /// Ends the program for this reason, unless it has ended before; ends the whole process if the code does not poll
    /// for requests to stop.
    fn end_program(&self, error: Error) {
        self.stop(Some(error));
        if self.can_stop {
            return;
        }
        thread::sleep(PATIENCE);
        let mut state = self.state();
        if !state.has_main_ended
            && let Some(error) = state.ended.error.take()
        {
            ending::end_process(&error);
        }
    }

    /// Ends the program for this reason, unless it has ended before.
    fn stop(&self, error: Option<Error>) {
        let mut state = self.state();
        // The error of a thread that was interrupted after the end is not the reason.
        if !state.is_over {
            state.ended.error = error;
        }
        state.is_over = true;
        drop(state);
        self.interrupt_all();
    }

    fn interrupt_all(&self) {
        for handle in self.state().handles.values() {
            handle.interrupt();
            handle.wake();
        }
    }
}

/// Returns what thread `number` did, by its processor time and its profile.
pub fn row(number: i32, cpu: Duration, profile: &Profile) -> ThreadProfile {
    ThreadProfile::new(number.cast_unsigned(), nanoseconds(cpu), profile)
}

/// Returns the processor time of this thread.
pub fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.cast_unsigned(), time.tv_nsec as u32)
}

/// Returns what ended the program: the other thread's error, if the main thread only stopped because of it.
pub fn ended_by(ended: Result<(), Error>, other: Option<Error>) -> Result<(), Error> {
    match (ended, other) {
        (Err(error), Some(other)) if error.trap() == Some(Trap::Interrupt) => Err(other),
        (ended, _) => ended,
    }
}
