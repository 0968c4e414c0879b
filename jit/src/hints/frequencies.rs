//! Instruction frequencies: how often a call is executed per call of its function.
//!
//! Source: compilation-hints, `instr_freq`: a byte, floor(log2(executions per call of the function)) + 32 within 1 to
//! 64; 0 for code that need not be optimised. Hints are given for the instructions whose optimisation engines decide by
//! them: calls that return.

use wasmparser::BinaryReaderError;

use super::{MetadataSection, Profiled};
use crate::cfg::{Operators, is_call};
use crate::module::ModuleInfo;

pub(super) fn add(
    section: &mut MetadataSection,
    info: &ModuleInfo,
    function: &Profiled<'_>,
) -> Result<(), BinaryReaderError> {
    let calls = function.profile.calls();
    for (block, count) in function.cfg.blocks.iter().zip(function.profile.block_counts()) {
        let mut operators = Operators::new(info, block.start, block.limit);
        while let Some((op, at)) = operators.next()? {
            if is_call(&op) {
                section.add(function.profile.index, at - function.start, vec![frequency(count, calls)]);
            }
        }
    }
    Ok(())
}

fn frequency(count: u64, calls: u64) -> u8 {
    if count == 0 || calls == 0 {
        return 0;
    }
    // floor(log2(count / calls)), exactly.
    let (count, calls) = (u128::from(count), u128::from(calls));
    let mut log = count.ilog2() as i32 - calls.ilog2() as i32;
    let is_too_large = if log >= 0 { calls << log > count } else { calls > count << -log };
    log -= i32::from(is_too_large);
    (log + 32).clamp(1, 64) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frequencies_are_logarithms() {
        let all = [(0, 5), (5, 5), (9, 5), (10, 5), (19, 5), (20, 5), (3, 5), (1, 2), (1, 3), (u64::MAX, 1)];
        assert_eq!(
            all.map(|(count, calls)| frequency(count, calls)),
            [0, 32, 32, 33, 33, 34, 31, 31, 30, 64]
        );
        assert_eq!(frequency(1, u64::MAX), 1);
    }
}
