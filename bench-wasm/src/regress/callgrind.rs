//! How many instructions a run executes in machine code of the engine's, of those that valgrind's callgrind counts.
//!
//! Callgrind knows of each instruction which file it was mapped from. Code that the engine writes is from none, which it
//! calls `???`. So start, compilation and the host are left out, and it does not matter how wprof was built.

use std::collections::HashMap;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

/// Instructions of machine code in a run of `command`, which is to end with `exit_code`; what it writes to standard error
/// comes with them. The file `out` is written on the way.
///
/// # Errors
/// If it cannot be run, or ends otherwise, or nothing was counted.
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

/// The cost of code that was mapped from no file.
///
/// Names are written once, as `ob=(2) ???`, and then are `ob=(2)`. Behind `calls=` stands what the callee took, which is
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
