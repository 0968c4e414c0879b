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
    /// Whether code may keep something in a register for as long as wasm code runs: Cranelift leaves it alone, and the
    /// runtime knows where to find it in code that is interrupted.
    fn has_pinned_register(&self) -> bool {
        false
    }

    /// Registers for results in the `tail` convention, of each class.
    fn result_registers(&self) -> usize {
        RESULT_REGISTERS
    }

    /// The distance at which a large frame must touch the stack, so that it cannot reach beyond the guard page below.
    fn page_size(&self) -> u32 {
        4096
    }

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

/// How many registers for results Cranelift's `tail` convention has: those of AArch64 as well as of x86-64.
const RESULT_REGISTERS: usize = 8;

/// The target of an architecture, by the name that it has in triples.
pub(crate) fn of(architecture: &str) -> &'static dyn Target {
    match architecture {
        "x86_64" => &X86_64,
        _ => &Plain,
    }
}

/// Nothing but what Cranelift knows, whatever the processor is.
pub(crate) fn plain() -> &'static dyn Target {
    &Plain
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::CompilerOptions;

    #[test]
    fn a_processor_that_no_target_knows_is_left_to_cranelift() {
        let isa = isa::fast(plain(), &CompilerOptions::default()).expect("this machine");
        for architecture in ["aarch64", "riscv64gc", "s390x", "x86"] {
            let target = of(architecture);
            assert!(!target.has_pinned_register() && target.baseline(&*isa).is_none(), "{architecture}");
            assert!(target.integers_across_calls(&*isa).is_none(), "{architecture}");
            assert!(target.validator(&mut Function::new(), &*isa).is_none(), "{architecture}");
            let mut code = MachineCode { bytes: vec![0x90, 0xc3], ..MachineCode::default() };
            let finished = Finished {
                blocks: &[0],
                cold: 2,
                in_place: &[(0, 1)],
                transparent_calls: &[],
                results: 0,
                jump_tables: 0,
                passes: Passes::ALL,
            };
            assert!(target.rewrite(&mut code, &finished).is_empty(), "{architecture}");
            assert_eq!(code.bytes, [0x90, 0xc3], "{architecture}");
            assert_eq!(target.disassembly(&code).trim(), "0  .byte 0x90, 0xc3");
        }
    }

    #[test]
    fn x86_64_is_known() {
        let isa = isa::fast(of("x86_64"), &CompilerOptions::default()).expect("this machine");
        assert!(of("x86_64").has_pinned_register() && of("x86_64").baseline(&*isa).is_some());
    }
}
