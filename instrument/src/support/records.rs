//! Functions that count calls in records: the calling context tree in rewritten code.
//!
//! A record is a node of the tree of Ammons, Ball & Larus (1997, section 4): a function in a chain of callers. A caller
//! leaves the offset of a *callee slot* of its own record in a global; the callee takes it, and finds its record there if
//! it was the slot's latest callee. Otherwise it looks for a row of the table that leads from the slot to it, for a record
//! of its own further up, which recursion leads back to, and makes a record if there is neither. A frame keeps its record
//! in a local, so nothing is restored after calls, and a trap leaves nothing to mend.
//!
//! **The host** calls through the slot in another global: that of its root, or of the host function that runs. A frame that
//! calls a host function directly counts the call in its record, and puts the global back when the call returns or it
//! catches an exception. A host that catches an error which has passed through wasm frames puts it back itself, since no
//! wasm code runs then.
//!
//! **Records** lie in memory that grows by a chunk at a time (none behind the program's memory), up to a limit; beyond it each function has one more record,
//! whose caller is unknown.

use wasm_encoder::{BlockType, Function, ValType};

use super::{Code, function};
use crate::layout::{
    BEYOND, BEYOND_SLOT, CALLS, FROM, FULL, Global, IS_LINK, KEY, Layout, PAGE, PARENT, SLOT_BYTES, Support,
    UNNAMED,
};

/// Pages by which the memory for records grows.
const CHUNK: u32 = 16;

/// `(func, head, sites)`: counts a call of a function whose records have a head of so many bytes and so many callee slots.
/// Returns the record.
pub fn enter(layout: &Layout) -> Function {
    const FUNC: u32 = 0;
    const HEAD: u32 = 1;
    const SITES: u32 = 2;
    const SLOT: u32 = 3;
    const RECORD: u32 = 4;
    const AT: u32 = 5;
    function(layout, &[(3, ValType::I32)], |code| {
        let [word, key, calls] = [code.at(0, 2), code.at(KEY, 2), code.at(CALLS, 3)];
        take_slot(code, SLOT);
        code.sink.local_get(SLOT);
        code.address();
        code.sink.i32_load(word).local_tee(RECORD);
        code.address();
        code.sink.local_tee(AT).i32_load(key).local_get(FUNC).i32_const(1).i32_add().i32_ne();
        code.sink.if_(BlockType::Empty).local_get(SLOT).local_get(FUNC).local_get(HEAD).local_get(SITES);
        code.call(Support::Find);
        code.sink.local_tee(RECORD);
        code.address();
        code.sink.local_set(AT).end();
        code.sink.local_get(AT).local_get(AT).i64_load(calls).i64_const(1).i64_add().i64_store(calls);
        code.sink.local_get(RECORD);
    })
}

/// Takes the slot that was passed, or that of the host, into a local.
fn take_slot(code: &mut Code<'_, '_>, slot: u32) {
    code.get(Global::Current);
    code.get(Global::Slot);
    code.sink.local_tee(slot).local_get(slot).i32_eqz().select();
    code.sink.local_set(slot).i32_const(0);
    code.set(Global::Slot);
}

/// `(slot, func, head, sites)`: finds or makes the record of a callee, and puts it into the slot.
pub fn find(layout: &Layout) -> Function {
    const SLOT: u32 = 0;
    const FUNC: u32 = 1;
    const HEAD: u32 = 2;
    const SITES: u32 = 3;
    const RECORD: u32 = 4;
    const ROW: u32 = 5;
    function(layout, &[(2, ValType::I32)], |code| {
        let [word, owner, key, parent] = [code.at(0, 2), code.at(4, 2), code.at(KEY, 2), code.at(PARENT, 2)];
        let count = code.at(16, 3);
        row_of(code, SLOT, FUNC);
        code.sink.local_tee(ROW).if_(BlockType::Empty);
        code.sink.local_get(ROW).i64_load(count).i32_wrap_i64().local_set(RECORD).end();
        code.sink.local_get(RECORD).i32_eqz().if_(BlockType::Empty);
        // A record further up.
        code.sink.local_get(SLOT);
        code.address();
        code.sink.i32_load(owner).local_set(RECORD);
        code.sink.block(BlockType::Empty).loop_(BlockType::Empty);
        code.sink.local_get(RECORD).i32_const(BEYOND as i32).i32_le_u().br_if(1);
        code.sink.local_get(RECORD);
        code.address();
        code.sink.i32_load(key).local_get(FUNC).i32_const(1).i32_add().i32_eq().br_if(1);
        code.sink.local_get(RECORD);
        code.address();
        code.sink.i32_load(parent).local_set(RECORD).br(0).end().end();
        code.sink.local_get(RECORD).i32_const(BEYOND as i32).i32_le_u().if_(BlockType::Empty);
        code.sink.local_get(SLOT).local_get(FUNC).local_get(HEAD).local_get(SITES);
        code.call(Support::Make);
        code.sink.local_set(RECORD).end();
        // The table may have moved.
        row_of(code, SLOT, FUNC);
        code.sink.local_tee(ROW).if_(BlockType::Empty);
        code.sink.local_get(ROW).local_get(RECORD).i64_extend_i32_u().i64_store(count).end().end();
        code.sink.local_get(SLOT);
        code.address();
        code.sink.local_get(RECORD).i32_store(word).local_get(RECORD);
    })
}

/// Pushes the address of the row that leads from a slot to the record of a function.
fn row_of(code: &mut Code<'_, '_>, slot: u32, func: u32) {
    code.sink.local_get(func).i32_const(IS_LINK.cast_signed()).i32_or().local_get(slot).i64_const(0);
    code.call(Support::Locate);
}

/// `(slot, func, head, sites)`: makes a record. If records may take no more memory, the record that all further calls of
/// the function share; without any memory a record that stands for nothing.
pub fn make(layout: &Layout) -> Function {
    const SLOT: u32 = 0;
    const FUNC: u32 = 1;
    const HEAD: u32 = 2;
    const SITES: u32 = 3;
    const BYTES: u32 = 4;
    const RECORD: u32 = 5;
    const AT: u32 = 6;
    const END: u32 = 7;
    const PAGES: u32 = 8;
    function(layout, &[(5, ValType::I32)], |code| {
        let [owner, key, parent, from] =
            [code.at(4, 2), code.at(KEY, 2), code.at(PARENT, 2), code.at(FROM, 2)];
        let count = code.at(16, 3);
        code.sink.local_get(HEAD).local_get(SITES).i32_const(SLOT_BYTES as i32).i32_mul().i32_add();
        code.sink.local_tee(BYTES);
        code.get(Global::Room);
        code.sink.i32_gt_u().if_(BlockType::Empty);
        share(code, (SLOT, FUNC), RECORD);
        code.sink.else_();
        code.get(Global::Room);
        code.sink.local_get(BYTES).i32_sub();
        code.set(Global::Room);
        code.sink.end();
        more_memory(code, BYTES, PAGES);
        code.get(Global::Next);
        code.sink.local_tee(RECORD).local_get(BYTES).i32_add();
        code.set(Global::Next);
        code.sink.local_get(RECORD);
        code.address();
        code.sink.local_tee(AT).local_get(FUNC).i32_const(1).i32_add().i32_store(key);
        code.sink.local_get(AT).local_get(SLOT);
        code.address();
        code.sink.i32_load(owner).i32_const(BEYOND as i32).local_get(SLOT).i32_const(BEYOND_SLOT as i32);
        code.sink.i32_ne().select().i32_store(parent);
        code.sink.local_get(AT).local_get(SLOT).i32_store(from);
        // The slots know their record.
        code.sink.local_get(AT).local_get(BYTES).i32_add().local_set(END);
        code.sink.local_get(AT).local_get(HEAD).i32_add().local_set(AT);
        code.sink.block(BlockType::Empty).loop_(BlockType::Empty);
        code.sink.local_get(AT).local_get(END).i32_ge_u().br_if(1);
        code.sink.local_get(AT).local_get(RECORD).i32_store(owner);
        code.sink.local_get(AT).i32_const(SLOT_BYTES as i32).i32_add().local_set(AT).br(0).end().end();
        code.sink.local_get(SLOT).i32_const(BEYOND_SLOT as i32).i32_eq().if_(BlockType::Empty);
        row_of(code, SLOT, FUNC);
        code.sink.local_tee(AT).if_(BlockType::Empty);
        code.sink.local_get(AT).local_get(RECORD).i64_extend_i32_u().i64_store(count).end().end();
        code.sink.local_get(RECORD);
    })
}

/// Returns the function's record beyond the limit, if there is one, or else makes it.
fn share(code: &mut Code<'_, '_>, (slot, func): (u32, u32), record: u32) {
    let count = code.at(16, 3);
    // No further context gets a record.
    code.sink.i32_const(0);
    code.set(Global::Room);
    code.sink.local_get(slot).i32_const(BEYOND_SLOT as i32).i32_ne().if_(BlockType::Empty);
    code.sink.i32_const(BEYOND_SLOT as i32).local_set(slot);
    row_of(code, slot, func);
    code.sink.local_tee(record).if_(BlockType::Empty);
    code.sink.local_get(record).i64_load(count).i32_wrap_i64().local_tee(record).if_(BlockType::Empty);
    code.sink.local_get(record).return_().end().end();
    code.sink.end();
}

/// Grows the memory by `bytes`; if it cannot grow, the function returns the record of unknown contexts.
fn more_memory(code: &mut Code<'_, '_>, bytes: u32, pages: u32) {
    let memory = code.layout.memory;
    code.get(Global::End);
    code.get(Global::Next);
    code.sink.i32_sub().local_get(bytes).i32_lt_u().if_(BlockType::Empty);
    if code.layout.is_shared {
        code.flag(FULL);
        code.sink.i32_const(code.layout.spare_record() as i32).return_().end();
        return;
    }
    code.sink.local_get(bytes).i32_const(16).i32_shr_u().i32_const(CHUNK as i32).i32_add().local_tee(pages);
    code.sink.memory_grow(memory).i32_const(-1).i32_eq().if_(BlockType::Empty);
    code.flag(FULL);
    code.sink.i32_const(code.layout.spare_record() as i32).return_().end();
    code.get(Global::Pages);
    code.sink.i32_const(16).i32_shl();
    code.set(Global::Next);
    code.get(Global::Pages);
    code.sink.local_get(pages).i32_add();
    code.set(Global::Pages);
    code.get(Global::Pages);
    code.sink.i32_const(PAGE.trailing_zeros() as i32).i32_shl();
    code.set(Global::End);
    code.sink.end();
}

/// `(slot, func)`: counts a call of a function of the host from a slot. What it calls is called from its record.
pub fn host(layout: &Layout) -> Function {
    let slots = layout.records.map_or(0, |records| records.host_slots());
    function(layout, &[], |code| {
        code.sink.local_get(0);
        code.set(Global::Slot);
        code.sink.local_get(1).i32_const(slots as i32).i32_const(1);
        code.call(Support::Enter);
        code.sink.i32_const(slots as i32).i32_add();
        code.set(Global::Current);
    })
}

/// Runs after a call through a table or a reference. If no function has taken the slot, a function of the host has run,
/// whose name is unknown.
pub fn unnamed(layout: &Layout) -> Function {
    let slots = layout.records.map_or(0, |records| records.host_slots());
    function(layout, &[], |code| {
        code.get(Global::Slot);
        code.sink.if_(BlockType::Empty).i32_const(UNNAMED as i32).i32_const(slots as i32).i32_const(1);
        code.call(Support::Enter);
        code.sink.drop().end();
    })
}
