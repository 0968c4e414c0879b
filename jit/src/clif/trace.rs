//! Code that appends to the trace.
//!
//! The word being filled is in the pinned register if there is one, see [`trace_word`]. If the bits to be appended do
//! not fit, the word goes to the buffer and a new one begins; a store behind the buffer's end traps, and the host takes
//! the buffer and the word away. So the common case is a test and a shift, and no call costs registers anywhere.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Value, types};
use cranelift_frontend::FunctionBuilder;

use crate::abi::{TrapCode, store_context, trace_word};
use crate::code::{Fact, Origins};

/// Bits that are appended in one step.
#[derive(Clone, Copy)]
pub(crate) enum Bits {
    /// The low bits of a number, lowest first.
    Constant { value: u32, bits: u8 },
    /// 32 bits in the order of a word, an `i64`, followed by more bits.
    Token { token: Value, value: u32, bits: u8 },
}

impl Bits {
    fn len(self) -> i64 {
        match self {
            Bits::Constant { bits, .. } => bits.into(),
            Bits::Token { bits, .. } => 32 + i64::from(bits),
        }
    }
}

/// The place of the word being filled.
#[derive(Clone, Copy)]
enum Word {
    Pinned,
    /// The word is in this store context.
    Memory(Value),
}

impl Word {
    fn read(self, builder: &mut FunctionBuilder<'_>) -> Value {
        match self {
            Word::Pinned => builder.ins().get_pinned_reg(types::I64),
            Word::Memory(store) => {
                builder.ins().load(types::I64, MemFlagsData::trusted(), store, store_context::TRACE_WORD)
            }
        }
    }

    fn write(self, builder: &mut FunctionBuilder<'_>, word: Value) {
        match self {
            Word::Pinned => _ = builder.ins().set_pinned_reg(word),
            Word::Memory(store) => {
                builder.ins().store(MemFlagsData::trusted(), word, store, store_context::TRACE_WORD);
            }
        }
    }
}

/// Appends to the trace. `store` returns the store's context where it is needed, out of line if the word `is_pinned`:
/// computed earlier, it would occupy a register all the time. `store` also sets the source location that the frame has
/// if the buffer is full.
pub(crate) fn append(
    builder: &mut FunctionBuilder<'_>,
    origins: &mut Origins,
    is_pinned: bool,
    what: Bits,
    store: impl FnOnce(&mut FunctionBuilder<'_>) -> Value,
) {
    debug_assert!((1..=63).contains(&what.len()));
    let location = builder.srcloc();
    match is_pinned {
        true => append_to(builder, origins, what, Word::Pinned, store),
        false => {
            let store = store(builder);
            let when_full = builder.srcloc();
            builder.set_srcloc(location);
            append_to(builder, origins, what, Word::Memory(store), |builder| {
                builder.set_srcloc(when_full);
                store
            });
        }
    }
}

fn append_to(
    builder: &mut FunctionBuilder<'_>,
    origins: &mut Origins,
    what: Bits,
    place: Word,
    store: impl FnOnce(&mut FunctionBuilder<'_>) -> Value,
) {
    let (full, go_on) = (builder.create_block(), builder.create_block());
    let location = builder.srcloc();
    let in_place = origins.with(location, Fact::InPlace);
    builder.set_srcloc(in_place);
    let word = place.read(builder);
    let is_full = match what.len() {
        1 => builder.ins().icmp_imm_s(IntCC::SignedLessThan, word, 0),
        bits => {
            let room = builder.ins().iconst(types::I64, 64 - bits);
            let above = builder.ins().ushr(word, room);
            builder.ins().icmp_imm_s(IntCC::NotEqual, above, 0)
        }
    };
    builder.ins().brif(is_full, full, &[], go_on, &[]);
    builder.set_srcloc(location);
    builder.seal_block(full);
    builder.set_cold_block(full);
    builder.switch_to_block(full);
    let store = store(builder);
    store_word(builder, place, store);
    builder.ins().jump(go_on, &[]);
    builder.seal_block(go_on);
    builder.switch_to_block(go_on);
    builder.set_srcloc(in_place);
    let word = place.read(builder);
    let word = match what {
        Bits::Constant { value, bits } => shift_in(builder, word, trace_word::in_word(value, bits), bits),
        Bits::Token { token, value, bits } => {
            let word = shift(builder, word, 32);
            let word = builder.ins().bor(word, token);
            match bits {
                0 => word,
                _ => shift_in(builder, word, trace_word::in_word(value, bits), bits),
            }
        }
    };
    place.write(builder, word);
    builder.set_srcloc(location);
}

/// Stores the full word to the buffer. The pointer moves first, so that nothing is left to do if the store traps: the
/// host then resets the pointer and reads the word from its place.
fn store_word(builder: &mut FunctionBuilder<'_>, word_at: Word, store: Value) {
    let trusted = MemFlagsData::trusted();
    let place = builder.ins().load(types::I64, trusted, store, store_context::TRACE_NEXT);
    let eight = builder.ins().iconst(types::I64, 8);
    let next = builder.ins().iadd(place, eight);
    builder.ins().store(trusted, next, store, store_context::TRACE_NEXT);
    let word = word_at.read(builder);
    let full = MemFlagsData::new().with_aligned().with_trap_code(Some(TrapCode::TraceFull.to_clif()));
    builder.ins().store(full, word, place, 0);
    let empty = builder.ins().iconst(types::I64, trace_word::EMPTY as i64);
    word_at.write(builder, empty);
}

/// Appends words to the buffer of data references, and moves the pointer behind them. If the buffer is full, the store
/// traps; the host empties the buffer, stores the word at its beginning, and continues behind the store: so the pointer
/// is read again. A reference of several words first stores one at the place of its last, to find out whether all fit.
pub(crate) fn append_reference(builder: &mut FunctionBuilder<'_>, words: &[Value], store: Value) {
    let trusted = MemFlagsData::trusted();
    let full = MemFlagsData::new().with_aligned().with_trap_code(Some(TrapCode::ReferencesFull.to_clif()));
    let next = |builder: &mut FunctionBuilder<'_>| {
        builder.ins().load(types::I64, trusted, store, store_context::REFERENCE_NEXT)
    };
    let offset = |number: usize| number as i32 * 8;
    let place = next(builder);
    let place = match words {
        [word] => {
            builder.ins().store(full, *word, place, 0);
            next(builder)
        }
        _ => {
            builder.ins().store(full, words[0], place, offset(words.len() - 1));
            let place = next(builder);
            for (number, &word) in words.iter().enumerate() {
                builder.ins().store(trusted, word, place, offset(number));
            }
            place
        }
    };
    let behind = builder.ins().iadd_imm_s(place, i64::from(offset(words.len())));
    builder.ins().store(trusted, behind, store, store_context::REFERENCE_NEXT);
}

fn shift(builder: &mut FunctionBuilder<'_>, word: Value, bits: u8) -> Value {
    if bits == 1 {
        return builder.ins().iadd(word, word);
    }
    let bits = builder.ins().iconst(types::I64, i64::from(bits));
    builder.ins().ishl(word, bits)
}

fn shift_in(builder: &mut FunctionBuilder<'_>, word: Value, value: u64, bits: u8) -> Value {
    let word = shift(builder, word, bits);
    if value == 0 {
        return word;
    }
    let value = builder.ins().iconst(types::I64, value as i64);
    // The low bits are zero: an addition suffices, and can be folded into an address computation.
    builder.ins().iadd(word, value)
}
