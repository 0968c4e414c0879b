//! A connection to a server, plain or encrypted. One thread may write while another reads.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv6Addr, Shutdown, SocketAddr, TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags};
use rustix::io::{Errno, ioctl_fionbio};
use rustix::net::sockopt::socket_error;
use rustix::net::{AddressFamily, SocketFlags, SocketType, connect, socket_with};

use super::cancel::Cancel;
use super::tls::Tls;
use super::values::ErrorCode;
use crate::wasi::budget::Place;
use crate::wasi::network::MayReach;
use crate::wasi::wait::ready;

/// How often it is checked whether a request has ended, where nothing wakes it.
const SLICE: Duration = Duration::from_millis(100);

/// The server to reach, and who may end that.
pub struct Reach<'a> {
    pub authority: &'a str,
    pub is_https: bool,
    /// The check of the server's address, if there is one.
    pub may_reach: Option<&'a MayReach>,
    pub cancel: &'a Cancel,
    pub place: &'a Arc<Place>,
}

/// A connection; clones are the same one.
#[derive(Clone)]
pub struct Connection {
    socket: Arc<TcpStream>,
    tls: Option<Arc<Tls>>,
}

impl Connection {
    /// Connects to a host and a port, by default that of the scheme, and encrypts the connection if the scheme is HTTPS,
    /// all until a deadline.
    ///
    /// # Errors
    /// Returns an error code if nobody answers, if the server does not prove that it is the host, or if the request has
    /// ended.
    pub fn open(reach: &Reach<'_>, deadline: Instant) -> Result<Connection, ErrorCode> {
        let to = parts(reach.authority, if reach.is_https { 443 } else { 80 });
        let to = to.ok_or(ErrorCode::HttpRequestUriInvalid)?;
        let socket = Arc::new(reach.connect(to, deadline)?);
        reach.cancel.watch_server(&socket);
        let tls = reach.is_https.then(|| Tls::begin(to.0, &socket, deadline)).transpose()?;
        Ok(Connection { socket, tls: tls.map(Arc::new) })
    }

    /// Reads some bytes, at the latest at a deadline.
    ///
    /// # Errors
    /// Returns the system's error, and one of the kind [`ErrorKind::TimedOut`] after the deadline.
    pub fn read_until(&self, to: &mut [u8], deadline: Instant) -> io::Result<usize> {
        match self.tls.as_deref() {
            None => read_until(&self.socket, to, deadline),
            Some(tls) => tls.read(&self.socket, to, deadline),
        }
    }

    /// Limits how long each write waits.
    ///
    /// # Errors
    /// Returns the system's error.
    pub fn set_write_timeout(&self, time: Duration) -> io::Result<()> {
        self.socket.set_write_timeout(Some(time))
    }

    /// Ends the connection, also for other threads.
    pub fn end(&self) {
        // It may have ended already.
        let _ = self.socket.shutdown(Shutdown::Both);
    }
}

/// Reads some bytes of a socket, at the latest at a deadline.
///
/// # Errors
/// Returns the system's error, and one of the kind [`ErrorKind::TimedOut`] after the deadline.
pub fn read_until(mut socket: &TcpStream, to: &mut [u8], deadline: Instant) -> io::Result<usize> {
    let left = left(deadline).ok_or(ErrorKind::TimedOut)?;
    socket.set_read_timeout(Some(left))?;
    socket.read(to)
}

/// Returns the time until a deadline; `None` after it.
pub fn left(deadline: Instant) -> Option<Duration> {
    // The system accepts no zero.
    Some(deadline.saturating_duration_since(Instant::now())).filter(|left| *left >= Duration::from_micros(1))
}

impl Write for Connection {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.tls.as_deref() {
            None => (&*self.socket).write(bytes),
            Some(tls) => tls.write(&self.socket, bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Splits an authority into its host, without the brackets of an address, and its port; `None` unless each reader would
/// find the same ones. A host that is asked for is the host that the embedder has allowed.
pub fn parts(authority: &str, usual: u16) -> Option<(&str, u16)> {
    let (host, port) = match authority.strip_prefix('[') {
        Some(rest) => {
            let (host, behind) = rest.split_once(']')?;
            host.parse::<Ipv6Addr>().ok()?;
            let port = if behind.is_empty() { None } else { Some(behind.strip_prefix(':')?) };
            (host, port)
        }
        // In an address without brackets each colon belongs to the address.
        None if authority.parse::<Ipv6Addr>().is_ok() => (authority, None),
        None => match authority.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (authority, None),
        },
    };
    let is_address = host.contains(':');
    if host.is_empty() || !is_address && host.contains(['[', ']', '%']) {
        return None;
    }
    let number = |text: &str| text.parse::<u16>().ok().filter(|port| port.to_string() == text);
    Some((host, port.map_or(Some(usual), number)?))
}

impl Reach<'_> {
    /// Connects to one of the addresses to which a host's name leads.
    fn connect(&self, to: (&str, u16), deadline: Instant) -> Result<TcpStream, ErrorCode> {
        let addresses = self.addresses(to, deadline)?;
        let mut last = ErrorCode::DestinationNotFound;
        for (index, address) in addresses.iter().enumerate() {
            if self.may_reach.is_some_and(|may_reach| !may_reach(*address)) {
                last = ErrorCode::DestinationIpProhibited;
                continue;
            }
            // Each of the rest has its part of the time.
            let rest = u32::try_from(addresses.len() - index).unwrap_or(u32::MAX);
            let left = left(deadline).ok_or(ErrorCode::ConnectionTimeout)?;
            match self.connect_to(address, Instant::now() + left / rest) {
                Ok(stream) => return Ok(stream),
                Err(error) => last = of_connect(error),
            }
        }
        Err(last)
    }

    /// Returns the addresses to which a host's name leads.
    fn addresses(&self, (host, port): (&str, u16), deadline: Instant) -> Result<Vec<SocketAddr>, ErrorCode> {
        if let Ok(address) = host.parse::<IpAddr>() {
            return Ok(vec![SocketAddr::new(address, port)]);
        }
        // The system's look-up takes any time and cannot be ended: it keeps the place until it returns.
        let (to, found) = channel();
        let (host, place) = (host.to_owned(), self.place.clone());
        let look_up = move || {
            let found = (host.as_str(), port).to_socket_addrs();
            // Nobody may wait any more.
            let _ = to.send(found.map(Iterator::collect));
            drop(place);
        };
        let spawned = thread::Builder::new().name("lookup".to_owned()).spawn(look_up);
        spawned.map_err(|_| ErrorCode::InternalError(None))?;
        loop {
            let left = left(deadline).ok_or(ErrorCode::DnsTimeout)?;
            match found.recv_timeout(left.min(SLICE)) {
                Ok(found) => return found.map_err(|_| ErrorCode::DestinationNotFound),
                Err(RecvTimeoutError::Timeout) if !self.cancel.is_over() => {}
                Err(RecvTimeoutError::Timeout) => return Err(ErrorCode::ConnectionTerminated),
                Err(RecvTimeoutError::Disconnected) => return Err(ErrorCode::DestinationNotFound),
            }
        }
    }

    /// Connects to an address.
    ///
    /// # Errors
    /// Returns the system's error, `TIMEDOUT` after the deadline, and `CANCELED` if the request has ended.
    fn connect_to(&self, address: &SocketAddr, deadline: Instant) -> Result<TcpStream, Errno> {
        let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = socket_with(family, SocketType::STREAM, flags, None)?;
        match connect(&socket, address) {
            Ok(()) | Err(Errno::INPROGRESS | Errno::INTR) => {}
            Err(error) => return Err(error),
        }
        loop {
            if self.cancel.is_over() {
                return Err(Errno::CANCELED);
            }
            let left = left(deadline).ok_or(Errno::TIMEDOUT)?;
            match ready(&mut [PollFd::new(&socket, PollFlags::OUT)], left.min(SLICE)) {
                Ok(0) | Err(Errno::INTR) => {}
                done => break done.map(drop)?,
            }
        }
        socket_error(&socket)??;
        ioctl_fionbio(&socket, false)?;
        Ok(TcpStream::from(socket))
    }
}

fn of_connect(error: Errno) -> ErrorCode {
    match error {
        Errno::CONNREFUSED => ErrorCode::ConnectionRefused,
        Errno::TIMEDOUT => ErrorCode::ConnectionTimeout,
        Errno::CANCELED => ErrorCode::ConnectionTerminated,
        Errno::HOSTUNREACH | Errno::NETUNREACH => ErrorCode::DestinationIpUnroutable,
        _ => ErrorCode::DestinationUnavailable,
    }
}

#[cfg(test)]
mod tests {
    use super::parts;

    #[test]
    fn authorities_have_a_host_and_a_port() {
        for (authority, expected) in [
            ("example.org", ("example.org", 443)),
            ("example.org:8443", ("example.org", 8443)),
            ("127.0.0.1:1", ("127.0.0.1", 1)),
            ("[::1]:8080", ("::1", 8080)),
            ("[::1]", ("::1", 443)),
            ("::1", ("::1", 443)),
        ] {
            assert_eq!(parts(authority, 443), Some(expected));
        }
    }

    #[test]
    fn what_can_be_read_in_two_ways_is_no_authority() {
        for authority in [
            "",
            ":80",
            "[example.org]",
            "[example.org]:80",
            "]]example.org[",
            "example.org]",
            "[127.0.0.1]",
            "[[::1]]",
            "[::1",
            "::1]",
            "[::1]80",
            "[::1]:",
            "[fe80::1%25eth0]",
            "exam%70le.org",
            "example.org:",
            "example.org:none",
            "example.org:080",
            "example.org:+80",
            "example.org:65536",
            "example.org:80:80",
        ] {
            assert_eq!(parts(authority, 443), None, "{authority}");
        }
    }
}
