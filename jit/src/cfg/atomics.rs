//! The atomic instructions on linear memories: what each does, how wide its access is, and on which type it works.
//!
//! Source: the threads proposal, "Atomic Memory Accesses". All of them are of one row of the table below.

use wasmparser::{MemArg, Operator, ValType};

/// What an atomic instruction does with its place in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    Load,
    Store,
    /// Reads, and writes what a computation makes of that and an operand.
    Update(Update),
    /// Reads, and writes if that is what was expected.
    CompareExchange,
    /// Waits until it is notified, if what it reads is what was expected.
    Wait,
    /// Wakes who waits there. It accesses nothing.
    Notify,
}

/// What an atomic instruction writes, given what it has read and an operand.
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
    /// Where its place is.
    pub arg: MemArg,
    /// How many bytes it accesses. Its address must be a multiple of that.
    pub bytes: u8,
    /// The type of what it expects, writes or gives, which is wider than the access if that is narrow.
    pub ty: ValType,
}

macro_rules! rows {
    ($(
        $action:expr => $i32:ident $i32_8:ident $i32_16:ident $i64:ident $i64_8:ident $i64_16:ident $i64_32:ident;
    )*) => {
        impl Atomic {
            /// The atomic instruction that `op` is, if it accesses or names a place in memory.
            pub(crate) fn of(op: &Operator<'_>) -> Option<Atomic> {
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
    /// The type of its result, if it has one.
    pub(crate) fn result(&self) -> Option<ValType> {
        match self.action {
            Action::Store => None,
            Action::Wait | Action::Notify => Some(ValType::I32),
            _ => Some(self.ty),
        }
    }

    /// Whether it reads memory.
    pub(crate) fn loads(&self) -> bool {
        !matches!(self.action, Action::Store | Action::Notify)
    }

    /// Whether it writes memory. That of what was not as expected is written as it was.
    pub(crate) fn stores(&self) -> bool {
        matches!(self.action, Action::Store | Action::Update(_) | Action::CompareExchange)
    }
}
