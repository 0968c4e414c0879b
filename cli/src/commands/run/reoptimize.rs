//! The options `--profile-use` and `--without`: whether, and by which passes, hot functions are reoptimized.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Result, ensure};
use clap::{Args, ValueEnum, ValueHint};
use wprof::{Config, Lanes, Module, Policy, ProfilingConfig, Reoptimization, VectorizedLoop};
use wprof_profiler::{FunctionProfile, Profile};
use wprof_report::numbers::count_of;
use wprof_report::{explain, names};

use super::collect::Measurements;
use crate::help;

/// Something that the reoptimizer does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Optimization {
    /// Superblocks: copies of hot paths without joins
    Superblocks,
    /// Inlining of callees into their callers
    Inlining,
    /// Inlining of the likely callee of an indirect call, behind a test
    Guesses,
    /// Everything that uses the profile
    All,
}

/// How hot functions are made better.
#[derive(Clone, Debug, Default, Args)]
pub struct ReoptimizeArgs {
    /// Optimize functions that were hot in this earlier profile as soon as they are warm
    ///
    /// Does not work with exact profiles.
    #[arg(long, value_name = "PROFILE", value_hint = ValueHint::FilePath)]
    #[arg(help_heading = help::SPEED, hide_short_help = true)]
    profile_use: Option<PathBuf>,
    /// Prefetch in hot loops that follow pointers, where a trial shows that it pays
    ///
    /// Such a loop logs the addresses that it follows, up to two megabytes per instance. The next time it loads ahead
    /// the addresses that it needed next before. `-v` shows the results of the trials.
    #[arg(long, help_heading = help::SPEED, hide_short_help = true)]
    prefetch: bool,
    /// Leave out optimizations that use the profile of this run or an earlier one
    #[arg(long, value_enum, value_name = "WHAT", value_delimiter = ',')]
    #[arg(help_heading = help::SPEED, hide_short_help = true)]
    without: Vec<Optimization>,
}

impl ReoptimizeArgs {
    /// Returns the policy of reoptimization, if it is enabled.
    pub fn policy(&self) -> Option<Policy> {
        let has = |what| !self.without.contains(&what);
        let policy = Policy {
            prefetching: self.prefetch,
            superblocks: has(Optimization::Superblocks),
            inlining: has(Optimization::Inlining),
            guesses: has(Optimization::Guesses),
            ..Policy::default()
        };
        has(Optimization::All).then_some(policy)
    }

    /// Checks that the options do something: code that counts exactly stays as it is, and without bursts only an earlier
    /// profile says what to do.
    fn check(&self, counted: &Measurements) -> Result<()> {
        let asked = [
            ("--profile-use", self.profile_use.is_some()),
            ("--prefetch", self.prefetch),
            ("--without", !self.without.is_empty()),
        ];
        let asked = asked.into_iter().find_map(|(name, is_given)| is_given.then_some(name));
        let Some(option) = asked else { return Ok(()) };
        let is_exact = counted.is_on() && !matches!(counted.profiling, ProfilingConfig::Adaptive(_));
        ensure!(
            !is_exact,
            "{option} controls optimization by a profile, which code with exact counts does not get: leave out {option}, or \
             sample, or give --profile off"
        );
        ensure!(
            counted.is_on() || self.profile_use.is_some(),
            "{option} controls optimization by a profile, and there is none: leave out {option} or --profile off, or add \
             --profile-use"
        );
        Ok(())
    }

    /// Returns the earlier profile, if one is given and is not empty. The profile of a run too short for a burst is
    /// empty; it is left out with a note.
    ///
    /// # Errors
    /// Returns an error if the profile cannot be read, or has no edge counts.
    pub fn profile(&self) -> Result<Option<Arc<Profile>>> {
        let Some(path) = &self.profile_use else { return Ok(None) };
        let profile = crate::commands::read_profile(path)?;
        // A sample of a longer run has functions; another profile without any counted something else.
        if profile.functions.is_empty() && profile.bursts.is_some() {
            eprintln!(
                "wprof: {} has no counts, because that run was too short: running without it",
                path.display()
            );
            return Ok(None);
        }
        ensure!(
            profile.functions.iter().any(FunctionProfile::has_edge_counts),
            "{} has no branch counts, by which wprof finds hot code: give a sampled profile, or one with edges or paths in \
             --collect",
            path.display()
        );
        Ok(Some(Arc::new(profile)))
    }

    /// Applies the options to the engine's configuration.
    ///
    /// # Errors
    /// Returns an error under the conditions of [`ReoptimizeArgs::profile`], or if an option would do nothing.
    pub fn configure(&self, counted: &Measurements, config: &mut Config) -> Result<()> {
        self.check(counted)?;
        config.reoptimization(self.policy());
        if let Some(profile) = self.profile()? {
            config.profile_use(profile);
        }
        Ok(())
    }
}

/// Describes the functions that were reoptimized, one per paragraph, then those that were not, and the loops that may be
/// vectorised.
pub fn decisions(module: &Module) -> Vec<String> {
    let (made, refused) = (module.reoptimizations(), module.not_reoptimized());
    let refused =
        refused.into_iter().map(|(func, why)| format!("{} not reoptimized: {why}", shown(module, func)));
    let loops = module.vectorized_loops();
    let loops = loops.iter().map(|found| vectorized(module, found));
    made.iter().flat_map(|done| lines(module, done)).chain(refused).chain(loops).collect()
}

fn vectorized(module: &Module, found: &VectorizedLoop) -> String {
    let name = shown(module, found.func);
    let outcome = match found.outcome {
        Ok(Lanes { lanes, .. }) => format!("vectorized, {lanes} values at once"),
        Err(why) => format!("not vectorized: {why}"),
    };
    format!("{name}, loop at {:#x}: {outcome}", found.offset)
}

fn lines(module: &Module, done: &Reoptimization) -> Vec<String> {
    let (before, after) = done.bytes;
    let growth =
        if before > 0 { format!(", {} before", count_of(before as u64, "byte")) } else { String::new() };
    let name = shown(module, done.func);
    let title = format!("{name} reoptimized to {}{growth}", count_of(after as u64, "byte"));
    let line = |decision| format!("  {}", explain::decision(module, done.func, decision));
    [title].into_iter().chain(done.decisions.iter().map(line)).collect()
}

/// Returns the display name of a function, with that of its module if it is one of several of a component.
fn shown(module: &Module, func: u32) -> String {
    let name = names::shown(func, module.func_name(func));
    module.name_in_component().map_or(name.clone(), |module| format!("{}::{name}", names::harmless(module)))
}
