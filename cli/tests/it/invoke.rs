//! Exported functions are called with arguments of their types.

use super::{COUNT, Folder, wprof};

const VALUES: &str = r#"(module
  (func (export "i32") (param i32) (result i32) local.get 0)
  (func (export "i64") (param i64) (result i64) local.get 0)
  (func (export "f32") (param f32) (result f32) local.get 0)
  (func (export "f64") (param f64) (result f64) local.get 0)
  (func (export "swap") (param i32 i64) (result i64 i32) local.get 1 local.get 0)
  (func (export "null") (result funcref) ref.null func)
  (func (export "ref") (param externref))
  (func (export "nothing")))"#;

#[test]
fn arguments_and_results_have_their_types() {
    let folder = Folder::new();
    let module = folder.file("values.wat", VALUES);
    let cases = [
        (&["i32", "-1"][..], "-1\n"),
        (&["i32", "0xffffffff"], "-1\n"),
        (&["i64", "-9223372036854775808"], "-9223372036854775808\n"),
        (&["f32", "0.1"], "0.1\n"),
        (&["f64", "-inf"], "-inf\n"),
        (&["swap", "1", "2"], "2\n1\n"),
        (&["null"], "null\n"),
        (&["nothing"], ""),
        (&["swap(1, 0x10)"], "16\n1\n"),
        (&["nothing()"], ""),
    ];
    for (call, results) in cases {
        let args = [&["run", "-q", "--invoke", call[0], &module], &call[1..]].concat();
        assert_eq!(wprof(&args).succeeded(), results, "{call:?}");
    }
}

#[test]
fn strings_of_javascript_are_there() {
    const WAT: &str = r#"(module
        (import "wasm:js-string" "length" (func $length (param externref) (result i32)))
        (import "'" "five!" (global $text (ref extern)))
        (func (export "run") (result i32) (call $length (global.get $text))))"#;
    let folder = Folder::new();
    let module = folder.file("strings.wat", WAT);
    assert_eq!(wprof(&["run", "-q", "--invoke", "run", &module]).succeeded(), "5\n");
}

#[test]
fn what_does_not_fit_is_explained() {
    let folder = Folder::new();
    let module = folder.file("values.wat", VALUES);
    let cases = [
        (&["i32", "4294967296"][..], "give an integer of 32 bits"),
        (&["f64", "x"], "argument `x`"),
        (&["swap", "1"], "give 2 arguments, not 1"),
        (&["ref", "1"], "externref"),
        (&["absent"], "swap (i32, i64) -> (i64, i32)"),
        (&["absent(1)"], "swap (i32, i64) -> (i64, i32)"),
        (&["swap(1,,2)"], "an argument is missing in `1,,2`"),
        (&["swap(1, 2"], "does not end with `)`"),
        (&["swap", "\"text\""], "exports no allocator for texts and files, such as __wbindgen_malloc"),
        (&["i32", "\"text"], "no closing \""),
        (&["i32", "@/no/such/file"], "cannot read /no/such/file"),
    ];
    for (call, part) in cases {
        let args = [&["run", "--invoke", call[0], &module], &call[1..]].concat();
        let said = wprof(&args).failed();
        assert!(said.contains(part), "{part}: {said}");
    }
}

#[test]
fn a_text_module_is_as_good_as_a_binary_one() {
    let folder = Folder::new();
    let module = folder.file("count.wat", COUNT);
    assert_eq!(wprof(&["run", "-q", "--invoke", "count", &module, "10"]).succeeded(), "5\n");
}

/// A module with functions that sum the bytes of a text: with a length, and up to a zero. Its allocator is to be added.
fn sums(allocator: &str) -> String {
    format!(
        r#"(module (memory (export "memory") 1) (global $top (mut i32) (i32.const 1000))
        (func $take (param $size i32) (result i32)
            (global.get $top) (global.set $top (i32.add (global.get $top) (local.get $size))))
        {allocator}
        (func $sum (export "sum") (param i32 i32) (result i32) (local $sum i32)
            (loop $next (if (local.get 1) (then
                (local.set $sum (i32.add (local.get $sum) (i32.load8_u (local.get 0))))
                (local.set 0 (i32.add (local.get 0) (i32.const 1)))
                (local.set 1 (i32.sub (local.get 1) (i32.const 1)))
                (br $next))))
            (local.get $sum))
        (func (export "weighted") (param $weight i64) (param i32 i32 i32 i32) (result i64)
            (i64.add (i64.mul (local.get $weight) (i64.extend_i32_u (call $sum (local.get 1) (local.get 2))))
                (i64.extend_i32_u (call $sum (local.get 3) (local.get 4)))))
        (func (export "c") (param i32) (result i32) (local $sum i32)
            (loop $next (if (i32.load8_u (local.get 0)) (then
                (local.set $sum (i32.add (local.get $sum) (i32.load8_u (local.get 0))))
                (local.set 0 (i32.add (local.get 0) (i32.const 1)))
                (br $next))))
            (local.get $sum))
        (func (export "lengths") (param i32 i32 i32 i32) (result i32)
            (i32.add (i32.mul (local.get 1) (i32.const 1000)) (local.get 3))))"#
    )
}

#[test]
fn texts_and_files_are_passed_by_the_conventions_of_allocators() {
    const TAKE: &str = "(call $take (local.get 0))";
    let folder = Folder::new();
    let file = folder.file("abc", "abc\0");
    for (name, params, body) in [
        ("malloc", "(param i32)", TAKE),
        ("_malloc", "(param i32)", TAKE),
        ("alloc", "(param i32 i32)", TAKE),
        ("allocate", "(param i32)", TAKE),
        ("__wbindgen_malloc", "(param i32 i32)", TAKE),
        ("cabi_realloc", "(param i32 i32 i32 i32)", "(call $take (local.get 3))"),
    ] {
        let text = sums(&format!("(func (export \"{name}\") {params} (result i32) {body})"));
        let module = folder.file(&format!("{name}.wat"), text);
        let run = |call: &str| {
            let said = wprof(&["run", "--profile", "off", "--invoke", call, &module]);
            assert!(said.err.contains(&format!("in memory from `{name}`")), "{}", said.err);
            assert_eq!(said.err.contains("with a zero behind it"), call.starts_with("c("), "{}", said.err);
            wprof(&["run", "-q", "--invoke", call, &module]).succeeded()
        };
        assert_eq!(run(r#"sum("a,\n")"#), format!("{}\n", 97 + 44 + 10));
        assert_eq!(run(r#"c("Aé")"#), format!("{}\n", 65 + 0xc3 + 0xa9));
        assert_eq!(run(&format!("sum(@{file})")), format!("{}\n", 97 + 98 + 99));
        assert_eq!(run(&format!(r#"weighted(1000, @{file}, "")"#)), "294000\n");
        assert_eq!(run(r#"lengths("four", "éé")"#), "4004\n");
    }
    // Arguments behind the module, as numbers are given.
    let module = folder.file("m.wat", sums("(export \"malloc\" (func $take))"));
    assert_eq!(wprof(&["run", "-q", "--invoke", "sum", &module, "\"ab\""]).succeeded(), "195\n");
}

#[test]
fn allocators_are_not_trusted() {
    let folder = Folder::new();
    for (body, said) in [
        ("(i32.const 0)", "`malloc` has no room for 2 bytes"),
        ("(i32.const 65535)", "`malloc` returned 0xffff, where 2 bytes are not in the memory"),
        ("(i32.const -1)", "`malloc` returned 0xffffffff, where"),
        ("(unreachable)", "unreachable"),
    ] {
        let text = sums(&format!("(func (export \"malloc\") (param i32) (result i32) {body})"));
        let module = folder.file("m.wat", text);
        let ran = wprof(&["run", "--invoke", "sum(\"ab\")", &module]);
        assert!(ran.code != Some(0) && ran.err.contains(said), "{}", ran.err);
    }
    // An allocator of another type is none.
    let module =
        folder.file("m.wat", sums("(func (export \"malloc\") (param i64) (result i32) (i32.const 8))"));
    let said = wprof(&["run", "--invoke", "sum(\"ab\")", &module]).failed();
    assert!(said.contains("exports no allocator"), "{said}");
    let module = folder.file("m.wat", sums("(export \"malloc\" (func $take))"));
    let said = wprof(&["run", "--invoke", "weighted(\"ab\", 1, 2, 3)", &module]).failed();
    assert!(said.contains("`weighted` has a parameter i64 where"), "{said}");
    let said = wprof(&["run", "--invoke", "lengths(\"ab\", 1)", &module]).failed();
    assert!(said.contains("give 4 arguments, not 2, or one less for each text"), "{said}");
}

/// Main programs of Emscripten export thousands of functions; a name may be empty.
#[test]
fn long_lists_of_exports_are_cut() {
    let folder = Folder::new();
    let list = |count: usize| {
        let more: String = (1..count).map(|i| format!(r#"(export "f{i}" (func 0))"#)).collect();
        let text = format!(r#"(module (func (export "")) {more})"#);
        let said = wprof(&["run", "--invoke", "g", &folder.file("many.wat", text)]).failed();
        said.lines().skip(1).map(str::to_owned).collect::<Vec<_>>()
    };
    let all = list(40);
    assert_eq!((all.len(), all[0].as_str(), all[39].as_str()), (40, "  \"\" () -> ()", "  f39 () -> ()"));
    let cut = list(1000);
    assert_eq!((cut.len(), cut[38].as_str(), cut[39].as_str()), (40, "  f38 () -> ()", "  and 961 more"));
}
