//! The control-flow graph of one wasm function: basic blocks over its bytecode.
//!
//! Block 0 is the entry and has no predecessors. Blocks are numbered in bytecode order, so an edge whose target does
//! not follow its source is a back edge, and every other edge goes forward: structured control flow makes the graph
//! reducible. Dead code has no blocks.
//!
//! A call ends its block if the function catches its exceptions; a throw always does. Edges lead to the handlers.

mod atomics;
mod build;
mod dump;
mod entangled;
mod gc;
mod group;
mod likely_next;
mod liveness;
mod merged;
mod ops;
mod stack;
mod tries;
mod types;

use std::sync::OnceLock;

use smallvec::SmallVec;
use wasmparser::ValType;
use wprof_profiler::{self as profiler, BlockId, DepthFirst, EdgeId, Loops};

use crate::abi::store_context;
use crate::limits;

pub(crate) use atomics::{Action, Atomic, Update};
pub use build::{build, operand_types};
pub(crate) use gc::branch_on_cast;
pub(crate) use group::{Group, place_of};
pub(crate) use likely_next::Division;
pub use liveness::Liveness;
pub(crate) use ops::{Call, Operators, is_call, is_left_at, is_throw, may_stop};
pub use ops::{direct_calls, instruction_offsets, is_structure, ops_executed};
pub use stack::{StackId, TypeStacks};
pub use tries::{Clause, Try, tries};

/// The target of an edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Target {
    /// A block of the same function.
    Block(u32),
    /// The function's exit.
    Exit,
}

/// An edge out of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// The target.
    pub target: Target,
    /// Number of values that the edge carries from the top of the operand stack.
    pub arity: u32,
    /// Stack depth at which the target expects the first value; the edge drops everything above it in the source's
    /// stack.
    pub height: u32,
}

/// How a block ends, which gives its edges their meaning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// One edge, always taken.
    Jump,
    /// Pops an i32; edge 0 is taken if it is not zero, edge 1 otherwise.
    Branch,
    /// Pops a reference; edge 0, to the label, is taken if the reference is null or non-null, as the instruction says.
    /// The branch carries a non-null reference along.
    NullBranch,
    /// Tests the type of the reference on top, which stays; edge 0, to the label, is taken if the test succeeds or
    /// fails, as the instruction says.
    CastBranch,
    /// Pops an i32 `i`; edge `table[i]` is taken, the last entry being the default. Equal targets share an edge.
    Switch(Box<[u32]>),
    /// A tail call; its edge leads to `Exit`.
    TailCall,
    /// No edge: the block always traps.
    Trap,
    /// A call; edge 0 leads to its continuation with the results on the operand stack. The other edges lead to the
    /// handlers, in order.
    Call(Box<[Catch]>),
    /// A throw; its edges lead to the handlers.
    Throw(Thrown, Box<[Catch]>),
}

/// The exception that a throw throws.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Thrown {
    /// A new exception with this tag.
    New(u32),
    /// The operand on top.
    Reference,
    /// The operand at this depth, which the bytecode does not see. It stays on the stack.
    Caught(u32),
}

/// A handler: the exceptions it catches, and the values on the operand stack on its entry, which replace everything
/// above the height of its edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Catch {
    /// The tag; `None` for all.
    pub tag: Option<u32>,
    /// Where the handler finds the exception itself, besides the exception's values if `tag` is set.
    pub reference: Reference,
    /// The byte offset in the module of the `try` or `try_table` that has the handler.
    pub within: u32,
}

/// Where a handler finds an exception.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reference {
    /// Not on the stack.
    None,
    /// Above the exception's values.
    Above,
    /// Below the exception's values.
    Below,
}

impl End {
    /// Returns the number of the edge to the first handler, and the handlers.
    pub fn catches(&self) -> (usize, &[Catch]) {
        match self {
            End::Call(catches) => (1, catches),
            End::Throw(_, catches) => (0, catches),
            _ => (0, &[]),
        }
    }

    /// Whether the block continues only through an exception.
    pub fn is_failure(&self) -> bool {
        matches!(self, End::Trap | End::Throw(..))
    }
}

/// A basic block.
#[derive(Clone, Debug)]
pub struct Block {
    /// Byte offset in the module of the block's first instruction.
    pub start: u32,
    /// Byte offset of the instruction that ends the block; equal to `limit` if the block falls through.
    pub end: u32,
    /// Byte offset behind the block's last instruction.
    pub limit: u32,
    /// Number of instructions, without pure structure (`block`, `loop`, `else`, `end`).
    pub ops: u32,
    /// Types of the operand stack at entry.
    pub stack: StackId,
    /// Whether a back edge leads here.
    pub is_loop_header: bool,
    /// How the block ends.
    pub how: End,
    /// The block's outgoing edges.
    pub edges: SmallVec<[Edge; 2]>,
}

/// A call of a function by its index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DirectCall {
    /// The block that contains the call.
    pub block: u32,
    /// The function index, which may be an import's.
    pub callee: u32,
}

/// The control-flow graph of one function.
#[derive(Clone, Debug)]
pub struct Cfg {
    /// Function index.
    pub func: u32,
    /// Types of the locals, parameters first.
    pub locals: Vec<ValType>,
    /// How many locals are parameters.
    pub params: u32,
    /// The blocks, in bytecode order.
    pub blocks: Vec<Block>,
    /// The direct calls, in bytecode order.
    pub calls: Vec<DirectCall>,
    /// Whether the function makes no calls, direct or indirect.
    pub is_leaf: bool,
    /// Operand stack types that blocks refer to.
    pub stacks: TypeStacks,
    /// The locals that may still be read at the entry of each block.
    pub liveness: Liveness,
    known: Known,
}

/// Facts derived from the blocks, computed on first use.
#[derive(Clone, Debug, Default)]
struct Known {
    shape: OnceLock<profiler::Cfg>,
    loops: OnceLock<Loops>,
    /// By block, whether OSR can enter another version there.
    resumable: OnceLock<Vec<bool>>,
    entangled: OnceLock<bool>,
}

impl Cfg {
    /// The graph as `profiler` sees it. Edge ids count the edges of block 0, then those of block 1, and so on.
    pub fn shape(&self) -> &profiler::Cfg {
        self.known.shape.get_or_init(|| self.new_shape())
    }

    /// Returns the loops of the graph.
    pub fn loops(&self) -> &Loops {
        self.known.loops.get_or_init(|| Loops::new(self.shape(), &DepthFirst::new(self.shape())))
    }

    fn new_shape(&self) -> profiler::Cfg {
        let exit = self.blocks.len() as u32;
        let edges = self.blocks.iter().zip(0u32..).flat_map(|(block, from)| {
            block.edges.iter().map(move |edge| match edge.target {
                Target::Block(to) => (from, to),
                Target::Exit => (from, exit),
            })
        });
        profiler::Cfg::from_pairs(exit, &edges.collect::<Vec<_>>()).expect("edges lead to blocks or the exit")
    }

    /// Bytes of live bytecode.
    pub fn bytes(&self) -> usize {
        self.blocks.iter().map(|block| (block.limit - block.start) as usize).sum()
    }

    /// Reports whether OSR can enter another version at `block`: at a loop header, with a state that fits into the
    /// OSR buffer. In a function with very many loops and very many locals only some headers qualify, outer loops
    /// first, in order within each depth: code for all of them would grow with the product.
    pub fn can_resume(&self, block: u32) -> bool {
        self.known.resumable.get_or_init(|| self.find_resumable())[block as usize]
    }

    fn find_resumable(&self) -> Vec<bool> {
        let mut resumable = vec![false; self.blocks.len()];
        let is_header = |&block: &u32| self.blocks[block as usize].is_loop_header && self.has_room(block);
        let mut headers: Vec<u32> = (0..self.blocks.len() as u32).filter(is_header).collect();
        let mut left = self.most_handed_over();
        let sizes = headers.iter().map(|&header| self.state_size(header)).sum::<usize>();
        if sizes > left {
            headers.sort_by_key(|&header| self.loops().depth(BlockId(header)));
        }
        for header in headers {
            let Some(rest) = left.checked_sub(self.state_size(header)) else { break };
            left = rest;
            resumable[header as usize] = true;
        }
        resumable
    }

    /// Returns the number of values that all OSR exits of a version of this function may store together.
    pub(crate) fn most_handed_over(&self) -> usize {
        limits::OSR_VALUES_ALWAYS + limits::OSR_VALUES_PER_BYTE * self.bytes()
    }

    /// Returns the number of values that a frame takes along when OSR enters other code at `block`.
    pub(crate) fn state_size(&self, block: u32) -> usize {
        let operands = self.stacks.height(self.blocks[block as usize].stack) as usize;
        self.liveness.count(block).unwrap_or(self.locals.len()) + operands
    }

    /// Whether the state of a frame at the entry of `block` fits into the OSR buffer.
    pub fn has_room(&self, block: u32) -> bool {
        let operands = self.stacks.height(self.blocks[block as usize].stack);
        self.locals.len() + operands as usize <= store_context::OSR_VALUES as usize
    }

    /// Reports whether stoppable code polls at node `index` of a graph, a copy of `block`: at loop headers and at the
    /// entry of a function that calls others. Every run of machine code therefore polls after a bounded number of
    /// blocks, and the caller of a short function polls after the call.
    pub fn is_stop(&self, index: usize, block: u32) -> bool {
        index == 0 && !self.is_leaf || self.blocks[block as usize].is_loop_header
    }

    /// Returns the normal-return edges of calls whose exceptions are caught, ascending; these are the likely edges.
    pub(crate) fn returns_of_calls(&self) -> Vec<EdgeId> {
        let mut next = 0;
        let calls = self.blocks.iter().filter_map(|block| {
            let first = next;
            next += block.edges.len() as u32;
            matches!(block.how, End::Call(_)).then_some(EdgeId(first))
        });
        calls.collect()
    }

    /// Returns the block that contains byte `offset` of the module; `None` for dead code.
    pub fn block_at(&self, offset: u32) -> Option<u32> {
        let i = self.blocks.partition_point(|b| b.limit <= offset);
        self.blocks.get(i).filter(|b| b.start <= offset).map(|_| i as u32)
    }

    /// Checks the invariants that the documentation states.
    ///
    /// # Errors
    /// Returns the first violation.
    pub fn verify(&self) -> Result<(), String> {
        let count = self.blocks.len() as u32;
        let mut targeted = vec![false; self.blocks.len()];
        for (block, index) in self.blocks.iter().zip(0u32..) {
            if !(block.start <= block.end && block.end <= block.limit) {
                return Err(format!("block {index}: bad range"));
            }
            for edge in &block.edges {
                let Target::Block(to) = edge.target else { continue };
                if to == 0 || to >= count {
                    return Err(format!("block {index}: edge to block {to} of {count}"));
                }
                targeted[to as usize] = true;
                let expected = self.stacks.height(self.blocks[to as usize].stack);
                if edge.height + edge.arity != expected {
                    return Err(format!(
                        "block {index}: edge to {to} brings {} operands",
                        edge.height + edge.arity
                    ));
                }
            }
        }
        match targeted.iter().skip(1).position(|t| !t) {
            Some(i) => Err(format!("block {} is unreachable", i + 1)),
            None => Ok(()),
        }
    }
}
