//! Kinds of events, and where a function counts them.
//!
//! Each kind has one running sum, or one for each call record. Code adds to it on the chords of a spanning tree of the
//! function's graph, split at calls. What the sum lacks while a frame is in the middle of the function follows from
//! where it is.
//! Source: Ball, *Efficiently Counting Program Events with Support for On-line Queries*, TOPLAS 1994; the plans are those
//! of [`EventPlan`].

use std::collections::HashMap;

use wasmparser::FunctionBody;
use wprof_profiler::{BlockId, EdgeId, EventPlan, EventTree, Profile};

use crate::Error;
use crate::cfg::Cfg;
use crate::event_kind::{EventKind, Sums};
use crate::sites::Site;
use crate::split::{Place, Split, add};

/// The events of one function.
#[derive(Clone, Debug)]
pub struct FunctionEvents {
    split: Split,
    /// The edges of the split graph outside the tree.
    chords: Vec<EdgeId>,
    /// By kind.
    plans: Vec<EventPlan>,
    /// The amount added at the entry.
    pub at_entry: Vec<Addition>,
    /// The amount added on an edge of the graph of blocks.
    pub on_edge: HashMap<EdgeId, Vec<Addition>>,
    /// The amount added before the call or throw at a byte offset.
    pub before_call: HashMap<u32, Vec<Addition>>,
}

/// The weights that determine the spanning tree of a function.
#[derive(Clone, Copy, Debug)]
pub enum Tree<'a> {
    /// The counts of an earlier run; without, or where they lack the function, an estimate.
    OfWeights(Option<&'a Profile>),
    /// The edges outside the tree.
    OfChords(&'a [EdgeId]),
}

/// A kind's number, and what is added to its sum.
pub type Addition = (u32, i64);

impl FunctionEvents {
    /// Plans all kinds on the chords of a tree.
    ///
    /// # Errors
    /// Returns an error if the bytes differ from those that were validated, or the tree is of another graph.
    pub fn new(
        cfg: &Cfg,
        body: &FunctionBody<'_>,
        kinds: &[EventKind],
        by: Tree<'_>,
    ) -> Result<FunctionEvents, Error> {
        let split = Split::new(cfg, body, kinds)?;
        let tree = match by {
            Tree::OfWeights(earlier) => EventTree::new(&split.shape, &split.weights(cfg, earlier), &[]),
            Tree::OfChords(chords) => EventTree::of_chords(&split.shape, chords)
                .ok_or(Error::BadCounters("their description does not fit"))?,
        };
        let events = |(number, kind): (usize, &EventKind)| -> Sums {
            let of_edge = |edge: EdgeId| {
                let ends = split.shape.edge(edge);
                // Parts are in bytecode order.
                let back = if ends.to <= ends.from { kind.back_edge } else { 0 };
                split.parts[ends.from.index()].events[number] + back
            };
            split.shape.edges().map(of_edge).chain([kind.entry]).collect()
        };
        let plans = kinds.iter().enumerate().map(|kind| tree.plan(&events(kind))).collect();
        let (at_entry, on_edge, before_call) = (Vec::new(), HashMap::new(), HashMap::new());
        let chords = tree.chords();
        Ok(FunctionEvents { split, chords, plans, at_entry, on_edge, before_call }.placed())
    }

    /// Returns the edges of the split graph outside the tree.
    pub fn chords(&self) -> &[EdgeId] {
        &self.chords
    }

    /// Places the additions of all plans.
    fn placed(mut self) -> FunctionEvents {
        for (plan, kind) in self.plans.iter().zip(0..) {
            for &(edge, amount) in &plan.increments {
                let at = match self.split.places.get(edge.index()) {
                    // The closing edge stands for the entry.
                    None => &mut self.at_entry,
                    Some(Place::Edge(edge)) => self.on_edge.entry(*edge).or_default(),
                    Some(Place::Call(offset)) => self.before_call.entry(*offset).or_default(),
                };
                at.push((kind, amount));
            }
        }
        self
    }

    /// Returns the amounts that the sums lack, modulo 2^64, for a frame that has stopped at a site.
    ///
    /// # Errors
    /// Returns an error if the bytes differ from those that were validated.
    pub fn owed(
        &self,
        (cfg, body): (&Cfg, &FunctionBody<'_>),
        site: &Site,
        kinds: &[EventKind],
    ) -> Result<Sums, Error> {
        let (part, at_call) = self.split.position(site.block, site.offset);
        let mut begun = vec![0; kinds.len()];
        if !at_call {
            let block = &cfg.blocks[site.block as usize];
            let first = self.split.first_part[site.block as usize];
            let before = (part > first).then(|| self.split.parts[part as usize - 1].call).flatten();
            let mut reader = body.get_operators_reader()?;
            while !reader.eof() {
                let (op, at) = reader.read_with_offset()?;
                let at = at as u32;
                if at > site.offset {
                    break;
                }
                if at >= block.start && before.is_none_or(|call| at > call) {
                    add(&mut begun, kinds, &op);
                }
            }
        }
        let query = |plan: &EventPlan| plan.queries[BlockId(part).index()];
        let owed = self.plans.iter().zip(begun);
        Ok(owed.map(|(plan, begun)| begun.wrapping_add_signed(query(plan))).collect())
    }
}
