//! Paths: opening, links, renaming, removing.

use super::*;

/// The lookup flag that follows links.
const FOLLOW: u32 = 1;

#[test]
fn a_slash_at_the_end_stands_for_a_folder() -> Outcome {
    let folder = tempfile::tempdir()?;
    let mut program = Program::within(&folder);
    program.create("file", b"12345");
    assert_eq!((program.create_directory("folder"), program.symlink("folder", "to-folder")), (0, 0));
    assert_eq!(program.symlink("file", "to-file"), 0);
    for lookup in [0, FOLLOW] {
        assert_eq!(program.stat("file", lookup), Ok((4, 5)));
        assert_eq!(program.stat("file/", lookup), Err(errno::NOTDIR));
        assert_eq!(program.stat("to-file/", lookup), Err(errno::NOTDIR));
        assert_eq!(program.stat("file/.", lookup), Err(errno::NOTDIR));
        assert_eq!(program.stat("folder/", lookup).map(|stat| stat.0), Ok(3));
        assert_eq!(program.stat("to-folder/", lookup).map(|stat| stat.0), Ok(3));
    }
    assert_eq!(program.stat("to-folder", 0).map(|stat| stat.0), Ok(7));
    assert_eq!(program.stat("to-folder", FOLLOW).map(|stat| stat.0), Ok(3));
    assert_eq!(program.stat("file", 2), Err(errno::INVAL));
    assert_eq!(program.open("file/", 0, READ), Err(errno::NOTDIR));
    assert_eq!(program.open("new/", CREAT, READ), Err(errno::ISDIR));
    assert_eq!(program.unlink("file/"), errno::NOTDIR);
    assert_eq!((program.rename("file/", "g"), program.link(0, "file/", "g")), (errno::NOTDIR, errno::NOTDIR));
    for (lookup, path) in [(0, "file/"), (1, "file/"), (0, "file/."), (0, "to-file/"), (1, "to-file/")] {
        let (at, len) = program.path(path);
        let set =
            program.call(|wasi, guest| wasi.path_filestat_set_times(guest, ROOT, lookup, at, len, 0, 0, 10));
        assert_eq!(set, errno::NOTDIR, "{path}");
    }
    assert_eq!(
        (program.remove_directory("file/"), program.remove_directory("to-folder/")),
        (errno::NOTDIR, errno::NOTDIR)
    );
    assert_eq!((program.remove_directory("folder//"), program.create_directory("folder/")), (0, 0));
    Ok(())
}

#[test]
fn files_are_opened_as_the_flags_say() -> Outcome {
    let folder = tempfile::tempdir()?;
    let mut program = Program::within(&folder);
    assert_eq!(program.open("f", 0, READ), Err(errno::NOENT));
    assert!(program.open("f", CREAT | EXCL, READ).is_ok());
    assert_eq!(program.open("f", CREAT | EXCL, READ), Err(errno::EXIST));
    assert!(program.open("f", CREAT, READ).is_ok());
    assert_eq!(program.open("f", DIRECTORY, READ), Err(errno::NOTDIR));
    assert_eq!((program.create_directory("d"), program.open("d", 0, WRITE)), (0, Err(errno::ISDIR)));
    assert_eq!(program.open("d", DIRECTORY, READ | WRITE), Err(errno::ISDIR));
    assert!(program.open("d", DIRECTORY, READ).is_ok() && program.open(".", DIRECTORY, 0).is_ok());
    for (oflags, flags) in [(DIRECTORY | CREAT, 0), (DIRECTORY | TRUNC, 0), (16, 0), (0, 32)] {
        assert_eq!(program.open_with("d", oflags, READ, flags), Err(errno::INVAL));
    }
    assert_eq!((program.symlink("f", "link"), program.open("link", 0, READ)), (0, Err(errno::LOOP)));
    assert_eq!(
        (program.open("", 0, READ), program.open("f\0", 0, READ)),
        (Err(errno::NOENT), Err(errno::INVAL))
    );
    assert_eq!(program.open([b'x'; 5000], 0, READ), Err(errno::NAMETOOLONG));
    let file = program.open("f", 0, READ).expect("open");
    let (at, len) = program.path("f");
    for (fd, expected) in [(file, errno::NOTDIR), (0, errno::BADF), (99, errno::BADF)] {
        let opened = program.call(|wasi, guest| wasi.path_open(guest, fd, 0, at, len, 0, READ, 0, 0, RESULT));
        assert_eq!(opened, expected);
    }
    Ok(())
}

#[test]
fn links_are_made_and_read() -> Outcome {
    let folder = tempfile::tempdir()?;
    let mut program = Program::within(&folder);
    program.create("f", b"12345");
    assert_eq!((program.link(0, "f", "g"), program.stat("g", 0)), (errno::SUCCESS, Ok((4, 5))));
    assert_eq!((program.link(0, "f", "g"), program.link(0, "none", "h")), (errno::EXIST, errno::NOENT));
    assert_eq!(program.link(FOLLOW, "f", "h"), errno::INVAL);
    assert_eq!(
        (program.symlink("some/where", "s"), program.readlink("s")),
        (errno::SUCCESS, Ok(b"some/where".to_vec()))
    );
    assert_eq!((program.symlink("f", "s"), program.readlink("f")), (errno::EXIST, Err(errno::INVAL)));
    let (at, len) = program.path("s");
    program.memory[BUFFER as usize..][..10].fill(UNTOUCHED);
    assert_eq!(
        program.call(|wasi, guest| wasi.path_readlink(guest, ROOT, at, len, BUFFER, 4, RESULT)),
        errno::SUCCESS
    );
    assert_eq!(
        (program.u32(RESULT), program.bytes(BUFFER, 5)),
        (4, &[b's', b'o', b'm', b'e', UNTOUCHED][..])
    );
    Ok(())
}

#[test]
fn files_and_folders_are_renamed_and_removed() -> Outcome {
    let folder = tempfile::tempdir()?;
    let mut program = Program::within(&folder);
    program.create("f", b"12345");
    assert_eq!(
        (program.create_directory("d"), program.create_directory("d")),
        (errno::SUCCESS, errno::EXIST)
    );
    assert_eq!((program.rename("f", "d/g"), program.rename("f", "g")), (errno::SUCCESS, errno::NOENT));
    assert_eq!(program.stat("d/g", 0), Ok((4, 5)));
    assert_eq!(
        (program.remove_directory("d"), program.remove_directory("d/g")),
        (errno::NOTEMPTY, errno::NOTDIR)
    );
    assert!(matches!(program.unlink("d"), errno::ISDIR | errno::PERM));
    assert_eq!((program.unlink("d/g"), program.unlink("d/g")), (errno::SUCCESS, errno::NOENT));
    assert_eq!((program.remove_directory("d"), program.stat("d", 0)), (errno::SUCCESS, Err(errno::NOENT)));
    Ok(())
}
