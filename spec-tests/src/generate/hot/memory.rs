//! Loads and stores of all widths, and bulk memory instructions.

use wasm_encoder::{Instruction as I, MemArg, MemArgTarget, ValType};

use super::body::Body;
use super::tree::{Expr, Stmt};
use super::{DATA, PASSIVE, STABLE};
use ValType::{F32, F64, I32, I64, V128};

/// An access: the instruction, and the binary logarithm of its width.
type Access = fn(MemArg) -> I<'static>;

const LOADS32: [(Access, u32); 5] =
    [(I::I32Load, 2), (I::I32Load8S, 0), (I::I32Load8U, 0), (I::I32Load16S, 1), (I::I32Load16U, 1)];
const LOADS64: [(Access, u32); 7] = [
    (I::I64Load, 3),
    (I::I64Load8S, 0),
    (I::I64Load8U, 0),
    (I::I64Load16S, 1),
    (I::I64Load16U, 1),
    (I::I64Load32S, 2),
    (I::I64Load32U, 2),
];
const VECTORS: [(Access, u32); 13] = [
    (I::V128Load, 4),
    (I::V128Load8x8S, 3),
    (I::V128Load8x8U, 3),
    (I::V128Load16x4S, 3),
    (I::V128Load16x4U, 3),
    (I::V128Load32x2S, 3),
    (I::V128Load32x2U, 3),
    (I::V128Load8Splat, 0),
    (I::V128Load16Splat, 1),
    (I::V128Load32Splat, 2),
    (I::V128Load64Splat, 3),
    (I::V128Load32Zero, 2),
    (I::V128Load64Zero, 3),
];
const STORES32: [(Access, u32); 3] = [(I::I32Store, 2), (I::I32Store8, 0), (I::I32Store16, 1)];
const STORES64: [(Access, u32); 4] =
    [(I::I64Store, 3), (I::I64Store8, 0), (I::I64Store16, 1), (I::I64Store32, 2)];

/// An access of a lane: the instruction, the binary logarithm of its width, and the number of lanes.
type LaneAccess = (fn(MemArg, u8) -> I<'static>, u32, u8);

const LANES: [LaneAccess; 4] = [
    (|memarg, lane| I::V128Load8Lane { memarg, lane }, 0, 16),
    (|memarg, lane| I::V128Load16Lane { memarg, lane }, 1, 8),
    (|memarg, lane| I::V128Load32Lane { memarg, lane }, 2, 4),
    (|memarg, lane| I::V128Load64Lane { memarg, lane }, 3, 2),
];
const STORED_LANES: [LaneAccess; 4] = [
    (|memarg, lane| I::V128Store8Lane { memarg, lane }, 0, 16),
    (|memarg, lane| I::V128Store16Lane { memarg, lane }, 1, 8),
    (|memarg, lane| I::V128Store32Lane { memarg, lane }, 2, 4),
    (|memarg, lane| I::V128Store64Lane { memarg, lane }, 3, 2),
];

impl Body<'_> {
    /// Returns a load that leaves a value of a type.
    pub fn load(&mut self, ty: ValType, depth: usize) -> Expr {
        if self.shape.atomics.is_some() && matches!(ty, I32 | I64) && self.rng.chance(40) {
            return self.atomic(ty, depth);
        }
        if ty == V128 && self.rng.chance(15) {
            let (access, log2, lanes) = self.rng.pick(&LANES);
            let (address, memarg) = self.address(log2, depth);
            let vector = self.expr(V128, depth);
            let lane = self.rng.below(lanes.into()) as u8;
            return Expr::op(V128, access(memarg, lane), vec![address, vector]);
        }
        let (access, log2): (Access, u32) = match ty {
            I32 => self.rng.pick(&LOADS32),
            I64 => self.rng.pick(&LOADS64),
            F32 => (I::F32Load, 2),
            F64 => (I::F64Load, 3),
            _ => self.rng.pick(&VECTORS),
        };
        let (address, memarg) = self.address(log2, depth);
        Expr::op(ty, access(memarg), vec![address])
    }

    /// Returns a store.
    pub fn store(&mut self, depth: usize) -> Stmt {
        let ty = self.some_type();
        if ty == V128 && self.rng.chance(25) {
            let (access, log2, lanes) = self.rng.pick(&STORED_LANES);
            let (address, memarg) = self.address(log2, depth);
            let vector = self.expr(V128, depth);
            let lane = self.rng.below(lanes.into()) as u8;
            return Stmt::act(access(memarg, lane), vec![address, vector]);
        }
        let (access, log2): (Access, u32) = match ty {
            I32 => self.rng.pick(&STORES32),
            I64 => self.rng.pick(&STORES64),
            F32 => (I::F32Store, 2),
            F64 => (I::F64Store, 3),
            _ => (I::V128Store, 4),
        };
        let (address, memarg) = self.address(log2, depth);
        let value = self.expr(ty, depth);
        let value = self.with_one_nan(value);
        Stmt::act(access(memarg), vec![address, value])
    }

    /// Returns statements that load a value once, and use it both sign- and zero-extended.
    pub fn loaded_twice(&mut self, depth: usize) -> Vec<Stmt> {
        let loads: [(Access, u32, I<'static>, i32); 4] = [
            (I::I32Load8U, 0, I::I32Extend8S, 0xff),
            (I::I32Load8S, 0, I::I32Extend8S, 0xff),
            (I::I32Load16U, 1, I::I32Extend16S, 0xffff),
            (I::I32Load16S, 1, I::I32Extend16S, 0xffff),
        ];
        let (access, log2, extend, mask) = loads[self.rng.below(4)].clone();
        let (address, memarg) = self.address(log2, depth);
        let (kept, signed, masked) = (self.local(I32), self.local(I32), self.local(I64));
        let value = || Expr::local(I32, kept);
        let zero_extended = Expr::op(I32, I::I32And, vec![value(), Expr::i32(mask)]);
        self.spend(12);
        vec![
            Stmt::set(kept, Expr::op(I32, access(memarg), vec![address])),
            Stmt::set(masked, Expr::op(I64, I::I64ExtendI32U, vec![zero_extended])),
            Stmt::set(signed, Expr::op(I32, extend, vec![value()])),
        ]
    }

    /// Returns an address and a memory argument: in range of the first page, nearly always.
    pub fn address(&mut self, log2: u32, depth: usize) -> (Expr, MemArg) {
        let memory = u32::from(self.rng.chance(30));
        let ty = if memory == 1 { I64 } else { I32 };
        let target = MemArgTarget::Memory(memory);
        let offset = self.rng.pick(&[0, 0, 0, 1, 4, 8, 16, 60, 255, 1024]);
        let align = self.rng.below(log2 as usize + 1) as u32;
        let memarg = MemArg { offset, align, target, ordering: None };
        self.spend(3);
        (self.index(ty, log2, depth), memarg)
    }

    /// Returns an index into a memory.
    pub(super) fn index(&mut self, ty: ValType, log2: u32, depth: usize) -> Expr {
        match self.rng.below(10) {
            // An array element that a loop counter indexes.
            0..=3 => {
                let counted = self.counter(ty);
                let within = self.masked(counted, 0x7ff);
                self.scaled(within, log2)
            }
            4 => {
                let place = 8 * self.rng.below(200) as i32;
                if ty == I64 { Expr::i64(place.into()) } else { Expr::i32(place) }
            }
            5 => {
                let counted = self.counter(ty);
                let scaled = self.scaled(counted, log2);
                self.masked(scaled, 0x7fff)
            }
            _ => {
                let any = self.expr(ty, depth.min(2));
                let mask = self.rng.pick(&[0x7fff, 0x7ff8, 0xff0, 0x3f]);
                self.masked(any, mask)
            }
        }
    }

    pub(super) fn masked(&mut self, value: Expr, mask: i32) -> Expr {
        match value.ty {
            I64 => Expr::op(I64, I::I64And, vec![value, Expr::i64(mask.into())]),
            _ => Expr::op(I32, I::I32And, vec![value, Expr::i32(mask)]),
        }
    }

    fn scaled(&mut self, value: Expr, log2: u32) -> Expr {
        match (value.ty, self.rng.chance(50)) {
            (I64, true) => Expr::op(I64, I::I64Shl, vec![value, Expr::i64(log2.into())]),
            (I64, false) => Expr::op(I64, I::I64Mul, vec![value, Expr::i64(1 << log2)]),
            (_, true) => Expr::op(I32, I::I32Shl, vec![value, Expr::i32(log2 as i32)]),
            (_, false) => Expr::op(I32, I::I32Mul, vec![value, Expr::i32(1 << log2)]),
        }
    }

    /// Returns an index into some memory, and the memory.
    fn place(&mut self) -> (Expr, u32) {
        let memory = u32::from(self.rng.chance(30));
        let ty = if memory == 1 { I64 } else { I32 };
        (self.index(ty, 0, 1), memory)
    }

    /// Returns a length of up to 63 bytes.
    fn length(&mut self, ty: ValType) -> Expr {
        let any = self.expr(ty, 1);
        self.masked(any, 63)
    }

    /// Returns a bulk memory instruction.
    pub fn bulk(&mut self) -> Stmt {
        self.spend(20);
        let (to, memory) = self.place();
        let ty = to.ty;
        match self.rng.below(4) {
            0 => {
                let value = self.expr(I32, 1);
                let length = self.length(ty);
                Stmt::act(I::MemoryFill(memory), vec![to, value, length])
            }
            1 => {
                let from = Expr::i32(self.rng.below(DATA) as i32 / 2);
                let length = self.length(I32);
                Stmt::act(I::MemoryInit { mem: memory, data_index: PASSIVE }, vec![to, from, length])
            }
            _ => {
                let (from, src_mem) = self.place();
                // The length has the narrower of both index types.
                let length = self.length(if memory == 1 && src_mem == 1 { I64 } else { I32 });
                Stmt::act(I::MemoryCopy { src_mem, dst_mem: memory }, vec![to, from, length])
            }
        }
    }

    /// Returns a statement that grows a memory by one page and uses the result.
    pub fn grow_memory(&mut self) -> Stmt {
        let memory = u32::from(self.rng.chance(50));
        let ty = if memory == 1 { I64 } else { I32 };
        let one = if memory == 1 { Expr::i64(1) } else { Expr::i32(1) };
        let result = Some(self.local(ty));
        Stmt::Do { op: I::MemoryGrow(memory), args: vec![one], results: vec![result] }
    }

    /// Returns an access after the first page, to memory that a growth may have added.
    pub fn far_access(&mut self) -> Stmt {
        let far = MemArg {
            offset: (STABLE + self.rng.below(1 << 16)) as u64,
            align: 0,
            target: MemArgTarget::Memory(0),
            ordering: None,
        };
        let any = self.expr(I32, 1);
        let index = self.masked(any, 0x7fff);
        let local = self.local(I64);
        Stmt::set(local, Expr::op(I64, I::I64Load32U(far), vec![index]))
    }
}
