//! Atomic replacement of a file.
//!
//! Input: a path and its new content. Output: the file, on disk.
//! Invariant: a reader of the path sees either the whole old content or the whole new one. If anything fails, the old
//! content stays and no temporary file is left. A file that is not regular (a device, a pipe), or that is named by an
//! open descriptor (`/dev/stdout`), is written to and never replaced. A symbolic link stays, and its target is
//! replaced.
//! Oracle: a writer that fails half-way, in the tests below.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// The folders in which the system names open descriptors, which already have readers or a position.
const DESCRIPTORS: [&str; 4] = ["/dev/stdout", "/dev/stderr", "/dev/fd", "/proc"];

/// Replaces the content of `path`.
pub(super) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    replace_file(path, |file| file.write_all(bytes))
}

/// Replaces the content of a file atomically by what `write` writes: if anything fails, the old file is unchanged. A
/// file that is not regular, such as a pipe, is written to.
///
/// # Errors
/// Returns the error of the file system or of `write`.
pub fn replace_file(path: &Path, write: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
    if DESCRIPTORS.iter().any(|descriptors| path.starts_with(descriptors)) {
        return append(path, write);
    }
    // A path that does not exist yet is used unresolved.
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    match fs::metadata(&path) {
        Ok(found) if !found.is_file() => append(&path, write),
        _ => replace_regular(&path, write),
    }
}

fn append(path: &Path, write: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
    write(&mut OpenOptions::new().append(true).open(path)?)
}

fn replace_regular(path: &Path, write: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
    let (temporary, mut file) = create_beside(path)?;
    let written = write(&mut file).and_then(|()| file.sync_all());
    drop(file);
    let replaced = written.and_then(|()| fs::rename(&temporary, path));
    if replaced.is_err() {
        // The first error is the one to report, so an error here is ignored.
        let _ = fs::remove_file(&temporary);
    }
    replaced?;
    sync_directory(path);
    Ok(())
}

/// Creates a file in the directory of `path`, so that the rename stays within one file system.
fn create_beside(path: &Path) -> io::Result<(PathBuf, File)> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let name = path.file_name().ok_or_else(|| io::Error::from(io::ErrorKind::InvalidFilename))?;
    loop {
        let mut temporary = OsString::from(".");
        temporary.push(name);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        temporary.push(format!(".{}-{number}.tmp", std::process::id()));
        let temporary = path.with_file_name(temporary);
        match OpenOptions::new().write(true).create_new(true).open(&temporary) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            opened => return Ok((temporary, opened?)),
        }
    }
}

/// Makes the new name durable. Not every file system supports this; the content is safe either way.
fn sync_directory(path: &Path) {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if let Ok(directory) = File::open(parent) {
        let _ = directory.sync_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(directory: &Path) -> Vec<OsString> {
        fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name()).collect()
    }

    #[test]
    fn a_full_disk_leaves_the_old_file_and_nothing_else() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("p.wprof");
        replace(&path, b"old").unwrap();
        let error = replace_file(&path, |file| {
            file.write_all(b"ne")?;
            Err(io::ErrorKind::StorageFull.into())
        });
        assert_eq!(error.unwrap_err().kind(), io::ErrorKind::StorageFull);
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(entries(directory.path()), ["p.wprof"]);
    }

    #[test]
    fn the_old_content_is_visible_until_the_new_one_is_complete() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("p.wprof");
        replace(&path, b"old").unwrap();
        replace_file(&path, |file| {
            file.write_all(b"new")?;
            assert_eq!(fs::read(&path)?, b"old");
            Ok(())
        })
        .unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(entries(directory.path()), ["p.wprof"]);
    }

    #[test]
    fn a_directory_in_the_way_is_an_error() {
        let directory = tempfile::tempdir().unwrap();
        assert!(replace(directory.path(), b"x").is_err());
        assert!(replace(&directory.path().join("none/p"), b"x").is_err());
        assert!(entries(directory.path()).is_empty());
    }

    #[cfg(unix)]
    #[test]
    fn a_link_stays_and_its_target_is_replaced() {
        let directory = tempfile::tempdir().unwrap();
        let (target, link) = (directory.path().join("target"), directory.path().join("link"));
        replace(&target, b"old").unwrap();
        std::os::unix::fs::symlink(&target, &link).unwrap();
        replace(&link, b"new").unwrap();
        assert_eq!(fs::read(&target).unwrap(), b"new");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn devices_are_written_to_and_not_replaced() {
        assert_eq!(replace(Path::new("/dev/full"), b"x").unwrap_err().kind(), io::ErrorKind::StorageFull);
        replace(Path::new("/dev/null"), b"x").unwrap();
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn what_a_descriptor_names_is_written_to_where_it_is() {
        use std::os::fd::AsRawFd;
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log");
        let mut open = File::create(&path).unwrap();
        open.write_all(b"before ").unwrap();
        replace(&Path::new("/proc/self/fd").join(open.as_raw_fd().to_string()), b"after").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"before after");
    }
}
