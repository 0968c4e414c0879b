//! A processor about which only Cranelift knows anything.

use super::Target;

#[derive(Debug)]
pub(super) struct Plain;

impl Target for Plain {}

/// Returns disassembly lines that show bytes; the first is byte `at` of the code.
pub(super) fn bytes(at: u32, bytes: &[u8]) -> String {
    let line = |(index, bytes): (usize, &[u8])| {
        let numbers: Vec<String> = bytes.iter().map(|byte| format!("{byte:#04x}")).collect();
        format!("{:>10}  {:>6x}  .byte {}\n", "", at as usize + index * 16, numbers.join(", "))
    };
    bytes.chunks(16).enumerate().map(line).collect()
}
