//! The results of a translation beside the CLIF.

use std::collections::BTreeSet;

use cranelift_codegen::ir;

use crate::clif::check::Check;
use crate::code::Origins;

/// The results of translating a function.
pub struct Translated {
    /// The meaning of its source locations.
    pub origins: Origins,
    /// The checks that its marks refer to.
    pub checks: Vec<Check>,
    /// The dispatches whose cells it reads, ascending.
    pub dispatches: Vec<u32>,
    /// The loops that may be vectorised: their header, and the byte offset in the module of their first instruction.
    pub vectors: Vec<(ir::Block, u32)>,
}

/// The results so far.
///
/// **Invariant**: results are only added, so the number of a check stays that of its mark.
#[derive(Default)]
pub struct Output {
    origins: Origins,
    checks: Vec<Check>,
    dispatches: BTreeSet<u32>,
    vectors: Vec<(ir::Block, u32)>,
}

impl Output {
    pub fn origins(&mut self) -> &mut Origins {
        &mut self.origins
    }

    /// Adds a check; returns the number for its mark.
    pub fn add_check(&mut self, check: Check) -> usize {
        self.checks.push(check);
        self.checks.len() - 1
    }

    /// Notes that code reads the cells of a dispatch.
    pub fn add_dispatch(&mut self, number: u32) {
        self.dispatches.insert(number);
    }

    /// Notes the header of a loop that may be vectorised, and the byte offset of its first instruction.
    pub fn add_vectors(&mut self, header: ir::Block, start: u32) {
        self.vectors.push((header, start));
    }

    /// Returns the results.
    pub fn finish(self) -> Translated {
        let Output { origins, checks, dispatches, vectors } = self;
        Translated { origins, checks, dispatches: dispatches.into_iter().collect(), vectors }
    }
}
