//! The shape of a loop that can be vectorised: one block, which counts.
//!
//! Input: the header of a loop. Output: its [`Round`]: what each round does, what it changes by constants
//! ([`Round::step`]), and the test by which it continues; or the reason why it is not such a loop.

use cranelift_codegen::ir::condcodes::{CondCode, IntCC};
use cranelift_codegen::ir::{Block, BlockCall, Function, Inst, InstructionData, Opcode, Value, types};
use hashbrown::HashMap;

use super::linear::Linear;
use crate::code::NoVectors as Refusal;

/// The maximum size of a block, in CLIF instructions. It bounds the compile time and the size of the vectorised loop.
const MOST_INSTRUCTIONS: usize = 400;
/// The largest step of a loop's counter. The counter stops at most this far beyond the bound, and does not wrap around
/// in 64 bits there.
const MOST_STEP: u64 = 1 << 16;

/// A loop of one block.
pub(super) struct Round {
    /// The block.
    pub header: Block,
    /// Its instructions but the branch at its end.
    pub insts: Vec<Inst>,
    /// The branch.
    pub end: Inst,
    /// Its parameters, each with its value in the next round.
    pub carried: Vec<(Value, Value)>,
    /// The test by which it continues.
    pub test: Test,
    invariant: HashMap<Value, bool>,
}

/// The test by which a loop continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Test {
    /// The counter: a sum of parameters and of loop-invariant values.
    pub tested: Value,
    /// The amount that each round adds to it; not zero.
    pub step: i64,
    /// The condition under which the loop continues.
    pub condition: IntCC,
    /// The value from outside the loop with which it is compared; zero if there is none.
    pub bound: Option<Value>,
}

impl Round {
    /// Returns the round of the loop with a header.
    pub(super) fn new(func: &Function, header: Block) -> Result<Round, Refusal> {
        let mut insts: Vec<Inst> = func.layout.block_insts(header).collect();
        let end = insts.pop().ok_or(Refusal::Shape)?;
        let InstructionData::Brif { arg, blocks, .. } = func.dfg.insts[end] else {
            return Err(Refusal::Shape);
        };
        let leads_back = blocks.map(|call| call.block(&func.dfg.value_lists) == header);
        let (back, goes_on_if) = match leads_back {
            [true, false] => (blocks[0], true),
            [false, true] => (blocks[1], false),
            _ => return Err(Refusal::Shape),
        };
        if insts.len() > MOST_INSTRUCTIONS {
            return Err(Refusal::TooLarge);
        }
        let carried = carried(func, header, back).ok_or(Refusal::Shape)?;
        let mut invariant = HashMap::new();
        for value in func.dfg.block_params(header) {
            invariant.insert(*value, carried.iter().any(|&(param, next)| param == *value && next == param));
        }
        for &inst in &insts {
            let is_pure = is_pure(func, inst);
            let is_kept = |value| invariant.get(&value).copied().unwrap_or(true);
            let is_invariant = is_pure && func.dfg.inst_values(inst).all(is_kept);
            func.dfg.inst_results(inst).iter().for_each(|&result| _ = invariant.insert(result, is_invariant));
        }
        let test = Test { tested: arg, step: 0, condition: IntCC::Equal, bound: None };
        let mut round = Round { header, insts, end, carried, test, invariant };
        round.test = round.test_of(func, arg, goes_on_if).ok_or(Refusal::Test)?;
        Ok(round)
    }

    /// Reports whether a value is loop-invariant.
    pub(super) fn is_invariant(&self, value: Value) -> bool {
        self.invariant.get(&value).copied().unwrap_or(true)
    }

    /// Reports whether an instruction of the round computes a value.
    pub(super) fn is_made_in(&self, value: Value) -> bool {
        self.invariant.contains_key(&value)
    }

    /// Returns the constant that each round adds to a parameter, if it is one.
    pub(super) fn step(&self, func: &Function, param: Value) -> Option<i64> {
        let &(_, next) = self.carried.iter().find(|&&(carried, _)| carried == param)?;
        match func.dfg.value_type(param) {
            types::I32 | types::I64 => Linear::new(func, next).beyond(param),
            _ => None,
        }
    }

    /// Returns the constant that each round adds to a sum, if it is one.
    pub(super) fn step_of(&self, func: &Function, sum: &Linear) -> Option<i64> {
        let mut step = 0_i64;
        for &(value, factor) in &sum.terms {
            if !self.is_invariant(value) {
                step = step.checked_add(self.step(func, value)?.checked_mul(factor)?)?;
            }
        }
        Some(step)
    }

    fn test_of(&self, func: &Function, tested: Value, goes_on_if: bool) -> Option<Test> {
        let compared = func.dfg.value_def(tested).inst().map(|inst| func.dfg.insts[inst]);
        if let Some(InstructionData::IntCompare { cond, args: [a, b], .. }) = compared {
            let condition = if goes_on_if { cond } else { cond.complement() };
            let one_way = self.counted(func, a, condition, Some(b));
            return one_way.or_else(|| self.counted(func, b, condition.swap_args(), Some(a)));
        }
        goes_on_if.then(|| self.counted(func, tested, IntCC::NotEqual, None))?
    }

    /// Returns the test that compares a value with a bound, if each round adds the same to it and leads to the bound.
    fn counted(&self, func: &Function, value: Value, condition: IntCC, bound: Option<Value>) -> Option<Test> {
        let ty = func.dfg.value_type(value);
        if !matches!(ty, types::I32 | types::I64) || bound.is_some_and(|bound| !self.is_invariant(bound)) {
            return None;
        }
        let step = self.step_of(func, &Linear::new(func, value))?;
        let step = Some(step).filter(|step| (1..=MOST_STEP).contains(&step.unsigned_abs()))?;
        let leads_on = match condition {
            // A step of 64 bits that is no power of two takes a division.
            IntCC::NotEqual => ty == types::I32 || step.unsigned_abs().is_power_of_two(),
            IntCC::SignedLessThan | IntCC::UnsignedLessThan => ty == types::I32 && step > 0,
            IntCC::SignedLessThanOrEqual | IntCC::UnsignedLessThanOrEqual => ty == types::I32 && step > 0,
            IntCC::SignedGreaterThan | IntCC::UnsignedGreaterThan => ty == types::I32 && step < 0,
            IntCC::SignedGreaterThanOrEqual | IntCC::UnsignedGreaterThanOrEqual => {
                ty == types::I32 && step < 0
            }
            IntCC::Equal => false,
        };
        leads_on.then_some(Test { tested: value, step, condition, bound })
    }
}

/// Returns the parameters of a header, each with its value in the next round.
fn carried(func: &Function, header: Block, back: BlockCall) -> Option<Vec<(Value, Value)>> {
    let args = back.args(&func.dfg.value_lists).map(|arg| arg.as_value());
    let params = func.dfg.block_params(header).iter().copied();
    params.zip(args).map(|(param, arg)| Some((param, func.dfg.resolve_aliases(arg?)))).collect()
}

/// Reports whether an instruction has no effect but its results, so that it may be executed again elsewhere. A load
/// that cannot trap counts as pure if it reads memory that never changes.
pub(super) fn is_pure(func: &Function, inst: Inst) -> bool {
    if let InstructionData::Load { flags, .. } = func.dfg.insts[inst] {
        let flags = func.dfg.mem_flags[flags];
        return flags.trap_code().is_none() && flags.readonly();
    }
    let opcode = func.dfg.insts[inst].opcode();
    let acts = opcode.can_load() || opcode.can_store() || opcode.can_trap() || opcode.is_call();
    !acts && !opcode.other_side_effects() && !opcode.is_branch() && opcode != Opcode::GetPinnedReg
}
