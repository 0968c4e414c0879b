//! `wasi:sockets/tcp` and `tcp-create-socket`.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use rustix::net::sockopt;
use rustix::net::{
    RecvFlags, Shutdown, SocketFlags, SocketType, acceptfrom_with, bind, connect, getpeername, getsockname,
    ipproto, listen, recv, shutdown, socket_with,
};

use super::address::{Family, IpSocketAddress, of_any};
use super::errors::{ErrorCode, Networked};
use super::{Network, options};
use crate::Result;
use crate::component::{Linker, Resource};
use crate::wasi::budget::Charge;
use crate::wasi::fail::{Fail, Outcome};
use crate::wasi::host_file::HostFile;
use crate::wasi::network::SocketAddrUse;
use crate::wasi::wait::ready;
use crate::wasi2::host::{Host, table};
use crate::wasi2::input::InputStream;
use crate::wasi2::interface::{Context, Interface, drop_it};
use crate::wasi2::output::OutputStream;
use crate::wasi2::poll::{Pollable, Wish};

/// Default number of connections that wait to be accepted.
const BACKLOG: i32 = 128;
/// Maximum connections that one call refuses before it returns to the program.
const MOST_REFUSED: u32 = 100;

crate::component_types! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum ShutdownType {
        Receive,
        Send,
        Both,
    }
}

/// `tcp-socket`
pub struct TcpSocket {
    file: Arc<HostFile>,
    family: Family,
    state: State,
    backlog: i32,
    /// The numbers of its streams, which may be gone.
    streams: Option<(u32, u32)>,
    _open: Charge,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    New,
    Binding,
    Bound,
    /// The result that the system has already reported.
    Connecting(std::result::Result<(), Errno>),
    Connected,
    /// The system already listens, but the program does not know yet.
    Starting,
    Listening,
    Failed,
}

type Tcp = Resource<TcpSocket>;
type Streams = (Resource<InputStream>, Resource<OutputStream>);

impl TcpSocket {
    fn new(file: HostFile, family: Family, state: State, open: Charge) -> TcpSocket {
        TcpSocket { file: Arc::new(file), family, state, backlog: BACKLOG, streams: None, _open: open }
    }

    /// Returns the wait condition to finish the current operation, or to accept a connection.
    pub fn wish(&self) -> Wish {
        match self.state {
            State::Connecting(Ok(())) => Wish::File(self.file.clone(), PollFlags::OUT),
            State::Listening => Wish::File(self.file.clone(), PollFlags::IN),
            _ => Wish::Ready,
        }
    }

    fn is_busy(&self) -> bool {
        matches!(self.state, State::Binding | State::Connecting(_) | State::Starting)
    }

    /// Fails unless the socket is in one of these states.
    fn must_be(&self, allowed: &[State]) -> Networked {
        match allowed.contains(&self.state) {
            true => Ok(()),
            false if self.is_busy() => Err(ErrorCode::ConcurrencyConflict.into()),
            false => Err(ErrorCode::InvalidState.into()),
        }
    }

    /// Finishes an operation that was started.
    fn finish(&mut self, from: State, to: State) -> Networked {
        if self.state != from {
            return Err(ErrorCode::NotInProgress.into());
        }
        self.state = to;
        Ok(())
    }
}

pub fn define<T: 'static>(linker: &mut Linker<T>, context: impl Context<T>) -> Result<()> {
    let mut create = Interface::new(linker, "wasi:sockets/tcp-create-socket", context)?;
    create.networked("create-tcp-socket", create_tcp_socket)?;
    let mut tcp = Interface::new(linker, "wasi:sockets/tcp", context)?;
    tcp.resource::<TcpSocket>("tcp-socket", drop_it)?;
    tcp.networked("[method]tcp-socket.start-bind", start_bind)?;
    tcp.networked("[method]tcp-socket.finish-bind", |host, (socket,): (Tcp,)| {
        host.table().get_mut(&socket)?.finish(State::Binding, State::Bound)
    })?;
    tcp.networked("[method]tcp-socket.start-connect", start_connect)?;
    tcp.networked("[method]tcp-socket.finish-connect", finish_connect)?;
    tcp.networked("[method]tcp-socket.start-listen", start_listen)?;
    tcp.networked("[method]tcp-socket.finish-listen", |host, (socket,): (Tcp,)| {
        host.table().get_mut(&socket)?.finish(State::Starting, State::Listening)
    })?;
    tcp.networked("[method]tcp-socket.accept", accept)?;
    tcp.networked("[method]tcp-socket.local-address", local_address)?;
    tcp.networked("[method]tcp-socket.remote-address", remote_address)?;
    tcp.func("[method]tcp-socket.is-listening", |host, (socket,): (Tcp,)| {
        Ok(host.table().get(&socket)?.state == State::Listening)
    })?;
    tcp.func("[method]tcp-socket.address-family", |host, (socket,): (Tcp,)| {
        Ok(host.table().get(&socket)?.family)
    })?;
    tcp.networked("[method]tcp-socket.set-listen-backlog-size", set_backlog)?;
    tcp.func("[method]tcp-socket.subscribe", subscribe)?;
    tcp.networked("[method]tcp-socket.shutdown", shut_down)?;
    define_options(&mut tcp)
}

fn define_options<T: 'static, C: Context<T>>(tcp: &mut Interface<'_, T, C>) -> Result<()> {
    tcp.networked("[method]tcp-socket.keep-alive-enabled", |host, (socket,): (Tcp,)| {
        Ok(sockopt::socket_keepalive(&*file(host, &socket)?)?)
    })?;
    tcp.networked("[method]tcp-socket.set-keep-alive-enabled", |host, (socket, value): (Tcp, bool)| {
        Ok(sockopt::set_socket_keepalive(&*file(host, &socket)?, value)?)
    })?;
    tcp.networked("[method]tcp-socket.keep-alive-idle-time", |host, (socket,): (Tcp,)| {
        Ok(options::nanoseconds(sockopt::tcp_keepidle(&*file(host, &socket)?)?))
    })?;
    tcp.networked("[method]tcp-socket.set-keep-alive-idle-time", |host, (socket, value): (Tcp, u64)| {
        Ok(sockopt::set_tcp_keepidle(&*file(host, &socket)?, options::seconds(value)?)?)
    })?;
    tcp.networked("[method]tcp-socket.keep-alive-interval", |host, (socket,): (Tcp,)| {
        Ok(options::nanoseconds(sockopt::tcp_keepintvl(&*file(host, &socket)?)?))
    })?;
    tcp.networked("[method]tcp-socket.set-keep-alive-interval", |host, (socket, value): (Tcp, u64)| {
        Ok(sockopt::set_tcp_keepintvl(&*file(host, &socket)?, options::seconds(value)?)?)
    })?;
    tcp.networked("[method]tcp-socket.keep-alive-count", |host, (socket,): (Tcp,)| {
        Ok(sockopt::tcp_keepcnt(&*file(host, &socket)?)?)
    })?;
    tcp.networked("[method]tcp-socket.set-keep-alive-count", |host, (socket, value): (Tcp, u32)| {
        Ok(sockopt::set_tcp_keepcnt(&*file(host, &socket)?, options::probes(value)?)?)
    })?;
    tcp.networked("[method]tcp-socket.hop-limit", |host, (socket,): (Tcp,)| {
        let family = host.table().get(&socket)?.family;
        options::hop_limit(&*file(host, &socket)?, family)
    })?;
    tcp.networked("[method]tcp-socket.set-hop-limit", |host, (socket, value): (Tcp, u8)| {
        let family = host.table().get(&socket)?.family;
        options::set_hop_limit(&*file(host, &socket)?, family, value)
    })?;
    tcp.networked("[method]tcp-socket.receive-buffer-size", |host, (socket,): (Tcp,)| {
        options::receive_buffer(&*file(host, &socket)?)
    })?;
    tcp.networked("[method]tcp-socket.set-receive-buffer-size", |host, (socket, value): (Tcp, u64)| {
        options::set_receive_buffer(&*file(host, &socket)?, value)
    })?;
    tcp.networked("[method]tcp-socket.send-buffer-size", |host, (socket,): (Tcp,)| {
        options::send_buffer(&*file(host, &socket)?)
    })?;
    tcp.networked("[method]tcp-socket.set-send-buffer-size", |host, (socket, value): (Tcp, u64)| {
        options::set_send_buffer(&*file(host, &socket)?, value)
    })
}

/// Returns the system's socket, unless the socket has failed.
fn file(host: &mut Host<'_>, socket: &Tcp) -> Networked<Arc<HostFile>> {
    let socket = host.table().get(socket)?;
    match socket.state {
        State::Failed => Err(ErrorCode::InvalidState.into()),
        _ => Ok(socket.file.clone()),
    }
}

fn create_tcp_socket(host: &mut Host<'_>, (family,): (Family,)) -> Networked<Tcp> {
    if !host.system.network.has_tcp() {
        return Err(ErrorCode::AccessDenied.into());
    }
    Ok(host.push_open(|open| {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let fd = socket_with(family.of_system(), SocketType::STREAM, flags, Some(ipproto::TCP))?;
        if family == Family::Ipv6 {
            sockopt::set_ipv6_v6only(&fd, true)?;
        }
        Ok(TcpSocket::new(HostFile::connection(fd), family, State::New, open))
    })?)
}

fn start_bind(
    host: &mut Host<'_>,
    (socket, network, address): (Tcp, Resource<Network>, IpSocketAddress),
) -> Networked {
    let address = SocketAddr::from(address);
    host.table().get(&network)?;
    let found = host.table().get(&socket)?;
    found.must_be(&[State::New])?;
    found.family.check_local(address)?;
    host.system.network.check(address, SocketAddrUse::TcpBind)?;
    let found = host.table().get_mut(&socket)?;
    // A server can be restarted while the system still knows its old connections.
    sockopt::set_socket_reuseaddr(&*found.file, true)?;
    bind(&*found.file, &address)?;
    found.state = State::Binding;
    Ok(())
}

fn start_connect(
    host: &mut Host<'_>,
    (socket, network, address): (Tcp, Resource<Network>, IpSocketAddress),
) -> Networked {
    let address = SocketAddr::from(address);
    host.table().get(&network)?;
    let found = host.table().get(&socket)?;
    found.must_be(&[State::New, State::Bound])?;
    let (family, is_bound) = (found.family, found.state == State::Bound);
    family.check_remote(address)?;
    if !is_bound {
        host.system.network.check(family.unspecified(), SocketAddrUse::TcpBind)?;
    }
    host.system.network.check(address, SocketAddrUse::TcpConnect)?;
    let found = host.table().get_mut(&socket)?;
    found.state = State::Connecting(match connect(&*found.file, &address) {
        Err(Errno::INPROGRESS | Errno::INTR) => Ok(()),
        done => done,
    });
    Ok(())
}

fn finish_connect(host: &mut Host<'_>, (socket,): (Tcp,)) -> Networked<Streams> {
    let found = host.table().get_mut(&socket)?;
    let State::Connecting(said) = found.state else { return Err(ErrorCode::NotInProgress.into()) };
    let done =
        said.and_then(|()| match ready(&mut [PollFd::new(&*found.file, PollFlags::OUT)], Duration::ZERO) {
            Ok(0) | Err(Errno::INTR) => Err(Errno::AGAIN),
            Ok(_) => sockopt::socket_error(&*found.file)?,
            Err(errno) => Err(errno),
        });
    match done {
        Err(Errno::AGAIN) => Err(ErrorCode::WouldBlock.into()),
        Err(errno) => {
            found.state = State::Failed;
            Err(errno.into())
        }
        Ok(()) => {
            found.state = State::Connected;
            streams(host, &socket)
        }
    }
}

/// Creates the streams of a connection, as its children.
fn streams(host: &mut Host<'_>, socket: &Tcp) -> Networked<Streams> {
    let file = host.table().get(socket)?.file.clone();
    let input = host.table().push_child(InputStream::of_connection(file.clone()), socket)?;
    let output = host.table().push_child(OutputStream::of_connection(file), socket)?;
    host.table().get_mut(socket)?.streams = Some((input.rep(), output.rep()));
    Ok((input, output))
}

fn start_listen(host: &mut Host<'_>, (socket,): (Tcp,)) -> Networked {
    let found = host.table().get(&socket)?;
    found.must_be(&[State::Bound])?;
    let address = of_any(Some(getsockname(&*found.file)?)).ok_or(ErrorCode::Unknown)?;
    host.system.network.check(address, SocketAddrUse::TcpListen)?;
    let found = host.table().get_mut(&socket)?;
    listen(&*found.file, found.backlog)?;
    found.state = State::Starting;
    Ok(())
}

fn accept(
    host: &mut Host<'_>,
    (socket,): (Tcp,),
) -> Networked<(Tcp, Resource<InputStream>, Resource<OutputStream>)> {
    let found = host.table().get(&socket)?;
    found.must_be(&[State::Listening])?;
    let (file, family) = (found.file.clone(), found.family);
    let open = host.system.descriptors.charge()?;
    let connection = HostFile::connection(next_connection(host, &file)?);
    let accepted = host.table().push(TcpSocket::new(connection, family, State::Connected, open))?;
    let (input, output) = streams(host, &accepted)?;
    Ok((accepted, input, output))
}

/// Accepts the next connection from an address that the program may communicate with.
fn next_connection(host: &Host<'_>, file: &HostFile) -> Networked<std::os::fd::OwnedFd> {
    for _ in 0..MOST_REFUSED {
        match acceptfrom_with(file, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK) {
            Ok((fd, from)) => {
                let from = of_any(from).ok_or(ErrorCode::Unknown)?;
                if host.system.network.check(from, SocketAddrUse::TcpAccept).is_ok() {
                    return Ok(fd);
                }
            }
            Err(Errno::INTR) => host.guest.check()?,
            // The peer has already disconnected.
            Err(Errno::CONNABORTED | Errno::PROTO | Errno::NETDOWN | Errno::HOSTUNREACH) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    Err(ErrorCode::WouldBlock.into())
}

fn local_address(host: &mut Host<'_>, (socket,): (Tcp,)) -> Networked<IpSocketAddress> {
    let found = host.table().get(&socket)?;
    if matches!(found.state, State::New | State::Failed) {
        return Err(ErrorCode::InvalidState.into());
    }
    let address = of_any(Some(getsockname(&*found.file)?)).ok_or(ErrorCode::Unknown)?;
    Ok(address.into())
}

fn remote_address(host: &mut Host<'_>, (socket,): (Tcp,)) -> Networked<IpSocketAddress> {
    let found = host.table().get(&socket)?;
    if found.state != State::Connected {
        return Err(ErrorCode::InvalidState.into());
    }
    let address = of_any(getpeername(&*found.file)?).ok_or(ErrorCode::InvalidState)?;
    Ok(address.into())
}

fn set_backlog(host: &mut Host<'_>, (socket, value): (Tcp, u64)) -> Networked {
    options::not_zero(value)?;
    let found = host.table().get_mut(&socket)?;
    let value = i32::try_from(value).unwrap_or(i32::MAX);
    match found.state {
        State::Listening | State::Starting => listen(&*found.file, value)?,
        State::New | State::Binding | State::Bound => {}
        _ => return Err(ErrorCode::InvalidState.into()),
    }
    found.backlog = value;
    Ok(())
}

fn subscribe(host: &mut Host<'_>, (socket,): (Tcp,)) -> Outcome<Resource<Pollable>> {
    Ok(host.table().push_child(Pollable::Tcp(socket.rep()), &socket)?)
}

fn shut_down(host: &mut Host<'_>, (socket, how): (Tcp, ShutdownType)) -> Networked {
    let found = host.table().get(&socket)?;
    if found.state != State::Connected {
        return Err(ErrorCode::InvalidState.into());
    }
    let (file, streams) = (found.file.clone(), found.streams);
    let Some((input, output)) = streams else { return Err(ErrorCode::InvalidState.into()) };
    if how != ShutdownType::Send {
        // Other streams may have reused its number.
        if let Ok(stream) = host.table().get_mut(&Resource::<InputStream>::new_borrow(input))
            && stream.is_of(&file)
        {
            stream.close();
        }
        shut(&file, Shutdown::Read)?;
        discard(&file);
    }
    if how != ShutdownType::Receive {
        let Host { guest, system } = host;
        match table(system).get_mut(&Resource::<OutputStream>::new_borrow(output)) {
            Ok(stream) if stream.is_of(&file) => stream.close(guest)?,
            _ => shut(&file, Shutdown::Write)?,
        }
    }
    Ok(())
}

/// Ends one direction, unless the peer has ended both.
pub fn shut(file: &HostFile, how: Shutdown) -> std::result::Result<(), Fail> {
    match shutdown(file, how) {
        Err(Errno::NOTCONN) => Ok(()),
        done => Ok(done?),
    }
}

/// Discards received data, so that the peer is not notified of its loss.
fn discard(file: &HostFile) {
    const MOST: usize = 1 << 20;
    let (mut bytes, mut count) = ([0; 4096], 0);
    while count < MOST {
        match recv(file, &mut bytes, RecvFlags::DONTWAIT) {
            Ok((len, _)) if len > 0 => count += len,
            _ => return,
        }
    }
}
