//! `wprof serve`: serves HTTP requests with a component, and profiles it.

mod jobs;
mod requests;

use std::net::{SocketAddr, TcpListener};
use std::process::ExitCode;
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::mpsc::RecvTimeoutError;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use clap::Args;
use wprof::component::{Component, Instance};
use wprof::wasi::WasiCtx;
use wprof::wasi2::http::{Response, StreamedResponse, WireLimits, handle_streaming, handler_name};
use wprof::{Error, ErrorKind, Store, Trap};

use super::help;
use super::run::{self, RunArgs};
use crate::commands::web::connections::{self, Limits};
use crate::render::screen::ColorChoice;
use crate::{durations, names, output, sizes};
use jobs::{Job, Jobs};
pub use requests::Requests;

/// The interval at which the server checks whether to end.
const SLICE: Duration = Duration::from_millis(20);
/// Longer bodies of requests are passed on to the component as they come.
const SHORT: usize = 256 << 10;

const EXAMPLES: &str = "\
Examples:
  wprof serve app.wasm                                 answer requests at http://127.0.0.1:8080 until Ctrl-C
  wprof serve --addr 127.0.0.1:0 --requests 1000 app.wasm
  wprof serve --exact -o app.wprof --dir data app.wasm";

/// The options of a server: those of `wprof run`, but for what is called.
#[derive(Debug, Args)]
#[command(mut_arg("invoke", |arg| arg.hide(true)))]
#[command(after_help = EXAMPLES, after_long_help = format!("\
The component exports wasi:http/incoming-handler, in any version 0.2.x. One instance of it answers requests, \
one after the other; connections wait for their turn. After a trap a new instance answers the next request, up to \
--restarts times; the profile is that of all instances. A request with a long body, and a response with one, pass \
through as they come: the component then waits for the client, which must be able to send or accept 64 KiB within \
--connection-timeout. When the server ends there is a table of requests by path, in which numbers and other \
identifiers are `*`, and the profile, as after `wprof run`. With --collect events=instructions the table also \
tells how many instructions requests took.

The server ends at Ctrl-C, after --requests, at --timeout, or when the component exits, or traps once more than \
--restarts: then this request is answered with 500, and the trap is shown with a backtrace. With --budget, --bursts, \
--coredump or --live the first trap ends it.

Connections are HTTP/1.1 without encryption.

{EXAMPLES}

Exit codes: 0 after --requests; 130 after Ctrl-C; 134 after the last trap or a timeout; 1 if wprof itself failed."))]
pub struct ServeArgs {
    /// Listen at this address; port 0 is any that is free
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:8080", help_heading = help::PROGRAM)]
    addr: String,
    /// End after so many requests
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    #[arg(help_heading = help::LIMITS, hide_short_help = true)]
    requests: Option<u64>,
    /// Answer with a new instance after a trap, at most so many times; 0 ends the server at the first
    #[arg(long, value_name = "N", default_value_t = 1000)]
    #[arg(help_heading = help::LIMITS, hide_short_help = true)]
    restarts: u32,
    /// Refuse requests with a longer body
    #[arg(long, value_name = "SIZE", value_parser = sizes::parse, default_value = "1G")]
    #[arg(help_heading = help::LIMITS, hide_short_help = true)]
    max_body: u64,
    /// Close connections on which a request, or an answer's way, takes longer than this
    #[arg(long, value_name = "DURATION", value_parser = durations::parse, default_value = "60s")]
    #[arg(help_heading = help::LIMITS, hide_short_help = true)]
    connection_timeout: Duration,
    #[command(flatten)]
    run: RunArgs,
}

/// The settings of a server.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    limits: Limits,
    most: Option<u64>,
    restarts: u32,
    is_verbose: bool,
}

pub fn execute(args: ServeArgs, color: ColorChoice) -> Result<ExitCode> {
    let (listener, address) = connections::listen(&args.addr, "give a free one with --addr ADDRESS:PORT")?;
    let body = usize::try_from(args.max_body).unwrap_or(usize::MAX);
    let server = Server {
        listener,
        address,
        limits: Limits {
            wire: WireLimits { body, ..WireLimits::default() },
            patience: args.connection_timeout,
            short: SHORT,
        },
        most: args.requests,
        restarts: args.restarts,
        is_verbose: args.run.verbose,
    };
    run::serve(args.run, server, color)
}

impl Server {
    /// Checks that a component answers requests.
    ///
    /// # Errors
    /// Returns an error if the component does not.
    pub fn check(component: &Component) -> Result<()> {
        if handler_name(component.funcs().iter().map(|(name, _)| name)).is_none() {
            bail!(
                "this component answers no requests: it does not export wasi:http/incoming-handler@0.2; `wprof run` runs \
                 commands, and calls functions with --invoke"
            );
        }
        Ok(())
    }

    /// Answers requests until the program is to end, and records the results in `requests`. After a trap `renew`
    /// replaces the store, and returns a new instance, unless the first trap ends the program.
    ///
    /// # Errors
    /// Returns an error if the system provides no threads, or `renew` fails. The inner error is the program's.
    pub fn serve(
        self,
        store: &mut Store<WasiCtx>,
        mut instance: Instance,
        (ends, mut renew): (
            impl Fn() -> Option<Trap>,
            impl FnMut(&mut Store<WasiCtx>) -> Result<Option<Result<Instance, Error>>>,
        ),
        requests: &mut Requests,
    ) -> Result<Result<(), Error>> {
        let jobs = Jobs::open(self.listener, self.limits)?;
        output::tell_line(format_args!("wprof: listening at http://{}", self.address));
        let (mut left, mut restarts) = (self.most.unwrap_or(u64::MAX), self.restarts);
        while left > 0 {
            if let Some(trap) = ends() {
                return Ok(Err(trap.into()));
            }
            let job = match jobs.queue().recv_timeout(SLICE) {
                Ok(job) => job,
                Err(RecvTimeoutError::Timeout) => continue,
                Err(RecvTimeoutError::Disconnected) => bail!("nobody listens any more"),
            };
            left -= 1;
            let Err(error) = answer(store, &instance, job, requests, self.is_verbose) else { continue };
            let renewed = match restarts.checked_sub(1).filter(|_| is_a_failure(&error)) {
                Some(fewer) => {
                    restarts = fewer;
                    renew(store)?
                }
                None => None,
            };
            match renewed {
                Some(Ok(renewed)) => {
                    output::tell_line(format_args!(
                        "wprof: {}: the next request has a new instance",
                        names::harmless(error.to_string().lines().next().unwrap_or_default())
                    ));
                    instance = renewed;
                }
                renewed => {
                    jobs.finish();
                    return Ok(Err(renewed.and_then(Result::err).unwrap_or(error)));
                }
            }
        }
        jobs.finish();
        Ok(Ok(()))
    }
}

/// Reports whether an error is the component's failure, after which a new instance can go on: not if the program is to
/// end, or ends itself.
fn is_a_failure(error: &Error) -> bool {
    let is_an_end =
        |trap| matches!(trap, Trap::Interrupt | Trap::Deadline | Trap::OutOfBudget | Trap::OutOfFuel);
    matches!(error.kind(), ErrorKind::Trap | ErrorKind::Host | ErrorKind::Limit)
        && !error.trap().is_some_and(is_an_end)
}

/// Answers one request.
///
/// # Errors
/// Returns an error if the component can answer no more requests.
fn answer(
    store: &mut Store<WasiCtx>,
    instance: &Instance,
    mut job: Job,
    requests: &mut Requests,
    is_verbose: bool,
) -> Result<(), Error> {
    let Some(request) = job.request.take() else { return Ok(()) };
    let (method, path) = (request.request.method.clone(), request.request.path_with_query.clone());
    let path = path.unwrap_or_else(|| "*".to_owned());
    let before = requests.events(store);
    let begin = Instant::now();
    // The status of the response, once it is on its way; until then the job.
    let (job, status) = (Arc::new(Mutex::new(Some(job))), Arc::new(AtomicU16::new(0)));
    let respond = {
        let (job, status) = (job.clone(), status.clone());
        move |response: StreamedResponse| {
            status.store(response.status, Ordering::Relaxed);
            if let Some(job) = taken(&job) {
                job.stream(response);
            }
        }
    };
    let answered = handle_streaming(&mut *store, instance, |wasi| wasi, request, respond);
    let took = begin.elapsed();
    let ended = match answered {
        Ok(()) => Ok(()),
        // The component gave no answer, and continues with the next request.
        Err(error) if error.kind() == ErrorKind::Host && error.backtrace().is_none() => {
            output::tell_line(format_args!(
                "wprof: {}: {}",
                names::harmless(&path),
                names::harmless(&error.to_string())
            ));
            Ok(())
        }
        Err(error) => Err(error),
    };
    if let Some(job) = taken(&job) {
        let why = if ended.is_ok() { "the component has not answered" } else { "the component has failed" };
        status.store(500, Ordering::Relaxed);
        job.answer(Response::text(500, why));
    }
    let status = status.load(Ordering::Relaxed);
    requests.note(store, (&method, &path, status), took, &before);
    if is_verbose {
        let shown = names::harmless(&format!("{method} {path}"));
        output::tell_line(format_args!("wprof: {status} {shown} in {took:.1?}"));
    }
    ended
}

fn taken(job: &Mutex<Option<Job>>) -> Option<Job> {
    job.lock().unwrap_or_else(PoisonError::into_inner).take()
}
