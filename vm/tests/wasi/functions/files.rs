//! Files: reading, writing, positions, sizes, times.

use std::os::unix::fs::MetadataExt;

use super::*;

#[test]
fn every_position_that_wasi_can_name_can_be_sought() -> Outcome {
    let folder = tempfile::tempdir()?;
    let mut program = Program::within(&folder);
    let file = program.create("f", b"12345");
    assert_eq!(program.seek(file, i64::MAX, 0), Ok(i64::MAX as u64));
    assert_eq!(program.call(|wasi, guest| wasi.fd_tell(guest, file, RESULT)), errno::SUCCESS);
    assert_eq!(program.u64(RESULT), i64::MAX as u64);
    assert_eq!(program.read(file, 10), Ok(vec![]), "it is behind the end");
    assert!(program.write(file, b"x").is_err(), "no file is that long");
    assert_eq!(program.seek(file, 1, 1), Err(errno::INVAL));
    assert_eq!(program.seek(file, -1, 0), Err(errno::INVAL));
    assert_eq!(program.seek(file, -6, 2), Err(errno::INVAL));
    assert_eq!(program.seek(file, 0, 3), Err(errno::INVAL));
    assert_eq!(program.seek(file, -2, 2), Ok(3));
    assert_eq!(program.read(file, 10), Ok(b"45".to_vec()));
    assert_eq!(program.seek(file, -4, 1), Ok(1));
    assert_eq!(program.read(file, 2), Ok(b"23".to_vec()));
    // In preview 0 the numbers have another meaning.
    program.preview = Preview::Zero;
    assert_eq!(program.seek(file, 1, 0), Ok(4), "from where it is");
    assert_eq!(program.seek(file, 0, 1), Ok(5), "from the end");
    assert_eq!(program.seek(file, 2, 2), Ok(2), "from the start");
    Ok(())
}

#[test]
fn only_files_have_positions() -> Outcome {
    let folder = tempfile::tempdir()?;
    let mut program = Program::within(&folder);
    for whence in 0..3 {
        assert_eq!(program.seek(ROOT, 0, whence), Err(errno::BADF));
        assert_eq!(program.seek(0, 0, whence), Err(errno::SPIPE));
    }
    assert_eq!(program.call(|wasi, guest| wasi.fd_tell(guest, 1, RESULT)), errno::SPIPE);
    assert_eq!(
        (program.read_at(0, 1, 0), program.write_at(1, b"", 0)),
        (Err(errno::SPIPE), Err(errno::SPIPE))
    );
    assert_eq!((program.read(ROOT, 1), program.write(ROOT, b"x")), (Err(errno::BADF), Err(errno::BADF)));
    Ok(())
}

#[test]
fn reading_and_writing_take_the_rights_to() -> Outcome {
    let folder = tempfile::tempdir()?;
    let mut program = Program::within(&folder);
    let both = program.create("f", b"12345");
    assert_eq!(program.write_at(both, b"X", 1), Ok(1));
    assert_eq!(program.read_at(both, 9, 1), Ok(b"X345".to_vec()));
    let (reader, writer) = (program.open("f", 0, READ), program.open("f", 0, WRITE));
    let (reader, writer) = (reader.expect("open"), writer.expect("open"));
    assert_eq!((program.write(reader, b"x"), program.read(writer, 1)), (Err(errno::BADF), Err(errno::BADF)));
    assert_eq!((program.read(reader, 1), program.write(writer, b"x")), (Ok(b"1".to_vec()), Ok(1)));
    let rights = |program: &mut Program, fd| {
        assert_eq!(program.call(|wasi, guest| wasi.fd_fdstat_get(guest, fd, RESULT)), errno::SUCCESS);
        program.u64(RESULT + 8) & (READ | WRITE)
    };
    assert_eq!([both, reader, writer].map(|fd| rights(&mut program, fd)), [READ | WRITE, READ, WRITE]);
    for size in [0, 1000] {
        assert_eq!(program.call(|wasi, guest| wasi.fd_filestat_set_size(guest, reader, size)), errno::BADF);
        assert_eq!(
            program.call(|wasi, guest| wasi.fd_filestat_set_size(guest, writer, size)),
            errno::SUCCESS
        );
        assert_eq!(std::fs::metadata(folder.path().join("f"))?.len(), size);
    }
    assert_eq!(program.call(|wasi, guest| wasi.fd_allocate(guest, reader, 0, 5000)), errno::BADF);
    assert_eq!(program.call(|wasi, guest| wasi.fd_allocate(guest, writer, 3000, 2000)), errno::SUCCESS);
    assert_eq!(std::fs::metadata(folder.path().join("f"))?.len(), 5000);
    assert_eq!(program.call(|wasi, guest| wasi.fd_allocate(guest, ROOT, 0, 1)), errno::BADF);
    assert_eq!(program.call(|wasi, guest| wasi.fd_advise(guest, reader, 0, 0, 5)), errno::SUCCESS);
    assert_eq!(program.call(|wasi, guest| wasi.fd_advise(guest, reader, 0, 0, 6)), errno::INVAL);
    Ok(())
}

#[test]
fn rights_cannot_be_given_up_and_that_is_said() -> Outcome {
    let folder = tempfile::tempdir()?;
    let mut program = Program::within(&folder);
    assert_eq!(program.call(|wasi, guest| wasi.fd_fdstat_set_rights(guest, ROOT, 0, 0)), errno::NOTSUP);
    assert_eq!(program.call(|wasi, guest| wasi.fd_fdstat_set_rights(guest, 9, 0, 0)), errno::BADF);
    Ok(())
}

#[test]
fn a_file_is_truncated_with_the_right_to_read_only() -> Outcome {
    let folder = tempfile::tempdir()?;
    let mut program = Program::within(&folder);
    program.create("f", b"12345");
    let file = program.open("f", TRUNC, READ).expect("open");
    assert_eq!(std::fs::read(folder.path().join("f"))?, b"");
    assert_eq!((program.write(file, b"x"), program.read(file, 1)), (Err(errno::BADF), Ok(vec![])));
    Ok(())
}

#[test]
fn appending_goes_to_the_end_wherever_the_position_is() -> Outcome {
    const APPEND: u32 = 1;
    let folder = tempfile::tempdir()?;
    let mut program = Program::within(&folder);
    let file = program.open_with("f", CREAT, READ | WRITE, APPEND).expect("open");
    assert_eq!((program.write(file, b"123"), program.seek(file, 0, 0)), (Ok(3), Ok(0)));
    assert_eq!((program.write(file, b"45"), program.seek(file, 0, 1)), (Ok(2), Ok(5)));
    assert_eq!(program.call(|wasi, guest| wasi.fd_fdstat_set_flags(guest, file, 0)), errno::SUCCESS);
    assert_eq!((program.seek(file, 1, 0), program.write(file, b"X")), (Ok(1), Ok(1)));
    assert_eq!(std::fs::read(folder.path().join("f"))?, b"1X345");
    assert_eq!(program.call(|wasi, guest| wasi.fd_fdstat_set_flags(guest, file, APPEND)), errno::SUCCESS);
    assert_eq!(program.write(file, b"6"), Ok(1));
    assert_eq!(std::fs::read(folder.path().join("f"))?, b"1X3456");
    // Whether writes wait for the disk is fixed when a file is opened.
    for (flags, expected) in [(2, errno::INVAL), (16, errno::INVAL), (32, errno::INVAL), (4, errno::SUCCESS)]
    {
        assert_eq!(
            program.call(|wasi, guest| wasi.fd_fdstat_set_flags(guest, file, flags)),
            expected,
            "{flags}"
        );
    }
    let file = program.open_with("f", 0, WRITE, 2 | 16).expect("open");
    assert_eq!(program.call(|wasi, guest| wasi.fd_fdstat_get(guest, file, RESULT)), errno::SUCCESS);
    assert_eq!(program.u16(RESULT + 2), 2 | 16);
    Ok(())
}

#[test]
fn times_are_set_as_asked() -> Outcome {
    let folder = tempfile::tempdir()?;
    let mut program = Program::within(&folder);
    let (file, host) = (program.create("f", b""), folder.path().join("f"));
    let times = |path: &std::path::Path| {
        let metadata = std::fs::symlink_metadata(path)?;
        Ok::<_, std::io::Error>([
            (metadata.atime(), metadata.atime_nsec()),
            (metadata.mtime(), metadata.mtime_nsec()),
        ])
    };
    let set = |program: &mut Program, at, flags| {
        program.call(|wasi, guest| wasi.fd_filestat_set_times(guest, file, at, at + 1, flags))
    };
    assert_eq!(set(&mut program, 5_000_000_006, 1 | 4), errno::SUCCESS);
    assert_eq!(times(&host)?, [(5, 6), (5, 7)]);
    assert_eq!(set(&mut program, 9_000_000_000, 4), errno::SUCCESS);
    assert_eq!(times(&host)?, [(5, 6), (9, 1)]);
    assert_eq!(
        (set(&mut program, 0, 1 | 2), set(&mut program, 0, 4 | 8), set(&mut program, 0, 16)),
        (28, 28, 28)
    );
    assert_eq!(set(&mut program, 0, 2), errno::SUCCESS);
    assert!(times(&host)?[0].0 > 1_700_000_000 && times(&host)?[1] == (9, 1));
    // The times of a link, or of its target.
    assert_eq!(program.symlink("f", "link"), errno::SUCCESS);
    for (lookup, changed) in [(0, "link"), (1, "f")] {
        let (at, len) = program.path("link");
        let set = program.call(|wasi, guest| {
            wasi.path_filestat_set_times(guest, ROOT, lookup, at, len, 0, 77_000_000_000, 4)
        });
        assert_eq!(set, errno::SUCCESS);
        assert_eq!(times(&folder.path().join(changed))?[1], (77, 0), "{changed}");
    }
    assert_eq!(program.call(|wasi, guest| wasi.fd_filestat_set_times(guest, 1, 0, 0, 1)), errno::BADF);
    Ok(())
}

#[test]
fn output_goes_into_a_pipe_as_long_as_there_is_room() {
    let pipe = wprof::wasi::OutputPipe::with_limit(5);
    let mut program = Program::new(WasiCtxBuilder::new().stdout_pipe(&pipe));
    assert_eq!((program.write(1, b"123"), program.write(1, b"4567")), (Ok(3), Ok(2)));
    assert_eq!(
        (program.write(1, b"8"), program.write(1, b""), program.write(2, b"nowhere")),
        (Err(errno::NOSPC), Ok(0), Ok(7))
    );
    assert_eq!(pipe.contents(), b"12345");
}
