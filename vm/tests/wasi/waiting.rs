//! Calls that wait or take long end when the program is stopped.

use std::os::unix::net::{UnixListener, UnixStream};
use std::time::{Duration, Instant};

use wprof::wasi::{self, WasiCtx, WasiCtxBuilder};
use wprof::*;

type Outcome = std::result::Result<(), Box<dyn std::error::Error>>;

/// Long enough for the slowest machine, shorter than any wait in these tests.
const SOON: Duration = Duration::from_secs(20);

/// Descriptor 3 is a folder with the pipe `p`, 4 a connection without incoming data, 5 a listener to which nobody
/// connects.
const WAT: &str = r#"(module
    (import "wasi_snapshot_preview1" "poll_oneoff" (func $poll (param i32 i32 i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "fd_read" (func $read (param i32 i32 i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "sock_recv" (func $receive (param i32 i32 i32 i32 i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "sock_accept" (func $accept (param i32 i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "random_get" (func $random (param i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "path_open"
        (func $open (param i32 i32 i32 i32 i32 i64 i64 i32 i32) (result i32)))
    (memory (export "memory") 65536)
    (data (i32.const 0) "\00\04\00\00\00\10\00\00p")
    (func $open_pipe (param $rights i64)
        (if (call $open (i32.const 3) (i32.const 0) (i32.const 8) (i32.const 1) (i32.const 0)
                (local.get $rights) (i64.const 0) (i32.const 0) (i32.const 16))
            (then unreachable)))
    (func (export "sleep")
        (i32.store (i32.const 144) (i32.const 1))
        (i64.store (i32.const 152) (i64.const 3600000000000))
        (drop (call $poll (i32.const 128) (i32.const 256) (i32.const 1) (i32.const 512))))
    (func (export "poll connection")
        (i32.store8 (i32.const 136) (i32.const 1))
        (i32.store (i32.const 144) (i32.const 4))
        (drop (call $poll (i32.const 128) (i32.const 256) (i32.const 1) (i32.const 512))))
    (func (export "poll a long list")
        (drop (call $poll (i32.const 65536) (i32.const 65536) (i32.const 89000000) (i32.const 512))))
    (func (export "read connection")
        (drop (call $read (i32.const 4) (i32.const 0) (i32.const 1) (i32.const 512))))
    (func (export "receive")
        (drop (call $receive (i32.const 4) (i32.const 0) (i32.const 1) (i32.const 2) (i32.const 512) (i32.const 516))))
    (func (export "accept")
        (drop (call $accept (i32.const 5) (i32.const 0) (i32.const 512))))
    (func (export "write connection")
        (loop $again
            (drop (call $write (i32.const 4) (i32.const 0) (i32.const 1) (i32.const 512)))
            (br $again)))
    (func (export "read pipe")
        (call $open_pipe (i64.const 2))
        (drop (call $read (i32.load (i32.const 16)) (i32.const 0) (i32.const 1) (i32.const 512))))
    (func (export "open pipe to write")
        (call $open_pipe (i64.const 64)))
    (func (export "write pipe")
        (call $open_pipe (i64.const 66))
        (loop $again
            (drop (call $write (i32.load (i32.const 16)) (i32.const 0) (i32.const 1) (i32.const 512)))
            (br $again)))
    (func (export "random numbers")
        (drop (call $random (i32.const 65536) (i32.const -65536))))
    (func (export "write nothing in many buffers")
        (drop (call $write (i32.const 1) (i32.const 65536) (i32.const 536000000) (i32.const 512)))))"#;

const CALLS: [&str; 12] = [
    "sleep",
    "poll connection",
    "poll a long list",
    "read connection",
    "receive",
    "accept",
    "write connection",
    "read pipe",
    "open pipe to write",
    "write pipe",
    "random numbers",
    "write nothing in many buffers",
];

/// Calls each function in a new store, which `stop` must stop, and returns the trap.
fn stopped(
    stop: impl Fn(&mut Store<WasiCtx>) -> Result<()>,
) -> std::result::Result<Vec<Trap>, Box<dyn std::error::Error>> {
    let engine = Engine::new(Config::new().interruptible(true))?;
    let module = Module::new(&engine, WAT)?;
    let mut linker = Linker::new(&engine);
    wasi::add_to_linker(&mut linker, |ctx| ctx)?;
    let mut traps = Vec::new();
    for name in CALLS {
        let folder = tempfile::tempdir()?;
        let made = std::process::Command::new("mkfifo").arg(folder.path().join("p")).status()?;
        assert!(made.success());
        let (_ours, theirs) = UnixStream::pair()?;
        let listener = UnixListener::bind(folder.path().join("s"))?;
        let mut builder = WasiCtxBuilder::new();
        builder.preopened_dir(&folder, "/")?.preopened_socket(theirs)?.preopened_socket(listener)?;
        let mut store = Store::new(&engine, builder.build());
        let instance = linker.instantiate(&mut store, &module)?;
        let func = instance.get_typed_func::<(), ()>(&mut store, name)?;
        let begin = Instant::now();
        stop(&mut store)?;
        let error = func.call(&mut store, ()).expect_err(name);
        assert!(begin.elapsed() < SOON, "{name}: {:?}", begin.elapsed());
        traps.push(error.trap().ok_or_else(|| format!("{name}: {error:?}"))?);
    }
    Ok(traps)
}

#[test]
fn a_deadline_ends_what_waits() -> Outcome {
    let traps = stopped(|store| store.set_deadline(Some(Instant::now() + Duration::from_millis(10))))?;
    assert_eq!(traps, [Trap::Deadline; CALLS.len()]);
    Ok(())
}

#[test]
fn an_interruption_ends_what_waits_without_a_wake() -> Outcome {
    let traps = stopped(|store| {
        let handle = store.interrupt_handle();
        std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(10));
            handle.interrupt();
        });
        Ok(())
    })?;
    assert_eq!(traps, [Trap::Interrupt; CALLS.len()]);
    Ok(())
}

/// A reader that waits for a writer receives the written data, and the end of the stream.
#[test]
fn a_pipe_is_read_from_when_somebody_writes() -> Outcome {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("p");
    assert!(std::process::Command::new("mkfifo").arg(&path).status()?.success());
    let engine = Engine::default();
    let mut linker = Linker::new(&engine);
    wasi::add_to_linker(&mut linker, |ctx| ctx)?;
    let mut store = Store::new(&engine, WasiCtxBuilder::new().preopened_dir(&folder, "/")?.build());
    let instance = linker.instantiate(&mut store, &Module::new(&engine, WAT)?)?;
    let func = instance.get_typed_func::<(), ()>(&mut store, "read pipe")?;
    let writer = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(30));
        std::fs::write(path, "hello")
    });
    func.call(&mut store, ())?;
    writer.join().expect("no panic")?;
    let memory = instance.get_memory(&mut store, "memory").expect("exported");
    let mut read = [0; 5];
    memory.read(&store, 1024, &mut read)?;
    assert_eq!(&read, b"hello");
    Ok(())
}
