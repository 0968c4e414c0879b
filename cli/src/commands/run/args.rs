//! The options of `wprof run`.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum, ValueHint};
use wprof::{Config, PassSet, PerfFormat, StoreLimits};
use wprof_profiler::{Extension, TableShape};

use super::collect::{COLLECT_HELP, Limit, ProfileArgs, Until};
use super::network::Net;
use super::rate::SampleRate;
use super::reoptimize::ReoptimizeArgs;
use super::stubs::Stubs;
use crate::help;
use crate::ownership::OwnershipArgs;
use crate::{durations, output, sizes};

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

/// The option that turns passes on and off.
#[derive(Clone, Debug, Default, Args)]
pub struct PassesArgs {
    /// Turn compiler passes on and off, to find a faulty one
    ///
    /// -NAME turns one off, `none,NAME` leaves only that one on, NAME@A..B limits it to the functions with index A to B
    /// - 1. `wprof passes` lists them.
    #[arg(long, value_name = "LIST", allow_hyphen_values = true, help_heading = help::DEBUGGING, hide_short_help = true)]
    passes: Option<PassSet>,
}

impl PassesArgs {
    /// Returns the passes that are on.
    pub fn set(&self) -> PassSet {
        self.passes.clone().unwrap_or_default()
    }
}

/// A folder of the host that the program may use.
#[derive(Clone, Debug)]
pub struct Folder {
    /// The folder on the host.
    pub host: PathBuf,
    /// The folder's name in the program.
    pub guest: String,
}

const EXAMPLES: &str = "\
Examples:
  wprof run json.wasm 4000 150                 sample the program; a summary follows its output
  wprof run --exact -o f.wprof json.wasm 20 2  count everything, keep the profile in a file
  wprof run --dir . --env LANG=C tool.wasm in.txt";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, after_long_help = format!("\
The program keeps its own standard input, standard output and exit code. The summary goes to standard \
error when the program has ended.

By default wprof samples: a timer samples the stack, and short bursts count paths and calling \
contexts; both cost almost nothing. Hot functions are recompiled for what the bursts have seen. \
--exact counts everything. --collect counts only what it names, also exactly. After a trap, an exit \
from deep inside the program, or Ctrl-C, wprof keeps the profile so far, and exact counts stay \
exact. The first Ctrl-C stops the program and keeps the profile; the second kills wprof.

{COLLECT_HELP}

--budget instructions=N stops the program at the first function entry or loop iteration after it has \
executed more than N instructions, always at the same place. It prints a backtrace, keeps the \
profile so far, and exits with code 134.

--until N stops the program at instruction N and shows the stack frames, the locals and the operands \
there. The same program with the same input reaches the same state each time.

Exit codes: the program's own; 0 after --until; 134 after a trap, an exhausted budget or a timeout; \
130 after Ctrl-C; 1 if wprof itself failed.

{EXAMPLES}

More examples:
  wprof run --collect events=instructions,fuel json.wasm 20 2
  wprof run --collect edges --collect events=costs.toml json.wasm
  wprof run --invoke fib fib.wat 30               call an exported function
  wprof run --invoke 'greet(\"you\")' hello.wasm    call one of a component
  wprof run --invoke 'c = counter(5)' --invoke 'counter.get($c)' tools.wasm
  wprof run --profile off -q tool.wasm            run without a profile
  wprof run --budget instructions=50_000_000 json.wasm
  wprof run --budget 2% json.wasm 4000 150        let sampling cost at most 2% of the time
  wprof run --burst 1000:50 json.wasm 200 5       take a larger sample
  wprof run --trigger time:1ms json.wasm 4000 150
  wprof run --extend calls:2 json.wasm 4000 150   follow paths through callers and callees
  wprof run --timeout 5s json.wasm 20 2
  wprof run --until 7_000_000 json.wasm 20 2
  wprof run --until back_edges_and_calls=3_000@0x1f3a json.wasm 20 2
  wprof run --weights f.wprof json.wasm 20 2      put counters where f.wprof ran least
  wprof run --dir data::/data tool.wasm /data/in.txt
  wprof run --live 1s -o f.wprof json.wasm 4000 150 & wprof top --follow f.wprof
  perf record -g wprof run -q --profile off --perf map json.wasm 4000 150
  perf record -k mono wprof run -q --perf jitdump json.wasm 4000 150
  perf inject --jit -i perf.data -o jit.data && perf annotate -i jit.data"))]
pub struct RunArgs {
    #[command(flatten)]
    pub program: ProgramArgs,
    #[command(flatten)]
    pub profile: ProfileArgs,
    #[command(flatten)]
    pub ownership: OwnershipArgs,
    /// Sample the program's stack HZ times per second of processor time; `off` takes no samples [default: 1000]
    ///
    /// The samples tell where the time goes, whatever else is counted. After the first 50 the system's clock decides, which
    /// often has only 250 ticks per second: each sample then stands for 4 ms.
    #[arg(long, value_name = "HZ|off", value_parser = SampleRate::parse, help_heading = help::PROFILE, hide_short_help = true)]
    pub rate: Option<SampleRate>,
    /// Sampling only: also count extended paths
    ///
    /// These cross up to N loop back edges, or go through up to N nested calls. The profile keeps the most frequent
    /// ones.
    #[arg(long, value_name = "back-edges:N|calls:N", help_heading = help::SAMPLING, hide_short_help = true)]
    pub extend: Option<Extension>,
    /// Sampling only: set the size of the table that counts paths of functions with too many paths for counters
    ///
    /// The table has SETS sets, a power of two, of WAYS entries. When a set is full, a new path replaces the one that
    /// ran least [default: 16384x4]
    #[arg(long, value_name = "SETSxWAYS", help_heading = help::SAMPLING, hide_short_help = true)]
    pub path_table: Option<TableShape>,
    /// Sampling only: write the events of each burst to a file, in order, for `wprof trace bursts`
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    #[arg(help_heading = help::SAMPLING, hide_short_help = true)]
    pub bursts: Option<PathBuf>,
    /// With --bursts: also write the addresses that loads, stores and bulk operations access
    #[arg(long, requires = "bursts", help_heading = help::SAMPLING, hide_short_help = true)]
    pub addresses: bool,
    /// Write the profile to a file, for `wprof report` and `wprof view`
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = help::OUTPUT)]
    pub output: Option<PathBuf>,
    /// Print no summary, and no hints
    #[arg(short, long, conflicts_with = "verbose", help_heading = help::OUTPUT)]
    pub quiet: bool,
    /// Print more: what was compiled and optimized, and why
    #[arg(short, long, help_heading = help::OUTPUT, hide_short_help = true)]
    pub verbose: bool,
    /// Sampling only: rewrite the -o file about every DURATION while the program runs
    ///
    /// `wprof top --follow FILE` and other readers of profiles can watch it.
    #[arg(long, value_name = "DURATION", value_parser = durations::parse, requires = "output")]
    #[arg(help_heading = help::OUTPUT, hide_short_help = true)]
    pub live: Option<Duration>,
    /// Stop the program after N events of a kind; or limit the cost of sampling to a share, such as `2%`
    #[arg(long, value_name = "KIND=N|SHARE", value_parser = Limit::parse)]
    #[arg(help_heading = help::LIMITS, hide_short_help = true)]
    pub budget: Option<Limit>,
    #[command(flatten)]
    pub reoptimize: ReoptimizeArgs,
    #[command(flatten)]
    pub passes: PassesArgs,
    /// Run plain Cranelift code only: slower, with the smallest trusted base
    ///
    /// Each function is compiled when it is first called, without wprof's own passes, tiers and guesses. No code is
    /// stored for other runs.
    #[arg(long, conflicts_with_all = ["passes", "profile_use", "prefetch", "without", "eager"], help_heading = help::SPEED, hide_short_help = true)]
    pub conservative: bool,
    /// Compile and optimize all functions before the program starts
    ///
    /// Otherwise each function is compiled when it is first called and optimized when it is hot. On a terminal a bar
    /// shows the progress.
    #[arg(long, help_heading = help::SPEED, hide_short_help = true)]
    pub eager: bool,
    /// Store no machine code, and use none that an earlier run stored
    #[arg(long, help_heading = help::SPEED, hide_short_help = true)]
    pub no_code_cache: bool,
    /// Stop at instruction N (slow), or at a place after N events, and show the stack frames, locals and operands
    ///
    /// A place is KIND=N@BYTE: the program stops when it reaches the instruction at BYTE of the module after N or more
    /// events of the kind. With back_edges_and_calls this names one instant of the run. Events are then counted on
    /// chords, and the count is checked only at that place.
    #[arg(long, value_name = "INSTANT", value_parser = Until::parse, conflicts_with = "budget")]
    #[arg(help_heading = help::DEBUGGING, hide_short_help = true)]
    pub until: Option<Until>,
    /// If the program traps, write its stack, memories and globals to a file that debuggers for WebAssembly read
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    #[arg(help_heading = help::DEBUGGING, hide_short_help = true)]
    pub coredump: Option<PathBuf>,
    /// Tell Linux perf which function each piece of machine code belongs to
    ///
    /// `map` writes /tmp/perf-PID.map. `jitdump` writes jit-PID.dump into the current folder, with code and source
    /// lines.
    #[arg(long, value_enum, value_name = "FORMAT", help_heading = help::DEBUGGING, hide_short_help = true)]
    pub perf: Option<Perf>,
}

/// A program and its permissions.
#[derive(Debug, Args)]
pub struct ProgramArgs {
    /// Give the program access to a folder, under the same or another name; may be repeated
    #[arg(long = "dir", value_name = "HOST[::GUEST]", value_parser = folder)]
    #[arg(value_hint = ValueHint::DirPath, help_heading = help::PROGRAM)]
    pub dirs: Vec<Folder>,
    /// Set an environment variable for the program, or pass on wprof's own; may be repeated
    #[arg(long = "env", value_name = "NAME[=VALUE]", value_parser = variable, help_heading = help::PROGRAM)]
    pub env: Vec<(String, String)>,
    /// Let a component use the network: all, dns, tcp, udp or http; may be repeated
    ///
    /// With an address, such as `tcp:127.0.0.1:80`, `udp:10.0.0.1` or `tcp::80`, sockets may bind, connect and send
    /// only there. With `http:HOST` or `http:HOST:PORT`, requests may go only to that host.
    #[arg(long = "net", value_name = "WHAT", value_parser = Net::parse)]
    #[arg(help_heading = help::PROGRAM, hide_short_help = true)]
    pub net: Vec<Net>,
    /// Call this exported function instead of `_start`, and print its results
    ///
    /// Arguments follow the module, or stand in parentheses behind the name: 'f(1, 2)'. If a module exports an
    /// allocator (malloc, __wbindgen_malloc, cabi_realloc, alloc or allocate), an argument may also be a text, as in
    /// 'f("text")', or a file, as in 'f(@FILE)'. The function gets each as an address and a length; if it has one
    /// parameter for each argument, it gets the address of a text that ends with a zero byte. A component's functions
    /// take strings, lists and more: 'f("text", [1, 2])'. A function of an exported instance is
    /// 'pkg:name/instance#f(1)', or 'f(1)' if only one has that name.
    ///
    /// For a component, repeat the option to call several functions in order. 'c = counter(5)' stores the result as `c`
    /// instead of printing it; later calls use it as an argument: 'counter.get($c)'.
    #[arg(long, value_name = "FUNC", help_heading = help::PROGRAM)]
    pub invoke: Vec<String>,
    /// Define missing imports as stubs
    ///
    /// A stub traps and names the import, or returns zeros. Missing globals are zero, missing memories and tables are
    /// empty. For components, zeros are empty strings and lists, `none`, success, and first cases.
    #[arg(long, value_enum, value_name = "HOW", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "trap", help_heading = help::PROGRAM, hide_short_help = true)]
    pub stub_imports: Option<Stubs>,
    /// Stop the program after this time, such as 5s, with a backtrace and exit code 134
    #[arg(long, value_name = "DURATION", value_parser = durations::parse, help_heading = help::LIMITS)]
    pub timeout: Option<Duration>,
    /// Whether calls of the program may have deadlines of their own.
    #[arg(skip)]
    pub limits_calls: bool,
    /// Limit the size of each memory
    #[arg(long, value_name = "SIZE", value_parser = sizes::parse, default_value = "4G")]
    #[arg(help_heading = help::LIMITS, hide_short_help = true)]
    pub max_memory: u64,
    /// Limit the size of each table
    #[arg(long, value_name = "ELEMENTS", default_value_t = 10_000_000)]
    #[arg(help_heading = help::LIMITS, hide_short_help = true)]
    pub max_table_elements: u64,
    /// Set the size of the program's stack
    #[arg(long, value_name = "SIZE", value_parser = stack_size, default_value = "64M")]
    #[arg(help_heading = help::LIMITS, hide_short_help = true)]
    pub max_stack: u64,
    /// Refuse modules larger than this
    #[arg(long, value_name = "SIZE", value_parser = sizes::parse, default_value = "1G")]
    #[arg(help_heading = help::LIMITS, hide_short_help = true)]
    pub max_module_size: u64,
    /// Refuse modules with more functions than this
    #[arg(long, value_name = "COUNT", default_value_t = 1_000_000)]
    #[arg(help_heading = help::LIMITS, hide_short_help = true)]
    pub max_functions: u32,
    /// Refuse functions larger than this; their size bounds the time to compile them
    #[arg(long, value_name = "BYTES", default_value_t = 7_654_321)]
    #[arg(help_heading = help::LIMITS, hide_short_help = true)]
    pub max_function_size: u32,
    /// Refuse functions with more basic blocks than this; their number bounds the memory to compile them
    #[arg(long, value_name = "COUNT", default_value_t = 500_000)]
    #[arg(help_heading = help::LIMITS, hide_short_help = true)]
    pub max_blocks: usize,
    /// Refuse functions with more locals than this
    #[arg(long, value_name = "COUNT", default_value_t = 50_000)]
    #[arg(help_heading = help::LIMITS, hide_short_help = true)]
    pub max_locals: u32,
    /// Limit the threads that a program has at a time besides its first; starting one more fails
    #[arg(long, value_name = "COUNT", default_value_t = 1000)]
    #[arg(help_heading = help::LIMITS, hide_short_help = true)]
    pub max_threads: usize,
    /// Limit the memory for values that components and their hosts pass to each other
    #[arg(long, value_name = "SIZE", value_parser = sizes::parse, default_value = "256M")]
    #[arg(help_heading = help::LIMITS, hide_short_help = true)]
    pub max_values: u64,
    /// Limit the resources that each instance of a component holds at a time
    #[arg(long, value_name = "COUNT", default_value_t = 1 << 20)]
    #[arg(help_heading = help::LIMITS, hide_short_help = true)]
    pub max_handles: usize,
    /// Limit the files that the program has open at a time
    #[arg(long, value_name = "COUNT", default_value_t = 10_000)]
    #[arg(help_heading = help::LIMITS, hide_short_help = true)]
    pub max_open_files: usize,
    /// Limit the memory for the bodies of HTTP messages
    #[arg(long, value_name = "SIZE", value_parser = sizes::parse, default_value = "256M")]
    #[arg(help_heading = help::LIMITS, hide_short_help = true)]
    pub max_http_bodies: u64,
    /// Limit the HTTP requests that the program sends at a time, and the look-ups of names
    #[arg(long, value_name = "COUNT", default_value_t = 16)]
    #[arg(help_heading = help::LIMITS, hide_short_help = true)]
    pub max_requests: usize,
    /// Ignore files with debug information larger than this
    #[arg(long, value_name = "SIZE", value_parser = sizes::parse, default_value = "4G")]
    #[arg(help_heading = help::LIMITS, hide_short_help = true)]
    pub max_debug_file: u64,
    /// The module or component (.wasm or .wat), then the program's arguments
    #[arg(value_name = "MODULE [ARG]", required = true, trailing_var_arg = true, num_args = 1..)]
    #[arg(value_hint = ValueHint::FilePath)]
    command: Vec<String>,
}

impl ProgramArgs {
    /// The module's path.
    pub fn module(&self) -> &Path {
        Path::new(&self.command[0])
    }

    /// The arguments after the module.
    pub fn rest(&self) -> &[String] {
        self.command.get(1..).unwrap_or_default()
    }

    /// Tells of an option of a command that stands behind the module, and so is the program's.
    pub fn tell_misplaced<A: Args>(&self) {
        if let Some(option) = self.misplaced(&A::augment_args(clap::Command::new("wprof"))) {
            output::tell_line(format_args!(
                "wprof: {option} stands after the module, so it goes to the program: put wprof's options before the module"
            ));
        }
    }

    fn misplaced(&self, command: &clap::Command) -> Option<&str> {
        let is_ours = |asked: &&String| match asked.strip_prefix("--") {
            Some(name) => {
                let name = name.split_once('=').map_or(name, |(name, _)| name);
                command.get_arguments().any(|arg| arg.get_long() == Some(name))
            }
            None => {
                let mut letters = asked.strip_prefix('-').unwrap_or_default().chars();
                let letter = letters.next().filter(|_| letters.next().is_none());
                letter.is_some() && command.get_arguments().any(|arg| arg.get_short() == letter)
            }
        };
        self.rest().iter().take_while(|arg| *arg != "--").find(is_ours).map(String::as_str)
    }

    /// Returns the instant at which a program stops that begins now.
    pub fn deadline(&self) -> Option<Instant> {
        self.timeout.map(|timeout| Instant::now() + timeout)
    }

    /// Returns the command line that the program sees: its file name, then the arguments.
    pub fn program_args(&self) -> Vec<String> {
        let name = self.module().file_name().unwrap_or_default().to_string_lossy().into_owned();
        [name].into_iter().chain(self.rest().iter().cloned()).collect()
    }

    /// Sets the engine's limits on modules and resources.
    pub fn configure<'a>(&self, config: &'a mut Config) -> &'a mut Config {
        let limits = StoreLimits {
            memory_size: self.max_memory,
            memory64_size: self.max_memory,
            table_elements: self.max_table_elements,
            heap_bytes: self.max_memory.min(StoreLimits::default().heap_bytes),
            component_values: usize::try_from(self.max_values).unwrap_or(usize::MAX),
            component_handles: self.max_handles,
            ..StoreLimits::default()
        };
        // Plain code has polls only for that.
        config.interruptible(self.timeout.is_some() || self.limits_calls);
        config.max_module_size(usize::try_from(self.max_module_size).unwrap_or(usize::MAX));
        config.max_functions(self.max_functions).max_function_size(self.max_function_size);
        config.max_locals(self.max_locals).max_debug_file(self.max_debug_file);
        config.max_blocks(self.max_blocks).limits(limits)
    }
}

fn folder(text: &str) -> Result<Folder, String> {
    let (host, guest) = text.split_once("::").unwrap_or((text, text));
    match (host, guest) {
        ("", _) | (_, "") => Err("give a folder, such as . or data::/data".to_owned()),
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
