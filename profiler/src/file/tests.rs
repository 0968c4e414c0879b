//! Tests with files of other versions, which the public interface cannot write.

use super::*;
use crate::FunctionCounts;

fn file(minor: u16, build: impl FnOnce(&mut Writer)) -> Vec<u8> {
    let head =
        Head { program: "p".to_owned(), module_hash: [7; 32], runs: Vec::new(), code: CodeStats::default() };
    let mut writer = Writer::new(header(MAJOR, minor));
    writer.section(HEAD, &head).unwrap();
    writer.section(FUNC, &Vec::<FunctionRow<'_>>::new()).unwrap();
    build(&mut writer);
    writer.finish().unwrap()
}

fn host(writer: &mut Writer) {
    writer.section(HOST, &Vec::<HostCalls>::new()).unwrap();
}

#[test]
fn an_unknown_section_of_a_newer_minor_version_is_skipped() {
    let newer = file(MINOR + 1, |writer| {
        writer.raw_section(Tag(*b"NEXT"), 9, b"no zstd at all");
        host(writer);
    });
    assert_eq!(Profile::from_bytes(&newer).unwrap().program, "p");
}

#[test]
fn a_file_of_version_1_0_has_no_events() {
    assert_eq!(Profile::from_bytes(&file(0, host)).unwrap().events, []);
}

#[test]
fn a_file_of_a_version_before_1_9_has_no_sampled_time() {
    let old = file(8, |writer| {
        host(writer);
        writer.section(BRST, &7_u64).unwrap();
    });
    let profile = Profile::from_bytes(&old).unwrap();
    assert_eq!((profile.time.clone(), profile.bursts), (None, Some(7)));
    assert!(!profile.to_bytes().unwrap().windows(4).any(|tag| tag == b"SMPL"), "nor is it written");
}

#[test]
fn a_file_of_a_version_before_1_11_has_no_skipped_bursts() {
    let old = file(10, |writer| {
        host(writer);
        writer.section(BRST, &7_u64).unwrap();
    });
    let profile = Profile::from_bytes(&old).unwrap();
    assert_eq!((profile.skipped.clone(), profile.skipped_bursts()), (None, 0));
    assert!(!profile.to_bytes().unwrap().windows(4).any(|tag| tag == b"SKIP"), "nor are they written");
}

#[test]
fn skipped_bursts_are_stored() {
    let of = |function, bursts| crate::SkippedIn { function, name: None, bursts, ops: 99 };
    let with = |functions| Profile {
        skipped: Some(crate::SkippedBursts { bursts: 6, functions }),
        ..Profile::default()
    };
    let profile = with(vec![of(2, 1), of(4, 5)]);
    assert_eq!(Profile::from_bytes(&profile.to_bytes().unwrap()).unwrap(), profile);
    for wrong in [vec![of(4, 1), of(2, 1)], vec![of(2, 7)]] {
        assert!(matches!(with(wrong).to_bytes(), Err(FileError::Invalid(InvalidProfile::Unsorted { .. }))));
    }
}

/// A reader of version 1.0 skips the section, and would otherwise take the missing edge counts for zeros.
#[test]
fn functions_without_counts_of_edges_are_stored_apart() {
    let cfg = crate::Cfg::from_pairs(1, &[(0, 1)]).unwrap();
    let function = FunctionProfile {
        index: 3,
        name: None,
        code: crate::CodeRange::default(),
        fingerprint: cfg.fingerprint(),
        kind: crate::FigureKind::Exact,
        blocks: vec![crate::BlockProfile { code: crate::CodeRange::default(), ops: 1 }],
        edges: vec![crate::EdgeProfile {
            from: crate::BlockId(0),
            to: crate::BlockId(1),
            kind: crate::EdgeKind::Return,
        }],
        exits: Vec::new(),
        cost: crate::CounterCost::default(),
        counts: FunctionCounts::Blocks(BlockCounts { blocks: vec![8], entries: 8 }),
    };
    let profile = Profile { functions: vec![function], ..Profile::default() };
    let bytes = profile.to_bytes().unwrap();
    let limits = ReadLimits::default();
    let (_, sections) = split_header(&bytes, &limits).unwrap();
    let seen: Vec<FunctionRow<'_>> = Reader::new(&bytes, sections, &limits).unwrap().take(FUNC).unwrap();
    assert!(seen.is_empty());
    assert_eq!(Profile::from_bytes(&bytes).unwrap(), profile);
}

#[test]
fn an_unknown_section_of_this_version_is_an_error() {
    let odd = file(MINOR, |writer| {
        host(writer);
        writer.raw_section(Tag(*b"NEXT"), 0, b"");
    });
    assert!(matches!(Profile::from_bytes(&odd), Err(FileError::UnknownSection(name)) if name == "NEXT"));
}

#[test]
fn a_missing_or_doubled_section_is_an_error() {
    let lacking = file(MINOR, |_| {});
    assert!(matches!(Profile::from_bytes(&lacking), Err(FileError::MissingSection(name)) if name == "HOST"));
    let doubled = file(MINOR, |writer| {
        host(writer);
        host(writer);
    });
    assert!(matches!(Profile::from_bytes(&doubled), Err(FileError::Damaged { .. })));
}

#[test]
fn another_major_version_says_which_wprof_to_use() {
    let newer = Profile::from_bytes(&Writer::new(header(MAJOR + 1, 3)).finish().unwrap()).unwrap_err();
    assert_eq!(newer.to_string(), "the profile has format 2.3, and this wprof reads 1.x: use a newer wprof");
    assert!(matches!(newer, FileError::OtherVersion { major: 2, minor: 3 }));
}

#[test]
fn a_bomb_is_not_unpacked() {
    let zeros = vec![0; 1 << 20];
    let bomb = zstd::encode_all(zeros.as_slice(), 19).unwrap();
    for (claimed, expected_large) in [(u64::MAX, true), (1 << 21, true), (10, false), ((1 << 20) + 1, false)]
    {
        let file = file(MINOR, |writer| writer.raw_section(HOST, claimed, &bomb));
        let error = Profile::from_bytes(&file).unwrap_err();
        assert_eq!(matches!(error, FileError::Expands { .. }), expected_large, "{error}");
        assert_eq!(matches!(error, FileError::Damaged { .. }), !expected_large, "{error}");
    }
}

/// Many sections, each of them within the limits, exceed the limit of the file.
#[test]
fn many_small_bombs_are_one_bomb() {
    let bomb = |writer: &mut Writer| {
        host(writer);
        // Events without names, and contexts without paths.
        writer.section(EVNT, &vec![("", 0_u64, FigureKind::Exact); 250_000]).unwrap();
        writer.section(FLOW, &vec![Vec::<PathRow>::new(); 700_000]).unwrap();
    };
    let whole = file(MINOR, bomb);
    // The same file without the padding, as an attacker would write it.
    let fill = whole.windows(4).position(|tag| tag == b"FILL").unwrap();
    let short = Writer::new(whole[..fill].to_vec()).finish().unwrap();
    assert!(short.len() < 1000 && whole.len() > 3000, "{} and {}", short.len(), whole.len());
    let limit = (1 << 20) + 100 * short.len() as u64;
    let error = Profile::from_bytes(&short).unwrap_err();
    assert!(matches!(error, FileError::Expands { limit: found } if found == limit), "{error}");
    let trusted = ReadLimits { expansion: u64::MAX, ..ReadLimits::default() };
    for (bytes, limits) in [(&short, trusted), (&whole, ReadLimits::default())] {
        let error = Profile::from_bytes_within(bytes, &limits).unwrap_err();
        assert!(matches!(error, FileError::Damaged { .. }), "it is unpacked: {error}");
    }
}

#[test]
fn bytes_left_over_in_a_section_are_an_error() {
    let stored = zstd::encode_all(&[0, 0][..], 1).unwrap();
    let file = file(MINOR, |writer| writer.raw_section(HOST, 2, &stored));
    assert!(matches!(Profile::from_bytes(&file), Err(FileError::Damaged { .. })));
}

#[test]
fn a_section_of_another_length_than_it_says_is_an_error() {
    for (content, claimed) in [(&[0][..], 5), (&[0, 0][..], 1)] {
        let stored = zstd::encode_all(content, 1).unwrap();
        let file = file(MINOR, |writer| writer.raw_section(HOST, claimed, &stored));
        assert!(matches!(Profile::from_bytes(&file), Err(FileError::Damaged { .. })), "{claimed}");
    }
}

#[test]
fn too_many_sections_are_an_error() {
    let many = file(MINOR + 1, |writer| {
        for _ in 0..300 {
            writer.raw_section(Tag(*b"MANY"), 0, b"");
        }
    });
    assert!(matches!(Profile::from_bytes(&many), Err(FileError::TooLarge { .. })));
}

#[test]
fn benefits_of_versions_that_are_not_there_are_an_error() {
    let odd = file(MINOR, |writer| {
        host(writer);
        writer.section(TIME, &Timeline::default()).unwrap();
        writer.section(GAIN, &Vec::from([(0u32, Benefit { predicted: Some(1), measured: None })])).unwrap();
    });
    assert!(
        matches!(Profile::from_bytes(&odd), Err(FileError::Damaged { part }) if part == "what versions save")
    );
}

#[test]
fn a_file_of_a_version_before_1_13_has_no_threads_and_no_collector() {
    let old = file(12, |writer| {
        host(writer);
        writer.section(SMPL, &crate::TimeProfile::default()).unwrap();
    });
    let profile = Profile::from_bytes(&old).unwrap();
    assert_eq!((profile.threads.len(), profile.collector), (0, None));
    assert_eq!(profile.time, Some(crate::TimeProfile::default()));
    let written = profile.to_bytes().unwrap();
    let has = |tag: &[u8]| written.windows(4).any(|found| found == tag);
    let lacks_newer = [b"THRD", b"GARB", b"SMPC", b"SMPW"].iter().all(|tag| !has(*tag));
    assert!(has(b"SMPL") && lacks_newer, "nor is it written");
}
