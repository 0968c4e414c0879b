//! A server's further instances: of its other workers, and after traps. Each has a store of its own; what stores that are
//! gone have counted is kept here.

use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use anyhow::Result;
use wprof::component::{Component, Instance, InstancePre};
use wprof::wasi::WasiCtx;
use wprof::{Error, Module, Store, Trap};
use wprof_profiler::Profile;

use super::args::ProgramArgs;
use super::core_profiles;
use super::host;
use super::interruption::Interruption;
use crate::commands::serve::Instances;
use crate::modules::failure;

/// The program that a server runs, and what its stores have in common.
pub struct Renewal<'a> {
    pub args: &'a ProgramArgs,
    pub component: &'a Component,
    /// The core module with the most code.
    pub main: &'a Module,
    pub pre: &'a InstancePre<WasiCtx>,
    pub interruption: Option<&'a Interruption>,
    pub deadline: Option<Instant>,
    pub is_deterministic: bool,
    /// Whether there may be other stores than the first.
    pub can_renew: bool,
    /// Collects what stores that are gone have counted, if a profile is wanted.
    pub earlier: Option<Mutex<Option<Profile>>>,
}

impl Instances for Renewal<'_> {
    fn ends(&self) -> Option<Trap> {
        match self.interruption {
            Some(interruption) if interruption.has_come() => Some(Trap::Interrupt),
            _ => self.deadline.filter(|end| Instant::now() >= *end).map(|_| Trap::Deadline),
        }
    }

    fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    fn can_renew(&self) -> bool {
        self.can_renew
    }

    fn can_stop(&self) -> bool {
        self.interruption.is_some()
    }

    fn store(&self, worker: usize) -> Result<Store<WasiCtx>> {
        let wasi = host::wasi(self.args, self.is_deterministic)?;
        let mut store = Store::try_new(self.component.engine(), wasi).map_err(failure)?;
        store.set_deadline(self.deadline).map_err(failure)?;
        if let Some(interruption) = self.interruption {
            interruption.follow(worker, store.interrupt_handle());
        }
        Ok(store)
    }

    fn instance(&self, store: &mut Store<WasiCtx>) -> Result<Instance, Error> {
        self.pre.instantiate(store)
    }

    fn keep(&self, store: &Store<WasiCtx>) -> Result<()> {
        let Some(earlier) = &self.earlier else { return Ok(()) };
        let mut counted = core_profiles::read(store, self.main, Some(self.component))?;
        let mut earlier = earlier.lock().unwrap_or_else(PoisonError::into_inner);
        core_profiles::add(&mut counted, earlier.take())?;
        *earlier = counted;
        Ok(())
    }
}
