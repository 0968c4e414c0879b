//! Random runs of random programs, with a log of everything that happens.
//!
//! The log is the truth. Beside it the machine keeps what an instrumented run would have: counters on the
//! counted edges only, and the places where unfinished frames ended.

use wprof_profiler::{BlockId, Cfg, EdgeId, EdgePlan, EdgeWeights};

use crate::random_cfg;
use crate::rng::Rng;

pub struct Function {
    pub cfg: Cfg,
    pub plan: EdgePlan,
    /// By block.
    pub ops: Vec<Vec<Op>>,
}

#[derive(Clone, Copy)]
pub enum Op {
    Plain,
    Call(usize),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Event {
    Call(usize),
    Block(usize, BlockId),
    Op(usize, BlockId),
    Edge(usize, EdgeId),
}

#[derive(Clone, Copy)]
pub struct Frame {
    pub function: usize,
    pub block: BlockId,
    pub ops_executed: usize,
}

/// What one run leaves behind.
pub struct Run {
    pub log: Vec<Event>,
    /// By function, by counter.
    pub counters: Vec<Vec<u64>>,
    pub unfinished: Vec<Frame>,
}

impl Function {
    pub fn new(cfg: Cfg, functions: usize, rng: &mut Rng) -> Self {
        let plan = EdgePlan::new(&cfg, &EdgeWeights::estimate(&cfg));
        let op = |rng: &mut Rng| if rng.once_in(8) { Op::Call(rng.below(functions)) } else { Op::Plain };
        let ops = cfg.blocks().map(|_| (0..rng.below(4)).map(|_| op(rng)).collect()).collect();
        Self { cfg, plan, ops }
    }
}

/// A program of a few functions that call each other.
pub fn random_program(rng: &mut Rng, size: u32) -> Vec<Function> {
    let functions = 1 + rng.below(4);
    (0..functions)
        .map(|_| {
            let size = 1 + rng.below(size as usize) as u32;
            let structured = rng.once_in(2);
            let cfg = if structured {
                random_cfg::structured(rng, size)
            } else {
                random_cfg::unstructured(rng, size)
            };
            Function::new(cfg, functions, rng)
        })
        .collect()
}

/// Calls functions of the program from outside until `fuel` is used up; traps end all frames at once,
/// and the end interrupts whatever runs.
pub fn run(program: &[Function], rng: &mut Rng, fuel: usize) -> Run {
    let counters = program.iter().map(|function| vec![0; function.plan.counted.len()]).collect();
    let mut machine = Machine {
        program,
        frames: Vec::new(),
        run: Run { log: Vec::new(), counters, unfinished: Vec::new() },
    };
    for _ in 0..fuel {
        machine.step(rng);
    }
    machine.unwind();
    machine.run
}

struct Machine<'a> {
    program: &'a [Function],
    frames: Vec<Frame>,
    run: Run,
}

impl Machine<'_> {
    fn step(&mut self, rng: &mut Rng) {
        let Some(frame) = self.frames.last_mut() else {
            return self.call(rng.below(self.program.len()));
        };
        let function = &self.program[frame.function];
        if let Some(&op) = function.ops[frame.block.index()].get(frame.ops_executed) {
            frame.ops_executed += 1;
            self.run.log.push(Event::Op(frame.function, frame.block));
            match op {
                _ if rng.once_in(200) => self.unwind(),
                Op::Call(callee) => self.call(callee),
                Op::Plain => {}
            }
        } else {
            let edges = function.cfg.out_edges(frame.block);
            match edges.len() {
                0 => self.unwind(),
                len => self.cross(edges[rng.below(len)]),
            }
        }
    }

    fn call(&mut self, function: usize) {
        if self.frames.len() == 20 {
            return self.unwind();
        }
        self.run.log.push(Event::Call(function));
        self.run.log.push(Event::Block(function, BlockId::ENTRY));
        self.frames.push(Frame { function, block: BlockId::ENTRY, ops_executed: 0 });
    }

    fn cross(&mut self, edge: EdgeId) {
        let frame = self.frames.last_mut().unwrap();
        let function = &self.program[frame.function];
        self.run.log.push(Event::Edge(frame.function, edge));
        if let Some(counter) = function.plan.counter_of(edge) {
            self.run.counters[frame.function][counter] += 1;
        }
        let to = function.cfg.edge(edge).to;
        if to == function.cfg.exit() {
            self.frames.pop();
        } else {
            self.run.log.push(Event::Block(frame.function, to));
            *frame = Frame { function: frame.function, block: to, ops_executed: 0 };
        }
    }

    fn unwind(&mut self) {
        self.run.unfinished.append(&mut self.frames);
    }
}

impl Run {
    /// How often an event is in the log.
    pub fn count(&self, wanted: Event) -> u64 {
        self.log.iter().filter(|&&event| event == wanted).count() as u64
    }

    /// The unfinished frames of one function as `propagate` wants them.
    pub fn exits(&self, function: usize) -> Vec<(BlockId, u64)> {
        let frames = self.unfinished.iter().filter(|frame| frame.function == function);
        frames.map(|frame| (frame.block, 1)).collect()
    }
}
