//! The resources of the system that a program can access.

use std::io::Cursor;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::{Arc, Mutex};

use cap_std::fs::Dir;
use rustix::fs::OFlags;

use super::budget::{Budget, allow_places};
use super::clocks::{Clocks, SystemClocks};
use super::descriptors::{Descriptor, Descriptors, What};
use super::folder::Folder;
use super::host_file::HostFile;
use super::network::{NetworkRights, SocketAddrUse};
use super::pipe::OutputPipe;
use super::random::Random;
use super::strings::Strings;
use super::system::System;
use super::{Implementation, WasiCtx};
use crate::{Error, ErrorKind, Result};

/// Default maximum number of open descriptors of a program. The process has a limit, too, for all of its
/// programs and itself.
const MAX_DESCRIPTORS: usize = 10_000;

/// Default maximum bytes of all HTTP bodies of a program together.
const MAX_BODIES: usize = 256 << 20;

/// Default maximum bytes of the heads and trailers of all HTTP messages of a program together.
const MAX_HEADS: usize = 64 << 20;

/// Default maximum number of requests, and of look-ups, of a program at a time.
const MAX_REQUESTS: usize = 16;

/// Builds the usual [`WasiCtx`]. By default it has no arguments, no environment, no files, empty input and no output;
/// the real clocks, and random numbers from the system.
pub struct WasiCtxBuilder {
    args: Strings,
    env: Strings,
    clocks: Option<Box<dyn Clocks>>,
    random: Random,
    standard: [Descriptor; 3],
    /// Directories, then sockets: descriptors from 3 on.
    folders: Vec<Descriptor>,
    sockets: Vec<Descriptor>,
    network: NetworkRights,
    max_descriptors: usize,
    max_bodies: usize,
    max_heads: usize,
    max_requests: usize,
}

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
    /// Creates a builder with the defaults.
    pub fn new() -> WasiCtxBuilder {
        let input = Descriptor::stream(What::Input(Cursor::default()), false);
        let output = || Descriptor::stream(What::Nothing, true);
        WasiCtxBuilder {
            args: Strings::default(),
            env: Strings::default(),
            clocks: None,
            random: Random::System,
            standard: [input, output(), output()],
            folders: Vec::new(),
            sockets: Vec::new(),
            network: NetworkRights::default(),
            max_descriptors: MAX_DESCRIPTORS,
            max_bodies: MAX_BODIES,
            max_heads: MAX_HEADS,
            max_requests: MAX_REQUESTS,
        }
    }

    /// Adds an argument; the first one is the program's name.
    ///
    /// # Errors
    /// Fails if it contains a zero byte, or if all arguments together are too long for a program's memory.
    pub fn arg(&mut self, arg: &str) -> Result<&mut Self> {
        self.args.push("argument", arg)?;
        Ok(self)
    }

    /// Adds arguments.
    ///
    /// # Errors
    /// Fails as [`WasiCtxBuilder::arg`] does.
    pub fn args<S: AsRef<str>>(&mut self, args: impl IntoIterator<Item = S>) -> Result<&mut Self> {
        for arg in args {
            self.arg(arg.as_ref())?;
        }
        Ok(self)
    }

    /// Adds an environment variable.
    ///
    /// # Errors
    /// Fails if the name or value contains a zero byte, or if all of them together are too long for a program's memory.
    pub fn env(&mut self, name: &str, value: &str) -> Result<&mut Self> {
        self.env.push("environment variable", &format!("{name}={value}"))?;
        Ok(self)
    }

    /// Gives the program the process's standard input, output and error. Output is not buffered. Even if they
    /// are files or terminals, the program sees streams: it can neither seek in them nor truncate them.
    pub fn inherit_stdio(&mut self) -> &mut Self {
        self.inherit_stdin().inherit_stdout().inherit_stderr()
    }

    /// Gives the program the process's standard input: see [`WasiCtxBuilder::inherit_stdio`].
    pub fn inherit_stdin(&mut self) -> &mut Self {
        self.inherit(0, HostFile::standard(rustix::stdio::stdin()))
    }

    /// Gives the program the process's standard output: see [`WasiCtxBuilder::inherit_stdio`].
    pub fn inherit_stdout(&mut self) -> &mut Self {
        self.inherit(1, HostFile::standard(rustix::stdio::stdout()))
    }

    /// Gives the program the process's standard error output: see [`WasiCtxBuilder::inherit_stdio`].
    pub fn inherit_stderr(&mut self) -> &mut Self {
        self.inherit(2, HostFile::standard(rustix::stdio::stderr()))
    }

    fn inherit(&mut self, descriptor: usize, file: HostFile) -> &mut Self {
        self.standard[descriptor] = Descriptor::stream(What::File(Arc::new(file)), descriptor > 0);
        self
    }

    /// Sets the entire contents of the program's standard input.
    pub fn stdin_bytes(&mut self, input: impl Into<Vec<u8>>) -> &mut Self {
        self.standard[0] = Descriptor::stream(What::Input(Cursor::new(input.into())), false);
        self
    }

    /// Collects the program's standard output in `pipe`.
    pub fn stdout_pipe(&mut self, pipe: &OutputPipe) -> &mut Self {
        self.standard[1] = Descriptor::stream(What::Output(pipe.clone()), true);
        self
    }

    /// Collects the program's standard error output in `pipe`.
    pub fn stderr_pipe(&mut self, pipe: &OutputPipe) -> &mut Self {
        self.standard[2] = Descriptor::stream(What::Output(pipe.clone()), true);
        self
    }

    /// Gives the program access to the directory `host`, under the path `guest`.
    ///
    /// # Errors
    /// Fails if the directory cannot be opened.
    pub fn preopened_dir(&mut self, host: impl AsRef<Path>, guest: impl AsRef<Path>) -> Result<&mut Self> {
        self.preopen(host.as_ref(), guest.as_ref(), true)
    }

    /// Gives the program read-only access to a directory and everything below it.
    ///
    /// # Errors
    /// Fails if the directory cannot be opened.
    pub fn preopened_dir_read_only(
        &mut self,
        host: impl AsRef<Path>,
        guest: impl AsRef<Path>,
    ) -> Result<&mut Self> {
        self.preopen(host.as_ref(), guest.as_ref(), false)
    }

    fn preopen(&mut self, host: &Path, guest: &Path, is_writable: bool) -> Result<&mut Self> {
        let mut options = std::fs::OpenOptions::new();
        options.read(true).custom_flags(OFlags::DIRECTORY.bits() as i32);
        let dir = options
            .open(host)
            .map_err(|e| Error::new(ErrorKind::System, format_args!("directory {}: {e}", host.display())))?;
        let name = guest.as_os_str().as_encoded_bytes().to_vec();
        let folder = Folder::new(Dir::from_std_file(dir), is_writable, Some(name));
        self.folders.push(Descriptor::new(What::Folder(folder)));
        Ok(self)
    }

    /// Gives the program a socket, which listens or is connected, as the descriptor after those of directories and of
    /// earlier sockets.
    ///
    /// # Errors
    /// Fails if it is not a socket.
    pub fn preopened_socket(&mut self, socket: impl Into<OwnedFd>) -> Result<&mut Self> {
        let socket = HostFile::socket(socket.into()).map_err(|e| Error::system("cannot use a socket", e))?;
        self.sockets.push(Descriptor::socket(socket, 0));
        Ok(self)
    }

    /// Lets a component use the network: all addresses, and name look-up. Without this and
    /// [`socket_addr_check`](WasiCtxBuilder::socket_addr_check) it has no sockets.
    pub fn inherit_network(&mut self) -> &mut Self {
        self.allow_ip_name_lookup(true).socket_addr_check(|_, _| true)
    }

    /// Lets a component use TCP and UDP sockets with the addresses for which `check` returns true.
    pub fn socket_addr_check(
        &mut self,
        check: impl Fn(SocketAddr, SocketAddrUse) -> bool + Send + Sync + 'static,
    ) -> &mut Self {
        self.network.set_check(check);
        self
    }

    /// Sets whether a component with sockets has TCP sockets (default: yes).
    pub fn allow_tcp(&mut self, allow: bool) -> &mut Self {
        self.network.allow_tcp(allow);
        self
    }

    /// Sets whether a component with sockets has UDP sockets (default: yes).
    pub fn allow_udp(&mut self, allow: bool) -> &mut Self {
        self.network.allow_udp(allow);
        self
    }

    /// Sets whether a component may look up the addresses of names (default: no).
    pub fn allow_ip_name_lookup(&mut self, allow: bool) -> &mut Self {
        self.network.allow_lookup(allow);
        self
    }

    /// Lets a component send HTTP requests to the hosts for which `may` returns true: `example.com`, or
    /// `example.com:8080`. Without it no host is allowed. Requests are encrypted if the program asks for HTTPS,
    /// for which the feature `https` must be on.
    ///
    /// A host's name is what the program has given, and its owner decides to which addresses it leads, also to those
    /// of this machine: [`outgoing_http_addr_check`](WasiCtxBuilder::outgoing_http_addr_check) can restrict them.
    /// [`socket_addr_check`](WasiCtxBuilder::socket_addr_check) does not apply.
    pub fn outgoing_http(&mut self, may: impl Fn(&str) -> bool + Send + Sync + 'static) -> &mut Self {
        self.network.set_requests(may);
        self
    }

    /// Restricts the addresses to which a component's HTTP requests may be sent, by default all of the allowed hosts,
    /// to those for which `may` returns true. It is called in another thread for each address to which a host's name
    /// leads, before a connection to it is made.
    pub fn outgoing_http_addr_check(
        &mut self,
        may: impl Fn(SocketAddr) -> bool + Send + Sync + 'static,
    ) -> &mut Self {
        self.network.set_reaches(may);
        self
    }

    /// Replaces the system's clocks.
    pub fn clocks(&mut self, clocks: impl Clocks) -> &mut Self {
        self.clocks = Some(Box::new(clocks));
        self
    }

    /// Makes random numbers the same in all runs with this seed. They are then unsuitable for secrets.
    pub fn random_seed(&mut self, seed: u64) -> &mut Self {
        self.random = Random::Seeded(seed);
        self
    }

    /// Sets the maximum number of open descriptors of the program, 10,000 by default. The initial descriptors count,
    /// but are always available.
    pub fn max_descriptors(&mut self, max: usize) -> &mut Self {
        self.max_descriptors = max;
        self
    }

    /// Sets the maximum number of bytes that the host keeps of the bodies of all HTTP messages of a component, 256 MiB by
    /// default. Bodies that come piece by piece are not kept. A message whose body does not fit fails.
    pub fn max_http_bodies(&mut self, bytes: usize) -> &mut Self {
        self.max_bodies = bytes;
        self
    }

    /// Sets the maximum number of bytes of the heads and trailers of all HTTP messages that a component holds, 64 MiB by
    /// default. A message whose head does not fit fails.
    pub fn max_http_heads(&mut self, bytes: usize) -> &mut Self {
        self.max_heads = bytes;
        self
    }

    /// Sets how many HTTP requests a component may have under way, and how many look-ups of names, each of which takes a
    /// thread of the host: 16 of each by default. One more fails as it does when the network is busy.
    ///
    /// All programs of the process together have 64 of each, or as many as the largest number set here: a look-up that the
    /// system does not answer goes on after its program has ended.
    pub fn max_requests(&mut self, count: usize) -> &mut Self {
        self.max_requests = count;
        allow_places(count);
        self
    }

    /// Builds the context, and resets the builder.
    pub fn build(&mut self) -> WasiCtx {
        let builder = std::mem::take(self);
        let initial = builder.standard.into_iter().chain(builder.folders).chain(builder.sockets);
        let descriptors = Descriptors::new(initial.collect(), builder.max_descriptors);
        WasiCtx(Implementation::Usual(Box::new(System {
            args: builder.args,
            env: builder.env,
            clocks: builder.clocks.unwrap_or_else(|| Box::new(SystemClocks::new())),
            random: builder.random,
            descriptors,
            network: builder.network,
            bodies: Budget::new(builder.max_bodies),
            heads: Budget::new(builder.max_heads),
            requests: Budget::new(builder.max_requests),
            lookups: Budget::new(builder.max_requests),
            held_back: Vec::new(),
            resources: Mutex::default(),
        })))
    }
}
