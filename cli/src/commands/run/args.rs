//! The options of `wprof run`.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use wprof::{Collect, ProfilingConfig, StoreLimits};
use wprof_jit::plan::Instrumentation;

use crate::sizes;

/// How to profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Mode {
    Exact,
    Off,
}

/// What to count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Kind {
    // With the fewest counters that determine all of them.
    Edges,
    // With a counter in each: slower, and no profile; only to compare with.
    Blocks,
}

/// What is counted, and how.
#[derive(Clone, Copy, Debug, Args)]
pub struct ProfileArgs {
    /// Count everything, or run plain code
    #[arg(long = "profile", value_enum, value_name = "MODE", default_value = "exact")]
    mode: Mode,
    /// What to count; blocks, one counter each, is only there to be compared with
    #[arg(long, value_enum, value_name = "WHAT", default_value = "edges")]
    collect: Kind,
}

impl ProfileArgs {
    /// Whether anything is counted.
    pub fn is_on(self) -> bool {
        self.mode != Mode::Off
    }

    /// Whether what is counted makes a profile.
    pub fn is_complete(self) -> bool {
        self.is_on() && self.collect == Kind::Edges
    }

    /// As the engine is told.
    pub fn profiling(self) -> ProfilingConfig {
        match (self.mode, self.collect) {
            (Mode::Off, _) => ProfilingConfig::Off,
            (Mode::Exact, Kind::Edges) => ProfilingConfig::Exact(Collect::Edges),
            (Mode::Exact, Kind::Blocks) => ProfilingConfig::Exact(Collect::Blocks),
        }
    }

    /// As the compiler is told.
    pub fn instrumentation(self) -> Instrumentation {
        match (self.mode, self.collect) {
            (Mode::Off, _) => Instrumentation::Off,
            (Mode::Exact, Kind::Edges) => Instrumentation::Chords,
            (Mode::Exact, Kind::Blocks) => Instrumentation::Blocks,
        }
    }
}

/// A folder of the host that the program may use.
#[derive(Clone, Debug)]
pub struct Folder {
    /// Where it is.
    pub host: PathBuf,
    /// What the program calls it.
    pub guest: String,
}

#[derive(Debug, Args)]
#[command(after_help = "\
The program's input, output and exit code are its own; a summary follows on \
standard error. The profile is complete and exact also after a trap, an exit from \
deep inside, or Ctrl-C. The first Ctrl-C stops the program and keeps the profile, a \
second one kills.

Exit codes: the program's own; 134 after a trap; 130 after Ctrl-C; 1 if something \
else went wrong.

Examples:
  wprof run hello.wasm
  wprof run -o f.wprof json.wasm 20 2   options of wprof before the module
  wprof run --dir . --dir data::/data tool.wasm /data/in.txt
  wprof run --env LANG=C --env HOME tool.wasm
  wprof run --invoke fib fib.wat 30     call an exported function
  wprof run --profile off -q tool.wasm  just run")]
pub struct RunArgs {
    #[command(flatten)]
    pub profile: ProfileArgs,
    /// Write the profile to a file, for `wprof report`
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// No summary
    #[arg(short, long, conflicts_with = "verbose")]
    pub quiet: bool,
    /// Say more: what was compiled, to how much code
    #[arg(short, long)]
    pub verbose: bool,
    /// Compile anew: neither use nor keep machine code of other runs
    #[arg(long)]
    pub no_code_cache: bool,
    #[command(flatten)]
    pub program: ProgramArgs,
}

/// A program and what it may do.
#[derive(Debug, Args)]
pub struct ProgramArgs {
    /// Let the program use a folder, under its own or another name
    #[arg(long = "dir", value_name = "HOST[::GUEST]", value_parser = folder)]
    pub dirs: Vec<Folder>,
    /// Set an environment variable of the program, or pass it on
    #[arg(long = "env", value_name = "NAME[=VALUE]", value_parser = variable)]
    pub env: Vec<(String, String)>,
    /// Call an exported function instead of `_start`, print its results
    #[arg(long, value_name = "FUNC")]
    pub invoke: Option<String>,
    /// How large a memory may grow
    #[arg(long, value_name = "SIZE", value_parser = sizes::parse, default_value = "4G")]
    pub max_memory: u64,
    /// How large a table may grow
    #[arg(long, value_name = "ELEMENTS", default_value_t = 10_000_000)]
    pub max_table_elements: u64,
    /// The stack of the program
    #[arg(long, value_name = "SIZE", value_parser = stack_size, default_value = "64M")]
    pub max_stack: u64,
    /// The module, binary or text, and the program's arguments
    #[arg(value_name = "MODULE [ARG]", required = true, trailing_var_arg = true, num_args = 1..)]
    command: Vec<String>,
}

impl ProgramArgs {
    /// The module's path.
    pub fn module(&self) -> &Path {
        Path::new(&self.command[0])
    }

    /// The arguments after the module.
    pub fn rest(&self) -> &[String] {
        &self.command[1..]
    }

    /// What the program sees as its command line: its file name, then the arguments.
    pub fn program_args(&self) -> Vec<String> {
        let name = self.module().file_name().unwrap_or_default().to_string_lossy().into_owned();
        [name].into_iter().chain(self.rest().iter().cloned()).collect()
    }

    /// How large things may grow.
    pub fn limits(&self) -> StoreLimits {
        StoreLimits {
            memory_size: self.max_memory,
            memory64_size: self.max_memory,
            table_elements: self.max_table_elements,
            ..StoreLimits::default()
        }
    }
}

fn folder(text: &str) -> Result<Folder, String> {
    let (host, guest) = text.split_once("::").unwrap_or((text, text));
    match (host, guest) {
        ("", _) | (_, "") => Err("give a folder, or HOST::GUEST".to_owned()),
        _ => Ok(Folder { host: host.into(), guest: guest.to_owned() }),
    }
}

fn variable(text: &str) -> Result<(String, String), String> {
    let (name, value) = match text.split_once('=') {
        Some((name, value)) => (name, value.to_owned()),
        None => (text, std::env::var(text).map_err(|e| format!("{e}: give NAME=VALUE"))?),
    };
    if name.is_empty() { Err("give NAME=VALUE".to_owned()) } else { Ok((name.to_owned(), value)) }
}

/// A stack too small for the engine itself would end in a crash.
fn stack_size(text: &str) -> Result<u64, String> {
    const LEAST: u64 = 1 << 20;
    let size = sizes::parse(text)?;
    if (LEAST..=1 << 40).contains(&size) { Ok(size) } else { Err("give from 1M to 1T".to_owned()) }
}
