//! Targets: what is known of a processor beyond what Cranelift knows of it.
//!
//! Whatever names a register or an encoding is in the folder of its processor, behind the trait [`Target`]. All other
//! code asks a target, and does without what the target does not have: the methods that have a body here say what that
//! is. A processor that no target knows has [`Plain`]: Cranelift's code as it is, for baseline code as well, and without
//! a pinned register.

pub(crate) mod isa;
mod plain;
mod x86_64;

use std::fmt::Debug;

use cranelift_codegen::ir::Function;
use cranelift_codegen::isa::TargetIsa;
use cranelift_codegen::{Final, MachBufferFinalized};

use crate::code::{MachineCode, Origins};
use crate::options::Passes;
use plain::Plain;
use x86_64::X86_64;

/// A processor.
pub(crate) trait Target: Debug + Send + Sync {
    /// How many integers should at most be alive across a call in optimised code, by what calls preserve; `None` if that
    /// is not known.
    fn integers_across_calls(&self, _isa: &dyn TargetIsa) -> Option<u32> {
        None
    }

    /// The code generator of baseline code, for processors of this kind with the features that `isa` has.
    fn baseline(&self, _isa: &dyn TargetIsa) -> Option<Box<dyn Baseline>> {
        None
    }

    /// Does the passes over finished machine code. Gives places where something began before, and where it begins now.
    fn rewrite(&self, _code: &mut MachineCode, _finished: &Finished<'_>) -> Vec<(u32, u32)> {
        Vec::new()
    }

    /// What proves that [`rewrite`](Target::rewrite) leaves what the code of a function does as it was, given the
    /// function before its code is generated.
    fn validator(&self, _func: &mut Function, _isa: &dyn TargetIsa) -> Option<Box<dyn Validator>> {
        None
    }

    /// Machine code with [`MachineCode::positions`] and [`MachineCode::data`] as text.
    fn disassembly(&self, code: &MachineCode) -> String {
        plain::bytes(0, &code.bytes)
    }
}

/// A code generator of baseline code, with the memory that one compilation leaves for the next.
pub(crate) trait Baseline: Send {
    /// Compiles a function without aliases; `None` if anything in it is left to Cranelift. Source locations in it are of
    /// `origins`, and kept if `with_positions`.
    fn generate(&mut self, func: &Function, origins: &Origins, with_positions: bool) -> Option<MachineCode>;
}

/// Translation validation of one function.
pub(crate) trait Validator {
    /// Learns where the calls of the function are in its machine code.
    fn locate_calls(&mut self, buffer: &MachBufferFinalized<Final>);

    /// Checks that code does what the original does. `hints` are places in the original, and where they are said to be.
    ///
    /// # Errors
    /// The first difference.
    fn check(&self, original: &MachineCode, code: &MachineCode, hints: &[(u32, u32)]) -> Result<(), String>;
}

/// What passes over finished machine code are told besides its bytes and tables.
pub(crate) struct Finished<'a> {
    /// Where blocks begin, in ascending order; nothing if that is not known.
    pub blocks: &'a [u32],
    /// Where the cold ones do, which lie behind the others.
    pub cold: u32,
    /// Where code computes with the pinned register alone, as [`Fact::InPlace`](crate::code::Fact::InPlace) has it:
    /// beginnings and ends of ranges, ascending.
    pub in_place: &'a [(u32, u32)],
    /// Likewise where there are calls that neither read registers nor change any, but for the pinned one: in each range
    /// there are no others.
    pub transparent_calls: &'a [(u32, u32)],
    /// How many results callers may read when it returns.
    pub results: usize,
    /// How many jump tables there are.
    pub jump_tables: usize,
    /// What is done.
    pub passes: Passes,
}

/// What is known of the processor that Cranelift makes code for.
pub(crate) fn of(isa: &dyn TargetIsa) -> &'static dyn Target {
    match isa.name() {
        "x64" => &X86_64,
        _ => &Plain,
    }
}

/// Nothing but what Cranelift knows, whatever the processor is.
pub(crate) fn plain() -> &'static dyn Target {
    &Plain
}
