//! The table of counts: of paths that have no counter, of frames that stopped, and of links between call records.
//!
//! It has open addressing with linear probing, and is never more than half full, unless it cannot grow. Hot code counts
//! paths in the rows of its function first ([`crate::plan`]), from which the table gets what is evicted.

use wasm_encoder::{BlockType, Function, ValType};

use super::{MIX, function};
use crate::layout::{FULL, Global, Layout, PAGE, ROW, Support};
use crate::plan::{NUMBER, ROWS};

/// `(id, record, key)`: returns the address of the row of these three, whose count is 0 if it is new; 0 if there is no
/// memory for it.
pub(super) fn locate(layout: &Layout) -> Function {
    const ID: u32 = 0;
    const RECORD: u32 = 1;
    const KEY: u32 = 2;
    const INDEX: u32 = 3;
    const PLACE: u32 = 4;
    function(layout, &[(2, ValType::I32)], |code| {
        // If more than half of the rows are taken, enlarge the table. That may fail until the table is full.
        code.get(Global::Taken);
        code.sink.i32_const(2).i32_mul();
        code.get(Global::Rows);
        code.sink.i32_ge_u().if_(BlockType::Empty);
        code.call(Support::Rehash);
        code.sink.end();
        code.hash(ID, Some(RECORD), KEY);
        code.sink.local_set(INDEX).loop_(BlockType::Empty).local_get(INDEX);
        code.row_of_hash();
        let [id, record, key] = [code.at(0, 2), code.at(4, 2), code.at(8, 3)];
        code.sink.local_tee(PLACE).i32_load(id).i32_eqz().if_(BlockType::Empty);
        // A free row. One row must stay free, so that the search ends.
        code.get(Global::Taken);
        code.sink.i32_const(1).i32_add();
        code.get(Global::Rows);
        code.sink.i32_ge_u().if_(BlockType::Empty);
        code.flag(FULL);
        code.sink.i32_const(0).return_().end();
        code.get(Global::Taken);
        code.sink.i32_const(1).i32_add();
        code.set(Global::Taken);
        code.sink.local_get(PLACE).local_get(ID).i32_const(1).i32_add().i32_store(id);
        code.sink.local_get(PLACE).local_get(RECORD).i32_store(record);
        code.sink.local_get(PLACE).local_get(KEY).i64_store(key).local_get(PLACE).return_().end();
        code.sink.local_get(PLACE).i32_load(id).local_get(ID).i32_const(1).i32_add().i32_eq();
        code.sink.local_get(PLACE).i32_load(record).local_get(RECORD).i32_eq().i32_and();
        code.sink.local_get(PLACE).i64_load(key).local_get(KEY).i64_eq().i32_and();
        code.sink.if_(BlockType::Empty).local_get(PLACE).return_().end();
        code.sink.local_get(INDEX).i32_const(1).i32_add().local_set(INDEX).br(0).end().unreachable();
    })
}

/// `(id, key, by)`, with contexts `(id, record, key, by)`: adds `by` to the row of the others.
pub(super) fn bump(layout: &Layout) -> Function {
    const ID: u32 = 0;
    let has_record = layout.records.is_some();
    let record = has_record.then_some(1);
    let [key, by, place] = [1, 2, 3].map(|local| local + u32::from(has_record));
    function(layout, &[(1, ValType::I32)], |code| {
        // Most rows are where their hash says: these are found without a call.
        code.row_at_hash(ID, record, key);
        let [names, key_of_row, count] = [code.at(0, 2), code.at(8, 3), code.at(16, 3)];
        code.sink.local_tee(place).i64_load(names).local_get(ID).i32_const(1).i32_add().i64_extend_i32_u();
        if let Some(record) = record {
            code.sink.local_get(record).i64_extend_i32_u().i64_const(32).i64_shl().i64_or();
        }
        code.sink.i64_eq().local_get(place).i64_load(key_of_row).local_get(key).i64_eq().i32_and();
        code.sink.if_(BlockType::Empty);
        code.sink.local_get(place).local_get(place).i64_load(count).local_get(by).i64_add().i64_store(count);
        code.sink.return_().end();
        code.sink.local_get(0);
        if has_record {
            code.sink.local_get(1);
        } else {
            code.sink.i32_const(0);
        }
        code.sink.local_get(key);
        code.call(Support::Locate);
        code.sink.local_tee(place).if_(BlockType::Empty);
        code.sink.local_get(place).local_get(place).i64_load(count).local_get(by).i64_add().i64_store(count);
        code.sink.end();
    })
}

/// `(rows, func, key, by)`: counts `by` of `key` in a row of the function, whose rows begin at an offset in the region.
pub(super) fn row(layout: &Layout) -> Function {
    const AT: u32 = 0;
    const FUNC: u32 = 1;
    const KEY: u32 = 2;
    const BY: u32 = 3;
    function(layout, &[], |code| {
        let bits = i64::from(ROWS.ilog2());
        code.sink.local_get(KEY).i64_const(MIX).i64_mul().i64_const(64 - bits).i64_shr_u().i32_wrap_i64();
        code.sink.i32_const(4).i32_shl().local_get(AT).i32_add();
        code.address();
        let [key, count] = [code.at(0, 3), code.at(8, 3)];
        code.sink.local_tee(AT).i64_load(key).local_get(KEY).i64_eq().if_(BlockType::Empty);
        code.sink.local_get(AT).local_get(AT).i64_load(count).local_get(BY).i64_add().i64_store(count);
        code.sink.return_().end();
        code.sink.local_get(AT).local_get(FUNC).local_get(KEY).local_get(BY);
        code.call(Support::Evict);
    })
}

/// `(row, func, key, by)`: puts what the function's row at an address has counted into the table, and counts `by` of `key`
/// there.
pub(super) fn evict(layout: &Layout) -> Function {
    const ROW: u32 = 0;
    const FUNC: u32 = 1;
    const KEY: u32 = 2;
    const BY: u32 = 3;
    function(layout, &[], |code| {
        let [key, count] = [code.at(0, 3), code.at(8, 3)];
        code.sink.local_get(ROW).i64_load(count).i64_eqz().i32_eqz().if_(BlockType::Empty);
        code.sink.local_get(FUNC);
        if code.layout.records.is_some() {
            code.sink.local_get(ROW).i64_load(key).i64_const(32).i64_shr_u().i32_wrap_i64();
        }
        code.sink.local_get(ROW).i64_load(key).i64_const(NUMBER.cast_signed()).i64_and();
        code.sink.local_get(ROW).i64_load(count);
        code.call(Support::Bump);
        code.sink.end();
        code.sink.local_get(ROW).local_get(KEY).i64_store(key);
        code.sink.local_get(ROW).local_get(BY).i64_store(count);
    })
}

/// Moves the table behind the end of the region with twice as many rows, unless there is no memory for it, or the region
/// may not grow.
pub(super) fn rehash(layout: &Layout) -> Function {
    const AT: u32 = 0;
    const END: u32 = 1;
    const PAGES: u32 = 2;
    if layout.is_shared {
        return function(layout, &[], |_| {});
    }
    function(layout, &[(3, ValType::I32)], |code| {
        let grow = layout.memory;
        code.get(Global::Table);
        code.sink.local_set(AT);
        code.sink.local_get(AT);
        code.get(Global::Rows);
        code.sink.i32_const(ROW as i32).i32_mul().i32_add().local_set(END);
        code.get(Global::Rows);
        code.sink.i32_const(2 * ROW as i32).i32_mul().i32_const(PAGE as i32 - 1).i32_add();
        code.sink.i32_const(16).i32_shr_u().local_tee(PAGES).memory_grow(grow).i32_const(-1).i32_eq();
        code.sink.if_(BlockType::Empty).return_().end();
        code.get(Global::Pages);
        code.sink.i32_const(16).i32_shl();
        code.set(Global::Table);
        code.get(Global::Pages);
        code.sink.local_get(PAGES).i32_add();
        code.set(Global::Pages);
        code.get(Global::Rows);
        code.sink.i32_const(1).i32_shl();
        code.set(Global::Rows);
        code.sink.i32_const(0);
        code.set(Global::Taken);
        code.sink
            .block(BlockType::Empty)
            .loop_(BlockType::Empty)
            .local_get(AT)
            .local_get(END)
            .i32_ge_u()
            .br_if(1);
        let [id, key, count] = [code.at(0, 2), code.at(8, 3), code.at(16, 3)];
        code.sink.local_get(AT);
        code.address();
        code.sink.i32_load(id).if_(BlockType::Empty).local_get(AT);
        code.address();
        code.sink.i32_load(id).i32_const(1).i32_sub();
        if code.layout.records.is_some() {
            let record = code.at(4, 2);
            code.sink.local_get(AT);
            code.address();
            code.sink.i32_load(record);
        }
        code.sink.local_get(AT);
        code.address();
        code.sink.i64_load(key).local_get(AT);
        code.address();
        code.sink.i64_load(count);
        code.call(Support::Bump);
        code.sink.end();
        code.sink.local_get(AT).i32_const(ROW as i32).i32_add().local_set(AT).br(0).end().end();
    })
}
