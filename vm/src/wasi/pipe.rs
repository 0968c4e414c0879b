//! Streams in memory, in place of the process's.

use std::io::IoSlice;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::io::Errno;

use super::budget::Charge;

/// Where a program's output is collected. Clones are the same pipe.
#[derive(Clone, Debug, Default)]
pub struct OutputPipe(Arc<Mutex<Collected>>);

#[derive(Debug, Default)]
struct Collected {
    bytes: Vec<u8>,
    limit: Option<usize>,
    /// What it takes of a budget that it has with others.
    charge: Option<Charge>,
}

impl OutputPipe {
    /// An empty one, which takes whatever the program writes.
    pub fn new() -> OutputPipe {
        OutputPipe::default()
    }

    /// An empty one for at most `limit` bytes; beyond that, the program is told that there is no space left.
    pub fn with_limit(limit: usize) -> OutputPipe {
        OutputPipe(Arc::new(Mutex::new(Collected { limit: Some(limit), ..Collected::default() })))
    }

    /// The same, but it takes what it needs from a budget.
    pub(crate) fn with_charge(limit: usize, charge: Charge) -> OutputPipe {
        let (limit, charge) = (Some(limit), Some(charge));
        OutputPipe(Arc::new(Mutex::new(Collected { bytes: Vec::new(), limit, charge })))
    }

    /// What was written so far.
    pub fn contents(&self) -> Vec<u8> {
        self.lock().bytes.clone()
    }

    /// How many bytes were written so far.
    pub(crate) fn len(&self) -> usize {
        self.lock().bytes.len()
    }

    /// Takes out what was written so far.
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
