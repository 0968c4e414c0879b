//! `wasi:http`: programs that answer requests, and that send some.
//!
//! [`handle`] passes whole messages, [`handle_streaming`] bodies as they come, in both directions; a program waits where
//! the other side is slower. Bodies of a program's own requests and their responses are always passed on as they come.
//! The limits are those of [`WireLimits`], and those of all that a program keeps: by default its bodies take at most 256 MiB, its heads
//! 64 MiB, and the ways of bodies count as open files. At most 16 requests that it sends are under way at once; one ends
//! with its future, with the body of its response, and with the store. Requests that a program sends are encrypted if it asks for HTTPS and the feature
//! `https` is on; those that it answers are not.
//!
//! Source: the WIT package `wasi:http@0.2.6`; where it leaves a choice this implementation follows Wasmtime.

mod body;
mod cancel;
mod client;
mod connection;
mod fields;
mod incoming;
mod incoming_way;
mod message;
mod outbox;
mod outgoing;
mod serving;
#[cfg_attr(not(feature = "https"), path = "no_tls.rs")]
mod tls;
mod values;
mod wire;

pub use incoming::StreamedResponse;
pub use incoming_way::{BodySender, Canceller};
pub use message::{Headers, Request, Response};
pub use serving::{Incoming, IncomingPieces, StreamedRequest, read_incoming, write_streamed};
pub use wire::{Received, WireError, WireLimits, read_request, read_response, write_request, write_response};

pub(super) use incoming_way::Ending;
pub(super) use outbox::Outbox;
pub(super) use values::ErrorCode;

use std::sync::PoisonError;

use super::host::{Host, release_held, table};
use super::interface::Interface;
use crate::component::{Instance, Linker, Resource};
use crate::wasi::WasiCtx;
use crate::wasi::fail::Outcome;
use crate::{AsContextMut, Error, ErrorKind, Result};
use body::FutureTrailers;
use incoming::{Answered, IncomingRequest, OutgoingResponse, Outparam, Respond};
use outgoing::FutureResponse;

/// The interface that answers requests, without its version.
const HANDLER: &str = "wasi:http/incoming-handler@0.2.";

/// Defines the functions of `wasi:http`; `context` finds a store's context in its data.
///
/// # Errors
/// Fails if one of the names is taken.
pub fn add_to_linker<T: 'static>(
    linker: &mut Linker<T>,
    context: impl Fn(&mut T) -> &mut WasiCtx + Copy + Send + Sync + 'static,
) -> Result<()> {
    let mut types = Interface::new(linker, "wasi:http/types", context)?;
    fields::define(&mut types)?;
    body::define(&mut types)?;
    incoming::define(&mut types)?;
    outgoing::define(&mut types)?;
    types.func("http-error-code", |host: &mut Host<'_>, (error,): (Resource<super::errors::IoError>,)| {
        Ok(ErrorCode::of_errno(host.table().get(&error)?.0))
    })?;
    outgoing::define_handler(linker, context)
}

/// Returns the function that answers requests, `wasi:http/incoming-handler#handle` of any version 0.2.x, if an instance
/// exports it.
pub fn handler_name(funcs: impl IntoIterator<Item = impl AsRef<str>>) -> Option<String> {
    let is_it = |name: &str| name.starts_with(HANDLER) && name.ends_with("#handle");
    funcs.into_iter().find(|name| is_it(name.as_ref())).map(|name| name.as_ref().to_owned())
}

/// Calls a component to answer a request.
///
/// # Errors
/// Fails if the component traps, exits, answers with an error, gives no answer or an unfinished body, or does not
/// answer requests; with [`ErrorKind::Limit`] if it keeps so much of other requests, or has so many files open, that it
/// cannot take this one. By default all bodies that it has at a time take at most 256 MiB, and all heads 64 MiB. After a trap, no function of the instance can be called any more.
pub fn handle<S: AsContextMut>(
    mut store: S,
    instance: &Instance,
    context: impl Fn(&mut S::Data) -> &mut WasiCtx,
    request: Request,
) -> Result<Response> {
    let response = call(&mut store, (instance, context), request.into(), None)??;
    response.whole().ok_or_else(unfinished)
}

fn unfinished() -> Error {
    Error::new(ErrorKind::Host, "the component has not finished its response")
}

/// Calls a component to answer a request. `respond` takes the response as soon as the program has finished it, has
/// written much of its body, or waits; it must not wait itself, but have another thread write it
/// ([`write_streamed`]). What the program writes beyond what the system keeps for the way, some 200 KiB, waits until
/// the response is read.
///
/// # Errors
/// Fails as [`handle`] does; `respond` may have been called before. Then the response ends too early, which its reader
/// notices.
pub fn handle_streaming<S: AsContextMut>(
    mut store: S,
    instance: &Instance,
    context: impl Fn(&mut S::Data) -> &mut WasiCtx,
    request: StreamedRequest,
    respond: impl FnOnce(StreamedResponse) + Send + 'static,
) -> Result<()> {
    let response = call(&mut store, (instance, &context), request, Some(Box::new(respond)))??;
    // The program runs no more, so it writes no more.
    let is_whole = response.body().is_finished();
    response.body().abandon();
    if is_whole { Ok(()) } else { Err(unfinished()) }
}

/// Calls the function that answers requests. The inner error is the program's answer, or that there is none.
fn call<S: AsContextMut>(
    store: &mut S,
    (instance, context): (&Instance, impl Fn(&mut S::Data) -> &mut WasiCtx),
    request: StreamedRequest,
    respond: Option<Respond>,
) -> Result<Result<OutgoingResponse>> {
    let names = instance.component().funcs().into_iter().map(|(name, _)| name);
    let name = handler_name(names).ok_or_else(|| {
        let why = "the component answers no requests: it does not export wasi:http/incoming-handler";
        Error::new(ErrorKind::Link, why)
    })?;
    let handle = instance.get_typed_func::<(Resource<IncomingRequest>, Resource<Outparam>), ()>(&name)?;
    let answered = Answered::default();
    let (request, param) = {
        let store = store.as_context_mut();
        let system = context(&mut store.0.above.data).system()?;
        let request = request.into_incoming(system)?;
        let table = table(system);
        let full = |error| Error::new(ErrorKind::Limit, error);
        let param = Outparam { answered: answered.clone(), respond };
        (table.push(request).map_err(full)?, table.push(param).map_err(full)?)
    };
    let ended = handle.call(&mut *store, (request, param));
    let store = store.as_context_mut();
    release_held(context(&mut store.0.above.data).system()?);
    let answer = answered.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let (Err(_), Some(Ok(response))) = (&ended, &answer) {
        response.body().abandon();
    }
    ended?;
    let failed = |why: String| Error::new(ErrorKind::Host, why);
    Ok(match answer {
        None => Err(failed("the component has not answered the request".to_owned())),
        Some(Err(code)) => Err(failed(format!("the component answers with an error: {code:?}"))),
        Some(Ok(response)) => Ok(response),
    })
}

/// Returns the wait condition of trailers.
pub(super) fn wish_for_trailers(host: &mut Host<'_>, rep: u32) -> Outcome<super::poll::Wish> {
    Ok(host.table().get(&Resource::<FutureTrailers>::new_borrow(rep))?.wish())
}

/// Returns the wait condition of a response.
pub(super) fn wish(host: &mut Host<'_>, rep: u32) -> Outcome<super::poll::Wish> {
    Ok(host.table().get(&Resource::<FutureResponse>::new_borrow(rep))?.answer.wish())
}
