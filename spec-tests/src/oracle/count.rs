//! Emits code that counts. All of it preserves the operand stack.

use crate::splice::unsigned;

pub const GLOBAL_GET: u8 = 0x23;
pub const GLOBAL_SET: u8 = 0x24;
const I32_EQZ: u8 = 0x45;
const I32_EQ: u8 = 0x46;
const I32_GE_U: u8 = 0x4f;
const I64_ADD: u8 = 0x7c;
pub const I64_EXTEND_I32_U: u8 = 0xad;

pub fn global(code: &mut Vec<u8>, opcode: u8, index: u32) {
    code.push(opcode);
    unsigned(code, index);
}

/// Emits code that adds one to `counter`.
pub fn one(code: &mut Vec<u8>, counter: u32) {
    some(code, counter, 1);
}

/// Emits code that adds a number to `counter`.
pub fn some(code: &mut Vec<u8>, counter: u32, amount: u64) {
    global(code, GLOBAL_GET, counter);
    code.push(0x42); // i64.const
    crate::splice::signed(code, amount as i64);
    code.push(I64_ADD);
    global(code, GLOBAL_SET, counter);
}

/// Emits code that adds to `counter` the i32 that `condition` leaves, 0 or 1.
fn if_so(code: &mut Vec<u8>, counter: u32, condition: impl FnOnce(&mut Vec<u8>)) {
    global(code, GLOBAL_GET, counter);
    condition(code);
    code.extend([I64_EXTEND_I32_U, I64_ADD]);
    global(code, GLOBAL_SET, counter);
}

/// Emits code that counts one of two exits, which the operand on top of the stack decides.
pub fn branch(code: &mut Vec<u8>, scratch: u32, taken: u32, not_taken: u32) {
    global(code, GLOBAL_SET, scratch);
    let is_zero = |code: &mut Vec<u8>| {
        global(code, GLOBAL_GET, scratch);
        code.push(I32_EQZ);
    };
    if_so(code, not_taken, is_zero);
    if_so(code, taken, |code| {
        is_zero(code);
        code.push(I32_EQZ);
    });
    global(code, GLOBAL_GET, scratch);
}

/// Emits code that increments one of `counters`, selected by the operand on top of the stack; the last one if it is
/// too large.
pub fn switch(code: &mut Vec<u8>, scratch: u32, counters: &[u32]) {
    global(code, GLOBAL_SET, scratch);
    let last = counters.len() - 1;
    for (case, &counter) in counters.iter().enumerate() {
        if_so(code, counter, |code| {
            global(code, GLOBAL_GET, scratch);
            code.push(0x41); // i32.const
            crate::splice::signed(code, case as i64);
            code.push(if case == last { I32_GE_U } else { I32_EQ });
        });
    }
    global(code, GLOBAL_GET, scratch);
}
