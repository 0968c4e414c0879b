//! Outgoing requests of a program: `outgoing-request`, `outgoing-handler`, `incoming-response`.

use std::time::Duration;

use rustix::io::Errno;

use super::body::{IncomingBody, OutgoingBody};
use super::cancel::{Cancel, Guard};
use super::client::{Means, Timeouts, Told, send};
use super::connection::parts;
use super::fields::{Fields, shown, too_much};
use super::message::{Headers, Request};
use super::outbox::Outbox;
use super::values::{ErrorCode, Method, Scheme};
use crate::Result;
use crate::component::{Linker, Resource};
use crate::wasi::budget::Charge;
use crate::wasi::fail::{Fail, Outcome};
use crate::wasi::system::System;
use crate::wasi2::answer::{Answer, answer};
use crate::wasi2::host::{Host, hold_back, release_held};
use crate::wasi2::interface::{Context, Interface, drop_it};
use crate::wasi2::poll::Pollable;

/// Maximum bytes of a path with its query.
const LONGEST_PATH: usize = 64 << 10;
/// Maximum bytes of a method, a scheme or an authority.
const LONGEST: usize = 8 << 10;

/// `outgoing-request`
pub struct OutgoingRequest {
    method: Method,
    path: Option<String>,
    scheme: Option<Scheme>,
    authority: Option<String>,
    headers: Headers,
    body: Outbox,
    /// The parts of the budget of heads: of the fields, and of the texts.
    charges: (Charge, Charge),
}

/// `incoming-response`
pub struct IncomingResponse {
    pub status: u16,
    pub headers: Headers,
    pub body: Option<IncomingBody>,
    /// The part of the budget of heads.
    pub _charge: Charge,
}

/// `future-incoming-response`
pub struct FutureResponse {
    pub answer: Answer<Told>,
    /// Ends the request, unless a body takes this over.
    guard: Option<Guard>,
    _open: Charge,
}

impl Drop for FutureResponse {
    fn drop(&mut self) {
        // The request's thread may keep what it has told for longer.
        drop(self.answer.take());
    }
}

type Options = Resource<Timeouts>;
type Outgoing = Resource<OutgoingRequest>;
type Incoming = Resource<IncomingResponse>;

pub fn define<T: 'static, C: Context<T>>(types: &mut Interface<'_, T, C>) -> Result<()> {
    define_request(types)?;
    define_options(types)?;
    types.resource::<IncomingResponse>("incoming-response", drop_it)?;
    types.func("[method]incoming-response.status", |host, (response,): (Incoming,)| {
        Ok(host.table().get(&response)?.status)
    })?;
    types.func("[method]incoming-response.headers", |host, (response,): (Incoming,)| {
        let list = host.table().get(&response)?.headers.clone();
        shown(host, &response, list)
    })?;
    types.func("[method]incoming-response.consume", |host, (response,): (Incoming,)| {
        match host.table().get_mut(&response)?.body.take() {
            Some(body) => Ok(Ok(host.table().push_child(body, &response)?)),
            None => Ok(Err(())),
        }
    })?;
    types.resource::<FutureResponse>("future-incoming-response", drop_it)?;
    types.func(
        "[method]future-incoming-response.subscribe",
        |host, (future,): (Resource<FutureResponse>,)| {
            Ok(host.table().push_child(Pollable::Response(future.rep()), &future)?)
        },
    )?;
    types.func("[method]future-incoming-response.get", get)
}

fn define_request<T: 'static, C: Context<T>>(types: &mut Interface<'_, T, C>) -> Result<()> {
    types.resource::<OutgoingRequest>("outgoing-request", drop_it)?;
    types.func("[constructor]outgoing-request", |host, (fields,): (Resource<Fields>,)| {
        let Fields { list: headers, charge, .. } = host.table().delete(fields)?;
        let (path, scheme, authority) = (None, None, None);
        let request = OutgoingRequest {
            method: Method::Get,
            path,
            scheme,
            authority,
            headers,
            body: Outbox::default(),
            charges: (charge, host.system.heads.charge()),
        };
        Ok(host.table().push(request)?)
    })?;
    types.func("[method]outgoing-request.body", |host, (request,): (Outgoing,)| {
        let budgets = host.budgets_of_body();
        let found = host.table().get(&request)?;
        match OutgoingBody::open(&found.body, &found.headers, budgets) {
            Some(body) => Ok(Ok(host.table().push(body)?)),
            None => Ok(Err(())),
        }
    })?;
    types.func("[method]outgoing-request.method", |host, (request,): (Outgoing,)| {
        Ok(host.table().get(&request)?.method.clone())
    })?;
    types.func("[method]outgoing-request.set-method", |host, (request, method): (Outgoing, Method)| {
        let is_valid = method.name().len() <= LONGEST && method.is_valid();
        set(host, &request, is_valid, |request| request.method = method)
    })?;
    types.func("[method]outgoing-request.path-with-query", |host, (request,): (Outgoing,)| {
        Ok(host.table().get(&request)?.path.clone())
    })?;
    types.func("[method]outgoing-request.set-path-with-query", set_path)?;
    types.func("[method]outgoing-request.scheme", |host, (request,): (Outgoing,)| {
        Ok(host.table().get(&request)?.scheme.clone())
    })?;
    types.func(
        "[method]outgoing-request.set-scheme",
        |host, (request, scheme): (Outgoing, Option<Scheme>)| {
            let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
            let is_valid = scheme.as_ref().map(Scheme::name).is_none_or(|scheme| {
                !scheme.is_empty() && scheme.len() <= LONGEST && scheme.bytes().all(is_part)
            });
            set(host, &request, is_valid, |request| request.scheme = scheme)
        },
    )?;
    types.func("[method]outgoing-request.authority", |host, (request,): (Outgoing,)| {
        Ok(host.table().get(&request)?.authority.clone())
    })?;
    types.func("[method]outgoing-request.set-authority", set_authority)?;
    types.func("[method]outgoing-request.headers", |host, (request,): (Outgoing,)| {
        let list = host.table().get(&request)?.headers.clone();
        shown(host, &request, list)
    })
}

/// The result of functions that only succeed or fail.
type Done = Outcome<std::result::Result<(), ()>>;

/// Changes the texts of a request, if what is set is valid.
///
/// # Errors
/// Returns an error if the budget of heads is used up.
fn set(
    host: &mut Host<'_>,
    request: &Outgoing,
    is_valid: bool,
    change: impl FnOnce(&mut OutgoingRequest),
) -> Done {
    if !is_valid {
        return Ok(Err(()));
    }
    let budget = host.system.heads.clone();
    let request = host.table().get_mut(request)?;
    change(request);
    let len = |text: &Option<String>| text.as_ref().map_or(0, String::len);
    let scheme = request.scheme.as_ref().map_or(0, |scheme| scheme.name().len());
    let bytes = len(&request.path) + len(&request.authority) + scheme + request.method.name().len();
    if request.charges.1.set(bytes) { Ok(Ok(())) } else { Err(too_much(&budget)) }
}

fn set_path(host: &mut Host<'_>, (request, path): (Outgoing, Option<String>)) -> Done {
    let is_path =
        |path: &String| path.len() < LONGEST_PATH && path.bytes().all(|byte| byte.is_ascii_graphic());
    let is_valid = path.as_ref().is_none_or(is_path);
    // A slash must follow the host.
    let with_slash = |path: String| if path.starts_with('/') { path } else { format!("/{path}") };
    set(host, &request, is_valid, |request| request.path = path.map(with_slash))
}

fn set_authority(host: &mut Host<'_>, (request, authority): (Outgoing, Option<String>)) -> Done {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~:[]%".contains(&byte);
    let is_authority =
        |text: &String| text.len() <= LONGEST && text.bytes().all(is_part) && parts(text, 0).is_some();
    let is_valid = authority.as_ref().is_none_or(is_authority);
    set(host, &request, is_valid, |request| request.authority = authority)
}

/// Selects the timeout of a part of a request.
type Part = fn(&mut Timeouts) -> &mut Option<Duration>;

fn set_timeout(host: &mut Host<'_>, options: &Options, time: Option<u64>, part: Part) -> Done {
    *part(host.table().get_mut(options)?) = time.map(Duration::from_nanos);
    Ok(Ok(()))
}

fn timeout(host: &mut Host<'_>, options: &Options, part: Part) -> Outcome<Option<u64>> {
    let time = *part(host.table().get_mut(options)?);
    Ok(time.map(|time| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)))
}

fn define_options<T: 'static, C: Context<T>>(types: &mut Interface<'_, T, C>) -> Result<()> {
    types.resource::<Timeouts>("request-options", drop_it)?;
    types
        .func("[constructor]request-options", |host, (): ()| Ok(host.table().push(Timeouts::default())?))?;
    types.func("[method]request-options.connect-timeout", |host, (options,): (Options,)| {
        timeout(host, &options, |all| &mut all.connect)
    })?;
    types.func(
        "[method]request-options.set-connect-timeout",
        |host, (options, time): (Options, Option<u64>)| {
            set_timeout(host, &options, time, |all| &mut all.connect)
        },
    )?;
    types.func("[method]request-options.first-byte-timeout", |host, (options,): (Options,)| {
        timeout(host, &options, |all| &mut all.first_byte)
    })?;
    types.func(
        "[method]request-options.set-first-byte-timeout",
        |host, (options, time): (Options, Option<u64>)| {
            set_timeout(host, &options, time, |all| &mut all.first_byte)
        },
    )?;
    types.func("[method]request-options.between-bytes-timeout", |host, (options,): (Options,)| {
        timeout(host, &options, |all| &mut all.between_bytes)
    })?;
    types.func(
        "[method]request-options.set-between-bytes-timeout",
        |host, (options, time): (Options, Option<u64>)| {
            set_timeout(host, &options, time, |all| &mut all.between_bytes)
        },
    )
}

pub fn define_handler<T: 'static>(linker: &mut Linker<T>, context: impl Context<T>) -> Result<()> {
    Interface::new(linker, "wasi:http/outgoing-handler", context)?.func("handle", handle)
}

fn handle(
    host: &mut Host<'_>,
    (request, options): (Outgoing, Option<Options>),
) -> Outcome<std::result::Result<Resource<FutureResponse>, ErrorCode>> {
    let request = host.table().delete(request)?;
    let timeouts = options.map(|options| host.table().delete(options)).transpose()?.unwrap_or_default();
    let (scheme, authority) = match (request.scheme, request.authority) {
        (None, Some(authority)) => (Scheme::Http, authority),
        (Some(scheme @ (Scheme::Http | Scheme::Https)), Some(authority)) => (scheme, authority),
        _ => return Ok(Err(ErrorCode::HttpRequestUriInvalid)),
    };
    if !host.system.network.may_request(&authority) {
        return Ok(Err(ErrorCode::HttpRequestDenied));
    }
    let message = Request {
        method: request.method.name().to_owned(),
        scheme: Some(scheme.name().to_owned()),
        authority: Some(authority),
        path_with_query: request.path,
        headers: request.headers,
        ..Request::default()
    };
    let System { bodies, heads, requests, descriptors, network, .. } = &*host.system;
    let (bodies, heads, places) = (bodies.charge(), heads.clone(), requests.clone());
    let (open_files, reaches, cancel) =
        (descriptors.open_files().clone(), network.reaches(), Cancel::default());
    let guard = Some(Guard(cancel.clone()));
    let means =
        Means { timeouts, bodies, heads, places, open_files, reaches, cancel, _of_head: request.charges };
    let body = request.body.clone();
    let future = host.push_open(|open| {
        let (answer, teller) = answer()?;
        request.body.ask(move |body| match body {
            Ok(body) => send(message, body, means, teller),
            Err(code) => teller.tell(Err(code)),
        });
        Ok(FutureResponse { answer, guard, _open: open })
    });
    let future = match future {
        Err(Fail::Errno(Errno::MFILE)) => return Ok(Err(ErrorCode::ConnectionLimitReached)),
        future => future?,
    };
    hold_back(host.system, move || body.release());
    Ok(Ok(future))
}

/// A response, returned once after its arrival.
type Got = Option<std::result::Result<std::result::Result<Incoming, ErrorCode>, ()>>;

fn get(host: &mut Host<'_>, (future,): (Resource<FutureResponse>,)) -> Outcome<Got> {
    release_held(host.system);
    let future = host.table().get_mut(&future)?;
    if !future.answer.is_there() {
        return Ok(None);
    }
    Ok(Some(match future.answer.take() {
        None => Err(()),
        Some(Err(code)) => Ok(Err(code)),
        Some(Ok(mut response)) => {
            if let Some(body) = &mut response.body {
                body.guard(future.guard.take());
            }
            Ok(Ok(host.table().push(response)?))
        }
    }))
}
