//! Ownership of source files and functions: whether they are the program's own, a library's, or the runtime's.
//!
//! A file belongs to a library if its path contains a part that is typical of a standard library, or lies in a folder
//! with functions that only a C library defines. `--library` and `--mine` override this; `--mine` has precedence. A
//! function belongs to whom its file belongs to. Without debug information its name decides.

use std::sync::LazyLock;

use serde::Serialize;
use wprof::FrameSymbol;

use crate::program::Program;

/// Parts of paths, behind a slash at their beginning, that are typical of standard libraries.
const LIBRARIES: [&str; 20] = [
    "/rustc/",
    "/rustc-",
    "/library/core/",
    "/library/alloc/",
    "/library/std/",
    "/.cargo/registry/",
    "/include/c++/",
    "/usr/include/",
    "/wasi-sysroot/",
    "sysroot/include/",
    "/wasi-libc/",
    "libc-top-half/",
    "libc-bottom-half/",
    "/crt1.c",
    "/crt1-command.c",
    "/crt1-reactor.c",
    "dlmalloc/src/",
    "/libcxx",
    "/compiler-rt/",
    "/emscripten/",
];

/// Functions that C libraries define, and programs rarely do.
const OF_C_LIBRARIES: [&str; 9] =
    ["memcpy", "memset", "strlen", "printf", "vfprintf", "malloc", "exit", "__stdio_write", "_Exit"];

/// Functions that C libraries define; without debug information they belong to a library.
const C_FUNCTIONS: [&str; 31] = [
    "_Exit",
    "abort",
    "aligned_alloc",
    "calloc",
    "dlcalloc",
    "dlfree",
    "dlmalloc",
    "dlrealloc",
    "exit",
    "fclose",
    "fflush",
    "fputs",
    "fread",
    "free",
    "fwrite",
    "malloc",
    "memchr",
    "memcmp",
    "memcpy",
    "memmove",
    "memset",
    "printf",
    "putchar",
    "puts",
    "qsort",
    "realloc",
    "snprintf",
    "strcmp",
    "strcpy",
    "strlen",
    "vfprintf",
];

/// How demangled names of the standard libraries begin, and those of what compilers add.
const LIBRARY_NAMES: [&str; 22] = [
    "core::",
    "alloc::",
    "std::",
    "<core::",
    "<alloc::",
    "<std::",
    "hashbrown::",
    "dlmalloc::",
    "compiler_builtins::",
    "__main_void",
    "__original_main",
    "_start",
    "__rust_",
    "__rdl_",
    "__wasi",
    "__wasm_call",
    "__stdio_",
    "__libc_",
    "__cxa_",
    "__cxxabiv1::",
    "operator new",
    "operator delete",
];

/// Functions that programs define.
const OF_PROGRAMS: [&str; 4] = ["main", "__main_argc_argv", "__original_main", "__main_void"];

/// Whose code is. A page stores it as a number, which `data.js` knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(into = "u8")]
pub enum Owner {
    /// The program's author.
    Yours,
    /// A library, such as the language's.
    Library,
    /// The engine and the host, which run the program.
    Runtime,
}

impl From<Owner> for u8 {
    fn from(owner: Owner) -> u8 {
        owner as u8
    }
}

/// The rules that decide whose source files are: the program's own, or a library's. The default knows the paths of
/// standard libraries.
#[derive(Clone, Debug, Default)]
pub struct Ownership {
    library: Vec<String>,
    mine: Vec<String>,
    folders: Vec<String>,
}

/// The rules without a module.
pub static USUAL: LazyLock<Ownership> = LazyLock::new(Ownership::default);

impl Ownership {
    /// Creates the rules for the source files of a program; files that globs match are a library's, or the program's own.
    pub fn new(program: Option<&Program>, library: Vec<String>, mine: Vec<String>) -> Self {
        let folders = program.map(folders_of_libraries).unwrap_or_default();
        Self { library, mine, folders }
    }

    /// Reports whether a file is a library's.
    pub fn is_library(&self, file: &str) -> bool {
        let matches = |globs: &[String]| globs.iter().any(|glob| is_part(glob, file));
        if matches(&self.mine) {
            return false;
        }
        let lies_in = |folder: &String| plain(file).starts_with(folder.as_str());
        let rooted = format!("/{file}");
        matches(&self.library)
            || LIBRARIES.iter().any(|part| rooted.contains(part))
            || self.folders.iter().any(lies_in)
    }

    /// Returns the owner of a file.
    pub(crate) fn of_file(&self, file: &str) -> Owner {
        if self.is_library(file) { Owner::Library } else { Owner::Yours }
    }

    /// Returns the owner of a function of a program: by its file, or else by its name in its module.
    pub(crate) fn of_function(&self, program: Option<&Program>, func: u32, name: Option<&str>) -> Owner {
        let file = program.and_then(|program| file_of(program, func));
        file.map_or_else(|| of_name(name.unwrap_or_default()), |file| self.of_file(&file))
    }

    /// Returns the owner of a function that debug information names: by its file, or else by its name.
    pub(crate) fn of_symbol(&self, symbol: &FrameSymbol) -> Owner {
        symbol.file().map_or_else(|| of_name(symbol.name().unwrap_or_default()), |file| self.of_file(file))
    }
}

/// Returns the probable owner of a function of which only the name in the module is known.
pub fn of_name(name: &str) -> Owner {
    let demangled = wprof::demangle(name);
    let is_of_library =
        C_FUNCTIONS.contains(&name) || LIBRARY_NAMES.iter().any(|beginning| demangled.starts_with(beginning));
    if is_of_library { Owner::Library } else { Owner::Yours }
}

/// Returns the folders of functions that only C libraries define, except folders that contain the program's own files.
fn folders_of_libraries(program: &Program) -> Vec<String> {
    let (mut folders, mut own) = (Vec::new(), Vec::new());
    for func in program.functions().iter().map(|named| named.index) {
        let Some(name) = program.own_name(func) else { continue };
        let list = match name {
            name if OF_C_LIBRARIES.contains(&name) => &mut folders,
            name if OF_PROGRAMS.contains(&name) => &mut own,
            _ => continue,
        };
        list.extend(file_of(program, func).map(|file| folder(&file)));
    }
    folders.retain(|folder| {
        !folder.is_empty() && !own.iter().any(|own: &String| own.starts_with(folder.as_str()))
    });
    folders.sort();
    folders.dedup();
    folders
}

/// Returns the file that defines a function.
fn file_of(program: &Program, func: u32) -> Option<String> {
    let body = program.body(func)?;
    let mut symbols = (body.start..body.end).take(64).map(|offset| program.symbols_at(offset));
    // The outermost frame is the function itself.
    symbols.find_map(|symbols| symbols.last()?.file().map(str::to_owned))
}

/// Returns the folder of a file, up to a `src` above it.
fn folder(file: &str) -> String {
    let file = plain(file);
    let end = file.find("/src/").map(|at| at + "/src/".len());
    let end = end.or_else(|| file.rfind('/').map(|at| at + 1)).unwrap_or(0);
    file[..end].to_owned()
}

/// Removes redundant steps from the beginning of a path.
fn plain(mut path: &str) -> &str {
    while let Some(rest) = path.strip_prefix("./") {
        path = rest;
    }
    path
}

/// Reports whether a glob matches a whole path, or consecutive parts of it.
fn is_part(glob: &str, path: &str) -> bool {
    let begins = std::iter::once(0).chain(path.match_indices('/').map(|(at, _)| at + 1));
    begins.into_iter().any(|begin| {
        let ends = path[begin..].match_indices('/').map(|(at, _)| begin + at).chain([path.len()]);
        ends.into_iter()
            .filter(|&end| end > begin)
            .any(|end| is_like(glob.as_bytes(), &path.as_bytes()[begin..end]))
    })
}

/// Reports whether a text matches a glob. On a mismatch only the last star takes more text, so the time is at most the
/// product of both lengths.
fn is_like(glob: &[u8], text: &[u8]) -> bool {
    let (mut at, mut from, mut star) = (0, 0, None);
    while from < text.len() {
        match glob.get(at) {
            Some(b'*') => {
                star = Some((at, from));
                at += 1;
            }
            Some(&wanted) if wanted == text[from] || wanted == b'?' && text[from] != b'/' => {
                (at, from) = (at + 1, from + 1)
            }
            _ => {
                let Some((of_star, begun)) = star else { return false };
                star = Some((of_star, begun + 1));
                (at, from) = (of_star + 1, begun + 1);
            }
        }
    }
    glob[at..].iter().all(|&left| left == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_are_told_by_their_paths() {
        let own = ["src/main.rs", "/home/me/scan.cpp", "/home/me/library/book.c"];
        let others = [
            "/rustc/17067e9/library/core/src/num/mod.rs",
            "/home/me/.cargo/registry/src/a/b.rs",
            "/opt/wasi-sdk/share/wasi-sysroot/include/wasm32-wasi/c++/v1/vector",
            "././dlmalloc/src/malloc.c",
            "libcxxabi/src/stdlib_new_delete.cpp",
            "crt1-command.c",
        ];
        assert_eq!(own.map(|file| USUAL.is_library(file)), [false; 3]);
        assert_eq!(others.map(|file| USUAL.is_library(file)), [true; 6]);
    }

    #[test]
    fn globs_are_of_whole_parts_of_a_path() {
        let like =
            ["third_party", "third_party/*", "*.hpp", "json.hpp", "/a/*/json.hpp", "th*/j??n.hpp", "*"];
        let unlike = ["third", "party", "json", "*.cpp", "a/json.hpp", "??", ""];
        let path = "/a/third_party/json.hpp";
        assert_eq!(like.map(|glob| is_part(glob, path)), [true; 7]);
        assert_eq!(unlike.map(|glob| is_part(glob, path)), [false; 7]);
    }

    #[test]
    fn who_says_whose_a_file_is_has_the_last_word() {
        let globs = |globs: &[&str]| globs.iter().map(ToString::to_string).collect();
        let of = Ownership::new(None, globs(&["vendor"]), globs(&["vendor/ours/*", "*/dlmalloc/*"]));
        assert!(of.is_library("src/vendor/a.c") && !of.is_library("src/vendor/ours/a.c"));
        assert!(!of.is_library("src/a.c") && !of.is_library("x/dlmalloc/src/malloc.c"));
    }

    #[test]
    fn names_tell_owners_where_files_do_not() {
        let own = ["main", "parse_list", "_ZN4json5parse17h0123456789abcdefE", "storage", "", "free_list"];
        let others =
            ["memcpy", "_ZNSt6vectorIiE4pushEv", "_ZN4core3fmt5write17h0123456789abcdefE", "__wasi_fd_write"];
        assert_eq!(own.map(of_name), [Owner::Yours; 6]);
        assert_eq!(others.map(of_name), [Owner::Library; 4]);
        assert_eq!(USUAL.of_function(None, 3, Some("malloc")), Owner::Library);
        assert_eq!([Owner::Yours, Owner::Library, Owner::Runtime].map(u8::from), [0, 1, 2]);
    }

    #[test]
    fn a_folder_ends_at_the_sources() {
        assert_eq!(folder("././libc-top-half/musl/src/string/memcpy.c"), "libc-top-half/musl/src/");
        assert_eq!([folder("/a/b/c.c"), folder("main.c")], ["/a/b/", ""]);
    }
}
