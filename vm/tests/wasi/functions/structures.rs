//! Structures are written completely, with zeros between fields, and nothing is written beyond their end.

use super::*;

/// Returns the memory around the output of a function.
fn written(
    program: &mut Program,
    len: u32,
    call: impl FnOnce(&mut dyn Wasi, &mut Guest<'_>) -> Result<u32>,
) -> Vec<u8> {
    program.memory[RESULT as usize..][..256].fill(UNTOUCHED);
    assert_eq!(program.call(call), errno::SUCCESS);
    assert!(program.bytes(RESULT + len, 256 - len).iter().all(|&byte| byte == UNTOUCHED));
    program.bytes(RESULT, len).to_vec()
}

fn is_zero(bytes: &[u8]) -> bool {
    bytes.iter().all(|&byte| byte == 0)
}

#[test]
fn there_are_zeros_between_fields() -> Outcome {
    let folder = tempfile::tempdir()?;
    let mut program = Program::within(&folder);
    let file = program.create("f", b"12345");
    for preview in [Preview::One, Preview::Zero] {
        program.preview = preview;
        let stat = written(&mut program, 24, |wasi, guest| wasi.fd_fdstat_get(guest, file, RESULT));
        assert!(stat[0] == 4 && stat[1] == 0 && is_zero(&stat[4..8]), "{stat:?}");
        let stat = written(&mut program, 8, |wasi, guest| wasi.fd_prestat_get(guest, ROOT, RESULT));
        assert_eq!(stat, [0, 0, 0, 0, 1, 0, 0, 0]);
        let (at, len) = program.path("f");
        let (size, links, size_at) =
            if preview == Preview::One { (64, 24..32, 32) } else { (56, 20..24, 24) };
        let of_path = |wasi: &mut dyn Wasi, guest: &mut Guest<'_>| {
            wasi.path_filestat_get(guest, ROOT, 0, at, len, RESULT)
        };
        let of_path = written(&mut program, size, of_path);
        let of_file = written(&mut program, size, |wasi, guest| wasi.fd_filestat_get(guest, file, RESULT));
        assert_eq!(of_path, of_file);
        assert!(of_file[16] == 4 && is_zero(&of_file[17..links.start]), "{of_file:?}");
        assert!(of_file[links.start] == 1 && is_zero(&of_file[links.start + 1..links.end]), "{of_file:?}");
        assert_eq!(of_file[size_at..size_at + 8], [5, 0, 0, 0, 0, 0, 0, 0]);
    }
    Ok(())
}

#[test]
fn what_stands_behind_the_type_of_an_entry_is_zero() -> Outcome {
    let folder = tempfile::tempdir()?;
    let mut program = Program::within(&folder);
    program.create("name", b"");
    let len = 200;
    program.memory[BUFFER as usize..][..len as usize].fill(UNTOUCHED);
    assert_eq!(
        program.call(|wasi, guest| wasi.fd_readdir(guest, ROOT, BUFFER, len, 0, RESULT)),
        errno::SUCCESS
    );
    let used = program.u32(RESULT);
    assert_eq!(used, 3 * 24 + 1 + 2 + 4);
    let entries = [(0, ".", 3_u8), (25, "..", 3), (51, "name", 4)];
    for (at, name, filetype) in entries {
        let entry = program.bytes(BUFFER + at, 24 + name.len() as u32);
        assert_eq!(entry[16..20], (name.len() as u32).to_le_bytes());
        assert_eq!((entry[20], &entry[21..24], &entry[24..]), (filetype, &[0; 3][..], name.as_bytes()));
    }
    assert!(program.bytes(BUFFER + used, len - used).iter().all(|&byte| byte == UNTOUCHED));
    Ok(())
}

#[test]
fn pointers_that_lead_out_of_memory_or_are_not_aligned_end_the_program() -> Outcome {
    let folder = tempfile::tempdir()?;
    let mut program = Program::new(WasiCtxBuilder::new().args(["a", "b"])?.preopened_dir(&folder, "/")?);
    let file = program.create("f", b"12345");
    let end = program.memory.len() as u32;
    type Call = Box<dyn Fn(&mut dyn Wasi, &mut Guest<'_>) -> Result<u32>>;
    let bad: Vec<Call> = vec![
        Box::new(move |wasi, guest| wasi.fd_filestat_get(guest, file, RESULT + 4)),
        Box::new(move |wasi, guest| wasi.fd_filestat_get(guest, file, end - 56)),
        Box::new(move |wasi, guest| wasi.fd_filestat_get(guest, file, u32::MAX - 7)),
        Box::new(move |wasi, guest| wasi.fd_fdstat_get(guest, file, RESULT + 1)),
        Box::new(move |wasi, guest| wasi.clock_time_get(guest, 0, 0, RESULT + 4)),
        Box::new(move |wasi, guest| wasi.args_get(guest, RESULT + 2, BUFFER)),
        Box::new(move |wasi, guest| wasi.args_get(guest, RESULT, end - 3)),
        Box::new(move |wasi, guest| wasi.args_get(guest, u32::MAX - 3, BUFFER)),
        Box::new(move |wasi, guest| wasi.random_get(guest, end - 8, 9)),
        Box::new(move |wasi, guest| wasi.random_get(guest, u32::MAX, u32::MAX)),
        Box::new(move |wasi, guest| wasi.fd_write(guest, file, RESULT + 1, 1, BUFFER)),
        Box::new(move |wasi, guest| wasi.fd_write(guest, file, end - 8, 2, BUFFER)),
        Box::new(move |wasi, guest| wasi.fd_write(guest, file, 0, u32::MAX, BUFFER)),
        Box::new(move |wasi, guest| wasi.fd_readdir(guest, ROOT, end - 8, 9, 0, RESULT)),
        Box::new(move |wasi, guest| wasi.path_create_directory(guest, ROOT, end - 8, 9)),
        Box::new(move |wasi, guest| wasi.path_create_directory(guest, ROOT, u32::MAX, u32::MAX)),
        Box::new(move |wasi, guest| wasi.poll_oneoff(guest, BUFFER + 4, BUFFER, 1, RESULT)),
        Box::new(move |wasi, guest| wasi.poll_oneoff(guest, BUFFER, BUFFER, u32::MAX, RESULT)),
        Box::new(move |wasi, guest| {
            wasi.path_open(guest, ROOT, 0, BUFFER, 1, CREAT, WRITE, 0, 0, RESULT + 1)
        }),
    ];
    for (index, call) in bad.into_iter().enumerate() {
        let error = program.try_call(|wasi, guest| call(wasi, guest)).expect_err(&format!("call {index}"));
        assert!(error.to_string().contains("bad pointer"), "{index}: {error}");
    }
    assert_eq!(std::fs::read_dir(&folder)?.count(), 1, "nothing was created");
    Ok(())
}

#[test]
fn buffers_may_overlap_each_other_and_the_list_that_names_them() -> Outcome {
    let folder = tempfile::tempdir()?;
    let mut program = Program::within(&folder);
    let file = program.create("f", b"0123456789");
    assert_eq!(program.seek(file, 0, 0), Ok(0));
    // The second buffer begins within the first: bytes are read into the first one only.
    let list = [(BUFFER, 6), (BUFFER + 3, 6)]
        .map(|(at, len): (u32, u32)| [at.to_le_bytes(), len.to_le_bytes()].concat());
    let (at, _) = program.put(BUFFER + 64, &list.concat());
    assert_eq!(program.call(|wasi, guest| wasi.fd_read(guest, file, at, 2, RESULT)), errno::SUCCESS);
    assert_eq!((program.u32(RESULT), program.bytes(BUFFER, 6)), (6, &b"012345"[..]));
    // The buffer is the list itself.
    let (at, _) = program.put(BUFFER, &[BUFFER.to_le_bytes(), 4_u32.to_le_bytes()].concat());
    assert_eq!(program.call(|wasi, guest| wasi.fd_read(guest, file, at, 1, RESULT)), errno::SUCCESS);
    assert_eq!((program.u32(RESULT), program.bytes(BUFFER, 4)), (4, &b"6789"[..]));
    Ok(())
}

#[test]
fn arguments_and_environment_are_written_with_their_addresses() -> Outcome {
    let mut program = Program::new(WasiCtxBuilder::new().args(["one", "", "dreißig"])?.env("A", "b=c")?);
    assert_eq!(program.call(|wasi, guest| wasi.args_sizes_get(guest, RESULT, RESULT + 4)), errno::SUCCESS);
    assert_eq!((program.u32(RESULT), program.u32(RESULT + 4)), (3, 4 + 1 + 9));
    assert_eq!(program.call(|wasi, guest| wasi.args_get(guest, RESULT, BUFFER)), errno::SUCCESS);
    assert_eq!([0, 4, 8].map(|at| program.u32(RESULT + at)), [BUFFER, BUFFER + 4, BUFFER + 5]);
    assert_eq!(program.bytes(BUFFER, 15), [&b"one\0\0"[..], "dreißig\0".as_bytes(), &[UNTOUCHED]].concat());
    assert_eq!(program.call(|wasi, guest| wasi.environ_sizes_get(guest, RESULT, RESULT + 4)), errno::SUCCESS);
    assert_eq!((program.u32(RESULT), program.u32(RESULT + 4)), (1, 6));
    assert_eq!(program.call(|wasi, guest| wasi.environ_get(guest, RESULT, BUFFER)), errno::SUCCESS);
    assert_eq!(program.bytes(BUFFER, 6), b"A=b=c\0");
    assert!(WasiCtxBuilder::new().arg("a\0b").is_err() && WasiCtxBuilder::new().env("a", "\0").is_err());
    Ok(())
}

#[test]
fn random_numbers_come_from_the_system_or_from_a_seed() {
    let random = |builder: &mut WasiCtxBuilder| {
        let mut program = Program::new(builder);
        assert_eq!(program.call(|wasi, guest| wasi.random_get(guest, BUFFER, 1001)), errno::SUCCESS);
        assert_eq!(program.bytes(BUFFER + 1001, 1), [UNTOUCHED]);
        program.bytes(BUFFER, 1001).to_vec()
    };
    let mut builder = WasiCtxBuilder::new();
    assert_ne!(random(&mut builder), random(&mut builder));
    assert_eq!(random(builder.random_seed(7)), random(builder.random_seed(7)));
    assert_ne!(random(builder.random_seed(7)), random(builder.random_seed(8)));
    let (mut values, bytes) = ([0; 256], random(&mut builder));
    bytes.iter().for_each(|&byte| values[byte as usize] += 1);
    assert!(values.iter().all(|&count| count < 30), "{values:?}");
}

#[test]
fn an_exit_code_of_any_size_is_passed_on() {
    let mut program = Program::new(&mut WasiCtxBuilder::new());
    for code in [0, 1, 125, 126, 127, 134, 255, 256, u32::MAX] {
        let error =
            program.try_call(|wasi, guest| wasi.proc_exit(guest, code).map(|()| 0)).expect_err("it ends");
        assert_eq!(error.i32_exit(), Some(code as i32));
    }
}
