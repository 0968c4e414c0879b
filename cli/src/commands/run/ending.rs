//! The end of a program: how it is recorded in the profile, reported to people, and returned to the caller.

use std::io;
use std::process::ExitCode;

use wprof::{Error, ErrorKind, FrameInfo, FrameSymbol, Stop, StoppedValue, Trap};
use wprof_profiler::Ending;
use wprof_report::names;
use wprof_report::numbers::grouped;
use wprof_report::page::Style;

use super::collect::{Budget, Measurements, Until};
use super::program::Outcome;
use crate::output;
use crate::screen::{ColorChoice, screen};

/// The exit code that shells show for a process that aborted.
const TRAPPED: u8 = 134;

/// Numbers of innermost and of outermost frames that a backtrace shows.
const INNER_FRAMES: usize = 12;
const OUTER_FRAMES: usize = 4;

/// The columns before a frame's name.
const INDENT: usize = 8;

/// The number of columns to which names and paths are not cut further.
const SHORTEST: usize = 20;

/// Returns how a run ended.
pub fn classify(ended: &Result<(), Error>, signal: Option<i32>) -> Ending {
    match ended {
        Ok(()) => Ending::Exited { code: 0 },
        Err(error) => match error.i32_exit() {
            Some(code) => Ending::Exited { code },
            None if error.trap() == Some(Trap::Interrupt) && signal.is_some() => Ending::Interrupted,
            None if error.trap() == Some(Trap::OutOfBudget) => Ending::OutOfBudget,
            None => Ending::Trapped { message: reason(error) },
        },
    }
}

/// Returns the message of a trap, without the words that call it a trap.
fn reason(error: &Error) -> String {
    let message = error.to_string();
    message.strip_prefix("wasm trap: ").unwrap_or(&message).to_owned()
}

/// Returns the exit code of `wprof run`.
pub fn exit_code(outcome: &Outcome) -> ExitCode {
    match (&outcome.ending, &outcome.error) {
        // Like the system, keep the low eight bits.
        (Ending::Exited { code }, _) => ExitCode::from(*code as u8),
        (Ending::OutOfBudget, _) if outcome.stop.is_some() => ExitCode::SUCCESS,
        (Ending::Interrupted, _) => ExitCode::from(128 + outcome.signal.unwrap_or_default() as u8),
        (_, Some(error)) if is_ours(error) => ExitCode::FAILURE,
        _ => ExitCode::from(TRAPPED),
    }
}

/// Reports whether wprof failed, and not the program.
pub fn is_ours(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Compile | ErrorKind::Limit | ErrorKind::System)
}

/// Reports why the program ended, unless it ended itself or the user ended it.
pub fn report(outcome: &Outcome, counted: &Measurements) {
    if let (Some(until), None) = (&counted.until, &outcome.stop) {
        output::tell_line(format_args!("wprof: the program ended before {until}"));
    }
    let Some(error) = &outcome.error else { return };
    let frames = error.backtrace().map(|backtrace| backtrace.frames()).unwrap_or_default();
    if let (Ending::OutOfBudget, Some(stop), Some(until)) = (&outcome.ending, &outcome.stop, &counted.until) {
        output::tell(format_args!(
            "wprof: stopped at {until}{}\n{}{}",
            beyond(until, outcome.spent),
            backtrace(frames),
            values(stop)
        ));
        return;
    }
    let why = match (&outcome.ending, &counted.budget, outcome.spent) {
        (Ending::Trapped { .. }, ..) => error.to_string(),
        (Ending::OutOfBudget, Some(budget), Some(spent)) => overdrawn(budget, spent),
        _ => return,
    };
    output::tell_line(format_args!("error: {}", names::harmless(&why)));
    output::tell(format_args!("{}", backtrace(frames)));
}

/// Says with how many events control first reached the place, if that is more than were waited for.
fn beyond(until: &Until, spent: Option<u64>) -> String {
    match (until, spent) {
        (Until::Place(budget, _), Some(spent)) if spent > budget.limit => {
            format!(", to which it came first with {}", grouped(spent))
        }
        _ => String::new(),
    }
}

/// Ends the process at once, as a program that ended with `error` does.
pub fn end_process(error: &Error) -> ! {
    if let Some(code) = error.i32_exit() {
        // Like the system, keep the low eight bits.
        std::process::exit(code & 0xff);
    }
    let frames = error.backtrace().map(|backtrace| backtrace.frames()).unwrap_or_default();
    output::tell_line(format_args!("error: {}", names::harmless(&error.to_string())));
    output::tell(format_args!("{}", backtrace(frames)));
    std::process::exit(TRAPPED.into());
}

/// Formats the locals and operands of the innermost frame.
fn values(stop: &Stop) -> String {
    let list = |name: &str, values: &[StoppedValue]| {
        let lines = values.iter().enumerate();
        lines.map(|(index, &value)| format!("  {name} {index}  {}\n", shown(value))).collect::<String>()
    };
    list("local", &stop.locals) + &list("operand", &stop.operands)
}

fn shown(value: StoppedValue) -> String {
    match value {
        StoppedValue::I32(value) => format!("{value}: i32"),
        StoppedValue::I64(value) => format!("{value}: i64"),
        StoppedValue::F32(bits) => format!("{}: f32", f32::from_bits(bits)),
        StoppedValue::F64(bits) => format!("{}: f64", f64::from_bits(bits)),
        StoppedValue::V128(bits) => format!("{bits:#034x}: v128"),
        StoppedValue::Ref { is_null } => if is_null { "null" } else { "a reference" }.to_owned(),
        StoppedValue::Lost => "one of too many to keep".to_owned(),
        other => format!("{other:?}"),
    }
}

/// Says what ran out, and how far the program exceeded it before it stopped.
fn overdrawn(budget: &Budget, spent: u64) -> String {
    let Budget { kind, limit } = budget;
    let [allowed, had, over] = [*limit, spent, spent.saturating_sub(*limit)].map(grouped);
    format!(
        "out of budget: {allowed} {kind} were allowed, {had} had happened when the program was stopped, {over} over"
    )
}

/// Formats the innermost and the outermost frames, each with its source lines, for standard error.
fn backtrace(frames: &[FrameInfo]) -> String {
    let screen = screen(io::stderr(), ColorChoice::Never);
    // This may be a thread of the program's.
    names::shown_in_full(screen.full_names, || lines(frames, screen))
}

fn lines(frames: &[FrameInfo], screen: Style) -> String {
    let width = if screen.cut { screen.width } else { usize::MAX };
    let hidden = INNER_FRAMES..frames.len().saturating_sub(OUTER_FRAMES);
    let mut text = String::new();
    for (index, frame) in frames.iter().enumerate() {
        if hidden.len() > 1 && hidden.contains(&index) {
            if index == hidden.start {
                text += &format!("        … {} frames …\n", hidden.len());
            }
            continue;
        }
        text += &format!("  {index:>4}  {}\n", line(frame, width.saturating_sub(INDENT)));
    }
    text
}

/// Formats a frame: function, source line and offset, preceded by lines for functions inlined there.
fn line(frame: &FrameInfo, room: usize) -> String {
    let mut text = String::new();
    let symbols = frame.symbols();
    let mut places = symbols.iter().map(place);
    let inlined = symbols.len().saturating_sub(1);
    for (symbol, place) in symbols.iter().zip(places.by_ref()).take(inlined) {
        let name = symbol.name().map(names::of_symbol).unwrap_or_default();
        text += &fitting([&name, " (inlined)", &place, ""], room);
        text += &format!("\n{:INDENT$}", "");
    }
    let name = names::shown(frame.func_index(), frame.func_name());
    let name = match frame.module().name_in_component() {
        Some(module) => format!("{}::{name}", names::harmless(module)),
        None => name,
    };
    let offset = format!("  ({:#x})", frame.module_offset());
    text + &fitting([&name, "", &places.next().unwrap_or_default(), &offset], room)
}

/// Joins a name, a remark, a place and an offset. Where there is no room for all the name is cut, then the beginning of
/// the place, which tells less than its end.
fn fitting([name, remark, place, offset]: [&str; 4], room: usize) -> String {
    let length = |text: &str| text.chars().count();
    let others = length(remark) + length(offset);
    let name = names::cut(name, room.saturating_sub(others + length(place)).max(SHORTEST));
    let most = room.saturating_sub(others + length(&name)).max(SHORTEST);
    let place = match length(place).checked_sub(most) {
        Some(excess @ 1..) => format!("  …{}", place.chars().skip(excess + 3).collect::<String>()),
        _ => place.to_owned(),
    };
    format!("{name}{remark}{place}{offset}")
}

/// Formats a source line, behind two spaces.
fn place(symbol: &FrameSymbol) -> String {
    match (symbol.file(), symbol.line()) {
        (Some(file), Some(line)) => format!("  {}:{line}", names::harmless(file)),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_give_way_to_places() {
        let name = format!("std::function<{}>::call(int)", "int, ".repeat(50));
        let text = |name: &str, place: &str, room| fitting([name, "", place, "  (0x12)"], room);
        assert_eq!(text(&name, "  a.cpp:7", 60), "std::function<…>::call(int)  a.cpp:7  (0x12)");
        assert_eq!(text("f", "  a.cpp:7", usize::MAX), "f  a.cpp:7  (0x12)");
        let long = format!("  {}/a.cpp:7", "folder/".repeat(9));
        let both = text(&name, &long, 70);
        assert!(both.starts_with("std::function<…>") && both.ends_with("folder//a.cpp:7  (0x12)"), "{both}");
        assert!(both.chars().count() <= 70 && both.contains("  …"), "{both}");
    }
}
