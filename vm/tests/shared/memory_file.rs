//! A file in memory, which a store writes and a test reads.

use std::io::{Cursor, Write};
use std::sync::{Arc, Mutex};

use wprof::profiler::{TraceEvent, TraceReader};

/// A file in memory. Clones share it.
#[derive(Clone, Default)]
pub struct File(pub Arc<Mutex<Vec<u8>>>);

impl Write for File {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().expect("no panic").write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl File {
    /// Opens the trace that was written.
    pub fn trace(&self) -> TraceReader<Cursor<Vec<u8>>> {
        let bytes = self.0.lock().expect("no panic").clone();
        TraceReader::open(Cursor::new(bytes)).expect("a trace")
    }

    /// Returns all events of the trace.
    pub fn events(&self) -> Vec<TraceEvent> {
        self.trace().events_from(0).collect::<Result<_, _>>().expect("a whole trace")
    }
}
