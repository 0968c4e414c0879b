//! A program's inputs: `incoming-request`, and `response-outparam` for its answer.

use std::sync::{Arc, Mutex, PoisonError};

use super::body::{IncomingBody, Leases, OutgoingBody};
use super::fields::{Fields, Trailers, cost, shown};
use super::incoming_way::Arriving;
use super::message::{Headers, Request, Response};
use super::outbox::{Leaving, Outbox};
use super::values::{ErrorCode, Method, Scheme};
use crate::component::Resource;
use crate::wasi::budget::Charge;
use crate::wasi::fail::{Fail, Outcome};
use crate::wasi::system::System;
use crate::wasi2::host::{Host, hold_back, trap};
use crate::wasi2::interface::{Context, Interface, drop_it};
use crate::{Error, ErrorKind, Result};

/// `incoming-request`
pub struct IncomingRequest {
    request: Request,
    body: Option<IncomingBody>,
    /// The part of the budget of heads.
    _charge: Charge,
}

impl IncomingRequest {
    /// Creates a request whose body is there, or is still arriving, and charges it to the program, which may keep it.
    ///
    /// # Errors
    /// Returns an error if the program keeps too much.
    pub fn new(system: &System, mut request: Request, body: Option<Arriving>) -> Result<IncomingRequest> {
        let limit = |why: &str| Error::new(ErrorKind::Limit, format_args!("the component keeps too {why}"));
        let heads = || limit("much of other requests and responses");
        let len = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        let texts = request.method.len() + len(&request.scheme) + len(&request.authority);
        let bytes = texts + len(&request.path_with_query) + cost(&request.headers);
        let charge = system.heads.take(bytes).ok_or_else(heads)?;
        let (bytes, list) = (std::mem::take(&mut request.body), std::mem::take(&mut request.trailers));
        let body = match body {
            Some(arriving) => {
                let leases = Leases::taken_from(system.descriptors.open_files());
                IncomingBody::arriving(arriving, leases.ok_or_else(|| limit("many files open"))?)
            }
            None => {
                let of_bytes = system.bodies.take(bytes.len());
                let of_bytes = of_bytes.ok_or_else(|| limit("much of bodies, or this one is too long"))?;
                let trailers = Trailers::arrived(&system.heads, list).ok_or_else(heads)?;
                IncomingBody::new(bytes, trailers, of_bytes)
            }
        };
        Ok(IncomingRequest { request, body: Some(body), _charge: charge })
    }
}

/// A program's answer, if any.
pub type Answered = Arc<Mutex<Option<std::result::Result<OutgoingResponse, ErrorCode>>>>;

/// `response-outparam`
pub struct Outparam {
    pub answered: Answered,
    /// Whether the response is passed on as the program writes it.
    pub respond: Option<Respond>,
}

/// Takes a response whose body the program may still be writing.
pub type Respond = Box<dyn FnOnce(StreamedResponse) + Send>;

/// A response whose body the program may still be writing.
#[derive(Debug)]
pub struct StreamedResponse {
    /// The status code, such as 200.
    pub status: u16,
    /// Its fields.
    pub headers: Headers,
    pub(super) body: Leaving,
}

/// `outgoing-response`
pub struct OutgoingResponse {
    status: u16,
    headers: Headers,
    body: Outbox,
    /// The part of the budget of heads.
    _charge: Charge,
}

impl OutgoingResponse {
    /// Returns the body.
    pub fn body(&self) -> &Outbox {
        &self.body
    }

    /// Returns the whole response, if the program has finished the body.
    pub fn whole(self) -> Option<Response> {
        let (body, trailers) = self.body.delivered()?;
        Some(Response { status: self.status, headers: self.headers, body, trailers })
    }
}

type Incoming = Resource<IncomingRequest>;
type Outgoing = Resource<OutgoingResponse>;

pub fn define<T: 'static, C: Context<T>>(types: &mut Interface<'_, T, C>) -> Result<()> {
    types.resource::<IncomingRequest>("incoming-request", drop_it)?;
    types.func("[method]incoming-request.method", |host, (request,): (Incoming,)| {
        Ok(Method::named(&host.table().get(&request)?.request.method))
    })?;
    types.func("[method]incoming-request.path-with-query", |host, (request,): (Incoming,)| {
        Ok(host.table().get(&request)?.request.path_with_query.clone())
    })?;
    types.func("[method]incoming-request.scheme", |host, (request,): (Incoming,)| {
        Ok(host.table().get(&request)?.request.scheme.as_deref().map(Scheme::named))
    })?;
    types.func("[method]incoming-request.authority", |host, (request,): (Incoming,)| {
        Ok(host.table().get(&request)?.request.authority.clone())
    })?;
    types.func("[method]incoming-request.headers", |host, (request,): (Incoming,)| {
        let list = host.table().get(&request)?.request.headers.clone();
        shown(host, &request, list)
    })?;
    types.func("[method]incoming-request.consume", |host, (request,): (Incoming,)| {
        match host.table().get_mut(&request)?.body.take() {
            Some(body) => Ok(Ok(host.table().push_child(body, &request)?)),
            None => Ok(Err(())),
        }
    })?;
    types.resource::<Outparam>("response-outparam", drop_it)?;
    types.action("[static]response-outparam.set", set)?;
    types.resource::<OutgoingResponse>("outgoing-response", drop_it)?;
    types.func("[constructor]outgoing-response", |host, (fields,): (Resource<Fields>,)| {
        let Fields { list: headers, charge, .. } = host.table().delete(fields)?;
        let body = Outbox::default();
        Ok(host.table().push(OutgoingResponse { status: 200, headers, body, _charge: charge })?)
    })?;
    types.func("[method]outgoing-response.status-code", |host, (response,): (Outgoing,)| {
        Ok(host.table().get(&response)?.status)
    })?;
    types.func(
        "[method]outgoing-response.set-status-code",
        |host, (response, status): (Outgoing, u16)| {
            // A response with a lower status would announce another one.
            let is_valid = (200..1000).contains(&status);
            if is_valid {
                host.table().get_mut(&response)?.status = status;
            }
            Ok(is_valid.then_some(()).ok_or(()))
        },
    )?;
    types.func("[method]outgoing-response.headers", |host, (response,): (Outgoing,)| {
        let list = host.table().get(&response)?.headers.clone();
        shown(host, &response, list)
    })?;
    types.func("[method]outgoing-response.body", |host, (response,): (Outgoing,)| {
        let budgets = host.budgets_of_body();
        let found = host.table().get(&response)?;
        match OutgoingBody::open(&found.body, &found.headers, budgets) {
            Some(body) => Ok(Ok(host.table().push(body)?)),
            None => Ok(Err(())),
        }
    })
}

fn set(
    host: &mut Host<'_>,
    (param, response): (Resource<Outparam>, std::result::Result<Outgoing, ErrorCode>),
) -> Outcome {
    let Outparam { answered, respond } = host.table().delete(param)?;
    let response = match response {
        Ok(response) => Ok(host.table().delete(response)?),
        Err(code) => Err(code),
    };
    if let (Some(respond), Ok(response)) = (respond, &response) {
        let (status, headers, body) = (response.status, response.headers.clone(), response.body.clone());
        body.ask(move |body| {
            if let Ok(body) = body {
                respond(StreamedResponse { status, headers, body });
            }
        });
        hold_back(host.system, move || body.release());
    }
    let before = answered.lock().unwrap_or_else(PoisonError::into_inner).replace(response);
    // The first answer has already been passed on.
    if before.is_some() { Err(Fail::End(trap("a request is answered twice"))) } else { Ok(()) }
}
