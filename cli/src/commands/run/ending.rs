//! The end of a program: how it is recorded in the profile, reported to people, and returned to the caller.

use std::process::ExitCode;

use wprof::{Error, ErrorKind, FrameInfo, FrameSymbol, Stop, StoppedValue, Trap};
use wprof_profiler::Ending;

use super::collect::{Budget, Counted, Until};
use super::program::Outcome;
use crate::render::numbers::grouped;
use crate::{names, output};

/// The exit code that shells show for a process that aborted.
const TRAPPED: u8 = 134;

/// Numbers of innermost and of outermost frames that a backtrace shows.
const INNER_FRAMES: usize = 12;
const OUTER_FRAMES: usize = 4;

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
pub fn report(outcome: &Outcome, counted: &Counted) {
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

/// Formats the innermost and the outermost frames, each with its source lines.
fn backtrace(frames: &[FrameInfo]) -> String {
    let hidden = INNER_FRAMES..frames.len().saturating_sub(OUTER_FRAMES);
    let mut text = String::new();
    for (index, frame) in frames.iter().enumerate() {
        if hidden.len() > 1 && hidden.contains(&index) {
            if index == hidden.start {
                text += &format!("        … {} frames …\n", hidden.len());
            }
            continue;
        }
        text += &format!("  {index:>4}  {}\n", line(frame));
    }
    text
}

/// Formats a frame: function, source line and offset, preceded by lines for functions inlined there.
fn line(frame: &FrameInfo) -> String {
    let mut text = String::new();
    let symbols = frame.symbols();
    let mut places = symbols.iter().map(place);
    let inlined = symbols.len().saturating_sub(1);
    for (symbol, place) in symbols.iter().zip(places.by_ref()).take(inlined) {
        let name = symbol.name().map(names::of_symbol);
        text += &format!("{} (inlined){place}\n        ", name.unwrap_or_default());
    }
    let name = names::shown(frame.func_index(), frame.func_name());
    text + &format!("{name}{}  ({:#x})", places.next().unwrap_or_default(), frame.module_offset())
}

fn place(symbol: &FrameSymbol) -> String {
    match (symbol.file(), symbol.line()) {
        (Some(file), Some(line)) => format!("  {}:{line}", names::harmless(file)),
        _ => String::new(),
    }
}
