//! The effect of a block on locals, as far as it consists of additions of constants, masks, and comparisons.
//!
//! Input: a block. Output: the value behind the block of each local that it writes, in terms of the locals before it,
//! and the condition on which it branches.

use std::collections::BTreeMap;

use wasmparser::{BinaryReaderError, Operator};

use crate::cfg::{Block, Operators};
use crate::module::ModuleInfo;

/// A value as far as it is known, in terms of the locals at the start of its block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known {
    /// A constant.
    Constant(i64),
    /// A local plus a constant.
    Local(u32, i64),
    /// The result of a mask: at least 0, and at most this number.
    AtMost(i64),
    /// A comparison.
    Test(Test),
    /// Any value.
    Other,
}

/// A test that compares a local plus a constant with a bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Test {
    pub local: u32,
    pub plus: i64,
    pub is_64: bool,
    pub comparison: Comparison,
    pub with: Bound,
    pub is_negated: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    Equal,
    LessSigned,
    LessUnsigned,
    GreaterSigned,
    GreaterUnsigned,
}

impl Comparison {
    /// Returns the comparison with swapped operands.
    fn swapped(self) -> Comparison {
        match self {
            Comparison::Equal => Comparison::Equal,
            Comparison::LessSigned => Comparison::GreaterSigned,
            Comparison::LessUnsigned => Comparison::GreaterUnsigned,
            Comparison::GreaterSigned => Comparison::LessSigned,
            Comparison::GreaterUnsigned => Comparison::LessUnsigned,
        }
    }
}

impl Test {
    /// Reports whether the test holds for these values of the local and of the bound.
    pub fn holds(self, value: i64, with: i64) -> bool {
        let narrow = |value: i64| if self.is_64 { value } else { i64::from(value as i32) };
        let unsigned = |value: i64| if self.is_64 { value as u64 } else { u64::from(value as u32) };
        let (value, with) = (narrow(value.wrapping_add(self.plus)), narrow(with));
        let holds = match self.comparison {
            Comparison::Equal => value == with,
            Comparison::LessSigned => value < with,
            Comparison::GreaterSigned => value > with,
            Comparison::LessUnsigned => unsigned(value) < unsigned(with),
            Comparison::GreaterUnsigned => unsigned(value) > unsigned(with),
        };
        holds != self.is_negated
    }

    /// Returns the same test as one of the local that is its bound, if nothing is added to the first local.
    pub fn swapped(self) -> Option<Test> {
        let Bound::Local(local) = self.with else { return None };
        let comparison = self.comparison.swapped();
        (self.plus == 0).then_some(Test { local, comparison, with: Bound::Local(self.local), ..self })
    }
}

/// The value that a loop's local is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// A constant.
    Constant(i64),
    /// A local that the loop does not write.
    Local(u32),
}

/// The effect of a block on locals, and the condition on which it branches.
pub struct Effect {
    pub written: BTreeMap<u32, Known>,
    pub condition: Known,
}

impl Effect {
    /// Interprets a block.
    ///
    /// # Errors
    /// Returns an error if the bytes are not those that were validated.
    pub fn new(info: &ModuleInfo, block: &Block) -> Result<Effect, BinaryReaderError> {
        let (mut stack, mut written) = (Vec::new(), BTreeMap::new());
        let mut operators = Operators::new(info, block.start, block.limit);
        while let Some((op, at)) = operators.next()? {
            if at == block.end {
                break;
            }
            step(&op, &mut stack, &mut written);
        }
        let condition = match stack.pop().unwrap_or(Known::Other) {
            Known::Local(local, plus) => {
                test(Comparison::Equal, false, true, Known::Local(local, plus), Known::Constant(0))
            }
            known => known,
        };
        Ok(Effect { written, condition })
    }
}

/// Interprets one instruction. Operands that are not on this stack are unknown.
fn step(op: &Operator<'_>, stack: &mut Vec<Known>, written: &mut BTreeMap<u32, Known>) {
    use Comparison::{Equal, GreaterSigned, GreaterUnsigned, LessSigned, LessUnsigned};
    let (compared, is_64, is_negated) = match *op {
        Operator::I32Const { value } => return stack.push(Known::Constant(value.into())),
        Operator::I64Const { value } => return stack.push(Known::Constant(value)),
        Operator::LocalGet { local_index } => {
            let known = written.get(&local_index).copied().unwrap_or(Known::Local(local_index, 0));
            return stack.push(known);
        }
        Operator::LocalSet { local_index } => {
            written.insert(local_index, stack.pop().unwrap_or(Known::Other));
            return;
        }
        Operator::LocalTee { local_index } => {
            written.insert(local_index, stack.last().copied().unwrap_or(Known::Other));
            return;
        }
        Operator::I32Add | Operator::I64Add => return add(stack, 1),
        Operator::I32Sub | Operator::I64Sub => return add(stack, -1),
        Operator::I32And | Operator::I64And => return mask(stack),
        Operator::I32Eqz => (Equal, false, false),
        Operator::I64Eqz => (Equal, true, false),
        Operator::I32Eq => (Equal, false, false),
        Operator::I32Ne => (Equal, false, true),
        Operator::I32LtS => (LessSigned, false, false),
        Operator::I32LtU => (LessUnsigned, false, false),
        Operator::I32GtS => (GreaterSigned, false, false),
        Operator::I32GtU => (GreaterUnsigned, false, false),
        Operator::I32LeS => (GreaterSigned, false, true),
        Operator::I32LeU => (GreaterUnsigned, false, true),
        Operator::I32GeS => (LessSigned, false, true),
        Operator::I32GeU => (LessUnsigned, false, true),
        Operator::I64Eq => (Equal, true, false),
        Operator::I64Ne => (Equal, true, true),
        Operator::I64LtS => (LessSigned, true, false),
        Operator::I64LtU => (LessUnsigned, true, false),
        Operator::I64GtS => (GreaterSigned, true, false),
        Operator::I64GtU => (GreaterUnsigned, true, false),
        Operator::I64LeS => (GreaterSigned, true, true),
        Operator::I64LeU => (GreaterUnsigned, true, true),
        Operator::I64GeS => (LessSigned, true, true),
        Operator::I64GeU => (LessUnsigned, true, true),
        _ => return stack.clear(),
    };
    let is_with_zero = matches!(op, Operator::I32Eqz | Operator::I64Eqz);
    let with = if is_with_zero { Some(Known::Constant(0)) } else { stack.pop() };
    let tested = match (stack.pop(), with) {
        (Some(Known::Test(test)), Some(Known::Constant(0))) if compared == Equal => {
            Known::Test(Test { is_negated: test.is_negated == is_negated, ..test })
        }
        (Some(left), Some(right)) => test(compared, is_64, is_negated, left, right),
        _ => Known::Other,
    };
    stack.push(tested);
}

fn test(comparison: Comparison, is_64: bool, is_negated: bool, left: Known, right: Known) -> Known {
    let (local, plus, with, comparison) = match (left, right) {
        (Known::Local(local, plus), Known::Constant(with)) => {
            (local, plus, Bound::Constant(with), comparison)
        }
        (Known::Constant(with), Known::Local(local, plus)) => {
            (local, plus, Bound::Constant(with), comparison.swapped())
        }
        (Known::Local(local, plus), Known::Local(with, 0)) => (local, plus, Bound::Local(with), comparison),
        (Known::Local(with, 0), Known::Local(local, plus)) => {
            (local, plus, Bound::Local(with), comparison.swapped())
        }
        _ => return Known::Other,
    };
    Known::Test(Test { local, plus, is_64, comparison, with, is_negated })
}

/// Masks the operand on top.
fn mask(stack: &mut Vec<Known>) {
    let operands = [stack.pop(), stack.pop()];
    let most = operands.into_iter().flatten().find_map(|operand| match operand {
        Known::Constant(mask) if mask >= 0 => Some(mask),
        _ => None,
    });
    stack.push(most.map_or(Known::Other, Known::AtMost));
}

/// Adds or subtracts the operand on top.
fn add(stack: &mut Vec<Known>, sign: i64) {
    let (right, left) = (stack.pop(), stack.pop());
    stack.push(match (left, right) {
        (Some(Known::Local(local, plus)), Some(Known::Constant(by))) => {
            Known::Local(local, plus.wrapping_add(sign.wrapping_mul(by)))
        }
        (Some(Known::Constant(by)), Some(Known::Local(local, plus))) if sign == 1 => {
            Known::Local(local, plus.wrapping_add(by))
        }
        _ => Known::Other,
    });
}
