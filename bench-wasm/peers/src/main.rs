//! `peer`: runs a WASI program in Wasmtime, for comparison with `wprof run`.

use clap::{Args, Parser};
use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;
use wasmtime::Result;
use wasmtime::error::Context;
use wprof_peers::{Fuel, Outcome, Program, Settings, Startup, Times, fuel, run, run_in_wasmi};

#[derive(Parser)]
#[command(about = "Runs a WASI program in Wasmtime, for comparison with wprof")]
enum Command {
    /// Run a program; its output and exit code are passed on, 134 stands for a trap.
    Run(Run),
    /// Run a program and print the fuel that it consumed, at the default costs, to standard error.
    Fuel(World),
    /// Compile a program for `run --precompiled`.
    Compile {
        #[command(flatten)]
        settings: Settings,
        /// The module.
        input: PathBuf,
        /// The file of machine code to write.
        output: PathBuf,
    },
}

#[derive(Args)]
struct Run {
    #[command(flatten)]
    settings: Settings,
    #[command(flatten)]
    startup: Startup,
    /// Run it in the interpreter wasmi instead, as that is by default.
    #[arg(long, conflicts_with_all = ["Settings", "Startup"])]
    wasmi: bool,
    /// Print the time of each phase to standard error.
    #[arg(long)]
    times: bool,
    #[command(flatten)]
    world: World,
}

/// The program, and what it sees.
#[derive(Args)]
struct World {
    /// A folder that the program may use, and the name that it sees: HOST[::GUEST].
    #[arg(long = "dir", value_name = "HOST[::GUEST]", value_parser = parse_dir)]
    dirs: Vec<(PathBuf, String)>,
    /// A variable of the program's environment.
    #[arg(long = "env", value_name = "KEY=VALUE", value_parser = parse_variable)]
    env: Vec<(String, String)>,
    /// The module and its arguments; all that follows the module is the program's own.
    #[arg(value_name = "FILE [ARGS]", trailing_var_arg = true, allow_hyphen_values = true, required = true)]
    command: Vec<String>,
}

fn parse_dir(text: &str) -> Result<(PathBuf, String), String> {
    let (host, guest) = text.split_once("::").unwrap_or((text, text));
    Ok((host.into(), guest.into()))
}

fn parse_variable(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("write KEY=VALUE")?;
    Ok((key.into(), value.into()))
}

fn main() -> Result<ExitCode> {
    match Command::parse() {
        Command::Run(options) => run_program(options),
        Command::Fuel(world) => print_fuel(world),
        Command::Compile { settings, input, output } => {
            let bytes = fs::read(&input).with_context(|| format!("cannot read {}", input.display()))?;
            fs::write(&output, settings.engine(Startup::default())?.precompile_module(&bytes)?)
                .with_context(|| format!("cannot write {}", output.display()))?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

impl World {
    fn program(mut self) -> Program {
        let file = self.command.remove(0).into();
        Program { file, args: self.command, dirs: self.dirs, env: self.env }
    }
}

fn run_program(options: Run) -> Result<ExitCode> {
    let Run { settings, startup, wasmi, times, world } = options;
    let (outcome, phases) = match wasmi {
        true => run_in_wasmi(&world.program())?,
        false => run(&world.program(), settings, startup)?,
    };
    if times {
        print_times(phases);
    }
    Ok(exit_code(outcome))
}

fn print_fuel(world: World) -> Result<ExitCode> {
    let (outcome, Fuel { instantiate, run }) = fuel(&world.program())?;
    eprintln!("fuel: instantiate {instantiate}, run {run}");
    Ok(exit_code(outcome))
}

fn exit_code(outcome: Outcome) -> ExitCode {
    match outcome {
        Outcome::Exited(code) => ExitCode::from(code as u8),
        Outcome::Trapped(report) => {
            eprintln!("{report}");
            ExitCode::from(134)
        }
    }
}

/// In the form that `compare` reads.
fn print_times(times: Times) {
    let Times { load, instantiate, run, thread } = times;
    let [load, instantiate, run, thread] =
        [load, instantiate, run, thread].map(|time| time.as_secs_f64() * 1e3);
    let peak = peak_memory().unwrap_or(0.0);
    eprintln!(
        "load {load:.3} ms, instantiate {instantiate:.3} ms, run {run:.3} ms, thread {thread:.3} ms, peak {peak:.1} MiB"
    );
}

/// Peak resident memory of this process, in MiB.
fn peak_memory() -> Option<f64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|l| l.starts_with("VmHWM:"))?;
    Some(line.split_whitespace().nth(1)?.parse::<f64>().ok()? / 1024.0)
}
