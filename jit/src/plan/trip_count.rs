//! Trip counts that are small constants: such a loop takes a bounded time, and needs no check.
//!
//! Input: a function and one of its loops. Output: whether it makes at most [`MOST_ROUNDS`] rounds whenever it is entered.
//! Recognised is what compilers make of `for (i = 0; i < 8; i++)`: a local that is written once in the loop, by adding a
//! constant to it; a test in the header or the latch that compares it with a constant; a constant on the way in. These rounds
//! are then gone through, so that it does not matter how the test is written.
//! Source: Hirzel & Chilimbi 2001, section 4.2: "only a small, fixed number of iterations".
//! Oracle: the blocks that programs execute between two checks, `spec-tests/tests/checks.rs`.

use std::collections::BTreeMap;

use wasmparser::{BinaryReaderError, Operator};
use wprof_profiler::{BlockId, LoopId, Loops};

use crate::cfg::{Cfg, End, Operators, Target};
use crate::module::ModuleInfo;

/// More rounds are not a few.
const MOST_ROUNDS: u32 = 16;
/// How many blocks are looked at for what a local is when a loop is entered.
const MOST_BLOCKS: usize = 8;

/// A function whose loops are looked at.
pub(super) struct TripCounts<'a> {
    pub info: &'a ModuleInfo,
    pub cfg: &'a Cfg,
    pub shape: &'a wprof_profiler::Cfg,
    pub loops: &'a Loops,
}

/// A value as far as it is known, in terms of the locals at the start of its block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Known {
    /// A constant.
    Constant(i64),
    /// A local, and what was added to it.
    Local(u32, i64),
    /// A comparison.
    Test(Test),
    /// Anything.
    Other,
}

/// Whether a local, with something added, compares so with a constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Test {
    local: u32,
    plus: i64,
    is_64: bool,
    comparison: Comparison,
    with: i64,
    is_negated: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Comparison {
    Equal,
    LessSigned,
    LessUnsigned,
    GreaterSigned,
    GreaterUnsigned,
}

impl Test {
    fn holds(self, value: i64) -> bool {
        let narrow = |value: i64| if self.is_64 { value } else { i64::from(value as i32) };
        let unsigned = |value: i64| if self.is_64 { value as u64 } else { u64::from(value as u32) };
        let (value, with) = (narrow(value.wrapping_add(self.plus)), narrow(self.with));
        let holds = match self.comparison {
            Comparison::Equal => value == with,
            Comparison::LessSigned => value < with,
            Comparison::GreaterSigned => value > with,
            Comparison::LessUnsigned => unsigned(value) < unsigned(with),
            Comparison::GreaterUnsigned => unsigned(value) > unsigned(with),
        };
        holds != self.is_negated
    }
}

/// What a block does to locals, and the condition on which it branches.
struct Effect {
    written: BTreeMap<u32, Known>,
    condition: Known,
}

impl TripCounts<'_> {
    /// Whether a loop makes few rounds each time.
    ///
    /// # Errors
    /// If the bytes are not those that were validated.
    pub fn is_short(&self, id: LoopId) -> Result<bool, BinaryReaderError> {
        let (header, backs) = (self.loops.get(id).header, self.loops.back_edges(self.shape, id));
        let &[back] = &backs[..] else { return Ok(false) };
        if !self.loops.is_innermost(id) {
            return Ok(false);
        }
        let latch = self.shape.edge(back).from;
        for tested in [latch, header] {
            if self.ends_after_few(id, tested, latch)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether the test at the end of a block that each round runs through leaves the loop after few rounds.
    fn ends_after_few(&self, id: LoopId, tested: BlockId, latch: BlockId) -> Result<bool, BinaryReaderError> {
        let Some(goes_on_if) = self.goes_on_if(id, tested) else { return Ok(false) };
        let effect = self.effect(tested)?;
        let Known::Test(test) = effect.condition else { return Ok(false) };
        let step = match effect.written.get(&test.local) {
            Some(&step) => step,
            // Tested before it is written.
            None if tested != latch => {
                self.effect(latch)?.written.get(&test.local).copied().unwrap_or(Known::Other)
            }
            None => Known::Other,
        };
        let Known::Local(of, step) = step else { return Ok(false) };
        if of != test.local || self.writes(id, test.local)? != 1 {
            return Ok(false);
        }
        let Some(mut value) = self.value_before(id, test.local)? else { return Ok(false) };
        for _ in 1..MOST_ROUNDS {
            if test.holds(value) != goes_on_if {
                return Ok(true);
            }
            value = value.wrapping_add(step);
        }
        Ok(false)
    }

    /// How the condition of a block's branch is when the loop goes on; `None` if it does not leave the loop there.
    fn goes_on_if(&self, id: LoopId, block: BlockId) -> Option<bool> {
        let block = &self.cfg.blocks[block.index()];
        if block.how != End::Branch {
            return None;
        }
        let stays = |edge: &crate::cfg::Edge| match edge.target {
            Target::Block(to) => self.loops.contains(id, BlockId(to)),
            Target::Exit => false,
        };
        match (stays(&block.edges[0]), stays(&block.edges[1])) {
            (true, false) => Some(true),
            (false, true) => Some(false),
            _ => None,
        }
    }

    /// In how many places of a loop a local is written.
    fn writes(&self, id: LoopId, local: u32) -> Result<u32, BinaryReaderError> {
        let mut writes = 0;
        for block in self.loops.blocks(id).iter().map(|block| &self.cfg.blocks[block.index()]) {
            let mut operators = Operators::new(self.info, block.start, block.limit);
            while let Some((op, _)) = operators.next()? {
                let (Operator::LocalSet { local_index } | Operator::LocalTee { local_index }) = op else {
                    continue;
                };
                writes += u32::from(local_index == local);
            }
        }
        Ok(writes)
    }

    /// What a local is when a loop is entered, if that is always the same.
    fn value_before(&self, id: LoopId, local: u32) -> Result<Option<i64>, BinaryReaderError> {
        let header = self.loops.get(id).header;
        let from = |edge: &wprof_profiler::EdgeId| self.shape.edge(*edge).from;
        let entries = self.shape.in_edges(header).iter().map(from);
        let mut entries = entries.filter(|&from| !self.loops.contains(id, from));
        let (Some(mut block), None) = (entries.next(), entries.next()) else { return Ok(None) };
        for _ in 0..MOST_BLOCKS {
            match self.effect(block)?.written.get(&local) {
                Some(Known::Constant(value)) => return Ok(Some(*value)),
                Some(_) => return Ok(None),
                None if block == BlockId::ENTRY => return Ok((local >= self.cfg.params).then_some(0)),
                None => {}
            }
            let &[into] = self.shape.in_edges(block) else { return Ok(None) };
            block = self.shape.edge(into).from;
        }
        Ok(None)
    }

    /// Goes through a block.
    fn effect(&self, block: BlockId) -> Result<Effect, BinaryReaderError> {
        let block = &self.cfg.blocks[block.index()];
        let (mut stack, mut written) = (Vec::new(), BTreeMap::new());
        let mut operators = Operators::new(self.info, block.start, block.limit);
        while let Some((op, at)) = operators.next()? {
            if at == block.end {
                break;
            }
            step(&op, &mut stack, &mut written);
        }
        let condition = match stack.pop().unwrap_or(Known::Other) {
            Known::Local(local, plus) => test(Comparison::Equal, false, true, Known::Local(local, plus), 0),
            known => known,
        };
        Ok(Effect { written, condition })
    }
}

/// What one instruction does. Of operands that are not on this stack nothing is known.
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
        (Some(local), Some(Known::Constant(with))) => test(compared, is_64, is_negated, local, with),
        _ => Known::Other,
    };
    stack.push(tested);
}

fn test(comparison: Comparison, is_64: bool, is_negated: bool, of: Known, with: i64) -> Known {
    match of {
        Known::Local(local, plus) => Known::Test(Test { local, plus, is_64, comparison, with, is_negated }),
        _ => Known::Other,
    }
}

/// Adds the operand on top, or takes it off.
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use wprof_profiler::DepthFirst;

    use super::*;

    /// Whether the only loop of a body makes few rounds.
    fn is_short(body: &str) -> bool {
        let wat = format!("(module (func (param $n i32) (local $i i32) (local $j i64) {body}))");
        let bytes: Arc<[u8]> = wat::parse_str(wat).expect("valid text").into();
        let info = crate::module::parse(bytes).expect("valid module");
        let cfg = crate::cfg::build(&info, 0).expect("within limits");
        let shape = cfg.shape();
        let loops = Loops::new(&shape, &DepthFirst::new(&shape));
        let trips = TripCounts { info: &info, cfg: &cfg, shape: &shape, loops: &loops };
        let (id, _) = loops.iter().next().expect("a loop");
        trips.is_short(id).expect("valid")
    }

    /// A loop whose local `i` begins and changes so, and that goes on if this holds.
    fn counted(first: i32, step: i32, goes_on: &str) -> String {
        format!(
            "(local.set $i (i32.const {first}))
             (loop $l (local.set $i (i32.add (local.get $i) (i32.const {step}))) (br_if $l {goes_on}))"
        )
    }

    #[test]
    fn counted_loops_with_constant_bounds_are_short() {
        for (first, step, goes_on) in [
            (0, 1, "(i32.lt_s (local.get $i) (i32.const 8))"),
            (0, 1, "(i32.ne (local.get $i) (i32.const 15))"),
            (64, -8, "(local.get $i)"),
            (-4, 1, "(i32.eqz (i32.eqz (local.get $i)))"),
            (3, 5, "(i32.le_u (local.get $i) (i32.const 30))"),
            (i32::MAX - 3, 1, "(i32.gt_s (local.get $i) (i32.const 0))"),
        ] {
            assert!(is_short(&counted(first, step, goes_on)), "{first} {step} {goes_on}");
        }
        assert!(is_short(
            "(loop $l (br_if $l (i64.lt_u (local.tee $j (i64.add (local.get $j) (i64.const 1))) (i64.const 3))))"
        ));
        let at_the_top = "(block $out (loop $l
            (br_if $out (i32.ge_u (local.get $i) (i32.const 5)))
            (local.set $i (i32.add (local.get $i) (i32.const 1))) (br $l)))";
        assert!(is_short(at_the_top));
    }

    #[test]
    fn other_loops_are_not() {
        for (first, step, goes_on) in [
            (0, 1, "(i32.lt_s (local.get $i) (i32.const 100))"),
            (0, 2, "(i32.ne (local.get $i) (i32.const 7))"),
            (0, 0, "(i32.lt_s (local.get $i) (i32.const 8))"),
            (0, 1, "(i32.lt_s (local.get $i) (local.get $n))"),
            (0, 1, "(i32.lt_s (local.get $n) (i32.const 8))"),
            (8, -1, "(i32.ge_u (local.get $i) (i32.const 0))"),
        ] {
            assert!(!is_short(&counted(first, step, goes_on)), "{first} {step} {goes_on}");
        }
        let loops = [
            // Begins anywhere, is written twice, or not by adding.
            "(local.set $i (local.get $n)) (loop $l (br_if $l (local.tee $i (i32.add (local.get $i) (i32.const 1)))))",
            "(loop $l (br_if $l (local.tee $n (i32.add (local.get $n) (i32.const 1)))))",
            "(loop $l (if (local.get $n) (then (local.set $i (i32.const 0))))
                (br_if $l (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 3))))",
            "(loop $l (br_if $l (i32.lt_u (local.tee $i (i32.mul (local.get $i) (i32.const 3))) (i32.const 3))))",
            // The test is not on each way round.
            "(loop $l (br_if $l (local.get $n))
                (br_if $l (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 3))))",
        ];
        for body in loops {
            assert!(!is_short(body), "{body}");
        }
    }
}
