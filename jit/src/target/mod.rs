//! Targets: what the compiler knows about a processor beyond what Cranelift knows.
//!
//! All code that names a register or an encoding is in the folder of its processor, behind the trait [`Target`]. All
//! other code asks a target, and does without a feature that the target lacks: the default methods here say what
//! happens then. A processor without a target of its own has [`Plain`]: it runs Cranelift's code unchanged, for
//! baseline code as well, and has no pinned register.

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
    /// Reports whether code may keep a value in one register for as long as wasm code runs: Cranelift does not allocate
    /// that register, and the runtime can find it in interrupted code.
    fn has_pinned_register(&self) -> bool {
        false
    }

    /// Returns the number of result registers of each class in the `tail` convention.
    fn result_registers(&self) -> usize {
        RESULT_REGISTERS
    }

    /// Returns the distance at which a large frame must touch the stack, so that it cannot skip the guard page below.
    fn page_size(&self) -> u32 {
        4096
    }

    /// Returns how many integers should at most be live across a call in optimised code, given the callee-saved
    /// registers; `None` if unknown.
    fn integers_across_calls(&self, _isa: &dyn TargetIsa) -> Option<u32> {
        None
    }

    /// Returns the code generator of baseline code, for processors of this kind with the features of `isa`.
    fn baseline(&self, _isa: &dyn TargetIsa) -> Option<Box<dyn Baseline>> {
        None
    }

    /// Runs the passes over finished machine code. Returns pairs of old and new offsets of places in the code.
    fn rewrite(&self, _code: &mut MachineCode, _finished: &Finished<'_>) -> Vec<(u32, u32)> {
        Vec::new()
    }

    /// Returns a validator that proves that [`rewrite`](Target::rewrite) preserves the behaviour of a function, given
    /// the function before its code is generated.
    fn validator(&self, _func: &mut Function, _isa: &dyn TargetIsa) -> Option<Box<dyn Validator>> {
        None
    }

    /// Returns machine code with [`MachineCode::positions`] and [`MachineCode::data`] as text.
    fn disassembly(&self, code: &MachineCode) -> String {
        plain::bytes(0, &code.bytes)
    }
}

/// A code generator of baseline code, which reuses its memory from one compilation to the next.
pub(crate) trait Baseline: Send {
    /// Compiles a function without aliases; `None` if it must be left to Cranelift. Its source locations belong to
    /// `origins`, and are kept if `with_positions`.
    fn generate(&mut self, func: &Function, origins: &Origins, with_positions: bool) -> Option<MachineCode>;

    /// Checks that the code that was last generated, of `func`, does what the function says.
    ///
    /// # Errors
    /// Returns a description of the first difference.
    fn check(&self, func: &Function, origins: &Origins, code: &MachineCode) -> Result<(), String>;
}

/// Translation validation of one function.
pub(crate) trait Validator {
    /// Finds the calls of the function in its machine code.
    fn locate_calls(&mut self, buffer: &MachBufferFinalized<Final>);

    /// Checks that `code` does what `original` does. `hints` pairs places in the original with their claimed new
    /// places.
    ///
    /// # Errors
    /// Returns a description of the first difference.
    fn check(&self, original: &MachineCode, code: &MachineCode, hints: &[(u32, u32)]) -> Result<(), String>;
}

/// What passes over finished machine code know besides its bytes and tables.
pub(crate) struct Finished<'a> {
    /// The starts of the basic blocks, in ascending order; empty if unknown.
    pub blocks: &'a [u32],
    /// The start of the cold blocks, which follow the hot ones.
    pub cold: u32,
    /// The ranges in which code computes with the pinned register alone
    /// ([`Fact::InPlace`](crate::code::Fact::InPlace)): start and end of each, ascending.
    pub in_place: &'a [(u32, u32)],
    /// The ranges whose calls neither read nor change any register except the pinned one, in the same form: a range has
    /// no other calls.
    pub transparent_calls: &'a [(u32, u32)],
    /// The number of results that callers may read when the function returns.
    pub results: usize,
    /// The number of jump tables.
    pub jump_tables: usize,
    /// The passes to run.
    pub passes: Passes,
}

/// The number of result registers in Cranelift's `tail` convention, on AArch64 and x86-64 alike.
const RESULT_REGISTERS: usize = 8;

/// Returns the target of an architecture, named as in target triples.
pub(crate) fn by_name(architecture: &str) -> &'static dyn Target {
    match architecture {
        "x86_64" => &X86_64,
        _ => &Plain,
    }
}

/// Returns the target that knows nothing beyond Cranelift, on any processor.
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
            let target = by_name(architecture);
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
        let isa = isa::fast(by_name("x86_64"), &CompilerOptions::default()).expect("this machine");
        assert!(by_name("x86_64").has_pinned_register() && by_name("x86_64").baseline(&*isa).is_some());
    }
}
