//! Runs of one program: profiles that several tables are made from, each taken when the first table asks for it.

use std::cell::OnceCell;

use anyhow::Result;
use wprof::profiler::{CacheShape, Profile};
use wprof::{Collect, Config, Metric, ProfilingConfig};
use wprof_bench::programs::Program;
use wprof_bench::session::Session;

/// A program and what is known of it so far.
pub struct Runs<'a> {
    program: &'a Program,
    bench: bool,
    counted: OnceCell<Profile>,
    timed: OnceCell<Profile>,
}

impl<'a> Runs<'a> {
    /// Runs of a program with its arguments for benches, or with those for tests.
    pub fn new(program: &'a Program, bench: bool) -> Runs<'a> {
        Runs { program, bench, counted: OnceCell::new(), timed: OnceCell::new() }
    }

    /// The program.
    pub fn program(&self) -> &'a Program {
        self.program
    }

    /// Paths and calling contexts, with misses of a simulated cache along both.
    ///
    /// # Errors
    /// If the program fails.
    pub fn counted(&self) -> Result<&Profile> {
        let cache = Metric::CacheMisses(CacheShape::USUAL);
        self.profile(&self.counted, |config| config.count_contexts(true).measure([cache]))
    }

    /// Paths, with cycles along them.
    ///
    /// # Errors
    /// If the program fails.
    pub fn timed(&self) -> Result<&Profile> {
        self.profile(&self.timed, |config| config.measure([Metric::Cycles]))
    }

    fn profile<'s>(
        &self,
        known: &'s OnceCell<Profile>,
        choose: impl FnOnce(&mut Config) -> &mut Config,
    ) -> Result<&'s Profile> {
        if known.get().is_none() {
            let mut config = Config::new();
            choose(config.profiling(ProfilingConfig::Exact(Collect::Paths)));
            let profile = Session::run(self.program, &config, self.bench)?.profile()?;
            return Ok(known.get_or_init(|| profile));
        }
        Ok(known.get().expect("it was there"))
    }
}
