//! Workers: threads with an instance each, which answer requests at the same time.
//!
//! The first worker has the thread of the program. Another thread supervises: it adds workers while requests wait, and ends
//! the server when that is due.

use std::process::exit;
use std::sync::Mutex;
use std::thread::{self, Scope};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use wprof::component::Instance;
use wprof::wasi::WasiCtx;
use wprof::{Error, InterruptHandle, Store, Trap};
use wprof_report::names;

use super::answer::{Limits, answer, is_a_failure, locked};
use super::jobs::Jobs;
use super::requests::Requests;
use crate::commands::run::ending;
use crate::modules::failure;
use crate::output;

/// The interval at which somebody checks whether to end; a request that has waited so long gets another worker.
const SLICE: Duration = Duration::from_millis(20);
/// The maximum time for which workers of a program that cannot be stopped continue after another one has ended the server.
const PATIENCE: Duration = Duration::from_secs(2);

/// The instances of the program that a server runs.
pub trait Instances: Sync {
    /// Returns why the server is to end, if it is.
    fn ends(&self) -> Option<Trap>;

    /// Returns when the server is to end, if that is known.
    fn deadline(&self) -> Option<Instant>;

    /// Reports whether there may be more stores than the first.
    fn can_renew(&self) -> bool;

    /// Reports whether code can be stopped anywhere.
    fn can_stop(&self) -> bool;

    /// Creates a store for a worker, in place of the one that it had, if any.
    ///
    /// # Errors
    /// Returns an error if a folder cannot be opened any more, or the system has no memory.
    fn store(&self, worker: usize) -> Result<Store<WasiCtx>>;

    /// Creates an instance.
    ///
    /// # Errors
    /// Returns an error if the program fails.
    fn instance(&self, store: &mut Store<WasiCtx>) -> Result<Instance, Error>;

    /// Keeps what a store has counted that goes.
    ///
    /// # Errors
    /// Returns an error if profiles do not fit together, of which no case is known.
    fn keep(&self, store: &Store<WasiCtx>) -> Result<()>;
}

/// Why the server ended: the program's error, or another one.
type End = Result<Error>;

/// All workers of a server.
pub struct Crew<'a, I> {
    jobs: &'a Jobs,
    instances: &'a I,
    most: usize,
    max_stack: usize,
    request_timeout: Option<Duration>,
    is_verbose: bool,
    requests: Mutex<&'a mut Requests>,
    state: Mutex<State>,
}

struct State {
    /// The number of workers whose thread has not ended.
    alive: usize,
    /// Interrupt the stores of those that have one, by their numbers.
    running: Vec<(usize, InterruptHandle)>,
    /// The number of traps after which a new instance is still made.
    restarts: u32,
    end: Option<(Instant, End)>,
}

/// Notes that a worker's thread ends, when it is dropped, also by a panic.
struct Alive<'c, 'a, I>(&'c Crew<'a, I>, usize);

impl<I> Drop for Alive<'_, '_, I> {
    fn drop(&mut self) {
        let mut state = locked(&self.0.state);
        state.running.retain(|(other, _)| *other != self.1);
        state.alive -= 1;
    }
}

impl<'a, I: Instances> Crew<'a, I> {
    /// Creates a crew of at most `most` workers with stacks of `max_stack` bytes, which may restart `restarts` times in all,
    /// also after requests that take longer than `request_timeout`.
    pub fn new(
        jobs: &'a Jobs,
        instances: &'a I,
        (most, restarts, max_stack): (usize, u32, usize),
        request_timeout: Option<Duration>,
        is_verbose: bool,
        requests: &'a mut Requests,
    ) -> Self {
        let state = Mutex::new(State { alive: 1, running: Vec::new(), restarts, end: None });
        let requests = Mutex::new(requests);
        Crew { jobs, instances, most, max_stack, request_timeout, is_verbose, requests, state }
    }

    /// Answers requests until the server ends.
    ///
    /// # Errors
    /// Returns an error if the system provides no thread, or a store cannot be created after a trap. The inner error is
    /// the program's.
    pub fn work(&self, (store, instance): (&mut Store<WasiCtx>, Instance)) -> Result<Result<(), Error>> {
        self.begin(0, store);
        self.jobs.queue().join();
        thread::scope(|scope| {
            let supervise = || self.supervise(scope);
            let thread = thread::Builder::new().name("workers".to_owned());
            let supervisor = thread.spawn_scoped(scope, supervise).context("cannot start a thread")?;
            let alive = Alive(self, 0);
            self.answer_all(0, store, instance);
            drop(alive);
            // Workers that it has begun end before the scope does.
            let _ = supervisor.join();
            Ok::<(), anyhow::Error>(())
        })?;
        locked(&self.state).end.take().map_or(Ok(Ok(())), |(_, end)| end.map(Err))
    }

    /// Answers requests with one instance after another until the server ends.
    fn answer_all(&self, number: usize, store: &mut Store<WasiCtx>, mut instance: Instance) {
        while let Some(job) = self.jobs.queue().take() {
            let limits = Limits { of_server: self.instances.deadline(), of_request: self.request_timeout };
            if let Err(error) = answer(store, &instance, job, limits, (&self.requests, self.is_verbose)) {
                match self.renew(number, store, error) {
                    Ok(renewed) => instance = renewed,
                    Err(end) => {
                        self.end(end);
                        break;
                    }
                }
            }
            self.jobs.queue().join();
        }
    }

    /// Notes the store in which a worker runs from now on.
    fn begin(&self, number: usize, store: &Store<WasiCtx>) {
        let mut state = locked(&self.state);
        state.running.retain(|(other, _)| *other != number);
        state.running.push((number, store.interrupt_handle()));
    }

    /// Replaces a store after an error, and with it all memory of the instance that has failed.
    ///
    /// # Errors
    /// Returns the error with which the server ends instead.
    fn renew(&self, number: usize, store: &mut Store<WasiCtx>, error: Error) -> Result<Instance, End> {
        let is_late = error.trap() == Some(Trap::Deadline) && self.instances.ends().is_none();
        if !is_late && !is_a_failure(&error) || !self.takes_restart() || !self.instances.can_renew() {
            return Err(Ok(error));
        }
        let next = self.instances.keep(store).and_then(|()| self.instances.store(number));
        *store = next.map_err(Err)?;
        self.begin(number, store);
        let instance = self.instances.instance(store).map_err(Ok)?;
        output::tell_line(format_args!(
            "wprof: {}: the next request has a new instance",
            names::harmless(error.to_string().lines().next().unwrap_or_default())
        ));
        Ok(instance)
    }

    fn takes_restart(&self) -> bool {
        let mut state = locked(&self.state);
        let fewer = state.restarts.checked_sub(1);
        state.restarts = fewer.unwrap_or_default();
        fewer.is_some()
    }

    /// Ends the server, unless something else has ended it. The same end with a backtrace tells more.
    fn end(&self, end: End) {
        let mut state = locked(&self.state);
        let tells_more = |known: &End| match (known, &end) {
            (Ok(known), Ok(error)) => {
                known.backtrace().is_none() && error.backtrace().is_some() && known.trap() == error.trap()
            }
            _ => false,
        };
        match &mut state.end {
            Some((_, known)) if tells_more(known) => *known = end,
            Some(_) => {}
            none => *none = Some((Instant::now(), end)),
        }
        drop(state);
        self.jobs.end();
    }

    /// Adds workers while requests wait, and ends the server when that is due.
    fn supervise<'s>(&'s self, scope: &'s Scope<'s, '_>) {
        let mut count = 1;
        while locked(&self.state).alive > 0 {
            if let Some(trap) = self.instances.ends() {
                self.end(Ok(trap.into()));
            }
            self.insist();
            if count < self.most && self.jobs.queue().is_behind(SLICE) {
                count = if self.hire(scope, count) { count + 1 } else { self.most };
            }
            thread::sleep(SLICE);
        }
    }

    /// Stops the workers that still run after the server has ended with an error.
    fn insist(&self) {
        let state = locked(&self.state);
        let Some((since, end)) = &state.end else { return };
        for (_, handle) in &state.running {
            handle.interrupt();
            handle.wake();
        }
        if since.elapsed() >= PATIENCE && !self.instances.can_stop() && state.alive > 0 {
            match end {
                Ok(error) => ending::end_process(error),
                Err(error) => {
                    output::tell_line(format_args!("error: {error:#}"));
                    exit(1);
                }
            }
        }
    }

    /// Adds a worker; returns whether there may be more.
    fn hire<'s>(&'s self, scope: &'s Scope<'s, '_>, number: usize) -> bool {
        self.jobs.queue().join();
        locked(&self.state).alive += 1;
        let thread = thread::Builder::new().name(format!("worker {number}")).stack_size(self.max_stack);
        let begun = thread.spawn_scoped(scope, move || {
            let _alive = Alive(self, number);
            if let Err(error) = self.run(number) {
                self.jobs.queue().leave();
                output::tell_line(format_args!("wprof: no other instance can answer requests: {error:#}"));
            }
        });
        if begun.is_err() {
            self.jobs.queue().leave();
            locked(&self.state).alive -= 1;
        }
        begun.is_ok()
    }

    /// Answers requests with a store of its own.
    ///
    /// # Errors
    /// Returns an error if there is no instance.
    fn run(&self, number: usize) -> Result<()> {
        let mut store = self.instances.store(number)?;
        self.begin(number, &store);
        let instance = self.instances.instance(&mut store).map_err(failure)?;
        self.answer_all(number, &mut store, instance);
        if let Err(error) = self.instances.keep(&store) {
            self.end(Err(error));
        }
        Ok(())
    }
}
