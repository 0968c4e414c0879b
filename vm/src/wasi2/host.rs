//! The context of a host function: the calling program, and its part of the host.

use std::sync::PoisonError;

use crate::component::{ResourceTable, ResourceTableError};
use crate::wasi::budget::{Budget, Charge};
use crate::wasi::fail::{Fail, Outcome};
use crate::wasi::guest::Guest;
use crate::wasi::system::System;
use crate::{Error, ErrorKind};

/// The calling program, with its part of the host.
pub struct Host<'a> {
    /// The program, which tells whether it is to stop.
    pub guest: Guest<'a>,
    pub system: &'a mut System,
}

impl<'a> Host<'a> {
    /// Returns the resources.
    pub fn table(&mut self) -> &mut ResourceTable {
        table(self.system)
    }

    /// Returns what the body of a message is charged to: a part of the budget of bodies, and the open files.
    pub fn budgets_of_body(&self) -> (Charge, Budget) {
        (self.system.bodies.charge(), self.system.descriptors.open_files().clone())
    }

    /// Adds a resource that counts as an open file as long as it keeps the charge.
    ///
    /// # Errors
    /// Returns an error if the limit of open files is reached, or the table is full.
    pub fn push_open<R: Send + 'static>(
        &mut self,
        value: impl FnOnce(Charge) -> Outcome<R>,
    ) -> Outcome<crate::component::Resource<R>> {
        let open = self.system.descriptors.charge()?;
        let value = value(open)?;
        Ok(self.table().push(value)?)
    }
}

/// Has something done when the program next waits, or asks whether it must, so that what it waits for can come.
pub fn hold_back(system: &mut System, release: impl FnOnce() + Send + Sync + 'static) {
    /// Programs may hold back any number of messages without waiting.
    const MOST: usize = 64;
    if system.held_back.len() >= MOST {
        release_held(system);
    }
    system.held_back.push(Box::new(release));
}

/// Does what was held back.
pub fn release_held(system: &mut System) {
    std::mem::take(&mut system.held_back).into_iter().for_each(|release| release());
}

/// Returns the resources of a system.
pub fn table(system: &mut System) -> &mut ResourceTable {
    system.resources.get_mut().unwrap_or_else(PoisonError::into_inner)
}

impl From<ResourceTableError> for Fail {
    fn from(error: ResourceTableError) -> Fail {
        match error {
            ResourceTableError::Full => Fail::End(Error::new(ErrorKind::Limit, error)),
            _ => Fail::End(trap(error)),
        }
    }
}

/// Returns the error of a misuse for which WASI prescribes a trap.
pub fn trap(why: impl std::fmt::Display) -> Error {
    Error::new(ErrorKind::Trap, format_args!("wasm trap: {why}"))
}
