//! Paths across calls: the paths of *supergraphs*, functions with some of their calls inlined.
//!
//! Input: what ran of each supergraph, and which original code its blocks consist of. Output: the sum of two such
//! profiles; a profile whose functions are the supergraphs, for everything that works on the paths of functions.
//! Invariant: the calls that are marked determine the supergraphs, and so the numbers of their paths; only profiles
//! with the same marked calls have a sum. The profile that holds this one has the counts of the original functions.
//! Source: Vaswani 2007, sections 3.4.3 and 3.4.4. Oracle: paths from a trace of the original module, in
//! `spec-tests/tests/supergraphs.rs`.
//!
//! **Frames.** A supergraph has frame 0, that of its function, and frame k + 1 for its marked call k.

use serde::{Deserialize, Serialize};

use super::{CodeRange, FunctionProfile, Profile, Residual};
use crate::BlockId;

/// The supergraphs of a module.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Supergraphs {
    /// The maximum nesting of inlined calls.
    pub depth: u32,
    /// The functions with marked calls, ascending by index, whether they ran or not.
    pub marked: Vec<MarkedCalls>,
    /// The names of the functions that are called there, if they have any, ascending by index.
    pub names: Vec<(u32, String)>,
    /// The functions that ran, as supergraphs, ascending by index.
    #[serde(skip)]
    pub functions: Vec<Supergraph>,
}

/// The marked calls of a function: those that are inlined into it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MarkedCalls {
    /// Index of the function.
    pub function: u32,
    /// The calls, each behind the one that inlines its caller.
    pub calls: Vec<MarkedCall>,
}

/// A call that is inlined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MarkedCall {
    /// The calling frame.
    pub caller: u32,
    /// Code offset of the call.
    pub site: u32,
    /// Index of the called function.
    pub callee: u32,
}

/// A function with inlined calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Supergraph {
    /// Its paths, blocks and edges. The code range of a block is that of its first piece.
    pub function: FunctionProfile,
    /// By block, the pieces of original code that it consists of, in order; at least one.
    pub pieces: Vec<Vec<BlockPart>>,
}

/// A block of an original function, or a part of one that ends or begins at a marked call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockPart {
    /// The frame that executes it.
    pub frame: u32,
    /// The block of that frame's function.
    pub block: BlockId,
    /// Range of the code.
    pub code: CodeRange,
    /// Number of instructions, a marked call included.
    pub ops: u32,
}

impl Supergraphs {
    /// Returns the marked calls of a function.
    pub fn calls(&self, function: u32) -> &[MarkedCall] {
        let found = self.marked.binary_search_by_key(&function, |marked| marked.function);
        found.map_or(&[], |found| &self.marked[found].calls)
    }

    /// Returns the marked call that a frame begins with; `None` for that of the function itself.
    pub fn call(&self, function: u32, frame: u32) -> Option<&MarkedCall> {
        self.calls(function).get(frame.checked_sub(1)? as usize)
    }

    /// Returns the function whose code a frame executes.
    pub fn function_of(&self, function: u32, frame: u32) -> u32 {
        self.call(function, frame).map_or(function, |call| call.callee)
    }

    /// Returns the name of a function that marked calls call.
    pub fn name(&self, function: u32) -> Option<&str> {
        let found = self.names.binary_search_by_key(&function, |(index, _)| *index);
        found.ok().map(|found| &*self.names[found].1)
    }

    /// Returns the supergraph of a function, if it ran.
    pub fn supergraph(&self, function: u32) -> Option<&Supergraph> {
        let found = self.functions.binary_search_by_key(&function, |graph| graph.function.index);
        found.ok().map(|found| &self.functions[found])
    }

    /// Returns the number of marked calls.
    pub fn marked_calls(&self) -> u64 {
        self.marked.iter().map(|marked| marked.calls.len() as u64).sum()
    }

    /// Reports whether both have the same marked calls.
    pub fn are_marked_as(&self, other: &Self) -> bool {
        (self.depth, &self.marked) == (other.depth, &other.marked)
    }

    /// Returns the same supergraphs with other profiles of them; one that is no supergraph is left out.
    pub(super) fn with(&self, functions: Vec<FunctionProfile>, more: Option<&Self>) -> Self {
        let pieces = |index| {
            self.supergraph(index).or_else(|| more?.supergraph(index)).map(|graph| graph.pieces.clone())
        };
        let graphs = functions.into_iter();
        let graphs =
            graphs.filter_map(|function| Some(Supergraph { pieces: pieces(function.index)?, function }));
        let (marked, names) = (self.marked.clone(), self.names.clone());
        Self { depth: self.depth, marked, names, functions: graphs.collect() }
    }

    /// Reports whether functions are sorted, and all frames and pieces are there.
    pub(super) fn is_valid(&self) -> bool {
        let marked = self.marked.is_sorted_by(|a, b| a.function < b.function)
            && self.names.is_sorted_by(|a, b| a.0 < b.0)
            && self.marked.iter().all(|marked| {
                let frames = marked.calls.iter().zip(0..);
                frames.into_iter().all(|(call, frame)| call.caller <= frame)
            });
        marked && self.functions.iter().all(|graph| graph.is_valid(self.calls(graph.function.index).len()))
    }
}

impl Supergraph {
    fn is_valid(&self, calls: usize) -> bool {
        let ops = |pieces: &[BlockPart]| pieces.iter().map(|piece| u64::from(piece.ops)).sum::<u64>();
        let blocks = self.function.blocks.iter().zip(&self.pieces);
        let are_whole = |(block, pieces): (&super::BlockProfile, &Vec<BlockPart>)| {
            let are_there = pieces.iter().all(|piece| piece.frame as usize <= calls);
            !pieces.is_empty() && are_there && ops(pieces) == u64::from(block.ops)
        };
        self.pieces.len() == self.function.blocks.len()
            && self.function.paths().is_some()
            && blocks.into_iter().all(are_whole)
    }
}

impl Profile {
    /// Returns the profile whose functions are the supergraphs, if there are any: for what works on paths of functions.
    pub fn across_calls(&self) -> Option<Self> {
        let graphs = self.supergraphs.as_ref()?;
        Some(Self {
            program: self.program.clone(),
            module_hash: self.module_hash,
            runs: self.runs.clone(),
            code: self.code,
            functions: graphs.functions.iter().map(|graph| graph.function.clone()).collect(),
            supergraphs: self.supergraphs.clone(),
            ..Self::default()
        })
    }

    /// Returns the profile of the untested paths alone, where `residual` is that of [`Profile::across_calls`].
    #[must_use]
    pub fn only_across_calls(&self, residual: &Residual) -> Self {
        let only = self.across_calls().map(|across| across.only(residual).functions).unwrap_or_default();
        Self {
            program: self.program.clone(),
            module_hash: self.module_hash,
            runs: self.runs.clone(),
            code: self.code,
            supergraphs: self.supergraphs.as_ref().map(|graphs| graphs.with(only, None)),
            ..Self::default()
        }
    }
}
