//! Atomic instructions of hot programs: all loads, stores, read-modify-writes and exchanges of all widths, fences, notifications,
//! and waits that end at once.
//!
//! No other thread runs, so what they do is determined. The interpreter has none of them: in the lowered form each is a call of
//! the host, which does it on the memory that the program exports ([`atomics`](crate::engines::atomics)).

use wasm_encoder::{Encode, Instruction as I, MemArg, MemArgTarget, Ordering, ValType};

use super::body::Body;
use super::lowered::{Action, Helper};
use super::tree::{Expr, Stmt};
use ValType::{I32, I64};

/// Who may use the memories of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// Its instance.
    Own,
    /// Any thread. Only here may code wait.
    Shared,
}

/// An instruction at an address.
type Access = fn(MemArg) -> I<'static>;

/// The number of widths of each instruction.
const WIDTHS: usize = 7;
/// The types and binary logarithms of widths, in the order of the instructions' codes.
const KINDS: [(ValType, u32); WIDTHS] =
    [(I32, 2), (I64, 3), (I32, 0), (I32, 1), (I64, 0), (I64, 1), (I64, 2)];

/// All loads, stores, read-modify-writes and exchanges, in the order of their codes.
const ACCESSES: [[Access; WIDTHS]; 9] = [
    [
        I::I32AtomicLoad,
        I::I64AtomicLoad,
        I::I32AtomicLoad8U,
        I::I32AtomicLoad16U,
        I::I64AtomicLoad8U,
        I::I64AtomicLoad16U,
        I::I64AtomicLoad32U,
    ],
    [
        I::I32AtomicStore,
        I::I64AtomicStore,
        I::I32AtomicStore8,
        I::I32AtomicStore16,
        I::I64AtomicStore8,
        I::I64AtomicStore16,
        I::I64AtomicStore32,
    ],
    [
        I::I32AtomicRmwAdd,
        I::I64AtomicRmwAdd,
        I::I32AtomicRmw8AddU,
        I::I32AtomicRmw16AddU,
        I::I64AtomicRmw8AddU,
        I::I64AtomicRmw16AddU,
        I::I64AtomicRmw32AddU,
    ],
    [
        I::I32AtomicRmwSub,
        I::I64AtomicRmwSub,
        I::I32AtomicRmw8SubU,
        I::I32AtomicRmw16SubU,
        I::I64AtomicRmw8SubU,
        I::I64AtomicRmw16SubU,
        I::I64AtomicRmw32SubU,
    ],
    [
        I::I32AtomicRmwAnd,
        I::I64AtomicRmwAnd,
        I::I32AtomicRmw8AndU,
        I::I32AtomicRmw16AndU,
        I::I64AtomicRmw8AndU,
        I::I64AtomicRmw16AndU,
        I::I64AtomicRmw32AndU,
    ],
    [
        I::I32AtomicRmwOr,
        I::I64AtomicRmwOr,
        I::I32AtomicRmw8OrU,
        I::I32AtomicRmw16OrU,
        I::I64AtomicRmw8OrU,
        I::I64AtomicRmw16OrU,
        I::I64AtomicRmw32OrU,
    ],
    [
        I::I32AtomicRmwXor,
        I::I64AtomicRmwXor,
        I::I32AtomicRmw8XorU,
        I::I32AtomicRmw16XorU,
        I::I64AtomicRmw8XorU,
        I::I64AtomicRmw16XorU,
        I::I64AtomicRmw32XorU,
    ],
    [
        I::I32AtomicRmwXchg,
        I::I64AtomicRmwXchg,
        I::I32AtomicRmw8XchgU,
        I::I32AtomicRmw16XchgU,
        I::I64AtomicRmw8XchgU,
        I::I64AtomicRmw16XchgU,
        I::I64AtomicRmw32XchgU,
    ],
    [
        I::I32AtomicRmwCmpxchg,
        I::I64AtomicRmwCmpxchg,
        I::I32AtomicRmw8CmpxchgU,
        I::I32AtomicRmw16CmpxchgU,
        I::I64AtomicRmw8CmpxchgU,
        I::I64AtomicRmw16CmpxchgU,
        I::I64AtomicRmw32CmpxchgU,
    ],
];

/// Codes behind the prefix of atomic instructions.
const NOTIFY: u32 = 0;
const WAIT32: u32 = 1;
const WAIT64: u32 = 2;
const FENCE: u32 = 3;
const FIRST_ACCESS: u32 = 0x10;
const PREFIX: u8 = 0xfe;

/// What an instruction does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the specification's names")]
pub enum Does {
    Load,
    Store,
    Add,
    Sub,
    And,
    Or,
    Xor,
    Exchange,
    CompareExchange,
    Notify,
    Wait,
}

const DOES: [Does; 9] = [
    Does::Load,
    Does::Store,
    Does::Add,
    Does::Sub,
    Does::And,
    Does::Or,
    Does::Xor,
    Does::Exchange,
    Does::CompareExchange,
];

/// An atomic instruction without its offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Atomic {
    /// What it does.
    pub does: Does,
    /// The type of its operands.
    pub ty: ValType,
    /// The binary logarithm of its width.
    pub log2: u32,
    /// The index of its memory: 1 has 64-bit addresses.
    pub memory: u32,
}

impl Atomic {
    /// Returns the types of its operands, and of its result.
    pub fn signature(self) -> (Vec<ValType>, Option<ValType>) {
        let address = if self.memory == 1 { I64 } else { I32 };
        let (more, result): (&[ValType], _) = match self.does {
            Does::Load => (&[], Some(self.ty)),
            Does::Store => (&[self.ty], None),
            Does::CompareExchange => (&[self.ty, self.ty], Some(self.ty)),
            Does::Notify => (&[I32], Some(I32)),
            Does::Wait => (&[self.ty, I64], Some(I32)),
            _ => (&[self.ty], Some(self.ty)),
        };
        ([&[address], more].concat(), result)
    }

    fn all() -> impl Iterator<Item = Atomic> {
        let accesses = DOES.into_iter().flat_map(|does| KINDS.map(|(ty, log2)| (does, ty, log2)));
        let waits = [(Does::Notify, I32, 2), (Does::Wait, I32, 2), (Does::Wait, I64, 3)];
        let all = accesses.chain(waits);
        all.flat_map(|(does, ty, log2)| [0, 1].map(|memory| Atomic { does, ty, log2, memory }))
    }
}

/// Returns the host functions that perform atomic instructions: their last operand is the offset.
pub(super) fn helpers() -> impl Iterator<Item = Helper> {
    Atomic::all().map(|atomic| {
        let (mut params, result) = atomic.signature();
        params.push(I32);
        Helper { action: Action::Atomic(atomic), params, result }
    })
}

/// Returns the atomic instruction that an instruction is, and its offset; `None` if it is none, or a fence.
pub fn decoded(op: &I<'_>) -> Option<(Atomic, u32)> {
    let mut bytes = Vec::new();
    op.encode(&mut bytes);
    let bytes = bytes.strip_prefix(&[PREFIX])?;
    let mut reader = wasmparser::BinaryReader::new(bytes, 0);
    let mut number = || reader.read_var_u32().expect("it was encoded");
    let (code, has_memory) = (number(), 1 << 6);
    if code == FENCE {
        return None;
    }
    let memory = if number() & has_memory == 0 { 0 } else { number() };
    let offset = number();
    let (does, (ty, log2)) = match code {
        NOTIFY => (Does::Notify, (I32, 2)),
        WAIT32 => (Does::Wait, (I32, 2)),
        WAIT64 => (Does::Wait, (I64, 3)),
        _ => {
            let at = (code - FIRST_ACCESS) as usize;
            (DOES[at / WIDTHS], KINDS[at % WIDTHS])
        }
    };
    Some((Atomic { does, ty, log2, memory }, offset))
}

impl Body<'_> {
    /// Returns an atomic load, read-modify-write or exchange that leaves an integer.
    pub fn atomic(&mut self, ty: ValType, depth: usize) -> Expr {
        let widths: Vec<usize> = (0..WIDTHS).filter(|&at| KINDS[at].0 == ty).collect();
        let (row, at) = (self.rng.below(ACCESSES.len() - 1), self.rng.pick(&widths));
        // Stores leave nothing.
        let row = if row >= Does::Store as usize { row + 1 } else { row };
        let (address, memarg) = self.atomic_address(KINDS[at].1, depth);
        let operands = match DOES[row] {
            Does::Load => 0,
            Does::CompareExchange => 2,
            _ => 1,
        };
        let mut args = vec![address];
        args.extend((0..operands).map(|_| self.expr(ty, depth.min(1))));
        self.spend(4);
        Expr::op(ty, ACCESSES[row][at](memarg), args)
    }

    /// Returns a statement with an atomic instruction: mostly one that is an expression, else a store, a notification, a fence, or a
    /// wait whose time is over.
    pub fn atomic_statement(&mut self, depth: usize) -> Stmt {
        self.spend(8);
        if self.rng.chance(70) {
            let ty = self.rng.pick(&[I32, I64]);
            let (local, value) = (self.local(ty), self.atomic(ty, depth));
            return Stmt::set(local, value);
        }
        let result = Some(self.local(I32));
        match self.rng.below(10) {
            0 => Stmt::act(I::AtomicFence(Ordering::SeqCst), Vec::new()),
            1 => {
                let (address, memarg) = self.atomic_address(2, depth);
                let most = self.expr(I32, 1);
                Stmt::Do {
                    op: I::MemoryAtomicNotify(memarg),
                    args: vec![address, most],
                    results: vec![result],
                }
            }
            2..=3 if self.shape.atomics == Some(Sharing::Shared) => {
                let is_64 = self.rng.chance(50);
                let (ty, log2, op): (_, _, Access) = match is_64 {
                    true => (I64, 3, I::MemoryAtomicWait64),
                    false => (I32, 2, I::MemoryAtomicWait32),
                };
                let (address, memarg) = self.atomic_address(log2, depth);
                let args = vec![address, self.expr(ty, 1), Expr::i64(0)];
                Stmt::Do { op: op(memarg), args, results: vec![result] }
            }
            _ => {
                let at = self.rng.below(WIDTHS);
                let (ty, log2) = KINDS[at];
                let (address, memarg) = self.atomic_address(log2, depth);
                let value = self.expr(ty, depth);
                Stmt::act(ACCESSES[Does::Store as usize][at](memarg), vec![address, value])
            }
        }
    }

    /// Returns a read-modify-write at an address that is no multiple of its width: it traps.
    pub fn unaligned_atomic(&mut self) -> Stmt {
        let memarg = self.atomic_memarg(3, 0);
        let local = self.local(I64);
        let args = vec![Expr::i32(8 * self.rng.below(100) as i32 + 4), Expr::i64(1)];
        Stmt::set(local, Expr::op(I64, I::I64AtomicRmwXor(memarg), args))
    }

    /// Returns an address that is a multiple of the width, and a memory argument that keeps it one.
    fn atomic_address(&mut self, log2: u32, depth: usize) -> (Expr, MemArg) {
        let memory = u32::from(self.rng.chance(30));
        let ty = if memory == 1 { I64 } else { I32 };
        self.spend(4);
        // Few places, so that many instructions work on one.
        let mask = self.rng.pick(&[0x38, 0x78, 0x7f8, 0x7ff8]);
        let index = self.index(ty, log2, depth);
        (self.masked(index, mask | (0x7 & !((1 << log2) - 1))), self.atomic_memarg(log2, memory))
    }

    fn atomic_memarg(&mut self, log2: u32, memory: u32) -> MemArg {
        let offset = self.rng.pick(&[0, 0, 0, 8, 16, 64, 1024]);
        MemArg { offset, align: log2, target: MemArgTarget::Memory(memory), ordering: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_instruction_is_decoded_as_what_it_is() {
        let memarg =
            |memory| MemArg { offset: 77, align: 0, target: MemArgTarget::Memory(memory), ordering: None };
        for memory in [0, 1] {
            for (row, does) in ACCESSES.iter().zip(DOES) {
                for (access, (ty, log2)) in row.iter().zip(KINDS) {
                    let expected = Atomic { does, ty, log2, memory };
                    assert_eq!(decoded(&access(memarg(memory))), Some((expected, 77)));
                }
            }
            let wait = Atomic { does: Does::Wait, ty: I64, log2: 3, memory };
            assert_eq!(decoded(&I::MemoryAtomicWait64(memarg(memory))), Some((wait, 77)));
        }
        assert_eq!(decoded(&I::AtomicFence(Ordering::SeqCst)), None);
        assert_eq!(decoded(&I::I32Load(memarg(0))), None);
        assert_eq!(Atomic::all().count(), helpers().count());
    }
}
