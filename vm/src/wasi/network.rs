//! The rights of a program to use the network.

use std::net::SocketAddr;
use std::sync::Arc;

use rustix::io::Errno;

/// The use of an address, which a check may allow or deny.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SocketAddrUse {
    /// A TCP socket is bound to a local address; to any, if it connects without having been bound.
    TcpBind,
    /// A TCP socket that is bound to this local address waits for connections.
    TcpListen,
    /// A connection from this remote address is accepted; others are closed, and the program does not see them.
    TcpAccept,
    /// A connection to this remote address is made.
    TcpConnect,
    /// A UDP socket is bound to a local address.
    UdpBind,
    /// A datagram is sent to this remote address.
    UdpSend,
    /// A datagram from this remote address is received; others are dropped, and the program does not see them.
    UdpReceive,
}

/// The check whether an address may be used.
type Check = dyn Fn(SocketAddr, SocketAddrUse) -> bool + Send + Sync;

/// The check whether HTTP requests may be sent to a host, with a port if one is named.
type MayRequest = dyn Fn(&str) -> bool + Send + Sync;

/// The check whether HTTP requests may be sent to an address.
pub type MayReach = dyn Fn(SocketAddr) -> bool + Send + Sync;

/// The rights of a program: none, unless there is a check.
#[derive(Clone, Default)]
pub struct NetworkRights {
    check: Option<Arc<Check>>,
    no_tcp: bool,
    no_udp: bool,
    lookup: bool,
    requests: Option<Arc<MayRequest>>,
    reaches: Option<Arc<MayReach>>,
}

impl NetworkRights {
    pub fn set_check(&mut self, check: impl Fn(SocketAddr, SocketAddrUse) -> bool + Send + Sync + 'static) {
        self.check = Some(Arc::new(check));
    }

    pub fn allow_tcp(&mut self, allow: bool) {
        self.no_tcp = !allow;
    }

    pub fn allow_udp(&mut self, allow: bool) {
        self.no_udp = !allow;
    }

    pub fn allow_lookup(&mut self, allow: bool) {
        self.lookup = allow;
    }

    pub fn set_requests(&mut self, may_request: impl Fn(&str) -> bool + Send + Sync + 'static) {
        self.requests = Some(Arc::new(may_request));
    }

    pub fn set_reaches(&mut self, may_reach: impl Fn(SocketAddr) -> bool + Send + Sync + 'static) {
        self.reaches = Some(Arc::new(may_reach));
    }

    /// Returns the check of the addresses to which HTTP requests may be sent, if not all are allowed.
    pub fn reaches(&self) -> Option<Arc<MayReach>> {
        self.reaches.clone()
    }

    /// Reports whether HTTP requests may be sent to a host.
    pub fn may_request(&self, authority: &str) -> bool {
        self.requests.as_ref().is_some_and(|may_request| may_request(authority))
    }

    /// Reports whether TCP sockets are allowed.
    pub fn has_tcp(&self) -> bool {
        self.check.is_some() && !self.no_tcp
    }

    /// Reports whether UDP sockets are allowed.
    pub fn has_udp(&self) -> bool {
        self.check.is_some() && !self.no_udp
    }

    /// Reports whether name look-up is allowed.
    pub fn has_lookup(&self) -> bool {
        self.lookup
    }

    /// # Errors
    /// Fails if the address may not be used this way.
    pub fn check(&self, address: SocketAddr, used: SocketAddrUse) -> Result<(), Errno> {
        match &self.check {
            Some(check) if check(address, used) => Ok(()),
            _ => Err(Errno::ACCESS),
        }
    }
}
