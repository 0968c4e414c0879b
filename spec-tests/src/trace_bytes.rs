//! A trace in memory.

use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};

/// Where a trace is written, shared with whoever reads it afterwards.
#[derive(Clone, Debug, Default)]
pub struct TraceBytes(Arc<Mutex<Vec<u8>>>);

impl TraceBytes {
    /// What has been written.
    pub fn take(&self) -> Vec<u8> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Write for TraceBytes {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
