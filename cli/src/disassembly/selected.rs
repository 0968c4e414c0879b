//! A module in which only some functions have their code: the printer would print all the rest for nothing.
//!
//! Invariant: functions keep their indices, and all other sections are as they were, so that names are too.

use std::ops::Range;

use wprof_jit::module::ModuleInfo;

/// No locals, `unreachable`, `end`.
const STUB: [u8; 3] = [0, 0x00, 0x0b];

/// The module.
pub struct Selected {
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// Where the code of the functions is that have theirs, ascending.
    pub bodies: Vec<Range<usize>>,
}

impl Selected {
    /// All of the module but the code of functions other than `kept`, which are ascending.
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

/// Where the length stands of the section whose content begins at `content`. The byte before it is the section's
/// kind, which is small, and all bytes of a length but the last have their highest bit set.
fn length_at(module: &[u8], content: usize) -> usize {
    let longer = module[..content - 1].iter().rev().take_while(|&&byte| byte >= 0x80).count();
    content - 1 - longer
}

/// Writes a number as modules have it (LEB128).
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
