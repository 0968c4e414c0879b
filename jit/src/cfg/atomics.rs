//! The atomic instructions on linear memories: their actions, access widths and types.
//!
//! Source: the threads proposal, "Atomic Memory Accesses". Each instruction has a row in the table below.

use wasmparser::{MemArg, Operator, ValType};

/// The action of an atomic instruction on its place in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    Load,
    Store,
    /// Reads, and writes the result of a computation on the old value and an operand.
    Update(Update),
    /// Reads, and writes if the value read equals the expected one.
    CompareExchange,
    /// Waits for a notification, if the value read equals the expected one.
    Wait,
    /// Wakes the threads that wait at the place. Accesses nothing.
    Notify,
}

/// The value that an atomic instruction writes, computed from the old value and an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Update {
    Add,
    Sub,
    And,
    Or,
    Xor,
    Exchange,
}

/// An atomic instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Atomic {
    pub action: Action,
    /// The address of its place.
    pub arg: MemArg,
    /// The number of bytes accessed, of which the address must be a multiple.
    pub bytes: u8,
    /// The type of the expected, written or returned value, which is wider than a narrow access.
    pub ty: ValType,
}

macro_rules! rows {
    ($(
        $action:expr => $i32:ident $i32_8:ident $i32_16:ident $i64:ident $i64_8:ident $i64_16:ident $i64_32:ident;
    )*) => {
        impl Atomic {
            /// Returns the atomic instruction for `op`, if it accesses or names a place in memory.
            pub(crate) fn new(op: &Operator<'_>) -> Option<Atomic> {
                use ValType::{I32, I64};
                let of = |action, arg, bytes, ty| Some(Atomic { action, arg, bytes, ty });
                match *op {
                    $(
                        Operator::$i32 { memarg } => of($action, memarg, 4, I32),
                        Operator::$i32_8 { memarg } => of($action, memarg, 1, I32),
                        Operator::$i32_16 { memarg } => of($action, memarg, 2, I32),
                        Operator::$i64 { memarg } => of($action, memarg, 8, I64),
                        Operator::$i64_8 { memarg } => of($action, memarg, 1, I64),
                        Operator::$i64_16 { memarg } => of($action, memarg, 2, I64),
                        Operator::$i64_32 { memarg } => of($action, memarg, 4, I64),
                    )*
                    Operator::MemoryAtomicWait32 { memarg } => of(Action::Wait, memarg, 4, I32),
                    Operator::MemoryAtomicWait64 { memarg } => of(Action::Wait, memarg, 8, I64),
                    Operator::MemoryAtomicNotify { memarg } => of(Action::Notify, memarg, 4, I32),
                    _ => None,
                }
            }
        }
    };
}

rows! {
    Action::Load => I32AtomicLoad I32AtomicLoad8U I32AtomicLoad16U
        I64AtomicLoad I64AtomicLoad8U I64AtomicLoad16U I64AtomicLoad32U;
    Action::Store => I32AtomicStore I32AtomicStore8 I32AtomicStore16
        I64AtomicStore I64AtomicStore8 I64AtomicStore16 I64AtomicStore32;
    Action::Update(Update::Add) => I32AtomicRmwAdd I32AtomicRmw8AddU I32AtomicRmw16AddU
        I64AtomicRmwAdd I64AtomicRmw8AddU I64AtomicRmw16AddU I64AtomicRmw32AddU;
    Action::Update(Update::Sub) => I32AtomicRmwSub I32AtomicRmw8SubU I32AtomicRmw16SubU
        I64AtomicRmwSub I64AtomicRmw8SubU I64AtomicRmw16SubU I64AtomicRmw32SubU;
    Action::Update(Update::And) => I32AtomicRmwAnd I32AtomicRmw8AndU I32AtomicRmw16AndU
        I64AtomicRmwAnd I64AtomicRmw8AndU I64AtomicRmw16AndU I64AtomicRmw32AndU;
    Action::Update(Update::Or) => I32AtomicRmwOr I32AtomicRmw8OrU I32AtomicRmw16OrU
        I64AtomicRmwOr I64AtomicRmw8OrU I64AtomicRmw16OrU I64AtomicRmw32OrU;
    Action::Update(Update::Xor) => I32AtomicRmwXor I32AtomicRmw8XorU I32AtomicRmw16XorU
        I64AtomicRmwXor I64AtomicRmw8XorU I64AtomicRmw16XorU I64AtomicRmw32XorU;
    Action::Update(Update::Exchange) => I32AtomicRmwXchg I32AtomicRmw8XchgU I32AtomicRmw16XchgU
        I64AtomicRmwXchg I64AtomicRmw8XchgU I64AtomicRmw16XchgU I64AtomicRmw32XchgU;
    Action::CompareExchange => I32AtomicRmwCmpxchg I32AtomicRmw8CmpxchgU I32AtomicRmw16CmpxchgU
        I64AtomicRmwCmpxchg I64AtomicRmw8CmpxchgU I64AtomicRmw16CmpxchgU I64AtomicRmw32CmpxchgU;
}

impl Atomic {
    /// Returns the type of the result, if there is one.
    pub(crate) fn result(&self) -> Option<ValType> {
        match self.action {
            Action::Store => None,
            Action::Wait | Action::Notify => Some(ValType::I32),
            _ => Some(self.ty),
        }
    }

    /// Reports whether the instruction reads memory.
    pub(crate) fn loads(&self) -> bool {
        !matches!(self.action, Action::Store | Action::Notify)
    }

    /// Reports whether the instruction writes memory. A failed compare-exchange counts as writing the old value.
    pub(crate) fn stores(&self) -> bool {
        matches!(self.action, Action::Store | Action::Update(_) | Action::CompareExchange)
    }
}
