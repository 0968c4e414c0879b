//! `wasi:sockets/ip-name-lookup`.
//!
//! Look-ups take an unbounded time. A thread therefore asks the system, and signals the result by a descriptor.

use std::net::{IpAddr, ToSocketAddrs};
use std::thread;

use super::Network;
use super::address::IpAddress;
use super::errors::{ErrorCode, Networked};
use crate::Result;
use crate::component::{Linker, Resource};
use crate::wasi::budget::{Budget, Charge, Places};
use crate::wasi::fail::Outcome;
use crate::wasi2::answer::{Answer, answer};
use crate::wasi2::host::Host;
use crate::wasi2::interface::{Context, Interface, drop_it};
use crate::wasi2::poll::{Pollable, Wish};

/// Maximum length of a name.
const LONGEST_NAME: usize = 253;

/// The places of the look-ups of all programs of this process.
static PLACES: Places = Places::new();

type Found = std::result::Result<std::vec::IntoIter<IpAddr>, ErrorCode>;

/// `resolve-address-stream`
pub enum Addresses {
    /// The name was an address.
    Known(Option<IpAddr>),
    Asked {
        answer: Answer<Found>,
        _open: Charge,
    },
}

impl Addresses {
    pub fn wish(&self) -> Wish {
        match self {
            Addresses::Known(_) => Wish::Ready,
            Addresses::Asked { answer, .. } => answer.wish(),
        }
    }
}

pub fn define<T: 'static>(linker: &mut Linker<T>, context: impl Context<T>) -> Result<()> {
    let mut lookup = Interface::new(linker, "wasi:sockets/ip-name-lookup", context)?;
    lookup.resource::<Addresses>("resolve-address-stream", drop_it)?;
    lookup.networked("resolve-addresses", resolve_addresses)?;
    lookup.networked("[method]resolve-address-stream.resolve-next-address", next_address)?;
    lookup.func("[method]resolve-address-stream.subscribe", |host, (stream,): (Resource<Addresses>,)| {
        Ok(host.table().push_child(Pollable::Addresses(stream.rep()), &stream)?)
    })
}

fn resolve_addresses(
    host: &mut Host<'_>,
    (network, name): (Resource<Network>, String),
) -> Networked<Resource<Addresses>> {
    host.table().get(&network)?;
    if !host.system.network.has_lookup() {
        return Err(ErrorCode::AccessDenied.into());
    }
    let literal = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(&name);
    if let Ok(address) = literal.parse::<IpAddr>() {
        return Ok(host.table().push(Addresses::Known(Some(address)))?);
    }
    if !is_name(&name) {
        return Err(ErrorCode::InvalidArgument.into());
    }
    let places = host.system.lookups.clone();
    Ok(host.push_open(|open| Ok(Addresses::Asked { answer: ask(name, &places)?, _open: open }))?)
}

/// Reports whether a text may be a name: other texts are not passed to the system.
fn is_name(name: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    !name.is_empty() && name.len() <= LONGEST_NAME && name.bytes().all(is_part)
}

/// Starts a thread that asks the system.
fn ask(name: String, places: &Budget) -> Outcome<Answer<Found>> {
    let (addresses, teller) = answer::<Found>()?;
    let Some(place) = PLACES.take(places) else {
        teller.tell(Err(ErrorCode::TemporaryResolverFailure));
        return Ok(addresses);
    };
    let look_up = move || {
        let found = (name.as_str(), 0).to_socket_addrs();
        let found = found.map(|all| all.map(|address| address.ip().to_canonical()).collect::<Vec<_>>());
        teller.tell(found.map(Vec::into_iter).map_err(|_| ErrorCode::NameUnresolvable));
        drop(place);
    };
    thread::Builder::new().name("lookup".to_owned()).spawn(look_up)?;
    Ok(addresses)
}

fn next_address(host: &mut Host<'_>, (stream,): (Resource<Addresses>,)) -> Networked<Option<IpAddress>> {
    let next = match host.table().get_mut(&stream)? {
        Addresses::Known(address) => Ok(address.take()),
        Addresses::Asked { answer, .. } => {
            let next = |found: &mut Found| found.as_mut().map(Iterator::next).map_err(|code| *code);
            answer.with(next).unwrap_or(Err(ErrorCode::WouldBlock))
        }
    };
    Ok(next?.map(IpAddress::from))
}
