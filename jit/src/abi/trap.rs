//! The reasons why machine code stopped.

use cranelift_codegen::ir;
use serde::{Deserialize, Serialize};

/// The reasons in trap tables. Plain code has no entry for stack overflow, which is recognised there by the faulting
/// address; instrumented code touches its whole frame at a place of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[repr(u8)]
pub enum TrapCode {
    /// Linear memory access out of bounds.
    MemoryOutOfBounds,
    /// Table access out of bounds.
    TableOutOfBounds,
    /// `call_indirect` to a null element.
    IndirectCallToNull,
    /// `call_indirect` to a function of another type.
    BadSignature,
    /// A null reference where none is allowed.
    NullReference,
    /// Signed division overflow, or a float too large for the integer it is converted to.
    IntegerOverflow,
    /// Division by zero.
    DivisionByZero,
    /// A NaN converted to an integer.
    BadConversion,
    /// The `unreachable` instruction.
    Unreachable,
    /// An embedder's request to stop, noticed at a poll.
    Interrupt,
    /// A host function or builtin failed; the store knows why.
    Host,
    /// The frame does not fit on the stack.
    StackOverflow,
    /// The budget is used up. If the host grants more, the code continues behind the instruction, a 64-bit store.
    Budget,
    /// The buffer of the trace is full. The host empties it, and the code continues behind the instruction.
    TraceFull,
    /// The buffer of data references is full. The host empties it, and the code continues behind the instruction.
    ReferencesFull,
    /// An atomic access whose address is not a multiple of its size.
    UnalignedAtomic,
    /// A reference that is not of the type to which it is cast.
    CastFailure,
    /// Access to an array beyond its end.
    ArrayOutOfBounds,
}

/// The first of the codes that distinguish memory accesses; those of table accesses follow.
const FIRST_ACCESS: usize = 20;

impl TrapCode {
    /// The number of neighbouring accesses with different codes.
    pub(crate) const ACCESS_PERIOD: usize = 110;

    const ALL: [TrapCode; 18] = [
        TrapCode::MemoryOutOfBounds,
        TrapCode::TableOutOfBounds,
        TrapCode::IndirectCallToNull,
        TrapCode::BadSignature,
        TrapCode::NullReference,
        TrapCode::IntegerOverflow,
        TrapCode::DivisionByZero,
        TrapCode::BadConversion,
        TrapCode::Unreachable,
        TrapCode::Interrupt,
        TrapCode::Host,
        TrapCode::StackOverflow,
        TrapCode::Budget,
        TrapCode::TraceFull,
        TrapCode::ReferencesFull,
        TrapCode::UnalignedAtomic,
        TrapCode::CastFailure,
        TrapCode::ArrayOutOfBounds,
    ];

    /// Returns the code that Cranelift carries through to the trap table.
    pub fn to_clif(self) -> ir::TrapCode {
        match self {
            TrapCode::MemoryOutOfBounds => ir::TrapCode::HEAP_OUT_OF_BOUNDS,
            TrapCode::IntegerOverflow => ir::TrapCode::INTEGER_OVERFLOW,
            TrapCode::DivisionByZero => ir::TrapCode::INTEGER_DIVISION_BY_ZERO,
            TrapCode::StackOverflow => ir::TrapCode::STACK_OVERFLOW,
            TrapCode::BadConversion => ir::TrapCode::BAD_CONVERSION_TO_INTEGER,
            other => ir::TrapCode::unwrap_user(other as u8 + 1),
        }
    }

    /// Returns the code of access `number` of a function, to a memory or table: different from its neighbours' codes.
    pub(crate) fn of_access(self, number: usize) -> ir::TrapCode {
        let kind = usize::from(self == TrapCode::TableOutOfBounds);
        let code = FIRST_ACCESS + kind * TrapCode::ACCESS_PERIOD + number % TrapCode::ACCESS_PERIOD;
        ir::TrapCode::unwrap_user(code as u8)
    }

    /// Returns the number of the access, modulo the period, for which [`TrapCode::of_access`] returned this code.
    pub(crate) fn access_phase(code: ir::TrapCode) -> Option<usize> {
        let place = usize::from(code.as_raw().get()).checked_sub(FIRST_ACCESS)?;
        (place < 2 * TrapCode::ACCESS_PERIOD).then_some(place % TrapCode::ACCESS_PERIOD)
    }

    /// Inverts [`TrapCode::to_clif`]; `None` for codes that are never emitted.
    pub fn from_clif(code: ir::TrapCode) -> Option<TrapCode> {
        if let Some(phase) = TrapCode::access_phase(code) {
            let kinds = [TrapCode::MemoryOutOfBounds, TrapCode::TableOutOfBounds];
            return kinds.into_iter().find(|kind| kind.of_access(phase) == code);
        }
        TrapCode::ALL.into_iter().find(|c| c.to_clif() == code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_survive_the_trip_through_cranelift() {
        for code in TrapCode::ALL {
            assert_eq!(TrapCode::from_clif(code.to_clif()), Some(code));
        }
        for code in [TrapCode::MemoryOutOfBounds, TrapCode::TableOutOfBounds] {
            assert_eq!(TrapCode::from_clif(code.of_access(109)), Some(code));
            assert_eq!(TrapCode::access_phase(code.of_access(111)), Some(1));
        }
    }
}
