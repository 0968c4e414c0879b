//! Switches: a few tests if there are few cases, otherwise a jump through a table.
//!
//! Compilers to wasm write `br_table` for as few as three cases, and leave the choice to engines. A branch that usually
//! goes one way costs next to nothing; a jump through a table takes eight instructions, loads its target, and occupies
//! the predictor's memory of indirect targets. Source: Bernstein, *Producing Good Code for the Case Statement*,
//! Software: Practice and Experience 15(10), 1985. Example: `br_table 0 1 1 2 1` tests whether the selector is 3, then
//! whether it is 0.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self, BlockCall, InstBuilder, JumpTableData, Value};

use super::Translator;
use crate::options::Pass;

/// Switches that would need more tests jump through tables.
const MOST_TESTS: usize = 4;

/// Adjacent selectors that take the same edge: the first, the last, and the edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct CaseRange {
    first: u32,
    last: u32,
    edge: u32,
}

impl Translator<'_> {
    /// Branches as `table` says for `selector`: to one of `targets`, by edge.
    pub(super) fn switch(&mut self, selector: Value, table: &[u32], targets: &[ir::Block]) {
        match few_tests(table).filter(|_| self.input.has(Pass::Switches)) {
            Some((tests, rest)) => self.test_in_turn(selector, &tests, targets, targets[rest as usize]),
            None => self.jump_through(selector, table, targets),
        }
    }

    fn test_in_turn(&mut self, selector: Value, tests: &[CaseRange], targets: &[ir::Block], rest: ir::Block) {
        let Some((last, others)) = tests.split_last() else {
            self.builder.ins().jump(rest, &[]);
            return;
        };
        for run in others {
            let next = self.builder.create_block();
            self.test(selector, run, targets, next);
            self.builder.switch_to_block(next);
            self.builder.seal_block(next);
        }
        self.test(selector, last, targets, rest);
    }

    fn test(&mut self, selector: Value, run: &CaseRange, targets: &[ir::Block], other: ir::Block) {
        let is_in = self.is_in(selector, run);
        self.builder.ins().brif(is_in, targets[run.edge as usize], &[], other, &[]);
    }

    /// Tests whether a selector is in a run, which is not the last one, as a CLIF truth value.
    fn is_in(&mut self, selector: Value, &CaseRange { first, last, .. }: &CaseRange) -> Value {
        let ins = |translator: &mut Self, condition, value, number: u32| {
            translator.builder.ins().icmp_imm_u(condition, value, i64::from(number))
        };
        if first == last {
            ins(self, IntCC::Equal, selector, first)
        } else if first == 0 {
            ins(self, IntCC::UnsignedLessThanOrEqual, selector, last)
        } else {
            let from_first = self.builder.ins().iadd_imm_s(selector, -i64::from(first));
            ins(self, IntCC::UnsignedLessThanOrEqual, from_first, last - first)
        }
    }

    fn jump_through(&mut self, selector: Value, table: &[u32], targets: &[ir::Block]) {
        let pool = &mut self.builder.func.dfg.value_lists;
        let mut call = |edge: u32| BlockCall::new(targets[edge as usize], std::iter::empty(), pool);
        let (default, cases) = table.split_last().expect("a switch has a default");
        let default = call(*default);
        let cases: Vec<BlockCall> = cases.iter().map(|&edge| call(edge)).collect();
        let jump_table = self.builder.create_jump_table(JumpTableData::new(default, &cases));
        self.builder.ins().br_table(selector, jump_table);
    }
}

/// Returns the runs to test, in this order, and the edge that is taken if the selector is in none; `None` if that needs
/// too many tests.
fn few_tests(table: &[u32]) -> Option<(Vec<CaseRange>, u32)> {
    let mut runs = runs(table);
    let mut tests = Vec::new();
    while runs.len() > 1 {
        if tests.len() == MOST_TESTS {
            return None;
        }
        // Once a run is tested, its neighbours may merge into one.
        let is_around = |at: &usize| runs[at - 1].edge == runs[at + 1].edge;
        let at = (1..runs.len() - 1).find(is_around).unwrap_or(0);
        let run = runs.remove(at);
        if at > 0 {
            let behind = runs.remove(at);
            runs[at - 1].last = behind.last;
        } else {
            // The selector is not in the tested run any more, so the next run may extend down to 0.
            runs[0].first = 0;
        }
        tests.push(run);
    }
    Some((tests, runs[0].edge))
}

fn runs(table: &[u32]) -> Vec<CaseRange> {
    let mut runs: Vec<CaseRange> = Vec::new();
    for (&edge, selector) in table.iter().zip(0..) {
        match runs.last_mut() {
            Some(run) if run.edge == edge => run.last = selector,
            _ => runs.push(CaseRange { first: selector, last: selector, edge }),
        }
    }
    if let Some(default) = runs.last_mut() {
        default.last = u32::MAX;
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_runs_are_tested_and_many_are_not() {
        let tested = |table: &[u32]| {
            let (tests, rest) = few_tests(table)?;
            Some((tests.iter().map(|run| (run.first, run.last, run.edge)).collect::<Vec<_>>(), rest))
        };
        assert_eq!(tested(&[0]), Some((vec![], 0)));
        assert_eq!(tested(&[0, 0, 0]), Some((vec![], 0)));
        assert_eq!(tested(&[0, 1]), Some((vec![(0, 0, 0)], 1)));
        assert_eq!(tested(&[0, 0, 1]), Some((vec![(0, 1, 0)], 1)));
        // The neighbours of a tested run merge into one.
        assert_eq!(tested(&[0, 1, 1, 2, 1]), Some((vec![(3, 3, 2), (0, 0, 0)], 1)));
        assert_eq!(tested(&[0, 1, 1, 0]), Some((vec![(1, 2, 1)], 0)));
        assert_eq!(tested(&[0, 1, 2, 3]), Some((vec![(0, 0, 0), (0, 1, 1), (0, 2, 2)], 3)));
        assert_eq!(tested(&[0, 1, 2, 3, 4, 5]), None);
    }

    #[test]
    fn tests_say_what_the_table_says() {
        // All tables of seven entries with three edges.
        for number in 0..3_u32.pow(7) {
            let table: Vec<u32> = (0..7).map(|at| number / 3_u32.pow(at) % 3).collect();
            let Some((tests, rest)) = few_tests(&table) else { continue };
            assert!(tests.len() <= MOST_TESTS);
            for selector in (0..9).chain([u32::MAX - 1, u32::MAX]) {
                let is_in = |run: &&CaseRange| (run.first..=run.last).contains(&selector);
                let edge = tests.iter().find(is_in).map_or(rest, |run| run.edge);
                let entry = table.get(selector as usize).or(table.last());
                assert_eq!(Some(&edge), entry, "{table:?}, {selector}");
            }
        }
    }
}
