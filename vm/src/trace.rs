//! Traces of everything that a store executes, started and ended by the embedder.

use std::io::Write;

use wprof_profiler::TraceHead;

pub use crate::runtime::counts::recording::TraceSummary;

use crate::runtime::counts::recording::{Recording, refused};
use crate::runtime::counts::trace_buffer::Trace;
use crate::runtime::instances::loaded;
use crate::{AsContextMut, Module, Result, Store};

impl<T: 'static> Store<T> {
    /// Starts recording everything that the instance of `module` in this store executes into `out`, in at most
    /// `limit` bytes. `program` names the program for the trace's readers. The store must have no other instance,
    /// now or later.
    ///
    /// [`Store::finish_trace`] completes the trace. An incomplete trace can be read too.
    ///
    /// # Errors
    /// Returns an error if the engine does not trace (see [`Config::trace`](crate::Config::trace)), a trace is
    /// being recorded, the store has another instance, or the system refuses.
    pub fn record_trace(
        &mut self,
        module: &Module,
        program: &str,
        out: impl Write + Send + 'static,
        limit: u64,
    ) -> Result<()> {
        let (loaded, store) = (module.loaded(), &mut self.as_context_mut().0.opaque);
        let Some(trace) = &mut store.observed.trace else {
            return Err(refused("the engine does not trace: use Config::trace"));
        };
        if store.items.instances().iter().any(|instance| !loaded::same(&instance.module, &loaded))
            || store.items.instances().len() > 1
        {
            return Err(refused("a trace is of one instance: use a store for it alone"));
        }
        let head = TraceHead { program: program.to_owned(), module_hash: module.hash() };
        trace.start(store.control.is_running(), || Recording::start(loaded, &head, Box::new(out), limit))
    }

    /// Completes the trace that is being recorded.
    ///
    /// # Errors
    /// Returns an error if no trace is being recorded, or it could not be written.
    pub fn finish_trace(&mut self) -> Result<TraceSummary> {
        let recording = self.opaque_mut().observed.trace.as_mut().and_then(Trace::end);
        recording.ok_or_else(|| refused("no trace is being recorded: use Store::record_trace"))?.finish()
    }
}
