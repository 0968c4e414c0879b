//! Small pieces of machine code that are written instruction by instruction.

use wprof_jit::abi::TrapCode;
use wprof_jit::compile::{MachineCode, TrapSite};

/// Size of a lazy stub in bytes.
pub const STUB_SIZE: usize = 16;
/// Bytes before the first stub of a chunk: a jump to the common part, which may be out of reach of a branch.
pub const STUBS_HEADER: usize = 16;

/// `ldr x16, [pc + 8]; br x16`, which an address follows.
const JUMP: [u32; 2] = [0x5800_0050, 0xd61f_0200];
/// `movz w17, #0` and `movk w17, #0, lsl #16`.
const INDEX: [u32; 2] = [0x5280_0011, 0x72a0_0011];
/// `b .`
const BRANCH: u32 = 0x1400_0000;
/// `udf #0xc11f`, Cranelift's trap.
const TRAP: u32 = 0xc11f;

/// Returns the position-independent code of the stubs `first..first + count`. Each stub jumps to the common part
/// with its index in w17.
pub fn lazy_stubs(common: usize, first: u32, count: u32) -> Vec<u8> {
    let mut code: Vec<u8> = JUMP.iter().flat_map(|word| word.to_le_bytes()).collect();
    code.extend_from_slice(&(common as u64).to_le_bytes());
    for index in first..first + count {
        let words = (code.len() + 8) as u32 / 4;
        let back = BRANCH | words.wrapping_neg() & 0x03ff_ffff;
        let stub = [INDEX[0] | (index & 0xffff) << 5, INDEX[1] | (index >> 16) << 5, back, TRAP];
        code.extend(stub.iter().flat_map(|word| word.to_le_bytes()));
    }
    code
}

/// `mov x17, x30; ldr x16, [pc + 12]; blr x16`
const CALL: [u32; 3] = [0xaa1e_03f1, 0x5800_0070, 0xd63f_0200];

/// Returns the code of a function of any type that calls this routine, which does not return, and traps. The routine
/// finds the function's return address in x17.
pub fn raise_by_call(code: TrapCode, routine: usize) -> MachineCode {
    let mut bytes: Vec<u8> = CALL.iter().chain(&[TRAP]).flat_map(|word| word.to_le_bytes()).collect();
    let behind = bytes.len() as u32 - 4;
    bytes.extend_from_slice(&(routine as u64).to_le_bytes());
    let sites = [0, behind].map(|pc| TrapSite { pc, code, origin: None });
    MachineCode { bytes, align: 16, traps: sites.to_vec(), ..MachineCode::default() }
}

/// Returns the code of a function of any type that traps at once.
pub fn raise(code: TrapCode) -> MachineCode {
    let site = TrapSite { pc: 0, code, origin: None };
    let bytes = TRAP.to_le_bytes().to_vec();
    MachineCode { bytes, align: 16, traps: vec![site], ..MachineCode::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stubs_carry_their_index_and_jump_to_the_header() {
        let code = lazy_stubs(0, 0x1_0007, 3);
        assert_eq!(code.len(), STUBS_HEADER + 3 * STUB_SIZE);
        let word = |at: usize| u32::from_le_bytes(code[at..at + 4].try_into().expect("four bytes"));
        let stub = STUBS_HEADER + STUB_SIZE;
        assert_eq!((word(stub) >> 5 & 0xffff, word(stub + 4) >> 5 & 0xffff), (8, 1));
        let words = (word(stub + 8) << 6).cast_signed() >> 6;
        assert_eq!(words * 4 + (stub + 8) as i32, 0);
    }
}
