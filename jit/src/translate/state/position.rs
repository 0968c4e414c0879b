//! The position of the translation: the node, and in it the instruction.

use super::input::Input;
use crate::cfg::Cfg;
use crate::code::Origin;

/// The current position.
///
/// **Invariant**: the CFG belongs to the function of the frame. Between the entry of a node and its end, frame, block
/// and rounds are those of the node, except while an exception crosses an edge of a frame around it.
pub struct Position<'a> {
    /// The frame's CFG.
    cfg: &'a Cfg,
    /// The index of the node.
    node: usize,
    /// The frame, as in [`Node::frame`](crate::graph::Node::frame).
    frame: u32,
    block: u32,
    /// The rounds of the node: see [`Node::rounds`](crate::graph::Node::rounds).
    rounds: u32,
    /// The byte offset of the instruction.
    offset: u32,
}

impl<'a> Position<'a> {
    /// Returns the position before all nodes.
    pub fn new(input: &Input<'a>) -> Position<'a> {
        Position { cfg: input.own(), node: 0, frame: 0, block: 0, rounds: 0, offset: 0 }
    }

    /// Moves to the entry of a node.
    pub fn enter(&mut self, index: usize, input: &Input<'a>) {
        let node = &input.graph().nodes[index];
        (self.node, self.block, self.rounds) = (index, node.block, node.rounds);
        self.move_to_frame(node.frame, input);
    }

    /// Moves to another frame, in the middle of a node.
    pub fn move_to_frame(&mut self, frame: u32, input: &Input<'a>) {
        (self.frame, self.cfg) = (frame, input.cfg_of(frame));
    }

    /// Moves to the block of the first node. Returns the byte offset before its first instruction.
    pub fn move_to_first_block(&mut self, input: &Input<'_>) -> u32 {
        self.block = input.graph().nodes[0].block;
        self.cfg.blocks[self.block as usize].start - 1
    }

    /// Moves to the instruction at a byte offset.
    pub fn move_to(&mut self, offset: u32) {
        self.offset = offset;
    }

    pub fn cfg(&self) -> &'a Cfg {
        self.cfg
    }

    pub fn node(&self) -> usize {
        self.node
    }

    pub fn frame(&self) -> u32 {
        self.frame
    }

    pub fn block(&self) -> u32 {
        self.block
    }

    pub fn offset(&self) -> u32 {
        self.offset
    }

    /// Returns the origin of code for the instruction at `offset`, where the path register has the value `path`.
    pub fn origin(&self, offset: u32, path: Option<i64>) -> Origin {
        let (func, frame) = (self.cfg.func, self.frame);
        Origin { func, frame, block: self.block, rounds: self.rounds, path, offset }
    }
}
