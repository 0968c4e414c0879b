//! Data references in step with the blocks, against runs that log them.

use wprof_profiler::{
    Access, AccessKind, BlockId, DataReference, Reference, References, Regenerator, Segment, Stage,
    TraceError, TraceEvent, TraceStep, TraceSteps, TracedFunctions,
};

use crate::rng::Rng;
use crate::trace_machine::{Function, Run, random_program, run};

/// Some accesses for each block of each function.
fn random_accesses(program: &[Function], rng: &mut Rng) -> Vec<Vec<Access>> {
    let access = |block, site: u32| {
        let kind = if site.is_multiple_of(3) { AccessKind::Store } else { AccessKind::Load };
        let bytes = (!site.is_multiple_of(5)).then_some(4);
        Access { block, site, kind, memory: site % 2, offset: u64::from(site) * 8, bytes }
    };
    let of_function = |function: &Function| {
        let blocks = function.cfg.blocks().flat_map(|block| vec![block; rng.below(4)]);
        blocks.zip(0..).map(|(block, site)| access(block, site)).collect()
    };
    program.iter().map(of_function).collect()
}

/// The memory side of a run.
struct Memory<'a> {
    accesses: &'a [Vec<Access>],
    rng: Rng,
    /// The running block, and how many of its accesses it has made.
    open: Option<(u32, BlockId, usize)>,
    steps: Vec<TraceStep>,
    references: References,
}

impl Memory<'_> {
    /// The running block makes its accesses: all, or some of them.
    fn touch(&mut self, all: bool) {
        let Some((function, block, made)) = &mut self.open else { return };
        let of_block = self.accesses[*function as usize].iter().filter(|access| access.block == *block);
        let left: Vec<_> = of_block.skip(*made).copied().collect();
        let count = if all { left.len() } else { self.rng.below(left.len() + 1) };
        *made += count;
        for access in &left[..count] {
            let index = self.rng.below(1000) as u64;
            let length = if access.bytes.is_none() { Some(self.rng.below(9) as u64) } else { None };
            self.references.all.push(Reference { site: access.site, index, length });
            let (address, bytes) = (index + access.offset, length.unwrap_or(4));
            let reference = DataReference { function: *function, access: *access, address, bytes };
            self.steps.push(TraceStep::Reference(reference));
        }
    }

    /// The steps and references of one segment.
    fn segment(&mut self, segment: &Segment, log: &[TraceEvent]) -> (Vec<TraceStep>, References) {
        self.references.done = self.open.map_or(0, |(_, _, made)| made as u32);
        let mut unwinds = segment.unwinds.iter();
        let mut frames_left = 0;
        for &event in log {
            let is_stop = matches!(event, TraceEvent::Unwound { .. });
            self.touch(!is_stop);
            if is_stop && frames_left == 0 {
                // An unwinding that ends no frame is no event.
                while frames_left == 0 {
                    let unwind = unwinds.next().expect("one for each group");
                    frames_left = unwind.frames.len() - unwind.keep as usize;
                    self.references.unwinds.push(self.references.all.len() as u64);
                }
            }
            frames_left -= usize::from(is_stop);
            self.open = match event {
                TraceEvent::Block(function, block) => Some((function, block, 0)),
                _ => None,
            };
            self.steps.push(TraceStep::Event(event));
        }
        // A frame between its last edge and its return is in EXIT.
        let inside = segment.end.last().filter(|frame| frame.stage == Stage::Body);
        let stays = inside.zip(self.open).is_some_and(|(frame, (_, block, _))| frame.block == block);
        self.touch(!stays);
        self.open = self.open.filter(|_| stays);
        (std::mem::take(&mut self.steps), std::mem::take(&mut self.references))
    }
}

fn traced(program: &[Function], accesses: &[Vec<Access>]) -> TracedFunctions {
    let function = |(function, accesses): (&Function, &Vec<Access>)| {
        function.traced().with_accesses(accesses).expect("ascending")
    };
    (0..).zip(program.iter().zip(accesses).map(function)).collect()
}

fn replayed(
    functions: &TracedFunctions,
    segment: &Segment,
    references: References,
) -> Result<Vec<TraceStep>, TraceError> {
    let walk = Regenerator::new(functions, segment.clone())?;
    TraceSteps::new(functions, walk, &segment.start, Some(references)).collect()
}

/// Each segment with what it gives.
fn example(seed: u64) -> (TracedFunctions, Run, Vec<(Vec<TraceStep>, References)>) {
    let mut rng = Rng::new(seed);
    let program = random_program(&mut rng, 12);
    let accesses = random_accesses(&program, &mut rng);
    let run = run(&program, &mut rng, 500);
    let (steps, references) = (Vec::new(), References::default());
    let mut memory = Memory { accesses: &accesses, rng, open: None, steps, references };
    let expected =
        run.segments.iter().zip(&run.logs).map(|(segment, log)| memory.segment(segment, log)).collect();
    (traced(&program, &accesses), run, expected)
}

#[test]
fn references_stand_where_they_were_made() {
    let mut made = 0;
    for seed in 0..300 {
        let (functions, run, expected) = example(seed);
        for (segment, (steps, references)) in run.segments.iter().zip(expected) {
            made += references.all.len();
            assert_eq!(replayed(&functions, segment, references), Ok(steps), "{seed}");
        }
    }
    assert!(made > 10_000, "{made}");
}

#[test]
fn references_of_other_blocks_are_refused() {
    let mut refused = 0;
    for seed in 0..50 {
        let (functions, run, expected) = example(seed);
        for (segment, (_, references)) in run.segments.iter().zip(expected) {
            let Some(last) = references.all.last().copied() else { continue };
            let mut other = references.clone();
            *other.all.last_mut().unwrap() = Reference { site: last.site + 1000, ..last };
            let more = References { all: [&references.all[..], &[last; 9]].concat(), ..references };
            for wrong in [other, more] {
                let error = replayed(&functions, segment, wrong).unwrap_err();
                assert!(matches!(error, TraceError::WrongReference { .. }), "{error}");
                refused += 1;
            }
        }
    }
    assert!(refused > 50, "{refused}");
}
