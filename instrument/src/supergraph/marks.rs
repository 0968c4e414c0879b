//! The choice of the calls that are inlined.
//!
//! Input: a module, how many calls may be inlined into one another, and a profile of what ran, or none. Output: the
//! marked calls of each function: of those that ran, the ones closest to the function first, as long as there is room.
//! Invariant: no marked call changes what exceptions, tail calls or further calls of a function are.
//! Source: Vaswani 2007, section 3.5.2, stage II.

use std::collections::HashSet;

use wasmparser::Operator;
use wprof_profiler::{FunctionProfile, MarkedCall, Profile};

use crate::Error;
use crate::cfg::Cfg;
use crate::module::Source;

use super::expand::{block_type, declared};

/// The maximum number of calls that are inlined into a function.
const MAX_CALLS: usize = 256;
/// The maximum number of bytes of code that a function gets from its callees.
const MAX_GROWTH: usize = 32 << 10;
/// The maximum number of locals of a function.
const MAX_LOCALS: u32 = 2_000;
/// The limit of all inlined code, as a multiple of the module's code, and the length that is always allowed.
const GROWTH_OF_MODULE: usize = 4;
const ROOM: usize = 1 << 20;

/// The properties of a function that decide whether calls in it, or of it, are inlined.
struct Facts {
    /// Its calls that may be inlined, with their blocks.
    calls: Vec<MarkedCall>,
    blocks: Vec<u32>,
    /// Whether it may be inlined itself.
    is_callee: bool,
    bytes: usize,
    locals: u32,
}

/// The functions of a module as candidates.
pub struct Candidates<'a> {
    source: &'a Source<'a>,
    facts: Vec<Facts>,
    /// The profile of what ran, if only that is marked.
    ran: Option<&'a Profile>,
    /// The length of code that may still be inlined.
    room: usize,
}

impl<'a> Candidates<'a> {
    /// Looks at all functions, whose graphs are `cfgs`.
    ///
    /// # Errors
    /// Returns an error if the bytes differ from those that were validated.
    pub fn new(source: &'a Source<'a>, cfgs: &[Cfg], ran: Option<&'a Profile>) -> Result<Self, Error> {
        let facts = cfgs.iter().map(|cfg| Facts::new(source, cfg)).collect::<Result<Vec<_>, _>>()?;
        let code: usize = facts.iter().map(|facts| facts.bytes).sum();
        Ok(Candidates { source, facts, ran, room: GROWTH_OF_MODULE * code + ROOM })
    }

    /// Returns the calls that are inlined into a function.
    pub fn marked(&mut self, func: u32, depth: u32) -> Vec<MarkedCall> {
        let mut marked: Vec<MarkedCall> = Vec::new();
        let (mut growth, mut locals) = (0, self.facts_of(func).locals);
        // The frames of one level, and then those that they call.
        let mut level = vec![(0, func)];
        for _ in 0..depth {
            let mut next = Vec::new();
            for (frame, caller) in level {
                for call in self.calls_of(caller) {
                    let callee = self.facts_of(call.callee);
                    let fits = growth + callee.bytes <= MAX_GROWTH.min(self.room)
                        && locals + callee.locals <= MAX_LOCALS;
                    if callee.is_callee && fits && marked.len() < MAX_CALLS {
                        growth += callee.bytes;
                        locals += callee.locals;
                        marked.push(MarkedCall { caller: frame, ..call });
                        next.push((marked.len() as u32, call.callee));
                    }
                }
            }
            level = next;
        }
        self.room -= growth;
        marked
    }

    /// Reports whether calls that a file names may be inlined into a function, each behind its caller.
    pub fn accepts(&mut self, func: u32, calls: &[MarkedCall]) -> bool {
        let defined = self.source.first_defined()..self.source.funcs.len() as u32;
        let mut frames = vec![func];
        let (mut growth, mut locals) = (0, 0);
        for call in calls {
            let caller = frames.get(call.caller as usize).filter(|caller| defined.contains(caller));
            let Some(&caller) = caller else { return false };
            let is_call = |known: &MarkedCall| (known.site, known.callee) == (call.site, call.callee);
            if !self.facts_of(caller).calls.iter().any(is_call) || !self.facts_of(call.callee).is_callee {
                return false;
            }
            growth += self.facts_of(call.callee).bytes;
            locals += self.facts_of(call.callee).locals;
            frames.push(call.callee);
        }
        let fits = growth <= MAX_GROWTH.min(self.room) && locals <= MAX_LOCALS && calls.len() <= MAX_CALLS;
        self.room -= if fits { growth } else { 0 };
        fits && defined.contains(&func)
    }

    fn facts_of(&self, func: u32) -> &Facts {
        &self.facts[(func - self.source.first_defined()) as usize]
    }

    /// Returns the calls in a function that may be inlined, and that ran, if that is known.
    fn calls_of(&self, func: u32) -> Vec<MarkedCall> {
        let facts = self.facts_of(func);
        let counts = self.ran.map(|ran| ran.function(func).map_or(Vec::new(), FunctionProfile::block_counts));
        let has_run = |block: u32| {
            counts.as_ref().is_none_or(|counts| counts.get(block as usize).is_some_and(|count| *count > 0))
        };
        let calls = facts.calls.iter().zip(&facts.blocks);
        calls.filter(|(_, block)| has_run(**block)).map(|(call, _)| *call).collect()
    }
}

impl Facts {
    fn new(source: &Source<'_>, cfg: &Cfg) -> Result<Facts, Error> {
        let body = source.body(cfg.func);
        let mut reader = body.get_operators_reader()?;
        // Calls whose exceptions the function catches end their blocks; in the inlined callee all calls would.
        let (mut open, mut caught) = (Vec::new(), 0);
        let (mut plain, mut is_callee) = (HashSet::new(), block_type(source, cfg.func).is_some());
        while !reader.eof() {
            let (op, at) = reader.read_with_offset()?;
            match op {
                Operator::Block { .. } | Operator::Loop { .. } | Operator::If { .. } => open.push(false),
                Operator::Try { .. } | Operator::TryTable { .. } => {
                    open.push(true);
                    caught += 1;
                }
                Operator::End | Operator::Delegate { .. } => {
                    caught -= u32::from(open.pop() == Some(true));
                    is_callee &= !matches!(op, Operator::Delegate { .. });
                }
                Operator::Call { .. } if caught == 0 => {
                    plain.insert(at as u32);
                }
                Operator::ReturnCall { .. }
                | Operator::ReturnCallIndirect { .. }
                | Operator::ReturnCallRef { .. } => is_callee = false,
                _ => {}
            }
        }
        let calls = cfg.calls.iter().filter(|call| plain.contains(&call.offset));
        let calls = calls.filter(|call| call.callee >= source.first_defined());
        let marked =
            calls.clone().map(|call| MarkedCall { caller: 0, site: call.offset, callee: call.callee });
        let own: u32 = declared(source, cfg.func)?.iter().map(|(count, _)| *count).sum();
        Ok(Facts {
            calls: marked.collect(),
            blocks: calls.map(|call| call.block).collect(),
            is_callee,
            bytes: body.range().end as usize - body.range().start as usize,
            locals: own + source.func_type(cfg.func).params().len() as u32,
        })
    }
}
