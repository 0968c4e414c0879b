//! The size of traces, by what they record: Ball & Larus 1994, table 3.

use std::io::Cursor;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result};
use wprof::profiler::{TraceMethod, TraceReader};
use wprof::{Config, Strategy, Tracing};

use super::Runs;
use crate::programs::Program;
use crate::session::{Loaded, failure};
use crate::table::Table;

const HEAD: [&str; 6] = [
    "every branch, KiB",
    "bits, KiB",
    "witnesses, KiB",
    "every branch over witnesses",
    "the better of both, compressed, KiB",
    "packed, bits a branch",
];

/// Makes the table of the bytes of each trace's bits, before compression except in the last two columns.
pub fn sizes(runs: &Runs<'_>) -> Result<Table> {
    runs.each(&HEAD, |program| {
        let recorded = |how| recorded(program, &program.quick_args, how, false);
        let bits = |method| -> Result<u64> { Ok(recorded(Tracing::Only(method))?.stats()?.stream_bits) };
        let [all, bits, witnesses] =
            [TraceMethod::EveryBranch, TraceMethod::BitTracing, TraceMethod::Witnesses].map(bits);
        let (all, bits, witnesses) = (all?, bits?, witnesses?);
        let mut best = recorded(Tracing::Best)?;
        let stored = best.stats()?.stored_bytes;
        let packed = best.pack_first(usize::MAX, &mut std::io::sink())?;
        let kib = |bits: u64| format!("{:.1}", bits as f64 / 8192.0);
        Ok(vec![
            kib(all),
            kib(bits),
            kib(witnesses),
            format!("{:.2}", all as f64 / witnesses as f64),
            format!("{:.1}", stored as f64 / 1024.0),
            packed.bits_per_branch().map_or("-".to_owned(), |bits| format!("{bits:.3}")),
        ])
    })
}

/// A buffer that remains readable when its writer is gone.
#[derive(Clone, Default)]
pub(super) struct Shared(Arc<Mutex<Vec<u8>>>);

impl Shared {
    /// Returns what has been written, and leaves nothing.
    pub(super) fn take(&self) -> Vec<u8> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl std::io::Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Returns the trace of a run, with data references if requested.
pub(super) fn recorded(
    program: &Program,
    args: &[String],
    how: Tracing,
    references: bool,
) -> Result<TraceReader<Cursor<Vec<u8>>>> {
    let mut config = Config::new();
    config.strategy(Strategy::Optimized).trace(how).trace_references(references);
    let file = Shared::default();
    let loaded = Loaded::new(program, &config)?;
    let mut session = loaded.run_recorded(args, file.clone())?;
    session.store.finish_trace().map_err(failure)?;
    drop(session);
    TraceReader::open(Cursor::new(file.take())).context("no trace")
}
