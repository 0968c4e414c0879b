//! The events of bursts in order, recorded to a file and as part of extended paths.

use std::io::Write;
use std::sync::Arc;

use wprof_profiler::{BurstEvent, BurstWriter, ExtendedPaths, TraceFileError, TraceHead};

use crate::runtime::counts::recording::TraceSummary;
use crate::runtime::instances::instance::InstanceData;
use crate::runtime::instances::items::Items;
use crate::runtime::instances::loaded::{self, LoadedModule};
use crate::{Error, Result};

/// A recording of bursts.
#[derive(Debug)]
pub struct BurstLog {
    /// The module whose instances are recorded.
    module: Arc<dyn LoadedModule>,
    writer: BurstWriter<Output>,
    /// The error after which nothing is recorded any more.
    failed: Option<TraceFileError>,
}

/// The destination of the recording.
struct Output(Box<dyn Write + Send>);

impl std::fmt::Debug for Output {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Output")
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.0.flush()
    }
}

impl BurstLog {
    /// Starts recording the events in instances of `module` into `out`, in at most `limit` bytes.
    ///
    /// # Errors
    /// Returns an error if the header cannot be written.
    pub fn start(
        module: Arc<dyn LoadedModule>,
        head: &TraceHead,
        out: Box<dyn Write + Send>,
        limit: u64,
    ) -> Result<BurstLog> {
        let writer = BurstWriter::new(Output(out), head, limit).map_err(not_written)?;
        Ok(BurstLog { module, writer, failed: None })
    }

    /// Records an event of an instance of `module`, if it is the recorded one.
    pub fn push_of(&mut self, module: &Arc<dyn LoadedModule>, event: BurstEvent) {
        if loaded::same(&self.module, module) {
            self.push(event);
        }
    }

    /// Records an event. If that fails, the program continues without the recording.
    pub fn push(&mut self, event: BurstEvent) {
        if self.failed.is_none() {
            self.failed = self.writer.push(event).err();
        }
    }

    /// Completes the file.
    ///
    /// # Errors
    /// Returns an error if the recording could not be written.
    pub fn finish(self) -> Result<TraceSummary> {
        let (bytes, limit_reached) =
            self.failed.map_or_else(|| self.writer.finish(), Err).map_err(not_written)?;
        Ok(TraceSummary { bytes, limit_reached })
    }
}

impl Items {
    /// Begins a burst: the frames on the stack are not part of extended paths.
    pub fn begin_extended_paths(&mut self) {
        self.instances_mut()
            .iter_mut()
            .filter_map(|instance| instance.extended.as_mut())
            .for_each(ExtendedPaths::begin);
    }
}

impl InstanceData {
    /// Adds an event in a burst to an extended path, if these are counted.
    pub fn extend_path(&mut self, event: BurstEvent, leaves: bool) {
        let Some(extended) = &mut self.extended else { return };
        match event {
            BurstEvent::Enter { func } => extended.enter(func),
            BurstEvent::Path { func, id } => extended.end((func, id), leaves),
            BurstEvent::Begin { .. } | BurstEvent::BeginByTime { .. } | BurstEvent::Access { .. } => {}
        }
    }
}

fn not_written(error: TraceFileError) -> Error {
    Error::system("the bursts could not be written", error)
}
