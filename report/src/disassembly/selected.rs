//! A module in which only selected functions have their code, so that the printer need not print the rest.
//!
//! Invariant: functions keep their indices, and all other sections are unchanged, so names stay valid.

use std::ops::Range;

use wprof_jit::module::ModuleInfo;

/// The body of an omitted function: no locals, `unreachable`, `end`.
const STUB: [u8; 3] = [0, 0x00, 0x0b];

/// A module with the code of selected functions.
pub struct Selected {
    /// The bytes of the module.
    pub bytes: Vec<u8>,
    /// The ranges of the selected functions' code, ascending.
    pub bodies: Vec<Range<usize>>,
}

impl Selected {
    /// Copies the module without the code of functions other than `kept`, which is ascending.
    pub fn new(info: &ModuleInfo, kept: &[u32]) -> Self {
        let module = &info.bytes[..];
        let (mut code, mut bodies, mut rest) = (Vec::new(), Vec::new(), kept);
        write_u32(&mut code, info.defined_funcs());
        for func in (info.imported_funcs..).take(info.defined_funcs() as usize) {
            let is_kept = rest.first() == Some(&func);
            let body = if is_kept { &module[info.body(func)] } else { &STUB[..] };
            write_u32(&mut code, body.len() as u32);
            code.extend_from_slice(body);
            if is_kept {
                bodies.push(code.len() - body.len()..code.len());
                rest = &rest[1..];
            }
        }
        let length_at = length_at(module, info.code_section.start);
        let mut bytes = module[..length_at].to_vec();
        write_u32(&mut bytes, code.len() as u32);
        let begin = bytes.len();
        bodies.iter_mut().for_each(|body| *body = begin + body.start..begin + body.end);
        bytes.extend_from_slice(&code);
        bytes.extend_from_slice(&module[info.code_section.end..]);
        Self { bytes, bodies }
    }
}

/// Returns the position of the length of the section whose contents begin at `content`. The byte before the length is
/// the section's id, which is small; all bytes of a length but the last have their highest bit set.
fn length_at(module: &[u8], content: usize) -> usize {
    let longer = module[..content - 1].iter().rev().take_while(|&&byte| byte >= 0x80).count();
    content - 1 - longer
}

/// Writes a number as modules encode it (LEB128).
fn write_u32(bytes: &mut Vec<u8>, mut number: u32) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_may_be_padded() {
        assert_eq!(length_at(&[10, 3], 2), 1);
        assert_eq!(length_at(&[10, 0x83, 0x80, 0x80, 0x80, 0], 6), 1);
        let mut bytes = vec![];
        [0, 127, 128, u32::MAX].into_iter().for_each(|number| write_u32(&mut bytes, number));
        assert_eq!(bytes, [0, 127, 0x80, 1, 0xff, 0xff, 0xff, 0xff, 0x0f]);
    }
}
