//! Runs of generated modules in an engine in another process, which judges ours.
//!
//! `bench-wasm/peers` has such a program, `judge`, with Wasmtime in it: a dependency that ours is not to have. It reads
//! the name of a module's file in a line, whose calls are beside it ([`Drive::to_text`](crate::drive::Drive)), and
//! answers with the outcome ([`Outcome::to_text`](crate::outcome::Outcome::to_text)), the fuel of each call that
//! returned (`fuel 17`, else `fuel -`), and a line `end`.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use crate::generate::Case;

/// The variable that names the program.
pub const VARIABLE: &str = "WPROF_JUDGE";

/// The other process.
#[derive(Debug)]
pub struct Judge {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    folder: tempfile::TempDir,
}

/// What it says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// The outcome.
    pub outcome: String,
    /// Fuel of each call, if that is known.
    pub fuel: Vec<Option<u64>>,
}

impl Judge {
    /// Starts it.
    ///
    /// # Errors
    /// If it is not named, or does not start.
    pub fn start() -> Result<Judge, String> {
        let program = std::env::var_os(VARIABLE).map(PathBuf::from);
        let program = program.ok_or_else(|| {
            format!("set {VARIABLE} to the program `judge`: cargo build --release -p wprof-peers --bin judge")
        })?;
        let start = || -> std::io::Result<Judge> {
            let mut child = Command::new(&program).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
            let to = child.stdin.take().expect("piped");
            let from = BufReader::new(child.stdout.take().expect("piped"));
            Ok(Judge { child, to, from, folder: tempfile::tempdir()? })
        };
        start().map_err(|e| format!("{}: {e}", program.display()))
    }

    /// Has it run a case.
    ///
    /// # Errors
    /// If it does not answer.
    pub fn run(&mut self, case: &Case) -> Result<Verdict, String> {
        let file = self.folder.path().join("case.wasm");
        self.ask(case, &file).map_err(|e| format!("the judge is gone: {e}"))
    }

    fn ask(&mut self, case: &Case, file: &Path) -> std::io::Result<Verdict> {
        std::fs::write(file, &case.wasm)?;
        std::fs::write(file.with_extension("calls"), case.drive.to_text())?;
        writeln!(self.to, "{}", file.display())?;
        self.to.flush()?;
        let mut verdict = Verdict { outcome: String::new(), fuel: Vec::new() };
        loop {
            let mut line = String::new();
            if self.from.read_line(&mut line)? == 0 {
                return Err(std::io::ErrorKind::UnexpectedEof.into());
            }
            match line.strip_prefix("fuel ") {
                Some(fuel) => verdict.fuel.push(fuel.trim().parse().ok()),
                None if line == "end\n" => return Ok(verdict),
                None => verdict.outcome += &line,
            }
        }
    }
}

impl Drop for Judge {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
