//! Landings: where exceptions arrive that leave inlined calls, and throws whose handler is known.
//!
//! A frame of an inlined call has no landing of its own for what it does not catch. So an inlined call that ends its
//! block, because the caller catches its exceptions, gets a *landing*: a node with the wires to the caller's handlers.
//! The nodes of the callee name it ([`Node::lands`]): their calls and throws land there, in the same machine frame. An
//! exception that no handler there takes goes on to the landing around it, or out of the machine frame.
//!
//! Input: a graph with inlined calls. Output: the same graph, without the landings that nothing can reach, and with each
//! throw wired to the handler that certainly takes its exception, if that handler does not ask for the exception itself:
//! nobody can tell then that there was one.
//!
//! Example: with `f: throw $e`, the block `a: call f` with a handler `h: catch $e` becomes `a -> f; f -> h`; with
//! `f: x call g`, `a -> f; f -> b, lands at l; l -> h`.

use wasmparser::Operator;

use super::{BlockGraph, Node};
use crate::CompileError;
use crate::cfg::{Cfg, Edge, End, Operators, Reference, Thrown, is_call};
use crate::module::ModuleInfo;
use crate::plan::Probe;

/// The handler that certainly takes what a node of an inlined call throws.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handler {
    /// The frame of the handler.
    pub frame: u32,
    /// The block of that frame that catches, and its edge to the handler.
    pub block: u32,
    /// See [`Handler::block`].
    pub edge: u32,
    /// The target; `None` if the handler is the exit of the function itself.
    pub to: Option<u32>,
}

/// A node that catches, and its edge to a handler.
type Place = (u32, u32);

impl Node {
    /// Returns the edges of the node's block that its wires copy, unless it ends at a call.
    pub(crate) fn edges<'a>(&self, cfg: &'a Cfg) -> &'a [Edge] {
        let edges = &cfg.blocks[self.block as usize].edges;
        match (self.is_landing, self.is_behind_call(cfg)) {
            (true, _) => &edges[1..],
            (_, true) => &edges[..1],
            _ => edges,
        }
    }

    /// Reports whether the node is behind an inlined call that ends its block: it only continues along the edge of a
    /// return.
    pub(crate) fn is_behind_call(&self, cfg: &Cfg) -> bool {
        let block = &cfg.blocks[self.block as usize];
        matches!(block.how, End::Call(_)) && !self.is_landing && self.start == block.limit
    }
}

impl BlockGraph {
    /// Returns the graph without landings that nothing can reach, whose nodes stay behind unreachable, and with throws
    /// wired to their handlers.
    ///
    /// # Errors
    /// Fails if the bytes differ from the validated ones.
    pub(crate) fn with_known_handlers(
        mut self,
        info: &ModuleInfo,
        own: &Cfg,
    ) -> Result<BlockGraph, CompileError> {
        for index in 0..self.nodes.len() as u32 {
            match self.known_handler(info, own, index) {
                Some((node, edge)) if node == index => self.nodes[index as usize].sure = Some(edge),
                Some(place) => self.nodes[index as usize].caught = self.handler_at(place),
                None => {}
            }
            if self.nodes[index as usize].lands.is_some() && !self.may_throw(info, own, index)? {
                self.nodes[index as usize].lands = None;
            }
        }
        Ok(self)
    }

    /// Returns the handler that certainly takes what a node throws, if it does not ask for the exception.
    fn known_handler(&self, info: &ModuleInfo, own: &Cfg, index: u32) -> Option<Place> {
        let thrower = &self.nodes[index as usize];
        let block = &self.cfg_of(own, thrower.frame).blocks[thrower.block as usize];
        let End::Throw(Thrown::New(tag), _) = block.how else { return None };
        if thrower.call.is_some() || thrower.elsewhere.is_some() {
            return None;
        }
        let mut at = index;
        loop {
            let node = &self.nodes[at as usize];
            let block = &self.cfg_of(own, node.frame).blocks[node.block as usize];
            let (first, catches) = block.how.catches();
            for (catch, edge) in catches.iter().zip(first as u32..) {
                match catch.tag.map_or(Some(true), |caught| is_same_tag(info, caught, tag)) {
                    Some(true) => return (catch.reference == Reference::None).then_some((at, edge)),
                    Some(false) => {}
                    None => return None,
                }
            }
            at = node.lands?;
        }
    }

    /// Returns the handler to which an edge of a landing leads, if nothing happens on the way.
    fn handler_at(&self, (landing, edge): Place) -> Option<Handler> {
        let Node { frame, block, ref wires, .. } = self.nodes[landing as usize];
        let wire = &wires[edge as usize - 1];
        wire.probes.is_empty().then_some(Handler { frame, block, edge, to: wire.to })
    }

    /// Reports whether an exception may leave a node that names a landing.
    fn may_throw(&self, info: &ModuleInfo, own: &Cfg, index: u32) -> Result<bool, CompileError> {
        let node = &self.nodes[index as usize];
        let block = &self.cfg_of(own, node.frame).blocks[node.block as usize];
        let catches_all = block.how.catches().1.last().is_some_and(|catch| catch.tag.is_none());
        if node.is_landing {
            return Ok(!catches_all);
        }
        // Where the frame leaves for another version, that one is called.
        if node.behind.is_some() && node.probes.contains(&Probe::Check) {
            return Ok(true);
        }
        let is_known = node.caught.is_some() || node.sure.is_some();
        let ends_in_throw = node.call.is_none() && matches!(block.how, End::Throw(..));
        if ends_in_throw && !is_known && !catches_all {
            return Ok(true);
        }
        let is_caught = |op: &Operator<'_>, at| is_call(op) && at == block.end && catches_all;
        let mut operators = Operators::new(info, node.start, node.call.map_or(block.limit, |call| call.at));
        while let Some((op, at)) = operators.next()? {
            if is_call(&op) && !is_caught(&op, at) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Checks that a node lands in one of the frames around its own, and that the handler of its throw is one.
    pub(super) fn verify_landing(&self, own: &Cfg, node: &Node) -> Result<(), String> {
        if let Some(landing) = node.lands {
            let landing = self.nodes.get(landing as usize).ok_or("the landing is nowhere")?;
            if !landing.is_landing || !self.is_around(landing.frame, node.frame) {
                return Err(format!("exceptions land in {landing:?}"));
            }
        }
        let Some(handler) = node.caught else { return Ok(()) };
        let block = &self.cfg_of(own, handler.frame).blocks[handler.block as usize];
        let is_handler = handler.edge >= 1 && (handler.edge as usize) < block.edges.len();
        match is_handler && matches!(block.how, End::Call(_)) && self.is_around(handler.frame, node.frame) {
            true => Ok(()),
            false => Err(format!("nothing is caught by {handler:?}")),
        }
    }

    /// Reports whether a frame is that of a caller of another.
    fn is_around(&self, frame: u32, mut inner: u32) -> bool {
        while let Some(call) = self.call_of(inner) {
            inner = call.caller;
            if inner == frame {
                return true;
            }
        }
        false
    }
}

/// Reports whether two tags of a module are the same in each instance: `None` if that depends on the imports.
fn is_same_tag(info: &ModuleInfo, one: u32, other: u32) -> Option<bool> {
    let are_imports = one < info.imported_tags && other < info.imported_tags;
    if one == other || !are_imports { Some(one == other) } else { None }
}
