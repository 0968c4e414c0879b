//! The accesses of a loop to linear memory, by class.
//!
//! Input: a [`Round`]. Output: its accesses in order. Accesses of one **class** have indices that differ by a constant
//! in each round; so how far they are apart is known now, while the distance of classes is tested when the loop begins.
//! Theory: an index is a sum of 32 bits, and wraps. The guard tests that all indices of a class stay within memory in
//! all rounds, computed with 64 bits from the index of the class in the first round: so none wraps, and the address of
//! each is that of the class plus a constant plus the class's *stride* for each round.

use cranelift_codegen::ir::{Function, Inst, InstructionData, MemFlags, Opcode, Value, types};

use super::linear::Linear;
use super::round::{Round, is_pure};
use crate::code::NoVectors as Refusal;

/// The maximum number of classes: each pair of a class that is stored to and another takes a test.
const MOST_CLASSES: usize = 8;
/// The largest distance in bytes within a class, and from one round to the next.
const FARTHEST: i64 = 1 << 24;

/// The accesses of a loop.
pub(super) struct Accesses {
    /// In the order of the round.
    pub all: Vec<Access>,
    pub classes: Vec<Class>,
    /// The address of byte 0 of the memory that all access.
    pub base: Value,
}

/// An access.
#[derive(Clone, Copy, Debug)]
pub(super) struct Access {
    pub inst: Inst,
    pub class: usize,
    /// The distance from the address of the class in the same round.
    pub at: i64,
    /// The number of bytes.
    pub size: i64,
    pub flags: MemFlags,
    /// The stored value.
    pub stored: Option<Value>,
}

/// Accesses whose addresses differ by constants.
#[derive(Clone, Debug)]
pub(super) struct Class {
    /// The address of the class in each round, without the constant offset of its access.
    pub address: Value,
    /// The number of bytes that each round adds to it; not negative.
    pub stride: i64,
    /// The constant that is added to the index as an i32, scaled.
    index: i64,
    /// The constant that is added to the address as an i64.
    pub beyond: i64,
    /// The least distance of an index from that of the address: 0 at most.
    pub nearest: i64,
    /// The range of bytes that the class accesses in a round, relative to its address.
    pub range: (i64, i64),
    pub is_stored: bool,
    key: Key,
}

/// The part of an address that accesses of a class share: the memory, the index without its constant, and its scale.
#[derive(Clone, Debug, PartialEq)]
struct Key {
    base: Value,
    scale: i64,
    index: Linear,
}

/// An address: the key of its class, and its constants.
struct Address {
    key: Key,
    /// The constant that is added to the index as an i32, scaled.
    index: i64,
    /// The constant that is added to the address as an i64.
    beyond: i64,
    stride: i64,
}

impl Accesses {
    /// Finds the accesses of a round.
    ///
    /// # Errors
    /// Returns the reason why the loop is not vectorised, for example another instruction with an effect.
    pub(super) fn new(func: &Function, round: &Round) -> Result<Accesses, Refusal> {
        let mut accesses = Accesses { all: Vec::new(), classes: Vec::new(), base: Value::from_u32(0) };
        for &inst in round.insts.iter().filter(|&&inst| !is_pure(func, inst)) {
            let (address, flags, offset, size, stored) = parts(func, inst).ok_or(Refusal::Instruction)?;
            if func.dfg.mem_flags[flags].trap_code().is_none() {
                return Err(Refusal::Instruction);
            }
            accesses.add(func, round, (inst, address, flags, offset, size, stored))?;
        }
        if accesses.classes.is_empty() {
            return Err(Refusal::Nothing);
        }
        accesses.base = accesses.classes[0].key.base;
        let is_one = accesses.classes.iter().all(|class| class.key.base == accesses.base);
        if is_one { Ok(accesses) } else { Err(Refusal::Address) }
    }

    fn add(
        &mut self,
        func: &Function,
        round: &Round,
        (inst, value, flags, offset, size, stored): (Inst, Value, MemFlags, i64, i64, Option<Value>),
    ) -> Result<(), Refusal> {
        let address = Address::new(func, round, value).ok_or(Refusal::Address)?;
        let class = self.class_of(&address, value)?;
        let found = &mut self.classes[class];
        let away = address.index - found.index;
        let at = away + (address.beyond - found.beyond) + offset;
        if away.abs() > FARTHEST || at.abs() > FARTHEST || offset < 0 {
            return Err(Refusal::Address);
        }
        found.nearest = found.nearest.min(away);
        found.range = (found.range.0.min(at), found.range.1.max(at + size));
        found.is_stored |= stored.is_some();
        self.all.push(Access { inst, class, at, size, flags, stored });
        Ok(())
    }

    /// Reports whether an access loads the same in all rounds.
    pub(super) fn is_kept(&self, access: usize) -> bool {
        let class = &self.classes[self.all[access].class];
        class.stride == 0 && !class.is_stored
    }

    fn class_of(&mut self, address: &Address, value: Value) -> Result<usize, Refusal> {
        if let Some(found) = self.classes.iter().position(|class| class.key == address.key) {
            return Ok(found);
        }
        if self.classes.len() == MOST_CLASSES {
            return Err(Refusal::TooLarge);
        }
        self.classes.push(Class {
            address: value,
            stride: address.stride,
            index: address.index,
            beyond: address.beyond,
            nearest: 0,
            range: (i64::MAX, i64::MIN),
            is_stored: false,
            key: address.key.clone(),
        });
        Ok(self.classes.len() - 1)
    }
}

impl Address {
    fn new(func: &Function, round: &Round, value: Value) -> Option<Address> {
        let sum = Linear::new(func, value);
        let (mut base, mut index) = (None, None);
        for &(term, factor) in &sum.terms {
            match extended(func, term) {
                Some(of) if index.is_none() && (1..=64).contains(&factor) => index = Some((of, factor)),
                None if base.is_none() && factor == 1 && is_base(func, round, term) => base = Some(term),
                _ => return None,
            }
        }
        let (scale, mut of) = match index {
            Some((of, scale)) => (scale, Linear::new(func, of)),
            None => (1, Linear::default()),
        };
        let stride = i64::from(i32::try_from(round.step_of(func, &of)?).ok()?).checked_mul(scale)?;
        let constant = std::mem::take(&mut of.constant);
        let beyond = sum.constant;
        let is_near = |constant: i64| (0..=FARTHEST).contains(&constant);
        if !is_near(beyond) || !is_near(stride) {
            return None;
        }
        let key = Key { base: base?, scale, index: of };
        Some(Address { key, index: constant * scale, beyond, stride })
    }
}

/// Returns the index that a value is with 64 bits.
fn extended(func: &Function, value: Value) -> Option<Value> {
    match func.dfg.insts[func.dfg.value_def(value).inst()?] {
        InstructionData::Unary { opcode: Opcode::Uextend, arg } => {
            (func.dfg.value_type(arg) == types::I32).then_some(arg)
        }
        _ => None,
    }
}

/// Reports whether a value is the address of a memory's byte 0, which is read from where it never changes.
fn is_base(func: &Function, round: &Round, value: Value) -> bool {
    let Some(inst) = func.dfg.value_def(value).inst() else { return false };
    let is_load = matches!(func.dfg.insts[inst], InstructionData::Load { opcode: Opcode::Load, .. });
    is_load && is_pure(func, inst) && round.is_invariant(value)
}

/// Returns address, flags, constant offset and size of an access, and what it stores.
#[allow(clippy::type_complexity, reason = "the parts have no name together")]
fn parts(func: &Function, inst: Inst) -> Option<(Value, MemFlags, i64, i64, Option<Value>)> {
    let (opcode, flags, offset, address, stored) = match func.dfg.insts[inst] {
        InstructionData::Load { opcode, flags, offset, arg } => (opcode, flags, offset, arg, None),
        InstructionData::Store { opcode, flags, offset, args: [value, address] } => {
            (opcode, flags, offset, address, Some(value))
        }
        _ => return None,
    };
    let full = || stored.or_else(|| func.dfg.inst_results(inst).first().copied());
    let size = match opcode {
        Opcode::Load | Opcode::Store => func.dfg.value_type(full()?).bytes(),
        Opcode::Uload8 | Opcode::Sload8 | Opcode::Istore8 => 1,
        Opcode::Uload16 | Opcode::Sload16 | Opcode::Istore16 => 2,
        Opcode::Uload32 | Opcode::Sload32 | Opcode::Istore32 => 4,
        _ => return None,
    };
    Some((address, flags, i64::from(i32::from(offset)), i64::from(size), stored))
}
