//! Trap codes that tell the accesses of a function apart.
//!
//! Cranelift makes a load part of the instruction that uses its value, which then has the location of the user, or none.
//! The trap code of the load is all that stays with it, and there are few of these. So the
//! accesses have codes in turn, and an access is the last one with its code at or before the location, or the one nearest
//! to a location close by. This also keeps Cranelift from dropping a store that a later one overwrites, which would put
//! off its fault.
//!
//! **Invariant**: a load becomes part of an instruction that comes before the next access but few, as Cranelift moves no
//! load behind another access that may trap: so of the accesses with its code it is the nearest one.
//! Example: `(i32.or (i32.load (local.get 0)) (i32.const 1))` is one machine instruction at the location of the `or`.

use cranelift_codegen::ir;

use crate::abi::TrapCode;

/// The accesses of a function that may fault.
#[derive(Clone, Debug, Default)]
pub(super) struct Accesses {
    /// The number of the origin of each, ascending.
    origins: Vec<u32>,
}

/// A trap code is none of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NoAccess;

impl Accesses {
    /// The code of the next access, which traps with `code` and comes from the origin with a number.
    pub(super) fn add(&mut self, origin: u32, code: TrapCode) -> ir::TrapCode {
        debug_assert!(self.origins.last().is_none_or(|&last| last <= origin), "accesses come in order");
        let number = self.origins.len();
        self.origins.push(origin);
        code.of_access(number)
    }

    /// The number of the origin of an access with a code, at the origin with a number or, where that is unknown,
    /// somewhere behind one.
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
