//! Lines of the source files that debug information names.

use std::collections::HashMap;
use std::fs;
use std::path::{Component, Path, PathBuf};

use crate::source_line::SourceLine;

/// The maximum size of a file that is read.
const MAX_BYTES: u64 = 16 << 20;

/// Source files, each read when it is first requested. The default has none.
#[derive(Debug, Default)]
pub struct Sources {
    /// The folder of the module: sources often lie beside it.
    beside: Option<PathBuf>,
    /// Whether only files in that folder or below are read: the author of the module chose the names.
    only_beside: bool,
    files: HashMap<String, Option<Vec<String>>>,
}

impl Sources {
    /// Creates the set of all files of the machine; those that are not found at their path are looked for beside the file
    /// of the module. Whoever made the module thus chooses which files are shown: for modules of others, and text that
    /// they get to see, take [`Sources::next_to`].
    pub fn new(module: &Path) -> Self {
        let beside = Some(module.parent().unwrap_or(Path::new("")).to_owned());
        Self { beside, only_beside: false, files: HashMap::new() }
    }

    /// Creates the set of files that lie in the folder of the module's file or below.
    pub fn next_to(module: &Path) -> Self {
        Self { only_beside: true, ..Self::new(module) }
    }

    /// Returns the text of a line, if the file is available.
    pub(crate) fn text(&mut self, line: &SourceLine) -> Option<&str> {
        self.lines(&line.file)?.get(line.line as usize - 1).map(String::as_str)
    }

    /// Returns the lines of a file, if it is available.
    pub(crate) fn lines(&mut self, file: &str) -> Option<&[String]> {
        let (beside, only_beside) = (self.beside.as_deref()?, self.only_beside);
        self.files.entry(file.to_owned()).or_insert_with(|| read(file, beside, only_beside)).as_deref()
    }
}

fn read(name: &str, beside: &Path, only_beside: bool) -> Option<Vec<String>> {
    let name = Path::new(name);
    let last = beside.join(name.file_name()?);
    let stays = name.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    let candidates = match only_beside {
        false => vec![name.to_owned(), beside.join(name), last],
        true => stays.then(|| beside.join(name)).into_iter().chain([last]).collect(),
    };
    let readable = |path: &&PathBuf| fs::metadata(path).is_ok_and(|f| f.is_file() && f.len() <= MAX_BYTES);
    let bytes = fs::read(candidates.iter().find(readable)?).ok()?;
    Some(String::from_utf8_lossy(&bytes).lines().map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_elsewhere_are_read_only_for_who_asks_for_sources() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        fs::create_dir_all(path("app/src")).expect("folders");
        for (name, text) in [("secret.c", "secret"), ("app/src/a.c", "own")] {
            fs::write(path(name), text).expect("written");
        }
        let module = path("app/app.wasm");
        let [mut all, mut beside] = [Sources::new(&module), Sources::next_to(&module)];
        assert_eq!(Sources::default().lines("src/a.c"), None);
        let secret = path("secret.c").display().to_string();
        assert_eq!(all.lines(&secret).map(<[String]>::len), Some(1));
        for name in [secret.as_str(), "../secret.c", "src/../../secret.c"] {
            assert_eq!(beside.lines(name), None, "{name}");
        }
        for name in ["src/a.c", "./src/a.c"] {
            assert_eq!(beside.lines(name).map(|lines| lines.join("")).as_deref(), Some("own"), "{name}");
        }
    }
}
