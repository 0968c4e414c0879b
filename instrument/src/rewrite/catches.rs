//! Handlers: the code that runs when an exception reaches a handler.
//!
//! A handler has an edge from each call and each throw whose exceptions it catches. A local, set before the call or
//! throw, identifies the edge. The handlers of a `try_table` are labels of enclosing constructs, so each clause gets a
//! landing pad:
//!
//! ```text
//! block (results of the try_table)
//!   block (the values of clause 1)
//!     block (the values of clause 0)
//!       try_table (catch … 0) (catch … 1)   …   end
//!       br 2
//!     end
//!     code of clause 0; br to its label
//!   end
//!   code of clause 1; br to its label
//! end
//! ```

use std::collections::HashMap;

use wasm_encoder::reencode::{Reencode, RoundtripReencoder};
use wasm_encoder::{BlockType, Catch, Encode, ValType};
use wasmparser::TryTable;

use super::places::Place;
use super::{Arrives, Frame, Local, Writer};
use crate::cfg::Clause;

/// The landing pad of a clause.
pub struct Pad {
    clause: Clause,
    /// The depth of the construct that the clause's label belongs to.
    to: u32,
}

/// Block types that are added to the module.
pub struct Types {
    first: u32,
    known: HashMap<(Vec<ValType>, Vec<ValType>), u32>,
    /// The types, encoded as in the type section.
    pub encoded: Vec<Vec<u8>>,
}

impl Types {
    /// Creates an empty set, in a module with `first` types.
    pub fn new(first: u32) -> Types {
        Types { first, known: HashMap::new(), encoded: Vec::new() }
    }

    /// Returns the index of a function type, which is added if it is missing.
    pub fn index(&mut self, params: &[ValType], results: &[ValType]) -> u32 {
        let next = self.first + self.encoded.len() as u32;
        let key = (params.to_vec(), results.to_vec());
        *self.known.entry(key).or_insert_with(|| {
            let mut bytes = vec![0x60];
            params.encode(&mut bytes);
            results.encode(&mut bytes);
            self.encoded.push(bytes);
            next
        })
    }

    fn block(&mut self, params: &[ValType], results: &[ValType]) -> BlockType {
        match (params, results) {
            ([], []) => BlockType::Empty,
            ([], [result]) => BlockType::Result(*result),
            _ => BlockType::FunctionType(self.index(params, results)),
        }
    }
}

fn encoded(types: &[wasmparser::ValType]) -> Vec<ValType> {
    types.iter().map(|&ty| RoundtripReencoder.val_type(ty).expect("a type that was parsed")).collect()
}

impl Writer<'_, '_> {
    /// Returns the edges that lead to a clause: the block, and the edge's number in it.
    fn sources(&self, clause: Clause) -> Vec<(u32, usize)> {
        let blocks = self.input.cfg.blocks.iter().zip(0..);
        blocks
            .flat_map(|(block, number)| {
                let edges = block.edges.iter().enumerate();
                edges.filter(|(_, edge)| edge.clause == Some(clause)).map(move |(edge, _)| (number, edge))
            })
            .collect()
    }

    /// Stores the number of `block` before a call or throw, if a handler needs it.
    pub(super) fn note_thrower(&mut self, block: u32) {
        let clauses = self.input.cfg.blocks[block as usize].edges.iter().filter_map(|edge| edge.clause);
        let asked = clauses.collect::<Vec<_>>().into_iter().any(|clause| self.asks(clause));
        if asked {
            let thrower = self.locals.index(Local::Thrower);
            self.sink().i32_const(block as i32).local_set(thrower);
        }
    }

    /// Reports whether the handler needs to know the block: it has several edges, and at least one has code in the
    /// handler.
    fn asks(&self, clause: Clause) -> bool {
        let sources = self.sources(clause);
        let is_apart =
            |&(block, edge): &(u32, usize)| self.places.edge_at(block, edge, Place::Apart).is_some();
        sources.len() > 1 && sources.iter().any(is_apart)
    }

    /// Writes the code at the start of a handler.
    fn handle(&mut self, clause: Clause) {
        let sources = self.sources(clause);
        if sources.is_empty() {
            return;
        }
        self.book_thrown();
        let asks = self.asks(clause);
        for (block, edge) in sources {
            let Some(edge) = self.places.edge_at(block, edge, Place::Apart) else { continue };
            if asks {
                let thrower = self.locals.index(Local::Thrower);
                self.sink().local_get(thrower).i32_const(block as i32).i32_eq().if_(BlockType::Empty);
                self.edge_code(edge);
                self.sink().end();
            } else {
                self.edge_code(edge);
            }
        }
    }

    /// Writes the code at the start of a handler of a legacy `try`.
    pub(super) fn caught(&mut self) {
        let Some((at, number)) = self.frames.last_mut().and_then(|frame| frame.old_try.as_mut()) else {
            return;
        };
        let clause = Clause { at: *at, number: *number };
        *number += 1;
        self.handle(clause);
    }

    /// Writes a `try_table`, and opens landing pads around it for the clauses that exceptions can reach.
    pub(super) fn try_table(&mut self, table: &TryTable, at: u32) {
        let (params, results) = self.input.source.block_types(table.ty);
        let (params, results) = (encoded(&params), encoded(&results));
        let outer = self.frames.len() - 1;
        let frames = &self.frames;
        let to = |label: u32| frames[outer - label as usize].depth;
        let pads: Vec<(Pad, Vec<ValType>)> = table
            .catches
            .iter()
            .zip(0..)
            .map(|(catch, number)| {
                let label = label_of(catch);
                // The label's types; the values of the clause are subtypes of these.
                (Pad { clause: Clause { at, number }, to: to(label) }, encoded(&self.label_types(label)))
            })
            .filter(|(pad, _)| !self.sources(pad.clause).is_empty())
            .collect();
        let whole = self.types.block(&params, &results);
        if !pads.is_empty() {
            self.sink().block(whole);
            self.depth += 1;
            for (_, brings) in pads.iter().rev() {
                let ty = self.types.block(&params, brings);
                self.sink().block(ty);
                self.depth += 1;
            }
        }
        let catches: Vec<Catch> = table
            .catches
            .iter()
            .zip(0..)
            .map(|(catch, number)| {
                let pad = pads.iter().position(|(pad, _)| pad.clause.number == number);
                let label = label_of(catch);
                with_label(catch, pad.map_or_else(|| self.depth_of(label), |pad| pad as u32))
            })
            .collect();
        self.sink().try_table(whole, catches);
        let pads = pads.into_iter().map(|(pad, _)| pad).collect();
        let arrives = Arrives::Results(table.ty);
        self.frames.push(Frame { depth: self.depth, arrives, else_edge: None, pads, old_try: None });
        self.depth += 1;
    }

    /// Closes the landing pads behind a `try_table`.
    pub(super) fn land(&mut self, pads: Vec<Pad>) {
        if pads.is_empty() {
            return;
        }
        let count = pads.len() as u32;
        self.sink().br(count);
        for Pad { clause, to } in pads {
            self.sink().end();
            self.depth -= 1;
            self.handle(clause);
            let depth = self.depth - 1 - to;
            self.sink().br(depth);
        }
        self.sink().end();
        self.depth -= 1;
    }
}

fn label_of(catch: &wasmparser::Catch) -> u32 {
    use wasmparser::Catch::{All, AllRef, One, OneRef};
    match *catch {
        One { label, .. } | OneRef { label, .. } | All { label } | AllRef { label } => label,
    }
}

fn with_label(catch: &wasmparser::Catch, label: u32) -> Catch {
    match *catch {
        wasmparser::Catch::One { tag, .. } => Catch::One { tag, label },
        wasmparser::Catch::OneRef { tag, .. } => Catch::OneRef { tag, label },
        wasmparser::Catch::All { .. } => Catch::All { label },
        wasmparser::Catch::AllRef { .. } => Catch::AllRef { label },
    }
}
