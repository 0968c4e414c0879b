//! Small pieces of machine code that are written byte by byte.

use wprof_jit::abi::TrapCode;
use wprof_jit::compile::{MachineCode, TrapSite};

/// Size of a lazy stub in bytes.
pub const STUB_SIZE: usize = 16;
/// Bytes before the first stub of a chunk: a jump to the common part, which may be out of reach of a short jump.
pub const STUBS_HEADER: usize = 16;

/// Returns the position-independent code of the stubs `first..first + count`. Each stub jumps to the common part
/// with its index in eax.
pub fn lazy_stubs(common: usize, first: u32, count: u32) -> Vec<u8> {
    let mut code = vec![0xff, 0x25, 0, 0, 0, 0]; // jmp [rip + 0]
    code.extend_from_slice(&(common as u64).to_le_bytes());
    code.resize(STUBS_HEADER, 0xcc);
    for index in first..first + count {
        let start = code.len();
        code.push(0xb8); // mov eax, index
        code.extend_from_slice(&index.to_le_bytes());
        code.push(0xe9); // jmp header
        let next = code.len() as i32 + 4;
        code.extend_from_slice(&(-next).to_le_bytes());
        code.resize(start + STUB_SIZE, 0xcc);
    }
    code
}

/// Returns the code of a function of any type that calls this routine, which does not return, and traps.
pub fn raise_by_call(code: TrapCode, routine: usize) -> MachineCode {
    let mut bytes = vec![0x49, 0xbb]; // mov r11, routine
    bytes.extend_from_slice(&(routine as u64).to_le_bytes());
    bytes.extend_from_slice(&[0x41, 0xff, 0xd3]); // call r11
    let behind = bytes.len() as u32;
    bytes.extend_from_slice(&[0x0f, 0x0b]); // ud2
    let sites = [0, behind].map(|pc| TrapSite { pc, code, origin: None });
    MachineCode { bytes, align: 16, traps: sites.to_vec(), ..MachineCode::default() }
}

/// Returns the code of a function of any type that traps at once.
pub fn raise(code: TrapCode) -> MachineCode {
    let site = TrapSite { pc: 0, code, origin: None };
    MachineCode { bytes: vec![0x0f, 0x0b], align: 16, traps: vec![site], ..MachineCode::default() } // ud2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stubs_carry_their_index_and_jump_to_the_header() {
        let code = lazy_stubs(0, 7, 3);
        assert_eq!(code.len(), STUBS_HEADER + 3 * STUB_SIZE);
        let stub = &code[STUBS_HEADER + STUB_SIZE..];
        assert_eq!(stub[..5], [0xb8, 8, 0, 0, 0]);
        let jump = i32::from_le_bytes(stub[6..10].try_into().expect("four bytes"));
        assert_eq!(jump + (STUBS_HEADER + STUB_SIZE + 10) as i32, 0);
    }
}
