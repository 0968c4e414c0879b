//! Functions that write a trace: the bits, and notes of events that the bits do not show.
//!
//! Bits fill a word in the head of the region; full words follow one another from the beginning of the trace's memory.
//! *Notes* fill that memory from its end: of frames that an exception, a trap or an exit has left behind, with all
//! entries of the stack at that moment. When words and notes would meet, [`TRACE_FULL`] is set, and nothing more is
//! written.
//!
//! **Entries.** Each frame of a traced module has an entry from its first site on, so the entries are the stack. A function
//! that may be called from outside finds out at its beginning how it was called: the caller leaves that in a global, and
//! the host leaves nothing there. So a frame in a call through a table learns from its entry's state whether a function
//! of the module has begun.
//!
//! **The host** calls from the height of the stack in another global. Entries above it belong to frames that were left
//! behind. A host that catches an error which has passed through wasm frames puts both globals back, since no wasm code
//! runs then.
//!
//! **A function of the host in a table** that the module does not know says nothing when it is called. If it calls back,
//! what it calls first is taken for the callee. The next call from outside shows the mistake, and a note mends it.

use wasm_encoder::{BlockType, Function, ValType};
use wprof_profiler::HOST_CALLEE;

use super::{Code, function};
use crate::layout::{
    ENTRY, Global, IS_MENDED, Layout, NOTE, ROOT_SLOT, Support, TAIL_BITS, TAIL_VALUE, TRACE_BITS,
    TRACE_BYTES, TRACE_FULL, TRACE_NOTES, TRACE_WORD,
};
use crate::trace::{state, via};

impl Code<'_, '_> {
    /// Pushes a 32-bit number of the head.
    fn number(&mut self, place: u32) {
        self.region();
        let at = self.at(place, 2);
        self.sink.i32_load(at);
    }

    /// Pushes a 64-bit number of the head.
    fn wide(&mut self, place: u32) {
        self.region();
        let at = self.at(place, 3);
        self.sink.i64_load(at);
    }

    /// Appends constant bits to the trace.
    pub fn emit(&mut self, value: u64, bits: u32) {
        self.sink.i64_const(value.cast_signed()).i32_const(bits.cast_signed());
        self.call(Support::Emit);
    }

    /// Appends the callee of an indirect call that is the host's.
    fn emit_host_callee(&mut self) {
        self.emit(HOST_CALLEE.into(), 32);
    }

    /// Appends that a call of the host has returned.
    pub fn emit_return_of_host(&mut self) {
        self.emit(0, 1);
    }

    /// Appends the bits of a tail call's edge behind its callee.
    fn emit_tail(&mut self) {
        self.wide(TAIL_VALUE);
        self.number(TAIL_BITS);
        self.call(Support::Emit);
    }

    /// Pushes whether the trace is full.
    fn is_full(&mut self) {
        self.get(Global::Flags);
        self.sink.i32_const(TRACE_FULL as i32).i32_and();
    }

    /// Pushes the number of bits of the trace.
    fn position(&mut self) {
        self.number(TRACE_BYTES);
        self.sink.i64_extend_i32_u().i64_const(3).i64_shl();
        self.number(TRACE_BITS);
        self.sink.i64_extend_i32_u().i64_add();
    }

    /// Pushes the offset in the region of the height below what the host calls.
    fn floor(&mut self) {
        self.get(Global::Current);
        let difference = self.layout.no_entry().wrapping_sub(ROOT_SLOT);
        self.sink.i32_const(difference.cast_signed()).i32_add();
    }

    /// Makes the height of the stack that below what the host calls.
    pub fn raise_floor(&mut self) {
        self.get(Global::Height);
        let difference = ROOT_SLOT.wrapping_sub(self.layout.no_entry());
        self.sink.i32_const(difference.cast_signed()).i32_add();
        self.set(Global::Current);
    }

    /// Says how the next call is made.
    pub fn calls_via(&mut self, via: u32) {
        self.sink.i32_const(via.cast_signed());
        self.set(Global::Slot);
    }

    /// Pushes the state of the entry at local `place`.
    fn state_of(&mut self, place: u32) {
        self.sink.local_get(place);
        self.address();
        let at = self.at(4, 2);
        self.sink.i32_load(at);
    }

    fn set_state_of(&mut self, place: u32, state: u32) {
        self.sink.local_get(place);
        self.address();
        let at = self.at(4, 2);
        self.sink.i32_const(state.cast_signed()).i32_store(at);
    }

    /// Makes room for a note of as many bytes as local `bytes` says, or marks the trace as full. Leaves the address of the
    /// note in local `at` and pushes whether there is one.
    fn note(&mut self, bytes: u32, at: u32) {
        let room = self.layout.first_table() - self.layout.trace_start();
        self.is_full();
        self.sink.if_(BlockType::Result(ValType::I32)).i32_const(0).else_();
        // The word that is being filled needs room, too.
        self.number(TRACE_BYTES);
        self.number(TRACE_NOTES);
        self.sink.i32_add().local_get(bytes).i32_add().i32_const(8).i32_add();
        self.sink.i32_const(room.cast_signed()).i32_gt_u().if_(BlockType::Result(ValType::I32));
        self.flag(TRACE_FULL);
        self.sink.i32_const(0).else_();
        self.region();
        self.number(TRACE_NOTES);
        let notes = self.at(TRACE_NOTES, 2);
        self.sink.local_get(bytes).i32_add().i32_store(notes);
        self.sink.i32_const(self.layout.first_table().cast_signed());
        self.number(TRACE_NOTES);
        self.sink.i32_sub();
        self.address();
        self.sink.local_set(at).i32_const(1).end().end();
    }
}

/// `(value, bits)`: appends bits, of which there may be none; the others of the value are 0.
pub fn emit(layout: &Layout) -> Function {
    const VALUE: u32 = 0;
    const BITS: u32 = 1;
    const OLD: u32 = 2;
    const SUM: u32 = 3;
    function(layout, &[(2, ValType::I32)], |code| {
        let room = layout.first_table() - layout.trace_start();
        let [word, bits, bytes] = [code.at(TRACE_WORD, 3), code.at(TRACE_BITS, 2), code.at(TRACE_BYTES, 2)];
        code.is_full();
        code.sink.if_(BlockType::Empty).return_().end();
        code.number(TRACE_BITS);
        code.sink.local_tee(OLD).local_get(BITS).i32_add().local_tee(SUM).i32_const(64).i32_lt_u();
        code.sink.if_(BlockType::Empty);
        code.region();
        code.wide(TRACE_WORD);
        code.sink.local_get(VALUE).local_get(OLD).i64_extend_i32_u().i64_shl().i64_or().i64_store(word);
        code.region();
        code.sink.local_get(SUM).i32_store(bits).return_().end();
        // The word is full.
        code.number(TRACE_BYTES);
        code.number(TRACE_NOTES);
        code.sink.i32_add().i32_const(16).i32_add().i32_const(room.cast_signed()).i32_gt_u();
        code.sink.if_(BlockType::Empty);
        code.flag(TRACE_FULL);
        code.sink.return_().end();
        code.number(TRACE_BYTES);
        code.address();
        code.wide(TRACE_WORD);
        code.sink.local_get(VALUE).local_get(OLD).i64_extend_i32_u().i64_shl().i64_or();
        let place = code.at(layout.trace_start(), 3);
        code.sink.i64_store(place);
        code.region();
        code.number(TRACE_BYTES);
        code.sink.i32_const(8).i32_add().i32_store(bytes);
        code.region();
        code.sink.local_get(SUM).i32_const(64).i32_sub().i32_store(bits);
        code.region();
        // At most 33 bits come at a time, so that no value fills a word.
        code.sink.local_get(VALUE).i32_const(64).local_get(OLD).i32_sub().i64_extend_i32_u().i64_shr_u();
        code.sink.i64_store(word);
    })
}

/// `(bits)`: removes the bits that were appended last, `bits` of them, unless there was no room for them.
pub fn retract(layout: &Layout) -> Function {
    const BITS: u32 = 0;
    const LEFT: u32 = 1;
    function(layout, &[(1, ValType::I32)], |code| {
        let [word, bits, bytes] = [code.at(TRACE_WORD, 3), code.at(TRACE_BITS, 2), code.at(TRACE_BYTES, 2)];
        code.is_full();
        code.sink.if_(BlockType::Empty).return_().end();
        code.number(TRACE_BITS);
        code.sink.local_get(BITS).i32_sub().local_tee(LEFT).i32_const(0).i32_lt_s().if_(BlockType::Empty);
        code.region();
        code.number(TRACE_BYTES);
        code.sink.i32_const(8).i32_sub().i32_store(bytes);
        code.region();
        code.number(TRACE_BYTES);
        code.address();
        let place = code.at(layout.trace_start(), 3);
        code.sink.i64_load(place).i64_store(word);
        code.sink.local_get(LEFT).i32_const(64).i32_add().local_set(LEFT).end();
        code.region();
        code.wide(TRACE_WORD);
        code.sink.i64_const(1).local_get(LEFT).i64_extend_i32_u().i64_shl().i64_const(1).i64_sub();
        code.sink.i64_and().i64_store(word);
        code.region();
        code.sink.local_get(LEFT).i32_store(bits);
    })
}

/// `(place)`: notes that the frames of the entries above `place` were left behind, and removes the entries.
pub fn left(layout: &Layout) -> Function {
    const PLACE: u32 = 0;
    const BYTES: u32 = 1;
    const TO: u32 = 2;
    const FROM: u32 = 3;
    const COUNT: u32 = 4;
    function(layout, &[(4, ValType::I32)], |code| {
        let [count, keep, entry, first] = [code.at(8, 2), code.at(12, 2), code.at(NOTE, 3), code.at(0, 3)];
        let no_entry = layout.no_entry().cast_signed();
        code.get(Global::Height);
        code.sink.i32_const(no_entry).i32_sub().i32_const(4).i32_shr_u().local_tee(COUNT);
        code.sink.i32_const(3).i32_shl().i32_const(NOTE as i32).i32_add().local_set(BYTES);
        code.note(BYTES, TO);
        code.sink.if_(BlockType::Empty).local_get(TO);
        code.position();
        code.sink.i64_store(first).local_get(TO).local_get(COUNT).i32_store(count).local_get(TO);
        code.sink.local_get(PLACE).i32_const(no_entry).i32_sub().i32_const(4).i32_shr_u().i32_store(keep);
        code.sink.i32_const(layout.stack().cast_signed()).local_set(FROM);
        code.sink.block(BlockType::Empty).loop_(BlockType::Empty).local_get(FROM);
        code.get(Global::Height);
        code.sink.i32_gt_u().br_if(1).local_get(TO).local_get(FROM);
        code.address();
        code.sink.i64_load(first).i64_store(entry);
        code.sink.local_get(TO).i32_const(8).i32_add().local_set(TO);
        code.sink.local_get(FROM).i32_const(ENTRY as i32).i32_add().local_set(FROM).br(0).end().end().end();
        code.sink.local_get(PLACE);
        code.set(Global::Height);
    })
}

/// `(place)`: notes that the indirect call of the entry at `place` was of a function of the host's, which had called the
/// function that the trace has as the callee.
pub fn mend(layout: &Layout) -> Function {
    const PLACE: u32 = 0;
    const BYTES: u32 = 1;
    const TO: u32 = 2;
    function(layout, &[(2, ValType::I32)], |code| {
        let [count, number, position, first] = [code.at(8, 2), code.at(12, 2), code.at(8, 3), code.at(0, 3)];
        code.sink.i32_const(NOTE as i32).local_set(BYTES);
        code.note(BYTES, TO);
        code.sink.if_(BlockType::Empty).local_get(TO).local_get(PLACE);
        code.address();
        code.sink.i64_load(position).i64_store(first);
        code.sink.local_get(TO).i32_const(IS_MENDED.cast_signed()).i32_store(count).local_get(TO);
        code.sink.local_get(PLACE).i32_const(layout.stack().cast_signed()).i32_sub();
        code.sink.i32_const(4).i32_shr_u().i32_store(number).end();
        code.set_state_of(PLACE, state::HOST);
    })
}

/// `(func)`: the beginning of a function that may be called from outside, through a table or a reference.
pub fn begin(layout: &Layout) -> Function {
    const FUNC: u32 = 0;
    const VIA: u32 = 1;
    const TOP: u32 = 2;
    function(layout, &[(2, ValType::I32)], |code| {
        code.get(Global::Slot);
        code.sink.local_set(VIA);
        code.calls_via(via::HOST);
        code.get(Global::Height);
        code.sink.local_set(TOP);
        code.sink.local_get(VIA).i32_const(via::DIRECT as i32).i32_eq().if_(BlockType::Empty).return_().end();
        code.sink.local_get(VIA).i32_eqz().if_(BlockType::Empty);
        from_host(code, TOP);
        code.sink.local_get(FUNC).i64_extend_i32_u().i64_const(1).i64_shl().i64_const(1).i64_or();
        code.sink.i32_const(33);
        code.call(Support::Emit);
        code.sink.return_().end();
        code.sink.local_get(VIA).i32_const(via::INDIRECT as i32).i32_eq().if_(BlockType::Empty);
        code.set_state_of(TOP, state::CALLED);
        let position = code.at(8, 3);
        code.sink.local_get(TOP);
        code.address();
        code.position();
        code.sink.i64_store(position).end();
        code.sink.local_get(FUNC).i64_extend_i32_u().i32_const(32);
        code.call(Support::Emit);
        code.sink.local_get(VIA).i32_const(via::TAIL as i32).i32_eq().if_(BlockType::Empty);
        code.emit_tail();
        code.sink.local_get(TOP).i32_const(ENTRY as i32).i32_sub();
        code.set(Global::Height);
        code.sink.end();
    })
}

/// Accounts for frames that were left behind before the host called again; local `top` has the height.
fn from_host(code: &mut Code<'_, '_>, top: u32) {
    let limit = code.layout.soft_limit();
    // So many frames are left over only if a host has never put the floor back.
    code.sink.local_get(top).i32_const(limit.cast_signed()).i32_gt_u().if_(BlockType::Empty);
    code.sink.i32_const(ROOT_SLOT as i32);
    code.set(Global::Current);
    code.sink.end();
    code.sink.local_get(top);
    code.floor();
    code.sink.i32_gt_u().if_(BlockType::Empty);
    code.state_of(top);
    code.sink.i32_const(state::CALLED as i32).i32_eq().if_(BlockType::Empty).local_get(top);
    code.call(Support::Mend);
    code.raise_floor();
    code.sink.else_();
    code.floor();
    code.call(Support::Left);
    code.sink.end().end();
}

/// `(place)`: runs after a call, other than of a function of the module that neither tail calls nor is called through a
/// table.
pub fn back(layout: &Layout) -> Function {
    const PLACE: u32 = 0;
    function(layout, &[], |code| {
        // A tail call through a table with an unknown callee.
        code.get(Global::Slot);
        code.sink.i32_const(via::TAIL as i32).i32_eq().if_(BlockType::Empty);
        code.emit_host_callee();
        code.emit_return_of_host();
        code.emit_tail();
        code.get(Global::Height);
        code.sink.i32_const(ENTRY as i32).i32_sub();
        code.set(Global::Height);
        code.calls_via(via::HOST);
        code.sink.end();
        code.returned(PLACE);
        code.get(Global::Slot);
        code.sink.i32_const(via::INDIRECT as i32).i32_eq().if_(BlockType::Empty);
        code.emit_host_callee();
        code.set_state_of(PLACE, state::HOST);
        code.sink.end();
        code.calls_via(via::HOST);
        code.state_of(PLACE);
        code.sink.i32_const(state::HOST as i32).i32_eq().if_(BlockType::Empty);
        code.emit_return_of_host();
        code.sink.end();
    })
}

/// `(place)`: runs when the frame whose entry is at `place` catches an exception.
pub fn caught(layout: &Layout) -> Function {
    const PLACE: u32 = 0;
    function(layout, &[], |code| {
        code.settle();
        // A call with an unknown callee.
        code.get(Global::Height);
        code.sink.local_get(PLACE).i32_eq().if_(BlockType::Empty);
        code.get(Global::Slot);
        code.sink.i32_const(via::INDIRECT as i32).i32_eq().if_(BlockType::Empty);
        code.emit_host_callee();
        code.set_state_of(PLACE, state::HOST);
        code.sink.end();
        code.state_of(PLACE);
        code.sink.i32_const(state::CALLED as i32).i32_eq().if_(BlockType::Empty).local_get(PLACE);
        code.call(Support::Mend);
        code.sink.end().else_().local_get(PLACE);
        code.call(Support::Left);
        code.sink.end();
        code.calls_via(via::HOST);
        code.state_of(PLACE);
        code.sink.i32_const(state::HOST as i32).i32_ge_u().if_(BlockType::Empty);
        code.emit_return_of_host();
        code.sink.end();
    })
}

/// Returns the function that replaces an imported function with `params` parameters where it is used as a value: it
/// records that the host was called, unless the host itself calls it.
pub fn shim(layout: &Layout, import: u32, params: u32) -> Function {
    let [via, place, outer, bits] = [0, 1, 2, 3].map(|local| params + local);
    let value = params + 4;
    let mut function = Function::new([(4, ValType::I32), (1, ValType::I64)]);
    let mut code = Code { layout, sink: function.instructions() };
    let call = |code: &mut Code<'_, '_>| {
        for param in 0..params {
            code.sink.local_get(param);
        }
        code.sink.call(import);
    };
    code.get(Global::Slot);
    code.sink.local_tee(via).i32_eqz().if_(BlockType::Empty);
    call(&mut code);
    code.sink.return_().end();
    code.calls_via(via::HOST);
    code.get(Global::Current);
    code.sink.local_set(outer);
    code.get(Global::Height);
    code.sink.local_set(place);
    code.number(TAIL_BITS);
    code.sink.local_set(bits);
    code.wide(TAIL_VALUE);
    code.sink.local_set(value);
    code.set_state_of(place, state::HOST);
    code.emit_host_callee();
    code.raise_floor();
    call(&mut code);
    code.sink.local_get(outer);
    code.set(Global::Current);
    // Behind other calls the caller does the rest; here it has gone.
    code.sink.local_get(via).i32_const(via::TAIL as i32).i32_eq().if_(BlockType::Empty);
    code.returned(place);
    code.emit_return_of_host();
    code.sink.local_get(value).local_get(bits);
    code.call(Support::Emit);
    code.sink.local_get(place).i32_const(ENTRY as i32).i32_sub();
    code.set(Global::Height);
    code.sink.end().end();
    function
}
