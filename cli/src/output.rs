//! Standard output, standard error and files. A closed reader is not an error: `wprof report x | head` ends quietly. A
//! file is replaced atomically, or left unchanged.

use std::fmt;
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::Path;

use anyhow::{Context, Result};
use wprof_profiler::replace_file;

/// Writes text to standard output.
pub fn print(text: &str) -> Result<()> {
    print_with(|out| out.write_all(text.as_bytes()))
}

/// Passes standard output to `write`.
pub fn print_with(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    let mut out = BufWriter::new(io::stdout().lock());
    match write(&mut out).and_then(|()| out.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        written => written.context("cannot write to standard output"),
    }
}

/// Writes text to standard output; reports whether it is still read.
pub fn print_if_read(text: &str) -> Result<bool> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(false),
        written => written.map(|()| true).context("cannot write to standard output"),
    }
}

/// Writes to standard error, and ignores failures.
pub fn tell(text: fmt::Arguments<'_>) {
    // There is nowhere left to report the failure.
    let _ = io::stderr().write_fmt(text);
}

/// Writes a line to standard error, and ignores failures.
pub fn tell_line(text: fmt::Arguments<'_>) {
    tell(format_args!("{text}\n"));
}

/// Replaces a file by what `write` writes; errors name the file.
pub fn write_file(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    let buffered = |file: &mut _| {
        let mut out = BufWriter::new(file);
        write(&mut out).and_then(|()| out.flush())
    };
    replace_file(path, buffered).with_context(|| format!("cannot write {}", path.display()))
}
