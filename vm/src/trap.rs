//! Why wasm code stopped.

use std::fmt;

use wprof_jit::abi::TrapCode;

/// The ways in which wasm code itself can fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Trap {
    /// The stack is used up.
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
    /// The embedder asked for it, through an [`InterruptHandle`](crate::InterruptHandle).
    #[error("wasm trap: interrupt")]
    Interrupt,
    /// Its time is up: see [`Store::set_deadline`](crate::Store::set_deadline).
    #[error("wasm trap: deadline exceeded")]
    Deadline,
    /// More events happened than the budget allowed: see [`Store::set_budget`](crate::Store::set_budget).
    #[error("wasm trap: out of budget")]
    OutOfBudget,
    /// All fuel is consumed: see [`Store::set_fuel`](crate::Store::set_fuel).
    #[error("wasm trap: all fuel consumed by WebAssembly")]
    OutOfFuel,
    /// A null reference where none is allowed.
    #[error("wasm trap: null reference")]
    NullReference,
    /// An atomic access whose address is not a multiple of its size.
    #[error("wasm trap: unaligned atomic")]
    UnalignedAtomic,
    /// `memory.atomic.wait32` or `wait64` on a memory that no other thread can have.
    #[error("wasm trap: expected shared memory")]
    ExpectedSharedMemory,
    /// A reference was cast to a type that it is not of.
    #[error("wasm trap: cast failure")]
    CastFailure,
    /// An array was accessed beyond its end.
    #[error("wasm trap: out of bounds array access")]
    ArrayOutOfBounds,
    /// The heap of objects has no room for another one, with all that is reachable: see
    /// [`StoreLimits::heap_bytes`](crate::StoreLimits::heap_bytes).
    #[error("wasm trap: GC heap out of memory")]
    GcOutOfMemory,
    /// A string of JavaScript was accessed beyond its end.
    #[error("wasm trap: out of bounds string access")]
    StringOutOfBounds,
    /// A number is no code point of Unicode.
    #[error("wasm trap: invalid code point")]
    BadCodePoint,
}

impl Trap {
    /// The trap of a trap site; `None` if only the store knows.
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

/// What is added to the message of [`Trap::OutOfBudget`] and [`Trap::OutOfFuel`]: what ran out, and how far the
/// program had got beyond it when it was stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutOfBudget {
    /// The kind of events.
    pub kind: String,
    /// How many more than the budget allowed.
    pub overdraft: u64,
}

impl fmt::Display for OutOfBudget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "budget of {} overdrawn by {}", self.kind, self.overdraft)
    }
}
