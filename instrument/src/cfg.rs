//! The blocks and edges of a function: the same graph that the engine has, for more of the language.
//!
//! The engine's (`wprof-jit`) also knows the types of operands, which its translator needs, and takes only what it can
//! run. Here control is all that matters, so any instruction is fine that does not branch in a new way.
//! Invariant: the graph of each function that the engine accepts has the engine's fingerprint, offsets and edges.
//! Oracle: `spec-tests/tests/instrument.rs`.

mod build;
mod handlers;
mod ops;

use wprof_profiler::{self as profiler, EdgeKind};

pub use build::build;
pub use ops::{is_call, is_structure};

/// How a block ends, and so what its edges mean.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// One edge, always taken.
    Jump,
    /// Edge 0 is taken, or edge 1.
    Branch,
    /// Edge `table[i]` is taken for operand `i`, the last one for all others.
    Switch(Vec<u32>),
    /// A tail call; its edge leads to EXIT.
    TailCall,
    /// No edge.
    Trap,
    /// A call: edge 0 when it returns, one more for each handler in the function.
    Call,
    /// A throw: an edge for each handler.
    Throw,
}

/// One way out of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// The block that it leads to; `None` for EXIT.
    pub to: Option<u32>,
    /// The clause that it comes by, if it is that of an exception.
    pub clause: Option<Clause>,
    /// The tag that the clause is for; `None` for all exceptions.
    pub tag: Option<u32>,
}

/// A handler: which construct, by the byte where it begins, and which of its clauses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Clause {
    /// Where the construct begins.
    pub at: u32,
    /// Number of the clause.
    pub number: u32,
}

/// A basic block; bytes are those of the module.
#[derive(Clone, Debug)]
pub struct Block {
    /// Of its first instruction.
    pub start: u32,
    /// Of the instruction that ends it; equal to `limit` if it just falls through.
    pub end: u32,
    /// Behind its last instruction.
    pub limit: u32,
    /// Number of instructions, those that only mark structure not counted.
    pub ops: u32,
    /// How it ends.
    pub how: End,
    /// Its edges.
    pub edges: Vec<Edge>,
}

/// A call of a function by its index.
#[derive(Clone, Copy, Debug)]
pub struct DirectCall {
    /// The block that it is in.
    pub block: u32,
    /// Its byte.
    pub offset: u32,
    /// The function.
    pub callee: u32,
}

/// The graph of one function.
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
    /// The graph as plans see it. Edge ids count the edges of block 0, then those of block 1, and so on.
    pub fn shape(&self) -> profiler::Cfg {
        let exit = self.blocks.len() as u32;
        let edges = self.blocks.iter().zip(0u32..);
        let edges = edges
            .flat_map(|(block, from)| block.edges.iter().map(move |edge| (from, edge.to.unwrap_or(exit))));
        profiler::Cfg::from_pairs(exit, &edges.collect::<Vec<_>>()).expect("edges lead to blocks or the exit")
    }

    /// What each edge means, in the order of their ids.
    pub fn kinds(&self) -> impl Iterator<Item = EdgeKind> {
        self.blocks.iter().flat_map(|block| (0..block.edges.len()).map(|edge| kind(block, edge)))
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
