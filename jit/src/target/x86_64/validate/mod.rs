//! Validation of code for x86-64, by [`validate`](crate::validate).
//!
//! Input: Cranelift's own bytes with its tables, the finished code with its tables, and the signatures of all calls.
//! Output: nothing, or a report of the first difference.
//! Invariant: the validator shares no knowledge with the passes in `pinned` and `relax`: neither their pieces and
//! effects nor their control flow. It assumes, besides that Cranelift and the decoder are right, what the heads of
//! `memory` and `machine` say, and that no other code reads the stack below the top of the frame.

mod compute;
mod conditions;
mod control;
mod convention;
mod image;
mod instructions;
mod machine;
mod operands;
#[cfg(test)]
mod passes;
pub(super) mod reference;
mod report;
mod scalar;
#[cfg(test)]
mod tests;

use std::cell::RefCell;

use hashbrown::HashMap;
use iced_x86::InstructionInfoFactory;

use cranelift_codegen::ir::Function;
use cranelift_codegen::{Final, MachBufferFinalized};

use super::super::Validator;
use crate::code::MachineCode;
use crate::validate::walk;
use convention::Conventions;
use image::Image;
use machine::X86;

/// The validator of one function.
pub(super) struct Lockstep {
    conventions: Conventions,
    /// Whether the function uses the pinned register as such.
    is_pinned: bool,
}

impl Lockstep {
    /// Creates the validator of a function whose code is not generated yet, and tags the function's calls.
    pub(super) fn new(func: &mut Function, is_pinned: bool) -> Lockstep {
        Lockstep { conventions: Conventions::tag(func), is_pinned }
    }
}

impl Validator for Lockstep {
    fn locate_calls(&mut self, buffer: &MachBufferFinalized<Final>) {
        self.conventions.locate(buffer);
    }

    fn check(&self, original: &MachineCode, code: &MachineCode, hints: &[(u32, u32)]) -> Result<(), String> {
        let Lockstep { conventions, is_pinned } = self;
        check(&Original { code: original, conventions, is_pinned: *is_pinned }, code, hints)
    }
}

/// A function before the passes.
struct Original<'a> {
    /// Cranelift's bytes and tables.
    code: &'a MachineCode,
    conventions: &'a Conventions,
    /// Whether the function uses the pinned register as such.
    is_pinned: bool,
}

/// Checks that `code` does what the original does. `hints` pairs places in the original with their claimed new places.
fn check(original: &Original<'_>, code: &MachineCode, hints: &[(u32, u32)]) -> Result<(), String> {
    if original.code.bytes == code.bytes && code.cold.is_none() && are_tables_equal(original.code, code) {
        return Ok(());
    }
    let (before, after) = (Image::new(original.code)?, Image::new(code)?);
    let hints: HashMap<u32, u32> = hints.iter().map(|&(old, new)| (old, after.place(new))).collect();
    let x86 = X86 {
        before,
        after,
        conventions: original.conventions,
        is_pinned: original.is_pinned,
        usage: RefCell::new(InstructionInfoFactory::new()),
        reference: None,
    };
    walk(&x86, (0, 0), &hints).map(drop).map_err(|mismatch| report::text(&x86, &mismatch))
}

fn are_tables_equal(before: &MachineCode, after: &MachineCode) -> bool {
    let is_same = before.traps == after.traps && before.calls == after.calls && before.relocs == after.relocs;
    is_same && before.landings == after.landings
}
