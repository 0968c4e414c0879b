//! Profile files: what is written is read back, and nothing else is.

use std::fs;

use wprof_profiler::{FileError, Profile};

use crate::profile::{example, example_with_trap, profile_of, without_edges};
use crate::rng::Rng;
use crate::walk::{random_program, run};

#[test]
fn what_was_written_is_read_back() {
    arbtest::arbtest(|u| {
        let mut rng = Rng::new(u.arbitrary()?);
        let program = random_program(&mut rng, 12);
        let mut profile = profile_of(&program, &run(&program, &mut rng, 300));
        profile.host_calls[0].time_ns = u.arbitrary()?;
        profile.bursts = u.arbitrary()?;
        let bytes = profile.to_bytes().unwrap();
        assert_eq!(Profile::from_bytes(&bytes).unwrap(), profile);
        let blocks = without_edges(&profile);
        assert_eq!(Profile::from_bytes(&blocks.to_bytes().unwrap()).unwrap(), blocks);
        assert_eq!(profile.to_bytes().unwrap(), bytes, "the same profile gives the same bytes");
        Ok(())
    })
    .budget_ms(1000);
    let empty = Profile::default();
    assert_eq!(Profile::from_bytes(&empty.to_bytes().unwrap()).unwrap(), empty);
}

/// Files of version 1.0 have no section for them.
#[test]
fn a_profile_without_events_has_no_section_of_them() {
    let has_section = |profile: &Profile| profile.to_bytes().unwrap().windows(4).any(|tag| tag == b"EVNT");
    let mut profile = example();
    assert!(has_section(&profile));
    profile.events.clear();
    assert!(!has_section(&profile));
    assert_eq!(Profile::from_bytes(&profile.to_bytes().unwrap()).unwrap(), profile);
}

#[test]
fn every_truncation_is_noticed() {
    let bytes = example_with_trap().to_bytes().unwrap();
    for length in 1..bytes.len() {
        let error = Profile::from_bytes(&bytes[..length]).unwrap_err();
        assert!(matches!(error, FileError::Truncated(at) if at == length as u64), "{length}: {error}");
    }
    assert!(matches!(Profile::from_bytes(&[]), Err(FileError::Foreign)));
}

#[test]
fn every_flipped_bit_is_noticed() {
    let bytes = example_with_trap().to_bytes().unwrap();
    for bit in 0..bytes.len() * 8 {
        let mut damaged = bytes.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        assert!(Profile::from_bytes(&damaged).is_err(), "bit {bit}");
    }
}

#[test]
fn random_damage_never_panics() {
    let bytes = example_with_trap().to_bytes().unwrap();
    arbtest::arbtest(|u| {
        let mut damaged = bytes.clone();
        for _ in 0..u.int_in_range(1..=20)? {
            let at = u.choose_index(damaged.len())?;
            damaged[at] = u.arbitrary()?;
        }
        let same = Profile::from_bytes(&damaged).map(|profile| profile == example_with_trap());
        assert!(same.is_err() || damaged == bytes);
        Ok(())
    })
    .budget_ms(1000);
}

#[test]
fn foreign_files_are_told_from_damaged_ones() {
    assert!(matches!(Profile::from_bytes(b"\0asm\x01\0\0\0"), Err(FileError::Foreign)));
    assert!(matches!(Profile::from_bytes(b"wprof\n\x1a and more"), Err(FileError::Foreign)));
    let mut long = example().to_bytes().unwrap();
    long.push(0);
    assert!(matches!(Profile::from_bytes(&long), Err(FileError::Damaged { .. })));
}

#[test]
fn profiles_that_contradict_themselves_are_not_written() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("p.wprof");
    let mut profile = example();
    profile.write(&path).unwrap();
    profile.functions[0].counts.edges_mut().unwrap()[0] += 1;
    assert!(matches!(profile.write(&path), Err(FileError::Invalid(_))));
    assert_eq!(Profile::read(&path).unwrap(), example());
}

#[test]
fn a_new_profile_replaces_the_old_one() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("p.wprof");
    example().write(&path).unwrap();
    example_with_trap().write(&path).unwrap();
    assert_eq!(Profile::read(&path).unwrap(), example_with_trap());
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
}

#[test]
fn what_the_system_refuses_is_told_with_the_path() {
    let missing = Profile::read("/nowhere/p.wprof").unwrap_err();
    assert!(missing.to_string().starts_with("cannot read the profile /nowhere/p.wprof: "), "{missing}");
    let unwritable = example().write("/nowhere/p.wprof").unwrap_err();
    assert!(
        unwritable.to_string().starts_with("cannot write the profile /nowhere/p.wprof: "),
        "{unwritable}"
    );
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_device_is_an_error() {
    let full = example().write("/dev/full").unwrap_err();
    assert!(matches!(full, FileError::Io { error, .. } if error.kind() == std::io::ErrorKind::StorageFull));
}
