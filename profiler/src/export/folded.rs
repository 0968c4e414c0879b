//! Folded stacks: one line per stack, its frames joined by semicolons, then a space and the weight.
//!
//! Source: `stackcollapse` of Brendan Gregg's FlameGraph. The format loses the source places of functions. A
//! semicolon in a name, which would split the name, becomes a colon.

use std::io::{self, Write};

use super::{Metric, Samples};

/// Writes one metric.
///
/// # Errors
/// Returns the error of `out` if a write fails.
pub fn write_folded(samples: &Samples, metric: &Metric, mut out: impl Write) -> io::Result<()> {
    let names: Vec<String> = samples.frames.iter().map(|frame| frame.name.replace(';', ":")).collect();
    for (node, found) in metric.weighted() {
        let stack: Vec<&str> =
            metric.stack(node).into_iter().map(|frame| names[frame as usize].as_str()).collect();
        writeln!(out, "{} {}", stack.join(";"), found.weight)?;
    }
    Ok(())
}
