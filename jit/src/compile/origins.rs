//! Which wasm instruction each piece of machine code comes from.
//!
//! A source location in a CLIF function is an index into this list. That does not do for accesses that fault:
//! Cranelift makes a load part of the instruction that uses its value, and the location is then the user's, or
//! unknown if that was simplified. So each access has a trap code that tells it from its
//! neighbours, and the access is the last one with that code at or before the location, or the one nearest to a
//! location close by. This also keeps Cranelift from dropping a store that a later one overwrites, which would put
//! off its fault.
//!
//! Example: `(i32.or (i32.load (local.get 0)) (i32.const 1))` is one machine instruction at the location of the `or`.

use cranelift_codegen::ir::{self, SourceLoc};

use super::Origin;
use crate::abi::TrapCode;

/// The origins of one function.
#[derive(Clone, Debug, Default)]
pub(crate) struct Origins {
    all: Vec<Origin>,
    /// Index of the origin of each access that may fault, ascending.
    accesses: Vec<u32>,
}

impl Origins {
    /// What is translated from now on comes from `origin`, and gets this location.
    pub(crate) fn at(&mut self, origin: Origin) -> SourceLoc {
        self.all.push(origin);
        SourceLoc::new(self.all.len() as u32 - 1)
    }

    /// A trap code for an access that is translated now.
    pub(crate) fn access(&mut self, code: TrapCode) -> ir::TrapCode {
        let number = self.accesses.len();
        self.accesses.push(self.all.len() as u32 - 1);
        code.of_access(number)
    }

    /// Where the function begins; `None` for trampolines.
    pub(super) fn first(&self) -> Option<Origin> {
        self.all.first().copied()
    }

    /// The origin of code at a location.
    pub(super) fn of_code(&self, location: u32) -> Option<Origin> {
        self.all.get(location as usize).copied()
    }

    /// The origin of a trap at a location or, where that is unknown, somewhere behind a location.
    pub(super) fn of_trap(&self, at: Option<u32>, behind: u32, code: ir::TrapCode) -> Option<Origin> {
        let Some(phase) = TrapCode::access_phase(code) else { return self.of_code(at?) };
        let place = self.accesses.partition_point(|&access| access <= at.unwrap_or(behind));
        let numbers = (phase..self.accesses.len()).step_by(TrapCode::ACCESS_PERIOD);
        let number = match at {
            Some(_) => numbers.take_while(|&number| number < place).last(),
            None => numbers.min_by_key(|number| number.abs_diff(place)),
        };
        self.of_code(self.accesses[number?])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_access_is_found_from_the_instruction_that_it_became_part_of() {
        let mut origins = Origins::default();
        let mut codes = Vec::new();
        for offset in 0..300 {
            origins.at(Origin { func: 0, frame: 0, block: 0, rounds: 0, path: None, offset });
            codes.push(origins.access(TrapCode::MemoryOutOfBounds));
        }
        let cases =
            [(299, Some(299), 0), (250, Some(253), 0), (0, Some(100), 0), (7, None, 3), (299, None, 250)];
        for (access, at, behind) in cases {
            let origin = origins.of_trap(at, behind, codes[access as usize]);
            assert_eq!(origin.map(|o| o.offset), Some(access));
        }
    }
}
