//! The options of `wprof run`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, ValueEnum};
use wprof::{Config, PerfFormat, StoreLimits};
use wprof_profiler::Extension;

use super::collect::{COLLECT_HELP, Limit, ProfileArgs};
use super::reoptimize::ReoptimizeArgs;
use crate::{durations, sizes};

/// The form of a file for perf.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Perf {
    Map,
    Jitdump,
}

impl From<Perf> for PerfFormat {
    fn from(form: Perf) -> Self {
        match form {
            Perf::Map => Self::Map,
            Perf::Jitdump => Self::Jitdump,
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
#[command(after_help = format!("\
The program's input, output and exit code are its own; a summary follows on \
standard error. The profile is a sample: paths and calling contexts are seen in short bursts, at \
hardly any cost, and hot functions are compiled anew by what bursts see. A run of less than about a \
tenth of a second is too short for that: --exact counts everything, and so does --collect what it \
names. The profile is kept also after a trap, an exit from deep inside, or Ctrl-C; if it is an exact \
one it is complete and exact then, too. The first Ctrl-C stops the program and keeps the profile, a \
second one kills.

{COLLECT_HELP}

A budget stops the program at the first function entry or loop round at which it is \
overdrawn, always at the same place, with a backtrace, exit code 134 and its profile.

A number of instructions names an instant of a run: `--until N` stops there, at any \
instruction, and shows the frames, the locals and the operand stack. The same \
program with the same input is there again each time.

Exit codes: the program's own; 0 if it was stopped by --until; 134 after a trap, a budget's end or a timeout; 130 after Ctrl-C; 1 if something \
else went wrong.

Examples:
  wprof run json.wasm 4000 150
  wprof run --exact hello.wasm
  wprof run --exact -o f.wprof json.wasm 20 2   options of wprof before the module
  wprof run --collect events=instructions,fuel json.wasm 20 2
  wprof run --collect edges --collect events=costs.toml json.wasm
  wprof run --budget instructions=50_000_000 json.wasm
  wprof run --until 7_000_000 json.wasm 20 2
  wprof run --timeout 5s json.wasm 20 2
  wprof run --burst 1000:50 json.wasm 200 5   a larger sample
  wprof run --extend calls:2 json.wasm 4000 150   ways through callers and callees
  wprof run --trigger time:1ms json.wasm 4000 150
  wprof run --budget 2% json.wasm 4000 150   bursts as often as that allows
  wprof run --live 1s -o f.wprof json.wasm 4000 150 & wprof top --follow f.wprof
  wprof run --weights f.wprof json.wasm 20 2   counters where f.wprof saw least
  wprof run --dir . --dir data::/data tool.wasm /data/in.txt
  wprof run --env LANG=C --env HOME tool.wasm
  wprof run --invoke fib fib.wat 30     call an exported function
  wprof run --profile off -q tool.wasm  just run
  perf record -g wprof run -q --profile off --perf map json.wasm 4000 150
  perf record -k mono wprof run -q --perf jitdump json.wasm 4000 150
  perf inject --jit -i perf.data -o jit.data && perf annotate -i jit.data"))]
pub struct RunArgs {
    #[command(flatten)]
    pub profile: ProfileArgs,
    #[command(flatten)]
    pub reoptimize: ReoptimizeArgs,
    /// Stop the program when it has had more than so many events of a kind; or, as a share such as `2%`, let bursts
    /// take no more of the time
    #[arg(long, value_name = "KIND=N|SHARE", value_parser = Limit::parse)]
    pub budget: Option<Limit>,
    /// Stop at the N-th instruction, and show where that is, with locals and operands; slow
    #[arg(long, value_name = "N", value_parser = instant, conflicts_with = "budget")]
    pub until: Option<u64>,
    /// Write the profile to a file, for `wprof report`
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// With -o, of samples: write the profile so far again and again while the program runs, about every so long, for
    /// `wprof top --follow` and whoever else reads profiles
    #[arg(long, value_name = "DURATION", value_parser = durations::parse, requires = "output")]
    pub live: Option<Duration>,
    /// Of samples: write what runs in each burst to a file, in order, for `wprof trace bursts`
    #[arg(long, value_name = "FILE")]
    pub bursts: Option<PathBuf>,
    /// Of samples: also count extended paths in bursts, over N back edges or through N calls, one inside the other;
    /// the profile has those that run most
    #[arg(long, value_name = "back-edges:N|calls:N")]
    pub extend: Option<Extension>,
    /// With `--bursts`: also what loads, stores and bulk operations touch in them
    #[arg(long, requires = "bursts")]
    pub addresses: bool,
    /// No summary
    #[arg(short, long, conflicts_with = "verbose")]
    pub quiet: bool,
    /// Say more: what was compiled, to how much code
    #[arg(short, long)]
    pub verbose: bool,
    /// Compile anew: neither use nor keep machine code of other runs
    #[arg(long)]
    pub no_code_cache: bool,
    /// Compile and optimise all functions before the program starts, rather than each when it is called and hot; a bar
    /// says how far that has come
    #[arg(long)]
    pub eager: bool,
    /// Tell Linux perf where the code of which function is: `map` writes /tmp/perf-PID.map, `jitdump` writes
    /// jit-PID.dump here, with code and source lines
    #[arg(long, value_enum, value_name = "FORM")]
    pub perf: Option<Perf>,
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
    /// Stop the program after so long, such as 5s, with a backtrace and exit code 134
    #[arg(long, value_name = "DURATION", value_parser = durations::parse)]
    pub timeout: Option<Duration>,
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
    /// How large the module may be
    #[arg(long, value_name = "SIZE", value_parser = sizes::parse, default_value = "1G")]
    pub max_module_size: u64,
    /// How many functions it may have
    #[arg(long, value_name = "COUNT", default_value_t = 1_000_000)]
    pub max_functions: u32,
    /// How large a function may be, which bounds the time to compile it
    #[arg(long, value_name = "BYTES", default_value_t = 7_654_321)]
    pub max_function_size: u32,
    /// How many basic blocks a function may have, which bounds the memory to compile it
    #[arg(long, value_name = "COUNT", default_value_t = 500_000)]
    pub max_blocks: usize,
    /// How many locals a function may have
    #[arg(long, value_name = "COUNT", default_value_t = 50_000)]
    pub max_locals: u32,
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

    /// Tells the engine what the module may be, and how large things may grow.
    pub fn configure<'a>(&self, config: &'a mut Config) -> &'a mut Config {
        let limits = StoreLimits {
            memory_size: self.max_memory,
            memory64_size: self.max_memory,
            table_elements: self.max_table_elements,
            ..StoreLimits::default()
        };
        // Plain code has polls only for that.
        config.interruptible(self.timeout.is_some());
        config.max_module_size(usize::try_from(self.max_module_size).unwrap_or(usize::MAX));
        config.max_functions(self.max_functions).max_function_size(self.max_function_size);
        config.max_locals(self.max_locals).max_blocks(self.max_blocks).limits(limits)
    }
}

/// The number of an instruction: the first is 1.
fn instant(text: &str) -> Result<u64, String> {
    let number = text.replace('_', "").parse().ok();
    let fits = |number: &u64| (1..=i64::MAX as u64).contains(number);
    number
        .filter(fits)
        .ok_or_else(|| "give a number such as 1_000_000; the first instruction is 1".to_owned())
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
