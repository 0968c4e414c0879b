//! The Firefox Profiler's own code: its program for the command line, which loads and upgrades files as its page does.

use std::process::{Child, Command, Stdio};

use serde_json::Value;

use super::{calls_in_contexts, downloaded, foreign};
use crate::export::json_exports;
use crate::{Folder, function, json, until};

/// The program, which reads one file and answers questions until it is killed.
struct Reader {
    program: String,
    folder: String,
    server: Child,
}

impl Reader {
    /// It reads the file; nothing if it is not there, or nothing to run it.
    fn new(folder: &Folder, file: &str) -> Option<Self> {
        let program = downloaded("@firefox-devtools/profiler-cli/dist/profiler-cli.js")?;
        foreign(Command::new("node").arg("--version"))?;
        let folder = folder.path("");
        let mut server = command(&program, &folder);
        server.args(["--daemon", file, "--session", "f"]).stdout(Stdio::null()).stderr(Stdio::null());
        let server = server.spawn().expect("it starts");
        Some(Self { program, folder, server })
    }

    /// The functions of a thread with their weights; it may still be reading.
    fn functions(&self, thread: usize) -> Value {
        let thread = format!("t-{thread}");
        until(|| {
            let mut asked = command(&self.program, &self.folder);
            asked.args([
                "thread",
                "functions",
                "--json",
                "--limit",
                "0",
                "--session",
                "f",
                "--thread",
                &thread,
            ]);
            let answer = asked.output().expect("it starts");
            answer.status.success().then(|| serde_json::from_slice(&answer.stdout).expect("JSON"))
        })
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

/// The program, which keeps to a folder and asks nobody for names.
fn command(program: &str, folder: &str) -> Command {
    let mut command = Command::new("node");
    command.arg(program).env("PROFILER_CLI_SESSION_DIR", folder).env("PROFILER_CLI_NO_SYMBOLICATE", "1");
    command
}

#[test]
fn firefox_profiler_finds_the_totals() {
    let folder = Folder::new();
    let profile = json(&json_exports(&folder, &["firefox"]));
    let Some(reader) = Reader::new(&folder, &folder.path("firefox")) else { return };
    let own = |function: &Value| function["selfSamples"].as_u64().expect("a whole number");
    for (thread, metric, total) in
        [(0, "instructions", profile["ops"].as_u64().unwrap()), (1, "calls", calls_in_contexts(&profile))]
    {
        let shown = reader.functions(thread);
        assert_eq!(shown["friendlyThreadName"], metric);
        let functions = shown["functions"].as_array().unwrap();
        assert_eq!(functions.iter().map(own).sum::<u64>(), total, "{metric}");
        let parse_value = functions.iter().find(|function| function["name"] == "parse_value").unwrap();
        let expected = function(&profile, "parse_value");
        let expected = if metric == "calls" { &expected["calls"] } else { &expected["ops"] };
        assert_eq!(&parse_value["selfSamples"], expected, "{metric}");
    }
}
