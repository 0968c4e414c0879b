//! What a program gets to see of the system.

use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};

use wasi_common::pipe::{ReadPipe, WritePipe};
use wasi_common::sync;

use super::common::Common;
use super::{Implementation, WasiCtx};
use crate::{Error, ErrorKind, Result};

/// Builds the usual [`WasiCtx`]: no arguments, no environment, no files, empty input and no output unless told
/// otherwise; the real clocks, and random numbers from the system.
pub struct WasiCtxBuilder(sync::WasiCtxBuilder);

impl Default for WasiCtxBuilder {
    fn default() -> Self {
        WasiCtxBuilder::new()
    }
}

impl std::fmt::Debug for WasiCtxBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("WasiCtxBuilder")
    }
}

impl WasiCtxBuilder {
    /// Nothing to see.
    pub fn new() -> WasiCtxBuilder {
        WasiCtxBuilder(sync::WasiCtxBuilder::new())
    }

    /// Adds an argument; the first one is the program's name.
    ///
    /// # Errors
    /// If it contains a zero byte or there are too many.
    pub fn arg(&mut self, arg: &str) -> Result<&mut Self> {
        self.0.arg(arg).map_err(|e| refused(format_args!("argument {arg:?}"), e))?;
        Ok(self)
    }

    /// Adds arguments.
    ///
    /// # Errors
    /// As [`WasiCtxBuilder::arg`].
    pub fn args<S: AsRef<str>>(&mut self, args: impl IntoIterator<Item = S>) -> Result<&mut Self> {
        for arg in args {
            self.arg(arg.as_ref())?;
        }
        Ok(self)
    }

    /// Adds an environment variable.
    ///
    /// # Errors
    /// If name or value contain a zero byte or there are too many.
    pub fn env(&mut self, name: &str, value: &str) -> Result<&mut Self> {
        self.0.env(name, value).map_err(|e| refused(format_args!("environment variable {name:?}"), e))?;
        Ok(self)
    }

    /// Makes the process's standard input, output and error the program's. Output is written through at once.
    pub fn inherit_stdio(&mut self) -> &mut Self {
        self.0.inherit_stdio();
        self
    }

    /// Makes `input` all of the program's standard input.
    pub fn stdin_bytes(&mut self, input: impl Into<Vec<u8>>) -> &mut Self {
        self.0.stdin(Box::new(ReadPipe::from(input.into())));
        self
    }

    /// Collects the program's standard output in `pipe`.
    pub fn stdout_pipe(&mut self, pipe: &OutputPipe) -> &mut Self {
        self.0.stdout(Box::new(WritePipe::from_shared(pipe.0.clone())));
        self
    }

    /// Collects the program's standard error output in `pipe`.
    pub fn stderr_pipe(&mut self, pipe: &OutputPipe) -> &mut Self {
        self.0.stderr(Box::new(WritePipe::from_shared(pipe.0.clone())));
        self
    }

    /// Lets the program use the directory `host`, which it sees as `guest`.
    ///
    /// # Errors
    /// If the directory cannot be opened.
    pub fn preopened_dir(&mut self, host: impl AsRef<Path>, guest: impl AsRef<Path>) -> Result<&mut Self> {
        let host = host.as_ref();
        let failed = |e: &dyn std::fmt::Display| refused(format_args!("directory {}", host.display()), e);
        let dir = sync::Dir::open_ambient_dir(host, sync::ambient_authority()).map_err(|e| failed(&e))?;
        self.0.preopened_dir(dir, guest).map_err(|e| failed(&e))?;
        Ok(self)
    }

    /// The context.
    pub fn build(&mut self) -> WasiCtx {
        let builder = std::mem::replace(&mut self.0, sync::WasiCtxBuilder::new());
        WasiCtx(Implementation::Usual(Common({ builder }.build())))
    }
}

fn refused(what: impl std::fmt::Display, e: impl std::fmt::Display) -> Error {
    Error::new(ErrorKind::System, format_args!("{what}: {e}"))
}

/// Where a program's output is collected. Clones are the same pipe.
#[derive(Clone, Debug, Default)]
pub struct OutputPipe(Arc<RwLock<Vec<u8>>>);

impl OutputPipe {
    /// An empty one.
    pub fn new() -> OutputPipe {
        OutputPipe::default()
    }

    /// What was written so far.
    pub fn contents(&self) -> Vec<u8> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
