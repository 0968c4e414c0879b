//! Random runs of random programs under event plans.
//!
//! The machine keeps the counter as instrumented code would, and logs every crossed edge. At every point
//! where somebody could look it also logs what a query would tell. A call stands at the start of its block.

use wprof_profiler::{BlockId, Cfg, EdgeCounts, EdgeId, EventPlan};

use crate::rng::Rng;

pub struct Function {
    pub cfg: Cfg,
    /// By block: whom it calls.
    pub calls: Vec<Option<usize>>,
    /// By edge, the closing edge last.
    pub events: Vec<u64>,
    pub plan: EventPlan,
    /// Whether callees find an exact count; otherwise a query adds the corrections of all frames.
    pub exact_calls: bool,
    /// Blocks at whose start the bare counter must be exact.
    pub exact_blocks: Vec<BlockId>,
}

impl Function {
    pub fn call_blocks(&self) -> Vec<BlockId> {
        self.cfg.blocks().filter(|block| self.calls[block.index()].is_some()).collect()
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Step {
    /// An edge was crossed, or the closing edge: a call.
    Edge(usize, EdgeId),
    /// A block began.
    Block(usize, BlockId),
    /// Somebody was told this count.
    Told(u64),
}

pub struct Run {
    pub log: Vec<Step>,
    /// By function: updates executed, and those that the blocks where frames ended would have added.
    pub updates: Vec<u64>,
}

/// Calls functions from outside until `fuel` is used up, with a trap now and then.
pub fn run(program: &[Function], rng: &mut Rng, fuel: usize) -> Run {
    let run = Run { log: Vec::new(), updates: vec![0; program.len()] };
    let mut machine = Machine { program, frames: Vec::new(), counter: 0, run };
    for _ in 0..fuel {
        machine.step(rng);
    }
    machine.unwind();
    machine.run
}

impl Run {
    /// Where in the log somebody was told something else than the number of events before it.
    pub fn first_lie(&self, program: &[Function]) -> Option<usize> {
        let mut truth = 0_u64;
        self.log.iter().position(|step| match *step {
            Step::Edge(function, edge) => {
                truth = truth.wrapping_add(program[function].events[edge.index()]);
                false
            }
            Step::Block(..) => false,
            Step::Told(told) => told != truth,
        })
    }

    /// Demands that all that was told is true; how often somebody was told.
    pub fn check(&self, program: &[Function]) -> usize {
        if let Some(position) = self.first_lie(program) {
            let functions: Vec<_> = program.iter().map(|f| (&f.cfg, &f.calls, &f.events, &f.plan)).collect();
            panic!("a lie at the end of {:?}: {functions:?}", &self.log[..=position]);
        }
        self.log.iter().filter(|step| matches!(step, Step::Told(_))).count()
    }

    /// The counts of one function, by counting.
    pub fn counts(&self, function: usize, cfg: &Cfg) -> EdgeCounts {
        let count = |wanted: Step| self.log.iter().filter(|&&step| step == wanted).count() as u64;
        EdgeCounts {
            edges: cfg.edges().map(|edge| count(Step::Edge(function, edge))).collect(),
            blocks: cfg.blocks().map(|block| count(Step::Block(function, block))).collect(),
            entries: count(Step::Edge(function, cfg.closing_edge())),
        }
    }
}

#[derive(Clone, Copy)]
struct Frame {
    function: usize,
    block: BlockId,
    state: State,
}

/// How far a block with a call has come.
#[derive(Clone, Copy, PartialEq)]
enum State {
    Begun,
    InCall,
    Returned,
}

struct Machine<'a> {
    program: &'a [Function],
    frames: Vec<Frame>,
    counter: u64,
    run: Run,
}

/// The amount that a sparse list has for `id`.
pub fn amount<Id: PartialEq>(amounts: &[(Id, i64)], id: Id) -> Option<i64> {
    amounts.iter().find(|entry| entry.0 == id).map(|entry| entry.1)
}

impl<'a> Machine<'a> {
    fn step(&mut self, rng: &mut Rng) {
        let Some(&frame) = self.frames.last() else {
            return self.call(rng.below(self.program.len()));
        };
        let function = &self.program[frame.function];
        if rng.once_in(100) {
            return self.unwind();
        }
        match function.calls[frame.block.index()] {
            Some(callee) if frame.state == State::Begun => self.call_from(frame, callee),
            _ => match function.cfg.out_edges(frame.block) {
                [] => self.unwind(),
                edges => self.cross(frame, edges[rng.below(edges.len())]),
            },
        }
    }

    fn call_from(&mut self, frame: Frame, callee: usize) {
        self.tell();
        self.update(frame, amount(&self.function(frame).plan.around, frame.block));
        self.set_state(State::InCall);
        // What the callee finds.
        self.tell();
        self.call(callee);
    }

    fn call(&mut self, callee: usize) {
        if self.frames.len() == 20 {
            return self.unwind();
        }
        let frame = Frame { function: callee, block: BlockId::ENTRY, state: State::Begun };
        self.cross_only(frame, self.program[callee].cfg.closing_edge());
        self.frames.push(frame);
        self.arrive();
    }

    fn cross_only(&mut self, frame: Frame, edge: EdgeId) {
        let function = self.function(frame);
        self.run.log.push(Step::Edge(frame.function, edge));
        self.update(frame, amount(&function.plan.increments, edge));
    }

    fn cross(&mut self, frame: Frame, edge: EdgeId) {
        let function = self.function(frame);
        self.update(frame, amount(&function.plan.ends, frame.block));
        self.cross_only(frame, edge);
        self.frames.pop();
        let to = function.cfg.edge(edge).to;
        if to == function.cfg.exit() {
            self.returned();
        } else {
            self.frames.push(Frame { block: to, state: State::Begun, ..frame });
            self.arrive();
        }
    }

    fn arrive(&mut self) {
        let frame = self.frames[self.frames.len() - 1];
        self.run.log.push(Step::Block(frame.function, frame.block));
        self.tell();
        if self.function(frame).exact_blocks.contains(&frame.block) {
            let older = self.corrections(self.frames.len() - 1);
            self.run.log.push(Step::Told(self.counter.wrapping_add(older)));
        }
    }

    fn returned(&mut self) {
        if let Some(&caller) = self.frames.last() {
            let back = amount(&self.function(caller).plan.around, caller.block);
            self.update(caller, back.map(i64::wrapping_neg));
            self.set_state(State::Returned);
        }
        self.tell();
    }

    /// A trap, or the end: the host reads the count and books the corrections of all frames (section 4).
    fn unwind(&mut self) {
        self.tell();
        self.counter = self.counter.wrapping_add(self.corrections(self.frames.len()));
        for frame in &self.frames {
            let plan = &self.program[frame.function].plan;
            let around = u64::from(amount(&plan.around, frame.block).is_some());
            let ends = u64::from(amount(&plan.ends, frame.block).is_some());
            let missing = match frame.state {
                State::Begun => 2,
                State::InCall => 1,
                State::Returned => 0,
            };
            self.run.updates[frame.function] += around * missing + ends;
        }
        self.frames.clear();
        self.tell();
    }

    fn tell(&mut self) {
        let corrections = self.corrections(self.frames.len());
        self.run.log.push(Step::Told(self.counter.wrapping_add(corrections)));
    }

    fn set_state(&mut self, state: State) {
        if let Some(newest) = self.frames.last_mut() {
            newest.state = state;
        }
    }

    /// What the outermost `frames` frames lack. With exact calls only the newest frame can lack anything,
    /// and that only outside a call (one to the host, say, or one that traps at once).
    fn corrections(&self, frames: usize) -> u64 {
        self.frames[..frames].iter().fold(0, |sum, frame| sum.wrapping_add(self.correction(*frame)))
    }

    fn correction(&self, frame: Frame) -> u64 {
        let function = self.function(frame);
        let is_exact = function.exact_calls && frame.state == State::InCall;
        if is_exact { 0 } else { function.plan.queries[frame.block.index()].cast_unsigned() }
    }

    fn function(&self, frame: Frame) -> &'a Function {
        &self.program[frame.function]
    }

    fn update(&mut self, frame: Frame, amount: Option<i64>) {
        if let Some(amount) = amount {
            self.counter = self.counter.wrapping_add(amount.cast_unsigned());
            self.run.updates[frame.function] += 1;
        }
    }
}
