//! Options common to TCP and UDP sockets.

use std::time::Duration;

use rustix::io::Errno;
use rustix::net::sockopt;

use super::address::Family;
use super::errors::{ErrorCode, Networked};
use crate::wasi::host_file::HostFile;

/// Maximum seconds that the system accepts.
const MOST_SECONDS: u64 = 32_767;
/// Maximum probes that the system accepts.
const MOST_PROBES: u32 = 127;

pub fn hop_limit(file: &HostFile, family: Family) -> Networked<u8> {
    Ok(match family {
        Family::Ipv4 => sockopt::ip_ttl(file)? as u8,
        Family::Ipv6 => sockopt::ipv6_unicast_hops(file)?,
    })
}

pub fn set_hop_limit(file: &HostFile, family: Family, value: u8) -> Networked {
    not_zero(u64::from(value))?;
    match family {
        Family::Ipv4 => sockopt::set_ip_ttl(file, u32::from(value))?,
        Family::Ipv6 => sockopt::set_ipv6_unicast_hops(file, Some(value))?,
    }
    Ok(())
}

/// Returns the size of the receive buffer; Linux doubles the value that is set, for its own use.
pub fn receive_buffer(file: &HostFile) -> Networked<u64> {
    Ok(sockopt::socket_recv_buffer_size(file)? as u64 / 2)
}

pub fn set_receive_buffer(file: &HostFile, value: u64) -> Networked {
    without_room(sockopt::set_socket_recv_buffer_size(file, buffer(value)?))
}

pub fn send_buffer(file: &HostFile) -> Networked<u64> {
    Ok(sockopt::socket_send_buffer_size(file)? as u64 / 2)
}

pub fn set_send_buffer(file: &HostFile, value: u64) -> Networked {
    without_room(sockopt::set_socket_send_buffer_size(file, buffer(value)?))
}

fn buffer(value: u64) -> Networked<usize> {
    not_zero(value)?;
    Ok(value.min(i32::MAX as u64 / 2) as usize)
}

/// Ignores a lack of room, since sizes are hints.
fn without_room(set: Result<(), Errno>) -> Networked {
    match set {
        Err(Errno::NOBUFS) => Ok(()),
        set => Ok(set?),
    }
}

/// Converts a time in nanoseconds to the system's unit: whole seconds, at least one.
pub fn seconds(value: u64) -> Networked<Duration> {
    not_zero(value)?;
    Ok(Duration::from_secs(value.div_ceil(1_000_000_000).clamp(1, MOST_SECONDS)))
}

pub fn probes(value: u32) -> Networked<u32> {
    not_zero(u64::from(value))?;
    Ok(value.min(MOST_PROBES))
}

pub fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// Rejects zero, which is not a valid size, time or count.
pub fn not_zero(value: u64) -> Networked {
    if value == 0 { Err(ErrorCode::InvalidArgument.into()) } else { Ok(()) }
}
