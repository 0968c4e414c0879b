//! Checks: where code looks whether it is to go on in another version.
//!
//! Input: a function, and which checks are wanted. Output: at its entry or not, and at which loop headers.
//! Invariant: with the default checks only a bounded number of instructions is executed without one, but in boring loops
//! and in those with thousands of locals.
//! Source: Hirzel & Chilimbi, *Bursty Tracing*, FDDO 2001, sections 3.1 and 3.2; the set C is `CallGraph::entry_checks`.

use std::str::FromStr;

use wasmparser::BinaryReaderError;
use wprof_profiler::{BlockId, CallGraph, DepthFirst, LoopId, Loops};

use super::references::is_access;
use crate::cfg::{Call, Cfg, Operators, is_call};
use crate::graph::{BlockGraph, Probe};
use crate::module::ModuleInfo;

/// What makes a check fire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum CheckTrigger {
    /// A count of checks, in the pinned register, falls below zero.
    #[default]
    Count,
    /// A cell of the vmctx changes, by another thread: the cheaper one.
    Cell,
}

/// Which entries are checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum EntryChecks {
    /// All.
    All,
    /// Those of functions that call others.
    NotLeaves,
    /// Those without which calls could go on for ever (the paper's set C).
    #[default]
    Needed,
    /// None.
    None,
}

/// Which checks there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Checks {
    /// At function entries.
    pub entries: EntryChecks,
    /// Loops without calls and with at most so many memory accesses are boring: they are not checked. `None` if all are.
    pub boring: Option<u32>,
    /// Whether small loops are unrolled, with one check in several rounds.
    pub unroll: bool,
}

impl Default for Checks {
    fn default() -> Self {
        Checks { entries: EntryChecks::Needed, boring: None, unroll: true }
    }
}

/// The names of the paper's table, and what they stand for.
const NAMED: [(&str, Checks); 9] = [
    ("default", Checks { entries: EntryChecks::Needed, boring: None, unroll: true }),
    ("orig", Checks { entries: EntryChecks::All, boring: None, unroll: false }),
    ("EL", Checks { entries: EntryChecks::NotLeaves, boring: None, unroll: false }),
    ("EC", Checks { entries: EntryChecks::Needed, boring: None, unroll: false }),
    ("EN", Checks { entries: EntryChecks::None, boring: None, unroll: false }),
    ("L4", Checks { entries: EntryChecks::All, boring: Some(4), unroll: false }),
    ("L10", Checks { entries: EntryChecks::All, boring: Some(10), unroll: false }),
    ("LN", Checks { entries: EntryChecks::All, boring: Some(u32::MAX), unroll: false }),
    ("EC+L4", Checks { entries: EntryChecks::Needed, boring: Some(4), unroll: true }),
];

impl Checks {
    /// All names that [`Checks::from_str`] knows: `default`, and those of the paper.
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

/// Where one function is checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionChecks {
    /// At its entry.
    pub entry: bool,
    /// At these loop headers, by block, ascending; where frames can go on in another version.
    pub headers: Vec<u32>,
}

impl FunctionChecks {
    /// The checks of a function.
    ///
    /// # Errors
    /// If the bytes are not those that were validated.
    pub fn new(info: &ModuleInfo, cfg: &Cfg, checks: Checks) -> Result<FunctionChecks, BinaryReaderError> {
        let entry = match checks.entries {
            EntryChecks::All => true,
            EntryChecks::None => false,
            EntryChecks::NotLeaves => !cfg.is_leaf,
            // Before it is known, any that may be.
            EntryChecks::Needed => match info.entry_checks.get() {
                Some(needed) => needed[cfg.func as usize],
                None => !cfg.is_leaf,
            },
        };
        let mut headers: Vec<u32> =
            (0..cfg.blocks.len() as u32).filter(|&block| cfg.can_resume(block)).collect();
        if let (Some(most), false) = (checks.boring, headers.is_empty()) {
            headers = interesting(info, cfg, headers, most)?;
        }
        Ok(FunctionChecks { entry, headers })
    }

    /// Adds the checks. They stand first, so that what else a node does is done by the version that goes on.
    pub fn add_probes(&self, graph: &mut BlockGraph) {
        let nodes = self.entry.then_some(&0).into_iter().chain(&self.headers);
        for &node in nodes {
            graph.nodes[node as usize].probes.insert(0, Probe::Check);
        }
    }
}

/// The headers of the loops that are not boring.
fn interesting(
    info: &ModuleInfo,
    cfg: &Cfg,
    headers: Vec<u32>,
    most: u32,
) -> Result<Vec<u32>, BinaryReaderError> {
    let shape = cfg.shape();
    let loops = Loops::new(&shape, &DepthFirst::new(&shape));
    let mut found = Vec::new();
    for header in headers {
        let id = loops.headed_by(BlockId(header)).expect("the header of a loop");
        if !loops.is_innermost(id) || !is_boring(info, cfg, &loops, id, most)? {
            found.push(header);
        }
    }
    Ok(found)
}

fn is_boring(
    info: &ModuleInfo,
    cfg: &Cfg,
    loops: &Loops,
    id: LoopId,
    most: u32,
) -> Result<bool, BinaryReaderError> {
    let mut accesses = 0;
    for block in loops.blocks(id).iter().map(|block| &cfg.blocks[block.index()]) {
        let mut operators = Operators::new(info, block.start, block.limit);
        while let Some((op, _)) = operators.next()? {
            accesses += u32::from(is_access(&op));
            if is_call(&op) || accesses > most {
                return Ok(false);
            }
        }
    }
    Ok(true)
}

impl ModuleInfo {
    /// Finds out which functions need a check at their entry, unless that is known. Reads the whole module.
    ///
    /// # Errors
    /// If the bytes are not those that were validated.
    pub fn find_entry_checks(&self) -> Result<(), BinaryReaderError> {
        if self.entry_checks.get().is_some() {
            return Ok(());
        }
        let (mut graph, mut is_leaf) = (CallGraph::new(), vec![true; self.funcs.len()]);
        (0..self.imported_funcs).for_each(|_| graph.add([]));
        for func in self.imported_funcs..self.funcs.len() as u32 {
            let mut callees = Vec::new();
            let mut operators = self.function_body(func).get_operators_reader()?;
            while !operators.eof() {
                let Some(call) = Call::of(&operators.read()?) else { continue };
                is_leaf[func as usize] = false;
                if let Call::Direct(callee) = call {
                    callees.push(callee);
                }
            }
            graph.add(callees);
        }
        let roots: Vec<u32> = self.escaped_funcs.iter().copied().chain(self.start).collect();
        // Another thread may have been faster, to the same result.
        let _ = self.entry_checks.set(graph.entry_checks(&roots, |func| is_leaf[func as usize]));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_has_a_name() {
        assert_eq!("default".parse(), Ok(Checks::default()));
        assert!("EC+L5".parse::<Checks>().unwrap_err().contains("EC+L4"));
    }
}
