//! Connection handling, with a thread per connection: browsers open some that they use later.

use std::io::ErrorKind;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use signal_hook::consts::{SIGINT, SIGTERM};

use crate::{names, output};

/// The interval at which the server checks whether to stop.
const PERIOD: Duration = Duration::from_millis(20);
/// The maximum number of simultaneous connections; further ones wait.
const MAX_CONNECTIONS: usize = 64;

/// Opens a listener at an address, and returns the actual address.
///
/// # Errors
/// Returns an error if the address cannot be listened on.
pub fn listen(address: SocketAddr) -> Result<(TcpListener, SocketAddr)> {
    let cannot = || format!("cannot listen at {address}");
    let listener = TcpListener::bind(address).with_context(cannot)?;
    listener.set_nonblocking(true).with_context(cannot)?;
    let address = listener.local_addr().with_context(cannot)?;
    Ok((listener, address))
}

/// Returns a flag that Ctrl-C, or another request to end the process, sets from now on.
///
/// # Errors
/// Returns an error if the system refuses.
pub fn interruption() -> Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, stop.clone())?;
    }
    Ok(stop)
}

/// Answers connections until `is_done`, which is checked periodically, returns true. Connections that are open then are
/// abandoned.
///
/// # Errors
/// Returns an error if the listener fails.
pub fn serve(
    listener: &TcpListener,
    answer: impl Fn(&TcpStream) -> Result<()> + Send + Sync + 'static,
    mut is_done: impl FnMut() -> bool,
) -> Result<()> {
    let running = Arc::new(AtomicUsize::new(0));
    let ended = running.clone();
    let one = Arc::new(move |stream: &TcpStream| {
        if let Err(error) = answer(stream) {
            output::tell_line(format_args!("wprof: {}", names::harmless(&format!("{error:#}"))));
        }
        ended.fetch_sub(1, Ordering::Relaxed);
    });
    while !is_done() {
        if running.load(Ordering::Relaxed) >= MAX_CONNECTIONS {
            thread::sleep(PERIOD);
            continue;
        }
        match listener.accept() {
            Ok((stream, _)) => {
                running.fetch_add(1, Ordering::Relaxed);
                let one = one.clone();
                thread::spawn(move || one(&stream));
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => thread::sleep(PERIOD),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error).context("cannot take connections"),
        }
    }
    Ok(())
}
