//! Conversions of addresses between components and the system.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};

use rustix::net::{AddressFamily, SocketAddrAny};

use super::errors::{ErrorCode, Networked};

type V4 = (u8, u8, u8, u8);
type V6 = (u16, u16, u16, u16, u16, u16, u16, u16);

crate::component_types! {
    /// `ip-address-family`
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Family {
        Ipv4,
        Ipv6,
    }

    /// `ip-address`
    #[derive(Clone, Copy, Debug)]
    pub enum IpAddress {
        Ipv4(V4),
        Ipv6(V6),
    }

    #[derive(Clone, Copy, Debug)]
    pub struct Ipv4SocketAddress {
        port: u16,
        address: V4,
    }

    #[derive(Clone, Copy, Debug)]
    pub struct Ipv6SocketAddress {
        port: u16,
        flow_info: u32,
        address: V6,
        scope_id: u32,
    }

    /// `ip-socket-address`
    #[derive(Clone, Copy, Debug)]
    pub enum IpSocketAddress {
        Ipv4(Ipv4SocketAddress),
        Ipv6(Ipv6SocketAddress),
    }
}

fn of_v4(address: Ipv4Addr) -> V4 {
    let [a, b, c, d] = address.octets();
    (a, b, c, d)
}

fn of_v6(address: Ipv6Addr) -> V6 {
    let [a, b, c, d, e, f, g, h] = address.segments();
    (a, b, c, d, e, f, g, h)
}

impl From<IpAddr> for IpAddress {
    fn from(address: IpAddr) -> IpAddress {
        match address {
            IpAddr::V4(address) => IpAddress::Ipv4(of_v4(address)),
            IpAddr::V6(address) => IpAddress::Ipv6(of_v6(address)),
        }
    }
}

impl From<SocketAddr> for IpSocketAddress {
    fn from(address: SocketAddr) -> IpSocketAddress {
        match address {
            SocketAddr::V4(v4) => {
                IpSocketAddress::Ipv4(Ipv4SocketAddress { port: v4.port(), address: of_v4(*v4.ip()) })
            }
            SocketAddr::V6(v6) => IpSocketAddress::Ipv6(Ipv6SocketAddress {
                port: v6.port(),
                flow_info: v6.flowinfo(),
                address: of_v6(*v6.ip()),
                scope_id: v6.scope_id(),
            }),
        }
    }
}

impl From<IpSocketAddress> for SocketAddr {
    fn from(address: IpSocketAddress) -> SocketAddr {
        match address {
            IpSocketAddress::Ipv4(Ipv4SocketAddress { port, address: (a, b, c, d) }) => {
                SocketAddr::V4(SocketAddrV4::new(Ipv4Addr::new(a, b, c, d), port))
            }
            IpSocketAddress::Ipv6(v6) => {
                let (a, b, c, d, e, f, g, h) = v6.address;
                let address = Ipv6Addr::new(a, b, c, d, e, f, g, h);
                SocketAddr::V6(SocketAddrV6::new(address, v6.port, v6.flow_info, v6.scope_id))
            }
        }
    }
}

impl Family {
    /// Returns the system's address family.
    pub fn of_system(self) -> AddressFamily {
        match self {
            Family::Ipv4 => AddressFamily::INET,
            Family::Ipv6 => AddressFamily::INET6,
        }
    }

    /// Returns the unspecified address and port, those of an unbound socket.
    pub fn unspecified(self) -> SocketAddr {
        match self {
            Family::Ipv4 => (Ipv4Addr::UNSPECIFIED, 0).into(),
            Family::Ipv6 => (Ipv6Addr::UNSPECIFIED, 0).into(),
        }
    }

    /// Fails unless sockets of this family can be bound to an address.
    pub fn check_local(self, address: SocketAddr) -> Networked {
        let fits = match address.ip() {
            IpAddr::V4(v4) => self == Family::Ipv4 && !v4.is_multicast() && !v4.is_broadcast(),
            // IPv6 sockets do not serve IPv4.
            IpAddr::V6(v6) => self == Family::Ipv6 && !v6.is_multicast() && v6.to_ipv4_mapped().is_none(),
        };
        if fits { Ok(()) } else { Err(ErrorCode::InvalidArgument.into()) }
    }

    /// Fails unless sockets of this family can send to an address.
    pub fn check_remote(self, address: SocketAddr) -> Networked {
        self.check_local(address)?;
        let is_one = address.port() != 0 && !address.ip().is_unspecified();
        if is_one { Ok(()) } else { Err(ErrorCode::InvalidArgument.into()) }
    }
}

/// Converts a system address, if it is an internet address.
pub fn of_any(address: Option<SocketAddrAny>) -> Option<SocketAddr> {
    address.and_then(|address| SocketAddr::try_from(address).ok())
}
