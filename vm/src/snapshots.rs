//! Profiles of a program while it runs.
//!
//! Taken where a check fires, since there the program waits for us and everything is consistent. So they come when
//! bursts begin, and not while the program waits in the host.

use std::time::{Duration, Instant};

use wprof_profiler::Profile;

use crate::runtime::burst::bursts;
use crate::runtime::instances::store::StoreOpaque;
use crate::{Error, ErrorKind, Module, Result, Store, profile};

/// Taking snapshots takes no more than one in so many parts of the time, however often they are wanted.
const LEAST_PAUSE: u32 = 20;

/// Who gets them, and when.
struct Snapshots {
    module: Module,
    every: Duration,
    next: Instant,
    receive: Box<dyn FnMut(Profile) + Send + Sync>,
}

impl<T: 'static> Store<T> {
    /// Gives `receive` the profile so far of the first instance of `module`, as
    /// [`Instance::profile`](crate::Instance::profile) has it but for calling contexts, each time that about so long
    /// has passed: when the next check fires, on the program's thread, which waits. It gets none while the program
    /// waits in the host.
    ///
    /// # Errors
    /// If the engine is not an adaptive one: other code has no checks.
    pub fn on_snapshot(
        &mut self,
        module: &Module,
        every: Duration,
        receive: impl FnMut(Profile) + Send + Sync + 'static,
    ) -> Result<()> {
        if self.opaque().bursts.is_none() {
            let message =
                "only adaptive profiles are taken while a program runs: use ProfilingConfig::Adaptive";
            return Err(Error::new(ErrorKind::Type, message));
        }
        let (module, next) = (module.clone(), Instant::now() + every);
        let snapshots = Snapshots { module, every, next, receive: Box::new(receive) };
        self.opaque_mut().set_snapshots(Some(Box::new(snapshots)));
        Ok(())
    }

    /// No more snapshots are taken, and whoever gets them is dropped.
    pub fn end_snapshots(&mut self) {
        self.opaque_mut().set_snapshots(None);
    }
}

impl bursts::Snapshots for Snapshots {
    fn is_due(&self) -> bool {
        self.next <= Instant::now()
    }

    fn take(&mut self, store: &StoreOpaque) {
        let began = Instant::now();
        if let Some(profile) = profile::so_far(store, &self.module.loaded()) {
            (self.receive)(profile);
        }
        let now = Instant::now();
        self.next = now + self.every.max((now - began) * LEAST_PAUSE);
    }
}
