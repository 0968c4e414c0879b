//! The engines in which modules with exceptions, function references and objects run.
//!
//! The interpreter supports none of these. The expected state is that of plain Cranelift code, without our passes and
//! tiers and with collections only where they are due. All other configurations must leave the same state, also with a
//! collection at every allocation. Hot programs have a second, lowered module that the interpreter runs as well.

use wprof::{Config, StoreLimits};

use super::engines::{Made, made};
use super::hot::{self, Hot};
use super::{Engines, Summary};
use crate::engines::{ours, reference};
use crate::generate::Case;
use crate::mode::Mode;
use crate::outcome::Outcome;

/// Heap size for objects: some modules allocate as much as they can.
const HEAP: u64 = 16 << 20;

/// The engines.
#[derive(Debug)]
pub(super) struct Wasm3 {
    plain: Made,
    /// All configurations of hot programs, with collections where they are due and at every allocation.
    ways: [Vec<Hot>; 2],
    /// Exact counts, with collections where they are due and at every allocation.
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
    /// Checks that a module with exceptions, function references and objects leaves the same state as in plain
    /// Cranelift code, under configurations that the seed selects, and that its exact counts equal those that the
    /// module makes of itself in the same run.
    ///
    /// # Errors
    /// Returns the first difference that it finds.
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

    /// Checks that a hot program with objects, exceptions and typed references, or with atomic instructions, leaves the same state as its
    /// [`lowered`](crate::generate::hot::lowered) form in the interpreter, under configurations that the seed selects
    /// and in plain Cranelift code; and that its exact counts equal those that the module makes of itself in the same
    /// run. A case without its tree is compared with plain code alone.
    ///
    /// # Errors
    /// Returns the first difference that it finds.
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

    /// Checks that a module leaves the state `expected`, which the engine `by` left, in plain Cranelift code and under
    /// configurations that the seed selects. Of failures that are no traps only that they are failures counts.
    ///
    /// # Errors
    /// Returns the first difference that it finds.
    pub fn agree(&self, case: &Case, expected: &Outcome, by: &str) -> Result<Summary, String> {
        let plain =
            ours::run(&self.wasm3.plain, &case.wasm, &case.drive).map_err(|e| format!("plain: {e}"))?.outcome;
        if !plain.overflowed() && !expected.overflowed() {
            let same = expected.without_messages().same_as(&plain.without_messages());
            same.map_err(|e| format!("{by} first, plain Cranelift second: {e}"))?;
        }
        self.in_all_ways(case, &plain, "plain Cranelift")
    }

    /// Checks that a module leaves the expected state under some configurations.
    fn in_all_ways(&self, case: &Case, expected: &Outcome, by: &str) -> Result<Summary, String> {
        let mut summary = Summary::new(expected);
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
