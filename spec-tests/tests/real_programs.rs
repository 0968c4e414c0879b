//! Programs behave in our engine as in Wasmtime, with and without a profile, and the profile equals the counts of the
//! self-counting programs.
//!
//! Real programs are skipped where `bench-wasm/download.sh` has not been run.

use std::process::ExitCode;

use libtest_mimic::{Arguments, Failed, Trial};
use wprof::Engine;
use wprof_spec_tests::engines::ours::{counters, same_instructions};
use wprof_spec_tests::mode::{Mode, bursts};
use wprof_spec_tests::oracle::{Detail, Oracle, compare};
use wprof_spec_tests::programs::{Ended, Program, own, real};

/// Size limit in bytes: a larger module has more blocks than it may have globals. `oracle.rs` tests our own programs.
const LARGEST_COUNTED: u64 = 5 << 20;

/// The stack size of a main thread.
const STACK: usize = 8 << 20;

fn main() -> ExitCode {
    let args = Arguments::from_args();
    let missing = real().iter().filter(|program| !program.file.exists()).count();
    if missing > 0 {
        eprintln!("{missing} real programs are skipped: run bench-wasm/download.sh to have them");
    }
    let own = own().into_iter().map(|program| ("own", program));
    let real = real().into_iter().map(|program| ("real", program));
    let trials = own.chain(real).flat_map(|(kind, program)| {
        let checks: [(&str, Check); 5] = [
            ("off", off),
            ("exact", exact),
            ("fuel", fuel),
            ("reoptimized", reoptimized),
            ("counted", counted),
        ];
        checks.map(|(name, check)| {
            let name = format!("{kind}/{} {name}", program.name);
            let skip = std::fs::metadata(&program.file).map_or(true, |file| {
                name.ends_with("counted") && (kind == "own" || file.len() > LARGEST_COUNTED)
            });
            let program = program.clone();
            Trial::test(name, move || on_large_stack(program, check)).with_ignored_flag(skip)
        })
    });
    libtest_mimic::run(&args, trials.collect()).exit_code()
}

type Check = fn(&Program, &[u8]) -> Result<(), String>;

fn on_large_stack(program: Program, check: Check) -> Result<(), Failed> {
    let wasm = std::fs::read(&program.file)?;
    let thread = std::thread::Builder::new().stack_size(STACK);
    let running = thread.spawn(move || check(&program, &wasm))?;
    let result = running.join().map_err(|_| Failed::from("panicked"))?;
    result.map_err(Failed::from)
}

fn off(program: &Program, wasm: &[u8]) -> Result<(), String> {
    run(program, wasm, Mode::Off).map(drop)
}

fn exact(program: &Program, wasm: &[u8]) -> Result<(), String> {
    let ended = run(program, wasm, Mode::Exact)?;
    let profile = ended.instance.profile(&ended.store).map_err(|e| e.to_string())?;
    profile.verify().map_err(|e| e.to_string())?;
    same_instructions(&ended.store, &profile).map_err(|e| e.to_string())?;
    if profile.ops() == 0 { Err("the profile is empty".into()) } else { Ok(()) }
}

/// Reoptimizes hot functions by bursts that are more frequent than usual, because test arguments are small.
fn reoptimized(program: &Program, wasm: &[u8]) -> Result<(), String> {
    let mut config = Mode::Tiered.config();
    config.profiling(bursts(500, 50, "default")).background_compilation(true);
    let engine = Engine::new(&config).map_err(|e| e.to_string())?;
    run_in(program, wasm, &engine).map(drop)
}

/// Checks that the program consumes as much fuel as in Wasmtime, where that is recorded.
fn fuel(program: &Program, wasm: &[u8]) -> Result<(), String> {
    let ended = run(program, wasm, Mode::Metered)?;
    let ours = ended.store.event_count("fuel").map_err(|e| e.to_string())?;
    match program.fuel() {
        Some(theirs) if ours != theirs => Err(format!("{ours} of fuel, and {theirs} under Wasmtime")),
        None if program.is_own() && !program.traps() => Err("its fuel is not recorded: see fuel.sh".into()),
        _ => Ok(()),
    }
}

/// Compares the counts of a self-counting program with its profile in the same run.
fn counted(program: &Program, wasm: &[u8]) -> Result<(), String> {
    let oracle = Oracle::new(wasm, Detail::Blocks)?.of_itself()?;
    let mut ended = run(program, &oracle.wasm, Mode::Exact)?;
    let profile = ended.instance.profile(&ended.store).map_err(|e| e.to_string())?;
    let compared = compare(&oracle, &counters(&mut ended.store, ended.instance), &profile)?;
    println!("{}: {compared:?}", program.name);
    Ok(())
}

/// Runs a program that must end as recorded.
fn run(program: &Program, wasm: &[u8], mode: Mode) -> Result<Ended, String> {
    run_in(program, wasm, &mode.engine())
}

fn run_in(program: &Program, wasm: &[u8], engine: &Engine) -> Result<Ended, String> {
    let out = tempfile::tempdir().map_err(|e| e.to_string())?;
    let ended = program.run(engine, wasm, out.path()).map_err(|e| e.to_string())?;
    program.verify(&ended, out.path())?;
    Ok(ended)
}
