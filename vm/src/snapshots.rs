//! Profiles of a program while it runs.
//!
//! Taken where a check fires, since there the program waits for us and everything is consistent. So they come when
//! bursts begin, and not while the program waits in the host.

use std::time::{Duration, Instant};

use wprof_profiler::Profile;

use crate::runtime::store::StoreOpaque;
use crate::{Error, ErrorKind, Module, Result, Store, profile};

/// Taking snapshots takes no more than one in so many parts of the time, however often they are wanted.
const LEAST_PAUSE: u32 = 20;

/// Who gets them, and when.
pub struct Snapshots {
    module: Module,
    every: Duration,
    next: Instant,
    receive: Box<dyn FnMut(Profile) + Send + Sync>,
}

impl std::fmt::Debug for Snapshots {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Snapshots").field("every", &self.every).finish_non_exhaustive()
    }
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
        self.opaque_mut().snapshots = Some(Snapshots { module, every, next, receive: Box::new(receive) });
        Ok(())
    }

    /// No more snapshots are taken, and whoever gets them is dropped.
    pub fn end_snapshots(&mut self) {
        self.opaque_mut().snapshots = None;
    }
}

impl StoreOpaque {
    /// Hands over a profile if it is time. For where a check has fired between two bursts.
    pub(crate) fn take_snapshot(&mut self) {
        let is_due = |snapshots: &mut Snapshots| snapshots.next <= Instant::now();
        let Some(mut snapshots) = self.snapshots.take_if(is_due) else { return };
        let began = Instant::now();
        if let Some(profile) = profile::so_far(self, snapshots.module.inner()) {
            (snapshots.receive)(profile);
        }
        let now = Instant::now();
        snapshots.next = now + snapshots.every.max((now - began) * LEAST_PAUSE);
        self.snapshots = Some(snapshots);
    }
}
