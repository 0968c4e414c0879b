//! Trace files: what was recorded is replayed, and of a damaged file only the beginning.

use std::io::Cursor;

use wprof_profiler::{
    BitStream, FunctionTable, Reference, References, TraceChunk, TraceEnding, TraceEvent, TraceFileError,
    TraceHead, TraceReader, TraceWriter,
};

use crate::rng::Rng;
use crate::trace_machine::{Function, Run, random_program, run};

fn head() -> TraceHead {
    TraceHead { program: "walk".to_owned(), module_hash: [7; 32] }
}

fn table(program: &[Function], index: usize) -> FunctionTable {
    let Function { cfg, calls, plan } = &program[index];
    FunctionTable::new(index as u32, cfg, calls, plan)
}

fn references(chunk: usize) -> Option<References> {
    let reference = |i| Reference { site: i as u32 * 3, index: 1000 * i, length: (i % 3 == 0).then_some(i) };
    let all = (0..chunk as u64 % 5).map(reference).collect();
    Some(References { all, done: chunk as u32, unwinds: vec![2; chunk] })
}

fn chunk(run: &Run, index: usize) -> TraceChunk {
    let segment = run.segments[index].clone();
    TraceChunk {
        bits: segment.bits,
        unwinds: segment.unwinds,
        end: segment.end,
        references: references(index),
    }
}

/// Functions come as late as they may: before the first chunk whose log names them.
pub fn write(program: &[Function], run: &Run, limit: u64) -> Vec<u8> {
    let mut writer = TraceWriter::new(Vec::new(), &head(), limit).unwrap();
    let mut given = vec![false; program.len()];
    for (index, log) in run.logs.iter().enumerate() {
        for event in log {
            let TraceEvent::Enter(function) = *event else { continue };
            if !std::mem::replace(&mut given[function as usize], true) {
                writer.add_functions(&[table(program, function as usize)]).unwrap();
            }
        }
        let recorded = writer.write_chunk(&chunk(run, index)).unwrap();
        assert_eq!(recorded, writer.is_recording());
        assert!(writer.written() <= limit);
    }
    writer.finish().unwrap()
}

type Reader<'a> = TraceReader<Cursor<&'a [u8]>>;

fn open(bytes: &[u8]) -> Result<Reader<'_>, TraceFileError> {
    TraceReader::open(Cursor::new(bytes))
}

/// All events from a chunk on, and the error after them.
fn replay(reader: &mut Reader<'_>, from: usize) -> (Vec<TraceEvent>, Option<TraceFileError>) {
    let mut events = Vec::new();
    for event in reader.events_from(from) {
        match event {
            Ok(event) => events.push(event),
            Err(error) => return (events, Some(error)),
        }
    }
    (events, None)
}

pub fn example(seed: u64, size: u32, steps: usize) -> (Vec<Function>, Run) {
    let mut rng = Rng::new(seed);
    let program = random_program(&mut rng, size);
    let run = run(&program, &mut rng, steps);
    (program, run)
}

#[test]
fn every_chunk_is_a_place_to_begin() {
    for seed in 0..60 {
        let (program, run) = example(seed, 15, 600);
        let bytes = write(&program, &run, u64::MAX);
        let mut reader = open(&bytes).unwrap();
        assert_eq!((reader.head(), reader.ending()), (&head(), TraceEnding::Finished));
        assert_eq!(reader.ending().notice(), None);
        assert_eq!(reader.chunk_count(), run.segments.len());
        for index in (0..run.segments.len()).rev() {
            assert_eq!(reader.segment(index).unwrap(), run.segments[index]);
            assert_eq!(reader.references(index).unwrap(), references(index));
            let (events, error) = replay(&mut reader, index);
            assert!(error.is_none(), "{error:?}");
            assert_eq!(events, run.logs[index..].concat());
        }
        let beyond = reader.segment(run.segments.len());
        assert!(matches!(beyond, Err(TraceFileError::NoChunk { .. })));
    }
}

/// What a file gives must be a prefix of the run that ends with a chunk, or an error at one.
fn check_prefix(bytes: &[u8], run: &Run, what: &str) -> Option<usize> {
    let mut reader = open(bytes).ok()?;
    let chunks = reader.chunk_count();
    assert!(chunks <= run.logs.len(), "{what}");
    let complete = reader.ending() == TraceEnding::Finished;
    assert_eq!(complete, reader.ending().notice().is_none());
    let (events, error) = replay(&mut reader, 0);
    let whole: Vec<_> = run.logs[..chunks].concat();
    assert!(whole.starts_with(&events), "{what}");
    assert!(error.is_some() || events.len() == whole.len(), "{what}");
    assert!(!complete || error.is_some() || chunks == run.logs.len(), "{what}");
    Some(chunks)
}

#[test]
fn a_file_cut_off_anywhere_gives_its_whole_chunks() {
    let (program, run) = example(5, 8, 300);
    let bytes = write(&program, &run, u64::MAX);
    let mut counts = Vec::new();
    for length in 0..bytes.len() {
        let chunks = check_prefix(&bytes[..length], &run, &format!("cut at {length}"));
        if let Some(chunks) = chunks {
            let mut reader = open(&bytes[..length]).unwrap();
            assert!(matches!(reader.ending(), TraceEnding::CutOff { byte } if byte <= length as u64));
            assert!(reader.ending().notice().unwrap().contains("breaks off at byte"));
            assert!(replay(&mut reader, 0).1.is_none(), "whole chunks are good");
            counts.push(chunks);
        }
    }
    assert!(counts.is_sorted() && counts[0] == 0);
    assert_eq!(counts.last(), Some(&run.logs.len()), "without its ending it has all chunks");
}

#[test]
fn a_flipped_bit_is_an_error_or_ends_the_trace_before_it() {
    let (program, run) = example(5, 8, 100);
    let bytes = write(&program, &run, u64::MAX);
    for bit in 0..bytes.len() * 8 {
        let mut damaged = bytes.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        check_prefix(&damaged, &run, &format!("bit {bit}"));
        let noticed = match open(&damaged) {
            Err(_) => true,
            Ok(mut reader) => {
                let chunks = reader.chunk_count();
                reader.ending() != TraceEnding::Finished
                    || replay(&mut reader, 0).1.is_some()
                    || (0..chunks).any(|chunk| reader.references(chunk).is_err())
            }
        };
        // A newer minor version is read like this one.
        assert!(noticed || bit / 8 == 10 || bit / 8 == 11, "bit {bit}");
    }
}

#[test]
fn a_bounded_file_holds_the_beginning_of_the_run() {
    let (program, run) = example(7, 12, 1500);
    let full = write(&program, &run, u64::MAX);
    let mut seen = Vec::new();
    for limit in (200..full.len() as u64).step_by(97) {
        let bytes = write(&program, &run, limit);
        assert!(bytes.len() as u64 <= limit);
        let chunks = check_prefix(&bytes, &run, &format!("limit {limit}")).unwrap();
        let reader = open(&bytes).unwrap();
        assert_eq!(reader.ending(), TraceEnding::LimitReached);
        assert!(reader.ending().notice().unwrap().contains("size limit"));
        seen.push(chunks);
    }
    assert!(seen.is_sorted() && seen.last() > seen.first());
    assert_eq!(write(&program, &run, full.len() as u64), full);
}

#[test]
fn foreign_files_and_other_versions_are_told() {
    assert!(matches!(open(b""), Err(TraceFileError::Foreign)));
    assert!(matches!(open(b"wprof\r\n\x1a\x01\0\0\0"), Err(TraceFileError::Foreign)));
    assert!(matches!(open(b"wprt\r\n\x1a\n\x01\0\0\0"), Err(TraceFileError::Damaged { byte: 12, .. })));
    let newer = open(b"wprt\r\n\x1a\n\x02\0\x03\0");
    assert!(matches!(newer, Err(TraceFileError::OtherVersion { major: 2, minor: 3 })));
}

#[test]
fn a_trace_of_nothing_is_a_trace() {
    let bytes = TraceWriter::new(Vec::new(), &head(), u64::MAX).unwrap().finish().unwrap();
    let mut reader = open(&bytes).unwrap();
    assert_eq!((reader.ending(), reader.chunk_count()), (TraceEnding::Finished, 0));
    assert_eq!(replay(&mut reader, 0).0, []);
    assert_eq!(reader.stats().unwrap().stream_bytes_per_1000_blocks(), None);
}

#[test]
fn a_function_given_twice_or_never_is_noticed() {
    let (program, run) = example(9, 8, 200);
    let mut writer = TraceWriter::new(Vec::new(), &head(), u64::MAX).unwrap();
    writer.write_chunk(&chunk(&run, 0)).unwrap();
    let bytes = writer.finish().unwrap();
    assert!(matches!(replay(&mut open(&bytes).unwrap(), 0).1, Some(TraceFileError::Contradiction(_))));
    let mut writer = TraceWriter::new(Vec::new(), &head(), u64::MAX).unwrap();
    writer.add_functions(&[table(&program, 0), table(&program, 0)]).unwrap();
    writer.write_chunk(&TraceChunk::default()).unwrap();
    let bytes = writer.finish().unwrap();
    assert!(matches!(open(&bytes).unwrap().ending(), TraceEnding::CutOff { .. }));
}

#[test]
fn a_device_that_fills_up_leaves_whole_sections() {
    struct Full(Vec<u8>, usize);
    impl std::io::Write for &mut Full {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            let room = bytes.len().min(self.1 - self.0.len());
            self.0.extend_from_slice(&bytes[..room]);
            Ok(room)
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let (program, run) = example(5, 8, 300);
    let whole = write(&program, &run, u64::MAX).len();
    for room in (200..whole).step_by(31) {
        let mut device = Full(Vec::new(), room);
        let mut writer = TraceWriter::new(&mut device, &head(), u64::MAX).unwrap();
        let tables: Vec<_> = (0..program.len()).map(|index| table(&program, index)).collect();
        writer.add_functions(&tables).unwrap();
        let results: Vec<_> =
            (0..run.logs.len()).map(|index| writer.write_chunk(&chunk(&run, index))).collect();
        let failed = results.iter().position(|result| !matches!(result, Ok(true)));
        if let Some(failed) = failed {
            assert!(matches!(results[failed], Err(TraceFileError::Io(_))));
            assert!(results[failed + 1..].iter().all(|result| matches!(result, Ok(false))));
            drop(writer);
            assert_eq!(check_prefix(&device.0, &run, "full"), Some(failed));
        }
    }
}

#[test]
fn statistics_are_those_of_the_log() {
    let (program, run) = example(11, 12, 3000);
    let bytes = write(&program, &run, u64::MAX);
    let stats = open(&bytes).unwrap().stats().unwrap();
    let blocks = run.logs.iter().flatten().filter(|event| matches!(event, TraceEvent::Block(..)));
    assert_eq!(stats.blocks(), blocks.count() as u64);
    assert_eq!(stats.stream_bits, run.segments.iter().map(|segment| segment.bits.len()).sum::<u64>());
    assert_eq!(stats.file_bytes, bytes.len() as u64);
    let predicates: u64 = stats.methods.values().map(|method| method.counts.predicates).sum();
    assert_eq!(predicates, run.predicates);
    let bits: u64 = stats.methods.values().map(|method| method.counts.bits).sum();
    assert_eq!(bits, run.edge_bits);
    for method in stats.methods.values().filter(|method| method.counts.predicates > 0) {
        let expected = method.counts.bits as f64 / method.counts.predicates as f64;
        assert_eq!(method.bits_per_predicate(), Some(expected));
    }
    assert!(stats.stored_bytes < stats.file_bytes);
}

#[test]
fn statistics_of_the_first_chunks_are_theirs_alone() {
    let (program, run) = example(11, 12, 3000);
    let bytes = write(&program, &run, u64::MAX);
    let mut reader = open(&bytes).unwrap();
    assert!(run.segments.len() > 2);
    for chunks in 0..=run.segments.len() + 1 {
        let stats = reader.stats_of_first(chunks).unwrap();
        let segments = run.segments.iter().take(chunks);
        assert_eq!(stats.stream_bits, segments.map(|segment| segment.bits.len()).sum::<u64>());
        assert_eq!(stats.stored_bytes > 0, chunks > 0);
    }
    let all = reader.stats().unwrap();
    assert_eq!(reader.stats_of_first(run.segments.len()).unwrap(), all);
    assert!(reader.stats_of_first(1).unwrap().blocks() < all.blocks());
}

#[test]
fn random_bytes_for_a_trace_never_panic() {
    let (program, run) = example(5, 8, 200);
    let bytes = write(&program, &run, u64::MAX);
    arbtest::arbtest(|u| {
        let mut damaged = bytes.clone();
        for _ in 0..u.int_in_range(1..=20)? {
            let at = u.choose_index(damaged.len())?;
            damaged[at] = u.arbitrary()?;
        }
        check_prefix(&damaged, &run, "random damage");
        Ok(())
    })
    .budget_ms(1000);
    assert_eq!(BitStream::from_bytes(vec![], 1), None);
}
