//! Callgrind's format, as `callgrind_annotate` and KCachegrind read it: sampled time, instructions and calls by function,
//! instruction and source line.
//!
//! Source: the manual of Valgrind, "Callgrind Format Specification". Positions are module offsets and lines. A
//! function's calls are at its first instruction. With calling contexts each call site has a line per callee; its
//! inclusive cost contains instructions if these are known by context, otherwise only calls. A recursive call has a
//! line without inclusive cost, if its count is known ([`Profile::call_edges`]), since the first call's cost contains
//! its instructions. The inclusive cost of a function, as readers add it up, therefore counts everything once.
//! Time comes first, if it was sampled, and follows the counted functions: readers add up what has one name. Samples do
//! not count calls: where none were counted a sampled call counts once, as readers take the cost of no call for the
//! function's own.

mod time;

use std::collections::{BTreeMap, HashMap};
use std::io::{self, Write};

use self::time::FunctionTime;
use super::samples::percent;
use super::{CodeMap, Frame, SourceLine, TOOL, executions};
use crate::{CallEdge, CallTarget, Callee, ContextTree, FigureKind, FunctionProfile, Profile};

/// Writes a profile.
///
/// # Errors
/// Fails if writing to `out` fails.
pub fn write_callgrind(profile: &Profile, code: &CodeMap, mut out: impl Write) -> io::Result<()> {
    let command = profile.runs.first().map_or(String::new(), |run| run.args.join(" "));
    writeln!(out, "# callgrind format\nversion: 1\ncreator: {TOOL}\ncmd: {}", line(&command))?;
    if let Some(rate) = profile.sampled() {
        writeln!(out, "desc: Sample: instructions and calls are those of {} of the run", percent(rate))?;
    }
    let time = profile.time.as_ref().filter(|time| time.total().samples > 0);
    let costs = Costs { has_time: time.is_some() };
    writeln!(out, "positions: instr line\n{}", costs.events())?;
    let all = time.map_or(0, |time| time.total().time_ns);
    writeln!(out, "summary: {}\n", costs.value(all, profile.ops(), profile.calls()))?;
    let calls = match &profile.contexts {
        Some(tree) => calls_by_caller(profile, code, tree),
        None => {
            profile.functions.iter().map(|caller| (caller.index, calls_of(profile, code, caller))).collect()
        }
    };
    let mut sampled = time.map(|time| time::by_function(time, profile, code)).unwrap_or_default();
    let mut names = Names::default();
    for function in &profile.functions {
        write_function(function, code, (&mut names, costs), &mut out)?;
        let mut here = sampled.get_mut(&time::of_frame(&Frame::of_function(function, code)));
        for call in calls.get(&function.index).into_iter().flatten() {
            let callee = time::of_frame(&call.callee);
            let time = here.as_mut().map_or(0, |here| here.take_call(call.site, &callee));
            write_call(call, time, code, (&mut names, costs), &mut out)?;
        }
        writeln!(out)?;
    }
    for (function, sampled) in &sampled {
        write_time(function, sampled, (&mut names, costs), &mut out)?;
    }
    Ok(())
}

/// The columns of costs.
#[derive(Clone, Copy)]
struct Costs {
    has_time: bool,
}

impl Costs {
    fn events(self) -> &'static str {
        if self.has_time {
            "event: Time : Sampled time in nanoseconds\nevents: Time Instructions Calls"
        } else {
            "events: Instructions Calls"
        }
    }

    fn value(self, time_ns: u64, ops: u64, calls: u64) -> String {
        if self.has_time { format!("{time_ns} {ops} {calls}") } else { format!("{ops} {calls}") }
    }
}

/// The names written so far: a name appears in full once, then as a number.
#[derive(Default)]
struct Names(HashMap<String, usize>);

impl Names {
    fn shown(&mut self, name: &str) -> String {
        let next = self.0.len() + 1;
        match self.0.get(name) {
            Some(number) => format!("({number})"),
            None => {
                self.0.insert(name.to_owned(), next);
                format!("({next}) {}", line(name))
            }
        }
    }
}

/// Returns text on one line.
fn line(text: &str) -> String {
    text.replace(['\n', '\r'], " ")
}

/// Returns the file and the name of a function. Readers merge functions with equal names in one file; a file and a
/// function may share a name.
fn of_function(frame: &Frame, names: &mut Names) -> (String, String) {
    let file = frame.place.as_ref().map_or("???", |(file, _)| file.as_str());
    (names.shown(file), names.shown(&frame.name))
}

fn write_function(
    function: &FunctionProfile,
    code: &CodeMap,
    (names, costs): (&mut Names, Costs),
    mut out: impl Write,
) -> io::Result<()> {
    let own = code.line_of(function);
    let (file, name) = of_function(&Frame::of_function(function, code), names);
    writeln!(out, "fl={file}\nfn={name}")?;
    let (start, first_line) = (function.code.start, own.map_or(0, |own| own.line));
    writeln!(out, "{start:#x} {first_line} {}", costs.value(0, 0, function.calls()))?;
    let mut file = own.map(|own| own.file);
    for row in executions(function, code).into_iter().filter(|row| row.ops > 0) {
        let line = code.line_at(row.offset);
        if let Some(line) = line.filter(|line| Some(line.file) != file) {
            writeln!(out, "fi={}", names.shown(code.file(line)))?;
            file = Some(line.file);
        }
        let cost = if costs.has_time { format!("0 {}", row.ops) } else { row.ops.to_string() };
        writeln!(out, "{:#x} {} {cost}", row.offset, line.map_or(0, |line| line.line))?;
    }
    if file != own.map(|own| own.file) {
        writeln!(out, "fe={}", names.shown(own.map_or("???", |own| code.file(own))))?;
    }
    Ok(())
}

/// The calls from one site to one callee.
struct Call {
    site: u32,
    callee: Frame,
    target: (u32, u32),
    calls: u64,
    /// Inclusive instructions and calls.
    inclusive: [u64; 2],
}

/// Returns the calls by function, ascending by site.
fn calls_by_caller(profile: &Profile, code: &CodeMap, tree: &ContextTree) -> BTreeMap<u32, Vec<Call>> {
    let inclusive = inclusive(profile, tree);
    let mut by_caller: BTreeMap<u32, Vec<Call>> = BTreeMap::new();
    for CallEdge { caller, site, callee: routine, calls, .. } in profile.call_edges() {
        if calls == 0 {
            continue;
        }
        let Callee::Function { index, .. } = tree.routines[caller as usize].callee else { continue };
        let callee = &tree.routines[routine as usize].callee;
        let frame = Frame::of_callee(callee, profile, code);
        let target = (start_of(callee, profile), frame.place.as_ref().map_or(0, |&(_, line)| line));
        let inclusive = inclusive.get(&(caller, site, routine)).copied().unwrap_or_default();
        by_caller.entry(index).or_default().push(Call { site, callee: frame, target, calls, inclusive });
    }
    by_caller
}

/// Returns the calls of a function, ascending by site: the direct ones derived from its block counts, the indirect ones as
/// far as they were counted exactly. Inclusive costs are unknown.
fn calls_of(profile: &Profile, code: &CodeMap, caller: &FunctionProfile) -> Vec<Call> {
    let call = |site: u32, callee: &Callee, calls: u64| {
        let frame = Frame::of_callee(callee, profile, code);
        let target = (start_of(callee, profile), frame.place.as_ref().map_or(0, |&(_, line)| line));
        Call { site, callee: frame, target, calls, inclusive: [0, 0] }
    };
    let rows = executions(caller, code).into_iter().filter(|row| row.count > 0);
    let direct = rows.filter_map(|row| {
        let at = code.calls.binary_search_by_key(&row.offset, |(offset, _)| *offset).ok()?;
        Some(call(row.offset, &code.calls[at].1, row.count))
    });
    let is_counted = |target: &&CallTarget| target.caller == caller.index && target.kind == FigureKind::Exact;
    let indirect = profile.call_targets.iter().filter(is_counted);
    let indirect = indirect.map(|target| call(target.site, &target.callee, target.count));
    let mut calls: Vec<Call> = direct.chain(indirect).collect();
    calls.sort_by_key(|call| call.site);
    calls
}

/// Returns inclusive instructions and calls by caller, site and callee. The first call's cost includes recursive
/// calls.
fn inclusive(profile: &Profile, tree: &ContextTree) -> HashMap<(u32, u32, u32), [u64; 2]> {
    let instructions = profile.instructions_in_contexts().unwrap_or_else(|| vec![0; tree.records.len()]);
    let inclusive = tree.inclusive(&instructions).into_iter().zip(tree.inclusive(&tree.calls()));
    let mut sums: HashMap<(u32, u32, u32), [u64; 2]> = HashMap::new();
    for (record, (ops, calls)) in tree.records.iter().zip(inclusive).skip(1) {
        let caller = tree.records[record.parent as usize].routine;
        let sum = sums.entry((caller, record.site, record.routine)).or_default();
        *sum = [sum[0].saturating_add(ops), sum[1].saturating_add(calls)];
    }
    sums
}

fn start_of(callee: &Callee, profile: &Profile) -> u32 {
    let Callee::Function { index, .. } = callee else { return 0 };
    profile.function(*index).map_or(0, |function| function.code.start)
}

fn write_call(
    call: &Call,
    time_ns: u64,
    code: &CodeMap,
    (names, costs): (&mut Names, Costs),
    mut out: impl Write,
) -> io::Result<()> {
    let (file, name) = of_function(&call.callee, names);
    let (start, first_line) = call.target;
    let line = code.line_at(call.site).map_or(0, |SourceLine { line, .. }| line);
    writeln!(out, "cfi={file}\ncfn={name}\ncalls={} {start:#x} {first_line}", call.calls)?;
    let [ops, calls] = call.inclusive;
    writeln!(out, "{:#x} {line} {}", call.site, costs.value(time_ns, ops, calls))
}

/// Writes what was sampled in a function.
fn write_time(
    function: &time::Function,
    sampled: &FunctionTime,
    (names, costs): (&mut Names, Costs),
    mut out: impl Write,
) -> io::Result<()> {
    let (own, name) = function;
    writeln!(out, "fl={}\nfn={}", names.shown(own), names.shown(name))?;
    let mut file = own;
    for (at, &time_ns) in &sampled.own {
        if at.file != *file {
            writeln!(out, "fi={}", names.shown(&at.file))?;
            file = &at.file;
        }
        writeln!(out, "{:#x} {} {}", at.offset, at.line, costs.value(time_ns, 0, 0))?;
    }
    for ((at, (callee_file, callee)), &time_ns) in &sampled.calls {
        if at.file != *file {
            writeln!(out, "fi={}", names.shown(&at.file))?;
            file = &at.file;
        }
        writeln!(out, "cfi={}\ncfn={}\ncalls=1 0x0 0", names.shown(callee_file), names.shown(callee))?;
        writeln!(out, "{:#x} {} {}", at.offset, at.line, costs.value(time_ns, 0, 0))?;
    }
    writeln!(out)
}
