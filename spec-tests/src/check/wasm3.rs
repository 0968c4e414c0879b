//! The engines that modules with exceptions, function references and objects run in.
//!
//! The interpreter knows none of these. What they do in plain Cranelift's code, without a pass or a tier of ours and
//! with no collection that is not due, is what they must do in all ways, and with a collection at every allocation.

use wprof::{Config, StoreLimits};

use super::engines::{Made, made};
use super::hot::{self, Hot};
use super::{Engines, Summary};
use crate::engines::ours;
use crate::generate::Case;
use crate::mode::Mode;

/// Room for objects: some modules want all that they can get.
const HEAP: u64 = 16 << 20;

/// The engines.
#[derive(Debug)]
pub(super) struct Wasm3 {
    plain: Made,
    /// All ways of hot programs: collections are where they are due, or at every allocation.
    ways: [Vec<Hot>; 2],
    /// Exact counts, likewise.
    exact: [Made; 2],
}

impl Default for Wasm3 {
    fn default() -> Wasm3 {
        let stressed = [false, true];
        Wasm3 {
            plain: made(&limited(Mode::Conservative.config(), false)),
            ways: stressed.map(|stress| {
                hot::ways().into_iter().map(|way| Hot::new(way.name, limited(way.config, stress))).collect()
            }),
            exact: stressed.map(|stress| made(&limited(Mode::Exact.config(), stress))),
        }
    }
}

fn limited(mut config: Config, stress: bool) -> Config {
    config.gc_stress(stress);
    config.limits(StoreLimits { heap_bytes: HEAP, ..StoreLimits::default() });
    config
}

impl Engines {
    /// Demands that a module with exceptions, function references and objects leaves behind in ways that the seed
    /// selects what it does in plain Cranelift's code, and that its exact counts are those that it makes of itself in
    /// the same run.
    ///
    /// # Errors
    /// The first difference.
    pub fn wasm3(&self, case: &Case) -> Result<Summary, String> {
        let expected =
            ours::run(&self.wasm3.plain, &case.wasm, &case.drive).map_err(|e| format!("plain: {e}"))?.outcome;
        let mut summary = Summary::of(&expected);
        for (number, at) in hot::chosen(case.seed, self.wasm3.ways[0].len()).enumerate() {
            let stressed = (case.seed as usize / 2 + number) % 2;
            let Hot { name, engine, .. } = &self.wasm3.ways[stressed][at];
            let ran = ours::run(engine, &case.wasm, &case.drive).map_err(|e| format!("{name}: {e}"))?;
            summary.add_decisions(&ran.reoptimizations());
            if ran.outcome.overflowed() || expected.overflowed() {
                summary.overflowed = 1;
                continue;
            }
            let collecting = ["", ", collecting always"][stressed];
            expected
                .same_as(&ran.outcome)
                .map_err(|e| format!("{name}{collecting}, plain Cranelift first: {e}"))?;
        }
        if expected.refused.is_none() {
            let exact = &self.wasm3.exact[(case.seed / 4 % 2) as usize];
            summary.compared = super::same_run(exact, case)?;
        }
        Ok(summary)
    }
}
