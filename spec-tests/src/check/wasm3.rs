//! The engines that modules with exceptions, function references and objects run in.
//!
//! The interpreter knows none of these. What they do in plain Cranelift's code, without a pass or a tier of ours and
//! with no collection that is not due, is what they must do in all ways, and with a collection at every allocation.
//! Of hot programs there is a second module in the interpreter's own terms, which says what that is.

use wprof::{Config, StoreLimits};

use super::engines::{Made, made};
use super::hot::{self, Hot};
use super::{Engines, Summary};
use crate::engines::{ours, reference};
use crate::generate::Case;
use crate::mode::Mode;
use crate::outcome::Outcome;

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
        let plain =
            ours::run(&self.wasm3.plain, &case.wasm, &case.drive).map_err(|e| format!("plain: {e}"))?;
        let mut summary = self.in_all_ways(case, &plain.outcome, "plain Cranelift")?;
        if plain.outcome.refused.is_none() {
            let exact = &self.wasm3.exact[(case.seed / 4 % 2) as usize];
            summary.compared = super::same_run(exact, case)?;
        }
        Ok(summary)
    }

    /// Demands that a hot program with objects, exceptions and typed references leaves behind in ways that the seed
    /// selects what the interpreter does with the same program in its own terms
    /// ([`lowered`](crate::generate::hot::lowered)), and so it does in plain Cranelift's code; and that its exact counts
    /// are those that it makes of itself in the same run. A case without its tree is compared with plain code alone.
    ///
    /// # Errors
    /// The first difference.
    pub fn hot_objects(&self, case: &Case) -> Result<Summary, String> {
        let plain =
            ours::run(&self.wasm3.plain, &case.wasm, &case.drive).map_err(|e| format!("plain: {e}"))?.outcome;
        if let Some(tree) = &case.tree {
            let lowered = reference::run(&self.reference, &tree.lowered(), &case.drive)
                .map_err(|e| format!("in the interpreter's terms: {e}"))?;
            if !plain.overflowed() && !lowered.outcome.overflowed() {
                let same = lowered.outcome.same_as(&plain);
                same.map_err(|e| format!("interpreter first, plain Cranelift second: {e}"))?;
            }
        }
        let mut summary = self.in_all_ways(case, &plain, "plain Cranelift")?;
        summary.compared = super::same_run(&self.wasm3.exact[(case.seed / 4 % 2) as usize], case)?;
        Ok(summary)
    }

    /// Demands that a module leaves behind in some ways what is expected.
    fn in_all_ways(&self, case: &Case, expected: &Outcome, by: &str) -> Result<Summary, String> {
        let mut summary = Summary::of(expected);
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
            expected.same_as(&ran.outcome).map_err(|e| format!("{name}{collecting}, {by} first: {e}"))?;
        }
        Ok(summary)
    }
}
