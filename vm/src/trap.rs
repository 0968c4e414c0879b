//! The reasons why wasm code traps.

use std::fmt;

use wprof_jit::abi::TrapCode;

/// The ways in which wasm code can fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum Trap {
    /// The stack is exhausted.
    #[error("wasm trap: call stack exhausted")]
    StackOverflow,
    /// A linear memory was accessed beyond its end.
    #[error("wasm trap: out of bounds memory access")]
    MemoryOutOfBounds,
    /// A table was accessed beyond its end.
    #[error("wasm trap: undefined element: out of bounds table access")]
    TableOutOfBounds,
    /// `call_indirect` met a null element.
    #[error("wasm trap: uninitialized element")]
    IndirectCallToNull,
    /// `call_indirect` met a function of another type.
    #[error("wasm trap: indirect call type mismatch")]
    BadSignature,
    /// A signed division overflowed, or a float is too large for the integer it is converted to.
    #[error("wasm trap: integer overflow")]
    IntegerOverflow,
    /// A division by zero.
    #[error("wasm trap: integer divide by zero")]
    IntegerDivisionByZero,
    /// A NaN was converted to an integer.
    #[error("wasm trap: invalid conversion to integer")]
    BadConversionToInteger,
    /// The `unreachable` instruction.
    #[error("wasm trap: wasm `unreachable` instruction executed")]
    UnreachableCodeReached,
    /// The embedder requested it, through an [`InterruptHandle`](crate::InterruptHandle).
    #[error("wasm trap: interrupt")]
    Interrupt,
    /// The deadline has passed: see [`Store::set_deadline`](crate::Store::set_deadline).
    #[error("wasm trap: deadline exceeded")]
    Deadline,
    /// More events happened than the budget allowed: see [`Store::set_budget`](crate::Store::set_budget).
    #[error("wasm trap: out of budget")]
    OutOfBudget,
    /// All fuel is consumed: see [`Store::set_fuel`](crate::Store::set_fuel).
    #[error("wasm trap: all fuel consumed by WebAssembly")]
    OutOfFuel,
    /// A null reference was used where none is allowed.
    #[error("wasm trap: null reference")]
    NullReference,
    /// The address of an atomic access is not a multiple of its size.
    #[error("wasm trap: unaligned atomic")]
    UnalignedAtomic,
    /// `memory.atomic.wait32` or `wait64` was used on a memory that is not shared.
    #[error("wasm trap: expected shared memory")]
    ExpectedSharedMemory,
    /// A reference was cast to a type that it does not have.
    #[error("wasm trap: cast failure")]
    CastFailure,
    /// An array was accessed beyond its end.
    #[error("wasm trap: out of bounds array access")]
    ArrayOutOfBounds,
    /// The heap has no room for another object beside all reachable ones: see
    /// [`StoreLimits::heap_bytes`](crate::StoreLimits::heap_bytes).
    #[error("wasm trap: GC heap out of memory")]
    GcOutOfMemory,
    /// A JavaScript string was accessed beyond its end.
    #[error("wasm trap: out of bounds string access")]
    StringOutOfBounds,
    /// A number is not a Unicode code point.
    #[error("wasm trap: invalid code point")]
    BadCodePoint,
}

impl Trap {
    /// Returns the trap for a trap code; `None` if it depends on the state of the store.
    pub(crate) fn from_code(code: TrapCode) -> Option<Trap> {
        Some(match code {
            TrapCode::MemoryOutOfBounds => Trap::MemoryOutOfBounds,
            TrapCode::TableOutOfBounds => Trap::TableOutOfBounds,
            TrapCode::IndirectCallToNull => Trap::IndirectCallToNull,
            TrapCode::BadSignature => Trap::BadSignature,
            TrapCode::NullReference => Trap::NullReference,
            TrapCode::IntegerOverflow => Trap::IntegerOverflow,
            TrapCode::DivisionByZero => Trap::IntegerDivisionByZero,
            TrapCode::BadConversion => Trap::BadConversionToInteger,
            TrapCode::Unreachable => Trap::UnreachableCodeReached,
            TrapCode::Interrupt => Trap::Interrupt,
            TrapCode::StackOverflow => Trap::StackOverflow,
            TrapCode::UnalignedAtomic => Trap::UnalignedAtomic,
            TrapCode::CastFailure => Trap::CastFailure,
            TrapCode::ArrayOutOfBounds => Trap::ArrayOutOfBounds,
            TrapCode::Host | TrapCode::Budget | TrapCode::TraceFull | TrapCode::ReferencesFull => {
                return None;
            }
        })
    }
}

/// The details added to the message of [`Trap::OutOfBudget`] and [`Trap::OutOfFuel`]: the exhausted budget, and
/// how far the program had exceeded it when it was stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutOfBudget {
    /// The kind of events.
    pub kind: String,
    /// The number of events beyond the budget.
    pub overdraft: u64,
}

impl fmt::Display for OutOfBudget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.overdraft {
            0 => write!(f, "budget of {} used up", self.kind),
            overdraft => write!(f, "budget of {} overdrawn by {overdraft}", self.kind),
        }
    }
}
