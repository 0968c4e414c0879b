//! Profiles of a program while it runs.
//!
//! A snapshot is taken where a check fires, because the program waits there and all its state is consistent. So
//! snapshots come when bursts begin, and not while the program waits in the host.

use std::time::{Duration, Instant};

use wprof_profiler::Profile;

use crate::component::Component;
use crate::runtime::burst::store_bursts;
use crate::runtime::instances::store_opaque::StoreOpaque;
use crate::{Error, ErrorKind, Module, Result, Store, profile};

/// Snapshots take at most one part in this many of the time, however often they are requested.
const LEAST_PAUSE: u32 = 20;

/// Takes the profile so far of a store; `None` if there is none.
type Take = dyn Fn(&StoreOpaque) -> Option<Profile> + Send + Sync;

/// The receiver of snapshots, and their schedule.
struct Snapshots {
    take: Box<Take>,
    every: Duration,
    next: Instant,
    receive: Box<dyn FnMut(Profile) + Send + Sync>,
}

impl<T: 'static> Store<T> {
    /// Passes the profile so far of the first instance of `module` to `receive` about once per `every`. The
    /// profile is that of [`Instance::profile`](crate::Instance::profile) without calling contexts. It is taken
    /// when the next check fires, on the program's thread, which waits meanwhile; there are no snapshots while
    /// the program waits in the host. Taking one takes as long as to read all counters of the instance; however often they
    /// are wanted, snapshots take at most a twentieth of the time.
    ///
    /// # Errors
    /// Returns an error if the engine does not profile adaptively, because only adaptive code has checks.
    pub fn on_snapshot(
        &mut self,
        module: &Module,
        every: Duration,
        receive: impl FnMut(Profile) + Send + Sync + 'static,
    ) -> Result<()> {
        let module = module.clone();
        self.begin_snapshots(every, (move |store: &_| profile::so_far(store, &module.loaded()), receive))
    }

    /// Passes the profile so far of all core modules of `component`, that of [`Component::profile`] without calling contexts,
    /// as [`on_snapshot`](Self::on_snapshot) does.
    ///
    /// # Errors
    /// Returns an error if the engine does not profile adaptively.
    pub fn on_component_snapshot(
        &mut self,
        component: &Component,
        every: Duration,
        receive: impl FnMut(Profile) + Send + Sync + 'static,
    ) -> Result<()> {
        let component = component.clone();
        self.begin_snapshots(every, (move |store: &_| component.profile_so_far(store), receive))
    }

    fn begin_snapshots(
        &mut self,
        every: Duration,
        (take, receive): (
            impl Fn(&StoreOpaque) -> Option<Profile> + Send + Sync + 'static,
            impl FnMut(Profile) + Send + Sync + 'static,
        ),
    ) -> Result<()> {
        if self.opaque().observed.bursts.is_none() {
            let message =
                "only adaptive profiles are taken while a program runs: use ProfilingConfig::Adaptive";
            return Err(Error::new(ErrorKind::Type, message));
        }
        let (take, next) = (Box::new(take), Instant::now() + every);
        let snapshots = Snapshots { take, every, next, receive: Box::new(receive) };
        self.opaque_mut().set_snapshots(Some(Box::new(snapshots)));
        Ok(())
    }

    /// Stops taking snapshots, and drops the receiver.
    pub fn end_snapshots(&mut self) {
        self.opaque_mut().set_snapshots(None);
    }
}

impl store_bursts::Snapshots for Snapshots {
    fn is_due(&self) -> bool {
        self.next <= Instant::now()
    }

    fn take(&mut self, store: &StoreOpaque) {
        let began = Instant::now();
        if let Some(profile) = (self.take)(store) {
            (self.receive)(profile);
        }
        let now = Instant::now();
        self.next = now + self.every.max((now - began) * LEAST_PAUSE);
    }
}
