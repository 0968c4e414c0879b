//! Lines of the source files that debug information names.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::render::view::SourceLine;

/// The maximum size of a file that is read.
const MAX_BYTES: u64 = 16 << 20;

/// Source files, each read when it is first requested.
#[derive(Debug)]
pub struct Sources {
    /// The folder of the module: sources often lie beside it.
    beside: PathBuf,
    files: HashMap<String, Option<Vec<String>>>,
}

impl Sources {
    /// Creates an empty set; files that are not found at their path are looked for beside the module.
    pub fn new(module: &Path) -> Self {
        let beside = module.parent().unwrap_or(Path::new("")).to_owned();
        Self { beside, files: HashMap::new() }
    }

    /// Returns the text of a line, if the file is available.
    pub fn text(&mut self, line: &SourceLine) -> Option<&str> {
        self.lines(&line.file)?.get(line.line as usize - 1).map(String::as_str)
    }

    /// Returns the lines of a file, if it is available.
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
