//! One request: its way through an instance, and what is noted of it.

use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

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

/// Answers one request.
///
/// # Errors
/// Returns an error if the component can answer no more requests.
pub fn answer(
    store: &mut Store<WasiCtx>,
    instance: &Instance,
    mut job: Job,
    requests: &Mutex<&mut Requests>,
    is_verbose: bool,
) -> Result<(), Error> {
    let Some(request) = job.request.take() else { return Ok(()) };
    let (method, path) = (request.request.method.clone(), request.request.path_with_query.clone());
    let path = path.unwrap_or_else(|| "*".to_owned());
    let before = locked(requests).events(store);
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
