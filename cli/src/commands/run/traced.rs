//! Files of traces and of recorded bursts: one for each thread, since each has a store of its own.

use std::fs::File;
use std::io::BufWriter;
use std::path::PathBuf;

use anyhow::{Context, Result};
use wprof::wasi::WasiCtx;
use wprof::{Error, Module, Store, TraceSummary};

use crate::modules::failure;

/// The kinds of recordings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recorded {
    /// The whole run.
    Trace,
    /// The events of bursts.
    Bursts,
}

/// A file that a run is recorded in.
#[derive(Clone, Debug)]
pub struct TraceTarget {
    /// The kind of the recording.
    pub what: Recorded,
    /// The path of the main thread's file.
    pub path: PathBuf,
    /// The maximum size of a file.
    pub max_size: u64,
}

/// The file that was written for a thread.
pub struct ThreadTrace {
    /// The path of the file.
    pub path: PathBuf,
    /// The totals of its contents.
    pub summary: TraceSummary,
}

impl TraceTarget {
    /// Creates the file, so that an error comes before the program runs.
    ///
    /// # Errors
    /// Returns an error if the file cannot be created.
    pub fn create(&self) -> Result<File> {
        let what = match self.what {
            Recorded::Trace => "a trace",
            Recorded::Bursts => "bursts",
        };
        File::create(&self.path).with_context(|| format!("cannot write {what} to {}", self.path.display()))
    }

    /// Returns where the thread with this number is recorded.
    pub fn of_thread(&self, number: i32) -> TraceTarget {
        let extension = self.path.extension().map(|extension| format!(".{}", extension.to_string_lossy()));
        let extension = format!("thread{number}{}", extension.unwrap_or_default());
        TraceTarget { path: self.path.with_extension(extension), ..*self }
    }

    /// Begins to record what a store runs.
    ///
    /// # Errors
    /// Returns an error if the engine does not record.
    pub fn begin(
        &self,
        store: &mut Store<WasiCtx>,
        module: &Module,
        program: &str,
        file: File,
    ) -> Result<()> {
        let file = BufWriter::new(file);
        let begun = match self.what {
            Recorded::Trace => store.record_trace(module, program, file, self.max_size),
            Recorded::Bursts => store.record_bursts(module, program, file, self.max_size),
        };
        begun.map_err(failure)
    }

    /// Ends the recording.
    ///
    /// # Errors
    /// Returns an error if the file could not be written.
    pub fn finish(&self, store: &mut Store<WasiCtx>) -> Result<TraceSummary, Error> {
        match self.what {
            Recorded::Trace => store.finish_trace(),
            Recorded::Bursts => store.finish_bursts(),
        }
    }
}
