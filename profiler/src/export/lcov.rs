//! lcov tracefiles: lines, functions and branches of each source file, for `genhtml` and other readers of the format.
//!
//! Source: the manual page of `geninfo`. A branch that was never reached has `-` for each way.

use std::io::{self, Write};

use super::{Coverage, FileCoverage};

/// Writes the coverage of all files.
///
/// # Errors
/// Returns the error of `out` if a write fails.
pub fn write_lcov(coverage: &Coverage, mut out: impl Write) -> io::Result<()> {
    coverage.files.iter().try_for_each(|file| write_file(file, &mut out))
}

fn write_file(file: &FileCoverage, mut out: impl Write) -> io::Result<()> {
    writeln!(out, "TN:\nSF:{}", file.path)?;
    for (line, name) in file.functions.keys() {
        writeln!(out, "FN:{line},{name}")?;
    }
    for ((_, name), calls) in &file.functions {
        writeln!(out, "FNDA:{calls},{name}")?;
    }
    writeln!(out, "FNF:{}\nFNH:{}", file.functions.len(), file.functions_hit())?;
    write_branches(file, &mut out)?;
    for (line, count) in &file.lines {
        writeln!(out, "DA:{line},{count}")?;
    }
    writeln!(out, "LF:{}\nLH:{}\nend_of_record", file.lines.len(), file.lines_hit())
}

fn write_branches(file: &FileCoverage, mut out: impl Write) -> io::Result<()> {
    for (line, branches) in &file.branches {
        for (number, branch) in branches.iter().enumerate() {
            for (way, count) in branch.ways.iter().enumerate() {
                let taken = if branch.was_reached() { count.to_string() } else { "-".to_owned() };
                writeln!(out, "BRDA:{line},{number},{way},{taken}")?;
            }
        }
    }
    let ways = file.ways();
    if ways.all > 0 { writeln!(out, "BRF:{}\nBRH:{}", ways.all, ways.taken) } else { Ok(()) }
}
