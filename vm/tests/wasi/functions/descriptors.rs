//! Descriptors: open files and their numbers.

use super::*;

#[test]
fn only_folders_that_were_given_have_a_name() -> Outcome {
    let folder = tempfile::tempdir()?;
    std::fs::create_dir(folder.path().join("d"))?;
    let mut program = Program::within(&folder);
    let (file, below) = (program.create("f", b""), program.open("d", DIRECTORY, 0).expect("open"));
    let get = |program: &mut Program, fd| program.call(|wasi, guest| wasi.fd_prestat_get(guest, fd, RESULT));
    let name = |program: &mut Program, fd, len| {
        program.call(|wasi, guest| wasi.fd_prestat_dir_name(guest, fd, BUFFER, len))
    };
    assert_eq!(get(&mut program, ROOT), errno::SUCCESS);
    assert_eq!([0, file, below, 99].map(|fd| get(&mut program, fd)), [errno::BADF; 4]);
    assert_eq!(
        (name(&mut program, ROOT, 0), name(&mut program, ROOT, 9)),
        (errno::NAMETOOLONG, errno::SUCCESS)
    );
    assert_eq!(program.bytes(BUFFER, 2), [b'/', UNTOUCHED]);
    assert_eq!((name(&mut program, below, 9), name(&mut program, 99, 9)), (errno::NOTDIR, errno::BADF));
    Ok(())
}

#[test]
fn a_number_is_given_to_something_else_if_both_are_open() -> Outcome {
    let folder = tempfile::tempdir()?;
    let mut program = Program::within(&folder);
    let (a, b) = (program.create("a", b"first"), program.create("b", b"second"));
    let renumber =
        |program: &mut Program, from, to| program.call(|wasi, guest| wasi.fd_renumber(guest, from, to));
    assert_eq!((renumber(&mut program, a, 99), renumber(&mut program, 99, a)), (errno::BADF, errno::BADF));
    assert_eq!((renumber(&mut program, a, a), program.seek(a, 0, 1)), (errno::SUCCESS, Ok(5)));
    assert_eq!(renumber(&mut program, a, b), errno::SUCCESS);
    assert_eq!((program.seek(a, 0, 1), program.seek(b, 0, 1)), (Err(errno::BADF), Ok(5)));
    // A preopened folder and a standard stream are descriptors like others.
    assert_eq!((renumber(&mut program, b, 1), program.write(1, b" more")), (errno::SUCCESS, Ok(5)));
    assert_eq!(std::fs::read(folder.path().join("a"))?, b"first more");
    assert_eq!((program.close(ROOT), program.close(ROOT)), (errno::SUCCESS, errno::BADF));
    assert_eq!(program.open("a", 0, READ), Err(errno::BADF));
    Ok(())
}

#[test]
fn a_program_opens_as_much_as_it_may() -> Outcome {
    let folder = tempfile::tempdir()?;
    let mut program = Program::new(WasiCtxBuilder::new().preopened_dir(&folder, "/")?.max_descriptors(6));
    assert_eq!(program.open("a", CREAT, READ), Ok(4));
    assert_eq!(program.open("b", CREAT, READ), Ok(5));
    assert_eq!(program.open("c", CREAT, READ), Err(errno::MFILE));
    assert!(!folder.path().join("c").exists());
    assert_eq!((program.close(4), program.open("c", CREAT, READ)), (errno::SUCCESS, Ok(4)));
    Ok(())
}

#[test]
fn sockets_functions_are_for_sockets() -> Outcome {
    let folder = tempfile::tempdir()?;
    let mut program = Program::within(&folder);
    let file = program.create("f", b"");
    for (fd, expected) in
        [(0, errno::NOTSOCK), (file, errno::NOTSOCK), (ROOT, errno::NOTSOCK), (99, errno::BADF)]
    {
        assert_eq!(program.call(|wasi, guest| wasi.sock_accept(guest, fd, 0, RESULT)), expected);
        assert_eq!(
            program.call(|wasi, guest| wasi.sock_recv(guest, fd, BUFFER, 0, 0, RESULT, RESULT)),
            expected
        );
        assert_eq!(program.call(|wasi, guest| wasi.sock_send(guest, fd, BUFFER, 0, 0, RESULT)), expected);
        assert_eq!(program.call(|wasi, guest| wasi.sock_shutdown(guest, fd, 3)), expected);
    }
    Ok(())
}
