//! Checks cases in child processes, so that a crash or a hang is a finding and not the end of the run.
//!
//! A child checks one seed after the other and reports each in a line; the parent reads the lines. When a child dies,
//! or works for `PATIENCE` without a report, the last seed that it began is the one that failed. The parent reduces the case with
//! one child for each attempt ([`shrink`]).

use std::io::{BufRead, BufReader, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use crate::check::Engines;
use crate::drive::Drive;
use crate::generate::{Case, Maker};
use crate::patience::Patience;
use crate::shrink::shrink;
use crate::sweep::Check;

/// Processor time that a case may take: a thousand times what most cases take.
const PATIENCE: Duration = Duration::from_secs(60);
/// The same for a smaller case during reduction.
const LESS_PATIENCE: Duration = Duration::from_secs(20);
/// How often to look whether a silent child works.
const LOOK: Duration = Duration::from_secs(5);
/// Number of cases after which a new child starts, so that no engine becomes old.
const CASES_OF_CHILD: u64 = 1024;
/// Number of smaller cases tried for each failing case; the next constant limits the time.
const TRIES: usize = 3000;
const TIME_TO_SHRINK: Duration = Duration::from_secs(240);

/// Exit code of a child whose case fails, distinct from that of a panic and of a usage error.
const FAILED: u8 = 3;

/// A case that failed in a child process.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The seed.
    pub seed: u64,
    /// What happened.
    pub message: String,
    /// The file of the reduced case.
    pub file: PathBuf,
}

/// A run of cases in children.
#[derive(Debug)]
pub struct Isolated {
    /// The program that children run: `differential`.
    pub program: PathBuf,
    /// The name of the check, passed to children.
    pub name: String,
    /// The check.
    pub check: Check,
    /// The number of concurrent children.
    pub jobs: usize,
    /// The folder for failing cases.
    pub folder: PathBuf,
}

/// The result of a run.
#[derive(Clone, Debug, Default)]
pub struct Done {
    /// Number of checked cases.
    pub cases: u64,
    /// Cases that failed.
    pub findings: Vec<Finding>,
}

/// How a child ended.
enum Ended {
    /// It checked all its cases.
    Well,
    /// It stopped at a seed, with a message.
    At(u64, String),
}

impl Isolated {
    /// Checks the cases of `seeds` until `deadline`, and calls `progress` after each case.
    ///
    /// # Errors
    /// Returns an error if no child can be started, or a file cannot be written.
    ///
    /// # Panics
    /// Panics if `progress` does.
    pub fn run(
        &self,
        seeds: Range<u64>,
        deadline: Option<Instant>,
        progress: impl Fn(&Done) + Sync,
    ) -> std::io::Result<Done> {
        let next = AtomicU64::new(seeds.start);
        let all = Mutex::new(Done::default());
        let passed = |finding: Option<Finding>| {
            let mut all = all.lock().expect("no panic while held");
            all.cases += 1;
            all.findings.extend(finding);
            progress(&all);
        };
        let job = || -> std::io::Result<()> {
            loop {
                let start = next.fetch_add(CASES_OF_CHILD, Ordering::Relaxed);
                if start >= seeds.end || is_over(deadline) {
                    return Ok(());
                }
                let end = seeds.end.min(start.saturating_add(CASES_OF_CHILD));
                self.some(start..end, deadline, passed)?;
            }
        };
        std::thread::scope(|scope| {
            let jobs: Vec<_> = (0..self.jobs.max(1)).map(|_| scope.spawn(job)).collect();
            jobs.into_iter().try_for_each(|job| job.join().expect("no panic"))
        })?;
        Ok(all.into_inner().expect("no panic while held"))
    }

    /// Runs a child, and another one after each case that fails.
    fn some(
        &self,
        seeds: Range<u64>,
        deadline: Option<Instant>,
        passed: impl Fn(Option<Finding>),
    ) -> std::io::Result<()> {
        let mut next = seeds.start;
        while next < seeds.end && !is_over(deadline) {
            let ended = self.child(next..seeds.end, deadline, |seed| {
                next = seed + 1;
                passed(None);
            })?;
            match ended {
                Ended::Well => break,
                Ended::At(seed, message) => {
                    next = seed + 1;
                    eprintln!("{} seed {seed}: {message}", self.name);
                    passed(Some(self.finding(seed, message)?));
                }
            }
        }
        Ok(())
    }

    /// Runs one child until a case fails.
    fn child(
        &self,
        seeds: Range<u64>,
        deadline: Option<Instant>,
        passed: impl FnMut(u64),
    ) -> std::io::Result<Ended> {
        let (start, count) = (seeds.start, seeds.end - seeds.start);
        let args = [&self.name, "--worker", &start.to_string(), &count.to_string()].map(str::to_owned);
        let mut command = Command::new(&self.program);
        let mut child = command.args(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        let lines = lines_of(child.stdout.take().expect("piped"));
        let complaints = lines_of(child.stderr.take().expect("piped"));
        let ended = match follow(&lines, child.id(), start, deadline, passed) {
            Said::Enough => Ended::Well,
            Said::Failed(at, message) => Ended::At(at, message),
            Said::NoMore(at) => {
                let status = child.wait()?;
                let said: Vec<String> = complaints.iter().take(20).collect();
                match status.success() {
                    true => Ended::Well,
                    false => Ended::At(at, format!("{status}: {}", said.join(" / "))),
                }
            }
        };
        end(&mut child);
        Ok(ended)
    }

    fn finding(&self, seed: u64, message: String) -> std::io::Result<Finding> {
        std::fs::create_dir_all(&self.folder)?;
        let case = (self.check.case)(seed);
        let file = self.folder.join(format!("{}-{seed}.wasm", self.name));
        std::fs::write(file.with_extension("whole.wasm"), &case.wasm)?;
        let candidate = self.folder.join(format!("{}-{seed}.try.wasm", self.name));
        let until = Instant::now() + TIME_TO_SHRINK;
        let fails = |case: &Case| {
            Instant::now() < until && self.fails(case, &candidate).unwrap_or_default().is_some()
        };
        let smaller = shrink(case, TRIES, fails);
        let _ = std::fs::remove_file(&candidate);
        let _ = std::fs::remove_file(candidate.with_extension("calls"));
        save(&smaller, &file)?;
        let again = self.fails(&smaller, &file)?;
        let message = again.map_or(format!("only sometimes: {message}"), |again| again);
        std::fs::write(file.with_extension("txt"), format!("{}\nseed {seed}\n{message}\n", self.name))?;
        Ok(Finding { seed, message, file })
    }

    /// Checks a case in a child and returns the failure, if there is any.
    fn fails(&self, case: &Case, file: &Path) -> std::io::Result<Option<String>> {
        save(case, file)?;
        let mut child = Command::new(&self.program)
            .args([&self.name, "--replay", &case.seed.to_string()])
            .arg(file)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let said = lines_of(child.stdout.take().expect("piped"));
        let patience = Patience::new(child.id());
        let status = loop {
            if let Some(status) = child.try_wait()? {
                break Some(status);
            }
            if patience.ends(LESS_PATIENCE) {
                break None;
            }
            std::thread::sleep(Duration::from_millis(3));
        };
        end(&mut child);
        Ok(match status {
            None => Some("does not end".into()),
            Some(status) if status.success() => None,
            Some(status) => Some(format!("{status} {}", said.iter().collect::<Vec<_>>().join(" "))),
        })
    }
}

/// What a child has reported when there is nothing more to wait for.
enum Said {
    /// All the reports that were asked for, within the time.
    Enough,
    /// That the case of a seed fails, or nothing while it worked too long.
    Failed(u64, String),
    /// Nothing more since it began the case of a seed: the child has ended.
    NoMore(u64),
}

/// Reads the reports of a child.
fn follow(
    lines: &Receiver<String>,
    pid: u32,
    start: u64,
    deadline: Option<Instant>,
    mut passed: impl FnMut(u64),
) -> Said {
    let mut at = start;
    let mut silent = None;
    loop {
        let line = match lines.recv_timeout(LOOK) {
            Ok(line) => line,
            Err(RecvTimeoutError::Disconnected) => return Said::NoMore(at),
            Err(RecvTimeoutError::Timeout) => {
                let patience = silent.get_or_insert_with(|| Patience::new(pid));
                if patience.ends(PATIENCE) {
                    return Said::Failed(at, format!("does not end within {} s of work", PATIENCE.as_secs()));
                }
                continue;
            }
        };
        silent = None;
        match line.split_once(' ') {
            Some(("begin", seed)) => at = seed.parse().unwrap_or(at),
            Some(("failed", message)) => return Said::Failed(at, message.to_string()),
            Some(("passed", _)) => {
                passed(at);
                if is_over(deadline) {
                    return Said::Enough;
                }
            }
            _ => {}
        }
    }
}

fn is_over(deadline: Option<Instant>) -> bool {
    deadline.is_some_and(|deadline| Instant::now() >= deadline)
}

/// Kills a child that is still running.
fn end(child: &mut Child) {
    let _ = child.kill();
    let _ = child.wait();
}

fn lines_of(from: impl std::io::Read + Send + 'static) -> Receiver<String> {
    let (send, receive) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(from).lines().map_while(Result::ok) {
            if send.send(line).is_err() {
                break;
            }
        }
    });
    receive
}

fn save(case: &Case, file: &Path) -> std::io::Result<()> {
    std::fs::write(file, &case.wasm)?;
    std::fs::write(file.with_extension("calls"), case.drive.to_text())
}

/// The main function of a child: checks `count` cases from `start` on and reports each.
pub fn work(check: Check, start: u64, count: u64) -> ExitCode {
    on_large_stack(check, move || {
        let engines = Engines::default();
        for seed in start..start + count {
            say(format_args!("begin {seed}"));
            match (check.check)(&engines, &(check.case)(seed)) {
                Ok(_) => say(format_args!("passed {seed}")),
                Err(message) => {
                    say(format_args!("failed {}", message.replace('\n', " ")));
                    return ExitCode::from(FAILED);
                }
            }
        }
        ExitCode::SUCCESS
    })
}

/// Checks the case in a file, with its calls in a file beside it.
pub fn replay(check: Check, seed: u64, file: &Path) -> ExitCode {
    let read = || -> Result<Case, String> {
        let wasm = std::fs::read(file).map_err(|e| e.to_string())?;
        let calls = std::fs::read_to_string(file.with_extension("calls")).map_err(|e| e.to_string())?;
        let drive = Drive::from_text(&calls)?;
        Ok(Case { seed, maker: Maker::Hot, wasm, drive, tree: None })
    };
    let case = match read() {
        Ok(case) => case,
        Err(error) => {
            say(format_args!("cannot read {}: {error}", file.display()));
            return ExitCode::SUCCESS;
        }
    };
    on_large_stack(check, move || {
        let engines = Engines::default();
        match (check.check)(&engines, &case) {
            Ok(_) => ExitCode::SUCCESS,
            Err(message) => {
                say(format_args!("{message}"));
                if let Some(fewest) = check.settings.and_then(|fewest| fewest(&engines, &case)) {
                    say(format_args!("enough for it: [{fewest}]"));
                }
                ExitCode::from(FAILED)
            }
        }
    })
}

fn on_large_stack(check: Check, run: impl FnOnce() -> ExitCode + Send + 'static) -> ExitCode {
    let thread = std::thread::Builder::new().stack_size(check.stack).spawn(run);
    thread.expect("a thread").join().unwrap_or(ExitCode::from(101))
}

/// Prints a line and flushes it, so that the parent sees it at once, whatever happens next.
fn say(line: std::fmt::Arguments<'_>) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}
