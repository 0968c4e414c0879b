//! Traces that modules have written into their memory: each instance's becomes a file.

use std::path::Path;

use anyhow::{Context, Result, anyhow};
use wprof_instrument::{RawCounters, read_trace};
use wprof_report::numbers::count_of;

use super::{Original, numbered, original_of};
use crate::output;

/// Counters with their sender.
type Sent<'a> = (&'a str, &'a RawCounters);

/// Separates what has counted from what has written a trace.
///
/// # Errors
/// Returns an error if a description is damaged, or of another version.
pub fn split(counters: &[(String, RawCounters)]) -> Result<(Vec<Sent<'_>>, Vec<Sent<'_>>)> {
    let (mut counted, mut traced) = (Vec::new(), Vec::new());
    for (name, counters) in counters {
        let are_trace = counters.are_trace().map_err(|error| anyhow!("{name}: {error}"))?;
        (if are_trace { &mut traced } else { &mut counted }).push((name.as_str(), counters));
    }
    Ok((counted, traced))
}

/// Writes the trace of each instance: the first to `path`, others to numbered files beside it. The module lies beside
/// its trace if `keeps_modules`: what was instrumented on the way is nowhere else.
///
/// # Errors
/// Returns an error if there is no path, a trace does not fit its module, or a file cannot be written.
pub fn write(
    originals: &[Original],
    traced: &[Sent<'_>],
    path: Option<&Path>,
    keeps_modules: bool,
) -> Result<()> {
    if traced.is_empty() {
        return Ok(());
    }
    let path = path.context("a trace needs a file: give -o FILE.wtrace")?;
    for (number, (name, counters)) in traced.iter().enumerate() {
        let original = original_of(originals, name, counters)?;
        let path = numbered(path, number);
        let module = if keeps_modules { &path.with_extension("wasm") } else { &original.path };
        if keeps_modules {
            output::write_file(module, |out| out.write_all(&original.bytes))?;
        }
        let program = module.display().to_string();
        let mut file = Vec::new();
        let read = read_trace(&original.bytes, counters, &program, &mut file);
        let read = read.map_err(|error| anyhow!("{name}: {error}"))?;
        output::write_file(&path, |out| out.write_all(&file))?;
        let bytes = count_of(file.len() as u64, "byte");
        output::tell_line(format_args!("wprof: {bytes} in {}, of {program}", path.display()));
        if !read.is_whole {
            output::tell_line(format_args!(
                "wprof: {} holds only the beginning of the run: raise --max-trace to keep more",
                path.display()
            ));
        }
    }
    Ok(())
}
