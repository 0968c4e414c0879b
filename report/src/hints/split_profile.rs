//! A profile for Binaryen's `wasm-split`, which moves functions that did not run into a module of their own.
//!
//! Source: Binaryen, `src/tools/wasm-split`: the hash of the module's file, then a number for each function that has a
//! body, which is 0 if the function did not run; all little-endian. Binaryen writes the time of the first call, wprof
//! 1.

use wprof_profiler::Profile;

/// Returns the profile of the module in `file`, which has `functions` functions with bodies from index `first` on.
pub fn bytes(file: &[u8], profile: &Profile, first: u32, functions: u32) -> Vec<u8> {
    let ran = |index| profile.function(index).is_some_and(|function| function.calls() > 0);
    let numbers = (first..first + functions).map(|index| u32::from(ran(index)));
    let mut bytes = hash(file).to_le_bytes().to_vec();
    bytes.extend(numbers.flat_map(u32::to_le_bytes));
    bytes
}

/// Computes Binaryen's hash of a file: boost's `hash_combine` of its bytes, which are signed.
fn hash(file: &[u8]) -> u64 {
    const GOLDEN_RATIO: u64 = 0x9e37_79b9_7f4a_7c15;
    file.iter().fold(0, |digest, &byte| {
        let byte = i64::from(byte.cast_signed()).cast_unsigned();
        let mixed = byte.wrapping_add(GOLDEN_RATIO).wrapping_add(digest << 12).wrapping_add(digest >> 4);
        digest ^ mixed
    })
}
