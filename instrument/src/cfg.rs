//! The basic blocks and edges of a function: the engine's graph, for a larger part of the language.
//!
//! The engine (`wprof-jit`) also tracks the types of operands, which its translator needs, and accepts only what it can
//! run. This graph needs control flow only, so it accepts any instruction that does not branch in an unknown way.
//! Invariant: for each function that the engine accepts, fingerprint, offsets and edges equal those of the engine's
//! graph.
//! Oracle: `spec-tests/tests/instrument.rs`.

mod build;
mod handlers;
mod ops;

use wprof_profiler::{self as profiler, EdgeId, EdgeKind, EdgeProfile};

pub use build::build;
pub use ops::{is_call, is_structure};

/// The end of a block, which determines the meaning of its edges.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// A jump: one edge, always taken.
    Jump,
    /// A conditional branch: edge 0 if it is taken, edge 1 if not.
    Branch,
    /// A switch: edge `table[i]` is taken for operand `i`, the last one for all others.
    Switch(Vec<u32>),
    /// A tail call; its edge leads to EXIT.
    TailCall,
    /// A trap: no edge.
    Trap,
    /// A call: edge 0 for the return, and one edge for each handler in the function.
    Call,
    /// A throw: one edge for each handler.
    Throw,
}

/// An edge out of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// The target block; `None` for EXIT.
    pub to: Option<u32>,
    /// The handler's clause, if exceptions take this edge.
    pub clause: Option<Clause>,
    /// The tag that the clause catches; `None` for all exceptions.
    pub tag: Option<u32>,
}

/// A clause of a handler: its construct, by the byte where that begins, and its number in the construct.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Clause {
    /// The byte where the construct begins.
    pub at: u32,
    /// Number of the clause.
    pub number: u32,
}

/// A basic block; byte offsets are relative to the module.
#[derive(Clone, Debug)]
pub struct Block {
    /// Offset of the first instruction.
    pub start: u32,
    /// Offset of the instruction that ends the block; equal to `limit` if the block falls through.
    pub end: u32,
    /// Offset behind the last instruction.
    pub limit: u32,
    /// Number of instructions, without those that only mark structure.
    pub ops: u32,
    /// The end of the block.
    pub how: End,
    /// The edges out of the block.
    pub edges: Vec<Edge>,
}

/// A direct call, which names a function by its index.
#[derive(Clone, Copy, Debug)]
pub struct DirectCall {
    /// The block that contains the call.
    pub block: u32,
    /// Byte offset of the call.
    pub offset: u32,
    /// The called function's index.
    pub callee: u32,
}

/// The control-flow graph of one function.
#[derive(Clone, Debug)]
pub struct Cfg {
    /// Function index.
    pub func: u32,
    /// The blocks, in bytecode order.
    pub blocks: Vec<Block>,
    /// The direct calls, in bytecode order.
    pub calls: Vec<DirectCall>,
}

impl Cfg {
    /// Returns the graph in the form that plans use. Edge ids count the edges of block 0, then those of block 1, and so
    /// on.
    pub fn shape(&self) -> profiler::Cfg {
        let exit = self.blocks.len() as u32;
        let edges = self.blocks.iter().zip(0u32..);
        let edges = edges
            .flat_map(|(block, from)| block.edges.iter().map(move |edge| (from, edge.to.unwrap_or(exit))));
        profiler::Cfg::from_pairs(exit, &edges.collect::<Vec<_>>()).expect("edges lead to blocks or the exit")
    }

    /// Returns the edges as a profile has them.
    pub fn edges(&self) -> Vec<EdgeProfile> {
        let shape = self.shape();
        let kinds = self.blocks.iter().flat_map(|block| (0..block.edges.len()).map(|edge| kind(block, edge)));
        let edge = |(kind, id)| {
            let profiler::Edge { from, to } = shape.edge(id);
            EdgeProfile { from, to, kind }
        };
        kinds.zip((0..).map(EdgeId)).map(edge).collect()
    }
}

fn kind(block: &Block, edge: usize) -> EdgeKind {
    match &block.how {
        End::Jump if block.edges[edge].to.is_none() => EdgeKind::Return,
        End::Jump | End::Trap => EdgeKind::Jump,
        End::Call | End::Throw => match block.edges[edge] {
            Edge { clause: None, .. } => EdgeKind::Jump,
            Edge { tag: Some(tag), .. } => EdgeKind::Catch(tag),
            Edge { tag: None, .. } => EdgeKind::CatchAll,
        },
        End::Branch if edge == 0 => EdgeKind::Taken,
        End::Branch => EdgeKind::NotTaken,
        End::TailCall => EdgeKind::TailCall,
        End::Switch(table) => match table.iter().position(|&e| e as usize == edge) {
            Some(case) if case + 1 < table.len() => EdgeKind::Case(case as u32),
            _ => EdgeKind::Default,
        },
    }
}
