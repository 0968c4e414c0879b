//! `wasi:sockets/udp` and `udp-create-socket`.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use rustix::net::sockopt;
use rustix::net::{
    RecvFlags, SendFlags, SocketFlags, SocketType, bind, connect, connect_unspec, getsockname, ipproto,
    recvfrom, send, sendto, socket_with,
};

use super::address::{Family, IpSocketAddress, of_any};
use super::errors::{ErrorCode, NetworkFail, Networked};
use super::{Network, options};
use crate::Result;
use crate::component::{Linker, Resource};
use crate::wasi::budget::Charge;
use crate::wasi::fail::Fail;
use crate::wasi::host_file::HostFile;
use crate::wasi::network::SocketAddrUse;
use crate::wasi::wait::ready;
use crate::wasi2::host::{Host, trap};
use crate::wasi2::interface::{Context, Interface, drop_it};
use crate::wasi2::poll::{Pollable, Wish};

/// Maximum number of datagrams that one call sends or returns.
const MOST_DATAGRAMS: usize = 16;
/// Maximum size of a datagram.
const LONGEST: usize = 64 << 10;
/// Maximum datagrams that one call discards before it returns to the program.
const MOST_REFUSED: u32 = 1000;

crate::component_types! {
    #[derive(Debug)]
    pub struct IncomingDatagram {
        data: Vec<u8>,
        remote_address: IpSocketAddress,
    }

    #[derive(Debug)]
    pub struct OutgoingDatagram {
        data: Vec<u8>,
        remote_address: Option<IpSocketAddress>,
    }
}

/// `udp-socket`
pub struct UdpSocket {
    file: Arc<HostFile>,
    family: Family,
    state: State,
    /// The only peer, if connected.
    remote: Option<SocketAddr>,
    /// Shared with its streams as long as they exist.
    streams: Arc<()>,
    _open: Charge,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    New,
    Binding,
    Bound,
}

/// `incoming-datagram-stream`
pub struct Incoming {
    file: Arc<HostFile>,
    remote: Option<SocketAddr>,
    _of: Arc<()>,
}

/// `outgoing-datagram-stream`
pub struct Outgoing {
    file: Arc<HostFile>,
    family: Family,
    remote: Option<SocketAddr>,
    permit: usize,
    _of: Arc<()>,
}

impl Incoming {
    pub fn wish(&self) -> Wish {
        Wish::File(self.file.clone(), PollFlags::IN)
    }
}

impl Outgoing {
    pub fn wish(&self) -> Wish {
        Wish::File(self.file.clone(), PollFlags::OUT)
    }
}

type Udp = Resource<UdpSocket>;

pub fn define<T: 'static>(linker: &mut Linker<T>, context: impl Context<T>) -> Result<()> {
    let mut create = Interface::new(linker, "wasi:sockets/udp-create-socket", context)?;
    create.networked("create-udp-socket", create_udp_socket)?;
    let mut udp = Interface::new(linker, "wasi:sockets/udp", context)?;
    udp.resource::<UdpSocket>("udp-socket", drop_it)?;
    udp.networked("[method]udp-socket.start-bind", start_bind)?;
    udp.networked("[method]udp-socket.finish-bind", finish_bind)?;
    udp.networked("[method]udp-socket.stream", stream)?;
    udp.networked("[method]udp-socket.local-address", local_address)?;
    udp.networked("[method]udp-socket.remote-address", |host, (socket,): (Udp,)| {
        let remote = host.table().get(&socket)?.remote;
        Ok(IpSocketAddress::from(remote.ok_or(ErrorCode::InvalidState)?))
    })?;
    udp.func("[method]udp-socket.address-family", |host, (socket,): (Udp,)| {
        Ok(host.table().get(&socket)?.family)
    })?;
    udp.func("[method]udp-socket.subscribe", |host, (socket,): (Udp,)| {
        // No operation of a UDP socket requires waiting.
        Ok(host.table().push_child(Pollable::At(0), &socket)?)
    })?;
    define_options(&mut udp)?;
    udp.resource::<Incoming>("incoming-datagram-stream", drop_it)?;
    udp.networked("[method]incoming-datagram-stream.receive", receive)?;
    udp.func("[method]incoming-datagram-stream.subscribe", |host, (stream,): (Resource<Incoming>,)| {
        Ok(host.table().push_child(Pollable::Incoming(stream.rep()), &stream)?)
    })?;
    udp.resource::<Outgoing>("outgoing-datagram-stream", drop_it)?;
    udp.networked("[method]outgoing-datagram-stream.check-send", check_send)?;
    udp.networked("[method]outgoing-datagram-stream.send", send_all)?;
    udp.func("[method]outgoing-datagram-stream.subscribe", |host, (stream,): (Resource<Outgoing>,)| {
        Ok(host.table().push_child(Pollable::Outgoing(stream.rep()), &stream)?)
    })
}

fn define_options<T: 'static, C: Context<T>>(udp: &mut Interface<'_, T, C>) -> Result<()> {
    udp.networked("[method]udp-socket.unicast-hop-limit", |host, (socket,): (Udp,)| {
        let socket = host.table().get(&socket)?;
        options::hop_limit(&socket.file, socket.family)
    })?;
    udp.networked("[method]udp-socket.set-unicast-hop-limit", |host, (socket, value): (Udp, u8)| {
        let socket = host.table().get(&socket)?;
        options::set_hop_limit(&socket.file, socket.family, value)
    })?;
    udp.networked("[method]udp-socket.receive-buffer-size", |host, (socket,): (Udp,)| {
        options::receive_buffer(&host.table().get(&socket)?.file)
    })?;
    udp.networked("[method]udp-socket.set-receive-buffer-size", |host, (socket, value): (Udp, u64)| {
        options::set_receive_buffer(&host.table().get(&socket)?.file, value)
    })?;
    udp.networked("[method]udp-socket.send-buffer-size", |host, (socket,): (Udp,)| {
        options::send_buffer(&host.table().get(&socket)?.file)
    })?;
    udp.networked("[method]udp-socket.set-send-buffer-size", |host, (socket, value): (Udp, u64)| {
        options::set_send_buffer(&host.table().get(&socket)?.file, value)
    })
}

fn create_udp_socket(host: &mut Host<'_>, (family,): (Family,)) -> Networked<Udp> {
    if !host.system.network.has_udp() {
        return Err(ErrorCode::AccessDenied.into());
    }
    Ok(host.push_open(|open| {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let fd = socket_with(family.of_system(), SocketType::DGRAM, flags, Some(ipproto::UDP))?;
        if family == Family::Ipv6 {
            sockopt::set_ipv6_v6only(&fd, true)?;
        }
        let file = Arc::new(HostFile::connection(fd));
        Ok(UdpSocket { file, family, state: State::New, remote: None, streams: Arc::new(()), _open: open })
    })?)
}

fn start_bind(
    host: &mut Host<'_>,
    (socket, network, address): (Udp, Resource<Network>, IpSocketAddress),
) -> Networked {
    let address = SocketAddr::from(address);
    host.table().get(&network)?;
    let found = host.table().get(&socket)?;
    match found.state {
        State::New => found.family.check_local(address)?,
        State::Binding => return Err(ErrorCode::ConcurrencyConflict.into()),
        State::Bound => return Err(ErrorCode::InvalidState.into()),
    }
    host.system.network.check(address, SocketAddrUse::UdpBind)?;
    let found = host.table().get_mut(&socket)?;
    bind(&*found.file, &address)?;
    found.state = State::Binding;
    Ok(())
}

fn finish_bind(host: &mut Host<'_>, (socket,): (Udp,)) -> Networked {
    let found = host.table().get_mut(&socket)?;
    if found.state != State::Binding {
        return Err(ErrorCode::NotInProgress.into());
    }
    found.state = State::Bound;
    Ok(())
}

fn stream(
    host: &mut Host<'_>,
    (socket, remote): (Udp, Option<IpSocketAddress>),
) -> Networked<(Resource<Incoming>, Resource<Outgoing>)> {
    let remote = remote.map(SocketAddr::from);
    let found = host.table().get(&socket)?;
    if Arc::strong_count(&found.streams) > 1 {
        let fail = trap("the streams that a UDP socket had before must be dropped first");
        return Err(NetworkFail::End(Fail::End(fail)));
    }
    if found.state != State::Bound {
        return Err(ErrorCode::InvalidState.into());
    }
    if let Some(remote) = remote {
        found.family.check_remote(remote)?;
        host.system.network.check(remote, SocketAddrUse::UdpSend)?;
    }
    let found = host.table().get_mut(&socket)?;
    match remote {
        Some(remote) => connect(&*found.file, &remote)?,
        None if found.remote.is_some() => connect_unspec(&*found.file)?,
        None => {}
    }
    found.remote = remote;
    let (file, family, of) = (found.file.clone(), found.family, found.streams.clone());
    let incoming = Incoming { file: file.clone(), remote, _of: of.clone() };
    let outgoing = Outgoing { file, family, remote, permit: 0, _of: of };
    Ok((host.table().push_child(incoming, &socket)?, host.table().push_child(outgoing, &socket)?))
}

fn local_address(host: &mut Host<'_>, (socket,): (Udp,)) -> Networked<IpSocketAddress> {
    let found = host.table().get(&socket)?;
    if found.state == State::New {
        return Err(ErrorCode::InvalidState.into());
    }
    let address = of_any(Some(getsockname(&*found.file)?)).ok_or(ErrorCode::Unknown)?;
    Ok(address.into())
}

fn receive(
    host: &mut Host<'_>,
    (stream, most): (Resource<Incoming>, u64),
) -> Networked<Vec<IncomingDatagram>> {
    let stream = host.table().get(&stream)?;
    let (file, remote) = (stream.file.clone(), stream.remote);
    let most = most.min(MOST_DATAGRAMS as u64) as usize;
    let (mut all, mut bytes) = (Vec::new(), vec![0; LONGEST]);
    for _ in 0..MOST_REFUSED {
        if all.len() == most {
            break;
        }
        match recvfrom(&*file, &mut bytes[..], RecvFlags::DONTWAIT) {
            Ok((len, _, from)) => {
                let Some(from) = of_any(from) else { continue };
                // Datagrams that arrived before the socket was connected may come from any peer.
                let is_wanted = remote.is_none_or(|remote| remote == from);
                if is_wanted && host.system.network.check(from, SocketAddrUse::UdpReceive).is_ok() {
                    all.push(IncomingDatagram { data: bytes[..len].to_vec(), remote_address: from.into() });
                }
            }
            Err(Errno::AGAIN) => break,
            Err(Errno::INTR) => host.guest.check()?,
            Err(_) if !all.is_empty() => break,
            Err(errno) => return Err(errno.into()),
        }
    }
    Ok(all)
}

fn check_send(host: &mut Host<'_>, (stream,): (Resource<Outgoing>,)) -> Networked<u64> {
    let stream = host.table().get_mut(&stream)?;
    let count = ready(&mut [PollFd::new(&*stream.file, PollFlags::OUT)], Duration::ZERO);
    stream.permit = if matches!(count, Ok(0) | Err(_)) { 0 } else { MOST_DATAGRAMS };
    Ok(stream.permit as u64)
}

fn send_all(
    host: &mut Host<'_>,
    (stream, datagrams): (Resource<Outgoing>, Vec<OutgoingDatagram>),
) -> Networked<u64> {
    let found = host.table().get_mut(&stream)?;
    if datagrams.is_empty() {
        return Ok(0);
    }
    let permit = std::mem::take(&mut found.permit);
    if datagrams.len() > permit {
        let why = format!("{} datagrams are sent, where `check-send` has allowed {permit}", datagrams.len());
        return Err(NetworkFail::End(Fail::End(trap(why))));
    }
    let mut count = 0;
    for datagram in &datagrams {
        match send_one(host, &stream, datagram) {
            Ok(()) => count += 1,
            Err(NetworkFail::Code(_)) if count > 0 => break,
            Err(NetworkFail::Code(ErrorCode::WouldBlock)) => break,
            Err(fail) => return Err(fail),
        }
    }
    Ok(count)
}

fn send_one(host: &mut Host<'_>, stream: &Resource<Outgoing>, datagram: &OutgoingDatagram) -> Networked {
    let stream = host.table().get(stream)?;
    let (file, family, remote) = (stream.file.clone(), stream.family, stream.remote);
    let to = match (remote, datagram.remote_address.map(SocketAddr::from)) {
        (Some(remote), None) => remote,
        (Some(remote), Some(to)) if remote == to => remote,
        (None, Some(to)) => to,
        _ => return Err(ErrorCode::InvalidArgument.into()),
    };
    family.check_remote(to)?;
    host.system.network.check(to, SocketAddrUse::UdpSend)?;
    let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
    match remote {
        Some(_) => send(&*file, &datagram.data, flags)?,
        None => sendto(&*file, &datagram.data, flags, &to)?,
    };
    Ok(())
}
