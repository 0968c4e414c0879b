//! Who calls whom: found while bodies are validated, when every instruction is read anyway.
//!
//! Output: a call graph of the direct calls, and which functions call nothing at all; from these, on demand, at which
//! entries checks cannot be done without.

use std::sync::OnceLock;

use wasmparser::{BinaryReader, BinaryReaderError};
use wprof_profiler::CallGraph;

const CALL: u8 = 0x10;
const CALL_INDIRECT: u8 = 0x11;
const RETURN_CALL: u8 = 0x12;
const RETURN_CALL_INDIRECT: u8 = 0x13;

/// What one function calls.
#[derive(Debug)]
pub(super) struct FunctionCalls {
    pub func: u32,
    /// The functions that it calls by their index.
    direct: Vec<u32>,
    is_leaf: bool,
}

impl FunctionCalls {
    pub fn new(func: u32) -> FunctionCalls {
        FunctionCalls { func, direct: Vec::new(), is_leaf: true }
    }

    /// Notes the instruction that `reader` stands at, if it is a call; it is valid.
    pub fn see(&mut self, mut reader: BinaryReader<'_>) -> Result<(), BinaryReaderError> {
        match reader.read_u8()? {
            CALL | RETURN_CALL => self.direct.push(reader.read_var_u32()?),
            CALL_INDIRECT | RETURN_CALL_INDIRECT => {}
            _ => return Ok(()),
        }
        self.is_leaf = false;
        Ok(())
    }

    /// The same with each callee once.
    pub fn compact(mut self) -> FunctionCalls {
        self.direct.sort_unstable();
        self.direct.dedup();
        self.direct.shrink_to_fit();
        self
    }
}

/// The calls of a module.
#[derive(Clone, Debug, Default)]
pub(crate) struct Calls {
    graph: CallGraph,
    /// Of each function, imports included.
    is_leaf: Vec<bool>,
    entry_checks: OnceLock<Vec<bool>>,
}

impl Calls {
    /// Those of all defined functions, in order.
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

    /// Whether each function needs a check at its entry, so that no recursion goes on without one; `roots` are those that are
    /// called from outside, or by address, the same each time.
    pub(crate) fn entry_checks(&self, roots: impl FnOnce() -> Vec<u32>) -> &[bool] {
        self.entry_checks
            .get_or_init(|| self.graph.entry_checks(&roots(), |func| self.is_leaf[func as usize]))
    }
}
