//! A table of the functions that ran, comma-separated.
//!
//! Source: RFC 4180, with line feeds. The table loses blocks, edges, paths and contexts. Host functions have no
//! instructions. Sampled time comes first: that of the function itself, the ends of its 95% interval, the number of
//! samples, and the time with callees; its columns are empty if none was sampled. If instructions and calls are of a
//! sample, which is not scaled up, a last column has the share of the run that was counted.

use std::collections::HashMap;
use std::io::{self, Write};

use super::{CodeMap, Frame};
use crate::contexts::function_name;
use crate::{Callee, FunctionProfile, Interval, Profile, Rate, RoutineTime, Timed};

/// Writes a profile's functions by index, then those that were sampled only, the host functions, and the engine.
///
/// # Errors
/// Returns the error of `out` if a write fails.
pub fn write_csv(profile: &Profile, code: &CodeMap, mut out: impl Write) -> io::Result<()> {
    let mut times = Times::new(profile);
    let is_sampled = profile.sampled().is_some();
    let (title, none) = if is_sampled { (",counted_share", ",") } else { ("", "") };
    writeln!(
        out,
        "index,function,time_ns,time_least_ns,time_most_ns,samples,time_with_callees_ns,\
         instructions,calls,blocks,blocks_run,start,end,file,line{title}"
    )?;
    for function in &profile.functions {
        write_function(function, code, &times.take(&Key::Function(function.index)), &mut out)?;
        let share = function.kind.rate().map_or(1.0, Rate::as_f64);
        writeln!(out, "{}", if is_sampled { format!(",{share}") } else { String::new() })?;
    }
    for host in &profile.host_calls {
        let time = times.take(&Key::Host(&host.module, &host.name));
        // Calls to the host are always counted.
        let share = if is_sampled { ",1" } else { "" };
        writeln!(out, ",{},{time},,{},,,,,,{share}", quoted(&Frame::of_host(host).name), host.count)?;
    }
    for routine in times.left.iter().flatten() {
        let index = match routine.callee {
            Callee::Function { index, .. } => index.to_string(),
            _ => String::new(),
        };
        let (name, time) = (quoted(&routine.callee.to_string()), times.columns(routine));
        writeln!(out, "{index},{name},{time},,,,,,,,{none}")?;
    }
    Ok(())
}

/// The item of a row.
#[derive(PartialEq, Eq, Hash)]
enum Key<'a> {
    Function(u32),
    Host(&'a str, &'a str),
}

/// The sampled routines.
struct Times<'a> {
    all: Timed,
    /// `None` where a routine has its row.
    left: Vec<Option<RoutineTime<'a>>>,
    places: HashMap<Key<'a>, usize>,
}

impl<'a> Times<'a> {
    fn new(profile: &'a Profile) -> Self {
        let time = profile.time.as_ref().filter(|time| time.total().samples > 0);
        let left = time.map(|time| time.routines()).unwrap_or_default();
        let mut places = HashMap::new();
        for (at, routine) in left.iter().enumerate() {
            let key = match routine.callee {
                Callee::Function { index, .. } => Key::Function(*index),
                Callee::Host { module, name } => Key::Host(module, name),
                _ => continue,
            };
            places.entry(key).or_insert(at);
        }
        let all = time.map(|time| time.basis()).unwrap_or_default();
        Self { all, left: left.into_iter().map(Some).collect(), places }
    }

    /// Returns the columns of a routine, and removes it. A routine that was not sampled has zeros, unless none was.
    fn take(&mut self, key: &Key<'_>) -> String {
        if self.all.samples == 0 {
            return ",,,,".to_owned();
        }
        match self.places.get(key).and_then(|&at| self.left[at].take()) {
            Some(routine) => self.columns(&routine),
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
    write!(
        out,
        "{index},{},{time},{},{},{},{ran},{},{},{},{line}",
        quoted(&function_name(*index, name.as_deref())),
        function.ops(),
        function.calls(),
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
