//! Checks: the places where code asks whether to continue in another version.
//!
//! Input: a function, and the kinds of checks. Output: whether its entry is checked, and which loop headers are.
//! Invariant: with the default checks only a bounded number of instructions runs between two checks, except in boring
//! loops and in loops with thousands of locals. Optimised code reaches the checked header of a strip once every
//! [`ROUNDS_OF_STRIP`](super::ROUNDS_OF_STRIP) rounds at least.
//! Source: Hirzel & Chilimbi, *Bursty Tracing*, FDDO 2001, sections 4.1 and 4.2; the set C, and how the checks of loops
//! reduce it, is `CallGraph::entry_checks`. Oracle: the blocks that programs execute between two checks,
//! `spec-tests/tests/checks.rs`.

use std::collections::HashSet;
use std::str::FromStr;

use wasmparser::BinaryReaderError;
use wprof_profiler::{BlockId, BlockWeights, LoopId, Loops};

use super::references::is_access;
use super::trip_count::TripCounts;
use super::{Placement, Probe};
use crate::cfg::{Cfg, Operators, Target, is_left_at};
use crate::module::ModuleInfo;

/// The function entries that are checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum EntryChecks {
    /// All entries.
    All,
    /// The entries of functions that call others.
    NotLeaves,
    /// The entries without whose checks calls could recur forever (the paper's set C).
    Needed,
    /// The entries without whose checks calls could recur forever without reaching the check of a loop.
    #[default]
    Least,
    /// No entries.
    None,
}

/// The kinds of checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Checks {
    /// The checked function entries.
    pub entries: EntryChecks,
    /// Loops without calls and with at most this many memory accesses are boring: they are not checked, and bursts do
    /// not count inside them. `None` if no loop is boring.
    pub boring: Option<u32>,
    /// Whether small loops are unrolled, with one check every several rounds, and other counted loops are strip-mined.
    pub unroll: bool,
    /// Whether loops with a small constant trip count have no checks.
    pub skip_short: bool,
    /// Whether loops have no checks if each round reaches the check of an inner loop.
    pub skip_covered: bool,
}

impl Default for Checks {
    fn default() -> Self {
        Checks::DEFAULT
    }
}

impl Checks {
    /// All checks.
    const ORIGINAL: Checks = Checks {
        entries: EntryChecks::All,
        boring: None,
        unroll: false,
        skip_short: false,
        skip_covered: false,
    };

    /// The fewest checks with which no loop is boring.
    const DEFAULT: Checks = Checks {
        entries: EntryChecks::Least,
        boring: None,
        unroll: true,
        skip_short: true,
        skip_covered: true,
    };

    const fn with(self, entries: EntryChecks, boring: Option<u32>) -> Checks {
        Checks { entries, boring, ..self }
    }
}

/// The names of the paper's table, and further ones, with the checks that they stand for.
const NAMED: [(&str, Checks); 13] = [
    ("default", Checks::DEFAULT),
    ("orig", Checks::ORIGINAL),
    ("EL", Checks::ORIGINAL.with(EntryChecks::NotLeaves, None)),
    ("EC", Checks::ORIGINAL.with(EntryChecks::Needed, None)),
    ("EN", Checks::ORIGINAL.with(EntryChecks::None, None)),
    ("L4", Checks::ORIGINAL.with(EntryChecks::All, Some(4))),
    ("L10", Checks::ORIGINAL.with(EntryChecks::All, Some(10))),
    ("LN", Checks::ORIGINAL.with(EntryChecks::All, Some(u32::MAX))),
    ("EC+L4", Checks::ORIGINAL.with(EntryChecks::Needed, Some(4))),
    ("ECL", Checks::ORIGINAL.with(EntryChecks::Least, None)),
    // The paper's section 4.2 names these without trying them.
    ("LT", Checks { skip_short: true, ..Checks::ORIGINAL }),
    ("LB", Checks { skip_covered: true, ..Checks::ORIGINAL }),
    ("LU", Checks { unroll: true, ..Checks::ORIGINAL }),
];

impl Checks {
    /// Returns all names that [`Checks::from_str`] knows: `default`, and those of the paper.
    pub fn names() -> impl Iterator<Item = &'static str> {
        NAMED.iter().map(|(name, _)| *name)
    }
}

impl FromStr for Checks {
    type Err = String;

    fn from_str(name: &str) -> Result<Checks, String> {
        let found = NAMED.iter().find(|(known, _)| *known == name);
        found.map(|(_, checks)| *checks).ok_or_else(|| {
            let names: Vec<&str> = Checks::names().collect();
            format!("give one of {}", names.join(", "))
        })
    }
}

/// The checks of one function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionChecks {
    /// Whether the entry is checked.
    pub entry: bool,
    /// The checked loop headers, by block, ascending; frames can be replaced there by OSR.
    pub headers: Vec<u32>,
    /// The blocks of boring loops, ascending.
    pub boring: Vec<u32>,
}

impl FunctionChecks {
    /// Chooses the checks of a function.
    ///
    /// # Errors
    /// Returns an error if the bytes are not those that were validated.
    pub fn new(info: &ModuleInfo, cfg: &Cfg, checks: Checks) -> Result<FunctionChecks, BinaryReaderError> {
        let mut headers: Vec<u32> =
            (0..cfg.blocks.len() as u32).filter(|&block| cfg.can_resume(block)).collect();
        let mut boring = Vec::new();
        if !headers.is_empty() {
            let nests = Nests::new(info, cfg);
            boring = nests.boring(checks)?;
            headers = nests.checked(headers, checks, &boring)?;
        }
        let roots = || info.escaped_funcs.iter().copied().chain(info.start).collect();
        let entry = match checks.entries {
            EntryChecks::All => true,
            EntryChecks::None => false,
            EntryChecks::NotLeaves => !cfg.is_leaf,
            EntryChecks::Needed => info.calls.entry_checks(roots)[cfg.func as usize],
            EntryChecks::Least => {
                let (needed, in_loops) = info.calls.least_entry_check(cfg.func, roots);
                needed || calls_before(cfg, &headers, in_loops)
            }
        };
        Ok(FunctionChecks { entry, headers, boring })
    }

    /// Reports whether all of these blocks are in boring loops.
    pub fn are_boring(&self, blocks: impl IntoIterator<Item = u32>) -> bool {
        !self.boring.is_empty() && blocks.into_iter().all(|block| self.boring.binary_search(&block).is_ok())
    }

    /// Returns how many instructions of the function are executed from one of its checks to the next, as its blocks are
    /// expected to run. A function without a check is checked where it is called.
    pub fn ops_per_check(&self, cfg: &Cfg, weights: &BlockWeights) -> f64 {
        let weight = |block: u32| weights.get(BlockId(block));
        let ops: f64 = (0..).zip(&cfg.blocks).map(|(block, of)| weight(block) * f64::from(of.ops)).sum();
        let headers = self.headers.iter().map(|&header| weight(header));
        let entry = if self.entry || self.headers.is_empty() {
            weights.get(BlockId(cfg.blocks.len() as u32))
        } else {
            0.0
        };
        let checks = headers.sum::<f64>() + entry;
        if checks > 0.0 { ops / checks } else { 0.0 }
    }

    /// Places the checks. They come first, so that the version in which the frame continues runs all other probes of
    /// the block.
    pub fn place(&self, to: &mut Placement) {
        let blocks = self.entry.then_some(&0).into_iter().chain(&self.headers);
        for &block in blocks {
            to.blocks[block as usize].entry.insert(0, Probe::Check);
        }
    }
}

/// Reports whether control can reach a call of one of `callees` without passing one of these headers.
fn calls_before(cfg: &Cfg, headers: &[u32], callees: &[u32]) -> bool {
    let calls = cfg.calls.iter().filter(|call| callees.contains(&call.callee));
    let calling: HashSet<u32> = calls.map(|call| call.block).collect();
    if calling.is_empty() {
        return false;
    }
    let (mut pending, mut seen) = (vec![0], HashSet::from([0]));
    while let Some(block) = pending.pop() {
        if headers.binary_search(&block).is_ok() {
            continue;
        }
        if calling.contains(&block) {
            return true;
        }
        let targets = cfg.blocks[block as usize].edges.iter().filter_map(|edge| match edge.target {
            Target::Block(to) => Some(to),
            _ => None,
        });
        pending.extend(targets.filter(|&to| seen.insert(to)));
    }
    false
}

/// A function and its loops.
struct Nests<'a> {
    info: &'a ModuleInfo,
    cfg: &'a Cfg,
    loops: &'a Loops,
}

/// The total number of blocks of a function that are searched for a path past all checks: each loop in a nest searches
/// all its inner loops once more.
const MOST_VISITS: usize = 1 << 17;

impl<'a> Nests<'a> {
    fn new(info: &'a ModuleInfo, cfg: &'a Cfg) -> Nests<'a> {
        Nests { info, cfg, loops: cfg.loops() }
    }

    /// Returns the blocks of boring loops, ascending. Such loops need not be innermost: see the paper's section 4.2.
    fn boring(&self, checks: Checks) -> Result<Vec<u32>, BinaryReaderError> {
        let Some(most) = checks.boring else { return Ok(Vec::new()) };
        let mut blocks: Vec<u32> = Vec::new();
        for (id, _) in self.loops.iter() {
            if self.is_boring(id, most)? {
                blocks.extend(self.loops.blocks(id).iter().map(|block| block.0));
            }
        }
        blocks.sort_unstable();
        blocks.dedup();
        Ok(blocks)
    }

    /// Returns the headers that are to be checked.
    fn checked(
        &self,
        headers: Vec<u32>,
        checks: Checks,
        boring: &[u32],
    ) -> Result<Vec<u32>, BinaryReaderError> {
        let trips = TripCounts::new(self.info, self.cfg);
        let mut kept = Vec::new();
        for header in headers {
            let id = self.loops.headed_by(BlockId(header)).expect("the header of a loop");
            let is_boring = boring.binary_search(&header).is_ok();
            let is_left_out = is_boring || checks.skip_short && trips.is_short(id)?;
            if !is_left_out {
                kept.push(header);
            }
        }
        if checks.skip_covered {
            self.leave_out_covered(&mut kept);
        }
        Ok(kept)
    }

    fn is_boring(&self, id: LoopId, most: u32) -> Result<bool, BinaryReaderError> {
        let mut accesses = 0;
        for block in self.loops.blocks(id).iter().map(|block| &self.cfg.blocks[block.index()]) {
            let mut operators = Operators::new(self.info, block.start, block.limit);
            while let Some((op, _)) = operators.next()? {
                accesses += u32::from(is_access(&op));
                if is_left_at(&op) || accesses > most {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// Leaves out the headers of loops in which each round runs through the remaining header of an inner loop. Calls do
    /// not count, although their callees may be checked: where they are inlined they are not.
    fn leave_out_covered(&self, headers: &mut Vec<u32>) {
        let (mut visits, inward): (_, Vec<_>) = (0, self.loops.iter().collect());
        for (id, found) in inward.into_iter().rev() {
            let Ok(at) = headers.binary_search(&found.header.0) else { continue };
            visits += self.loops.blocks(id).len();
            if visits > MOST_VISITS {
                return;
            }
            if self.is_covered(id, headers) {
                headers.remove(at);
            }
        }
    }

    /// Reports whether every path from a loop's header back to it runs through another one of these headers.
    fn is_covered(&self, id: LoopId, headers: &[u32]) -> bool {
        let header = self.loops.get(id).header;
        let (mut pending, mut seen) = (vec![header], HashSet::new());
        while let Some(block) = pending.pop() {
            for &edge in self.cfg.shape().out_edges(block) {
                let to = self.cfg.shape().edge(edge).to;
                if to == header {
                    return false;
                }
                let goes_on = self.loops.contains(id, to) && headers.binary_search(&to.0).is_err();
                if goes_on && seen.insert(to) {
                    pending.push(to);
                }
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn the_default_has_a_name() {
        assert_eq!("default".parse(), Ok(Checks::default()));
        assert!("EC+L5".parse::<Checks>().unwrap_err().contains("EC+L4"));
    }

    /// Returns which entries are checked in a module whose first function is exported.
    fn entries(checks: &str, functions: &str) -> Vec<bool> {
        let bytes: Arc<[u8]> = wat::parse_str(format!("(module {functions})")).expect("valid text").into();
        let info = crate::module::parse(bytes).expect("valid module");
        let checks = checks.parse().expect("a name");
        let is_checked = |func| {
            let cfg = crate::cfg::build(&info, func).expect("within limits");
            FunctionChecks::new(&info, &cfg, checks).expect("valid").entry
        };
        (0..info.funcs.len() as u32).map(is_checked).collect()
    }

    #[test]
    fn names_of_the_paper_unroll_nothing_and_leave_no_loop_out_but_boring_ones() {
        let preferred: Checks = "EC+L4".parse().expect("a name");
        assert_eq!(preferred, Checks::ORIGINAL.with(EntryChecks::Needed, Some(4)));
        assert!(!preferred.unroll && !preferred.skip_short && !preferred.skip_covered);
        let nest = "(module (memory 1) (func (param $n i32)
            (loop $a (loop $b (i32.store (i32.const 0) (i32.load (i32.const 4))) (br_if $b (local.get $n)))
                (br_if $a (local.get $n)))
            (loop $c (call 0 (local.get $n)) (br_if $c (local.get $n)))))";
        let bytes: Arc<[u8]> = wat::parse_str(nest).expect("valid text").into();
        let info = crate::module::parse(bytes).expect("valid module");
        let cfg = crate::cfg::build(&info, 0).expect("within limits");
        let checks = |name: &str| {
            let checks = name.parse().expect("a name");
            FunctionChecks::new(&info, &cfg, checks).expect("valid")
        };
        // All loops without calls are boring, not only innermost ones.
        assert_eq!(checks("orig").headers.len(), 3);
        for name in ["LN", "L4", "EC+L4"] {
            let found = checks(name);
            assert_eq!(found.headers.len(), 1, "{name}");
            assert!(!found.boring.is_empty() && !found.are_boring(found.headers.iter().copied()), "{name}");
        }
    }

    #[test]
    fn recursions_through_checked_loops_need_no_check_at_an_entry() {
        let in_loop = "(func (export \"main\") (call $f (i32.const 9)))
            (func $f (param $n i32) (block $out (loop $l
                (br_if $out (i32.lt_u (local.get $n) (i32.const 2)))
                (call $f (i32.sub (local.get $n) (i32.const 1)))
                (local.set $n (i32.sub (local.get $n) (i32.const 2))) (br $l))))";
        assert_eq!(entries("default", in_loop), [true, false]);
        assert_eq!(entries("ECL", in_loop), [true, false]);
        assert_eq!(entries("EC", in_loop), [true, true]);
        let beside_it = format!(
            "{} (func $g (call $f (i32.const 1)))",
            in_loop.replace("(br $l))))", "(br $l))) (call $g))")
        );
        assert_eq!(entries("default", &beside_it), [true, true, false]);
    }

    #[test]
    fn loops_without_checks_break_no_recursion() {
        // The function has no loop; the loop makes two rounds; its header is behind the call.
        for body in [
            "(loop (call $f))",
            "(local $i i32) (local.set $i (i32.const 0))
             (loop $l (call $f) (br_if $l (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 2))))",
            "(loop $l (call $f) (loop $m (br_if $m (i32.const 0))) (br $l))",
        ] {
            let functions = format!("(func (export \"main\") (call $f)) (func $f {body})");
            assert_eq!(entries("default", &functions), [true, true], "{body}");
        }
    }
}
