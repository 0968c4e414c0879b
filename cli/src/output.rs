//! Standard output. A reader that has gone away is no error: `wprof report x | head` ends quietly.

use std::io::{self, BufWriter, ErrorKind, Write};

use anyhow::{Context, Result};

/// Writes text.
pub fn print(text: &str) -> Result<()> {
    print_with(|out| out.write_all(text.as_bytes()))
}

/// Writes what `write` writes.
pub fn print_with(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    let mut out = BufWriter::new(io::stdout().lock());
    match write(&mut out).and_then(|()| out.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        written => written.context("cannot write to standard output"),
    }
}
