//! Programs do under our engine what they do under Wasmtime, with and without a profile.
//!
//! Real programs are skipped where `bench-wasm/download.sh` has not been run.

use std::process::ExitCode;

use libtest_mimic::{Arguments, Failed, Trial};
use wprof_spec_tests::mode::Mode;
use wprof_spec_tests::programs::{Program, own, real};

/// As much as programs have on the main thread.
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
        [Mode::Off, Mode::Exact].map(|mode| {
            let name = format!("{kind}/{} {}", program.name, mode.name());
            let is_there = program.file.exists();
            let program = program.clone();
            Trial::test(name, move || on_large_stack(program, mode)).with_ignored_flag(!is_there)
        })
    });
    libtest_mimic::run(&args, trials.collect()).exit_code()
}

fn on_large_stack(program: Program, mode: Mode) -> Result<(), Failed> {
    let thread = std::thread::Builder::new().stack_size(STACK);
    let running = thread.spawn(move || check(&program, mode))?;
    let result = running.join().map_err(|_| Failed::from("panicked"))?;
    result.map_err(Failed::from)
}

fn check(program: &Program, mode: Mode) -> Result<(), String> {
    let wasm = std::fs::read(&program.file).map_err(|e| e.to_string())?;
    let out = tempfile::tempdir().map_err(|e| e.to_string())?;
    let ended = program.run(&mode.engine(), &wasm, out.path()).map_err(|e| e.to_string())?;
    program.verify(&ended, out.path())?;
    if mode == Mode::Exact {
        let profile = ended.instance.profile(&ended.store).map_err(|e| e.to_string())?;
        profile.verify().map_err(|e| e.to_string())?;
        if profile.ops() == 0 {
            return Err("the profile is empty".into());
        }
    }
    Ok(())
}
