//! The end of a request before its time: who waits for it in another thread is woken.

use std::net::{Shutdown, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Ends a request, also from another thread. Clones end the same one.
#[derive(Clone, Default)]
pub struct Cancel(Arc<Mutex<Ends>>);

/// What the threads of a request wait for.
#[derive(Default)]
struct Ends {
    is_over: bool,
    server: Option<Arc<TcpStream>>,
    body: Option<Arc<UnixStream>>,
}

impl Cancel {
    fn lock(&self) -> MutexGuard<'_, Ends> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reports whether the request has ended.
    pub fn is_over(&self) -> bool {
        self.lock().is_over
    }

    /// Has the connection end with the request.
    pub fn watch_server(&self, server: &Arc<TcpStream>) {
        let mut ends = self.lock();
        ends.server = Some(server.clone());
        if ends.is_over {
            ends.shut();
        }
    }

    /// Has the way of the body that the program writes end with the request.
    pub fn watch_body(&self, body: &Arc<UnixStream>) {
        let mut ends = self.lock();
        ends.body = Some(body.clone());
        if ends.is_over {
            ends.shut();
        }
    }

    /// Ends the request.
    pub fn end(&self) {
        let mut ends = self.lock();
        ends.is_over = true;
        ends.shut();
    }
}

impl Ends {
    /// Shuts what is open, and keeps no descriptor of it.
    fn shut(&mut self) {
        // They may have ended already.
        if let Some(server) = self.server.take() {
            let _ = server.shutdown(Shutdown::Both);
        }
        if let Some(body) = self.body.take() {
            let _ = body.shutdown(Shutdown::Both);
        }
    }
}

/// Ends a request when it is dropped.
pub struct Guard(pub Cancel);

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.end();
    }
}
