//! The bursts of a store, as the embedder sees and changes them.

use std::io::Write;

use wprof_profiler::{BurstLengths, Bursts, Rate, TraceHead};

use crate::runtime::burst::burst_log::BurstLog;
use crate::runtime::counts::recording::{TraceSummary, refused};
use crate::{Module, Result, Store, StoreContextMut};

impl<T: 'static> Store<T> {
    /// Returns the state of the bursts in which an adaptive profile is taken: how many began, and when the next
    /// one begins; `None` without an adaptive profile. With [`Trigger::Time`](crate::Trigger::Time) nobody counts
    /// the checks between bursts: see [`Store::burst_rate`].
    pub fn bursts(&self) -> Option<Bursts> {
        self.opaque().observed.bursts.as_ref().map(|bursts| *bursts.counts())
    }

    /// Returns the share of the program that was in bursts so far, as profiles state it; `None` without an
    /// adaptive profile. It is a share of all checks or, with [`Trigger::Time`](crate::Trigger::Time), of the
    /// thread's CPU time in nanoseconds.
    pub fn burst_rate(&self) -> Option<Rate> {
        self.opaque().observed.burst_rate()
    }

    /// Changes the length of bursts and the number of checks between them; `None` stops bursts until lengths are
    /// set again. A burst in progress ends. The counts so far are kept, and
    /// [`FigureKind::Sampled`](wprof_profiler::FigureKind::Sampled) tells their share of all checks.
    ///
    /// # Errors
    /// Returns an error if the engine does not profile adaptively, or the system cannot start a timer thread.
    pub fn set_bursts(&mut self, lengths: Option<BurstLengths>) -> Result<()> {
        self.opaque_mut().set_bursts(lengths)
    }

    /// Starts recording bursts into `out`, in at most `limit` bytes: which functions of instances of `module` are
    /// entered in each burst, which paths end in it and, with
    /// [`Config::trace_references`](crate::Config::trace_references), what they access, in order. `program` names
    /// the program for readers of [`BurstReader`](wprof_profiler::BurstReader). [`Store::finish_bursts`]
    /// completes the recording.
    ///
    /// # Errors
    /// Returns an error if the engine does not record bursts (see
    /// [`Config::record_bursts`](crate::Config::record_bursts)), or the system refuses.
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
        if let Some(bursts) = &mut self.opaque_mut().observed.bursts {
            bursts.set_log(Some(log));
        }
        Ok(())
    }

    /// Completes the recording of bursts.
    ///
    /// # Errors
    /// Returns an error if no bursts are being recorded, or they could not be written.
    pub fn finish_bursts(&mut self) -> Result<TraceSummary> {
        let log = self.opaque_mut().observed.bursts.as_mut().and_then(|bursts| bursts.set_log(None));
        log.ok_or_else(|| refused("no bursts are being recorded: use Store::record_bursts"))?.finish()
    }
}

impl<T: 'static> StoreContextMut<'_, T> {
    /// See [`Store::set_bursts`].
    ///
    /// # Errors
    /// Returns an error as [`Store::set_bursts`] does.
    pub fn set_bursts(&mut self, lengths: Option<BurstLengths>) -> Result<()> {
        self.0.opaque.set_bursts(lengths)
    }
}
