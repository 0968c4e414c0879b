//! Lines of source files that debug information names.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::render::view::SourceLine;

/// Larger files are not read.
const MAX_BYTES: u64 = 16 << 20;

/// Source files, read when first asked for.
#[derive(Debug)]
pub struct Sources {
    /// The folder of the module: sources often lie beside it.
    beside: PathBuf,
    files: HashMap<String, Option<Vec<String>>>,
}

impl Sources {
    /// No files yet; those not found as they are named are looked for beside the module.
    pub fn new(module: &Path) -> Self {
        let beside = module.parent().unwrap_or(Path::new("")).to_owned();
        Self { beside, files: HashMap::new() }
    }

    /// The text of a line, if the file is there.
    pub fn text(&mut self, line: &SourceLine) -> Option<&str> {
        self.lines(&line.file)?.get(line.line as usize - 1).map(String::as_str)
    }

    /// The lines of a file, if it is there.
    pub fn lines(&mut self, file: &str) -> Option<&[String]> {
        let beside = &self.beside;
        self.files.entry(file.to_owned()).or_insert_with(|| read(file, beside)).as_deref()
    }
}

fn read(name: &str, beside: &Path) -> Option<Vec<String>> {
    let name = Path::new(name);
    let candidates = [name.to_owned(), beside.join(name), beside.join(name.file_name()?)];
    let readable = |path: &&PathBuf| fs::metadata(path).is_ok_and(|f| f.is_file() && f.len() <= MAX_BYTES);
    let bytes = fs::read(candidates.iter().find(readable)?).ok()?;
    Some(String::from_utf8_lossy(&bytes).lines().map(str::to_owned).collect())
}
