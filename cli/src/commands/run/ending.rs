//! What the end of a program means: for the profile, for people, for the caller.

use std::process::ExitCode;

use wprof::{Error, ErrorKind, FrameInfo, Trap};
use wprof_profiler::Ending;

use super::program::Outcome;
use crate::names;

/// What shells show for a process that aborted.
const TRAPPED: u8 = 134;

/// Frames of a backtrace that are shown at its beginning and at its end.
const INNER_FRAMES: usize = 12;
const OUTER_FRAMES: usize = 4;

/// How a run ended.
pub fn of(ended: &Result<(), Error>, signal: Option<i32>) -> Ending {
    match ended {
        Ok(()) => Ending::Exited { code: 0 },
        Err(error) => match error.i32_exit() {
            Some(code) => Ending::Exited { code },
            None if error.trap() == Some(Trap::Interrupt) && signal.is_some() => Ending::Interrupted,
            None => Ending::Trapped { message: reason(error) },
        },
    }
}

/// What the trap says, without saying that it is one.
fn reason(error: &Error) -> String {
    let message = error.to_string();
    message.strip_prefix("wasm trap: ").unwrap_or(&message).to_owned()
}

/// The exit code of `wprof run`.
pub fn exit_code(outcome: &Outcome) -> ExitCode {
    match (&outcome.ending, &outcome.error) {
        // As the system does it: the low eight bits.
        (Ending::Exited { code }, _) => ExitCode::from(*code as u8),
        (Ending::Interrupted, _) => ExitCode::from(128 + outcome.signal.unwrap_or_default() as u8),
        (_, Some(error)) if is_ours(error) => ExitCode::FAILURE,
        _ => ExitCode::from(TRAPPED),
    }
}

/// Whether it was not the program that failed.
fn is_ours(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Compile | ErrorKind::Limit | ErrorKind::System)
}

/// Says why the program ended, unless it ended itself.
pub fn report(outcome: &Outcome) {
    let Some(error) = outcome.error.as_ref().filter(|error| error.i32_exit().is_none()) else { return };
    eprintln!("error: {}", names::harmless(&error.to_string()));
    if outcome.ending != Ending::Interrupted {
        let frames = error.backtrace().map(|backtrace| backtrace.frames()).unwrap_or_default();
        eprint!("{}", backtrace(frames));
    }
}

/// The innermost and the outermost frames, each with its source lines.
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

fn line(frame: &FrameInfo) -> String {
    let name = names::shown(frame.func_index(), frame.func_name());
    let mut text = format!("{name}  {:#x}", frame.module_offset());
    for symbol in frame.symbols() {
        let (Some(file), Some(number)) = (symbol.file(), symbol.line()) else { continue };
        // The outermost symbol is the function itself.
        text += &format!("\n          at {}:{number}", names::harmless(file));
        if let Some(inlined) = symbol.name().map(|raw| names::harmless(&wprof::demangle(raw)))
            && inlined != name
        {
            text += &format!(" ({inlined})");
        }
    }
    text
}
