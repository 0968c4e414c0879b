//! A table of the functions that ran, comma-separated.
//!
//! Source: RFC 4180, with line feeds. The table loses blocks, edges, paths and contexts. Host functions have no
//! instructions.

use std::io::{self, Write};

use super::{CodeMap, Frame};
use crate::contexts::function_name;
use crate::{FunctionProfile, Profile};

/// Writes a profile's functions by index, then the host functions.
///
/// # Errors
/// Returns the error of `out` if a write fails.
pub fn write_csv(profile: &Profile, code: &CodeMap, mut out: impl Write) -> io::Result<()> {
    writeln!(out, "index,function,calls,instructions,blocks,blocks_run,start,end,file,line")?;
    for function in &profile.functions {
        write_function(function, code, &mut out)?;
    }
    for host in &profile.host_calls {
        let name = quoted(&Frame::of_host(host).name);
        writeln!(out, ",{name},{},,,,,,,", host.count)?;
    }
    Ok(())
}

fn write_function(function: &FunctionProfile, code: &CodeMap, mut out: impl Write) -> io::Result<()> {
    let FunctionProfile { index, name, code: range, blocks, .. } = function;
    let ran = function.block_counts().into_iter().filter(|&count| count > 0).count();
    let place = code.line_of(function);
    let (file, line) = place.map_or(("", String::new()), |line| (code.file(line), line.line.to_string()));
    writeln!(
        out,
        "{index},{},{},{},{},{ran},{},{},{},{line}",
        quoted(&function_name(*index, name.as_deref())),
        function.calls(),
        function.ops(),
        blocks.len(),
        range.start,
        range.end,
        quoted(file),
    )
}

/// Quotes a field if it needs quotes.
fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}
