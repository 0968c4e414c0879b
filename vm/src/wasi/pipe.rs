//! In-memory streams that replace the process's.

use std::io::IoSlice;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::io::Errno;

use super::budget::Charge;

/// The collected output of a program. Clones are the same pipe.
#[derive(Clone, Debug, Default)]
pub struct OutputPipe(Arc<Mutex<Collected>>);

#[derive(Debug, Default)]
struct Collected {
    bytes: Vec<u8>,
    limit: Option<usize>,
    /// The pipe's part of a shared budget.
    charge: Option<Charge>,
}

impl OutputPipe {
    /// Creates an empty pipe, which accepts all output of the program.
    pub fn new() -> OutputPipe {
        OutputPipe::default()
    }

    /// Creates an empty pipe for at most `limit` bytes; further writes fail for lack of space.
    pub fn with_limit(limit: usize) -> OutputPipe {
        OutputPipe(Arc::new(Mutex::new(Collected { limit: Some(limit), ..Collected::default() })))
    }

    /// Creates an empty pipe with a limit, charged to a budget.
    pub(crate) fn with_charge(limit: usize, charge: Charge) -> OutputPipe {
        let (limit, charge) = (Some(limit), Some(charge));
        OutputPipe(Arc::new(Mutex::new(Collected { bytes: Vec::new(), limit, charge })))
    }

    /// Returns the output so far.
    pub fn contents(&self) -> Vec<u8> {
        self.lock().bytes.clone()
    }

    /// Returns the number of bytes written so far.
    pub(crate) fn len(&self) -> usize {
        self.lock().bytes.len()
    }

    /// Takes the output so far.
    pub(crate) fn take(&self) -> Vec<u8> {
        std::mem::take(&mut self.lock().bytes)
    }

    pub(crate) fn write(&self, slices: &[IoSlice<'_>]) -> Result<usize, Errno> {
        let mut collected = self.lock();
        let before = collected.bytes.len();
        for slice in slices {
            let room =
                collected.limit.map_or(usize::MAX, |limit| limit.saturating_sub(collected.bytes.len()));
            let part = &slice[..slice.len().min(room)];
            if collected.charge.as_mut().is_some_and(|charge| !charge.grow(part.len())) {
                break;
            }
            collected.bytes.extend_from_slice(part);
        }
        let written = collected.bytes.len() - before;
        if written == 0 && slices.iter().any(|slice| !slice.is_empty()) {
            return Err(Errno::NOSPC);
        }
        Ok(written)
    }

    fn lock(&self) -> MutexGuard<'_, Collected> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
