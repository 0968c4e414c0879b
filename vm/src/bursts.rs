//! Bursts of a store, as its embedder sees and changes them.

use std::io::Write;

use wprof_profiler::{BurstLengths, Bursts, Rate, TraceHead};

use crate::runtime::burst::burst_log::BurstLog;
use crate::runtime::counts::recording::{TraceSummary, refused};
use crate::{Module, Result, Store, StoreContextMut};

impl<T: 'static> Store<T> {
    /// How the bursts go in which an adaptive profile is taken: how many began, where the next one is; `None`
    /// without. With [`Trigger::Time`](crate::Trigger::Time) nobody counts the checks between them: see
    /// [`Store::burst_rate`].
    pub fn bursts(&self) -> Option<Bursts> {
        self.opaque().bursts.as_ref().map(|bursts| *bursts.counts())
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
        let log = BurstLog::start(module.loaded(), &head, Box::new(out), limit)?;
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
