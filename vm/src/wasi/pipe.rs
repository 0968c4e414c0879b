//! Streams in memory, in place of the process's.

use std::io::IoSlice;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::io::Errno;

/// Where a program's output is collected. Clones are the same pipe.
#[derive(Clone, Debug, Default)]
pub struct OutputPipe(Arc<Mutex<Collected>>);

#[derive(Debug, Default)]
struct Collected {
    bytes: Vec<u8>,
    limit: Option<usize>,
}

impl OutputPipe {
    /// An empty one, which takes whatever the program writes.
    pub fn new() -> OutputPipe {
        OutputPipe::default()
    }

    /// An empty one for at most `limit` bytes; beyond that, the program is told that there is no space left.
    pub fn with_limit(limit: usize) -> OutputPipe {
        OutputPipe(Arc::new(Mutex::new(Collected { bytes: Vec::new(), limit: Some(limit) })))
    }

    /// What was written so far.
    pub fn contents(&self) -> Vec<u8> {
        self.lock().bytes.clone()
    }

    pub(crate) fn write(&self, slices: &[IoSlice<'_>]) -> Result<usize, Errno> {
        let mut collected = self.lock();
        let before = collected.bytes.len();
        for slice in slices {
            let room =
                collected.limit.map_or(usize::MAX, |limit| limit.saturating_sub(collected.bytes.len()));
            collected.bytes.extend_from_slice(&slice[..slice.len().min(room)]);
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
