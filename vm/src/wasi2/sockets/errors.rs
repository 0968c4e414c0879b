//! `error-code` of `wasi:sockets/network`.

use rustix::io::Errno;

use crate::component::{Resource, ResourceTableError};
use crate::wasi::fail::{Fail, Outcome};
use crate::wasi2::errors::IoError;
use crate::wasi2::host::Host;

crate::component_types! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum ErrorCode {
        Unknown,
        AccessDenied,
        NotSupported,
        InvalidArgument,
        OutOfMemory,
        Timeout,
        ConcurrencyConflict,
        NotInProgress,
        WouldBlock,
        InvalidState,
        NewSocketLimit,
        AddressNotBindable,
        AddressInUse,
        RemoteUnreachable,
        ConnectionRefused,
        ConnectionReset,
        ConnectionAborted,
        DatagramTooLarge,
        NameUnresolvable,
        TemporaryResolverFailure,
        PermanentResolverFailure,
    }
}

/// The reason why a function fails.
#[derive(Debug)]
pub enum NetworkFail {
    /// The program receives a code.
    Code(ErrorCode),
    /// The program ends.
    End(Fail),
}

/// The result of network functions.
pub type Networked<T = ()> = std::result::Result<T, NetworkFail>;

impl From<ErrorCode> for NetworkFail {
    fn from(code: ErrorCode) -> NetworkFail {
        NetworkFail::Code(code)
    }
}

impl From<Errno> for NetworkFail {
    fn from(errno: Errno) -> NetworkFail {
        NetworkFail::Code(error_code(errno))
    }
}

impl From<Fail> for NetworkFail {
    fn from(fail: Fail) -> NetworkFail {
        match fail {
            Fail::Errno(errno) if errno != Errno::INTR => errno.into(),
            fail => NetworkFail::End(fail),
        }
    }
}

impl From<ResourceTableError> for NetworkFail {
    fn from(error: ResourceTableError) -> NetworkFail {
        NetworkFail::End(error.into())
    }
}

/// Returns why a stream of a connection failed; `None` for other streams.
pub fn network_error_code(host: &mut Host<'_>, (error,): (Resource<IoError>,)) -> Outcome<Option<ErrorCode>> {
    Ok(Some(error_code(host.table().get(&error)?.0)).filter(|code| *code != ErrorCode::Unknown))
}

/// Returns the code of a system error.
pub fn error_code(errno: Errno) -> ErrorCode {
    match errno {
        Errno::ACCESS | Errno::PERM => ErrorCode::AccessDenied,
        Errno::NOTSUP | Errno::PROTONOSUPPORT | Errno::NOPROTOOPT => ErrorCode::NotSupported,
        Errno::AFNOSUPPORT | Errno::INVAL | Errno::DOM | Errno::FAULT => ErrorCode::InvalidArgument,
        Errno::NOMEM | Errno::NOBUFS => ErrorCode::OutOfMemory,
        Errno::TIMEDOUT => ErrorCode::Timeout,
        Errno::ALREADY | Errno::INPROGRESS => ErrorCode::ConcurrencyConflict,
        Errno::AGAIN => ErrorCode::WouldBlock,
        Errno::ISCONN | Errno::NOTCONN | Errno::DESTADDRREQ => ErrorCode::InvalidState,
        Errno::MFILE | Errno::NFILE => ErrorCode::NewSocketLimit,
        Errno::ADDRNOTAVAIL => ErrorCode::AddressNotBindable,
        Errno::ADDRINUSE => ErrorCode::AddressInUse,
        Errno::HOSTUNREACH | Errno::HOSTDOWN | Errno::NETUNREACH | Errno::NETDOWN | Errno::NONET => {
            ErrorCode::RemoteUnreachable
        }
        Errno::CONNREFUSED => ErrorCode::ConnectionRefused,
        Errno::CONNRESET | Errno::PIPE => ErrorCode::ConnectionReset,
        Errno::CONNABORTED => ErrorCode::ConnectionAborted,
        Errno::MSGSIZE => ErrorCode::DatagramTooLarge,
        _ => ErrorCode::Unknown,
    }
}
