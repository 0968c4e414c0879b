//! Bodies as programs see them: `incoming-body`, `future-trailers` and `outgoing-body`.

use std::sync::Arc;

use super::cancel::Guard;
use super::fields::{Fields, Trailers};
use super::incoming_way::{Arriving, Ending};
use super::message::Headers;
use super::outbox::Outbox;
use super::values::ErrorCode;
use crate::Result;
use crate::component::Resource;
use crate::wasi::budget::{Budget, Charge};
use crate::wasi::fail::Outcome;
use crate::wasi2::answer::Answer;
use crate::wasi2::host::Host;
use crate::wasi2::input::InputStream;
use crate::wasi2::interface::{Context, Interface, drop_it};
use crate::wasi2::output::OutputStream;
use crate::wasi2::poll::{Pollable, Wish};

/// `incoming-body`
pub struct IncomingBody {
    /// The stream, until the program takes it.
    stream: Option<InputStream>,
    trailers: FutureTrailers,
    /// The body's part of the budget, as long as it or its stream exists.
    _charge: Option<Charge>,
}

impl IncomingBody {
    /// Creates a body that has arrived, with its part of the budget.
    pub fn new(bytes: Vec<u8>, trailers: Trailers, charge: Charge) -> IncomingBody {
        let (stream, trailers) = (InputStream::of_bytes(bytes), FutureTrailers::Known(Some(trailers)));
        IncomingBody { stream: Some(stream), trailers, _charge: Some(charge) }
    }

    /// Creates a body that is still arriving, with the open files that it is.
    pub fn arriving(Arriving { file, ending }: Arriving, leases: Leases) -> IncomingBody {
        let stream = InputStream::of_body(file, ending.clone(), leases.way);
        let trailers = FutureTrailers::Coming { ending, guard: None, _lease: leases.ending };
        IncomingBody { stream: Some(stream), trailers, _charge: None }
    }

    /// Has the request end with a body that is still arriving.
    pub fn guard(&mut self, of_request: Option<Guard>) {
        if let FutureTrailers::Coming { guard, .. } = &mut self.trailers {
            *guard = of_request;
        }
    }
}

/// The open files of a body that is still arriving, as long as they are open.
pub struct Leases {
    way: Charge,
    ending: Charge,
}

impl Leases {
    /// Counts the files; `None` if that would be too many.
    pub fn taken_from(open_files: &Budget) -> Option<Leases> {
        Some(Leases { way: open_files.take(1)?, ending: open_files.take(1)? })
    }
}

/// `future-trailers`
pub enum FutureTrailers {
    /// They are there, until the program takes them.
    Known(Option<Trailers>),
    Coming {
        ending: Arc<Answer<Ending>>,
        /// Ends the request, if it is a response that is arriving.
        guard: Option<Guard>,
        _lease: Charge,
    },
}

impl FutureTrailers {
    pub fn wish(&self) -> Wish {
        match self {
            FutureTrailers::Known(_) => Wish::Ready,
            FutureTrailers::Coming { ending, .. } => ending.wish(),
        }
    }
}

/// `outgoing-body`
pub struct OutgoingBody {
    outbox: Outbox,
    is_taken: bool,
}

impl OutgoingBody {
    /// Opens a body, which is possible once, with its part of the budget of bodies and the budget of open files.
    pub fn open(outbox: &Outbox, headers: &Headers, budgets: (Charge, Budget)) -> Option<OutgoingBody> {
        let is_first = outbox.open(length_of(headers), budgets);
        is_first.then(|| OutgoingBody { outbox: outbox.clone(), is_taken: false })
    }
}

impl Drop for OutgoingBody {
    fn drop(&mut self) {
        self.outbox.abandon();
    }
}

pub fn define<T: 'static, C: Context<T>>(types: &mut Interface<'_, T, C>) -> Result<()> {
    types.resource::<IncomingBody>("incoming-body", drop_it)?;
    types.func("[method]incoming-body.stream", |host, (body,): (Resource<IncomingBody>,)| {
        match host.table().get_mut(&body)?.stream.take() {
            Some(stream) => Ok(Ok(host.table().push_child(stream, &body)?)),
            None => Ok(Err(())),
        }
    })?;
    types.func("[static]incoming-body.finish", |host, (body,): (Resource<IncomingBody>,)| {
        let body = host.table().delete(body)?;
        Ok(host.table().push(body.trailers)?)
    })?;
    types.resource::<FutureTrailers>("future-trailers", drop_it)?;
    types.func("[method]future-trailers.subscribe", |host, (future,): (Resource<FutureTrailers>,)| {
        Ok(host.table().push_child(Pollable::Trailers(future.rep()), &future)?)
    })?;
    types.func("[method]future-trailers.get", trailers)?;
    types.resource::<OutgoingBody>("outgoing-body", drop_it)?;
    types.func("[method]outgoing-body.write", |host, (body,): (Resource<OutgoingBody>,)| {
        let found = host.table().get_mut(&body)?;
        if std::mem::replace(&mut found.is_taken, true) {
            return Ok(Err(()));
        }
        let stream = OutputStream::of_body(found.outbox.clone());
        Ok(Ok(host.table().push_child(stream, &body)?))
    })?;
    types.func("[static]outgoing-body.finish", finish)
}

/// The trailers of a body, returned once.
type Got = Option<std::result::Result<std::result::Result<Option<Resource<Fields>>, ErrorCode>, ()>>;

fn trailers(host: &mut Host<'_>, (future,): (Resource<FutureTrailers>,)) -> Outcome<Got> {
    let ending = match host.table().get_mut(&future)? {
        FutureTrailers::Known(list) => list.take().map(Ok),
        FutureTrailers::Coming { ending, .. } if !ending.is_there() => return Ok(None),
        FutureTrailers::Coming { ending, .. } => ending.take(),
    };
    Ok(Some(match ending {
        None => Err(()),
        Some(Err(code)) => Ok(Err(code)),
        Some(Ok(trailers)) if trailers.list.is_empty() => Ok(Ok(None)),
        Some(Ok(trailers)) => {
            let fields = trailers.into_fields(&host.system.heads)?;
            Ok(Ok(Some(host.table().push(fields)?)))
        }
    }))
}

fn finish(
    host: &mut Host<'_>,
    (body, trailers): (Resource<OutgoingBody>, Option<Resource<Fields>>),
) -> Outcome<std::result::Result<(), ErrorCode>> {
    let body = host.table().delete(body)?;
    let trailers = trailers.map(|trailers| host.table().delete(trailers)).transpose()?;
    let finished = body.outbox.finish(trailers.map(Trailers::from).unwrap_or_default());
    Ok(finished.map_err(|written| ErrorCode::HttpRequestBodySize(Some(written))))
}

/// Returns the length that the fields state.
fn length_of(headers: &Headers) -> Option<u64> {
    let value = &headers.iter().find(|(name, _)| name == "content-length")?.1;
    std::str::from_utf8(value).ok()?.parse().ok()
}
