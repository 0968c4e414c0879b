//! Files with debug information that a module names, such as `app.wasm.debug.wasm` or `app.wasm.map`.
//!
//! Invariant: only regular files of limited size in the module's folder or below it are read, since the author of
//! the module chose the name. For a network address, the last path segment is looked up there. Bad data is
//! ignored.

use std::fs;
use std::path::{Component, Path, PathBuf};

use wasmparser::{BinaryReader, Parser, Payload};
use wprof_jit::module::ModuleInfo;

/// Where files with debug information may be.
#[derive(Clone, Copy, Debug)]
pub struct Beside<'a> {
    /// The file that the module was read from.
    pub module: &'a Path,
    /// Files of more bytes are not read.
    pub max_size: u64,
}

/// Reads the file that `section` names; `None` if there is no such section or file, or the file is too large.
pub fn read(info: &ModuleInfo, section: &str, beside: Beside<'_>) -> Option<Vec<u8>> {
    let name = named(info, section)?;
    let path = beside.module.parent()?.join(relative(name)?);
    let found = fs::metadata(&path).ok()?;
    if found.is_file() && found.len() <= beside.max_size { fs::read(path).ok() } else { None }
}

/// Returns the name in a section.
pub fn named<'a>(info: &'a ModuleInfo, section: &str) -> Option<&'a str> {
    BinaryReader::new(info.custom_section(section)?, 0).read_string().ok()
}

/// Returns the name as a path that does not lead out of the folder.
fn relative(name: &str) -> Option<PathBuf> {
    let local = match name.split_once("://") {
        Some((_, address)) => address.rsplit('/').next()?,
        None => name,
    };
    let path = Path::new(local);
    let stays = path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    stays.then(|| path.to_owned())
}

/// The section that names a file with DWARF.
pub const DEBUG_FILE: &str = "external_debug_info";

/// A module that holds the debug information of another module: the file that a section `external_debug_info`
/// names.
#[derive(Debug)]
pub struct DebugFile {
    bytes: Vec<u8>,
    sections: Vec<(String, std::ops::Range<usize>)>,
}

impl DebugFile {
    /// Reads the debug file of a module, if there is one.
    pub fn find(info: &ModuleInfo, beside: Beside<'_>) -> Option<DebugFile> {
        let bytes = read(info, DEBUG_FILE, beside)?;
        let mut sections = Vec::new();
        for payload in Parser::new(0).parse_all(&bytes).map_while(Result::ok) {
            if let Payload::CustomSection(section) = payload {
                let range = section.data_offset() as usize..section.range().end as usize;
                sections.push((section.name().to_owned(), range));
            }
        }
        Some(DebugFile { bytes, sections })
    }

    /// Returns the contents of the first custom section called `name`.
    pub fn section(&self, name: &str) -> Option<&[u8]> {
        let (_, range) = self.sections.iter().find(|(known, _)| known == name)?;
        self.bytes.get(range.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_do_not_lead_out_of_the_folder() {
        let path = |name| relative(name).map(|path| path.to_str().unwrap().to_owned());
        assert_eq!(path("a.wasm.map").as_deref(), Some("a.wasm.map"));
        assert_eq!(path("./debug/a.wasm").as_deref(), Some("./debug/a.wasm"));
        assert_eq!(path("https://example.org/x/a.map").as_deref(), Some("a.map"));
        for name in ["/etc/passwd", "../a.map", "debug/../../a.map", "file:///a/.."] {
            assert_eq!(path(name), None, "{name}");
        }
    }
}
