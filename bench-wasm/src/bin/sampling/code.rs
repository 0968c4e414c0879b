//! The size of the code for checks and bursts, its compile time, and their share of a cold start.

use std::time::Instant;

use anyhow::Result;
use wprof::profiler::{CodeTier, CodeVersion};
use wprof::{Adaptive, Config, Engine, Module, ProfilingConfig};
use wprof_bench::programs::Program;
use wprof_bench::session::{Session, failure};

use super::timed::Engines;

/// The columns of [`Code::figures`]: plain code of all functions, and the burst versions that a run compiles.
pub const FIGURES: &[&str] = &["off KiB", "off ms", "bursts KiB", "bursts ms"];

/// The columns of [`Code::ratios`], relative to plain code.
pub const RATIOS: &[&str] = &["size with checks", "time with checks", "start-up"];

/// The code of one program.
pub struct Code {
    pub figures: [f64; 4],
    pub ratios: [f64; 3],
}

impl Code {
    /// Compiles and runs `program`, with its arguments for tests, and returns its code.
    ///
    /// # Errors
    /// Returns an error if the program cannot be compiled or run.
    pub fn measure(program: &Program, engines: &Engines) -> Result<Code> {
        let mut adaptive = Config::new();
        adaptive.profiling(ProfilingConfig::Adaptive(Adaptive::default())).count_contexts(true);
        let (off, checks) = (all(program, &Config::new())?, all(program, &adaptive)?);
        let versions = versions(program, &mut adaptive)?;
        let in_bursts = || versions.iter().filter(|version| version.tier == CodeTier::Burst);
        let kib = |bytes: u64| bytes as f64 / 1024.0;
        let bytes = in_bursts().map(|version| version.bytes).sum();
        let ns: u64 = in_bursts().map(|version| version.took_ns).sum();
        let [plain, sampled] = engines.cold(program)?;
        Ok(Code {
            figures: [kib(off.0), off.1, kib(bytes), ns as f64 / 1e6],
            ratios: [checks.0 as f64 / off.0 as f64, checks.1 / off.1, sampled / plain],
        })
    }
}

/// Returns the size of the optimised code of all functions in bytes, and the minimum compile time in milliseconds.
fn all(program: &Program, config: &Config) -> Result<(u64, f64)> {
    const TRIES: usize = 3;
    let (mut bytes, mut least) = (0, f64::MAX);
    for _ in 0..TRIES {
        let engine = Engine::new(config).map_err(failure)?;
        let module = Module::from_file(&engine, &program.file).map_err(failure)?;
        let begin = Instant::now();
        module.compile_all().map_err(failure)?;
        least = least.min(begin.elapsed().as_secs_f64() * 1e3);
        bytes = module.code_bytes() as u64;
    }
    Ok((bytes, least))
}

/// Returns the code versions that a run compiles.
fn versions(program: &Program, config: &mut Config) -> Result<Vec<CodeVersion>> {
    let profile =
        Session::run(program, config.time_line(true).background_compilation(false), false)?.profile()?;
    Ok(profile.timeline.map_or_else(Vec::new, |timeline| timeline.versions))
}
