//! Runs of one program: profiles that several tables share, each taken when the first table needs it.

use std::cell::OnceCell;

use crate::programs::Program;
use crate::session::Session;
use anyhow::Result;
use wprof::profiler::{CacheShape, Profile};
use wprof::{Collect, Config, Metric, ProfilingConfig, Strategy};

/// A program and its results so far.
pub struct Runs<'a> {
    program: &'a Program,
    bench: bool,
    counted: OnceCell<Profile>,
}

impl<'a> Runs<'a> {
    /// Creates the runs of a program with its arguments for benches, or with those for tests.
    pub fn new(program: &'a Program, bench: bool) -> Runs<'a> {
        Runs { program, bench, counted: OnceCell::new() }
    }

    /// Returns the program.
    pub fn program(&self) -> &'a Program {
        self.program
    }

    /// Returns paths, calling contexts and the paths in these, with misses of a simulated cache along all of them.
    ///
    /// # Errors
    /// Returns an error if the program fails.
    pub fn counted(&self) -> Result<&Profile> {
        if self.counted.get().is_none() {
            let mut config = Config::new();
            config.profiling(ProfilingConfig::Exact(Collect::Paths)).count_contexts(true).flow_contexts(true);
            config.measure([Metric::CacheMisses(CacheShape::USUAL)]);
            let profile = Session::run(self.program, &config, self.bench)?.profile()?;
            return Ok(self.counted.get_or_init(|| profile));
        }
        Ok(self.counted.get().expect("it was there"))
    }

    /// Returns calling contexts whose call sites are merged.
    ///
    /// # Errors
    /// Returns an error if the program fails.
    pub fn by_callee(&self) -> Result<Profile> {
        let mut config = Config::new();
        config.profiling(ProfilingConfig::Off).count_contexts(true).merge_call_sites(true);
        Session::run(self.program, &config, self.bench)?.profile()
    }

    /// Returns the time of the program in optimised code with this configuration, in seconds, and the finished
    /// session.
    ///
    /// # Errors
    /// Returns an error if the program fails.
    pub fn seconds(&self, config: &mut Config) -> Result<(f64, Session)> {
        let session = Session::run(self.program, config.strategy(Strategy::Optimized), self.bench)?;
        Ok((session.time.as_secs_f64(), session))
    }
}
