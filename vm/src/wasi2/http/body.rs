//! Bodies: `incoming-body`, `future-trailers` and `outgoing-body`.
//!
//! An incoming body is available as a whole. An outgoing body is collected, up to a limit, and sent when it is
//! finished. The program's budget limits the memory of all bodies.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::fields::Fields;
use super::message::Headers;
use super::values::ErrorCode;
use crate::Result;
use crate::component::Resource;
use crate::wasi::OutputPipe;
use crate::wasi::budget::Charge;
use crate::wasi::fail::Outcome;
use crate::wasi2::host::Host;
use crate::wasi2::input::InputStream;
use crate::wasi2::interface::{Context, Interface, drop_it};
use crate::wasi2::output::OutputStream;
use crate::wasi2::poll::Pollable;

/// Maximum bytes of an outgoing body.
const MOST_BYTES: usize = 64 << 20;

/// `incoming-body`
pub struct IncomingBody {
    bytes: Option<Vec<u8>>,
    trailers: Headers,
    /// The body's part of the budget, as long as it or its stream exists.
    _charge: Option<Charge>,
}

impl IncomingBody {
    pub fn new(bytes: Vec<u8>, trailers: Headers, charge: Option<Charge>) -> IncomingBody {
        IncomingBody { bytes: Some(bytes), trailers, _charge: charge }
    }
}

/// `future-trailers`
pub struct FutureTrailers(Option<Headers>);

/// The body that a program writes, and whether it is finished.
#[derive(Clone, Default)]
pub struct Outbox(Arc<Mutex<Out>>);

#[derive(Default)]
struct Out {
    state: State,
    pipe: OutputPipe,
    trailers: Headers,
    /// The callback that waits for it.
    then: Option<Box<dyn FnOnce(Delivered) + Send>>,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum State {
    /// Not requested: there is no body.
    #[default]
    None,
    Open,
    Finished,
    /// The program has dropped the body.
    Broken,
}

/// A body with its trailers, or `None` if the program did not finish it.
pub type Delivered = Option<(Vec<u8>, Headers)>;

impl Outbox {
    fn lock(&self) -> MutexGuard<'_, Out> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens the body, which is possible once.
    pub fn open(&self, length: Option<u64>, charge: Charge) -> Option<OutgoingBody> {
        let mut out = self.lock();
        if out.state != State::None {
            return None;
        }
        out.state = State::Open;
        out.pipe = OutputPipe::with_charge(MOST_BYTES, charge);
        Some(OutgoingBody { outbox: self.clone(), length, is_taken: false })
    }

    /// Returns the body once no more data comes.
    pub fn delivered(&self) -> Delivered {
        let mut out = self.lock();
        match out.state {
            State::None => Some(Default::default()),
            State::Finished => Some((out.pipe.take(), std::mem::take(&mut out.trailers))),
            State::Open | State::Broken => None,
        }
    }

    /// Passes the body to `then` when it is finished or dropped, at once if it already is.
    pub fn when_done(&self, then: impl FnOnce(Delivered) + Send + 'static) {
        let mut out = self.lock();
        if out.state == State::Open {
            out.then = Some(Box::new(then));
            return;
        }
        drop(out);
        then(self.delivered());
    }

    fn end(&self, state: State, trailers: Headers) {
        let mut out = self.lock();
        (out.state, out.trailers) = (state, trailers);
        let then = out.then.take();
        drop(out);
        if let Some(then) = then {
            then(self.delivered());
        }
    }
}

/// `outgoing-body`
pub struct OutgoingBody {
    outbox: Outbox,
    /// The length stated by its message.
    length: Option<u64>,
    is_taken: bool,
}

pub fn define<T: 'static, C: Context<T>>(types: &mut Interface<'_, T, C>) -> Result<()> {
    types.resource::<IncomingBody>("incoming-body", drop_it)?;
    types.func("[method]incoming-body.stream", |host, (body,): (Resource<IncomingBody>,)| {
        match host.table().get_mut(&body)?.bytes.take() {
            Some(bytes) => Ok(Ok(host.table().push_child(InputStream::of_bytes(bytes), &body)?)),
            None => Ok(Err(())),
        }
    })?;
    types.func("[static]incoming-body.finish", |host, (body,): (Resource<IncomingBody>,)| {
        let body = host.table().delete(body)?;
        Ok(host.table().push(FutureTrailers(Some(body.trailers)))?)
    })?;
    types.resource::<FutureTrailers>("future-trailers", drop_it)?;
    types.func("[method]future-trailers.subscribe", |host, (future,): (Resource<FutureTrailers>,)| {
        Ok(host.table().push_child(Pollable::At(0), &future)?)
    })?;
    types.func("[method]future-trailers.get", trailers)?;
    types.resource::<OutgoingBody>("outgoing-body", |host, body| {
        host.table().delete(body)?.outbox.end(State::Broken, Headers::new());
        Ok(())
    })?;
    types.func("[method]outgoing-body.write", |host, (body,): (Resource<OutgoingBody>,)| {
        let found = host.table().get_mut(&body)?;
        if std::mem::replace(&mut found.is_taken, true) {
            return Ok(Err(()));
        }
        let pipe = found.outbox.lock().pipe.clone();
        Ok(Ok(host.table().push_child(OutputStream::of_pipe(pipe), &body)?))
    })?;
    types.func("[static]outgoing-body.finish", finish)
}

/// The trailers of a body, returned once.
type Trailers = Option<std::result::Result<std::result::Result<Option<Resource<Fields>>, ErrorCode>, ()>>;

fn trailers(host: &mut Host<'_>, (future,): (Resource<FutureTrailers>,)) -> Outcome<Trailers> {
    let Some(list) = host.table().get_mut(&future)?.0.take() else { return Ok(Some(Err(()))) };
    let fields = match list.is_empty() {
        true => None,
        false => Some(host.table().push(Fields::fixed(list))?),
    };
    Ok(Some(Ok(Ok(fields))))
}

fn finish(
    host: &mut Host<'_>,
    (body, trailers): (Resource<OutgoingBody>, Option<Resource<Fields>>),
) -> Outcome<std::result::Result<(), ErrorCode>> {
    let body = host.table().delete(body)?;
    let trailers = trailers.map(|trailers| host.table().delete(trailers)).transpose()?;
    let written = body.outbox.lock().pipe.len() as u64;
    if body.length.is_some_and(|length| length != written) {
        body.outbox.end(State::Broken, Headers::new());
        return Ok(Err(ErrorCode::HttpRequestBodySize(Some(written))));
    }
    body.outbox.end(State::Finished, trailers.map(|fields| fields.list).unwrap_or_default());
    Ok(Ok(()))
}

/// Returns the length that the fields state.
pub fn length_of(headers: &Headers) -> Option<u64> {
    let value = &headers.iter().find(|(name, _)| name == "content-length")?.1;
    std::str::from_utf8(value).ok()?.parse().ok()
}
