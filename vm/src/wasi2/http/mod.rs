//! `wasi:http`: programs that answer requests, and that send some.
//!
//! Messages are whole: a program is called when the body of a request has arrived, and its answer is sent when it is
//! finished; likewise for its own requests. The limits are those of [`WireLimits`]. There is no encryption.
//!
//! Source: the WIT package `wasi:http@0.2.6`; where it leaves a choice this implementation follows Wasmtime.

mod body;
mod client;
mod fields;
mod incoming;
mod message;
mod outgoing;
mod values;
mod wire;

pub use message::{Headers, Request, Response};
pub use wire::{Received, WireError, WireLimits, read_request, read_response, write_request, write_response};

use std::sync::PoisonError;

use super::host::{Host, table};
use super::interface::Interface;
use crate::component::{Instance, Linker, Resource};
use crate::wasi::WasiCtx;
use crate::wasi::fail::Outcome;
use crate::{AsContextMut, Error, ErrorKind, Result};
use incoming::{Answered, IncomingRequest, Outparam};
use outgoing::FutureResponse;
use values::ErrorCode;

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
        // Body streams are in memory: they fail only if a body is too long.
        host.table().get(&error)?;
        Ok(Some(ErrorCode::HttpResponseBodySize(None)))
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
/// answer requests. After a trap, no function of the instance can be called any more.
pub fn handle<S: AsContextMut>(
    mut store: S,
    instance: &Instance,
    context: impl Fn(&mut S::Data) -> &mut WasiCtx,
    request: Request,
) -> Result<Response> {
    let names = instance.component().funcs().into_iter().map(|(name, _)| name);
    let name = handler_name(names).ok_or_else(|| {
        let why = "the component answers no requests: it does not export wasi:http/incoming-handler";
        Error::new(ErrorKind::Link, why)
    })?;
    let handle = instance.get_typed_func::<(Resource<IncomingRequest>, Resource<Outparam>), ()>(&name)?;
    let answered = Answered::default();
    let (request, param) = {
        let store = store.as_context_mut();
        let table = table(context(&mut store.0.above.data).system()?);
        let full = |error| Error::new(ErrorKind::Limit, error);
        (
            table.push(IncomingRequest::new(request)).map_err(full)?,
            table.push(Outparam(answered.clone())).map_err(full)?,
        )
    };
    handle.call(&mut store, (request, param))?;
    let answer = answered.lock().unwrap_or_else(PoisonError::into_inner).take();
    let failed = |why: String| Error::new(ErrorKind::Host, why);
    match answer {
        None => Err(failed("the component has not answered the request".to_owned())),
        Some(Err(code)) => Err(failed(format!("the component answers with an error: {code:?}"))),
        Some(Ok(response)) => {
            response.whole().ok_or_else(|| failed("the component has not finished its response".to_owned()))
        }
    }
}

/// Returns the wait condition of a response.
pub(super) fn wish(host: &mut Host<'_>, rep: u32) -> Outcome<super::poll::Wish> {
    Ok(host.table().get(&Resource::<FutureResponse>::new_borrow(rep))?.0.wish())
}
