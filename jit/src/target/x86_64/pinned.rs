//! Rewrites computations on the pinned register so that they happen in place.
//!
//! Cranelift reads the pinned register into another one, computes there and writes it back: three instructions for an
//! addition that takes one, five for a check that takes two. This pass finds them in the finished machine code and
//! rewrites them within their bytes, so that no other code moves.
//!
//! Input: machine code, and its ranges at source locations with [`Fact::InPlace`], or between two such ranges.
//! Output: the same code, in which ranges of the expected form work on the pinned register itself; other ranges are
//! unchanged.
//! Invariant: the result of a marked instruction has one user, which is marked too; so the register in which Cranelift
//! put the result is not needed once both are rewritten. A count that is compared with zero has not overflowed.
//! Example: `mov %r15, %rax; lea -1(%rax), %rax; mov %rax, %r15; mov %r15, %rax; test %rax, %rax` becomes `add $-1,
//! %r15`.
//! Source of encodings: AMD64 Architecture Programmer's Manual, volume 3, chapter 1.
//!
//! [`Fact::InPlace`]: crate::code::Fact::InPlace

use std::ops::Range;

/// The number of the pinned register.
const PINNED: u8 = 15;
/// With this many prefixes the longest rewritten check is one instruction, followed only by a branch.
const MOST_PREFIXES: usize = 6;
/// A prefix without effect on instructions without memory operands: a segment override.
pub(super) const PADDING: u8 = 0x2e;

/// Rewrites the marked ranges of code.
pub(super) fn rewrite_ranges(code: &mut [u8], marked: &[(u32, u32)]) {
    for range in joined(code, marked) {
        rewrite(&mut code[range]);
    }
}

/// Returns the marked ranges, and joins two that have an unmarked countdown between them: the optimiser has lost the
/// source location of that countdown.
fn joined(code: &[u8], marked: &[(u32, u32)]) -> Vec<Range<usize>> {
    let mut ranges: Vec<Range<usize>> = Vec::new();
    for &(start, end) in marked {
        let (start, end) = (start as usize, end as usize);
        match ranges.last_mut() {
            Some(last) if is_countdown(&code[last.end..start]) => last.end = end,
            _ => ranges.push(start..end),
        }
    }
    ranges
}

/// Reports whether code is the countdown of a check, between the read and the write of the pinned register: no other
/// code subtracts one there.
fn is_countdown(code: &[u8]) -> bool {
    match Inst::read(code) {
        Some((Inst::Add { plus: -1, .. } | Inst::Lea { plus: -1, is_twice: false, .. }, len)) => {
            len == code.len()
        }
        _ => false,
    }
}

/// Rewrites the computations at the beginning of a marked range, one after the other, up to the first that has another
/// form.
pub(super) fn rewrite(range: &mut [u8]) {
    let mut rest = range;
    while let Some((work, len)) = Work::read(rest) {
        let (old, behind) = rest.split_at_mut(len);
        if let Some(new) = work.encode(len) {
            old.copy_from_slice(&new);
        }
        rest = behind;
    }
}

/// A 64-bit instruction that Cranelift may have chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Inst {
    Move {
        from: u8,
        to: u8,
    },
    /// Sets `to` to `from`, or twice `from`, plus a number.
    Lea {
        from: u8,
        is_twice: bool,
        plus: i32,
        to: u8,
    },
    Add {
        to: u8,
        plus: i32,
    },
    Test(u8),
}

impl Inst {
    /// Reads the first instruction of `bytes`, and its length.
    fn read(bytes: &[u8]) -> Option<(Inst, usize)> {
        let &[rex, opcode, modrm, ..] = bytes else { return None };
        // REX.W selects 64 bits; R and B extend the two registers.
        if rex & 0xf8 != 0x48 {
            return None;
        }
        let (reg, rm) = ((rex & 4) << 1 | modrm >> 3 & 7, (rex & 1) << 3 | modrm & 7);
        let of_registers = modrm >> 6 == 3 && rex & 2 == 0;
        match (opcode, modrm >> 3 & 7) {
            (0x89, _) if of_registers => Some((Inst::Move { from: reg, to: rm }, 3)),
            (0x01, _) if of_registers && reg == rm => {
                Some((Inst::Lea { from: rm, is_twice: true, plus: 0, to: rm }, 3))
            }
            (0x85, _) if of_registers && reg == rm => Some((Inst::Test(reg), 3)),
            (0x83, 0) if of_registers => Some((Inst::Add { to: rm, plus: (*bytes.get(3)? as i8).into() }, 4)),
            (0x81, 0) if of_registers => Some((Inst::Add { to: rm, plus: number(bytes.get(3..7)?) }, 7)),
            (0x8d, _) => Inst::read_lea(rex, modrm, reg, bytes.get(3..)?),
            _ => None,
        }
    }

    fn read_lea(rex: u8, modrm: u8, to: u8, behind: &[u8]) -> Option<(Inst, usize)> {
        let (mut from, mut is_twice, mut len) = ((rex & 1) << 3 | modrm & 7, false, 3);
        if modrm & 7 == 4 {
            let sib = *behind.first()?;
            let (scale, index) = (sib >> 6, (rex & 2) << 2 | sib >> 3 & 7);
            (from, is_twice, len) = ((rex & 1) << 3 | sib & 7, index != 4, 4);
            if is_twice && (scale != 0 || index != from) {
                return None;
            }
        }
        let behind = &behind[len - 3..];
        let (plus, bytes) = match modrm >> 6 {
            0 if from & 7 != 5 => (0, 0),
            1 => ((*behind.first()? as i8).into(), 1),
            2 => (number(behind.get(..4)?), 4),
            _ => return None,
        };
        Some((Inst::Lea { from, is_twice, plus, to }, len + bytes))
    }
}

fn number(bytes: &[u8]) -> i32 {
    bytes.try_into().map_or(0, i32::from_le_bytes)
}

/// A computation on the pinned register by consecutive instructions: add, write back, compare with zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Work {
    is_doubled: bool,
    plus: i32,
    /// Whether the result is written back.
    is_written: bool,
    is_tested: bool,
}

impl Work {
    /// Reads the computation at the beginning of `bytes`, and its length.
    fn read(bytes: &[u8]) -> Option<(Work, usize)> {
        let (mut held, mut at) = read_pinned(bytes)?;
        let mut work = Work::default();
        while let Some((inst, len)) = Inst::read(&bytes[at..]) {
            let is_first = work == Work::default();
            match inst {
                Inst::Lea { from, is_twice, plus, to } if from == held && is_first => {
                    (work.is_doubled, work.plus, held) = (is_twice, plus, to);
                }
                Inst::Add { to, plus } if to == held && is_first => work.plus = plus,
                Inst::Move { from, to: PINNED } if from == held => {
                    return Some(Work { is_written: true, ..work }.then_tested(bytes, at + len));
                }
                Inst::Test(of) if of == held && is_first => {
                    return Some((Work { is_tested: true, ..work }, at + len));
                }
                _ => return None,
            }
            at += len;
        }
        None
    }

    /// Extends the computation by the test, if the register is read again at `at` and tested.
    fn then_tested(self, bytes: &[u8], at: usize) -> (Work, usize) {
        let Some((held, len)) = read_pinned(&bytes[at..]) else { return (self, at) };
        match Inst::read(&bytes[at + len..]) {
            Some((Inst::Test(of), test)) if of == held => (Work { is_tested: true, ..self }, at + len + test),
            _ => (self, at),
        }
    }

    /// Encodes the computation in `len` bytes; `None` if they do not suffice.
    fn encode(self, len: usize) -> Option<Vec<u8>> {
        let plus = self.plus.to_le_bytes();
        // lea plus(%r15,%r15), %r15; add $plus, %r15; test %r15, %r15
        let doubled = self.is_doubled.then(|| [&[0x4f, 0x8d, 0xbc, 0x3f], &plus[..]].concat());
        let added = (!self.is_doubled && self.plus != 0).then(|| [&[0x49, 0x81, 0xc7], &plus[..]].concat());
        // The addition has already set these flags.
        let tested = (self.is_tested && added.is_none()).then(|| vec![0x4d, 0x85, 0xff]);
        let insts: Vec<Vec<u8>> = doubled.into_iter().chain(added).chain(tested).collect();
        padded(&insts, len)
    }
}

/// Reads a copy of the pinned register at the beginning of `bytes`: its destination and its length.
fn read_pinned(bytes: &[u8]) -> Option<(u8, usize)> {
    match Inst::read(bytes)? {
        (Inst::Move { from: PINNED, to }, len) => Some((to, len)),
        _ => None,
    }
}

/// Returns consecutive instructions, padded to `len` bytes.
fn padded(insts: &[Vec<u8>], len: usize) -> Option<Vec<u8>> {
    let mut left = len.checked_sub(insts.iter().map(Vec::len).sum())?;
    let mut prefixed = Vec::new();
    for inst in insts {
        let prefixes = left.min(MOST_PREFIXES);
        left -= prefixes;
        prefixed.extend(std::iter::repeat_n(PADDING, prefixes));
        prefixed.extend(inst);
    }
    // The padding goes in front, so that a branch still follows the instruction it is fused with.
    let mut code = nops(left);
    code.extend(prefixed);
    Some(code)
}

/// Returns one or more no-op instructions of `len` bytes in all.
pub(super) fn nops(len: usize) -> Vec<u8> {
    const LONGEST: [u8; 8] = [0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0];
    match len {
        0 => Vec::new(),
        1 => vec![0x90],
        2 => vec![0x66, 0x90],
        3 => vec![0x0f, 0x1f, 0x00],
        4 => vec![0x0f, 0x1f, 0x40, 0],
        5 => vec![0x0f, 0x1f, 0x44, 0, 0],
        6 => vec![0x66, 0x0f, 0x1f, 0x44, 0, 0],
        7 => vec![0x0f, 0x1f, 0x80, 0, 0, 0, 0],
        _ => [&LONGEST[..], &nops(len - 8)].concat(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// mov %r15, %rax
    const READ: [u8; 3] = [0x4c, 0x89, 0xf8];
    /// mov %rax, %r15
    const WRITE: [u8; 3] = [0x49, 0x89, 0xc7];
    /// test %rax, %rax
    const TEST: [u8; 3] = [0x48, 0x85, 0xc0];
    /// lea -1(%rax), %rax
    const LESS: [u8; 4] = [0x48, 0x8d, 0x40, 0xff];
    /// jl, not rewritten
    const BRANCH: [u8; 6] = [0x0f, 0x8c, 1, 2, 3, 4];

    fn rewritten(parts: &[&[u8]]) -> Vec<u8> {
        let mut code = parts.concat();
        let len = code.len();
        rewrite(&mut code);
        assert_eq!(code.len(), len);
        code
    }

    /// Returns the code without its no-ops.
    fn essence(code: &[u8]) -> Vec<u8> {
        let mut essence = Vec::new();
        let mut at = 0;
        while at < code.len() {
            let nop = (1..=8).rev().find(|&len| code[at..].starts_with(&nops(len)));
            match (nop, code[at]) {
                (Some(len), _) => at += len,
                (None, PADDING) => at += 1,
                (None, byte) => {
                    essence.push(byte);
                    at += 1;
                }
            }
        }
        essence
    }

    #[test]
    fn a_check_takes_two_instructions() {
        let code = rewritten(&[&READ, &LESS, &WRITE, &READ, &TEST, &BRANCH]);
        // add $-1, %r15; jl
        assert_eq!(essence(&code), [&[0x49, 0x81, 0xc7, 0xff, 0xff, 0xff, 0xff], &BRANCH[..]].concat());
        assert!(code.ends_with(&[&[0x49, 0x81, 0xc7, 0xff, 0xff, 0xff, 0xff], &BRANCH[..]].concat()));
    }

    #[test]
    fn additions_of_any_form_are_done_in_place() {
        // add $0x12345678, %rax; lea 0x12345678(%r12), %rcx with mov %r15, %r12 and mov %rcx, %r15
        let added = rewritten(&[&READ, &[0x48, 0x81, 0xc0, 0x78, 0x56, 0x34, 0x12], &WRITE]);
        let lea = [0x49, 0x8d, 0x8c, 0x24, 0x78, 0x56, 0x34, 0x12];
        let shown = rewritten(&[&[0x4d, 0x89, 0xfc], &lea, &[0x49, 0x89, 0xcf]]);
        for code in [added, shown] {
            assert_eq!(essence(&code), [0x49, 0x81, 0xc7, 0x78, 0x56, 0x34, 0x12]);
        }
    }

    #[test]
    fn a_countdown_is_told_from_other_sums() {
        assert!(is_countdown(&LESS) && is_countdown(&[0x49, 0x83, 0xc4, 0xff]));
        let (more, doubled) = ([0x48, 0x83, 0xc0, 1], [0x48, 0x8d, 0x44, 0x00, 0xff]);
        assert!(
            ![&more[..], &doubled, &READ, &[], &[&LESS[..], &WRITE].concat()]
                .map(is_countdown)
                .contains(&true)
        );
    }

    #[test]
    fn a_bit_is_shifted_in_in_place() {
        // lea 1(%rax,%rax), %rcx; mov %rcx, %r15
        let code = rewritten(&[&READ, &TEST, &READ, &[0x48, 0x8d, 0x4c, 0x00, 0x01], &[0x49, 0x89, 0xcf]]);
        // test %r15, %r15; lea 1(%r15,%r15), %r15
        assert_eq!(essence(&code), [0x4d, 0x85, 0xff, 0x4f, 0x8d, 0xbc, 0x3f, 1, 0, 0, 0]);
    }

    #[test]
    fn what_is_not_as_expected_stays() {
        // Another register is tested, added to or written; the result stays elsewhere; other code stands in between.
        let cases: [&[&[u8]]; 6] = [
            &[&READ, &[0x48, 0x85, 0xc9]],
            &[&READ, &[0x48, 0x83, 0xc1, 1], &WRITE],
            &[&READ, &LESS, &[0x49, 0x89, 0xcf]],
            &[&READ, &LESS, &TEST],
            &[&READ, &[0x48, 0x89, 0x44, 0x24, 8], &TEST],
            &[&BRANCH, &READ, &TEST],
        ];
        for case in cases {
            assert_eq!(rewritten(case), case.concat());
        }
    }

    #[test]
    fn no_end_of_the_code_is_read_beyond() {
        let code = [&READ[..], &[0x48, 0x81, 0xc0, 0x78, 0x56, 0x34, 0x12], &WRITE, &READ, &TEST].concat();
        for len in 0..code.len() {
            let mut part = code[..len].to_vec();
            rewrite(&mut part);
            assert_eq!(part.len(), len);
        }
    }
}
