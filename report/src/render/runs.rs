//! The runs of a profile.

use wprof_profiler::{Ending, Run};

use super::numbers::{count_of, duration, grouped};
use super::page::{Ink, Page, plain, span};
use super::view::View;
use crate::names;

/// The maximum number of runs that are listed individually.
const LISTED: usize = 5;

/// Writes the program, its module and its runs.
pub fn write(page: &mut Page, view: &View<'_>) {
    let profile = view.profile;
    page.line(&[span(names::harmless(&profile.program), Ink::Strong)]);
    let code = profile.code;
    let hash: String = profile.module_hash[..8].iter().map(|byte| format!("{byte:02x}")).collect();
    let size = count_of(code.functions, "function");
    page.line(&[label("module"), plain(format!("{size}{}, hash {hash}…", ran(view)))]);
    for run in profile.runs.iter().take(LISTED) {
        write_run(page, run);
    }
    if let Some(more) = profile.runs.len().checked_sub(LISTED).filter(|&more| more > 0) {
        page.line(&[label(""), plain(format!("and {}", count_of(more as u64, "more run")))]);
    }
}

/// Describes how many functions ran, if that is known.
fn ran(view: &View<'_>) -> String {
    let ran = || format!(", {} ran", grouped(view.functions_ran()));
    if view.is_of_code() { ran() } else { String::new() }
}

fn write_run(page: &mut Page, run: &Run) {
    let after = run.wall_ns.map(|ns| format!(" after {}", duration(ns))).unwrap_or_default();
    page.line(&[label("run"), plain(format!("{}{after}, {}", ending(&run.ending), date(run.started)))]);
    if let Ending::Trapped { message } = &run.ending {
        page.line(&[label(""), span(names::harmless(message), Ink::Bad)]);
    }
    page.line(&[label(""), plain(names::harmless(&run.args.join(" ")))]);
    page.line(&[label(""), span(names::harmless(&format!("{} on {}", run.tool, run.machine)), Ink::Faint)]);
}

fn label(text: &str) -> super::page::Span {
    span(format!("  {text:<8}"), Ink::Faint)
}

/// Describes how a run ended.
pub fn ending(ending: &Ending) -> String {
    match ending {
        Ending::Running => "still running".to_owned(),
        Ending::Exited { code } => format!("exited with code {code}"),
        Ending::Trapped { .. } => "trapped".to_owned(),
        Ending::Interrupted => "interrupted".to_owned(),
        Ending::OutOfBudget => "ran out of budget".to_owned(),
    }
}

/// Formats seconds since 1970 as a date and time in UTC.
///
/// Source: Howard Hinnant, *chrono-Compatible Low-Level Date Algorithms*, `civil_from_days`.
pub fn date(seconds: u64) -> String {
    let (days, second) = (seconds / 86_400 + 719_468, seconds % 86_400);
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year + year / 4 - year / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = year + era * 400 + u64::from(month <= 2);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02} UTC")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_civil() {
        let all = [0, 951_782_400, 1_795_265_504].map(date);
        assert_eq!(all, ["1970-01-01 00:00:00 UTC", "2000-02-29 00:00:00 UTC", "2026-11-21 12:51:44 UTC"]);
    }
}
