//! Modules in large files, whose data is read late and mapped as pages of memories: memories hold the file's contents,
//! separately for each instance.

use std::io::{Seek, Write};

use wprof::*;

type Outcome = std::result::Result<(), Box<dyn std::error::Error>>;

const PAGE: u32 = 4096;
const WASM_PAGE: u32 = 65536;

/// A data segment at an address.
struct Segment {
    address: u32,
    bytes: Vec<u8>,
}

/// Returns bytes that differ in each page and each segment.
fn segment(address: u32, len: u32, seed: u32) -> Segment {
    let byte = |i: u32| (i.wrapping_mul(0x9e37_79b1).wrapping_add(seed * 77) >> 13) as u8;
    Segment { address, bytes: (0..len).map(byte).collect() }
}

fn unsigned(mut number: u32, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Writes an address as signed LEB128 in five bytes.
fn signed(number: u32, out: &mut Vec<u8>) {
    let number = i64::from(number as i32);
    (0..4).for_each(|i| out.push((number >> (7 * i)) as u8 | 0x80));
    out.push((number >> 28) as u8 & 0x7f);
}

fn section(id: u8, contents: &[u8], out: &mut Vec<u8>) {
    out.push(id);
    unsigned(contents.len() as u32, out);
    out.extend_from_slice(contents);
}

/// Returns a module with a memory of `pages`, exported as `m`, and `segments`.
fn module_of(pages: u32, segments: &[Segment]) -> Vec<u8> {
    let mut module = b"\0asm\x01\0\0\0".to_vec();
    let mut memory = vec![1, 0];
    unsigned(pages, &mut memory);
    section(5, &memory, &mut module);
    section(7, &[1, 1, b'm', 2, 0], &mut module);
    let mut data = Vec::new();
    unsigned(segments.len() as u32, &mut data);
    for segment in segments {
        data.extend([0, 0x41]);
        signed(segment.address, &mut data);
        data.push(0x0b);
        unsigned(segment.bytes.len() as u32, &mut data);
        data.extend_from_slice(&segment.bytes);
    }
    section(11, &data, &mut module);
    module
}

/// Returns the contents of a memory of `pages` with these segments.
fn contents(pages: u32, segments: &[Segment]) -> Vec<u8> {
    let mut memory = vec![0; (pages * WASM_PAGE) as usize];
    for Segment { address, bytes } in segments {
        memory[*address as usize..][..bytes.len()].copy_from_slice(bytes);
    }
    memory
}

/// Returns two megabytes of data for a text module.
fn data() -> String {
    "0123456789abcdef".repeat(1 << 17)
}

fn file_of(bytes: &[u8]) -> std::io::Result<tempfile::NamedTempFile> {
    let mut file = tempfile::NamedTempFile::new()?;
    file.write_all(bytes)?;
    Ok(file)
}

fn memory_of(store: &mut Store<()>, module: &Module) -> std::result::Result<Memory, Error> {
    let instance = Instance::new(&mut *store, module, &[])?;
    Ok(instance.get_memory(&mut *store, "m").expect("exported"))
}

fn check(pages: u32, segments: &[Segment]) -> Outcome {
    let (engine, expected) = (Engine::default(), contents(pages, segments));
    let file = file_of(&module_of(pages, segments))?;
    let module = Module::from_file(&engine, file.path())?;
    let mut store = Store::new(&engine, ());
    let first = memory_of(&mut store, &module)?;
    let second = memory_of(&mut store, &module)?;
    assert!(first.data(&store) == expected);
    first.data_mut(&mut store).fill(0xa5);
    assert!(second.data(&store) == expected, "a memory has another's bytes");
    second.grow(&mut store, 1)?;
    assert!(second.data(&store)[..expected.len()] == expected, "growth changes bytes");
    let mut later = Store::new(&engine, ());
    let third = memory_of(&mut later, &module)?;
    drop((store, module));
    assert!(third.data(&later) == expected, "bytes change with memories that had the same");
    Ok(())
}

#[test]
fn memories_hold_what_segments_say_wherever_these_lie() -> Outcome {
    const LEN: u32 = 1 << 20;
    for (address, len) in [
        (0, LEN),
        (1024, LEN),
        (1025, LEN + 7),
        (PAGE - 1, LEN),
        (PAGE, LEN - 1),
        (WASM_PAGE - LEN % PAGE, LEN),
    ] {
        check(40, &[segment(address, len, 1)])?;
    }
    Ok(())
}

#[test]
fn segments_that_overlap_are_written_in_order() -> Outcome {
    let large = |address, seed| segment(address, 1 << 20, seed);
    check(40, &[large(1000, 1), large(500_000, 2), segment(700_000, 3, 3)])?;
    check(40, &[segment(700_000, 100_000, 3), large(500_000, 2), large(1000, 1), segment(1024, 0, 4)])
}

#[test]
fn files_of_several_parts_are_read_whole() -> Outcome {
    for more in [0, 1, PAGE, 12_345] {
        check(
            220,
            &[segment(77, 100, 5), segment(1024, (9 << 20) + more, 6), segment(11 << 20, 2 << 20, 7)],
        )?;
    }
    Ok(())
}

#[test]
fn a_segment_to_the_end_of_memory_fits_and_one_byte_more_traps() -> Outcome {
    let len = 2 << 20;
    let address = 40 * WASM_PAGE - len;
    check(40, &[segment(address, len, 1)])?;
    let file = file_of(&module_of(40, &[segment(address + 1, len, 1)]))?;
    let engine = Engine::default();
    let module = Module::from_file(&engine, file.path())?;
    let error = memory_of(&mut Store::new(&engine, ()), &module).expect_err("it does not fit");
    assert_eq!(error.trap(), Some(Trap::MemoryOutOfBounds));
    Ok(())
}

#[test]
fn what_wasm_writes_stays_in_its_instance() -> Outcome {
    let data = data();
    let text = format!(
        r#"(module (memory (export "m") 64) (data (i32.const 20000) "{data}")
            (func (export "f") (param i32 i32) (result i32)
                (i32.store8 (local.get 0) (local.get 1))
                (memory.copy (i32.const 0) (i32.const 100000) (i32.const 70000))
                (i32.load8_u (i32.sub (local.get 0) (i32.const 100000)))))"#
    );
    let engine = Engine::default();
    // A text file becomes other bytes than those of the file.
    let file = file_of(text.as_bytes())?;
    let of_text = Module::from_file(&engine, file.path())?;
    let file = file_of(&of_text.info().bytes)?;
    let of_binary = Module::from_file(&engine, file.path())?;
    assert_eq!(of_text.hash(), of_binary.hash());
    for module in [of_text, of_binary] {
        let mut store = Store::new(&engine, ());
        for _ in 0..2 {
            let instance = Instance::new(&mut store, &module, &[])?;
            let memory = instance.get_memory(&mut store, "m").expect("exported");
            assert_eq!(memory.data(&store)[150_000], b'0');
            let f = instance.get_typed_func::<(u32, u32), u32>(&mut store, "f")?;
            assert_eq!(f.call(&mut store, (150_000, 7))?, 7);
            assert_eq!(memory.data(&store)[150_001], b'1');
        }
    }
    Ok(())
}

/// Data that an instance reads late is as it was when the module was loaded; otherwise there is an error.
#[test]
fn files_that_change_are_noticed() -> Outcome {
    let (segments, engine) = ([segment(1024, 2 << 20, 1)], Engine::default());
    let (bytes, expected) = (module_of(40, &segments), contents(40, &segments));
    for had_instance in [false, true] {
        let mut file = file_of(&bytes)?;
        let module = Module::from_file(&engine, file.path())?;
        assert!(*module.bytes()? == *bytes);
        let mut store = Store::new(&engine, ());
        let first = had_instance.then(|| memory_of(&mut store, &module)).transpose()?;
        assert!(first.is_none_or(|first| first.data(&store) == expected));
        file.rewind()?;
        file.write_all(&bytes)?;
        let changed = || memory_of(&mut Store::new(&engine, ()), &module).expect_err("the file was written");
        let error = changed();
        assert_eq!(error.kind(), ErrorKind::System);
        assert!(error.to_string().contains("the file has changed since the module was loaded"), "{error}");
        file.as_file().set_len(0)?;
        assert_eq!(changed().kind(), ErrorKind::System);
        assert!(module.bytes().is_err());
        assert!(first.is_none_or(|first| first.data(&store) == expected));
    }
    Ok(())
}

#[test]
fn files_that_are_replaced_do_not_matter() -> Outcome {
    let (segments, engine) = ([segment(1024, 2 << 20, 1)], Engine::default());
    let (bytes, expected) = (module_of(40, &segments), contents(40, &segments));
    let file = file_of(&bytes)?;
    let module = Module::from_file(&engine, file.path())?;
    std::fs::rename(file_of(b"something else")?.into_temp_path().keep()?, file.path())?;
    let mut store = Store::new(&engine, ());
    for _ in 0..3 {
        assert!(memory_of(&mut store, &module)?.data(&store) == expected);
    }
    assert!(*module.bytes()? == *bytes);
    Ok(())
}

#[test]
fn several_large_segments_are_late() -> Outcome {
    let segments = [segment(5000, 1 << 20, 1), segment(2 << 20, 100, 2), segment(3 << 20, (1 << 20) + 5, 3)];
    check(80, &segments)?;
    let engine = Engine::default();
    let bytes = module_of(80, &segments);
    let module = Module::from_file(&engine, file_of(&bytes)?.path())?;
    let is_kept = |i: usize| module.info().bytes[module.info().data[i].bytes.clone()] == segments[i].bytes;
    assert_eq!([0, 1, 2].map(is_kept), [false, true, false]);
    assert!(*module.bytes()? == *bytes);
    assert_eq!(module.hash(), Module::new(&engine, &bytes)?.hash());
    Ok(())
}

/// An instance that could not be made still has its late segments, because its functions may be reachable through the
/// table.
#[test]
fn segments_of_instances_that_could_not_be_made_are_there() -> Outcome {
    let data = data();
    let text = format!(
        r#"(module (import "" "t" (table 1 funcref)) (import "" "m" (memory 40))
            (elem (i32.const 0) func $f)
            (func $f (memory.init $late (i32.const 100) (i32.const 7) (i32.const 1500000)))
            (data (i32.const 0x7fffff) "too far")
            (data $late (i32.const 0) "{data}"))"#
    );
    let engine = Engine::default();
    let file = file_of(&Module::new(&engine, text)?.info().bytes)?;
    let module = Module::from_file(&engine, file.path())?;
    let mut store = Store::new(&engine, ());
    let table = Table::new(&mut store, TableType::new(RefType::FUNCREF, 1, None), Ref::Func(None))?;
    let memory = Memory::new(&mut store, MemoryType::new(40, None))?;
    let imports = [Extern::Table(table), Extern::Memory(memory)];
    let error = Instance::new(&mut store, &module, &imports).expect_err("a segment does not fit");
    assert_eq!(error.trap(), Some(Trap::MemoryOutOfBounds));
    let Some(Ref::Func(Some(f))) = table.get(&mut store, 0) else { panic!("the function is in the table") };
    for _ in 0..2 {
        memory.data_mut(&mut store).fill(0);
        f.call(&mut store, &[], &mut [])?;
        let filled = &memory.data(&store)[100..100 + 1_500_000];
        assert!(filled == &data.as_bytes()[7..7 + 1_500_000]);
    }
    file.as_file().set_len(0)?;
    let error = f.call(&mut store, &[], &mut []).expect_err("the file is gone");
    assert_eq!(error.trap(), Some(Trap::MemoryOutOfBounds));
    Ok(())
}

/// A memory for which many modules have large segments uses few mappings, because mappings are scarce.
#[test]
fn few_pages_are_shared_by_modules_of_one_memory() -> Outcome {
    let (data, engine) = (data(), Engine::default());
    let mut store = Store::new(&engine, ());
    let memory = Memory::new(&mut store, MemoryType::new(1024, None))?;
    for i in 0..20 {
        let place = (i << 21) + i * 4096;
        let text = format!(
            r#"(module (import "" "m" (memory 1024)) (data (i32.const {place}) "{}"))"#,
            &data[..1 << 20]
        );
        let file = file_of(&Module::new(&engine, text)?.info().bytes)?;
        let module = Module::from_file(&engine, file.path())?;
        for _ in 0..3 {
            memory.data_mut(&mut store)[place..place + (1 << 20)].fill(0);
            Instance::new(&mut store, &module, &[Extern::Memory(memory)])?;
            assert!(memory.data(&store)[place..place + (1 << 20)] == data.as_bytes()[..1 << 20]);
        }
    }
    let in_memory = memory.data(&store).as_ptr_range();
    let maps = std::fs::read_to_string("/proc/self/maps")?;
    let is_inside = |line: &&str| {
        let begin = line.split('-').next().and_then(|begin| usize::from_str_radix(begin, 16).ok());
        begin.is_some_and(|begin| in_memory.contains(&(begin as *const u8)))
    };
    let inside: Vec<&str> = maps.lines().filter(is_inside).collect();
    // The first instance of each module has pages on demand, the others share pages.
    let shared = inside.iter().filter(|line| line.contains("wprof-module")).count();
    assert_eq!(shared, 5, "of 16 times");
    assert!(inside.len() <= 33, "{}", inside.len());
    Ok(())
}

/// A separate walk over the file finds late segments; it must agree with the parser on every file.
#[test]
fn damaged_files_are_what_their_bytes_are() -> Outcome {
    let mut whole = module_of(40, &[segment(77, 300, 5), segment(1024, 1 << 20, 1), segment(2 << 20, 50, 2)]);
    for name in [".debug_info", "name", ".debug_str", ".debug_", "x"] {
        let mut contents = vec![name.len() as u8];
        contents.extend_from_slice(name.as_bytes());
        contents.extend(vec![7; 5000]);
        section(0, &contents, &mut whole);
    }
    let large = whole.windows(4).position(|w| w == &segment(1024, 4, 1).bytes[..]).expect("it is there");
    // The places with structure: before the large segment, and after it.
    let places: Vec<usize> = (8..large).chain(large + (1 << 20)..whole.len()).collect();
    let is_structure = |&at: &usize| at < large || whole[at..].iter().take(20).any(|&byte| byte != 7);
    let places: Vec<usize> = places.into_iter().filter(is_structure).collect();
    let (engine, mut random, mut valid) = (Engine::default(), 1_u32, 0);
    let mut next = |below: usize| {
        random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (random >> 8) as usize % below
    };
    // Errors about a file also name the file.
    let outcome = |module: Result<Module>, path: &str| match module {
        Ok(module) => {
            Ok((module.hash(), module.bytes().map_or_else(|e| e.to_string().into(), |b| b.into_owned())))
        }
        Err(error) => Err((error.kind(), error.to_string().replacen(path, "", 1))),
    };
    for _ in 0..400 {
        let mut bytes = whole.clone();
        for _ in 0..1 + next(2) {
            bytes[places[next(places.len())]] = [next(256) as u8, 0, 1, 11, 0x80, 0xff][next(6)];
        }
        let file = file_of(&bytes)?;
        let path = format!("{}: ", file.path().display());
        let from_file = outcome(Module::from_file(&engine, file.path()), &path);
        let from_bytes = outcome(Module::new(&engine, &bytes), "");
        valid += usize::from(from_bytes.is_ok());
        assert!(from_file == from_bytes, "{from_file:?} instead of {from_bytes:?}");
    }
    assert!((20..380).contains(&valid), "{valid} of 400 are valid");
    Ok(())
}

#[test]
fn files_that_are_cut_off_are_errors() -> Outcome {
    let whole = module_of(40, &[segment(1024, 2 << 20, 1)]);
    for len in [whole.len() - 1, 1 << 20] {
        let file = file_of(&whole[..len])?;
        let error = Module::from_file(&Engine::default(), file.path()).expect_err("something is missing");
        assert_eq!(error.kind(), ErrorKind::Module, "{error}");
    }
    let file = file_of(&vec![0xff; 2 << 20])?;
    assert!(Module::from_file(&Engine::default(), file.path()).is_err());
    Ok(())
}
