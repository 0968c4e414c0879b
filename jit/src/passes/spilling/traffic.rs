//! The stores and reloads of a spilled value.
//!
//! It is stored before the first call on each path, or at its definition, if that is not more frequent. Behind a call
//! it is reloaded before its next use, and known until the next call, including in successor blocks, as long as all
//! paths there know it by the same name. A loop without calls that uses the value has it reloaded before the loop; a
//! loop that does not use it leaves its register to others. Where paths meet and some have lost the value, it is not
//! merged from them: so many block parameters were worse than reloading.
//!
//! Invariant: a value that is not known has been stored on each path. A value is not planned if it is live in a block
//! that is entered in the middle of a loop.

use std::ops::Range;

use cranelift_codegen::Context;
use cranelift_codegen::entity::SecondaryMap;
use cranelift_codegen::ir::{Block, Inst};
use cranelift_codegen::loop_analysis::Loop;
use hashbrown::HashSet;
use smallvec::SmallVec;

use super::flow::Flow;
use super::life::{Life, Lives};

/// The name by which a value is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Name {
    /// The value itself, not reloaded yet.
    Own,
    /// A reload, by its number.
    Read(usize),
}

/// A place in the code.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub before: Inst,
    block: Block,
}

/// The spill code of one value.
#[derive(Default)]
pub(super) struct Traffic {
    /// The stores, each with the value's name there; none if `is_written_early`.
    pub writes: Vec<(Place, Name)>,
    /// Whether the value is stored at its definition.
    pub is_written_early: bool,
    pub reads: Vec<Place>,
    /// The users, each with the value's name there.
    pub uses: Vec<(Inst, Name)>,
    /// The total frequency of stores and reloads.
    pub cost: f64,
}

/// The state at the end of a block.
#[derive(Clone, Copy, Debug, Default)]
struct State {
    name: Option<Name>,
    is_written: bool,
}

/// Plans the spill code of values.
pub(super) struct Planner<'a> {
    context: &'a Context,
    lives: &'a Lives,
    frequencies: &'a SecondaryMap<Block, f32>,
    flow: &'a Flow,
    /// The loops that contain calls.
    calling: HashSet<Loop>,
    /// The states of the blocks visited for the current value.
    states: SecondaryMap<Block, State>,
    /// The uses of the current value in each block, if their turn is the current one; and for each loop the turn of the
    /// last value used in it.
    uses: SecondaryMap<Block, Used>,
    used_in: SecondaryMap<Loop, usize>,
    turn: usize,
}

/// A range of a value's uses.
#[derive(Clone, Copy, Debug, Default)]
struct Used {
    turn: usize,
    start: usize,
    end: usize,
}

impl<'a> Planner<'a> {
    /// Creates the planner. The caller has computed the loop analysis.
    pub(super) fn new(
        context: &'a Context,
        flow: &'a Flow,
        lives: &'a Lives,
        frequencies: &'a SecondaryMap<Block, f32>,
    ) -> Planner<'a> {
        let loops = &context.loop_analysis;
        let mut calling = HashSet::new();
        for block in context.func.layout.blocks().filter(|&block| !lives.calls_in(block).is_empty()) {
            let innermost = loops.innermost_loop(block);
            calling.extend(std::iter::successors(innermost, |&id| loops.loop_parent(id)));
        }
        Planner {
            context,
            lives,
            frequencies,
            flow,
            calling,
            states: SecondaryMap::new(),
            uses: SecondaryMap::new(),
            used_in: SecondaryMap::new(),
            turn: 0,
        }
    }

    /// Begins the turn of a value.
    fn note_uses(&mut self, life: &Life) {
        self.turn += 1;
        let loops = &self.context.loop_analysis;
        for (at, &(block, _)) in self.lives.uses(life.value).iter().enumerate() {
            let used = &mut self.uses[block];
            if used.turn == self.turn {
                used.end = at + 1;
                continue;
            }
            *used = Used { turn: self.turn, start: at, end: at + 1 };
            // Cold code, such as that which asks whether to leave the loop, does not justify a register in each round.
            let is_cold = self.context.func.layout.is_cold(block);
            let mut around = loops.innermost_loop(block).filter(|_| !is_cold);
            while let Some(id) = around.filter(|&id| self.used_in[id] != self.turn) {
                self.used_in[id] = self.turn;
                around = loops.loop_parent(id);
            }
        }
    }

    /// Plans the spill code of a value; `None` if that is not possible. Constants are never stored.
    pub(super) fn plan(&mut self, life: &Life, is_constant: bool) -> Option<Traffic> {
        self.note_uses(life);
        let mut way = Way { planner: self, life, traffic: Traffic::default() };
        for &order in &life.blocks {
            way.block(way.planner.flow.block(order))?;
        }
        let mut traffic = way.traffic;
        let cost = |places: &mut dyn Iterator<Item = &Place>| -> f64 {
            places.map(|place| f64::from(self.frequencies[place.block])).sum()
        };
        let early = if is_constant { 0.0 } else { f64::from(self.frequencies[life.home]) };
        let late = cost(&mut traffic.writes.iter().map(|(place, _)| place));
        traffic.is_written_early = early <= late;
        if traffic.is_written_early {
            traffic.writes.clear();
        }
        traffic.cost = cost(&mut traffic.reads.iter()) + early.min(late);
        Some(traffic)
    }
}

/// A walk through the blocks in which a value is live.
struct Way<'p, 'a> {
    planner: &'p mut Planner<'a>,
    life: &'p Life,
    traffic: Traffic,
}

impl Way<'_, '_> {
    fn block(&mut self, block: Block) -> Option<()> {
        let lives = self.planner.lives;
        let is_home = block == self.life.home;
        let mut state = match is_home {
            true => State { name: Some(Name::Own), is_written: false },
            false => self.begin(block)?,
        };
        let calls = lives.calls_in(block);
        let mut done = if is_home { self.life.calls_before } else { calls.start };
        let mut last = None;
        let Used { turn, start, end } = self.planner.uses[block];
        let uses = if turn == self.planner.turn { start..end } else { 0..0 };
        for &(_, inst) in &lives.uses(self.life.value)[uses] {
            if last.replace(inst) == Some(inst) {
                continue;
            }
            let before = lives.calls_before(inst);
            self.call(block, done..before, &mut state);
            done = before;
            let name = state.name.unwrap_or_else(|| self.read(Place { before: inst, block }));
            state.name = Some(name);
            self.traffic.uses.push((inst, name));
        }
        let across = self.across(done..calls.end);
        self.call(block, across, &mut state);
        self.planner.states[block] = state;
        Some(())
    }

    /// Returns those of the calls across which the value is live.
    fn across(&self, calls: Range<u32>) -> Range<u32> {
        let next = self.life.calls.partition_point(|range| range.end <= calls.start);
        match self.life.calls.get(next) {
            Some(range) => calls.start.max(range.start)..calls.end.min(range.end),
            None => calls.end..calls.end,
        }
    }

    /// Advances the state across calls that the value's live range crosses.
    fn call(&mut self, block: Block, calls: Range<u32>, state: &mut State) {
        if calls.is_empty() {
            return;
        }
        if let Some(name) = state.name.take().filter(|_| !state.is_written) {
            let before = self.planner.lives.call(calls.start);
            self.traffic.writes.push((Place { before, block }, name));
        }
        state.is_written = true;
    }

    fn read(&mut self, place: Place) -> Name {
        self.traffic.reads.push(place);
        Name::Read(self.traffic.reads.len() - 1)
    }

    /// Returns the state at the beginning of a block; `None` if the block is entered in the middle of a loop.
    fn begin(&mut self, block: Block) -> Option<State> {
        let Planner { context, flow, calling, states, used_in, turn, .. } = &*self.planner;
        let loops = &context.loop_analysis;
        let is_forward = |from: &&Block| flow.order(**from) < flow.order(block);
        let mut back = flow.from(block).iter().filter(|from| !is_forward(from)).peekable();
        let round = loops.is_loop_header(block).filter(|_| back.peek().is_some());
        if back.any(|&from| round.is_none_or(|id| !loops.is_in_loop(from, id))) {
            return None;
        }
        let forward: SmallVec<[Block; 4]> = flow.from(block).iter().filter(is_forward).copied().collect();
        let first = states[*forward.first()?].name;
        let are_same = forward.iter().all(|&from| states[from].name == first);
        let is_written = forward.iter().all(|&from| states[from].is_written);
        // In a loop that does not use the value, it would only occupy a register.
        let keeps = round.is_none_or(|id| !calling.contains(&id) && used_in[id] == *turn);
        if are_same && keeps && (first.is_some() || round.is_none()) {
            return Some(State { name: first, is_written });
        }
        for &from in &forward {
            self.write_at_end(from);
        }
        let name = match (round.filter(|_| keeps), &forward[..]) {
            (Some(_), &[from]) => Some(self.read(Place { before: self.end(from), block: from })),
            _ => None,
        };
        Some(State { name, is_written: true })
    }

    fn end(&self, block: Block) -> Inst {
        self.planner.context.func.layout.last_inst(block).expect("blocks have an end")
    }

    /// Stores the value at the end of a block, if it is not stored yet.
    fn write_at_end(&mut self, block: Block) {
        let before = self.end(block);
        let state = &mut self.planner.states[block];
        if let Some(name) = state.name.filter(|_| !state.is_written) {
            state.is_written = true;
            self.traffic.writes.push((Place { before, block }, name));
        }
    }
}
