//! Packed traces: what comes out is what went in, and it is less.

use std::io::Cursor;

use wprof_profiler::{
    BitStream, Cfg, EdgeId, Segment, TraceEvent, TraceFileError, TraceMethod, TraceReader, unpack_trace,
};

use crate::rng::Rng;
use crate::trace_file::{example, write};
use crate::trace_machine::{Function, Run};

fn pack(trace: &[u8]) -> (Vec<u8>, wprof_profiler::PackSummary) {
    let mut packed = Vec::new();
    let summary = TraceReader::open(Cursor::new(trace)).unwrap().pack(&mut packed).unwrap();
    assert_eq!(summary.file_bytes, packed.len() as u64);
    (packed, summary)
}

fn unpack(packed: &[u8]) -> Result<Vec<u8>, TraceFileError> {
    let mut trace = Vec::new();
    unpack_trace(&mut Cursor::new(packed), &mut trace, 1 << 30).map(|_| trace)
}

#[test]
fn what_was_packed_comes_back_byte_for_byte() {
    for seed in 0..120 {
        let (program, run) = example(seed, 15, 900);
        let trace = write(&program, &run, u64::MAX);
        let (packed, summary) = pack(&trace);
        assert_eq!(summary.bits, run.segments.iter().map(|segment| segment.bits.len()).sum::<u64>());
        assert_eq!(unpack(&packed).unwrap(), trace, "seed {seed}");
    }
}

#[test]
fn a_trace_that_is_cut_off_keeps_its_whole_chunks() {
    let (program, run) = example(5, 8, 300);
    let trace = write(&program, &run, u64::MAX);
    for length in (0..trace.len()).step_by(7) {
        let Ok(mut reader) = TraceReader::open(Cursor::new(&trace[..length])) else { continue };
        let mut packed = Vec::new();
        reader.pack(&mut packed).unwrap();
        let back = unpack(&packed).unwrap();
        assert!(trace.starts_with(&back));
        let again = TraceReader::open(Cursor::new(&back[..])).unwrap();
        assert_eq!(again.chunk_count(), reader.chunk_count(), "cut at {length}");
    }
}

#[test]
fn damage_is_an_error_or_nothing() {
    let (program, run) = example(11, 8, 300);
    let trace = write(&program, &run, u64::MAX);
    let (packed, _) = pack(&trace);
    for byte in (0..packed.len()).step_by(11) {
        let mut damaged = packed.clone();
        damaged[byte] ^= 1 << (byte % 8);
        // The minor version says nothing of what is there.
        assert!(unpack(&damaged).is_err() || byte == 10 || byte == 11, "bit flipped in byte {byte}");
    }
    let mut small = Vec::new();
    let error = unpack_trace(&mut Cursor::new(&packed), &mut small, 200);
    assert!(matches!(error, Err(TraceFileError::UnpacksTo(200))));
    assert!(small.len() <= 200);
    assert!(matches!(unpack(&trace), Err(TraceFileError::NotPacked)));
}

/// A loop in which a branch does what it did seven rounds ago.
#[test]
fn what_is_predictable_takes_almost_no_bits() {
    let edges = [(0, 1), (1, 2), (1, 3), (2, 4), (3, 4), (4, 1), (4, 5)];
    let program = [Function::new(Cfg::from_pairs(5, &edges).unwrap(), Vec::new(), TraceMethod::BitTracing)];
    let mut bits = BitStream::default();
    let mut cross = |edge: u32| {
        if let Some(emit) = program[0].plan.emit_of(EdgeId(edge)) {
            bits.push(emit.value, emit.bits);
        }
    };
    let (mut rng, rounds) = (Rng::new(3), 30_000);
    let pattern: Vec<bool> = (0..7).map(|_| rng.once_in(2)).collect();
    for round in 0..rounds {
        let (taken, back) = if pattern[round % 7] { (1, 3) } else { (2, 4) };
        [taken, back, if round + 1 < rounds { 5 } else { 6 }].into_iter().for_each(&mut cross);
    }
    let mut whole = BitStream::default();
    whole.push(1, 1);
    whole.push(0, 32);
    (0..bits.len()).for_each(|at| whole.push(bits.bit(at).unwrap().into(), 1));
    let segments = vec![Segment { bits: whole, ..Segment::default() }];
    let run = Run { segments, logs: vec![vec![TraceEvent::Enter(0)]], ..Run::default() };
    let trace = write(&program, &run, u64::MAX);
    let (packed, summary) = pack(&trace);
    assert_eq!(summary.branches, 2 * rounds as u64);
    assert!(summary.bits_per_branch().unwrap() < 0.01, "{summary:?}");
    assert_eq!(unpack(&packed).unwrap(), trace);
}
