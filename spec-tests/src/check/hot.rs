//! The engines in which hot programs run.

use wprof::{Config, Policy, Strategy};

use super::engines::{Made, made};
use super::{Engines, Summary, kept};
use crate::engines::{ours, reference};
use crate::generate::Case;
use crate::mode::{Mode, bursts};

/// A configuration under which hot programs run.
#[derive(Debug)]
pub struct Hot {
    /// Its name.
    pub name: &'static str,
    /// The configuration.
    pub config: Config,
    pub(super) engine: Made,
}

impl Hot {
    pub(super) fn new(name: &'static str, config: Config) -> Hot {
        Hot { name, engine: made(&config), config }
    }
}

/// How many of the first configurations alternate with the others: those that transform the code most.
const USUAL: usize = 3;

/// Returns all configurations.
pub fn ways() -> Vec<Hot> {
    let mut ways = vec![
        Hot::new("reoptimized at once", reoptimized()),
        Hot::new("reoptimized, in parts", in_parts()),
        Hot::new("eager", Mode::Eager.config()),
        Hot::new("with real thresholds", real_thresholds()),
        Hot::new("without profile, in the background", Config::new()),
    ];
    ways.extend(Mode::ALL.map(|mode| Hot::new(mode.name(), mode.config())));
    ways
}

/// The program waits for each version, so the seed alone determines which code runs when.
fn reoptimized() -> Config {
    let mut config = Config::new();
    config.canonical_nans(true).strategy(Strategy::Tiered).background_compilation(false).promote_after(2);
    config.loop_entries_above(0).shared_loops_above(0).profiling(bursts(3, 5, "default"));
    config.reoptimization(Some(Policy::eager()));
    config
}

/// Adds function parts, more inlining and long paths.
fn in_parts() -> Config {
    let policy =
        Policy { room: 6000, large_callee: 2000, depth: 8, recursion: 3, path_growth: 6, ..Policy::eager() };
    let mut config = Config::new();
    config.strategy(Strategy::Tiered).background_compilation(false).promote_after(30).parts_above(50);
    config.profiling(bursts(211, 53, "default")).reoptimization(Some(policy));
    config
}

/// Uses the reoptimizer's own policy, with bursts that are frequent enough for it.
fn real_thresholds() -> Config {
    let mut config = Config::new();
    config.background_compilation(false).promote_after(20).profiling(bursts(200, 50, "default"));
    config.reoptimization(Some(Policy::default()));
    config
}

impl Engines {
    /// Checks that hot programs leave the same state as in the interpreter, under configurations that the seed
    /// selects.
    ///
    /// # Errors
    /// Returns the first difference that it finds.
    pub fn hot(&self, case: &Case) -> Result<Summary, String> {
        let expected = reference::run(&self.reference, &case.wasm, &case.drive)?.outcome;
        let mut summary = Summary::new(&expected);
        for way in self.ways_of(case.seed) {
            let Hot { name, engine, .. } = way;
            let ran = ours::run(engine, &case.wasm, &case.drive).map_err(|e| format!("{name}: {e}"))?;
            summary.add_decisions(&ran.reoptimizations());
            if ran.outcome.overflowed() || expected.overflowed() {
                summary.overflowed = 1;
                continue;
            }
            expected.same_as(&ran.outcome).map_err(|e| format!("{name}, reference first: {e}"))?;
        }
        if case.seed.is_multiple_of(16) {
            kept(case, &expected)?;
        }
        Ok(summary)
    }

    fn ways_of(&self, seed: u64) -> impl Iterator<Item = &Hot> {
        chosen(seed, self.hot.len()).map(|at| &self.hot[at])
    }
}

/// Returns the indices of two of the usual configurations and one of the others.
pub(super) fn chosen(seed: u64, ways: usize) -> impl Iterator<Item = usize> {
    let seed = seed as usize;
    let usual = [seed % USUAL, (seed + 1 + seed / USUAL % 2) % USUAL];
    let other = USUAL + seed / USUAL % (ways - USUAL);
    usual.into_iter().chain([other])
}
