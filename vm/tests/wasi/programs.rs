//! WASI preview 1 programs.

use std::io::Write;

use wprof::wasi::{self, OutputPipe, WasiCtx, WasiCtxBuilder};
use wprof::*;

type Outcome = std::result::Result<(), Box<dyn std::error::Error>>;

/// Runs `_start` and returns how it ended.
fn run(wat: &str, ctx: WasiCtx) -> Result<Result<()>> {
    let engine = Engine::default();
    let module = Module::new(&engine, wat)?;
    let mut linker: Linker<WasiCtx> = Linker::new(&engine);
    wasi::add_to_linker(&mut linker, |ctx| ctx)?;
    let mut store = Store::new(&engine, ctx);
    let instance = linker.instantiate(&mut store, &module)?;
    Ok(instance.get_typed_func::<(), ()>(&mut store, "_start")?.call(&mut store, ()))
}

/// Writes a module to a file, and returns it with a linker for its instances.
fn file_of(
    wat: &str,
) -> std::result::Result<(tempfile::NamedTempFile, Linker<WasiCtx>), Box<dyn std::error::Error>> {
    let engine = Engine::default();
    let mut file = tempfile::NamedTempFile::new()?;
    file.write_all(&Module::new(&engine, wat)?.info().bytes)?;
    let mut linker = Linker::new(&engine);
    wasi::add_to_linker(&mut linker, |ctx| ctx)?;
    Ok((file, linker))
}

/// Writes the argument strings, each followed by a zero byte, to standard output, then exits with their number.
const ECHO: &str = r#"(module
    (import "wasi_snapshot_preview1" "args_sizes_get" (func $sizes (param i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "args_get" (func $args (param i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
    (memory (export "memory") 1)
    (func (export "_start")
        (drop (call $sizes (i32.const 0) (i32.const 4)))
        (drop (call $args (i32.const 64) (i32.const 1024)))
        (i32.store (i32.const 8) (i32.const 1024))
        (i32.store (i32.const 12) (i32.load (i32.const 4)))
        (drop (call $write (i32.const 1) (i32.const 8) (i32.const 1) (i32.const 16)))
        (call $exit (i32.load (i32.const 0)))
        unreachable))"#;

#[test]
fn a_program_gets_arguments_writes_output_and_exits() -> Outcome {
    let pipe = OutputPipe::new();
    let ctx = WasiCtxBuilder::new().args(["echo", "one", "two"])?.stdout_pipe(&pipe).build();
    let error = run(ECHO, ctx)?.expect_err("it exits");
    assert_eq!((error.kind(), error.i32_exit()), (ErrorKind::Exit, Some(3)));
    assert_eq!(pipe.contents(), b"echo\0one\0two\0");
    Ok(())
}

#[test]
fn a_bad_pointer_ends_the_program_with_an_error() -> Outcome {
    let wat = ECHO
        .replace("(i32.store (i32.const 8) (i32.const 1024))", "(i32.store (i32.const 8) (i32.const -8))");
    let error = run(&wat, WasiCtxBuilder::new().arg("echo")?.build())?.expect_err("out of bounds");
    assert_eq!(error.kind(), ErrorKind::Host, "{error:?}");
    assert!(error.backtrace().is_some_and(|b| b.frames().len() == 1));
    Ok(())
}

#[test]
fn a_preopened_directory_is_readable() -> Outcome {
    let dir = std::env::temp_dir().join(format!("wprof-wasi-{}", std::process::id()));
    std::fs::create_dir_all(&dir)?;
    std::fs::write(dir.join("file"), "contents")?;
    let pipe = OutputPipe::new();
    let ctx = WasiCtxBuilder::new().preopened_dir(&dir, "/data")?.stdout_pipe(&pipe).build();
    let outcome = run(
        r#"(module
            (import "wasi_snapshot_preview1" "path_open"
                (func $open (param i32 i32 i32 i32 i32 i64 i64 i32 i32) (result i32)))
            (import "wasi_snapshot_preview1" "fd_read" (func $read (param i32 i32 i32 i32) (result i32)))
            (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
            (memory (export "memory") 1) (data (i32.const 100) "file")
            (data (i32.const 0) "\00\04\00\00\00\01\00\00")
            (func (export "_start")
                (if (call $open (i32.const 3) (i32.const 0) (i32.const 100) (i32.const 4) (i32.const 0)
                        (i64.const 2) (i64.const 0) (i32.const 0) (i32.const 8))
                    (then unreachable))
                (if (call $read (i32.load (i32.const 8)) (i32.const 0) (i32.const 1) (i32.const 12)) (then unreachable))
                (i32.store (i32.const 4) (i32.load (i32.const 12)))
                (if (call $write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 12)) (then unreachable))))"#,
        ctx,
    )?;
    std::fs::remove_dir_all(&dir)?;
    outcome?;
    assert_eq!(pipe.contents(), b"contents");
    Ok(())
}

#[test]
fn standard_input_is_what_was_given() -> Outcome {
    let pipe = OutputPipe::new();
    let ctx = WasiCtxBuilder::new().stdin_bytes("in").stderr_pipe(&pipe).build();
    run(
        r#"(module
            (import "wasi_snapshot_preview1" "fd_read" (func $read (param i32 i32 i32 i32) (result i32)))
            (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
            (memory (export "memory") 1) (data (i32.const 0) "\00\04\00\00\00\01\00\00")
            (func (export "_start")
                (drop (call $read (i32.const 0) (i32.const 0) (i32.const 1) (i32.const 4)))
                (drop (call $write (i32.const 2) (i32.const 0) (i32.const 1) (i32.const 12)))))"#,
        ctx,
    )??;
    assert_eq!(pipe.contents(), b"in");
    Ok(())
}

/// Everything that system calls receive from a memory with data on demand: names, vectors, buffers.
#[test]
fn the_system_is_given_data_that_nobody_touched() -> Outcome {
    const LEN: usize = 1_600_000;
    let mut data: Vec<u8> = (0..LEN as u32).map(|i| (i.wrapping_mul(0x9e37_79b1) >> 23) as u8).collect();
    let mut put = |at: usize, bytes: &[u8]| data[at..at + bytes.len()].copy_from_slice(bytes);
    put(300_000, b"out");
    let buffers = [(700_000_u32, 5000_u32), (900_001, 100), (0, 0), (70_000, 80_000)];
    for (i, (start, len)) in buffers.into_iter().enumerate() {
        put(500_000 + 8 * i, &start.to_le_bytes());
        put(500_004 + 8 * i, &len.to_le_bytes());
    }
    put(600_000, &1_200_000_u32.to_le_bytes());
    put(600_004, &60_000_u32.to_le_bytes());
    let escaped: String = data.iter().map(|byte| format!("\\{byte:02x}")).collect();
    let wat = format!(
        r#"(module
            (import "wasi_snapshot_preview1" "path_open"
                (func $open (param i32 i32 i32 i32 i32 i64 i64 i32 i32) (result i32)))
            (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
            (import "wasi_snapshot_preview1" "fd_pread" (func $read (param i32 i32 i32 i64 i32) (result i32)))
            (import "wasi_snapshot_preview1" "random_get" (func $random (param i32 i32) (result i32)))
            (memory (export "memory") 32) (data (i32.const 0) "{escaped}")
            (global $file (mut i32) (i32.const 0))
            (func (export "open")
                ;; create, truncate; read, write, seek
                (if (call $open (i32.const 3) (i32.const 0) (i32.const 300000) (i32.const 3) (i32.const 9)
                        (i64.const 0x66) (i64.const 0) (i32.const 0) (i32.const 1700000))
                    (then unreachable))
                (global.set $file (i32.load (i32.const 1700000)))
                ;; the vectors, not what they lead to
                (drop (i32.load (i32.const 500000)))
                (drop (i32.load (i32.const 600000))))
            (func (export "work")
                (if (call $write (global.get $file) (i32.const 500000) (i32.const 4) (i32.const 1700000))
                    (then unreachable))
                (if (i32.ne (i32.load (i32.const 1700000)) (i32.const 85100)) (then unreachable))
                (if (call $read (global.get $file) (i32.const 600000) (i32.const 1) (i64.const 10)
                        (i32.const 1700000))
                    (then unreachable))
                (if (i32.ne (i32.load (i32.const 1700000)) (i32.const 60000)) (then unreachable))
                (if (call $random (i32.const 1400000) (i32.const 3000)) (then unreachable))))"#
    );
    let ((binary, linker), folder) = (file_of(&wat)?, tempfile::tempdir()?);
    let start = |module: &Module| -> std::result::Result<_, Box<dyn std::error::Error>> {
        let context = WasiCtxBuilder::new().preopened_dir(&folder, "/")?.build();
        let mut store = Store::new(linker.engine(), context);
        let instance = linker.instantiate(&mut store, module)?;
        Ok((store, instance))
    };
    let call = |(store, instance): &mut (Store<WasiCtx>, Instance), name: &str| -> Result<()> {
        instance.get_typed_func::<(), ()>(&mut *store, name)?.call(store, ())
    };
    let written: Vec<u8> =
        buffers.iter().flat_map(|&(start, len)| &data[start as usize..][..len as usize]).copied().collect();
    let mut expected = data.clone();
    expected[1_200_000..1_260_000].copy_from_slice(&written[10..60_010]);
    let module = Module::from_file(linker.engine(), binary.path())?;
    // The first instance reads its data, the second shares pages with others.
    for _ in 0..2 {
        let mut program = start(&module)?;
        call(&mut program, "open")?;
        call(&mut program, "work")?;
        assert!(std::fs::read(folder.path().join("out"))? == written);
        let (mut store, instance) = program;
        let memory = instance.get_memory(&mut store, "memory").expect("exported").data(&store);
        let random = 1_400_000..1_403_000;
        assert!(memory[..random.start] == expected[..random.start]);
        assert!(memory[random.clone()] != expected[random.clone()]);
        assert!(memory[random.end..LEN] == expected[random.end..]);
    }
    // Lost data is neither written nor used as a name.
    let module = Module::from_file(linker.engine(), binary.path())?;
    let mut opened = start(&module)?;
    call(&mut opened, "open")?;
    let module = Module::from_file(linker.engine(), binary.path())?;
    let not_opened = start(&module)?;
    binary.as_file().set_len(1 << 20)?;
    for (mut program, name) in [(opened, "work"), (not_opened, "open")] {
        let error = call(&mut program, name).expect_err("the file has changed").to_string();
        assert!(error.contains("the file has changed since the module was loaded"), "{error}");
        let names = std::fs::read_dir(&folder)?.map(|entry| Ok(entry?.file_name()));
        assert_eq!(names.collect::<std::io::Result<Vec<_>>>()?, ["out"]);
        assert_eq!(std::fs::read(folder.path().join("out"))?, b"");
    }
    Ok(())
}

/// Bytes of data, each item in a piece that is read separately. Pieces are filled from the last one on, because the
/// pieces after one that is present may be read with it.
struct Layout {
    data: Vec<u8>,
    left: usize,
}

impl Layout {
    const PIECE: usize = 64 << 10;

    fn new(pieces: usize) -> Layout {
        Layout { data: vec![0; pieces * Self::PIECE], left: pieces }
    }

    /// Returns the address of space for a result.
    fn room(&mut self) -> Argument {
        self.left -= 1;
        Argument::Short((self.left * Self::PIECE + 800) as u32)
    }

    /// Returns the address of some bytes.
    fn put(&mut self, bytes: &[u8]) -> Argument {
        let Argument::Short(at) = self.room() else { unreachable!("an address") };
        self.data[at as usize..][..bytes.len()].copy_from_slice(bytes);
        Argument::Short(at)
    }

    /// Returns a vector of one buffer.
    fn vector(&mut self, buffer: &[u8]) -> Argument {
        let Argument::Short(at) = self.put(buffer) else { unreachable!("an address") };
        self.put(&[at.to_le_bytes(), (buffer.len() as u32).to_le_bytes()].concat())
    }
}

#[derive(Clone, Copy)]
enum Argument {
    Short(u32),
    Long(u64),
    /// The value of an earlier result.
    Loaded(u32),
}

/// Every function accesses untouched data in a memory with data on demand.
#[test]
fn every_function_reads_and_writes_data_that_nobody_touched() -> Outcome {
    use Argument::{Loaded, Long, Short};
    let mut at = Layout::new(80);
    let one = Short(1);
    let opened = at.room();
    let Short(file) = opened else { unreachable!("an address") };
    let (file, root, zero) = (Loaded(file), Short(3), Short(0));
    // One subscription: to a clock, with a timeout of zero.
    let clock = at.put(&[[0; 16], [0; 16], [0; 16]].concat());
    let calls: Vec<(&str, Vec<Argument>)> = vec![
        ("args_sizes_get", vec![at.room(), at.room()]),
        ("args_get", vec![at.room(), at.room()]),
        ("environ_sizes_get", vec![at.room(), at.room()]),
        ("environ_get", vec![at.room(), at.room()]),
        ("clock_res_get", vec![one, at.room()]),
        ("clock_time_get", vec![one, Long(0), at.room()]),
        ("fd_prestat_get", vec![root, at.room()]),
        ("fd_prestat_dir_name", vec![root, at.room(), one]),
        ("path_create_directory", vec![root, at.put(b"d"), one]),
        (
            "path_open",
            vec![root, zero, at.put(b"f"), one, Short(9), Long(0x0fff_ffff), Long(0), zero, opened],
        ),
        ("fd_write", vec![file, at.vector(b"some text"), one, at.room()]),
        ("fd_pwrite", vec![file, at.vector(b"S"), one, Long(0), at.room()]),
        ("fd_seek", vec![file, Long(0), zero, at.room()]),
        ("fd_read", vec![file, at.vector(&[0; 100]), one, at.room()]),
        ("fd_pread", vec![file, at.vector(&[0; 100]), one, Long(0), at.room()]),
        ("fd_tell", vec![file, at.room()]),
        ("fd_fdstat_get", vec![file, at.room()]),
        ("fd_filestat_get", vec![file, at.room()]),
        ("path_filestat_get", vec![root, zero, at.put(b"f"), one, at.room()]),
        ("path_filestat_set_times", vec![root, zero, at.put(b"f"), one, Long(7), Long(7), Short(5)]),
        ("path_link", vec![root, zero, at.put(b"f"), one, root, at.put(b"g"), one]),
        ("path_rename", vec![root, at.put(b"g"), one, root, at.put(b"h"), one]),
        ("path_symlink", vec![at.put(b"f"), one, root, at.put(b"s"), one]),
        ("path_readlink", vec![root, at.put(b"s"), one, at.room(), Short(50), at.room()]),
        ("fd_readdir", vec![root, at.room(), Short(2000), Long(0), at.room()]),
        ("path_unlink_file", vec![root, at.put(b"h"), one]),
        ("path_remove_directory", vec![root, at.put(b"d"), one]),
        ("random_get", vec![at.room(), Short(100)]),
        ("poll_oneoff", vec![clock, at.room(), one, at.room()]),
    ];
    let (mut imports, mut body) = (String::new(), String::new());
    for (index, (name, arguments)) in calls.iter().enumerate() {
        let types = arguments.iter().map(|argument| if let Long(_) = argument { "i64 " } else { "i32 " });
        let types: String = types.collect();
        imports += &format!(
            "(import \"wasi_snapshot_preview1\" \"{name}\" (func ${name} (param {types}) (result i32)))\n"
        );
        let values = arguments.iter().map(|argument| match argument {
            Short(value) => format!("(i32.const {value})"),
            Long(value) => format!("(i64.const {value})"),
            Loaded(at) => format!("(i32.load (i32.const {at}))"),
        });
        let values: String = values.collect();
        body += &format!("(call $check (call ${name} {values}) (i32.const {index}))\n");
    }
    let escaped: String = at.data.iter().map(|byte| format!("\\{byte:02x}")).collect();
    let wat = format!(
        r#"(module {imports}
            (memory (export "memory") {}) (data (i32.const 0) "{escaped}")
            (global $failed (export "failed") (mut i32) (i32.const -1))
            (func $check (param $error i32) (param $call i32)
                (if (local.get $error) (then (global.set $failed (local.get $call)) unreachable)))
            (func (export "_start") {body}))"#,
        at.data.len() >> 16
    );
    let ((binary, linker), folder) = (file_of(&wat)?, tempfile::tempdir()?);
    let module = Module::from_file(linker.engine(), binary.path())?;
    let ctx = WasiCtxBuilder::new().args(["a", "b"])?.env("c", "d")?.preopened_dir(&folder, "/")?.build();
    let mut store = Store::new(linker.engine(), ctx);
    let instance = linker.instantiate(&mut store, &module)?;
    let outcome = instance.get_typed_func::<(), ()>(&mut store, "_start")?.call(&mut store, ());
    let failed = instance.get_global(&mut store, "failed").expect("exported").get(&mut store).i32();
    let failed = failed.and_then(|index| calls.get(index as usize)).map(|call| call.0);
    assert!(outcome.is_ok(), "{failed:?}: {outcome:?}");
    assert_eq!(std::fs::read(folder.path().join("f"))?, b"Some text");
    Ok(())
}
