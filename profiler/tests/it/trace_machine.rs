//! A machine that runs random programs and writes traces, with a log of everything that happens.
//!
//! The log is the truth. The machine crosses edges at random, calls, is called back, traps anywhere, has
//! some of its traps caught by the host, and may be looked at (a segment ends) between any two steps.

use std::collections::BTreeSet;

use wprof_profiler::{
    BitStream, BlockId, Call, Cfg, EdgeWeights, Frame, HOST_CALLEE, Regenerator, Segment, Stage, TraceError,
    TraceEvent, TraceMethod, TracePlan, TracedFunction, TracedFunctions, Unwind,
};

use crate::random_cfg;
use crate::rng::Rng;

pub struct Function {
    pub cfg: Cfg,
    pub calls: Vec<Option<Call>>,
    pub plan: TracePlan,
}

/// What one run leaves behind.
#[derive(Default)]
pub struct Run {
    pub segments: Vec<Segment>,
    /// By segment.
    pub logs: Vec<Vec<TraceEvent>>,
    /// How often a block with several successors was left.
    pub predicates: u64,
    /// Bits that edges wrote.
    pub edge_bits: u64,
}

pub const METHODS: [TraceMethod; 3] =
    [TraceMethod::Witnesses, TraceMethod::BitTracing, TraceMethod::EveryBranch];

impl Function {
    pub fn new(cfg: Cfg, calls: Vec<Option<Call>>, method: TraceMethod) -> Self {
        let plan = TracePlan::new(method, &cfg, &EdgeWeights::estimate(&cfg), &calls);
        Self { cfg, calls, plan }
    }

    pub fn traced(&self) -> TracedFunction {
        TracedFunction::new(&self.cfg, &self.calls, &self.plan.emits).unwrap()
    }

    fn call(&self, block: BlockId) -> Option<Call> {
        self.calls.get(block.index()).copied().flatten()
    }
}

/// By index, as the regenerator wants them.
pub fn traced(program: &[Function]) -> TracedFunctions {
    program.iter().enumerate().map(|(index, function)| (index as u32, function.traced())).collect()
}

/// Calls for the blocks of a graph, mostly where it has one out-edge.
pub fn random_calls(cfg: &Cfg, functions: usize, rng: &mut Rng) -> Vec<Option<Call>> {
    let calls = cfg.blocks().map(|block| {
        let edges = cfg.out_edges(block);
        let wanted = rng.once_in(if edges.len() > 1 { 12 } else { 3 });
        let to_exit = edges.len() == 1 && cfg.edge(edges[0]).to == cfg.exit();
        wanted.then(|| match rng.below(8) {
            0..3 => Call::Direct(rng.below(functions) as u32),
            3..5 => Call::Indirect,
            5 if to_exit => Call::Tail,
            _ => Call::Host,
        })
    });
    calls.collect()
}

/// A program of a few functions, each traced by any method.
pub fn random_program(rng: &mut Rng, size: u32) -> Vec<Function> {
    let functions = 1 + rng.below(4);
    let function = |_| {
        let size = 1 + rng.below(size as usize) as u32;
        let cfg = match rng.below(2) {
            0 => random_cfg::structured(rng, size),
            _ => random_cfg::unstructured(rng, size),
        };
        let calls = random_calls(&cfg, functions, rng);
        Function::new(cfg, calls, METHODS[rng.below(3)])
    };
    (0..functions).map(function).collect()
}

/// Runs for so many steps.
pub fn run(program: &[Function], rng: &mut Rng, steps: usize) -> Run {
    let mut machine = Machine::new(program);
    for _ in 0..steps {
        if rng.once_in(60) {
            machine.end_segment();
        }
        machine.step(rng);
    }
    machine.end_segment();
    machine.run
}

pub struct Machine<'a> {
    program: &'a [Function],
    pub frames: Vec<Frame>,
    segment: Segment,
    log: Vec<TraceEvent>,
    pub run: Run,
}

impl<'a> Machine<'a> {
    pub fn new(program: &'a [Function]) -> Self {
        let (segment, run) = (Segment::default(), Run::default());
        Self { program, frames: Vec::new(), segment, log: Vec::new(), run }
    }

    /// What a flush does, wherever the run is.
    pub fn end_segment(&mut self) {
        self.segment.end = self.frames.clone();
        let first_bit = self.segment.first_bit + self.segment.bits.len();
        let next = Segment { first_bit, start: self.frames.clone(), ..Segment::default() };
        self.run.segments.push(std::mem::replace(&mut self.segment, next));
        self.run.logs.push(std::mem::take(&mut self.log));
    }

    pub fn step(&mut self, rng: &mut Rng) {
        let Some(frame) = self.frames.last().copied() else { return self.enter_from_host(rng) };
        let function = &self.program[frame.function as usize];
        let is_exit = frame.block == function.cfg.exit();
        if self.frames.len() > 12 || (!is_exit && rng.once_in(40)) {
            return self.trap(rng);
        }
        match frame.stage {
            Stage::Body if is_exit => self.leave(),
            Stage::Body => match function.call(frame.block) {
                None => self.cross(rng),
                Some(call) => self.call(frame, call, rng),
            },
            Stage::Returned => self.cross(rng),
            Stage::Host if rng.once_in(3) => self.enter_from_host(rng),
            Stage::Host => {
                self.segment.bits.push(0, 1);
                self.log.push(TraceEvent::HostReturn(frame.function, frame.block));
                self.frames.last_mut().unwrap().stage = Stage::Returned;
            }
            Stage::Call => unreachable!("the innermost frame calls nothing"),
        }
    }

    fn enter_from_host(&mut self, rng: &mut Rng) {
        let callee = rng.below(self.program.len()) as u32;
        self.segment.bits.push(1, 1);
        self.segment.bits.push(callee, 32);
        self.enter(callee);
    }

    fn enter(&mut self, function: u32) {
        self.log.extend([TraceEvent::Enter(function), TraceEvent::Block(function, BlockId::ENTRY)]);
        self.frames.push(Frame { function, block: BlockId::ENTRY, stage: Stage::Body });
    }

    fn call(&mut self, frame: Frame, call: Call, rng: &mut Rng) {
        let top = self.frames.len() - 1;
        let named = if rng.once_in(3) { HOST_CALLEE } else { rng.below(self.program.len()) as u32 };
        match call {
            Call::Direct(callee) => {
                self.frames[top].stage = Stage::Call;
                self.enter(callee);
            }
            Call::Indirect => {
                self.segment.bits.push(named, 32);
                if named == HOST_CALLEE {
                    return self.call_host(frame);
                }
                self.frames[top].stage = Stage::Call;
                self.enter(named);
            }
            Call::Host => self.call_host(frame),
            Call::Tail => {
                self.segment.bits.push(named, 32);
                if named == HOST_CALLEE {
                    return self.call_host(frame);
                }
                self.cross(rng);
                self.log.push(TraceEvent::Leave(frame.function));
                self.frames.pop();
                self.enter(named);
            }
        }
    }

    fn call_host(&mut self, frame: Frame) {
        self.log.push(TraceEvent::HostCall(frame.function, frame.block));
        self.frames.last_mut().unwrap().stage = Stage::Host;
    }

    fn cross(&mut self, rng: &mut Rng) {
        let frame = self.frames.last_mut().unwrap();
        let function = &self.program[frame.function as usize];
        let edges = function.cfg.out_edges(frame.block);
        if edges.is_empty() {
            return self.trap(rng);
        }
        let targets: BTreeSet<BlockId> = function.cfg.successors(frame.block).collect();
        self.run.predicates += u64::from(targets.len() > 1);
        let edge = edges[rng.below(edges.len())];
        if let Some(emit) = function.plan.emit_of(edge) {
            self.segment.bits.push(emit.value, emit.bits);
            self.run.edge_bits += u64::from(emit.bits);
        }
        (frame.block, frame.stage) = (function.cfg.edge(edge).to, Stage::Body);
        if frame.block != function.cfg.exit() {
            self.log.push(TraceEvent::Block(frame.function, frame.block));
        }
    }

    fn leave(&mut self) {
        let frame = self.frames.pop().unwrap();
        self.log.push(TraceEvent::Leave(frame.function));
        self.return_to_caller();
    }

    /// The innermost frame goes on behind its call, if its callee is gone.
    fn return_to_caller(&mut self) {
        if let Some(caller) = self.frames.last_mut().filter(|caller| caller.stage == Stage::Call) {
            caller.stage = Stage::Returned;
        }
    }

    /// Ends the frames above a host call that catches the trap, or above a frame that catches an exception, or all.
    pub fn trap(&mut self, rng: &mut Rng) {
        let catches = |frame: &Frame| matches!(frame.stage, Stage::Host | Stage::Call);
        let below = |&keep: &usize| keep == 0 || catches(&self.frames[keep - 1]);
        let places: Vec<usize> = (0..self.frames.len()).filter(below).collect();
        let keep = places[rng.below(places.len())];
        let position = self.segment.bits.len();
        self.segment.unwinds.push(Unwind { position, frames: self.frames.clone(), keep: keep as u32 });
        let ended = self.frames.drain(keep..).rev();
        self.log
            .extend(ended.map(|frame| TraceEvent::Unwound { function: frame.function, block: frame.block }));
        self.return_to_caller();
    }
}

/// All events of a segment, or those before the error, and it.
pub fn regenerate(functions: &TracedFunctions, segment: &Segment) -> (Vec<TraceEvent>, Option<TraceError>) {
    let walk = match Regenerator::new(functions, segment.clone()) {
        Ok(walk) => walk,
        Err(error) => return (Vec::new(), Some(error)),
    };
    let mut events = Vec::new();
    for event in walk {
        match event {
            Ok(event) => events.push(event),
            Err(error) => return (events, Some(error)),
        }
    }
    (events, None)
}

/// Every segment gives exactly its log.
pub fn check(program: &[Function], run: &Run) {
    let functions = traced(program);
    for (segment, log) in run.segments.iter().zip(&run.logs) {
        let (events, error) = regenerate(&functions, segment);
        let cfgs: Vec<_> = program.iter().map(|f| (&f.cfg, &f.calls, &f.plan)).collect();
        assert_eq!((events, error), (log.clone(), None), "{cfgs:?} {segment:?}");
    }
}

/// The bits of all segments as one.
pub fn joined(run: &Run) -> Segment {
    let mut whole = Segment { start: run.segments[0].start.clone(), ..Segment::default() };
    for segment in &run.segments {
        let base = whole.bits.len();
        append(&mut whole.bits, &segment.bits);
        let moved = segment.unwinds.iter().cloned();
        whole.unwinds.extend(moved.map(|unwind| Unwind { position: unwind.position + base, ..unwind }));
        whole.end.clone_from(&segment.end);
    }
    whole
}

fn append(bits: &mut BitStream, more: &BitStream) {
    (0..more.len()).for_each(|at| bits.push(more.bit(at).unwrap().into(), 1));
}
