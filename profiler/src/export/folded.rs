//! Folded stacks: a line for each, frames joined by semicolons, then a space and the weight.
//!
//! Source: `stackcollapse` of Brendan Gregg's FlameGraph. Loses places of functions. A semicolon in a name, which would
//! split it, becomes a colon.

use std::io::{self, Write};

use super::{Metric, Samples};

/// Writes one metric.
///
/// # Errors
/// If `out` refuses.
pub fn write_folded(samples: &Samples, metric: &Metric, mut out: impl Write) -> io::Result<()> {
    let names: Vec<String> = samples.frames.iter().map(|frame| frame.name.replace(';', ":")).collect();
    for (node, found) in metric.weighted() {
        let stack: Vec<&str> =
            metric.stack(node).into_iter().map(|frame| names[frame as usize].as_str()).collect();
        writeln!(out, "{} {}", stack.join(";"), found.weight)?;
    }
    Ok(())
}
