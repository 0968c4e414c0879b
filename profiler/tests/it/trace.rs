//! Regenerated runs against the log of the run.

use wprof_profiler::{
    BitStream, BlockId, Call, Cfg, Frame, Regenerator, Segment, Stage, TraceError, TraceEvent, TraceMethod,
    TracedFunctions, Unwind,
};

use crate::random_cfg::small_cfgs;
use crate::rng::Rng;
use crate::trace_machine::{
    Function, METHODS, check, joined, random_calls, random_program, regenerate, run, traced,
};

#[test]
fn what_is_regenerated_is_what_ran() {
    arbtest::arbtest(|u| {
        let size = u.int_in_range(1..=30)?;
        let steps = u.int_in_range(0..=2000)?;
        let mut rng = Rng::new(u.arbitrary()?);
        let program = random_program(&mut rng, size);
        check(&program, &run(&program, &mut rng, steps));
        Ok(())
    })
    .budget_ms(4000);
}

#[test]
fn what_is_regenerated_on_all_small_graphs_is_what_ran() {
    let mut rng = Rng::new(12);
    for (index, cfg) in small_cfgs().enumerate() {
        let calls = if index % 2 == 0 { vec![] } else { random_calls(&cfg, 1, &mut rng) };
        let program = [Function::new(cfg, calls, METHODS[index % 3])];
        check(&program, &run(&program, &mut rng, 120));
    }
}

#[test]
fn segments_joined_are_the_whole_run() {
    let mut rng = Rng::new(13);
    for _ in 0..200 {
        let program = random_program(&mut rng, 12);
        let run = run(&program, &mut rng, 400);
        let (events, error) = regenerate(&traced(&program), &joined(&run));
        assert_eq!((events, error), (run.logs.concat(), None));
    }
}

fn body(function: u32, block: u32) -> Frame {
    Frame { function, block: BlockId(block), stage: Stage::Body }
}

/// Every path of so many edges from ENTRY, as edges.
fn paths(cfg: &Cfg, edges: usize) -> Vec<Vec<wprof_profiler::EdgeId>> {
    let mut all = vec![vec![]];
    let mut from = 0;
    for _ in 0..edges {
        let longer: Vec<Vec<_>> = all[from..]
            .iter()
            .flat_map(|path: &Vec<_>| {
                let at = path.last().map_or(BlockId::ENTRY, |&edge| cfg.edge(edge).to);
                cfg.out_edges(at).iter().map(move |&edge| [&path[..], &[edge]].concat())
            })
            .collect();
        from = all.len();
        all.extend(longer);
    }
    all
}

/// Every path of every small graph, stopped at each of its blocks: no two can be taken for each other.
#[test]
fn every_short_path_is_regenerated() {
    for cfg in small_cfgs() {
        for method in METHODS {
            let program = [Function::new(cfg.clone(), vec![], method)];
            let functions = traced(&program);
            for path in paths(&cfg, 4) {
                let mut bits = BitStream::default();
                let emits = path.iter().filter_map(|&edge| program[0].plan.emit_of(edge));
                emits.for_each(|emit| bits.push(emit.value, emit.bits));
                let last = path.last().map_or(BlockId::ENTRY, |&edge| cfg.edge(edge).to);
                let segment = Segment {
                    bits,
                    start: vec![body(0, 0)],
                    end: vec![body(0, last.0)],
                    ..Segment::default()
                };
                let blocks = path.iter().map(|&edge| cfg.edge(edge).to).filter(|&to| to != cfg.exit());
                let log: Vec<_> = blocks.map(|block| TraceEvent::Block(0, block)).collect();
                assert_eq!(regenerate(&functions, &segment), (log, None), "{method:?} {cfg:?} {path:?}");
            }
        }
    }
}

/// Functions of one block each.
fn straight_line(calls: &[Option<Call>]) -> TracedFunctions {
    let cfg = Cfg::from_pairs(1, &[(0, 1)]).unwrap();
    let function = |&call| Function::new(cfg.clone(), vec![call], TraceMethod::Witnesses);
    traced(&calls.iter().map(function).collect::<Vec<_>>())
}

/// A function that calls itself before anything else runs until the stack ends, and writes no bit.
#[test]
fn endless_recursion_stops_where_it_stopped() {
    let functions = straight_line(&[Some(Call::Direct(0))]);
    let calling = Frame { stage: Stage::Call, ..body(0, 0) };
    let depth = 1000;
    let frames = [vec![calling; depth - 1], vec![body(0, 0)]].concat();
    let unwinds = vec![Unwind { position: 33, frames, keep: 0 }];
    let mut bits = BitStream::default();
    bits.push(1, 1);
    bits.push(0, 32);
    let segment = Segment { bits, unwinds, ..Segment::default() };
    let (events, error) = regenerate(&functions, &segment);
    assert_eq!((events.len(), error), (3 * depth, None));
    // Damaged: nobody stopped it.
    let endless = Segment { unwinds: vec![], ..segment };
    let last = Regenerator::new(&functions, endless).unwrap().last();
    assert_eq!(last, Some(Err(TraceError::TooDeep { position: 33 })));
}

/// A trap that the host catches, then another call back, then the return: all in one host call.
#[test]
fn a_caught_trap_ends_only_the_frames_above_the_host() {
    let functions = straight_line(&[Some(Call::Host), None]);
    let mut bits = BitStream::default();
    [(1, 1), (0, 32), (1, 1), (1, 32), (1, 1), (1, 32), (0, 1)].iter().for_each(|&(v, n)| bits.push(v, n));
    let in_host = Frame { stage: Stage::Host, ..body(0, 0) };
    let unwinds = vec![Unwind { position: 66, frames: vec![in_host, body(1, 0)], keep: 1 }];
    let segment = Segment { bits, unwinds, ..Segment::default() };
    let block = BlockId(0);
    let called_back = [TraceEvent::Enter(1), TraceEvent::Block(1, block)];
    let expected = [
        &[TraceEvent::Enter(0), TraceEvent::Block(0, block), TraceEvent::HostCall(0, block)][..],
        &called_back,
        &[TraceEvent::Unwound { function: 1, block }],
        &called_back,
        &[TraceEvent::Leave(1), TraceEvent::HostReturn(0, block), TraceEvent::Leave(0)],
    ];
    assert_eq!(regenerate(&functions, &segment), (expected.concat(), None));
    let keeps_too_much = Unwind { keep: 2, ..segment.unwinds[0].clone() };
    let wrong = Segment { unwinds: vec![keeps_too_much], ..segment };
    let refused = regenerate(&functions, &wrong).1;
    assert_eq!(refused, Some(TraceError::BadStack { position: 66, frame: 2 }));
}

#[test]
fn impossible_stacks_are_refused() {
    let functions = straight_line(&[None]);
    let stages = [Stage::Call, Stage::Host, Stage::Returned];
    let alone = stages.map(|stage| vec![Frame { stage, ..body(0, 0) }]);
    let others = [vec![body(0, 2)], vec![body(7, 0)], vec![body(0, 0); 2]];
    for frames in alone.into_iter().chain(others) {
        for (start, end) in [(frames.clone(), vec![]), (vec![], frames.clone())] {
            let error = regenerate(&functions, &Segment { start, end, ..Segment::default() }).1;
            assert!(matches!(error, Some(TraceError::BadStack { position: 0, .. })), "{frames:?}");
        }
    }
    let late = Unwind { position: 1, frames: vec![], keep: 0 };
    let error = regenerate(&functions, &Segment { unwinds: vec![late], ..Segment::default() }).1;
    assert_eq!(error, Some(TraceError::Lost { position: 1 }));
}

#[test]
fn errors_name_the_bit() {
    let functions = straight_line(&[None]);
    let error = |tokens: &[(u32, u8)]| {
        let mut bits = BitStream::default();
        tokens.iter().for_each(|&(value, count)| bits.push(value, count));
        regenerate(&functions, &Segment { bits, first_bit: 100, ..Segment::default() }).1
    };
    assert_eq!(error(&[(1, 1), (0, 32)]), None);
    assert_eq!(error(&[(0, 1)]), Some(TraceError::Lost { position: 101 }));
    assert_eq!(error(&[(1, 1), (0, 31)]), Some(TraceError::Lost { position: 101 }));
    let unknown = TraceError::UnknownFunction { position: 133, function: 5 };
    assert_eq!(error(&[(1, 1), (5, 32)]), Some(unknown));
    assert_eq!(error(&[(1, 1), (0, 32), (0, 1)]), Some(TraceError::Lost { position: 134 }));
}

/// Damaged bits and stacks give an error or another possible run, and always an end.
#[test]
fn damaged_segments_never_panic() {
    let mut noticed = 0;
    let mut rng = Rng::new(17);
    for _ in 0..600 {
        let program = random_program(&mut rng, 12);
        let run = run(&program, &mut rng, 200);
        let functions = traced(&program);
        for segment in run.segments {
            let mut bits = BitStream::default();
            let cut = rng.below(segment.bits.len() as usize + 2) as u64;
            for at in 0..segment.bits.len().min(cut) {
                bits.push(u32::from(segment.bits.bit(at).unwrap() != rng.once_in(100)), 1);
            }
            let mut damaged = Segment { bits, ..segment };
            let unwinds = damaged.unwinds.iter_mut().map(|unwind| &mut unwind.frames);
            let stacks = unwinds.chain([&mut damaged.start, &mut damaged.end]);
            for frame in stacks.flatten() {
                if rng.once_in(20) {
                    *frame = body(rng.below(5) as u32, rng.below(15) as u32);
                }
            }
            if let Ok(walk) = Regenerator::new(&functions, damaged) {
                // Unbounded recursion takes millions of steps to notice.
                noticed += u32::from(walk.take(10_000).any(|event| event.is_err()));
            }
        }
    }
    assert!(noticed > 500, "{noticed}");
}

/// A function with an assertion, called twice, writes nothing; the second time the assertion fails. Only
/// the callers tell which of the two calls stopped.
#[test]
fn the_outer_frames_tell_which_call_trapped() {
    let caller = Cfg::from_pairs(2, &[(0, 1), (1, 2)]).unwrap();
    let asserting = Cfg::from_pairs(3, &[(0, 1), (0, 2), (2, 3)]).unwrap();
    let call = Some(Call::Direct(1));
    for method in [TraceMethod::Witnesses, TraceMethod::BitTracing] {
        let program = [
            Function::new(caller.clone(), vec![call, call], method),
            Function::new(asserting.clone(), vec![], method),
        ];
        let end = vec![Frame { stage: Stage::Call, ..body(0, 1) }, body(1, 1)];
        let segment = Segment { start: vec![body(0, 0)], end, ..Segment::default() };
        let block = |function, block| TraceEvent::Block(function, BlockId(block));
        let first = [TraceEvent::Enter(1), block(1, 0), block(1, 2), TraceEvent::Leave(1)];
        let second = [block(0, 1), TraceEvent::Enter(1), block(1, 0), block(1, 1)];
        assert_eq!(regenerate(&traced(&program), &segment), ([first, second].concat(), None));
    }
}
