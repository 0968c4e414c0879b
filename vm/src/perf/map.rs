//! The perf map: a line for each function, with its address and size in hexadecimal and its name.
//!
//! Source: `tools/perf/Documentation/jit-interface.txt` in Linux.

use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;

use super::{Placed, create};

/// A map under construction.
#[derive(Debug)]
pub(super) struct Map(File);

impl Map {
    pub(super) fn create() -> io::Result<Map> {
        // Perf looks in this folder, whatever TMPDIR is set to.
        let path = PathBuf::from(format!("/tmp/perf-{}.map", std::process::id()));
        create(&path).map(Map)
    }

    pub(super) fn add(&mut self, placed: &Placed<'_>) -> io::Result<()> {
        let name = placed.name.replace(['\n', '\r'], " ");
        // A single write, so that a line appears whole or not at all.
        self.0.write_all(format!("{:x} {:x} {name}\n", placed.address, placed.bytes.len()).as_bytes())
    }
}
