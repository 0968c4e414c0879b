//! Directory listings.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use super::*;

/// An entry as a program reads it.
struct Entry {
    next: u64,
    inode: u64,
    filetype: u8,
    name: Vec<u8>,
}

/// Returns the result of a call: the complete entries, and whether the listing is at its end.
fn read(program: &mut Program, fd: u32, len: u32, position: u64) -> (Vec<Entry>, bool) {
    assert_eq!(
        program.call(|wasi, guest| wasi.fd_readdir(guest, fd, BUFFER, len, position, RESULT)),
        errno::SUCCESS
    );
    let used = program.u32(RESULT);
    let (mut at, mut entries) = (0, Vec::new());
    while at + 24 <= used && at + 24 + program.u32(BUFFER + at + 16) <= used {
        let (start, len) = (BUFFER + at, program.u32(BUFFER + at + 16));
        entries.push(Entry {
            next: program.u64(start),
            inode: program.u64(start + 8),
            filetype: program.bytes(start + 20, 1)[0],
            name: program.bytes(start + 24, len).to_vec(),
        });
        at += 24 + len;
    }
    (entries, used < len)
}

/// Lists a whole folder by calls with a buffer of `len` bytes, and calls `each` on every entry.
fn read_all(program: &mut Program, len: u32, mut each: impl FnMut(&mut Program, &Entry)) -> Vec<Entry> {
    let (mut all, mut position) = (Vec::new(), 0);
    loop {
        let (entries, is_end) = read(program, ROOT, len, position);
        position = entries.last().map_or(position, |entry| entry.next);
        entries.iter().for_each(|entry| each(program, entry));
        assert!(is_end || !entries.is_empty(), "the buffer takes an entry");
        all.extend(entries);
        if is_end {
            return all;
        }
    }
}

fn names(entries: &[Entry]) -> BTreeMap<&[u8], u8> {
    let names: BTreeMap<_, _> = entries.iter().map(|entry| (&entry.name[..], entry.filetype)).collect();
    assert_eq!(names.len(), entries.len(), "each is listed once");
    names
}

#[test]
fn large_folders_are_listed_once_with_buffers_of_any_size() -> Outcome {
    const FILES: usize = 3000;
    let folder = tempfile::tempdir()?;
    for i in 0..FILES {
        std::fs::write(folder.path().join(format!("a-file-with-number-{i}")), "")?;
    }
    let mut program = Program::within(&folder);
    for len in [100, 4096, 300_000] {
        let all = read_all(&mut program, len, |_, _| {});
        assert_eq!(names(&all).len(), FILES + 2, "{len}");
        assert_eq!((&all[0].name[..], &all[1].name[..]), (&b"."[..], &b".."[..]));
        // Every position leads to the entries after it.
        for index in [0, 1, 2, 700, 1999, FILES] {
            let next = read(&mut program, ROOT, 200, all[index].next).0;
            assert_eq!(next[0].name, all[index + 1].name, "{index}");
        }
        assert!(read(&mut program, ROOT, 200, all[FILES + 1].next).0.is_empty());
    }
    Ok(())
}

#[test]
fn a_folder_can_be_emptied_while_it_is_listed() -> Outcome {
    const FILES: usize = 3000;
    let folder = tempfile::tempdir()?;
    for i in 0..FILES {
        std::fs::write(folder.path().join(format!("a-file-with-number-{i}")), "")?;
    }
    let mut program = Program::within(&folder);
    let all = read_all(&mut program, 4096, |program, entry| {
        if entry.filetype == 4 {
            assert_eq!(program.unlink(&entry.name), errno::SUCCESS);
        }
    });
    assert_eq!(names(&all).len(), FILES + 2);
    assert_eq!(std::fs::read_dir(&folder)?.count(), 0);
    // A listing from the start reads the folder anew.
    std::fs::write(folder.path().join("new"), "")?;
    assert_eq!(names(&read(&mut program, ROOT, 4096, 0).0).keys().last(), Some(&&b"new"[..]));
    Ok(())
}

#[test]
fn names_that_are_not_utf8_are_listed_and_can_be_used() -> Outcome {
    let folder = tempfile::tempdir()?;
    let latin1 = b"na\xefve\xff";
    std::fs::write(folder.path().join(OsStr::from_bytes(latin1)), "content")?;
    std::fs::write(folder.path().join("other"), "")?;
    let mut program = Program::within(&folder);
    let entries = read(&mut program, ROOT, 4096, 0).0;
    assert_eq!(names(&entries).into_keys().collect::<Vec<_>>(), [&b"."[..], b"..", latin1, b"other"]);
    let file = program.open(latin1, 0, READ).expect("open");
    assert_eq!(program.read(file, 10), Ok(b"content".to_vec()));
    assert_eq!((program.unlink(latin1), folder.path().join(OsStr::from_bytes(latin1)).exists()), (0, false));
    Ok(())
}

#[test]
fn types_and_numbers_are_those_of_the_files() -> Outcome {
    let folder = tempfile::tempdir()?;
    let mut program = Program::within(&folder);
    program.create("file", b"");
    assert_eq!((program.create_directory("folder"), program.symlink("file", "link")), (0, 0));
    let entries = read(&mut program, ROOT, 4096, 0).0;
    let types = [(&b"."[..], 3), (b"..", 3), (b"file", 4), (b"folder", 3), (b"link", 7)];
    assert_eq!(names(&entries), types.into_iter().collect());
    for entry in entries.iter().filter(|entry| entry.name != b"..") {
        let (at, len) = program.path(&entry.name);
        let stat = program.call(|wasi, guest| wasi.path_filestat_get(guest, ROOT, 0, at, len, RESULT));
        assert_eq!((stat, program.u64(RESULT + 8)), (errno::SUCCESS, entry.inode));
    }
    Ok(())
}

#[test]
fn only_folders_are_listed() -> Outcome {
    let folder = tempfile::tempdir()?;
    let mut program = Program::within(&folder);
    let file = program.create("f", b"");
    for (fd, expected) in [(file, errno::NOTDIR), (0, errno::BADF), (99, errno::BADF)] {
        assert_eq!(program.call(|wasi, guest| wasi.fd_readdir(guest, fd, BUFFER, 99, 0, RESULT)), expected);
    }
    assert_eq!(
        program.call(|wasi, guest| wasi.fd_readdir(guest, ROOT, BUFFER, 0, 0, RESULT)),
        errno::SUCCESS
    );
    assert_eq!(program.u32(RESULT), 0);
    assert_ne!(
        program.call(|wasi, guest| wasi.fd_readdir(guest, ROOT, BUFFER, 99, u64::MAX, RESULT)),
        errno::SUCCESS
    );
    Ok(())
}
