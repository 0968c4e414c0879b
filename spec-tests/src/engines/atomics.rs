//! The atomic instructions of [lowered](crate::generate::hot::atomics) hot programs, which the interpreter's host performs: on
//! bytes, one after the other, as the specification says.

use crate::generate::hot::atomics::{Atomic, Does};
use crate::outcome::{Trap, Value};
use wasm_encoder::ValType;

/// Performs an instruction on the contents of its memory: `args` are its operands, then its offset.
///
/// # Errors
/// Returns the trap if the instruction traps.
pub fn act(atomic: Atomic, memory: &mut [u8], args: &[Value]) -> Result<Option<Value>, Trap> {
    let [address, operands @ .., offset] = args else { unreachable!("an address and an offset") };
    let (address, width) = (u128::from(bits(*address)) + u128::from(bits(*offset)), 1 << atomic.log2);
    if address % width != 0 {
        return Err(Trap::UnalignedAtomic);
    }
    if address + width > memory.len() as u128 {
        return Err(Trap::MemoryOutOfBounds);
    }
    let cell = &mut memory[address as usize..][..width as usize];
    let mut word = [0; 8];
    word[..cell.len()].copy_from_slice(cell);
    let old = u64::from_le_bytes(word);
    let mask = u64::MAX >> (64 - 8 * width as u32);
    let operand = |at: usize| bits(operands[at]);
    let new = match atomic.does {
        Does::Load => old,
        Does::Store | Does::Exchange => operand(0),
        Does::Add => old.wrapping_add(operand(0)),
        Does::Sub => old.wrapping_sub(operand(0)),
        Does::And => old & operand(0),
        Does::Or => old | operand(0),
        Does::Xor => old ^ operand(0),
        // The expected value is cut to the width, too.
        Does::CompareExchange if operand(0) & mask == old => operand(1),
        Does::CompareExchange => old,
        // Nobody waits; and whoever waits does so for no time.
        Does::Notify => return Ok(Some(Value::I32(0))),
        Does::Wait => return Ok(Some(Value::I32(if operand(0) == old { 2 } else { 1 }))),
    };
    cell.copy_from_slice(&(new & mask).to_le_bytes()[..width as usize]);
    Ok(match (atomic.does, atomic.ty) {
        (Does::Store, _) => None,
        (_, ValType::I64) => Some(Value::I64(old as i64)),
        _ => Some(Value::I32(old as i32)),
    })
}

/// Returns the bits of an integer, extended by zeros.
fn bits(value: Value) -> u64 {
    match value {
        Value::I32(value) => u64::from(value as u32),
        Value::I64(value) => value as u64,
        other => unreachable!("{other:?} is no integer"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_beside_a_cell_stays_and_addresses_are_checked() {
        let atomic = |does, ty, log2| Atomic { does, ty, log2, memory: 0 };
        let add = atomic(Does::Add, ValType::I32, 0);
        let mut memory = [255; 16];
        let at = |address| [Value::I32(address), Value::I32(2), Value::I32(1)];
        assert_eq!(act(add, &mut memory, &at(3)), Ok(Some(Value::I32(255))));
        assert_eq!(memory[3..6], [255, 1, 255]);
        assert_eq!(act(add, &mut memory, &at(15)), Err(Trap::MemoryOutOfBounds));
        let load = atomic(Does::Load, ValType::I64, 3);
        assert_eq!(act(load, &mut memory, &[Value::I32(4), Value::I32(0)]), Err(Trap::UnalignedAtomic));
        let exchange = atomic(Does::CompareExchange, ValType::I32, 0);
        let wide = [Value::I32(0), Value::I32(0x1ff), Value::I32(7), Value::I32(0)];
        assert_eq!(act(exchange, &mut memory, &wide), Ok(Some(Value::I32(255))));
        assert_eq!(memory[..2], [7, 255], "the expected value has more bits than the cell");
    }
}
