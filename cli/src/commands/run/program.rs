//! The program runs on a thread of its own, which has a large stack and receives no signals.

use std::panic::resume_unwind;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, Result, bail};
use wprof::component::Component;
use wprof::wasi::WasiCtx;
use wprof::{
    Error, ErrorKind, GcStatistics, Instance, Linker, Module, Stop, Store, TraceSummary, WasmCoreDump,
};
use wprof_profiler::{Bursts, Ending, Profile};

use super::args::ProgramArgs;
use super::collect::Measurements;
use super::core_profiles;
use super::interruption::Interruption;
use super::live::{Following, Live};
use super::renewal::Renewal;
use super::threads::{self, ProgramThreads};
use super::traced::{ThreadTrace, TraceTarget};
use super::{component, ending, host, invoke, stubs};
use crate::commands::serve::{Requests, Server};
use crate::modules::failure;

/// The result of a run.
pub struct Outcome {
    /// The start time.
    pub started: SystemTime,
    /// The duration, without loading.
    pub wall: Duration,
    /// The end of the program.
    pub ending: Ending,
    /// The error, if the program did not just return or exit.
    pub error: Option<Error>,
    /// The signal that interrupted the program.
    pub signal: Option<i32>,
    /// The number of events of the kind that has a budget.
    pub spent: Option<u64>,
    /// Whether anything was counted.
    pub was_counted: bool,
    /// The state at the instruction where the program was stopped, if a stop was requested.
    pub stop: Option<Stop>,
    /// The counts, unless the program ended too early.
    pub profile: Option<Profile>,
    /// The result of writing the trace.
    pub trace: Option<Result<TraceSummary, Error>>,
    /// The bursts, if there were any.
    pub bursts: Option<Bursts>,
    /// The work of the garbage collector, if the program could create objects.
    pub collected: Option<GcStatistics>,
    /// The requests that were answered, if the program was a server.
    pub requests: Option<Requests>,
    /// The traces, or the bursts, of the threads that the program has started and that have ended.
    pub of_threads: Vec<ThreadTrace>,
    /// The result of recording the bursts.
    pub burst_log: Option<Result<TraceSummary, Error>>,
    /// The state in which the program trapped, if a core dump was requested.
    pub core_dump: Option<Vec<u8>>,
}

/// The settings of a run: what is counted and kept.
pub struct RunSettings<'a> {
    /// The component whose main module the module is, if a component is run.
    pub component: Option<Component>,
    /// The server, if the component answers requests.
    pub server: Option<Server>,
    /// The resolved choice of what is counted.
    pub counted: &'a Measurements,
    /// The destination of the trace, if there is one.
    pub trace: Option<TraceTarget>,
    /// The destination of the bursts, if they are recorded.
    pub bursts: Option<TraceTarget>,
    /// The receiver of profiles during the run, if there is one.
    pub live: Option<Live>,
    /// The instant at which the program stops, if that is known before it starts.
    pub deadline: Option<Instant>,
    /// Whether the profile is needed at the end.
    pub has_profile: bool,
    /// Whether a trap dumps the state.
    pub has_core_dump: bool,
    /// Whether it is left unsaid how arguments are passed.
    pub is_quiet: bool,
}

impl<'a> RunSettings<'a> {
    /// Keeps the profile only.
    pub fn profile(counted: &'a Measurements) -> RunSettings<'a> {
        RunSettings {
            component: None,
            server: None,
            counted,
            trace: None,
            bursts: None,
            live: None,
            deadline: None,
            has_profile: true,
            has_core_dump: false,
            is_quiet: false,
        }
    }

    /// Keeps a trace only.
    pub fn trace(counted: &'a Measurements, trace: TraceTarget) -> RunSettings<'a> {
        RunSettings { trace: Some(trace), has_profile: false, ..RunSettings::profile(counted) }
    }
}

/// Runs the program to its end.
///
/// # Errors
/// Returns an error if the program could not be started.
pub fn run(args: &ProgramArgs, module: &Module, kept: RunSettings<'_>) -> Result<Outcome> {
    let wasi = host::wasi(args, kept.counted.deterministic)?;
    let thread = thread::Builder::new().name("program".to_owned()).stack_size(args.max_stack as usize);
    thread::scope(|scope| {
        let program = thread
            .spawn_scoped(scope, || start(args, module, wasi, kept))
            .context("cannot start a thread")?;
        program.join().unwrap_or_else(|panic| resume_unwind(panic))
    })
}

fn start(args: &ProgramArgs, module: &Module, wasi: WasiCtx, kept: RunSettings<'_>) -> Result<Outcome> {
    let mut linker = host::linker(module.engine())?;
    let deadline = kept.deadline.or_else(|| args.deadline());
    let RunSettings {
        component,
        server,
        counted,
        trace,
        bursts,
        live,
        has_profile,
        has_core_dump,
        is_quiet,
        ..
    } = kept;
    let (is_traced, has_log) = (trace.is_some(), bursts.is_some());
    let program = args.module().display().to_string();
    let can_stop = counted.is_on() || is_traced;
    let has_profile = counted.is_on() && has_profile;
    let limits = threads::Limits {
        most: args.max_threads,
        stack: args.max_stack,
        deadline,
        can_stop,
        has_profile,
        // An instant of the main thread says nothing of others.
        budget: counted.budget.clone().filter(|_| counted.until.is_none()),
        recorded: trace.iter().chain(&bursts).cloned().collect(),
        program: program.clone(),
    };
    let (wasi, threads) = match component.is_none() && ProgramThreads::are_wanted(module) {
        true => {
            let threads = ProgramThreads::new(module, &mut linker, wasi, limits)?;
            (threads.context(), Some(threads))
        }
        false => (wasi, None),
    };
    let mut store = Store::try_new(module.engine(), wasi).map_err(failure)?;
    if component.is_none() {
        stubs::define(&mut linker, &mut store, module, args.stub_imports)?;
    }
    // A trace, a log or a budget belongs to one store, and would end where the next store begins.
    let can_renew = !is_traced && !has_log && live.is_none() && !has_core_dump && counted.budget.is_none();
    for target in trace.iter().chain(&bursts) {
        target.begin(&mut store, module, &program, target.create()?)?;
    }
    // Plain code has no polls, so there Ctrl-C keeps its default action.
    let interruption = can_stop.then(|| Interruption::install(store.interrupt_handle())).transpose()?;
    if let Some(budget) = &counted.budget {
        store.set_budget(&budget.kind, budget.limit).map_err(failure)?;
    }
    let (started, clock) = (SystemTime::now(), Instant::now());
    let live = live
        .map(|live| follow(live, &mut store, (module, component.as_ref()), (started, threads.as_ref())))
        .transpose()?;
    store.set_deadline(deadline).map_err(failure)?;
    threads.iter().for_each(|threads| threads.begin(store.interrupt_handle()));
    let keeps = Keeps { has_profile, has_core_dump, can_renew };
    let running = Running {
        args,
        module,
        counted,
        component,
        interruption,
        threads,
        live,
        trace,
        bursts,
        deadline,
        keeps,
        is_quiet,
    };
    let cpu = threads::cpu_time();
    let called = running.call(&mut store, &linker, server)?;
    let cpu = threads::cpu_time().saturating_sub(cpu);
    running.outcome(&mut store, Times { started, wall: clock.elapsed(), cpu }, called)
}

/// Begins to write profiles of a program that runs, and of all its threads.
fn follow(
    live: Live,
    store: &mut Store<WasiCtx>,
    (module, component): (&Module, Option<&Component>),
    (started, threads): (SystemTime, Option<&ProgramThreads>),
) -> Result<Following> {
    let live = live.begin(started)?;
    let snapshots = live.snapshots();
    let has_threads = threads.is_some();
    let begin = threads::cpu_time();
    let finish = move |profile: &mut Profile| {
        if has_threads {
            let cpu = threads::cpu_time().saturating_sub(begin);
            profile.threads = vec![threads::row(threads::MAIN, cpu, profile)];
        }
    };
    snapshots.follow(store, (module, component), threads::MAIN, finish).map_err(failure)?;
    threads.iter().for_each(|threads| threads.follow(&snapshots));
    Ok(live)
}

/// The results that a run must have when it ends.
#[derive(Clone, Copy)]
struct Keeps {
    has_profile: bool,
    has_core_dump: bool,
    /// Whether a server may continue in another store.
    can_renew: bool,
}

/// When a program started, and how long it ran: all of it, and its main thread on a processor.
struct Times {
    started: SystemTime,
    wall: Duration,
    cpu: Duration,
}

/// A running program, and the threads beside it.
struct Running<'a> {
    args: &'a ProgramArgs,
    module: &'a Module,
    counted: &'a Measurements,
    component: Option<Component>,
    interruption: Option<Interruption>,
    threads: Option<ProgramThreads>,
    live: Option<Following>,
    trace: Option<TraceTarget>,
    bursts: Option<TraceTarget>,
    deadline: Option<Instant>,
    keeps: Keeps,
    is_quiet: bool,
}

/// The result of a program's call.
struct Called {
    ended: Result<(), Error>,
    /// The requests that a server answered.
    requests: Option<Requests>,
    /// The counts of a server's earlier stores.
    earlier: Option<Profile>,
}

impl Running<'_> {
    /// Calls the program, or has it answer requests.
    fn call(
        &self,
        store: &mut Store<WasiCtx>,
        linker: &Linker<WasiCtx>,
        server: Option<Server>,
    ) -> Result<Called> {
        let ended = match (&self.component, server) {
            (Some(component), Some(server)) => return self.serve(store, component, server),
            (Some(component), None) => component::call(self.args, store, component)?,
            (None, _) => run_module((self.args, self.is_quiet), store, self.module, linker)?,
        };
        Ok(Called { ended, requests: None, earlier: None })
    }

    fn serve(&self, store: &mut Store<WasiCtx>, component: &Component, server: Server) -> Result<Called> {
        let kinds = self.counted.events.iter().map(|kind| kind.name.clone()).collect();
        let (mut requests, mut earlier) = (Requests::new(kinds), None);
        let ended = component::serve(self.args, store, component, |store, pre, instance| {
            let renewal = Renewal {
                args: self.args,
                component,
                main: self.module,
                pre,
                interruption: self.interruption.as_ref(),
                deadline: self.deadline,
                is_deterministic: self.counted.deterministic,
                can_renew: self.keeps.can_renew,
                earlier: self.keeps.has_profile.then(Mutex::default),
            };
            let served = server.serve((store, instance), &renewal, &mut requests);
            earlier = renewal.earlier.and_then(guarded);
            served
        })?;
        Ok(Called { ended, requests: Some(requests), earlier })
    }

    /// Ends the threads beside the program, and gathers their results.
    fn outcome(
        self,
        store: &mut Store<WasiCtx>,
        Times { started, wall, cpu }: Times,
        called: Called,
    ) -> Result<Outcome> {
        let Keeps { has_profile, has_core_dump, .. } = self.keeps;
        let Called { ended, requests, earlier } = called;
        let program = self.args.module().display().to_string();
        let dump = ended.as_ref().err().filter(|_| has_core_dump).and_then(WasmCoreDump::new);
        let core_dump = dump.map(|dump| dump.serialize(&*store, &program));
        let has_threads = self.threads.is_some();
        let others_ended = self.threads.map(|threads| threads.end()).unwrap_or_default();
        let overdrawn = others_ended.overdrawn;
        let ended = threads::ended_by(ended, others_ended.error);
        store.end_snapshots();
        self.live.into_iter().for_each(Following::end);
        let signal = self.interruption.and_then(|interruption| interruption.end());
        let trace = self.trace.map(|target| target.finish(store));
        let burst_log = self.bursts.map(|target| target.finish(store));
        let spent = self.counted.budget.as_ref().map(|budget| store.event_count(&budget.kind));
        let spent = overdrawn.map_or_else(|| spent.transpose().map_err(failure), |spent| Ok(Some(spent)))?;
        let (stop, bursts) = (store.stop().map_err(failure)?, store.bursts());
        let mut profile = None;
        if has_profile {
            profile = core_profiles::read(store, self.module, self.component.as_ref())?;
            core_profiles::add(&mut profile, earlier)?;
        }
        let collected = store.gc_statistics().cloned();
        if let Some(profile) = profile.as_mut().filter(|_| has_threads) {
            profile.threads = vec![threads::row(threads::MAIN, cpu, profile)];
            others_ended.profile.iter().try_for_each(|other| profile.merge(other))?;
        }
        Ok(Outcome {
            started,
            wall,
            ending: ending::classify(&ended, signal),
            error: ended.err(),
            signal,
            spent,
            stop,
            was_counted: self.counted.is_on(),
            profile,
            trace,
            bursts,
            collected,
            requests,
            of_threads: others_ended.traces,
            burst_log,
            core_dump,
        })
    }
}

/// Returns what a lock guards.
fn guarded<T>(lock: Mutex<T>) -> T {
    lock.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// Instantiates a module and calls it; returns how the program ended.
fn run_module(
    (args, is_quiet): (&ProgramArgs, bool),
    store: &mut Store<WasiCtx>,
    module: &Module,
    linker: &Linker<WasiCtx>,
) -> Result<Result<(), Error>> {
    match linker.instantiate(&mut *store, module) {
        Ok(instance) => call((args, is_quiet), store, instance),
        Err(error) if is_of_program(&error) => Ok(Err(error)),
        Err(error) => {
            let missing = host::missing_imports(linker, store, module, args.module());
            Err(missing.unwrap_or_else(|| failure(error)))
        }
    }
}

/// Reports whether the program's own code ended it, which may happen during instantiation.
fn is_of_program(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Trap | ErrorKind::Exit | ErrorKind::Host)
}

/// Calls the program. The outer error says that there is no function to call; the inner one is the program's.
fn call(
    (args, is_quiet): (&ProgramArgs, bool),
    store: &mut Store<WasiCtx>,
    instance: Instance,
) -> Result<Result<(), Error>> {
    match &args.invoke[..] {
        [] => invoke::start(store, instance),
        [name] => invoke::function(store, instance, name, args.rest(), is_quiet),
        _ => bail!("only components can have several --invoke: give it once for a module"),
    }
}
