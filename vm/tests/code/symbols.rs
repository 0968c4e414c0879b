//! Names and lines from files to which modules refer.

use std::fs;
use std::path::{Path, PathBuf};

use wasmparser::{Parser, Payload};
use wprof::*;

type Outcome = std::result::Result<(), Box<dyn std::error::Error>>;

/// Returns a benchmark program with DWARF.
fn json() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../bench-wasm/programs/json.wasm")
}

fn module(path: &Path) -> Result<Module> {
    Module::from_file(&Engine::default(), path)
}

/// Returns a custom section that contains a name.
fn custom(section: &str, name: &str) -> Vec<u8> {
    let string = |text: &str| [&[text.len() as u8], text.as_bytes()].concat();
    let content = [string(section), string(name)].concat();
    [&[0, content.len() as u8], &content[..]].concat()
}

/// Returns a custom section that contains a name of up to 16,383 bytes.
fn long_custom(section: &str, name: &str) -> Vec<u8> {
    let leb = |length: usize| [length as u8 & 127 | 128, (length >> 7) as u8];
    let content = [&[section.len() as u8], section.as_bytes(), &leb(name.len()), name.as_bytes()].concat();
    [&[0], &leb(content.len())[..], &content].concat()
}

/// Returns the module without its own custom sections.
fn stripped(bytes: &[u8]) -> Result<Vec<u8>, Box<dyn std::error::Error>> {
    let mut kept = bytes[..8].to_vec();
    for payload in Parser::new(0).parse_all(bytes) {
        let payload = payload?;
        if let (Some((id, range)), false) =
            (payload.as_section(), matches!(payload, Payload::CustomSection(_)))
        {
            let (start, end) = (range.start as usize, range.end as usize);
            kept.push(id);
            let mut size = end - start;
            while size > 127 {
                kept.push(size as u8 | 128);
                size >>= 7;
            }
            kept.push(size as u8);
            kept.extend(&bytes[start..end]);
        }
    }
    Ok(kept)
}

#[test]
fn debug_information_may_lie_in_a_file_of_its_own() -> Outcome {
    let folder = tempfile::tempdir()?;
    let whole = fs::read(json())?;
    let mut main = stripped(&whole)?;
    main.extend(custom("external_debug_info", "debug.wasm"));
    let path = folder.path().join("main.wasm");
    fs::write(&path, &main)?;
    let alone = module(&path)?;
    let (whole, start) = (module(&json())?, alone.info().imported_funcs);
    let lines = |module: &Module, func: u32| module.symbols_at(module.info().body(func).end as u32 - 1);
    assert_eq!((alone.func_name(start), lines(&alone, start)), (None, Vec::new()));
    fs::copy(json(), folder.path().join("debug.wasm"))?;
    let both = module(&path)?;
    let mut found = 0;
    for func in start..start + both.info().defined_funcs() {
        assert_eq!(both.func_name(func), whole.func_name(func));
        assert_eq!(lines(&both, func), lines(&whole, func));
        found += lines(&both, func).len();
    }
    assert!(found > 0 && both.func_name(start).is_some());
    assert_eq!(both.definition_lines(), whole.definition_lines());
    assert!(both.definition_lines()["parse_value"] > 0);
    // How large the file may be is an option.
    let size = fs::metadata(json())?.len();
    for (most, is_read) in [(size, true), (size - 1, false)] {
        let module = Module::from_file(&Engine::new(Config::new().max_debug_file(most))?, &path)?;
        assert_eq!(module.func_name(start).is_some(), is_read);
        assert_eq!(module.missing_debug_info().is_some(), !is_read);
    }
    Ok(())
}

#[test]
fn names_come_from_dwarf_where_nothing_else_names_functions() -> Outcome {
    let whole = fs::read(json())?;
    let (named, engine) = (module(&json())?, Engine::default());
    let mut nameless = stripped(&whole)?;
    for payload in Parser::new(0).parse_all(&whole) {
        if let Payload::CustomSection(section) = payload?
            && section.name() != "name"
        {
            let name = [&[section.name().len() as u8], section.name().as_bytes(), section.data()].concat();
            let (mut size, mut head) = (name.len(), vec![0]);
            while size > 127 {
                head.push(size as u8 | 128);
                size >>= 7;
            }
            head.push(size as u8);
            nameless.extend([head, name].concat());
        }
    }
    let of_dwarf = Module::new(&engine, &nameless)?;
    let start = named.info().imported_funcs;
    let functions = start..start + named.info().defined_funcs();
    // The C library and the linker have functions without debug information.
    for expected in ["parse_value", "print_value"] {
        let found = functions.clone().find(|&func| named.func_name(func) == Some(expected));
        assert_eq!(found.and_then(|func| of_dwarf.func_name(func)), Some(expected));
    }
    // The linker gives some functions other names, such as `_start.command_export`.
    let are_same = |&func: &u32| {
        let name = of_dwarf.func_name(func);
        name.is_some() && name == named.func_name(func)
    };
    assert!(functions.filter(are_same).count() > 20);
    assert!(!of_dwarf.has_detached_debug_info());
    // Neither names nor debug information are part of what code depends on.
    assert_eq!(of_dwarf.hash(), named.hash());
    assert_eq!(Module::new(&engine, stripped(&whole)?)?.hash(), named.hash());
    Ok(())
}

#[test]
fn debug_information_of_other_code_is_known_as_such() -> Outcome {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../cli/tests/it/programs");
    let (good, zeros) = (module(&folder.join("ways.wasm"))?, module(&folder.join("ways-zeros.wasm"))?);
    assert!(!good.has_detached_debug_info() && zeros.has_detached_debug_info());
    let none = Module::new(&Engine::default(), stripped(&fs::read(folder.join("ways.wasm"))?)?)?;
    assert!(!none.has_detached_debug_info());
    Ok(())
}

/// Encodes a number as in source maps.
fn number(value: i64) -> String {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let (mut rest, mut text) = ((value.unsigned_abs() << 1) | u64::from(value < 0), String::new());
    loop {
        let more = if rest > 31 { 32 } else { 0 };
        text.push(DIGITS[(rest & 31 | more) as usize] as char);
        rest >>= 5;
        if rest == 0 {
            return text;
        }
    }
}

#[test]
fn source_maps_give_lines() -> Outcome {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("app.wasm");
    let text = "(module (func $f nop nop) (func $g nop))";
    let code = Module::new(&Engine::default(), text)?.info().bytes.clone();
    fs::write(
        &path,
        [&code[..], &custom("sourceMappingURL", "http://localhost:8000/app.wasm.map")].concat(),
    )?;
    let (f, g) = {
        let module = module(&path)?;
        (module.info().body(0), module.info().body(1))
    };
    // The first instruction follows the number of groups of locals.
    let (first, second, last) = (f.start as i64 + 1, f.start as i64 + 2, g.start as i64 + 1);
    let segment = |numbers: &[i64]| numbers.iter().map(|&n| number(n)).collect::<String>();
    let mappings = [segment(&[first, 1, 6, 4]), segment(&[1, -1, 2, -4]), segment(&[last - second, 0, 5, 0])];
    let map = format!(
        r#"{{"version": 3, "sources": ["a.ts", "b.ts"], "names": [], "mappings": "{}"}}"#,
        mappings.join(",")
    );
    assert_eq!(module(&path)?.missing_debug_info(), Some("http://localhost:8000/app.wasm.map"));
    fs::write(folder.path().join("app.wasm.map"), &map)?;
    let inlined = format!("data:application/json,{}", map.replace('%', "%25"));
    let (with_map, engine) =
        ([&code[..], &long_custom("sourceMappingURL", &inlined)].concat(), Engine::default());
    let alone = Module::new(&engine, with_map)?;
    let module = module(&path)?;
    assert_eq!((alone.source_rows(), alone.missing_debug_info()), (module.source_rows(), None));
    assert_eq!(module.missing_debug_info(), None);
    let place = |offset: i64| {
        let symbols = module.symbols_at(offset as u32);
        symbols.first().map(|s| (s.file().unwrap().to_owned(), s.line().unwrap(), s.column().unwrap()))
    };
    assert_eq!(place(first - 1), None, "before the first");
    assert_eq!(place(first), Some(("b.ts".to_owned(), 7, 5)));
    assert_eq!(place(second), Some(("a.ts".to_owned(), 9, 1)));
    assert_eq!(place(g.start as i64), None, "the other function has not begun");
    assert_eq!(place(last), Some(("a.ts".to_owned(), 14, 1)));
    let rows: Vec<_> = module.source_rows().into_iter().map(|row| row.line.map(|(_, line)| line)).collect();
    assert_eq!(rows, [Some(7), Some(9), None, Some(14), None]);
    fs::write(folder.path().join("app.wasm.map"), "{\"version\": 3, \"sources\": [], \"mappings\": \"AAAA")?;
    assert!(self::module(&path)?.source_rows().is_empty(), "a damaged map is ignored");
    Ok(())
}

#[test]
fn debug_information_of_large_files_is_read_when_somebody_asks() -> Outcome {
    let mut bytes = fs::read(json())?;
    let content = [&[1, b'x'][..], &vec![7; 1 << 20]].concat();
    let size = (0..4).map(|i| (content.len() >> (7 * i)) as u8 & 0x7f | if i < 3 { 0x80 } else { 0 });
    bytes.push(0);
    bytes.extend(size);
    bytes.extend(content);
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("large.wasm");
    fs::write(&path, &bytes)?;
    let (late, gone, whole) = (module(&path)?, module(&path)?, Module::new(&Engine::default(), &bytes)?);
    let info = late.info().custom_section(".debug_info").expect("it has DWARF");
    assert!(!info.is_empty() && info.iter().all(|&byte| byte == 0), "read before anybody asked");
    assert!(!whole.source_rows().is_empty());
    assert_eq!(late.source_rows(), whole.source_rows());
    assert_eq!(late.discriminators(), whole.discriminators());
    assert_eq!(late.definition_lines(), whole.definition_lines());
    let (rows, one_by_one) = (whole.source_rows(), module(&path)?);
    for row in rows.iter().filter(|row| row.line.is_some()) {
        let symbols = one_by_one.symbols_at(row.offset);
        assert_eq!(symbols, whole.symbols_at(row.offset));
        assert!(!symbols.is_empty(), "{row:?}");
    }
    fs::OpenOptions::new().write(true).open(&path)?.set_len(1 << 20)?;
    assert!(gone.source_rows().is_empty() && gone.func_name(20) == whole.func_name(20));
    Ok(())
}
