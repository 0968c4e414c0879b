//! Sockets passed to a program.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;

use super::*;

const NONBLOCK: u32 = 4;
const PEEK: u32 = 1;
const WAITALL: u32 = 2;

/// Returns the received bytes, and the flags.
fn receive(program: &mut Program, fd: u32, len: u32, flags: u32) -> Result<(Vec<u8>, u16), u32> {
    let (at, _) = program.put(BUFFER + 4096, &[BUFFER.to_le_bytes(), len.to_le_bytes()].concat());
    match program.call(|wasi, guest| wasi.sock_recv(guest, fd, at, 1, flags, RESULT, RESULT2)) {
        errno::SUCCESS => Ok((program.bytes(BUFFER, program.u32(RESULT)).to_vec(), program.u16(RESULT2))),
        errno => Err(errno),
    }
}

fn send(program: &mut Program, fd: u32, bytes: &[u8]) -> Result<u32, u32> {
    program.put(BUFFER, bytes);
    let (at, _) =
        program.put(BUFFER + 4096, &[BUFFER.to_le_bytes(), (bytes.len() as u32).to_le_bytes()].concat());
    match program.call(|wasi, guest| wasi.sock_send(guest, fd, at, 1, 0, RESULT)) {
        errno::SUCCESS => Ok(program.u32(RESULT)),
        errno => Err(errno),
    }
}

#[test]
fn connections_are_accepted_and_carry_bytes_both_ways() -> Outcome {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    let mut program = Program::new(WasiCtxBuilder::new().preopened_socket(listener)?);
    let accept =
        |program: &mut Program, flags| program.call(|wasi, guest| wasi.sock_accept(guest, 3, flags, RESULT));
    assert_eq!(program.call(|wasi, guest| wasi.fd_fdstat_set_flags(guest, 3, NONBLOCK)), errno::SUCCESS);
    assert_eq!(accept(&mut program, 0), errno::AGAIN);
    assert_eq!(program.call(|wasi, guest| wasi.fd_fdstat_set_flags(guest, 3, 0)), errno::SUCCESS);
    assert_eq!(accept(&mut program, 1), errno::INVAL);
    let client = std::thread::spawn(move || TcpStream::connect(address));
    assert_eq!(accept(&mut program, NONBLOCK), errno::SUCCESS);
    let (fd, mut client) = (program.u32(RESULT), client.join().expect("no panic")?);
    assert_eq!(
        (fd, receive(&mut program, fd, 9, 0), program.read(fd, 9)),
        (4, Err(errno::AGAIN), Err(errno::AGAIN))
    );
    assert_eq!(program.call(|wasi, guest| wasi.fd_fdstat_set_flags(guest, fd, 0)), errno::SUCCESS);
    client.write_all(b"0123456789")?;
    assert_eq!(receive(&mut program, fd, 4, PEEK), Ok((b"0123".to_vec(), 0)));
    assert_eq!(
        (receive(&mut program, fd, 4, 0), program.read(fd, 2)),
        (Ok((b"0123".to_vec(), 0)), Ok(b"45".to_vec()))
    );
    let rest = std::thread::spawn(move || client.write_all(b"abc").map(|()| client));
    assert_eq!(receive(&mut program, fd, 7, WAITALL), Ok((b"6789abc".to_vec(), 0)));
    let mut client = rest.join().expect("no panic")?;
    assert_eq!((send(&mut program, fd, b"to "), program.write(fd, b"you")), (Ok(3), Ok(3)));
    assert_eq!(program.call(|wasi, guest| wasi.sock_shutdown(guest, fd, 2)), errno::SUCCESS);
    let mut received = String::new();
    client.read_to_string(&mut received)?;
    assert_eq!(received, "to you");
    client.shutdown(Shutdown::Write)?;
    assert_eq!(receive(&mut program, fd, 7, WAITALL), Ok((vec![], 0)));
    // Invalid values.
    assert_eq!(program.call(|wasi, guest| wasi.sock_shutdown(guest, fd, 4)), errno::INVAL);
    assert_eq!(
        (receive(&mut program, fd, 1, 4), receive(&mut program, 3, 1, 0)),
        (Err(errno::INVAL), Err(errno::NOTCONN))
    );
    assert_eq!((program.seek(fd, 0, 0), program.close(fd)), (Err(errno::SPIPE), errno::SUCCESS));
    Ok(())
}

#[test]
fn messages_that_do_not_fit_are_cut_and_that_is_said() -> Outcome {
    let (ours, theirs) = std::os::unix::net::UnixDatagram::pair()?;
    let mut program = Program::new(WasiCtxBuilder::new().preopened_socket(theirs)?);
    ours.send(b"12345")?;
    ours.send(b"678")?;
    assert_eq!(receive(&mut program, 3, 3, 0), Ok((b"123".to_vec(), 1)));
    assert_eq!(receive(&mut program, 3, 3, 0), Ok((b"678".to_vec(), 0)));
    Ok(())
}

#[test]
fn sockets_come_behind_folders_and_nothing_else_is_one() -> Outcome {
    let folder = tempfile::tempdir()?;
    let (_ours, theirs) = UnixStream::pair()?;
    let mut builder = WasiCtxBuilder::new();
    assert!(builder.preopened_socket(std::fs::File::open(&folder)?).is_err());
    let mut program = Program::new(builder.preopened_socket(theirs)?.preopened_dir(&folder, "/")?);
    assert_eq!(program.call(|wasi, guest| wasi.fd_prestat_get(guest, 3, RESULT)), errno::SUCCESS);
    assert_eq!(send(&mut program, 4, b"x"), Ok(1));
    Ok(())
}
