//! Errors of the file system and of streams, and `wasi:io/error`.

use rustix::io::Errno;

use super::host::Host;
use super::interface::{Context, Interface, drop_it};
use crate::Result;
use crate::component::{Linker, Resource, ResourceAny, ResourceTableError, ResourceType, Val};
use crate::wasi::fail::{Fail, Outcome};

/// `error` of `wasi:io/error`: the reason why a stream failed.
pub struct IoError(pub Errno);

/// The reason why a function of a stream failed.
pub enum StreamFail {
    /// The stream is at its end, or failed earlier.
    Closed,
    Failed(Errno),
    /// The program ends.
    End(Fail),
}

/// The result of a function of a stream.
pub type Streamed<T = ()> = std::result::Result<T, StreamFail>;

impl From<Fail> for StreamFail {
    fn from(fail: Fail) -> StreamFail {
        match fail {
            // An interrupted program ends, or else tries again.
            Fail::Errno(errno) if errno != Errno::INTR => StreamFail::Failed(errno),
            fail => StreamFail::End(fail),
        }
    }
}

impl From<ResourceTableError> for StreamFail {
    fn from(error: ResourceTableError) -> StreamFail {
        StreamFail::End(error.into())
    }
}

pub fn define<T: 'static>(linker: &mut Linker<T>, context: impl Context<T>) -> Result<()> {
    let mut error = Interface::new(linker, "wasi:io/error", context)?;
    error.resource::<IoError>("error", drop_it)?;
    error.func("[method]error.to-debug-string", to_debug_string)
}

fn to_debug_string(host: &mut Host<'_>, (error,): (Resource<IoError>,)) -> Outcome<String> {
    Ok(host.table().get(&error)?.0.to_string())
}

/// `filesystem-error-code` of `wasi:filesystem/types`.
pub fn filesystem_error_code(host: &mut Host<'_>, (error,): (Resource<IoError>,)) -> Outcome<Option<Val>> {
    Ok(Some(error_code(host.table().get(&error)?.0)))
}

/// Returns the `stream-error` of a failure.
pub fn stream_error(host: &mut Host<'_>, fail: StreamFail) -> Outcome<Val> {
    match fail {
        StreamFail::Closed => Ok(Val::Variant("closed".to_owned(), None)),
        StreamFail::End(fail) => Err(fail),
        StreamFail::Failed(errno) => {
            let error = host.table().push(IoError(errno))?;
            let error = ResourceAny::host(&ResourceType::host::<IoError>(), error.rep());
            let held = Some(Box::new(Val::Resource(error)));
            Ok(Val::Variant("last-operation-failed".to_owned(), held))
        }
    }
}

/// Returns the `error-code` of `wasi:filesystem/types`.
pub fn error_code(errno: Errno) -> Val {
    let name = match errno {
        Errno::ACCESS => "access",
        Errno::AGAIN => "would-block",
        Errno::ALREADY => "already",
        Errno::BADF | Errno::MFILE | Errno::NFILE => "bad-descriptor",
        Errno::BUSY => "busy",
        Errno::DEADLK => "deadlock",
        Errno::DQUOT => "quota",
        Errno::EXIST => "exist",
        Errno::FBIG => "file-too-large",
        Errno::ILSEQ => "illegal-byte-sequence",
        Errno::INPROGRESS => "in-progress",
        Errno::INTR => "interrupted",
        Errno::INVAL => "invalid",
        Errno::ISDIR => "is-directory",
        Errno::LOOP => "loop",
        Errno::MLINK => "too-many-links",
        Errno::MSGSIZE => "message-size",
        Errno::NAMETOOLONG => "name-too-long",
        Errno::NODEV => "no-device",
        Errno::NOENT => "no-entry",
        Errno::NOLCK => "no-lock",
        Errno::NOMEM => "insufficient-memory",
        Errno::NOSPC => "insufficient-space",
        Errno::NOTDIR => "not-directory",
        Errno::NOTEMPTY => "not-empty",
        Errno::NOTRECOVERABLE => "not-recoverable",
        Errno::NOTSUP | Errno::NOSYS => "unsupported",
        Errno::NOTTY => "no-tty",
        Errno::NXIO => "no-such-device",
        Errno::OVERFLOW => "overflow",
        Errno::PERM => "not-permitted",
        Errno::PIPE => "pipe",
        Errno::ROFS => "read-only",
        Errno::SPIPE => "invalid-seek",
        Errno::TXTBSY => "text-file-busy",
        Errno::XDEV => "cross-device",
        _ => "io",
    };
    Val::Enum(name.to_owned())
}
