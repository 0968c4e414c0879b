//! The number of instructions that a run executes in the engine's machine code, counted by valgrind's callgrind.
//!
//! Callgrind knows the file from which each instruction was mapped. Generated code comes from no file, which callgrind
//! names `???`. Startup, compilation and the host are thus excluded, and the build of wprof does not matter.

use std::collections::HashMap;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

/// Returns the instructions of machine code in a run of `command`, which must end with `exit_code`, and its standard
/// error. Writes the temporary file `out`.
///
/// # Errors
/// Returns an error if the command cannot be run, if it ends otherwise, or if nothing was counted.
pub fn machine_code(command: &Command, exit_code: i32, out: &Path) -> Result<(u64, String)> {
    let mut valgrind = Command::new("valgrind");
    valgrind.args(["--tool=callgrind", "--quiet"]).arg(format!("--callgrind-out-file={}", out.display()));
    valgrind.arg(command.get_program()).args(command.get_args());
    let output =
        valgrind.stdin(Stdio::null()).stdout(Stdio::null()).output().context("cannot run valgrind")?;
    let log = String::from_utf8_lossy(&output.stderr).into_owned();
    ensure!(output.status.code() == Some(exit_code), "under valgrind: {}: {log}", output.status);
    let counted =
        std::fs::read_to_string(out).with_context(|| format!("valgrind wrote no {}", out.display()))?;
    let count = of_no_file(&counted);
    ensure!(count > 0, "valgrind counted no machine code");
    Ok((count, log))
}

/// Returns the cost of code that was mapped from no file.
///
/// A name is written once, as `ob=(2) ???`, and then abbreviated to `ob=(2)`. The line after `calls=` has the cost of
/// the callee, which is counted at the callee.
/// counted where the callee is.
fn of_no_file(text: &str) -> u64 {
    let mut is_ours: HashMap<&str, bool> = HashMap::new();
    let (mut counts, mut is_call, mut sum) = (false, false, 0);
    for line in text.lines() {
        if let Some(object) = line.strip_prefix("ob=").or_else(|| line.strip_prefix("cob=")) {
            let (id, name) = object.split_once(' ').unwrap_or((object, ""));
            if !name.is_empty() {
                is_ours.insert(id, name == "???");
            }
            if line.starts_with("ob=") {
                counts = is_ours.get(id).copied().unwrap_or(false);
            }
        } else if line.starts_with("calls=") {
            is_call = true;
        } else if line.starts_with(|c: char| c.is_ascii_digit() || "+-*".contains(c)) {
            let cost = line.split(' ').nth(1).and_then(|cost| cost.parse::<u64>().ok()).unwrap_or(0);
            sum += if counts && !is_call { cost } else { 0 };
            is_call = false;
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::of_no_file;

    #[test]
    fn costs_of_code_from_no_file_are_summed_without_those_of_calls() {
        let text = "version: 1\nevents: Ir\n\nob=(1) /usr/lib/libc.so.6\nfl=(1) a.c\nfn=(1) f\n10 100\n\
                    cob=(2) ???\ncfn=(2) 0x1\ncalls=1 0\n10 5000\n\nob=(2)\nfn=(2)\n0 70\n+3 7\n* 1\n\
                    cob=(1)\ncfn=(1)\ncalls=2 10\n* 200\n\nob=(1)\nfn=(1)\n11 9\n\ntotals: 5378\n";
        assert_eq!(of_no_file(text), 78);
    }
}
