//! Trip counts: small constants, and counts known at the start of a round.
//!
//! Input: a function and one of its loops. Output, one of: whether the loop makes at most [`MOST_ROUNDS`] rounds each
//! time it is entered: such a loop takes a bounded time, and needs no check. The test which tells at the start of a
//! round that the loop continues for some more ([`Countdown`]): these rounds need no tests of their own. Whether it is
//! expected to make few rounds, because it is the remainder loop of a loop that a compiler has unrolled: such a loop is
//! not unrolled. The analysis recognises the code that compilers emit for `for (i = 0; i < 8; i++)`: a local that is
//! written once in the loop, by adding a constant to it; a test in the header or the latch that compares it with a
//! loop-invariant value; for a small constant, also a constant bound and a constant initial value. These rounds are
//! then simulated, so that the form of the test does not matter. Source: Hirzel & Chilimbi 2001, section 4.2: "only a
//! small, fixed number of iterations". Oracle: the blocks that programs execute between two checks,
//! `spec-tests/tests/checks.rs`.

use wasmparser::{BinaryReaderError, Operator};
use wprof_profiler::{BlockId, LoopId, Loops};

use super::block_effect::{Bound, Comparison, Effect, Known, Test};
use crate::cfg::{Cfg, End, Operators, Target};
use crate::module::ModuleInfo;

/// The maximum number of rounds of a short loop.
const MOST_ROUNDS: u32 = 16;
/// The maximum step, so that no sum of a few steps overflows.
const MOST_STEP: u64 = 1 << 16;
/// The number of blocks searched for the value of a local at the entry of a loop.
const MOST_BLOCKS: usize = 8;

/// The trip counts of a function's loops.
pub(crate) struct TripCounts<'a> {
    info: &'a ModuleInfo,
    cfg: &'a Cfg,
    shape: &'a wprof_profiler::Cfg,
    loops: &'a Loops,
}

/// A test that each round makes once, of a local to which each round adds the same constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Countdown {
    /// The block that ends with the test.
    pub block: u32,
    /// The edge along which the loop continues.
    pub edge: u32,
    /// The local.
    pub local: u32,
    /// The constant that the test adds to the local's value at the start of the round.
    pub plus: i64,
    /// The constant by which the local grows each round.
    pub step: i64,
    /// The value that the local is compared with.
    pub bound: Bound,
    /// Whether the operands have 64 bits.
    pub is_64: bool,
    /// The condition under which the loop continues.
    pub goes_on: GoesOn,
}

/// The condition under which a loop with a countdown continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GoesOn {
    /// Until the local equals the bound.
    Until,
    /// While the local is less than the bound; each round adds to it.
    Below(Order),
    /// While the local is greater than the bound; each round subtracts from it.
    Above(Order),
}

/// The order in which a local is compared with its bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Order {
    /// Whether the numbers are signed.
    pub is_signed: bool,
    /// Whether the local may also equal the bound.
    pub or_equal: bool,
}

impl GoesOn {
    /// Returns the condition of a loop that continues if the test has this outcome; `None` if its steps do not lead to
    /// its end, or are too large.
    fn new(test: &Test, goes_on_if: bool, step: i64) -> Option<GoesOn> {
        use Comparison::{Equal, GreaterSigned, GreaterUnsigned, LessSigned, LessUnsigned};
        let is_not = test.is_negated == goes_on_if;
        let is_signed = matches!(test.comparison, LessSigned | GreaterSigned);
        let goes_on = match (test.comparison, is_not) {
            (Equal, true) => GoesOn::Until,
            (LessSigned | LessUnsigned, false) => GoesOn::Below(Order { is_signed, or_equal: false }),
            (GreaterSigned | GreaterUnsigned, true) => GoesOn::Below(Order { is_signed, or_equal: true }),
            (GreaterSigned | GreaterUnsigned, false) => GoesOn::Above(Order { is_signed, or_equal: false }),
            (LessSigned | LessUnsigned, true) => GoesOn::Above(Order { is_signed, or_equal: true }),
            (Equal, false) => return None,
        };
        let leads_on = match goes_on {
            GoesOn::Until => step != 0,
            // The translator compares with 64 bits, where nothing overflows.
            GoesOn::Below(_) => step > 0 && !test.is_64,
            GoesOn::Above(_) => step < 0 && !test.is_64,
        };
        (leads_on && step.unsigned_abs() <= MOST_STEP).then_some(goes_on)
    }
}

/// A test of a local that each round changes by the same step.
struct Counted {
    /// The block that ends with the test.
    tested: BlockId,
    test: Test,
    /// The outcome of the test with which the loop continues.
    goes_on_if: bool,
    /// The constant that each round adds to the local.
    step: i64,
}

impl<'a> TripCounts<'a> {
    pub fn new(info: &'a ModuleInfo, cfg: &'a Cfg) -> TripCounts<'a> {
        TripCounts { info, cfg, shape: cfg.shape(), loops: cfg.loops() }
    }

    /// Reports whether a loop makes few rounds each time it is entered.
    ///
    /// # Errors
    /// Returns an error if the bytes are not those that were validated.
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

    /// Reports whether the test at the end of a block that each round runs through leaves the loop after few rounds.
    fn ends_after_few(&self, id: LoopId, tested: BlockId, latch: BlockId) -> Result<bool, BinaryReaderError> {
        let Some((effect, test, goes_on_if)) = self.test_of(id, tested)? else { return Ok(false) };
        let (Bound::Constant(with), Some(step)) = (test.with, self.step_of(id, &test, &effect, latch)?)
        else {
            return Ok(false);
        };
        let Some(mut value) = self.value_before(id, test.local)? else { return Ok(false) };
        for _ in 1..MOST_ROUNDS {
            if test.holds(value, with) != goes_on_if {
                return Ok(true);
            }
            value = value.wrapping_add(step);
        }
        Ok(false)
    }

    fn effect_of(&self, block: BlockId) -> Result<Effect, BinaryReaderError> {
        Effect::new(self.info, &self.cfg.blocks[block.index()])
    }

    /// Returns the test that tells how long a loop with one latch continues, if it has one.
    ///
    /// # Errors
    /// Returns an error if the bytes are not those that were validated.
    pub fn countdown(&self, id: LoopId, latch: BlockId) -> Result<Option<Countdown>, BinaryReaderError> {
        for Counted { tested, test, goes_on_if, step } in self.counted(id, latch)? {
            if let Some(goes_on) = GoesOn::new(&test, goes_on_if, step) {
                let Test { local, plus, is_64, with: bound, .. } = test;
                let (block, edge) = (tested.0, u32::from(!goes_on_if));
                return Ok(Some(Countdown { block, edge, local, plus, step, bound, is_64, goes_on }));
            }
        }
        Ok(None)
    }

    /// Returns the tests of a loop with one latch that compare a local, to which each round adds the same, with a
    /// loop-invariant value.
    fn counted(&self, id: LoopId, latch: BlockId) -> Result<Vec<Counted>, BinaryReaderError> {
        let mut all = Vec::new();
        for tested in [latch, self.loops.get(id).header] {
            let Some((effect, test, goes_on_if)) = self.test_of(id, tested)? else { continue };
            for test in [Some(test), test.swapped()].into_iter().flatten() {
                let is_kept = match test.with {
                    Bound::Constant(_) => true,
                    Bound::Local(bound) => self.writes(id, bound)? == 0,
                };
                if let (true, Some(step)) = (is_kept, self.step_of(id, &test, &effect, latch)?) {
                    all.push(Counted { tested, test, goes_on_if, step });
                }
            }
        }
        Ok(all)
    }

    /// Returns the effect of a block that branches on a test, the test, and its outcome with which the loop continues.
    fn test_of(
        &self,
        id: LoopId,
        tested: BlockId,
    ) -> Result<Option<(Effect, Test, bool)>, BinaryReaderError> {
        let Some(goes_on_if) = self.goes_on_if(id, tested) else { return Ok(None) };
        let effect = self.effect_of(tested)?;
        match effect.condition {
            Known::Test(test) => Ok(Some((effect, test, goes_on_if))),
            _ => Ok(None),
        }
    }

    /// Returns the constant that each round adds to the tested local, if there is one. The block of the test runs in
    /// each round and has the given effect.
    fn step_of(
        &self,
        id: LoopId,
        test: &Test,
        effect: &Effect,
        latch: BlockId,
    ) -> Result<Option<i64>, BinaryReaderError> {
        let step = match effect.written.get(&test.local) {
            Some(&step) => step,
            // The local is tested before it is written.
            None => self.effect_of(latch)?.written.get(&test.local).copied().unwrap_or(Known::Other),
        };
        match step {
            Known::Local(of, step) if of == test.local && self.writes(id, of)? == 1 => Ok(Some(step)),
            _ => Ok(None),
        }
    }

    /// Returns the value of a block's branch condition with which the loop continues; `None` if the branch does not
    /// leave the loop.
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

    /// Returns the number of writes to a local in a loop.
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

    /// Reports whether a loop is the remainder loop of a loop that a compiler has unrolled: its trip count is the
    /// result of a small mask. That is a guess: if the mask yields 0, and nothing tests that before, the loop makes
    /// many rounds.
    ///
    /// # Errors
    /// Returns an error if the bytes are not those that were validated.
    pub fn is_remainder(&self, id: LoopId, latch: BlockId) -> Result<bool, BinaryReaderError> {
        for Counted { test, .. } in self.counted(id, latch)? {
            let masked = match test.with {
                Bound::Constant(_) => test.local,
                Bound::Local(bound) => bound,
            };
            if self.is_masked_before(id, masked)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Reports whether each possible value of a local at the entry of a loop is the result of a small mask.
    fn is_masked_before(&self, id: LoopId, local: u32) -> Result<bool, BinaryReaderError> {
        let before =
            |block: BlockId| self.shape.in_edges(block).iter().map(|&edge| self.shape.edge(edge).from);
        let header = self.loops.get(id).header;
        let mut pending: Vec<BlockId> =
            before(header).filter(|&from| !self.loops.contains(id, from)).take(MOST_BLOCKS).collect();
        if pending.len() == MOST_BLOCKS {
            return Ok(false);
        }
        let mut seen = pending.clone();
        while let Some(block) = pending.pop() {
            match self.effect_of(block)?.written.get(&local) {
                Some(Known::AtMost(most)) if *most < i64::from(MOST_ROUNDS) => continue,
                Some(_) => return Ok(false),
                None if block == BlockId::ENTRY => return Ok(false),
                None => {}
            }
            for from in before(block) {
                if !seen.contains(&from) {
                    if seen.len() == MOST_BLOCKS {
                        return Ok(false);
                    }
                    seen.push(from);
                    pending.push(from);
                }
            }
        }
        Ok(true)
    }

    /// Returns the value of a local at the entry of a loop, if it is always the same.
    fn value_before(&self, id: LoopId, local: u32) -> Result<Option<i64>, BinaryReaderError> {
        let header = self.loops.get(id).header;
        let from = |edge: &wprof_profiler::EdgeId| self.shape.edge(*edge).from;
        let entries = self.shape.in_edges(header).iter().map(from);
        let mut entries = entries.filter(|&from| !self.loops.contains(id, from));
        let (Some(mut block), None) = (entries.next(), entries.next()) else { return Ok(None) };
        for _ in 0..MOST_BLOCKS {
            match self.effect_of(block)?.written.get(&local) {
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
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    /// Analyses the only loop of a body.
    fn of_loop<T>(body: &str, find: impl FnOnce(&TripCounts<'_>, LoopId) -> T) -> T {
        let wat = format!("(module (func (param $n i32) (local $i i32) (local $j i64) {body}))");
        let bytes: Arc<[u8]> = wat::parse_str(wat).expect("valid text").into();
        let info = crate::module::parse(bytes).expect("valid module");
        let cfg = crate::cfg::build(&info, 0).expect("within limits");
        let trips = TripCounts::new(&info, &cfg);
        let (id, _) = cfg.loops().iter().next().expect("a loop");
        find(&trips, id)
    }

    /// Reports whether the loop makes few rounds.
    fn is_short(body: &str) -> bool {
        of_loop(body, |trips, id| trips.is_short(id).expect("valid"))
    }

    /// Returns the loop's countdown.
    fn countdown(body: &str) -> Option<Countdown> {
        of_loop(body, |trips, id| {
            let backs = trips.loops.back_edges(trips.shape, id);
            trips.countdown(id, trips.shape.edge(backs[0]).from).expect("valid")
        })
    }

    /// Returns a loop whose local `i` starts at `first` and changes by `step`, and that continues if `goes_on` holds.
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
    fn countdowns_are_found_however_they_are_written() {
        let (i, n) = (1, Bound::Local(0));
        let order = |is_signed, or_equal| Order { is_signed, or_equal };
        let at_end = |step, bound, goes_on| {
            let (local, plus, is_64, block, edge) = (i, step, false, 1, 0);
            Some(Countdown { block, edge, local, plus, step, bound, is_64, goes_on })
        };
        for (step, test, expected) in [
            (1, "(i32.lt_s (local.get $i) (local.get $n))", at_end(1, n, GoesOn::Below(order(true, false)))),
            (2, "(i32.ge_u (local.get $n) (local.get $i))", at_end(2, n, GoesOn::Below(order(false, true)))),
            (
                -1,
                "(i32.gt_u (local.get $i) (i32.const 9))",
                at_end(-1, Bound::Constant(9), GoesOn::Above(order(false, false))),
            ),
            (
                -4,
                "(i32.eqz (i32.lt_s (local.get $i) (local.get $n)))",
                at_end(-4, n, GoesOn::Above(order(true, true))),
            ),
            (3, "(i32.ne (local.get $n) (local.get $i))", at_end(3, n, GoesOn::Until)),
            (-1, "(local.get $i)", at_end(-1, Bound::Constant(0), GoesOn::Until)),
            // The loop would continue until the count overflows, or while it equals the bound; steps are long; the
            // bound changes.
            (-1, "(i32.lt_s (local.get $i) (local.get $n))", None),
            (1, "(i32.eq (local.get $i) (local.get $n))", None),
            (1 << 17, "(i32.lt_s (local.get $i) (local.get $n))", None),
            (1, "(i32.lt_s (local.get $i) (local.tee $n (i32.sub (local.get $n) (i32.const 1))))", None),
        ] {
            assert_eq!(countdown(&counted(0, step, test)), expected, "{step} {test}");
        }
        let at_the_top = "(block $out (loop $l
            (br_if $out (i32.ge_u (local.get $i) (local.get $n)))
            (local.set $i (i32.add (local.get $i) (i32.const 1))) (br $l)))";
        let expected =
            Countdown { plus: 0, edge: 1, ..at_end(1, n, GoesOn::Below(order(false, false))).expect("some") };
        assert_eq!(countdown(at_the_top), Some(expected));
    }

    /// Reports whether the loop is the remainder loop of another.
    fn is_remainder(body: &str) -> bool {
        of_loop(body, |trips, id| {
            let backs = trips.loops.back_edges(trips.shape, id);
            trips.is_remainder(id, trips.shape.edge(backs[0]).from).expect("valid")
        })
    }

    #[test]
    fn rounds_that_a_mask_leaves_are_a_remainder() {
        let down = |set: &str| {
            format!("{set} (loop $l (br_if $l (local.tee $i (i32.sub (local.get $i) (i32.const 1)))))")
        };
        let up = |bound: &str| {
            format!(
                "{bound} (local.set $i (i32.const 0))
                (loop $l (br_if $l (i32.ne (local.tee $i (i32.add (local.get $i) (i32.const 1))) (local.get $n))))"
            )
        };
        let masked = |local: &str, mask: i32| {
            format!("(local.set {local} (i32.and (local.get $n) (i32.const {mask})))")
        };
        assert!(is_remainder(&down(&masked("$i", 3))));
        assert!(is_remainder(&down("(local.set $i (i32.and (i32.const 7) (local.get $n)))")));
        assert!(is_remainder(&up(&masked("$n", 3))));
        // Masked on both paths to the loop.
        let on_both = format!("(if (local.get $n) (then {}) (else {}))", masked("$i", 1), masked("$i", 3));
        assert!(is_remainder(&down(&on_both)));
        // Masked only on one path; a large mask; no mask; another local.
        for other in [
            format!("(if (local.get $n) (then {}))", masked("$i", 1)),
            masked("$i", 16),
            masked("$i", -2),
            "(local.set $i (local.get $n))".to_owned(),
            String::new(),
        ] {
            assert!(!is_remainder(&down(&other)), "{other}");
        }
        assert!(!is_remainder(&up(&masked("$i", 3))));
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
            // The local starts anywhere, is written twice, or not by adding.
            "(local.set $i (local.get $n)) (loop $l (br_if $l (local.tee $i (i32.add (local.get $i) (i32.const 1)))))",
            "(loop $l (br_if $l (local.tee $n (i32.add (local.get $n) (i32.const 1)))))",
            "(loop $l (if (local.get $n) (then (local.set $i (i32.const 0))))
                (br_if $l (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 3))))",
            "(loop $l (br_if $l (i32.lt_u (local.tee $i (i32.mul (local.get $i) (i32.const 3))) (i32.const 3))))",
            // The test is not on each path around the loop.
            "(loop $l (br_if $l (local.get $n))
                (br_if $l (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 3))))",
        ];
        for body in loops {
            assert!(!is_short(body), "{body}");
        }
    }
}
