//! Checks that relaxed code does the same as before; only where debug assertions are on.

use iced_x86::{Decoder, DecoderOptions, Instruction, Mnemonic, OpKind, Register};

use super::{CodeItem, Kind, Places};

/// Panics if an instruction differs from its original; decodes both versions anew.
pub(super) fn assert_equal(pieces: &[CodeItem], old: &[u8], new: &[u8]) {
    let places = Places { pieces };
    for piece in pieces.iter().filter(|piece| !matches!(piece.kind, Kind::Entry { .. } | Kind::Constants)) {
        let (before, after) = (decode(old, piece.old), decode(new, piece.new));
        match piece.kind {
            // The instruction was merged from several, or names its place itself: it still applies the same operation
            // to the same kind of operand.
            Kind::Encoded(_) | Kind::EncodedCall(_) => {
                let is_equal = before.mnemonic() == after.mnemonic() && after.len() == piece.len as usize;
                assert!(is_equal, "{before:?} became {after:?}");
                continue;
            }
            // Its register or its table may be another one: see `tables`.
            Kind::Table { register, table } => {
                let is_equal = before.mnemonic() == after.mnemonic()
                    && after.op0_register().number() == usize::from(register)
                    && after.ip_rel_memory_address() == u64::from(places.begin(table));
                assert!(is_equal, "{before:?} became {after:?}");
                continue;
            }
            // Jumps may be threaded, and branches inverted: see `jump_threading`.
            Kind::Jump { to } | Kind::Branch { to, .. } => {
                let is_jump = before.mnemonic() == Mnemonic::Jmp;
                let is_equal = is_jump == (after.mnemonic() == Mnemonic::Jmp)
                    && after.near_branch64() == u64::from(places.begin(to));
                assert!(is_equal, "{before:?} became {after:?}");
                continue;
            }
            Kind::Nothing => continue,
            _ => {}
        }
        let is_equal = before.mnemonic() == after.mnemonic()
            && before.op_count() == after.op_count()
            && before.has_lock_prefix() == after.has_lock_prefix()
            && before.has_rep_prefix() == after.has_rep_prefix()
            && before.op_mask() == after.op_mask()
            && before.zeroing_masking() == after.zeroing_masking()
            && (0..before.op_count()).all(|op| is_same_operand(&before, &after, op, &places));
        assert!(is_equal, "{before:?} became {after:?}");
    }
}

fn decode(bytes: &[u8], at: u32) -> Instruction {
    Decoder::with_ip(64, &bytes[at as usize..], at.into(), DecoderOptions::NONE).decode()
}

fn is_same_operand(before: &Instruction, after: &Instruction, op: u32, places: &Places<'_>) -> bool {
    match (before.op_kind(op), after.op_kind(op)) {
        (OpKind::Register, OpKind::Register) => before.op_register(op) == after.op_register(op),
        (OpKind::Memory, OpKind::Memory) => is_same_memory(before, after, places),
        // A shorter immediate is extended.
        (kind, _) => match (before.try_immediate(op), after.try_immediate(op)) {
            (Ok(number), Ok(new)) if kind == OpKind::Immediate32 => number as u32 == new as u32,
            (number, new) => number.is_ok() && number.ok() == new.ok(),
        },
    }
}

fn is_same_memory(before: &Instruction, after: &Instruction, places: &Places<'_>) -> bool {
    let is_same_place = match before.memory_base() {
        Register::RIP => {
            u64::from(places.begin(before.ip_rel_memory_address() as u32)) == after.ip_rel_memory_address()
        }
        _ => before.memory_displacement64() == after.memory_displacement64(),
    };
    is_same_place
        && before.memory_base() == after.memory_base()
        && before.memory_index() == after.memory_index()
        && before.memory_index_scale() == after.memory_index_scale()
        && before.memory_size() == after.memory_size()
}
