//! Redundant-move elimination: removes copies between registers and the frame.
//!
//! Cranelift's register allocator splits live ranges; where two parts of a live range meet, a value is often loaded
//! from the frame into the register that already holds it, or into one that is dead.
//! Input: the pieces of a function. Output: the same pieces, without such copies.
//! Invariant: a register holds the same value as a frame slot on each path to a removed load of the slot.
//! Source: available expressions and live variables, as in Aho, Lam, Sethi & Ullman, *Compilers*, section 9.2.
//! Example: `L: mov 8(%rsp), %rax; …` is `L: …` if the jumps to `L` come behind `mov 8(%rsp), %rax`, or `mov %rax,
//! 8(%rsp)`, with nothing that writes either in between.

use super::effects::{ALL, Effect, Registers, WIDTH, What, overlap};
use super::flow::BasicBlock;
use super::{CodeItem, Encoded, Kind};

/// Larger functions are left as they are: the analysis grows faster than linearly with the number of pieces.
const MOST_PIECES: usize = 1 << 17;

/// Removes redundant moves.
pub(super) fn leave_out(pieces: &mut [CodeItem], effects: &mut [Effect], blocks: &[BasicBlock]) {
    let uses_frame = |effect: &Effect| {
        matches!(effect.what, What::Load { .. } | What::Store { .. } | What::Address { .. })
    };
    if pieces.len() > MOST_PIECES || !effects.iter().any(uses_frame) {
        return;
    }
    // Dead loads go first: otherwise cold code, which makes copies for its own use, would come to depend on them.
    leave_unread_out(pieces, effects, blocks);
    let escapes = effects.iter().any(|effect| matches!(effect.what, What::Address { .. }));
    let known = Known { effects, escapes };
    for (at, from) in known.not_needed(blocks) {
        let other = from.zip(effects[at].destination());
        let (kind, effect) = match other {
            Some((from, to)) => (Kind::Encoded(Encoded::move_register(from, to)), Effect::moved(from, to)),
            None => (Kind::Nothing, Effect::NONE),
        };
        pieces[at].replace(kind);
        effects[at] = effect;
    }
    leave_unread_out(pieces, effects, blocks);
}

fn leave_unread_out(pieces: &mut [CodeItem], effects: &mut [Effect], blocks: &[BasicBlock]) {
    for at in unread(effects, blocks) {
        pieces[at].replace(Kind::Nothing);
        effects[at] = Effect::NONE;
    }
}

/// The registers that hold the value of each slot, ascending by slot.
type Held = Vec<(i32, Registers)>;

struct Known<'a> {
    effects: &'a [Effect],
    /// Whether an address in the frame is known beyond the instructions that name it.
    escapes: bool,
}

impl Known<'_> {
    /// Returns the copies whose destination already holds the value (`None`), and the loads of a value that another
    /// register holds, with that register.
    fn not_needed(&self, blocks: &[BasicBlock]) -> Vec<(usize, Option<u8>)> {
        let mut held: Vec<Option<Held>> =
            blocks.iter().map(|block| block.is_target.then(Held::new)).collect();
        let mut work: Vec<usize> = (0..blocks.len()).filter(|&at| blocks[at].is_target).collect();
        // A block that no known path reaches may be reached along other ones.
        for first in 0..blocks.len() {
            if held[first].is_none() {
                held[first] = Some(Held::new());
                work.push(first);
            }
            while let Some(block) = work.pop() {
                let mut out = held[block].clone().expect("it was reached");
                (blocks[block].begin..blocks[block].end).for_each(|at| self.step(&mut out, at));
                for &next in &blocks[block].next {
                    if merge(&mut held[next], &out) {
                        work.push(next);
                    }
                }
            }
        }
        let mut found = Vec::new();
        for (block, held) in blocks.iter().zip(held) {
            let mut held = held.expect("all are reached");
            for at in block.begin..block.end {
                match self.effects[at].what {
                    What::Load { slot, to: register } | What::Store { slot, from: register }
                        if registers_of(&held, slot) >> register & 1 == 1 =>
                    {
                        found.push((at, None));
                        continue;
                    }
                    What::Load { slot, .. } if registers_of(&held, slot) != 0 => {
                        found.push((at, Some(registers_of(&held, slot).trailing_zeros() as u8)));
                    }
                    _ => {}
                }
                self.step(&mut held, at);
            }
        }
        found
    }

    /// Updates the held values across an instruction.
    fn step(&self, held: &mut Held, at: usize) {
        let effect = &self.effects[at];
        match effect.what {
            What::Anything => held.clear(),
            What::Load { slot, to } => {
                forget(held, 1 << to);
                hold(held, slot, 1 << to);
            }
            What::Store { slot, from } => {
                held.retain(|&(other, _)| !overlap(other, (slot, WIDTH)));
                hold(held, slot, 1 << from);
            }
            What::Move { from, to } => {
                forget(held, 1 << to);
                held.iter_mut().for_each(|(_, registers)| *registers |= (*registers >> from & 1) << to);
            }
            What::Write { slot, len } => {
                held.retain(|&(other, _)| !overlap(other, (slot, len)));
                forget(held, effect.writes);
            }
            What::Elsewhere if self.escapes => held.clear(),
            What::Other | What::Elsewhere | What::Address { .. } => forget(held, effect.writes),
        }
    }
}

fn registers_of(held: &Held, slot: i32) -> Registers {
    held.binary_search_by_key(&slot, |&(slot, _)| slot).map_or(0, |at| held[at].1)
}

fn hold(held: &mut Held, slot: i32, registers: Registers) {
    match held.binary_search_by_key(&slot, |&(slot, _)| slot) {
        Ok(at) => held[at].1 |= registers,
        Err(at) => held.insert(at, (slot, registers)),
    }
}

fn forget(held: &mut Held, registers: Registers) {
    held.retain_mut(|(_, has)| {
        *has &= !registers;
        *has != 0
    });
}

/// Intersects the held values with those of one more path; reports whether that removed any.
fn merge(held: &mut Option<Held>, other: &Held) -> bool {
    let Some(held) = held else {
        *held = Some(other.clone());
        return true;
    };
    let count = |held: &Held| -> u32 { held.iter().map(|(_, registers)| registers.count_ones()).sum() };
    let before = count(held);
    held.retain_mut(|(slot, registers)| {
        *registers &= registers_of(other, *slot);
        *registers != 0
    });
    before != count(held)
}

/// Returns the copies to registers that are dead.
fn unread(effects: &[Effect], blocks: &[BasicBlock]) -> Vec<usize> {
    // For each block: the registers that it reads before writing them, without and with those that it does not
    // write.
    let through = |block: &BasicBlock, live| effects[block.begin..block.end].iter().rev().fold(live, before);
    let all: Vec<(Registers, Registers)> =
        blocks.iter().map(|block| (through(block, 0), through(block, ALL))).collect();
    let mut live: Vec<Registers> = vec![0; blocks.len()];
    let behind = |live: &[Registers], block: &BasicBlock| match block.is_left {
        true => ALL,
        false => block.next.iter().fold(0, |all, &next| all | live[next]),
    };
    let mut changed = true;
    while changed {
        changed = false;
        for (index, block) in blocks.iter().enumerate().rev() {
            let out = behind(&live, block);
            let (read, not_written) = all[index];
            let before = read | out & not_written;
            changed |= before != live[index];
            live[index] = before;
        }
    }
    let mut found = Vec::new();
    for block in blocks {
        let mut live = behind(&live, block);
        for at in (block.begin..block.end).rev() {
            let effect = &effects[at];
            match effect.destination() {
                Some(to) if live >> to & 1 == 0 => found.push(at),
                _ => live = before(live, effect),
            }
        }
    }
    found
}

/// Returns the live registers before an instruction.
fn before(live: Registers, effect: &Effect) -> Registers {
    live & !(effect.writes & !effect.reads) | effect.reads
}

#[cfg(test)]
mod tests {
    use super::super::{Layout, Registers, relax, returned};
    use crate::code::MachineCode;

    /// mov 8(%rsp), %rax
    const LOAD: [u8; 5] = [0x48, 0x8b, 0x44, 0x24, 8];
    /// mov %rax, 8(%rsp)
    const STORE: [u8; 5] = [0x48, 0x89, 0x44, 0x24, 8];
    /// mov 8(%rsp), %rcx
    const OTHER: [u8; 5] = [0x48, 0x8b, 0x4c, 0x24, 8];
    /// mov 16(%rsp), %rax
    const NEXT: [u8; 5] = [0x48, 0x8b, 0x44, 0x24, 16];
    /// add %rax, %rdx
    const USE: [u8; 3] = [0x48, 0x01, 0xc2];
    /// add %rdx, %rax
    const CHANGE: [u8; 3] = [0x48, 0x01, 0xd0];
    /// mov %rcx, (%rdx)
    const ELSEWHERE: [u8; 3] = [0x48, 0x89, 0x0a];
    const RET: [u8; 1] = [0xc3];

    fn jb(distance: i8) -> [u8; 6] {
        [0x0f, 0x82, distance as u8, (distance >> 7) as u8, (distance >> 7) as u8, (distance >> 7) as u8]
    }

    fn relaxed(parts: &[&[u8]], blocks: &[u32]) -> Vec<u8> {
        relaxed_by(parts, &Layout { blocks, ..Layout::UNKNOWN })
    }

    fn relaxed_by(parts: &[&[u8]], layout: &Layout<'_>) -> Vec<u8> {
        let mut code = MachineCode { align: 16, bytes: parts.concat(), ..MachineCode::default() };
        relax(&mut code, layout);
        code.bytes
    }

    /// Reports whether the pass removes `copy`, given that it follows `first` and `between` and that its value is used.
    fn is_left_out(first: &[u8], between: &[u8], copy: &[u8]) -> bool {
        let parts = [first, &USE, between, copy, &RET];
        let bytes = relaxed(&parts, &[0]);
        assert!(bytes == parts.concat() || bytes == [first, &USE, between, &RET].concat(), "{bytes:x?}");
        bytes.len() < parts.concat().len()
    }

    #[test]
    fn what_a_register_or_a_slot_has_is_not_copied_there_again() {
        for first in [LOAD, STORE] {
            for copy in [LOAD, STORE] {
                assert!(is_left_out(&first, &USE, &copy));
                assert!(is_left_out(&first, &ELSEWHERE, &copy));
                assert!(!is_left_out(&first, &CHANGE, &copy));
            }
        }
    }

    #[test]
    fn what_may_have_changed_is_copied_again() {
        // mov %ecx, 12(%rsp); mov %ecx, 16(%rsp); vmovups %xmm0, -4(%rsp); mov %rcx, (%rsp, %rdx)
        assert!(!is_left_out(&STORE, &[0x89, 0x4c, 0x24, 12], &LOAD));
        assert!(is_left_out(&STORE, &[0x89, 0x4c, 0x24, 16], &LOAD));
        assert!(!is_left_out(&STORE, &[0xc5, 0xf8, 0x11, 0x44, 0x24, 0u8.wrapping_sub(4)], &LOAD));
        assert!(!is_left_out(&STORE, &[0x48, 0x89, 0x0c, 0x14], &LOAD));
        // Stores that overlap the slot at its start and its end, and one that does not: mov %rcx, 4(%rsp), 12(%rsp),
        // 16(%rsp).
        for (slot, is_apart) in [(4, false), (12, false), (16, true)] {
            assert_eq!(is_left_out(&STORE, &[0x48, 0x89, 0x4c, 0x24, slot], &LOAD), is_apart, "{slot}");
        }
        // The register is loaded or moved to, and its new value is used: mov %rcx, %rax.
        assert!(!is_left_out(&LOAD, &[&NEXT[..], &USE].concat(), &LOAD));
        assert!(!is_left_out(&STORE, &[&[0x48, 0x89, 0xc8][..], &USE].concat(), &LOAD));
        // The frame has moved: add $16, %rsp.
        assert!(!is_left_out(&STORE, &[0x48, 0x83, 0xc4, 16], &LOAD));
        // The frame lies below the frame pointer: mov %rcx, -8(%rbp).
        assert!(!is_left_out(&STORE, &[0x48, 0x89, 0x4d, 0xf8], &LOAD));
        // call *%rbx; push %rcx; xor %eax, %eax; mov %al, %ah
        for change in [&[0xff, 0xd3][..], &[0x51], &[0x31, 0xc0], &[0x88, 0xc4]] {
            assert!(!is_left_out(&STORE, change, &LOAD), "{change:x?}");
        }
        // Taking the address of the frame lets any store write to it: lea 8(%rsp), %rbx; mov %rsp, %rdx; lea -8(%rbp),
        // %rdx.
        for address in [&[0x48, 0x8d, 0x5c, 0x24, 8][..], &[0x48, 0x89, 0xe2], &[0x48, 0x8d, 0x55, 0xf8]] {
            assert!(!is_left_out(&STORE, &[address, &ELSEWHERE].concat(), &LOAD));
            assert!(is_left_out(&STORE, address, &LOAD));
        }
        // The prologue takes no such address: push %rbp; mov %rsp, %rbp.
        let prologue = [0x55, 0x48, 0x89, 0xe5];
        assert!(is_left_out(&[&prologue[..], &STORE].concat(), &ELSEWHERE, &LOAD));
    }

    #[test]
    fn the_pinned_register_has_nothing() {
        // mov 8(%rsp), %r15
        let load = [0x4c, 0x8b, 0x7c, 0x24, 8];
        assert!(!is_left_out(&load, &USE, &load));
    }

    #[test]
    fn another_register_is_copied_instead_of_the_slot() {
        // mov %rax, %rcx
        let bytes = relaxed(&[&STORE, &USE, &OTHER, &RET], &[0]);
        assert_eq!(bytes, [&STORE[..], &USE, &[0x48, 0x89, 0xc1], &RET].concat());
        // mov %rax, %rbx; then the slot is loaded from %rbx, too.
        let parts: [&[u8]; 5] = [&STORE, &[0x48, 0x89, 0xc3], &CHANGE, &LOAD, &RET];
        let bytes = relaxed(&parts, &[0]);
        assert_eq!(bytes, [&STORE[..], &[0x48, 0x89, 0xc3], &CHANGE, &[0x48, 0x89, 0xd8], &RET].concat());
    }

    #[test]
    fn ways_that_meet_must_all_have_it() {
        // jb L; load or not; L: load; use; ret
        let both = relaxed(&[&LOAD, &jb(3), &USE, &LOAD, &USE, &RET], &[0, 11, 14]);
        assert_eq!(both, [&LOAD[..], &[0x72, 3], &USE, &USE, &RET].concat());
        let one = relaxed(&[&jb(8), &LOAD, &USE, &LOAD, &USE, &RET], &[0, 6, 14]);
        assert_eq!(one, [&[0x72, 8], &LOAD[..], &USE, &LOAD, &USE, &RET].concat());
        // The register holds the slot before the paths part, but one path changes the register.
        let lost = relaxed(&[&LOAD, &USE, &jb(3), &CHANGE, &LOAD, &USE, &RET], &[0, 14, 17]);
        assert_eq!(lost, [&LOAD[..], &USE, &[0x72, 3], &CHANGE, &LOAD, &USE, &RET].concat());
        // load; L: load; use; [change]; jb L; ret
        let round = |change: &[u8]| {
            let distance = -(5 + 3 + change.len() as i8 + 6);
            relaxed(&[&LOAD, &LOAD, &USE, change, &jb(distance), &RET], &[0, 5, 14 + 5 + change.len() as u32])
        };
        assert_eq!(round(&[]).windows(5).filter(|code| *code == LOAD).count(), 1);
        assert_eq!(round(&CHANGE).windows(5).filter(|code| *code == LOAD).count(), 1);
        // A block that no known jump leads to may be reached from unknown code, so it starts with nothing held.
        let unknown = relaxed(&[&LOAD, &RET, &LOAD, &USE, &RET], &[0, 6]);
        assert_eq!(unknown, [&LOAD[..], &RET, &LOAD, &USE, &RET].concat());
    }

    #[test]
    fn nothing_is_known_where_jump_tables_lead() {
        // load; lea table(%rip), %rax; jmp *%rax; the table; load; ret
        let jump = [0x48, 0x8d, 0x05, 2, 0, 0, 0, 0xff, 0xe0];
        let bytes = relaxed(&[&OTHER, &jump, &4i32.to_le_bytes(), &OTHER, &RET], &[0, 18]);
        assert_eq!(bytes.windows(5).filter(|code| *code == OTHER).count(), 2);
        // Nor is it without a table: jmp *%rax; L: load; jb L; ret
        let bytes = relaxed(&[&OTHER, &[0xff, 0xe0], &OTHER, &jb(-11), &RET], &[0, 7, 18]);
        assert_eq!(bytes.windows(5).filter(|code| *code == OTHER).count(), 2);
    }

    #[test]
    fn what_nobody_reads_is_not_copied() {
        assert_eq!(relaxed(&[&LOAD, &NEXT, &RET], &[0]), [&NEXT[..], &RET].concat());
        assert_eq!(relaxed(&[&LOAD, &USE, &NEXT, &RET], &[0]), [&LOAD[..], &USE, &NEXT, &RET].concat());
        // The register is written in part: mov %cl, %al.
        let part = [0x88, 0xc8];
        assert_eq!(relaxed(&[&LOAD, &part, &USE, &RET], &[0]), [&LOAD[..], &part, &USE, &RET].concat());
        // Callees and callers may read the register.
        let call = [0xff, 0xd3];
        assert_eq!(relaxed(&[&LOAD, &call, &NEXT, &RET], &[0]), [&LOAD[..], &call, &NEXT, &RET].concat());
        // The register is read on one of two paths: load; jb L; mov 16(%rsp), %rax; ret; L: use; ret
        let parts: [&[u8]; 6] = [&LOAD, &jb(6), &NEXT, &RET, &USE, &RET];
        let bytes = relaxed(&parts, &[0, 11, 17]);
        assert_eq!(bytes, [&LOAD[..], &[0x72, 6], &NEXT, &RET, &USE, &RET].concat());
    }

    #[test]
    fn seldom_run_code_copies_for_itself() {
        // load; jb L; mov 16(%rsp), %rax; use; ret; L: load; use; ret
        let parts: [&[u8]; 8] = [&LOAD, &jb(9), &NEXT, &USE, &RET, &LOAD, &USE, &RET];
        let bytes = relaxed(&parts, &[0, 11, 20]);
        assert_eq!(bytes, [&[0x72, 9], &NEXT[..], &USE, &RET, &LOAD, &USE, &RET].concat());
    }

    #[test]
    fn transparent_calls_neither_read_nor_change_registers() {
        // call *%r11; call *0x160(%rdx)
        for call in [&[0x41, 0xff, 0xd3][..], &[0xff, 0x92, 0x60, 1, 0, 0]] {
            let end = 5 + 3 + call.len() as u32;
            let by = |parts: &[&[u8]], transparent_calls: &[(u32, u32)]| {
                relaxed_by(parts, &Layout { blocks: &[0], transparent_calls, ..Layout::UNKNOWN })
            };
            let known: [&[u8]; 5] = [&STORE, &USE, call, &LOAD, &RET];
            assert_eq!(by(&known, &[(end - 1, end)]), [&STORE[..], &USE, call, &LOAD, &RET].concat());
            assert_eq!(by(&known, &[(8, end)]), [&STORE[..], &USE, call, &RET].concat());
            assert_eq!(
                by(&known, &[(0, 1), (8, 9), (end, end + 1)]),
                [&STORE[..], &USE, call, &RET].concat()
            );
            assert_eq!(by(&[&LOAD, call, &NEXT, &RET], &[(5, end - 3)]), [call, &NEXT, &RET].concat());
        }
        // But the call reads its own target: load; call *%rax; mov 16(%rsp), %rax
        let call = [0xff, 0xd0];
        let layout = Layout { blocks: &[0], transparent_calls: &[(5, 7)], ..Layout::UNKNOWN };
        let bytes = relaxed_by(&[&LOAD, &call, &NEXT, &RET], &layout);
        assert_eq!(bytes, [&LOAD[..], &call, &NEXT, &RET].concat());
        // A callee that knows the frame's address may write to it: lea 8(%rsp), %rdx
        let address = [0x48, 0x8d, 0x54, 0x24, 8];
        let layout = Layout { blocks: &[0], transparent_calls: &[(13, 15)], ..Layout::UNKNOWN };
        let bytes = relaxed_by(&[&address, &STORE, &USE, &call, &LOAD, &RET], &layout);
        assert!(bytes.ends_with(&[&call[..], &LOAD, &RET].concat()));
    }

    #[test]
    fn callers_read_results_and_what_callees_keep() {
        let ends_with = |code: &[u8], returned: Registers| {
            // add $16, %rsp
            let epilogue = [0x48, 0x83, 0xc4, 16];
            let layout = Layout { blocks: &[0], returned, ..Layout::UNKNOWN };
            relaxed_by(&[code, &epilogue, &RET], &layout).len() > epilogue.len() + RET.len()
        };
        // mov 8(%rsp), %rbx; mov 8(%rsp), %r12
        for kept in [&LOAD[..], &[0x48, 0x8b, 0x5c, 0x24, 8], &[0x4c, 0x8b, 0x64, 0x24, 8]] {
            assert!(ends_with(kept, returned(0)) && ends_with(kept, returned(1)), "{kept:x?}");
        }
        assert!(!ends_with(&OTHER, returned(1)) && ends_with(&OTHER, returned(2)));
    }

    #[test]
    fn jumps_around_what_is_left_out_are_turned() {
        // load; jb L; load; jmp M; L: use; M: ret
        let parts: [&[u8]; 6] = [&LOAD, &jb(10), &LOAD, &[0xe9, 3, 0, 0, 0], &USE, &RET];
        let bytes = relaxed(&parts, &[0, 11, 21, 24]);
        assert_eq!(bytes, [&LOAD[..], &[0x73, 3], &USE, &RET].concat());
        // The branch is not inverted around the jump: jb L; jmp M; use; L: use; M: ret.
        let around: [&[u8]; 5] = [&jb(8), &[0xe9, 6, 0, 0, 0], &USE, &USE, &RET];
        let bytes = relaxed(&around, &[0, 6, 11, 14, 17]);
        assert_eq!(bytes, [&[0x72, 5, 0xeb, 6], &USE[..], &USE, &RET].concat());
        // Where L is cold, it lies elsewhere.
        let mut code = MachineCode { align: 16, bytes: parts.concat(), ..MachineCode::default() };
        relax(&mut code, &Layout { blocks: &[0, 11, 21, 24], cold: 21, ..Layout::UNKNOWN });
        assert_eq!(code.bytes, [&LOAD[..], &[0x72, 2, 0xeb, 3], &USE, &RET].concat());
        // load; jb L; ret; L: load; jmp M; use; M: ret
        let parts: [&[u8]; 7] = [&LOAD, &jb(1), &RET, &LOAD, &[0xe9, 3, 0, 0, 0], &USE, &RET];
        let bytes = relaxed(&parts, &[0, 11, 12, 22, 25]);
        assert_eq!(bytes, [&LOAD[..], &[0x72, 6], &RET, &[0xeb, 3], &USE, &RET].concat());
    }
}
