//! Generated modules in one engine each, of which the seed determines the settings.
//!
//! What a case costs is compiling. So a case is compiled twice instead of seven times: with the settings of its seed,
//! and, if it traps, as baseline code, which is soon done. Each [`SEEDS_OF_ROW`] seeds share an engine, so an engine has
//! modules of each generator. Every fourth engine has one of the configurations by name, the others have arbitrary
//! settings. After a few thousand cases each two choices have met many times.

use std::collections::VecDeque;
use std::sync::Mutex;

use wprof::{Config, Engine};

use super::engines::try_engine;
use super::hot::ways;
use super::places::{same_places, tail_calls};
use super::{Engines, Summary};
use crate::engines::{ours, reference};
use crate::generate::Case;
use crate::outcome::Outcome;
use crate::pairs::Row;
use crate::rng::Rng;
use crate::settings::{config, describe, random_row};

/// The number of consecutive seeds that share an engine: each generator several times.
pub const SEEDS_OF_ROW: u64 = 32;

/// The number of engines that are kept, for threads that check other seeds at the same time.
const KEPT: usize = 8;

/// Fuel for each call in engines that consume fuel: more than any generated module needs.
const FUEL: u64 = 1 << 40;

/// An engine, and what its settings are.
#[derive(Clone, Debug)]
struct Sample {
    number: u64,
    settings: String,
    engine: Engine,
}

/// The engines of the last seeds.
#[derive(Debug, Default)]
pub(super) struct Sampled(Mutex<VecDeque<Sample>>);

impl Sampled {
    /// Returns the engine of a seed.
    fn sample(&self, seed: u64) -> Result<Sample, String> {
        let number = seed / SEEDS_OF_ROW;
        let known = |kept: &VecDeque<Sample>| kept.iter().find(|sample| sample.number == number).cloned();
        if let Some(sample) = known(&self.0.lock().expect("no panic while held")) {
            return Ok(sample);
        }
        let (settings, config) = settings_of(seed);
        let engine = try_engine(&config).map_err(|e| format!("{settings}: {e}"))?;
        let sample = Sample { number, settings, engine };
        let mut kept = self.0.lock().expect("no panic while held");
        let oldest = if kept.len() < KEPT { None } else { kept.pop_front() };
        kept.push_back(sample.clone());
        drop(kept);
        // Threads of the engine may have to end, and others need the lock.
        drop(oldest);
        Ok(sample)
    }
}

/// Returns the settings of a seed, described and as a configuration.
pub fn settings_of(seed: u64) -> (String, Config) {
    if let Some(row) = row_of(seed) {
        return (describe(&row), config(&row));
    }
    let mut ways = ways();
    let way = ways.swap_remove((seed / SEEDS_OF_ROW / 4 % ways.len() as u64) as usize);
    (way.name.to_string(), way.config)
}

/// Returns the arbitrary settings of a seed; `None` if it has one of the configurations by name.
fn row_of(seed: u64) -> Option<Row> {
    let number = seed / SEEDS_OF_ROW;
    (!number.is_multiple_of(4)).then(|| random_row(&mut Rng::new(number)))
}

impl Engines {
    /// Checks that a module leaves the same state as in the interpreter with the settings that the seed selects; that
    /// it traps at the same places as baseline code; and that its profile, if there is one, is sound.
    ///
    /// # Errors
    /// Returns the first difference that it finds.
    pub fn sampled(&self, case: &Case) -> Result<Summary, String> {
        let Sample { settings, engine, .. } = self.sampled.sample(case.seed)?;
        let compared = self.compared(case, &engine);
        compared.map_err(|e| format!("with [{settings}], reference first: {e}"))
    }

    /// Describes the fewest settings of the seed with which a case still fails [`sampled`](Self::sampled): each other one
    /// has its default. `None` if the seed has a configuration by name, or the case passes.
    pub fn fewest_settings(&self, case: &Case) -> Option<String> {
        let mut row = row_of(case.seed)?;
        let fails =
            |row: &Row| try_engine(&config(row)).is_ok_and(|engine| self.compared(case, &engine).is_err());
        if !fails(&row) {
            return None;
        }
        for setting in 0..row.len() {
            let choice = std::mem::take(&mut row[setting]);
            if choice != 0 && !fails(&row) {
                row[setting] = choice;
            }
        }
        Some(describe(&row))
    }

    fn compared(&self, case: &Case, engine: &Engine) -> Result<Summary, String> {
        let expected = reference::run(&self.reference, &case.wasm, &case.drive)?.outcome;
        let mut summary = Summary::new(&expected);
        let ran = ours::run_fueled(engine, &case.wasm, &case.drive, FUEL)?;
        if engine.config().profiles()
            && let Some(profile) = ran.profile()
        {
            profile.map_err(|e| e.to_string())?.verify().map_err(|e| e.to_string())?;
        }
        if [&ran.outcome, &expected].into_iter().any(Outcome::overflowed) {
            summary.overflowed = 1;
            return Ok(summary);
        }
        expected.same_as(&ran.outcome)?;
        if expected.stopped() > 0 {
            self.places(case, &ran, engine.config().traces())?;
        }
        Ok(summary)
    }

    /// Checks that a run trapped at the places at which baseline code traps.
    fn places(&self, case: &Case, ran: &ours::Ran, is_traced: bool) -> Result<(), String> {
        let baseline = ours::run(&self.baseline, &case.wasm, &case.drive)?;
        if baseline.outcome.overflowed() {
            return Ok(());
        }
        let ignored = if is_traced { tail_calls(&case.wasm)? } else { Default::default() };
        same_places(&ran.places, &baseline.places, &ignored).map_err(|e| format!("baseline second: {e}"))
    }
}
