//! Trap codes that identify the accesses of a function.
//!
//! Cranelift folds a load into the instruction that uses its value, which then has the location of the user, or none.
//! Only the trap code stays with the load, and there are few codes. So accesses take the codes in turn, and a fault
//! belongs to the last access with its code at or before the location, or to the one nearest to a known location close
//! by. This also keeps Cranelift from dropping a store that a later one overwrites, which would delay its fault.
//!
//! **Invariant**: a load is folded into an instruction that at most a few accesses precede, as Cranelift moves no load
//! behind another access that may trap: so among the accesses with its code it is the nearest one. Example: `(i32.or
//! (i32.load (local.get 0)) (i32.const 1))` is one machine instruction at the location of the `or`.

use cranelift_codegen::ir;

use crate::abi::TrapCode;

/// The accesses of a function that may fault.
#[derive(Clone, Debug, Default)]
pub(super) struct Accesses {
    /// The number of each access's origin, ascending.
    origins: Vec<u32>,
}

/// The error for a trap code that belongs to no access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NoAccess;

impl Accesses {
    /// Returns the trap code of the next access, which traps with `code` and comes from origin number `origin`.
    pub(super) fn add(&mut self, origin: u32, code: TrapCode) -> ir::TrapCode {
        debug_assert!(self.origins.last().is_none_or(|&last| last <= origin), "accesses come in order");
        let number = self.origins.len();
        self.origins.push(origin);
        code.of_access(number)
    }

    /// Returns the number of the origin of an access with a code: at origin number `at`, or, where that is unknown,
    /// somewhere behind number `behind`.
    pub(super) fn find(
        &self,
        at: Option<u32>,
        behind: u32,
        code: ir::TrapCode,
    ) -> Result<Option<u32>, NoAccess> {
        let phase = TrapCode::access_phase(code).ok_or(NoAccess)?;
        let place = self.origins.partition_point(|&access| access <= at.unwrap_or(behind));
        let numbers = (phase..self.origins.len()).step_by(TrapCode::ACCESS_PERIOD);
        let number = match at {
            Some(_) => numbers.take_while(|&number| number < place).last(),
            None => numbers.min_by_key(|number| number.abs_diff(place)),
        };
        Ok(number.map(|number| self.origins[number]))
    }
}
