//! Small changes that keep a module valid: another operation of the same type, another constant, a branch that is
//! dropped or negated, a sudden end.

use wasmparser::Operator;

use crate::rng::Rng;
use crate::splice::{Located, Result, Splice};

/// Ranges of integer opcodes that can replace each other.
const FAMILIES: [(u8, u8); 8] = [
    (0x46, 0x4f), // i32 comparisons
    (0x51, 0x5a), // i64 comparisons
    (0x67, 0x69), // i32.clz, ctz, popcnt
    (0x6a, 0x78), // i32 binary operations
    (0x79, 0x7b), // i64.clz, ctz, popcnt
    (0x7c, 0x8a), // i64 binary operations
    (0xc0, 0xc1), // i32.extend
    (0xc2, 0xc4), // i64.extend
];

/// Returns the valid module `wasm` with a few changes.
///
/// # Errors
/// Returns an error if the module is malformed.
pub fn module(wasm: &[u8], rng: &mut Rng) -> Result<Vec<u8>> {
    let mut bytes = wasm.to_vec();
    let splice = Splice::new(wasm)?;
    let mut all = Vec::new();
    for defined in 0..splice.bodies.len() {
        all.extend(splice.instructions(defined)?);
    }
    if all.is_empty() {
        return Ok(bytes);
    }
    for _ in 0..=all.len() / 40 {
        let found = &all[rng.below(all.len())];
        in_place(&mut bytes[found.at..found.next], &found.op, rng);
    }
    let mut splice = Splice::new(&bytes)?;
    for _ in 0..=all.len() / 100 {
        insert(&mut splice, &all[rng.below(all.len())], rng);
    }
    Ok(splice.apply())
}

/// Replaces an instruction by another one of the same length.
fn in_place(code: &mut [u8], op: &Operator<'_>, rng: &mut Rng) {
    match (op, &mut *code) {
        (Operator::I32Const { .. } | Operator::I64Const { .. }, [_, first, ..]) => {
            *first ^= rng.word() as u8 & 0x3f;
        }
        // Drops the condition and does nothing.
        (Operator::BrIf { .. }, [opcode, depth]) => (*opcode, *depth) = (0x1a, 0x01),
        (_, [opcode]) => {
            let family = FAMILIES.iter().find(|(first, last)| (first..=last).contains(&&*opcode));
            if let Some(&(first, last)) = family {
                *opcode = first + rng.below(usize::from(last - first) + 1) as u8;
            }
        }
        _ => {}
    }
}

fn insert(splice: &mut Splice<'_>, found: &Located<'_>, rng: &mut Rng) {
    match found.op {
        Operator::If { .. } | Operator::BrIf { .. } => splice.insert(found.at, vec![0x45]), // i32.eqz
        Operator::BrTable { .. } => splice.insert(found.at, vec![0x41, 1, 0x6a]), // i32.const 1; i32.add
        // The code after it is dead, and valid whatever it pops.
        _ if rng.chance(15) => splice.insert(found.at, vec![0x00]), // unreachable
        _ => {}
    }
}
