//! An independent checker of the passes over finished machine code: translation validation.
//!
//! The passes in `pinned` and `relax` rewrite what Cranelift has made. Whether they are right is not proven once for
//! all code, but checked for each function: both versions are executed side by side on terms, and must do the same.
//!
//! Input: Cranelift's own bytes with its tables, the finished code with its tables, and the signatures of all calls.
//! Output: nothing, or a report of the first difference.
//! Theory: the two versions are in *lockstep* if a relation holds between their states wherever both stop in the same
//! pair of places, and if from each such pair both do the same until the next: the same stores of the same values to
//! the same addresses in the same order, the same loads that may trap, the same calls of the same targets with the same
//! arguments in the registers that their signatures name, the same branches under the same conditions, the same entries
//! of jump tables for each value of the index, the same traps with the same codes and origins, and returns of the same
//! values. By induction then, whatever can be observed of a run of one version can be of the other. The relation is a
//! partition of registers and places in the frame into classes of equal values (`state`), the greatest that holds on
//! all ways; values are terms (`terms`); pairs are found by walking (`product`), not told by the passes. These only
//! hint where blocks went, and a wrong hint makes the check fail, never pass.
//! Invariant: nothing here uses what the passes know: neither their pieces and effects nor their flow of control.
//! Assumed, besides that Cranelift and the decoder are right: what `memory` and `x86` say at their heads; that others
//! do not read what is in the frame below its top.
//! Source: translation validation, Pnueli, Siegel & Singerman, TACAS 1998; Necula, PLDI 2000; the checker of regalloc2;
//! value numbering by partition refinement, Alpern, Wegman & Zadeck, POPL 1988; Kildall, POPL 1973.
//! Oracle: the tests here, and faults put into each pass, each of which it finds.

mod compute;
mod control;
mod convention;
mod image;
mod memory;
#[cfg(test)]
mod passes;
mod product;
mod report;
mod state;
mod terms;
#[cfg(test)]
mod tests;
mod x86;

use std::cell::RefCell;

use hashbrown::HashMap;
use iced_x86::InstructionInfoFactory;

use super::machine_code::MachineCode;
pub(super) use convention::Conventions;
use image::Image;
use x86::X86;

/// What is known of a function before the passes.
pub(super) struct Original {
    /// Cranelift's bytes and tables.
    pub code: MachineCode,
    pub conventions: Conventions,
    /// Whether the pinned register is used as such.
    pub is_pinned: bool,
}

/// Checks that code does what the original does. `hints` are places in the original, and where they are said to be.
pub(super) fn check(original: &Original, code: &MachineCode, hints: &[(u32, u32)]) -> Result<(), String> {
    if original.code.bytes == code.bytes && code.cold.is_none() && are_tables_equal(&original.code, code) {
        return Ok(());
    }
    let (before, after) = (Image::new(&original.code)?, Image::new(code)?);
    let hints: HashMap<u32, u32> = hints.iter().map(|&(old, new)| (old, after.place(new))).collect();
    let x86 = X86 {
        before,
        after,
        conventions: &original.conventions,
        is_pinned: original.is_pinned,
        usage: RefCell::new(InstructionInfoFactory::new()),
    };
    product::walk(&x86, (0, 0), &hints).map(drop).map_err(|mismatch| report::text(&x86, &mismatch))
}

fn are_tables_equal(before: &MachineCode, after: &MachineCode) -> bool {
    before.traps == after.traps && before.calls == after.calls && before.relocs == after.relocs
}
