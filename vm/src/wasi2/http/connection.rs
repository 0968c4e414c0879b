//! A connection to a server, plain or encrypted. One thread may write while another reads.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::time::Duration;

use super::tls::Tls;
use super::values::ErrorCode;

/// A connection; clones are the same one.
#[derive(Clone)]
pub struct Connection {
    socket: Arc<TcpStream>,
    tls: Option<Arc<Tls>>,
}

impl Connection {
    /// Connects to a host and a port, by default that of the scheme, and encrypts the connection if the scheme is HTTPS.
    /// `time` limits each step.
    ///
    /// # Errors
    /// Returns an error code if nobody answers, or if the server does not prove that it is the host.
    pub fn open(authority: &str, is_https: bool, time: Duration) -> Result<Connection, ErrorCode> {
        let (host, port) = parts(authority, if is_https { 443 } else { 80 });
        let socket = Arc::new(connect((host, port), time)?);
        let tls = is_https.then(|| Tls::begin(host, &socket, time)).transpose()?;
        Ok(Connection { socket, tls: tls.map(Arc::new) })
    }

    /// Limits how long each read waits.
    ///
    /// # Errors
    /// Returns the system's error.
    pub fn set_read_timeout(&self, time: Duration) -> io::Result<()> {
        self.socket.set_read_timeout(Some(time))
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

impl Read for Connection {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        match self.tls.as_deref() {
            None => (&*self.socket).read(to),
            Some(tls) => tls.read(&self.socket, to),
        }
    }
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

/// Splits an authority into its host, without the brackets of an address, and its port.
fn parts(authority: &str, usual: u16) -> (&str, u16) {
    let (host, port) = match authority.rsplit_once(':') {
        // In an address without brackets each colon belongs to the address.
        Some((host, port)) if !host.contains(':') || host.ends_with(']') => (host, port.parse().ok()),
        _ => (authority, None),
    };
    let host = if port.is_some() { host } else { authority };
    (host.trim_matches(['[', ']']), port.unwrap_or(usual))
}

fn connect(to: (&str, u16), time: Duration) -> Result<TcpStream, ErrorCode> {
    let found = to.to_socket_addrs();
    let addresses: Vec<SocketAddr> = found.map_err(|_| ErrorCode::DestinationNotFound)?.collect();
    let mut last = ErrorCode::DestinationNotFound;
    for address in addresses {
        match TcpStream::connect_timeout(&address, time) {
            Ok(stream) => return Ok(stream),
            Err(error) => last = of_connect(&error),
        }
    }
    Err(last)
}

fn of_connect(error: &io::Error) -> ErrorCode {
    match error.kind() {
        ErrorKind::ConnectionRefused => ErrorCode::ConnectionRefused,
        ErrorKind::TimedOut | ErrorKind::WouldBlock => ErrorCode::ConnectionTimeout,
        ErrorKind::HostUnreachable | ErrorKind::NetworkUnreachable => ErrorCode::DestinationIpUnroutable,
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
            ("example.org:none", ("example.org:none", 443)),
        ] {
            assert_eq!(parts(authority, 443), expected);
        }
    }
}
