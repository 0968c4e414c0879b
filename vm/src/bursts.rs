//! Bursts of a store, as its embedder sees and changes them, and what happens in them in order.

use std::io::Write;

use wprof_profiler::{
    BurstEvent, BurstLengths, BurstWriter, Bursts, ExtendedPaths, Rate, TraceFileError, TraceHead,
};

use crate::runtime::store::StoreOpaque;
use crate::trace::refused;
use crate::{Error, Module, Result, Store, StoreContextMut, TraceSummary};

/// Bursts being recorded.
#[derive(Debug)]
pub struct BurstLog {
    /// The instances of this module.
    module: Module,
    writer: BurstWriter<Output>,
    /// Why nothing is recorded any more.
    failed: Option<TraceFileError>,
}

/// Where they go.
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
    /// Records what happened in an instance of `module`.
    pub(crate) fn push_of(&mut self, module: &Module, event: BurstEvent) {
        if self.module.is(module) {
            self.push(event);
        }
    }

    /// Records what happened. If that fails the program goes on without.
    pub(crate) fn push(&mut self, event: BurstEvent) {
        if self.failed.is_none() {
            self.failed = self.writer.push(event).err();
        }
    }

    fn finish(self) -> Result<TraceSummary> {
        let (bytes, limit_reached) =
            self.failed.map_or_else(|| self.writer.finish(), Err).map_err(not_written)?;
        Ok(TraceSummary { bytes, limit_reached })
    }
}

impl StoreOpaque {
    /// A burst begins: what is on the stack is no part of extended paths.
    pub(crate) fn begin_extended_paths(&mut self) {
        self.instances
            .iter_mut()
            .filter_map(|instance| instance.extended.as_mut())
            .for_each(ExtendedPaths::begin);
    }

    /// Takes what happens in an instance for part of an extended path, if these are counted and a burst runs.
    pub(crate) fn extend_path(&mut self, instance: u32, event: BurstEvent, leaves: bool) {
        if !self.counts_in_burst() {
            return;
        }
        let Some(extended) = &mut self.instances[instance as usize].extended else { return };
        match event {
            BurstEvent::Enter { func } => extended.enter(func),
            BurstEvent::Path { func, id } => extended.end((func, id), leaves),
            BurstEvent::Begin { .. } | BurstEvent::BeginByTime { .. } | BurstEvent::Access { .. } => {}
        }
    }

    /// Records what happens in an instance, if a burst runs and is recorded.
    pub(crate) fn record_in_burst(&mut self, instance: u32, event: BurstEvent) {
        if self.counts_in_burst()
            && let Some(log) = self.burst_log.get_mut()
        {
            log.push_of(&self.instances[instance as usize].module, event);
        }
    }
}

impl<T: 'static> Store<T> {
    /// How the bursts go in which an adaptive profile is taken: how many began, where the next one is; `None`
    /// without. With [`Trigger::Time`](crate::Trigger::Time) nobody counts the checks between them: see
    /// [`Store::burst_rate`].
    pub fn bursts(&self) -> Option<Bursts> {
        self.opaque().bursts
    }

    /// The share of the program that was in bursts so far, as profiles have it; `None` without. It is of all checks,
    /// or with [`Trigger::Time`](crate::Trigger::Time) of the processor time of the thread, in nanoseconds.
    pub fn burst_rate(&self) -> Option<Rate> {
        self.opaque().burst_rate()
    }

    /// Changes how long bursts are and how many checks lie between them; `None` for no bursts until they are set
    /// again. One that runs ends. What was counted stays, and
    /// [`FigureKind::Sampled`](wprof_profiler::FigureKind::Sampled) says of how large a share of all checks it is.
    ///
    /// # Errors
    /// If the engine is not an adaptive one, or the system has no thread for a timer.
    pub fn set_bursts(&mut self, lengths: Option<BurstLengths>) -> Result<()> {
        self.opaque_mut().set_bursts(lengths)
    }

    /// Records from now on which functions of instances of `module` are entered in each burst, which paths end there,
    /// and with [`Config::trace_references`](crate::Config::trace_references) what they touch, in order, into `out`,
    /// in at most `limit` bytes; `program` is a name for the readers of [`BurstReader`](wprof_profiler::BurstReader).
    /// [`Store::finish_bursts`] completes it.
    ///
    /// # Errors
    /// If the engine does not record bursts (see [`Config::record_bursts`](crate::Config::record_bursts)), or the
    /// system refuses.
    pub fn record_bursts(
        &mut self,
        module: &Module,
        program: &str,
        out: impl Write + Send + 'static,
        limit: u64,
    ) -> Result<()> {
        if !self.engine().config().records_bursts() {
            return Err(refused("the engine does not record bursts: use Config::record_bursts"));
        }
        let head = TraceHead { program: program.to_owned(), module_hash: module.hash() };
        let writer = BurstWriter::new(Output(Box::new(out)), &head, limit).map_err(not_written)?;
        let log = BurstLog { module: module.clone(), writer, failed: None };
        *self.opaque_mut().burst_log.get_mut() = Some(log);
        Ok(())
    }

    /// Completes the bursts that are being recorded.
    ///
    /// # Errors
    /// If there are none, or they could not be written.
    pub fn finish_bursts(&mut self) -> Result<TraceSummary> {
        let log = self.opaque_mut().burst_log.get_mut().take();
        log.ok_or_else(|| refused("no bursts are being recorded: use Store::record_bursts"))?.finish()
    }
}

impl<T: 'static> StoreContextMut<'_, T> {
    /// See [`Store::set_bursts`].
    ///
    /// # Errors
    /// As there.
    pub fn set_bursts(&mut self, lengths: Option<BurstLengths>) -> Result<()> {
        self.0.opaque.set_bursts(lengths)
    }
}

fn not_written(error: TraceFileError) -> Error {
    Error::system("the bursts could not be written", error)
}
