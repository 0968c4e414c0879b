//! The examples are compiled by a C compiler, linked with the library, and run: they print what they should.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Where the headers, the examples and the library are.
fn sources() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The folder in which the library lies beside this test.
fn built() -> PathBuf {
    let test = std::env::current_exe().expect("this program");
    test.parent().expect("it is in a folder").to_owned()
}

fn run(command: &mut Command) -> Output {
    let output = command.output().unwrap_or_else(|e| panic!("{command:?}: {e}"));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {}\n{said}", output.status);
    output
}

/// Compiles a program; gives where it is.
fn compile(source: &Path, to: &Path) -> PathBuf {
    let program = to.join("program");
    run(Command::new("cc")
        .args(["-std=c11", "-O1", "-Wall", "-Wextra", "-Werror"])
        .args(["-Wno-unused-parameter", "-Wno-unused-const-variable", "-D_POSIX_C_SOURCE=200809L"])
        .arg("-I")
        .arg(sources().join("include"))
        .arg("-I")
        .arg(sources().join("examples"))
        .arg(source)
        .arg(built().join("libwprof_capi.so"))
        .arg(format!("-Wl,-rpath,{}", built().display()))
        .args(["-lpthread", "-o"])
        .arg(&program));
    program
}

fn example(name: &str) {
    let folder = tempfile::tempdir().expect("a folder");
    let source = |extension: &str| sources().join("examples").join(name).with_extension(extension);
    let module = wat::parse_file(source("wat")).expect("valid text");
    fs::write(folder.path().join(name).with_extension("wasm"), module).expect("room on the disk");
    let program = compile(&source("c"), folder.path());
    let output = run(Command::new(program).current_dir(folder.path()));
    let expected = fs::read_to_string(source("txt")).expect("it says what is printed");
    assert_eq!(String::from_utf8_lossy(&output.stdout), expected, "{name}");
}

macro_rules! examples {
    ($($name:ident)*) => {
        $(#[test]
        fn $name() {
            example(stringify!($name));
        })*

        #[test]
        fn all_examples_are_run() {
            let files = fs::read_dir(sources().join("examples")).expect("a folder");
            let paths = files.map(|file| file.expect("readable").path());
            let c = paths.filter(|path| path.extension() == Some(OsStr::new("c")));
            let stem = |path: PathBuf| path.file_stem().expect("a name").to_string_lossy().into_owned();
            let run = [$(stringify!($name)),*].map(String::from);
            assert_eq!(c.map(stem).collect::<BTreeSet<_>>(), run.into_iter().collect());
        }
    };
}

examples! {
    callback finalize global hello hostref memory multi observe profile reflect serialize start table threads trap
}

#[test]
fn a_program_can_contain_the_library() {
    let folder = tempfile::tempdir().expect("a folder");
    let module = wat::parse_file(sources().join("examples/hello.wat")).expect("valid text");
    fs::write(folder.path().join("hello.wasm"), module).expect("room on the disk");
    let program = folder.path().join("program");
    run(Command::new("cc")
        .arg("-I")
        .arg(sources().join("include"))
        .arg(sources().join("examples/hello.c"))
        .arg(built().join("libwprof_capi.a"))
        // As in `Libs.private` of the file for pkg-config.
        .args(["-lpthread", "-ldl", "-lm", "-o"])
        .arg(&program));
    assert_eq!(run(Command::new(program).current_dir(folder.path())).stdout, b"hello\n");
}

/// The functions that a header declares, as the preprocessor leaves them.
fn declared(header: &str) -> BTreeSet<String> {
    let path = sources().join("include").join(header);
    let output = run(Command::new("cc").args(["-E", "-P", "-std=c11"]).arg(path));
    let text = String::from_utf8_lossy(&output.stdout).replace('\n', " ");
    let mut found = BTreeSet::new();
    for declaration in text.split([';', '}']) {
        let declaration = declaration.trim();
        if ["static", "typedef", "enum", "inline"].iter().any(|other| declaration.starts_with(other)) {
            continue;
        }
        let Some((before, _)) = declaration.split_once('(') else { continue };
        let name = before.trim_end().rsplit([' ', '*']).next().unwrap_or_default();
        if ["wasm_", "wprof_"].iter().any(|ours| name.starts_with(ours)) {
            found.insert(name.to_owned());
        }
    }
    found
}

#[test]
fn the_library_has_all_that_the_headers_declare() {
    let all = declared("wprof.h");
    assert!(all.len() > 300, "{}", all.len());
    assert!(all.is_superset(&declared("wasm.h")) && all.contains("wasm_externtype_as_memorytype_const"));
    let folder = tempfile::tempdir().expect("a folder");
    let mut text = String::from("#include \"wprof.h\"\nint main(void) {\n  void (*all[])(void) = {\n");
    for name in &all {
        writeln!(text, "    (void (*)(void))&{name},").expect("a text grows");
    }
    text.push_str("  };\n  for (size_t i = 0; i < sizeof(all) / sizeof(*all); ++i) if (!all[i]) return 1;\n  return 0;\n}\n");
    let source = folder.path().join("all.c");
    fs::write(&source, text).expect("room on the disk");
    run(&mut Command::new(compile(&source, folder.path())));
}

#[test]
fn what_is_installed_is_found_by_pkg_config() {
    let folder = tempfile::tempdir().expect("a folder");
    run(Command::new(sources().join("install")).arg(folder.path()).arg(built()));
    let text = fs::read_to_string(folder.path().join("lib/pkgconfig/wprof.pc")).expect("installed");
    assert!(text.contains(&format!("Version: {}\n", env!("CARGO_PKG_VERSION"))), "{text}");
    let module = wat::parse_file(sources().join("examples/hello.wat")).expect("valid text");
    fs::write(folder.path().join("hello.wasm"), module).expect("room on the disk");
    // Reads the file as pkg-config would, which may not be installed.
    let (include, lib) = (folder.path().join("include"), folder.path().join("lib"));
    assert!(text.contains(&format!("prefix={}\n", folder.path().display())) && text.contains("-lwprof"));
    let program = folder.path().join("program");
    run(Command::new("cc")
        .arg(sources().join("examples/hello.c"))
        .arg(format!("-I{}", include.display()))
        .arg(format!("-L{}", lib.display()))
        .args(["-lwprof", "-o"])
        .arg(&program));
    let output = run(Command::new(program).env("LD_LIBRARY_PATH", lib).current_dir(folder.path()));
    assert_eq!(output.stdout, b"hello\n");
}
