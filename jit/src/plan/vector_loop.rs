//! Loops that may be vectorised: innermost loops of one block that count, and compute what they store.
//!
//! Input: a function. Output: such loops ([`VectorLoop`]). This is a guess from the bytecode: code is made for such a
//! loop with no check in its rounds, and `passes/vectors` decides.

use std::collections::BTreeSet;

use hashbrown::HashMap;
use wasmparser::{BinaryReaderError, MemArg, MemArgTarget, Operator};
use wprof_profiler::BlockId;

use super::block_effect::{Effect, Known};
use super::strip::only_exit;
use super::{Countdown, SmallLoop, TripCounts};
use crate::cfg::{Block, Cfg, Operators};
use crate::code::NoVectors;
use crate::module::ModuleInfo;

/// The size of a vector in bytes.
const BYTES: u32 = 16;

/// A loop that may be vectorised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VectorLoop {
    /// Its only block.
    pub header: u32,
    /// The test by which it continues.
    pub countdown: Countdown,
    /// What is done at once.
    pub vectors: Vectors,
    /// The reason why it cannot be, if code was made for it before.
    pub refused: Option<NoVectors>,
}

/// What a loop is expected to do at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Vectors {
    /// The number of values in a vector.
    pub lanes: u32,
    /// The number of rounds that count as one check in other code: that of the loop's copies if it is unrolled there.
    pub rounds_of_check: u32,
}

/// What the bytecode of a block tells.
#[derive(Default)]
struct Found {
    /// The size of what is stored, in bytes.
    stored: Option<u32>,
    memory: Option<u32>,
    /// The locals that are read before they are written.
    read: BTreeSet<u32>,
    written: BTreeSet<u32>,
}

impl VectorLoop {
    /// Finds the loops of a function that may be vectorised.
    ///
    /// # Errors
    /// Returns an error if the bytes are not those that were validated.
    pub fn all(
        info: &ModuleInfo,
        cfg: &Cfg,
        small: &[SmallLoop],
    ) -> Result<Vec<VectorLoop>, BinaryReaderError> {
        let mut all = Vec::new();
        if !cfg.blocks.iter().any(|block| block.is_loop_header) {
            return Ok(all);
        }
        let (loops, trips) = (cfg.loops(), TripCounts::new(info, cfg));
        let copies: HashMap<u32, u32> = small.iter().map(|found| (found.blocks[0], found.copies)).collect();
        for (id, found) in loops.iter().filter(|(id, _)| loops.is_innermost(*id)) {
            let header = found.header.0;
            let is_one = loops.blocks(id).len() == 1 && only_exit(cfg, id, found) == Some(header);
            if !is_one || trips.is_short(id)? || trips.is_remainder(id, BlockId(header))? {
                continue;
            }
            let block = &cfg.blocks[header as usize];
            let Some(lanes) = lanes(info, block)? else { continue };
            let Some(countdown) = trips.countdown(id, BlockId(header))? else { continue };
            let rounds_of_check = copies.get(&header).copied().unwrap_or(1);
            let vectors = Vectors { lanes, rounds_of_check };
            all.push(VectorLoop { header, countdown, vectors, refused: None });
        }
        Ok(all)
    }
}

/// Returns how many of the values that a block stores make up a vector; `None` if it does what vectors cannot.
fn lanes(info: &ModuleInfo, block: &Block) -> Result<Option<u32>, BinaryReaderError> {
    let mut found = Found::default();
    let mut operators = Operators::new(info, block.start, block.limit);
    while let Some((op, _)) = operators.next()? {
        if !found.takes(info, &op) {
            return Ok(None);
        }
    }
    let effect = Effect::new(info, block)?;
    let is_count = |local: &u32| match effect.written.get(local) {
        Some(Known::Local(of, _)) => of == local,
        _ => false,
    };
    let are_counts = found.read.intersection(&found.written).all(is_count);
    Ok(found.stored.filter(|_| are_counts).map(|size| BYTES / size))
}

impl Found {
    /// Takes an instruction into account; reports whether there is one for vectors.
    fn takes(&mut self, info: &ModuleInfo, op: &Operator<'_>) -> bool {
        use Operator as O;
        match *op {
            O::LocalGet { local_index } => {
                if !self.written.contains(&local_index) {
                    self.read.insert(local_index);
                }
                true
            }
            O::LocalSet { local_index } | O::LocalTee { local_index } => {
                self.written.insert(local_index);
                true
            }
            O::F64Store { memarg } | O::I64Store { memarg } => self.stores(info, &memarg, 8),
            O::F32Store { memarg } | O::I32Store { memarg } | O::I64Store32 { memarg } => {
                self.stores(info, &memarg, 4)
            }
            O::I32Store16 { memarg } | O::I64Store16 { memarg } => self.stores(info, &memarg, 2),
            O::I32Store8 { memarg } | O::I64Store8 { memarg } => self.stores(info, &memarg, 1),
            O::F64Load { memarg } | O::F32Load { memarg } | O::I32Load { memarg } | O::I64Load { memarg } => {
                self.accesses(info, &memarg)
            }
            O::I32Load8S { memarg }
            | O::I32Load8U { memarg }
            | O::I32Load16S { memarg }
            | O::I32Load16U { memarg }
            | O::I64Load8S { memarg }
            | O::I64Load8U { memarg }
            | O::I64Load16S { memarg }
            | O::I64Load16U { memarg }
            | O::I64Load32S { memarg }
            | O::I64Load32U { memarg } => self.accesses(info, &memarg),
            _ => computes(op),
        }
    }

    fn stores(&mut self, info: &ModuleInfo, arg: &MemArg, size: u32) -> bool {
        let is_same = self.stored.is_none_or(|stored| stored == size);
        self.stored = Some(size);
        is_same && self.accesses(info, arg)
    }

    /// Reports whether a memory is the only one of the block, and no other thread can see it.
    fn accesses(&mut self, info: &ModuleInfo, arg: &MemArg) -> bool {
        let MemArgTarget::Memory(memory) = arg.target else { return false };
        let ty = &info.memories[memory as usize];
        let is_only = self.memory.is_none_or(|other| other == memory);
        self.memory = Some(memory);
        is_only && !ty.shared && !ty.memory64
    }
}

/// Reports whether an instruction only computes, and there is one for vectors, or it may be part of an address or of
/// the test.
fn computes(op: &Operator<'_>) -> bool {
    use Operator as O;
    let is_structure =
        matches!(op, O::Loop { .. } | O::Block { .. } | O::End | O::BrIf { .. } | O::Nop | O::Br { .. });
    let is_constant =
        matches!(op, O::I32Const { .. } | O::I64Const { .. } | O::F32Const { .. } | O::F64Const { .. });
    let is_float =
        matches!(op, O::F64Add | O::F64Sub | O::F64Mul | O::F64Div | O::F64Sqrt | O::F64Neg | O::F64Abs)
            || matches!(op, O::F64Ceil | O::F64Floor | O::F64Trunc | O::F64Nearest)
            || matches!(
                op,
                O::F32Add | O::F32Sub | O::F32Mul | O::F32Div | O::F32Sqrt | O::F32Neg | O::F32Abs
            )
            || matches!(op, O::F32Ceil | O::F32Floor | O::F32Trunc | O::F32Nearest | O::F32ConvertI32S);
    let is_integer = matches!(
        op,
        O::I32Add
            | O::I32Sub
            | O::I32Mul
            | O::I32And
            | O::I32Or
            | O::I32Xor
            | O::I32Shl
            | O::I32ShrS
            | O::I32ShrU
    ) || matches!(
        op,
        O::I64Add
            | O::I64Sub
            | O::I64Mul
            | O::I64And
            | O::I64Or
            | O::I64Xor
            | O::I64Shl
            | O::I64ShrS
            | O::I64ShrU
    ) || matches!(op, O::I32WrapI64 | O::I64ExtendI32S | O::I64ExtendI32U);
    let is_test =
        matches!(
            op,
            O::I32Eqz
                | O::I32Eq
                | O::I32Ne
                | O::I32LtS
                | O::I32LtU
                | O::I32GtS
                | O::I32GtU
                | O::I32LeS
                | O::I32LeU
        ) || matches!(op, O::I32GeS | O::I32GeU | O::I64Eqz | O::I64Eq | O::I64Ne | O::I64LtS | O::I64LtU)
            || matches!(op, O::I64GtS | O::I64GtU | O::I64LeS | O::I64LeU | O::I64GeS | O::I64GeU)
            || matches!(op, O::F64Eq | O::F64Ne | O::F64Lt | O::F64Gt | O::F64Le | O::F64Ge)
            || matches!(op, O::F32Eq | O::F32Ne | O::F32Lt | O::F32Gt | O::F32Le | O::F32Ge);
    is_structure
        || is_constant
        || is_float
        || is_integer
        || is_test
        || matches!(op, O::Select | O::TypedSelect { .. })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    /// Returns the lanes of the loops in a function that counts local `i` up by `step` to `n`.
    fn found(body: &str) -> Vec<u32> {
        let text = format!(
            "(module (memory 1) (func (param $n i32) (local $i i32) (local $x f64) (local $s i32) (loop $l {body}
                (br_if $l (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 8))) (local.get $n))))))"
        );
        let bytes: Arc<[u8]> = wat::parse_str(text).expect("valid text").into();
        let info = crate::module::parse(bytes).expect("valid module");
        let cfg = crate::cfg::build(&info, 0).expect("within limits");
        let all = VectorLoop::all(&info, &cfg, &[]).expect("valid bytes");
        all.into_iter().map(|found| found.vectors.lanes).collect()
    }

    #[test]
    fn loops_that_compute_what_they_store_are_found() {
        assert_eq!(
            found("(f64.store (local.get $i) (f64.add (f64.load (local.get $i)) (f64.const 1)))"),
            [2]
        );
        assert_eq!(found("(i32.store8 (local.get $i) (i32.load8_u offset=99 (local.get $i)))"), [16]);
        assert_eq!(
            found(
                "(local.set $x (f64.load (local.get $i))) (f64.store offset=8 (local.get $i) (local.get $x))"
            ),
            [2]
        );
    }

    #[test]
    fn others_are_not() {
        // Nothing is stored; two sizes are; a value goes to the next round; division traps.
        for body in [
            "(drop (f64.load (local.get $i)))",
            "(i32.store (local.get $i) (i32.const 0)) (i32.store8 (local.get $i) (i32.const 0))",
            "(local.set $x (f64.add (local.get $x) (f64.load (local.get $i)))) (f64.store (local.get $i) (local.get $x))",
            "(i32.store (local.get $i) (i32.div_u (i32.const 1) (local.get $n)))",
        ] {
            assert_eq!(found(body), [] as [u32; 0], "{body}");
        }
    }
}
