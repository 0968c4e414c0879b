//! Decoding the one instruction that faults on purpose: a store of a register to the address in another register.

/// Returns the address behind the instruction at `pc`, which stores a register to the address in another
/// register.
///
/// # Safety
/// The caller guarantees that there is machine code at `pc`.
pub unsafe fn end_of_store(pc: usize) -> usize {
    // SAFETY: such an instruction has at least three bytes and never ends a function, so four bytes are readable.
    pc + store_length(unsafe { *(pc as *const [u8; 4]) })
}

/// Returns the number of the register that `mov [base], register` stores: three bits of the operands and one of
/// the prefix.
pub(super) fn stored_register([prefix, _, operands, _]: [u8; 4]) -> usize {
    usize::from(prefix >> 2 & 1) << 3 | usize::from(operands >> 3 & 7)
}

/// Returns the length of a 64-bit `mov [base], register`, given its first bytes: prefix, opcode, operands, and
/// the extra byte that some bases need. The bases rsp and r12 take a further byte, rbp and r13 a displacement, a
/// constant address both.
fn store_length([prefix, opcode, operands, scaled]: [u8; 4]) -> usize {
    assert!(prefix & 0xf8 == 0x48 && opcode == 0x89, "not a store: {prefix:x} {opcode:x} {operands:x}");
    let is_constant = operands & 0xc7 == 0x04 && scaled & 7 == 5;
    let distance = match operands >> 6 {
        0 if is_constant => 4,
        0 => 0,
        1 => 1,
        _ => 4,
    };
    3 + usize::from(operands & 7 == 4) + distance
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stores_are_measured() {
        // mov [rcx], rax; mov [r12], r15; mov [rbp + 0], rdx; mov [r13 + 0], r15; mov [rsp + 256], rax; mov [0], rax
        let all = [
            [0x48, 0x89, 0x01, 0xcc],
            [0x4d, 0x89, 0x3c, 0x24],
            [0x48, 0x89, 0x55, 0x00],
            [0x4d, 0x89, 0x7d, 0x00],
            [0x48, 0x89, 0x84, 0x24],
            [0x48, 0x89, 0x04, 0x25],
        ];
        assert_eq!(all.map(store_length), [3, 4, 4, 4, 8, 8]);
        assert_eq!(all.map(stored_register), [0, 15, 2, 15, 0, 0]);
    }
}
