//! Files of bursts give back what was written, or say what is missing.

use std::io::Cursor;

use wprof_profiler::{BurstEvent, BurstReader, BurstWriter, TraceEnding, TraceFileError, TraceHead};

use crate::rng::Rng;

fn head() -> TraceHead {
    TraceHead { program: "walk".to_owned(), module_hash: [7; 32] }
}

fn random_events(count: usize) -> Vec<BurstEvent> {
    let mut rng = Rng::new(2);
    let event = |_| match rng.below(8) {
        0 => BurstEvent::Begin { checks: rng.next() },
        1 => BurstEvent::BeginByTime { nanoseconds: rng.next() },
        2 => BurstEvent::Enter { func: rng.below(100) as u32 },
        _ => BurstEvent::Path { func: rng.below(100) as u32, id: rng.next() >> 40 },
    };
    (0..count).map(event).collect()
}

/// A file of so many bytes at most, and whether that was too little.
fn written(events: &[BurstEvent], limit: u64) -> (Vec<u8>, bool) {
    let mut bytes = Vec::new();
    let mut writer = BurstWriter::new(&mut bytes, &head(), limit).unwrap();
    events.iter().for_each(|event| writer.push(*event).unwrap());
    let (length, is_full) = writer.finish().unwrap();
    assert_eq!(length, bytes.len() as u64);
    (bytes, is_full)
}

fn read(bytes: &[u8]) -> Result<(Vec<BurstEvent>, TraceEnding), TraceFileError> {
    let mut reader = BurstReader::open(Cursor::new(bytes))?;
    assert_eq!(*reader.head(), head());
    let events = reader.events().collect::<Result<_, _>>()?;
    Ok((events, reader.ending()))
}

#[test]
fn what_was_written_is_read() {
    for count in [0, 1, 200_000] {
        let events = random_events(count);
        let (bytes, is_full) = written(&events, u64::MAX);
        assert_eq!(read(&bytes).unwrap(), (events, TraceEnding::Finished));
        assert!(!is_full);
    }
}

#[test]
fn a_file_that_is_full_has_the_beginning() {
    let events = random_events(200_000);
    let (bytes, is_full) = written(&events, 500_000);
    let (found, ending) = read(&bytes).unwrap();
    assert!(is_full && bytes.len() <= 500_000 && ending == TraceEnding::LimitReached);
    assert!(!found.is_empty() && found.len() < events.len() && events.starts_with(&found));
}

#[test]
fn a_file_that_is_cut_off_or_damaged_gives_a_prefix_or_an_error() {
    let events = random_events(70_000);
    let (bytes, _) = written(&events, u64::MAX);
    for length in (0..bytes.len()).step_by(997).chain(0..200) {
        if let Ok((found, ending)) = read(&bytes[..length]) {
            assert!(events.starts_with(&found) && ending != TraceEnding::Finished, "{length}");
        }
    }
    for at in (0..bytes.len()).step_by(1009).chain(0..200) {
        let mut damaged = bytes.clone();
        damaged[at] ^= 4;
        if let Ok((found, ending)) = read(&damaged) {
            assert!(events.starts_with(&found) && (ending != TraceEnding::Finished || at < 12), "{at}");
        }
    }
}

#[test]
fn other_files_are_told() {
    assert!(matches!(read(b"not such a file"), Err(TraceFileError::Foreign)));
    let (mut bytes, _) = written(&[], u64::MAX);
    bytes[8] = 2;
    assert!(matches!(read(&bytes), Err(TraceFileError::OtherVersion { major: 2, minor: 0 })));
}
