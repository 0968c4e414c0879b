//! Targets for files in our own formats, which anybody may have written.

use std::io::Cursor;
use std::path::{Path, PathBuf};

use wprof::{Collect, Config, Engine, Module, ProfilingConfig, Strategy, Tracing};
use wprof_profiler::Profile;
use wprof_profiler::{BurstReader, ReadLimits, TraceReader, WholePath, unpack_trace};

use crate::engines::ours;
use crate::generate::{Case, case};

/// Tags of a profile's sections; in a target's bytes an index selects the tag.
const TAGS: [&[u8; 4]; 19] = [
    b"HEAD", b"FUNC", b"HOST", b"EVNT", b"BLCK", b"CNTX", b"PATH", b"METR", b"CMET", b"CKND", b"FLOW",
    b"STOP", b"SLCT", b"HTIM", b"BRST", b"TARG", b"TIME", b"GAIN", b"XTND",
];

/// Reads a profile: the file itself; or, if the bytes do not begin as a file does, the contents of its sections, which
/// are packed and given checksums here, because otherwise no change would get past the checksums.
pub fn profile(bytes: &[u8]) {
    let packed = if bytes.starts_with(b"wprof") { bytes.to_vec() } else { pack(bytes) };
    let Ok(profile) = Profile::from_bytes(&packed) else { return };
    profile.verify().expect("what is read is verified");
    let again = profile.to_bytes().expect("what was read can be written");
    assert_eq!(Profile::from_bytes(&again).expect("what was written can be read"), profile);
}

/// Packs a sequence of sections: each is a tag number, a length of two bytes, and the unpacked content.
fn pack(mut bytes: &[u8]) -> Vec<u8> {
    let mut file = b"wprof\r\n\x1a\x01\x00\x07\x00".to_vec();
    while let [tag, low, high, rest @ ..] = bytes {
        let length = usize::from(u16::from_le_bytes([*low, *high])).min(rest.len());
        let (raw, behind) = rest.split_at(length);
        let stored = zstd::encode_all(raw, 1).expect("memory");
        let begin = file.len();
        file.extend_from_slice(TAGS[usize::from(*tag) % TAGS.len()]);
        file.extend_from_slice(&(raw.len() as u64).to_le_bytes());
        file.extend_from_slice(&(stored.len() as u64).to_le_bytes());
        file.extend_from_slice(&stored);
        let sum = fnv(&file[begin..]);
        file.extend_from_slice(&sum.to_le_bytes());
        bytes = behind;
    }
    file.extend_from_slice(b"END \0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0");
    let sum = fnv(&file);
    file.extend_from_slice(&sum.to_le_bytes());
    file
}

/// Computes the FNV-1a hash.
fn fnv(bytes: &[u8]) -> u64 {
    let step = |hash: u64, &byte: &u8| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, step)
}

/// Unpacks a file; the inverse of `pack`, for seeds.
fn unpack(file: &[u8]) -> Vec<u8> {
    let (mut bytes, mut at) = (Vec::new(), 12);
    while let Some(head) = file.get(at..at + 20) {
        let word = |from: usize| u64::from_le_bytes(std::array::from_fn(|i| head[from + i])) as usize;
        let Some(tag) = TAGS.iter().position(|tag| head[..4] == tag[..]) else { break };
        let stored = &file[at + 20..at + 20 + word(12)];
        let raw = zstd::decode_all(stored).expect("written by us");
        let length = u16::try_from(raw.len()).unwrap_or(u16::MAX);
        bytes.push(tag as u8);
        bytes.extend_from_slice(&length.to_le_bytes());
        bytes.extend_from_slice(&raw[..usize::from(length)]);
        at += 28 + word(12);
    }
    bytes
}

/// Returns a case with control flow, whose profiles and traces are the seeds.
fn some_case() -> Case {
    case(4)
}

/// Returns profiles of different kinds, packed and unpacked.
pub fn some_profiles() -> Vec<Vec<u8>> {
    let mut edges = Config::new();
    edges.profiling(ProfilingConfig::Exact(Collect::Edges)).count_contexts(true).time_line(true);
    let mut paths = Config::new();
    paths.profiling(ProfilingConfig::Exact(Collect::Paths)).time_host_calls(true);
    let mut seeds = Vec::new();
    for config in [edges, paths] {
        let engine = Engine::new(&config).expect("an engine for this machine");
        let Case { wasm, drive, .. } = some_case();
        let ran = ours::run(&engine, &wasm, &drive).expect("valid");
        let profile = ran.profile().expect("instantiated").expect("counted");
        let file = profile.to_bytes().expect("small");
        seeds.extend([unpack(&file), file]);
    }
    seeds
}

/// Reads a trace, packed or not, a whole program path, or a burst file.
pub fn trace(bytes: &[u8]) {
    const LIMIT: u64 = 1 << 16;
    let _ = unpack_trace(&mut Cursor::new(bytes), &mut std::io::sink(), LIMIT);
    if let Ok(whole) = WholePath::read(Cursor::new(bytes), &ReadLimits::default()) {
        whole.grammar().items().take(100_000).for_each(drop);
        whole.hot_subpaths(1..=3, 2, |_, _| 1);
        whole.segments(1, |_, _| 1);
    }
    if let Ok(mut reader) = BurstReader::open(Cursor::new(bytes)) {
        reader.events().take(100_000).for_each(drop);
    }
    let Ok(mut reader) = TraceReader::open(Cursor::new(bytes)) else { return };
    let _ = reader.stats_of_first(8);
    for chunk in 0..reader.chunk_count().min(8) {
        reader.steps_from(chunk).take(100_000).for_each(drop);
    }
    let mut packed = Vec::new();
    if reader.chunk_count() <= 8 && reader.pack(&mut packed).is_ok() {
        let mut again = Vec::new();
        unpack_trace(&mut Cursor::new(&packed), &mut again, 1 << 32).expect("what was packed is unpacked");
        let mut unpacked = TraceReader::open(Cursor::new(&again[..])).expect("a trace");
        assert_eq!(unpacked.chunk_count(), reader.chunk_count());
        for chunk in 0..reader.chunk_count() {
            assert_eq!(unpacked.segment(chunk).ok(), reader.segment(chunk).ok());
        }
    }
}

/// Returns a trace with data references, its packed form, and its whole program path.
pub fn some_traces() -> Vec<Vec<u8>> {
    let mut config = Config::new();
    config.trace(Tracing::Best).trace_references(true).trace_buffer(256);
    let engine = Engine::new(&config).expect("an engine for this machine");
    let Case { wasm, drive, .. } = some_case();
    let ran = ours::run(&engine, &wasm, &drive).expect("valid");
    let trace = ran.trace.expect("a trace was taken");
    let (mut packed, mut whole) = (Vec::new(), Vec::new());
    let reader = || TraceReader::open(Cursor::new(&trace[..])).expect("just written");
    reader().pack(&mut packed).expect("whole");
    WholePath::of_trace(&mut reader(), 100).expect("whole").write(&mut whole).expect("memory");
    vec![trace, packed, whole]
}

/// Loads a file of the code cache with some bytes changed: each change is a place in two bytes, and the number to add
/// to the byte there. The module must behave the same, whatever the file contains.
pub fn code_cache(bytes: &[u8]) {
    let folder = tempfile::tempdir().expect("a folder");
    let mut config = Config::new();
    config.strategy(Strategy::Baseline).code_cache(folder.path().join("code"));
    let engine = Engine::new(&config).expect("an engine for this machine");
    let Case { wasm, drive, .. } = some_case();
    let expected = ours::run(&engine, &wasm, &drive).expect("valid").outcome;
    let module = Module::new(&engine, &wasm).expect("valid");
    module.compile_all().expect("small");
    module.update_code_cache().expect("a folder of ours");
    drop(module);
    let Some(file) = only_file(&folder.path().join("code")) else { return };
    let mut content = std::fs::read(&file).expect("just written");
    for change in bytes.chunks_exact(3) {
        let at = usize::from(u16::from_le_bytes([change[0], change[1]])) % content.len();
        content[at] = content[at].wrapping_add(change[2]);
    }
    if bytes.len() % 3 == 1 {
        content.truncate(usize::from(bytes[0]) * content.len() / 256);
    }
    std::fs::write(&file, content).expect("a folder of ours");
    let found = ours::run(&engine, &wasm, &drive).expect("valid").outcome;
    expected.same_as(&found).expect("changed code is not used");
}

fn only_file(folder: &Path) -> Option<PathBuf> {
    Some(std::fs::read_dir(folder).ok()?.next()?.ok()?.path())
}

/// Returns a few changes.
pub fn some_changes() -> Vec<Vec<u8>> {
    vec![vec![0, 0, 1], vec![40, 0, 7, 200, 1, 255], vec![128]]
}
