//! The call graph, recorded while bodies are validated, when every instruction is read anyway.
//!
//! Output: a call graph of the direct calls, which marks calls in loops, and the functions without any calls; from
//! these, on demand, the entries that need checks. Also the uses of tables, see `constant_tables`.

use std::sync::OnceLock;

use wasmparser::{BinaryReader, BinaryReaderError};
use wprof_profiler::{Broken, CallGraph, DirectCallee};

const LOOP: u8 = 0x03;
const END: u8 = 0x0b;
const CALL: u8 = 0x10;
const CALL_INDIRECT: u8 = 0x11;
const RETURN_CALL: u8 = 0x12;
const RETURN_CALL_INDIRECT: u8 = 0x13;
const CALL_REF: u8 = 0x14;
const RETURN_CALL_REF: u8 = 0x15;
const TABLE_SET: u8 = 0x26;
const PREFIX: u8 = 0xfc;
/// Opcodes behind the prefix.
const TABLE_INIT: u32 = 12;
const TABLE_COPY: u32 = 14;
const TABLE_GROW: u32 = 15;
const TABLE_FILL: u32 = 17;

/// The calls of one function.
#[derive(Debug)]
pub(super) struct FunctionCalls {
    pub func: u32,
    /// The directly called functions.
    direct: Vec<DirectCallee>,
    is_leaf: bool,
    /// The tables of indirect calls, with the types of the calls.
    through_tables: Vec<(u32, u32)>,
    /// The tables that the function writes to.
    written_tables: Vec<u32>,
    /// The loops around the last recorded instruction: the number of open constructs in each, including the loop
    /// itself.
    loops: Vec<u32>,
}

impl FunctionCalls {
    pub fn new(func: u32) -> FunctionCalls {
        FunctionCalls {
            func,
            direct: Vec::new(),
            is_leaf: true,
            through_tables: Vec::new(),
            written_tables: Vec::new(),
            loops: Vec::new(),
        }
    }

    /// Reports whether instructions with this first byte must be recorded. Most need not, and all are tested.
    pub fn wants(code: u8) -> bool {
        matches!(code, LOOP | END | CALL..=RETURN_CALL_REF | TABLE_SET | PREFIX)
    }

    /// Records the instruction at `reader`, if it is a call, begins a loop, or writes to a table. The instruction is
    /// valid, and `open` constructs are open behind it.
    pub fn see(&mut self, mut reader: BinaryReader<'_>, open: u32) -> Result<(), BinaryReaderError> {
        self.loops.pop_if(|loop_open| *loop_open > open);
        match reader.read_u8()? {
            LOOP => {
                self.loops.push(open);
                return Ok(());
            }
            CALL | RETURN_CALL => {
                self.direct
                    .push(DirectCallee { func: reader.read_var_u32()?, in_loops: !self.loops.is_empty() });
            }
            CALL_INDIRECT => {
                let ty = reader.read_var_u32()?;
                self.through_tables.push((reader.read_var_u32()?, ty));
            }
            RETURN_CALL_INDIRECT | CALL_REF | RETURN_CALL_REF => {}
            code => {
                self.written_tables.extend(written_table(code, reader)?);
                return Ok(());
            }
        }
        self.is_leaf = false;
        Ok(())
    }

    /// Returns the calls with each callee once.
    pub fn compact(mut self) -> FunctionCalls {
        // Calls outside of loops come first.
        self.direct.sort_unstable();
        self.direct.dedup_by_key(|callee| callee.func);
        self.direct.shrink_to_fit();
        self.through_tables.sort_unstable();
        self.through_tables.dedup();
        self.through_tables.shrink_to_fit();
        self.loops = Vec::new();
        self
    }
}

/// Returns the table that an instruction writes to, given its first byte.
fn written_table(code: u8, mut reader: BinaryReader<'_>) -> Result<Option<u32>, BinaryReaderError> {
    match code {
        TABLE_SET => reader.read_var_u32().map(Some),
        PREFIX => match reader.read_var_u32()? {
            // The segment index comes first.
            TABLE_INIT => reader.read_var_u32().and_then(|_| reader.read_var_u32()).map(Some),
            TABLE_COPY | TABLE_GROW | TABLE_FILL => reader.read_var_u32().map(Some),
            _ => Ok(None),
        },
        _ => Ok(None),
    }
}

/// Returns the tables that functions write to, and pairs of tables and types of indirect calls; each once.
pub(super) fn tables_used(functions: &[FunctionCalls]) -> (Vec<u32>, Vec<(u32, u32)>) {
    let mut written: Vec<u32> =
        functions.iter().flat_map(|function| &function.written_tables).copied().collect();
    let mut called: Vec<(u32, u32)> =
        functions.iter().flat_map(|function| &function.through_tables).copied().collect();
    written.sort_unstable();
    written.dedup();
    called.sort_unstable();
    called.dedup();
    (written, called)
}

/// The calls of a module.
#[derive(Clone, Debug, Default)]
pub(crate) struct Calls {
    graph: CallGraph,
    /// For each function, including imports, whether it is a leaf.
    is_leaf: Vec<bool>,
    entry_checks: OnceLock<Vec<bool>>,
    least: OnceLock<LeastChecks>,
}

/// The fewest entries that need checks, if loops are checked.
#[derive(Clone, Debug)]
struct LeastChecks {
    entries: Vec<bool>,
    /// For each function, the callees whose calls must be preceded by the check of a loop.
    in_loops: Vec<Vec<u32>>,
}

impl Calls {
    /// Collects the calls of all defined functions, in order.
    pub(super) fn new(imported: u32, functions: Vec<FunctionCalls>) -> Calls {
        let mut calls = Calls { graph: CallGraph::new(), ..Calls::default() };
        calls.is_leaf = vec![true; imported as usize];
        (0..imported).for_each(|_| calls.graph.add([]));
        for function in functions {
            calls.graph.add(function.direct);
            calls.is_leaf.push(function.is_leaf);
        }
        calls
    }

    /// Reports for each function whether it needs a check at its entry, so that every recursion contains one. `roots`
    /// returns the functions that are called from outside or by address, always the same ones.
    pub(crate) fn entry_checks(&self, roots: impl FnOnce() -> Vec<u32>) -> &[bool] {
        self.entry_checks.get_or_init(|| self.find(Broken::ByEntries, &roots()))
    }

    /// Reports whether `func` needs a check at its entry, provided that all calls of certain callees are preceded by
    /// the check of a loop; returns these callees, too.
    pub(crate) fn least_entry_check(&self, func: u32, roots: impl FnOnce() -> Vec<u32>) -> (bool, &[u32]) {
        let least = self.least.get_or_init(|| {
            let entries = self.find(Broken::ByLoops, &roots());
            let in_loops = self.graph.broken_by_loops(&entries);
            LeastChecks { entries, in_loops }
        });
        (least.entries[func as usize], &least.in_loops[func as usize])
    }

    fn find(&self, broken: Broken, roots: &[u32]) -> Vec<bool> {
        self.graph.entry_checks(broken, roots, |func| self.is_leaf[func as usize])
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crate::module::parse;

    /// Reports whether a recursive function with this body, which is called once from outside, needs a check at its
    /// entry.
    fn needs_check(body: &str) -> bool {
        let text = format!("(module (func (param i32) {body}) (func (call 0 (i32.const 0))))");
        let bytes: Arc<[u8]> = wat::parse_str(text).expect("valid text").into();
        parse(bytes).expect("valid module").calls.least_entry_check(0, || vec![1]).0
    }

    #[test]
    fn a_call_is_in_a_loop_until_that_ends() {
        assert!(needs_check("(call 0 (local.get 0))"));
        assert!(!needs_check("(loop (call 0 (local.get 0)) (br_if 0 (local.get 0)))"));
        assert!(needs_check("(loop (br_if 0 (local.get 0))) (call 0 (local.get 0))"));
        // The call has as many open constructs as the loop.
        assert!(needs_check("(loop (br_if 0 (local.get 0))) (block (call 0 (local.get 0)))"));
        assert!(needs_check("(loop (loop (br_if 0 (local.get 0)))) (call 0 (local.get 0))"));
        assert!(!needs_check(
            "(loop (loop (br_if 0 (local.get 0))) (call 0 (local.get 0)) (br_if 0 (local.get 0)))"
        ));
    }
}
