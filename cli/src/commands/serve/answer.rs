//! One request: its way through an instance, and what is noted of it.

use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use wprof::component::Instance;
use wprof::wasi::WasiCtx;
use wprof::wasi2::http::{Response, StreamedResponse, handle_streaming};
use wprof::{Error, ErrorKind, Store, Trap};
use wprof_report::names;

use super::jobs::Job;
use super::requests::Requests;
use crate::output;

/// Reports whether an error is the component's failure, after which a new instance can continue: not if the program is to
/// end, or ends itself.
pub fn is_a_failure(error: &Error) -> bool {
    let is_an_end =
        |trap| matches!(trap, Trap::Interrupt | Trap::Deadline | Trap::OutOfBudget | Trap::OutOfFuel);
    matches!(error.kind(), ErrorKind::Trap | ErrorKind::Host | ErrorKind::Limit)
        && !error.trap().is_some_and(is_an_end)
}

/// The times that a request may take.
#[derive(Clone, Copy)]
pub struct Limits {
    /// When the server is to end.
    pub of_server: Option<Instant>,
    pub of_request: Option<Duration>,
}

/// Answers one request.
///
/// # Errors
/// Returns an error if the component can answer no more requests, or takes too long.
pub fn answer(
    store: &mut Store<WasiCtx>,
    instance: &Instance,
    mut job: Job,
    limits: Limits,
    (requests, is_verbose): (&Mutex<&mut Requests>, bool),
) -> Result<(), Error> {
    let Some(request) = job.request.take() else { return Ok(()) };
    let (method, path) = (request.request.method.clone(), request.request.path_with_query.clone());
    let path = path.unwrap_or_else(|| "*".to_owned());
    let before = locked(requests).events(store);
    let begin = Instant::now();
    let deadline = limits.of_request.and_then(|time| begin.checked_add(time));
    let deadline = deadline.filter(|at| limits.of_server.is_none_or(|end| *at < end));
    if deadline.is_some() {
        store.set_deadline(deadline)?;
    }
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
    if deadline.is_some() {
        store.set_deadline(limits.of_server)?;
    }
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
        let (code, why) = match &ended {
            Ok(()) => (500, "the component has not answered"),
            Err(error) if deadline.is_some() && error.trap() == Some(Trap::Deadline) => {
                (504, "the component has taken too long")
            }
            Err(_) => (500, "the component has failed"),
        };
        status.store(code, Ordering::Relaxed);
        job.answer(Response::text(code, why));
    }
    let status = status.load(Ordering::Relaxed);
    locked(requests).note(store, (&method, &path, status), took, &before);
    if is_verbose {
        let shown = names::harmless(&format!("{method} {path}"));
        output::tell_line(format_args!("wprof: {status} {shown} in {took:.1?}"));
    }
    ended
}

fn taken(job: &Mutex<Option<Job>>) -> Option<Job> {
    locked(job).take()
}

/// Locks what a panic of another worker cannot leave in disorder.
pub fn locked<V>(lock: &Mutex<V>) -> MutexGuard<'_, V> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}
