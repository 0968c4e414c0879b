//! Traces recorded in memory.

use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};

use wprof::{Module, Store};

/// The trace of a run, if its engine traces.
#[derive(Clone, Debug, Default)]
pub struct Recorded(Option<Arc<Mutex<Vec<u8>>>>);

impl Recorded {
    /// Starts recording the trace of the instance of `module`.
    ///
    /// # Errors
    /// Returns an error if the store refuses to record.
    pub fn start<T: 'static>(store: &mut Store<T>, module: &Module) -> Result<Recorded, String> {
        if !store.engine().config().traces() {
            return Ok(Recorded(None));
        }
        let file = Recorded(Some(Arc::default()));
        store.record_trace(module, "", file.clone(), u64::MAX).map_err(|e| e.to_string())?;
        Ok(file)
    }

    /// Returns the whole trace.
    ///
    /// # Errors
    /// Returns an error if the trace could not be completed.
    pub fn finish<T: 'static>(self, store: &mut Store<T>) -> Result<Option<Vec<u8>>, String> {
        let Some(file) = self.0 else { return Ok(None) };
        store.finish_trace().map_err(|e| e.to_string())?;
        Ok(Some(std::mem::take(&mut *file.lock().unwrap_or_else(PoisonError::into_inner))))
    }
}

impl Write for Recorded {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let Some(file) = &self.0 else { return Ok(bytes.len()) };
        file.lock().unwrap_or_else(PoisonError::into_inner).write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
