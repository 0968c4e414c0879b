//! `wasi:io/poll`: waiting for several things at once.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags};

use super::host::{Host, release_held, trap};
use super::http;
use super::input::InputStream;
use super::interface::{Context, Interface, drop_it};
use super::output::OutputStream;
use super::sockets::Addresses;
use super::sockets::tcp::TcpSocket;
use super::sockets::udp::{Incoming, Outgoing};
use crate::Result;
use crate::component::{Linker, Resource};
use crate::wasi::clocks::{Clock, nanoseconds};
use crate::wasi::fail::{Fail, Outcome};
use crate::wasi::host_file::HostFile;
use crate::wasi::wait::wait_until;

/// The subject of a wait.
#[derive(Clone, Copy)]
pub enum Pollable {
    /// A stream that becomes readable, by its number.
    Input(u32),
    /// A stream that becomes writable, by its number.
    Output(u32),
    /// A TCP socket that connects or listens.
    Tcp(u32),
    /// Incoming datagrams.
    Incoming(u32),
    /// Room for outgoing datagrams.
    Outgoing(u32),
    /// Addresses under look-up.
    Addresses(u32),
    /// An HTTP response.
    Response(u32),
    /// The end of an HTTP body.
    Trailers(u32),
    /// A time of the monotonic clock, in nanoseconds.
    At(u64),
}

/// The current wait condition of a pollable.
pub enum Wish {
    Ready,
    File(Arc<HostFile>, PollFlags),
    At(u64),
}

pub fn define<T: 'static>(linker: &mut Linker<T>, context: impl Context<T>) -> Result<()> {
    let mut all = Interface::new(linker, "wasi:io/poll", context)?;
    all.resource::<Pollable>("pollable", drop_it)?;
    all.func("[method]pollable.ready", ready)?;
    all.action("[method]pollable.block", block)?;
    all.func("poll", poll)
}

fn ready(host: &mut Host<'_>, (pollable,): (Resource<Pollable>,)) -> Outcome<bool> {
    let mut states = states(host, &[pollable])?;
    wait(host, &mut states, true)?;
    Ok(states.into_values().all(|(_, is_ready)| is_ready))
}

fn block(host: &mut Host<'_>, (pollable,): (Resource<Pollable>,)) -> Outcome {
    let mut states = states(host, &[pollable])?;
    wait(host, &mut states, false)
}

fn poll(host: &mut Host<'_>, (list,): (Vec<Resource<Pollable>>,)) -> Outcome<Vec<u32>> {
    if list.is_empty() {
        return Err(Fail::End(trap("poll of an empty list would never end")));
    }
    let mut states = states(host, &list)?;
    wait(host, &mut states, false)?;
    let is_ready = |(_, pollable): &(u32, &Resource<Pollable>)| states[&pollable.rep()].1;
    Ok((0..).zip(&list).filter(is_ready).map(|(index, _)| index).collect())
}

/// The wait conditions of pollables by number, and whether they are ready. A list may contain one any number of times.
type States = BTreeMap<u32, (Wish, bool)>;

fn states(host: &mut Host<'_>, list: &[Resource<Pollable>]) -> Outcome<States> {
    let mut states = States::new();
    for pollable in list {
        if let Entry::Vacant(entry) = states.entry(pollable.rep()) {
            let of = *host.table().get(pollable)?;
            entry.insert((wish(host, of)?, false));
        }
    }
    Ok(states)
}

fn wish(host: &mut Host<'_>, pollable: Pollable) -> Outcome<Wish> {
    match pollable {
        Pollable::Response(rep) => return http::wish(host, rep),
        Pollable::Trailers(rep) => return http::wish_for_trailers(host, rep),
        _ => {}
    }
    let table = host.table();
    Ok(match pollable {
        Pollable::At(time) => Wish::At(time),
        Pollable::Response(_) | Pollable::Trailers(_) => Wish::Ready,
        Pollable::Input(rep) => table.get(&Resource::<InputStream>::new_borrow(rep))?.wish(),
        Pollable::Output(rep) => table.get(&Resource::<OutputStream>::new_borrow(rep))?.wish(),
        Pollable::Tcp(rep) => table.get(&Resource::<TcpSocket>::new_borrow(rep))?.wish(),
        Pollable::Incoming(rep) => table.get(&Resource::<Incoming>::new_borrow(rep))?.wish(),
        Pollable::Outgoing(rep) => table.get(&Resource::<Outgoing>::new_borrow(rep))?.wish(),
        Pollable::Addresses(rep) => table.get(&Resource::<Addresses>::new_borrow(rep))?.wish(),
    })
}

/// Waits until one of them is ready, or only polls; records the ready ones.
fn wait(host: &mut Host<'_>, states: &mut States, only_looks: bool) -> Outcome {
    release_held(host.system);
    let (guest, clocks) = (&host.guest, &*host.system.clocks);
    let now = || nanoseconds(clocks.now(Clock::Monotonic));
    let is_ready_at_once = only_looks || states.values().any(|(wish, _)| matches!(wish, Wish::Ready));
    let times =
        states.values().filter_map(|(wish, _)| if let Wish::At(time) = wish { Some(*time) } else { None });
    let first = times.min();
    let left = || match first {
        _ if is_ready_at_once => Some(Duration::ZERO),
        first => first.map(|first| Duration::from_nanos(first.saturating_sub(now()))),
    };
    let files = states.values_mut().filter_map(|(wish, is_ready)| match wish {
        Wish::File(file, events) => Some((PollFd::new(&**file, *events), is_ready)),
        _ => None,
    });
    let (mut fds, flags): (Vec<_>, Vec<_>) = files.unzip();
    wait_until(guest, clocks, &mut fds, left)?;
    fds.iter().zip(flags).for_each(|(fd, is_ready)| *is_ready = !fd.revents().is_empty());
    let now = now();
    for (wish, is_ready) in states.values_mut() {
        match wish {
            Wish::Ready => *is_ready = true,
            Wish::At(time) => *is_ready = now >= *time,
            Wish::File(..) => {}
        }
    }
    Ok(())
}
