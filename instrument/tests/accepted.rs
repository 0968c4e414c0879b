//! Modules of all kinds that the validator accepts are valid after they were rewritten, whether an engine of ours runs
//! them or not; and offsets lead back to the original.

use wasmparser::{Parser, Payload, Validator, WasmFeatures};
use wprof_instrument::{Collected, Error, OffsetMap, Options, instrument};

const MODULES: [(&str, &str); 11] = [
    (
        "handlers",
        r#"(module
        (tag $a (param i32 i64)) (tag $b)
        (import "m" "f" (func $f (param i32) (result i32)))
        (func $g (param i32) (result i32) (if (local.get 0) (then (throw $b))) (local.get 0))
        (func (export "run") (param i32) (result i32)
          (block $h (result i32 i64)
            (block $e (result i32 i64 exnref)
              (block $all
                (block $any (result exnref)
                  (i32.const 7)
                  (try_table (param i32) (result i32)
                      (catch $a $h) (catch_ref $a $e) (catch $b $all) (catch_all_ref $any)
                    (drop)
                    (br_if 0 (call $g (local.get 0)) (call $f (local.get 0)))
                    (i32.add (call $f (local.get 0)))
                    (if (local.get 0) (then (throw $a (i32.const 1) (i64.const 2)))))
                  (return))
                (throw_ref))
              (return (i32.const 2)))
            (throw_ref))
          (drop)))"#,
    ),
    (
        "handler at a loop",
        r#"(module (tag $t) (func $f (param i32) (if (local.get 0) (then (throw $t))))
        (func (export "run") (param i32)
          (loop $again
            (local.set 0 (i32.sub (local.get 0) (i32.const 1)))
            (try_table (catch $t $again) (catch_all 1) (call $f (local.get 0)) (call $f (i32.const 0))))))"#,
    ),
    (
        "older handlers",
        r#"(module
        (tag $t (param i32))
        (func $f (param i32) (result i32) (if (local.get 0) (then (throw $t (i32.const 3)))) (i32.const 4))
        (func (export "run") (param i32) (result i32)
          try (result i32)
            try (result i32)
              local.get 0
              call $f
              try (param i32) (result i32)
                call $f
              delegate 1
            catch $t
              local.get 0
              call $f
              i32.add
            catch_all
              try (result i32)
                i32.const 5
                call $f
              catch_all
                rethrow 1
              end
            end
          catch_all
            i32.const 9
          end))"#,
    ),
    (
        "references",
        r#"(module
        (type $f (func (param i32) (result i32)))
        (func $g (type $f) (local.get 0))
        (elem declare func $g)
        (func (export "run") (param i32) (result i32) (local $r (ref null $f))
          (if (local.get 0) (then (local.set $r (ref.func $g))))
          (block $null (result i32)
            (block $there (result i32 (ref $f))
              (br_on_non_null $there (i32.const 1) (local.get $r))
              (br_on_null $null (local.get $r))
              (return_call_ref $f))
            (call_ref $f))
          (loop (param i32) (result i32)
            (br_if 0 (local.get 0))
            (drop)
            (local.get 0))))"#,
    ),
    (
        "casts",
        r#"(module
        (type $p (sub (struct (field i32)))) (type $q (sub $p (struct (field i32 i64))))
        (type $v (array (mut i8)))
        (func (export "run") (param anyref) (result i32)
          (block $is (result (ref $q))
            (block $not (result anyref)
              (br_on_cast $is anyref (ref $q) (local.get 0))
              (br_on_cast_fail $not anyref (ref $p))
              (br_on_cast $is (ref $p) (ref $q))
              (struct.get $p 0)
              (return))
            (drop)
            (return (array.len (array.new_default $v (i32.const 3)))))
          (struct.get $q 0)))"#,
    ),
    (
        "threads",
        r#"(module (memory (export "memory") 1 2 shared)
        (func (export "run") (param i32) (result i32)
          (loop (br_if 0 (i32.eqz (i32.atomic.rmw.cmpxchg (local.get 0) (i32.const 0) (i32.const 1)))))
          (memory.atomic.wait32 (local.get 0) (i32.const 0) (i64.const 0))))"#,
    ),
    (
        "a memory of 64 bits",
        r#"(module (memory i64 1) (func (export "run") (result i64)
          (if (i32.load (i64.const 8)) (then (drop (memory.grow (i64.const 1))))) (memory.size)))"#,
    ),
    (
        "a memory",
        r#"(module (memory (export "memory") 1 4) (data (i32.const 0) "abc")
        (func (export "run") (param i32) (result i32)
          (drop (memory.grow (local.get 0))) (i32.add (memory.size) (i32.load8_u (local.get 0)))))"#,
    ),
    (
        "an imported memory",
        r#"(module (import "m" "memory" (memory 1 9)) (import "m" "f" (func $f))
        (func $s (call $f)) (start $s)
        (func (export "run") (result i32) (call $f) (memory.grow (i32.const 1))))"#,
    ),
    (
        "switches with operands",
        r#"(module (func (export "run") (param i32) (result i32 i64)
          (block $a (result i32 i64)
            (block $b (result i32 i64)
              (i32.const 0) (i64.const 0)
              (loop $c (param i32 i64) (result i32 i64)
                (br_table $a $b $c $b $a (local.get 0))))
            (br_if $a (local.get 0)))))"#,
    ),
    (
        "code that is never reached",
        r#"(module (func (export "run") (result i32)
          (block (return (i32.const 1)))
          (loop (br 0) (if (unreachable) (then (br 1)) (else (br_table 0 1 1 (i32.const 1)))))
          (block $b (result i32) (br_if $b (i32.const 1) (i32.const 2)) (unreachable))))"#,
    ),
];

#[test]
fn what_was_valid_is_valid() {
    for (name, text) in MODULES {
        let wasm = wat::parse_str(text).unwrap_or_else(|e| panic!("{name}: {e}"));
        for collected in [Collected::Edges, Collected::Paths, Collected::Blocks] {
            for (exact_traps, single_memory) in [(false, false), (true, false), (false, true), (true, true)] {
                let options =
                    Options { collected, weights: None, exact_traps, single_memory, ..Options::default() };
                let what = format!("{name}, {options:?}");
                let new = match instrument(&wasm, options) {
                    Err(Error::NoRoom(_)) if single_memory => continue,
                    new => new.unwrap_or_else(|e| panic!("{what}: {e}")),
                };
                let features = WasmFeatures::default() | WasmFeatures::LEGACY_EXCEPTIONS;
                let valid = Validator::new_with_features(features).validate_all(&new);
                valid.map(drop).unwrap_or_else(|e| panic!("{what}: {e}"));
                offsets_lead_back(&wasm, &new);
                assert!(matches!(instrument(&new, options), Err(Error::Instrumented)), "{what}");
            }
        }
    }
}

/// Each instruction of the original is found at some offset of the new module, with the same opcode there.
fn offsets_lead_back(original: &[u8], new: &[u8]) {
    let map = OffsetMap::new(new).expect("it has one");
    let mut found = std::collections::BTreeSet::new();
    for offset in 0..new.len() as u32 {
        found.extend(map.original(offset));
    }
    for payload in Parser::new(0).parse_all(original) {
        let Ok(Payload::CodeSectionEntry(body)) = payload else { continue };
        let mut reader = body.get_operators_reader().expect("valid");
        while !reader.eof() {
            let (_, at) = reader.read_with_offset().expect("valid");
            assert!(found.contains(&(at as u32)), "offset {at:#x} of the original is nowhere");
        }
    }
}

#[test]
fn an_offset_in_the_new_module_is_that_of_the_same_instruction() {
    let wasm = wat::parse_str(
        r#"(module (func $f (param i32) (result i32)
          (if (local.get 0) (then (return (i32.const 77777)))) (call $f (i32.const 88888))))"#,
    )
    .expect("text");
    let options = Options {
        collected: Collected::Edges,
        weights: None,
        exact_traps: false,
        single_memory: false,
        ..Options::default()
    };
    let new = instrument(&wasm, options).expect("rewritten");
    let map = OffsetMap::new(&new).expect("it has one");
    for constant in [77777_i32, 88888] {
        let mut bytes = vec![0x41];
        wasm_encoder::Encode::encode(&constant, &mut bytes);
        let place =
            |module: &[u8]| module.windows(bytes.len()).position(|window| window == bytes).unwrap() as u32;
        assert_eq!(map.original(place(&new)), Some(place(&wasm)), "{constant}");
    }
    assert_eq!(map.original(3), None);
}

#[test]
fn hints_move_along_with_their_branches() {
    let text = r#"(module
        (func (export "run") (param i32)
          (block $b
            (loop (if (local.get 0) (then (return)))
              (@metadata.code.branch_hint "\00") (br_if $b (local.get 0))
              (br 0)))))"#;
    let wasm = wat::parse_str(text).expect("text");
    let options = Options {
        collected: Collected::Edges,
        weights: None,
        exact_traps: false,
        single_memory: false,
        ..Options::default()
    };
    let new = instrument(&wasm, options).expect("rewritten");
    let hinted = |module: &[u8]| {
        let (mut body, mut hint) = (0, None);
        for payload in Parser::new(0).parse_all(module) {
            match payload.expect("valid") {
                Payload::CustomSection(section) if section.name() == "metadata.code.branch_hint" => {
                    // One function, one hint: count, function, count, offset.
                    hint = Some(u32::from(section.data()[3]));
                }
                Payload::CodeSectionEntry(entry) if body == 0 => body = entry.range().start as u32,
                _ => {}
            }
        }
        module[(body + hint.expect("a hint")) as usize]
    };
    // The branch itself, or the `if` that it has become.
    assert!(matches!((hinted(&wasm), hinted(&new)), (0x0d, 0x04 | 0x0d)));
}

#[test]
fn a_description_has_the_registers_values_only_where_frames_stop() {
    let ifs = "(if (local.get 0) (then (local.set 0 (i32.const 1))))".repeat(40);
    let text = format!(r#"(module (import "m" "f" (func)) (func (param i32) {ifs} (call 0)))"#);
    let wasm = wat::parse_str(text).expect("text");
    let weights = wprof_profiler::Profile::default();
    let options = Options { collected: Collected::Paths, weights: Some(&weights), ..Options::default() };
    let new = instrument(&wasm, options).expect("rewritten");
    let length = Parser::new(0).parse_all(&new).find_map(|payload| match payload.expect("valid") {
        Payload::CustomSection(section) if section.name() == "wprof.counters" => Some(section.data().len()),
        _ => None,
    });
    // A byte for each of 81 blocks, and not ten.
    assert!(length.is_some_and(|length| length < 200), "{length:?}");
}
