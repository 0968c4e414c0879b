//! A table of the functions that ran, comma-separated.
//!
//! Source: RFC 4180, with line feeds. The table loses blocks, edges, paths and contexts. Host functions have no
//! instructions. Sampled time comes first: that of the function itself, the ends of its 95% interval, the number of
//! samples, and the time with callees; its columns are empty if none was sampled.

use std::io::{self, Write};

use super::{CodeMap, Frame};
use crate::contexts::function_name;
use crate::{Callee, FunctionProfile, Interval, Profile, RoutineTime, Timed};

/// Writes a profile's functions by index, then those that were sampled only, the host functions, and the engine.
///
/// # Errors
/// Returns the error of `out` if a write fails.
pub fn write_csv(profile: &Profile, code: &CodeMap, mut out: impl Write) -> io::Result<()> {
    let mut times = Times::new(profile);
    writeln!(
        out,
        "index,function,time_ns,time_least_ns,time_most_ns,samples,time_with_callees_ns,\
         calls,instructions,blocks,blocks_run,start,end,file,line"
    )?;
    for function in &profile.functions {
        let is_it =
            |callee: &Callee| matches!(callee, Callee::Function { index, .. } if *index == function.index);
        write_function(function, code, &times.take(is_it), &mut out)?;
    }
    for host in &profile.host_calls {
        let is_it = |callee: &Callee| matches!(callee, Callee::Host { module, name } if *module == host.module && *name == host.name);
        let (name, time) = (quoted(&Frame::of_host(host).name), times.take(is_it));
        writeln!(out, ",{name},{time},{},,,,,,,", host.count)?;
    }
    for routine in std::mem::take(&mut times.left) {
        let index = match routine.callee {
            Callee::Function { index, .. } => index.to_string(),
            _ => String::new(),
        };
        let (name, time) = (quoted(&routine.callee.to_string()), times.columns(&routine));
        writeln!(out, "{index},{name},{time},,,,,,,,")?;
    }
    Ok(())
}

/// The sampled routines that have no row yet.
struct Times<'a> {
    all: Timed,
    left: Vec<RoutineTime<'a>>,
}

impl<'a> Times<'a> {
    fn new(profile: &'a Profile) -> Self {
        let time = profile.time.as_ref().filter(|time| time.total().samples > 0);
        Self {
            all: time.map(|time| time.total()).unwrap_or_default(),
            left: time.map(|time| time.routines()).unwrap_or_default(),
        }
    }

    /// Returns the columns of a routine, and removes it. A routine that was not sampled has zeros, unless none was.
    fn take(&mut self, is_it: impl Fn(&Callee) -> bool) -> String {
        if self.all.samples == 0 {
            return ",,,,".to_owned();
        }
        match self.left.iter().position(|routine| is_it(routine.callee)) {
            Some(at) => {
                let routine = self.left.remove(at);
                self.columns(&routine)
            }
            None => self.row(Timed::default(), Timed::default()),
        }
    }

    fn columns(&self, routine: &RoutineTime<'_>) -> String {
        self.row(routine.own, routine.total)
    }

    fn row(&self, own: Timed, total: Timed) -> String {
        let interval = Interval::of_share(own, self.all);
        let [least, most] =
            [interval.least, interval.most].map(|share| (share * self.all.time_ns as f64).round());
        format!("{},{least},{most},{},{}", own.time_ns, own.samples, total.time_ns)
    }
}

fn write_function(
    function: &FunctionProfile,
    code: &CodeMap,
    time: &str,
    mut out: impl Write,
) -> io::Result<()> {
    let FunctionProfile { index, name, code: range, blocks, .. } = function;
    let ran = function.block_counts().into_iter().filter(|&count| count > 0).count();
    let place = code.line_of(function);
    let (file, line) = place.map_or(("", String::new()), |line| (code.file(line), line.line.to_string()));
    writeln!(
        out,
        "{index},{},{time},{},{},{},{ran},{},{},{},{line}",
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
