//! How a WASI function fails: with an error number for the program, or by ending the program.
//!
//! Internally, error numbers are those of the host; they are converted to WASI's where a function returns.

use rustix::io::Errno;

use crate::{Error, ErrorKind, Result};

/// The reason why a function failed.
#[derive(Debug)]
pub enum Fail {
    /// The program gets an error number.
    Errno(Errno),
    /// The program ends.
    End(Error),
}

/// The result of a function.
pub type Outcome<T = ()> = std::result::Result<T, Fail>;

impl From<Errno> for Fail {
    fn from(errno: Errno) -> Fail {
        Fail::Errno(errno)
    }
}

impl From<Error> for Fail {
    fn from(error: Error) -> Fail {
        Fail::End(error)
    }
}

impl From<std::io::Error> for Fail {
    fn from(error: std::io::Error) -> Fail {
        // Errors without a number come from the sandbox: a path leads out of its folder, or contains a zero byte.
        let of_sandbox = match error.kind() {
            std::io::ErrorKind::PermissionDenied => Errno::PERM,
            std::io::ErrorKind::InvalidInput => Errno::INVAL,
            _ => Errno::IO,
        };
        Fail::Errno(Errno::from_io_error(&error).unwrap_or(of_sandbox))
    }
}

/// Returns the error for a pointer to a range that is misaligned or not all in memory. The specification requires
/// a trap.
pub fn bad_pointer(what: &str, at: u64, len: u64) -> Fail {
    Fail::End(Error::new(
        ErrorKind::Host,
        format_args!("WASI was given a bad pointer: {len} bytes at {at:#x} {what}"),
    ))
}

/// The value that a function returns to WebAssembly.
pub trait Answer: Sized {
    /// Returns the value for a WASI error number; 0 is success.
    fn from_number(number: u32) -> Self;

    /// Returns whether it is the value for that number.
    fn is(&self, number: u32) -> bool;

    /// Returns the value for an outcome, unless the program ends.
    fn finish(outcome: Outcome) -> Result<Self> {
        match outcome {
            Ok(()) => Ok(Self::from_number(0)),
            Err(Fail::Errno(errno)) => Ok(Self::from_number(number(errno))),
            Err(Fail::End(error)) => Err(error),
        }
    }
}

impl Answer for u32 {
    fn from_number(number: u32) -> u32 {
        number
    }

    fn is(&self, number: u32) -> bool {
        *self == number
    }
}

impl Answer for () {
    fn from_number(_: u32) {}

    fn is(&self, _: u32) -> bool {
        false
    }
}

/// Returns WASI's number for a host error.
pub fn number(errno: Errno) -> u32 {
    let index = NUMBERED.iter().position(|&known| known == errno);
    index
        .or_else(|| NUMBERED.iter().position(|&known| known == Errno::IO))
        .map_or(0, |index| index as u32 + 1)
}

/// The host errors in the order of WASI's numbers, which start at 1.
const NUMBERED: [Errno; 75] = [
    Errno::TOOBIG,
    Errno::ACCESS,
    Errno::ADDRINUSE,
    Errno::ADDRNOTAVAIL,
    Errno::AFNOSUPPORT,
    Errno::AGAIN,
    Errno::ALREADY,
    Errno::BADF,
    Errno::BADMSG,
    Errno::BUSY,
    Errno::CANCELED,
    Errno::CHILD,
    Errno::CONNABORTED,
    Errno::CONNREFUSED,
    Errno::CONNRESET,
    Errno::DEADLK,
    Errno::DESTADDRREQ,
    Errno::DOM,
    Errno::DQUOT,
    Errno::EXIST,
    Errno::FAULT,
    Errno::FBIG,
    Errno::HOSTUNREACH,
    Errno::IDRM,
    Errno::ILSEQ,
    Errno::INPROGRESS,
    Errno::INTR,
    Errno::INVAL,
    Errno::IO,
    Errno::ISCONN,
    Errno::ISDIR,
    Errno::LOOP,
    Errno::MFILE,
    Errno::MLINK,
    Errno::MSGSIZE,
    Errno::MULTIHOP,
    Errno::NAMETOOLONG,
    Errno::NETDOWN,
    Errno::NETRESET,
    Errno::NETUNREACH,
    Errno::NFILE,
    Errno::NOBUFS,
    Errno::NODEV,
    Errno::NOENT,
    Errno::NOEXEC,
    Errno::NOLCK,
    Errno::NOLINK,
    Errno::NOMEM,
    Errno::NOMSG,
    Errno::NOPROTOOPT,
    Errno::NOSPC,
    Errno::NOSYS,
    Errno::NOTCONN,
    Errno::NOTDIR,
    Errno::NOTEMPTY,
    Errno::NOTRECOVERABLE,
    Errno::NOTSOCK,
    Errno::NOTSUP,
    Errno::NOTTY,
    Errno::NXIO,
    Errno::OVERFLOW,
    Errno::OWNERDEAD,
    Errno::PERM,
    Errno::PIPE,
    Errno::PROTO,
    Errno::PROTONOSUPPORT,
    Errno::PROTOTYPE,
    Errno::RANGE,
    Errno::ROFS,
    Errno::SPIPE,
    Errno::SRCH,
    Errno::STALE,
    Errno::TIMEDOUT,
    Errno::TXTBSY,
    Errno::XDEV,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_numbers_are_those_of_the_specification() {
        let some = [
            (Errno::TOOBIG, 1),
            (Errno::BADF, 8),
            (Errno::INVAL, 28),
            (Errno::NOTSUP, 58),
            (Errno::XDEV, 75),
        ];
        assert!(some.into_iter().all(|(errno, expected)| number(errno) == expected));
        assert_eq!(number(Errno::NOKEY), 29, "what WASI has no name for is an error of input or output");
    }
}
