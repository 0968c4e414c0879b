//! How a program's end is told: exit codes and traps of two of our own programs.

use std::path::Path;
use wprof_peers::{Outcome, Program, Settings, Startup, run};

fn outcome(name: &str, args: &[&str], settings: Settings) -> Outcome {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../programs").join(name);
    let args = args.iter().map(|arg| arg.to_string()).collect();
    let program = Program { file, args, ..Program::default() };
    run(&program, settings, Startup::default()).expect("the program starts").0
}

#[test]
fn exit_code_is_passed_on() {
    let outcome = outcome("exit.wasm", &["42", "20"], Settings::default());
    assert!(matches!(outcome, Outcome::Exited(42)), "{outcome:?}");
}

#[test]
fn trap_names_its_reason_and_functions() {
    let Outcome::Trapped(report) = outcome("crash.wasm", &["divide", "3"], Settings::default()) else {
        panic!("no trap");
    };
    assert!(report.contains("integer divide by zero") && report.contains("descend_left"), "{report}");
}

#[test]
fn fuel_epochs_and_inlining_do_not_change_the_outcome() {
    let settings = Settings { fuel: true, epochs: true, inlining: true };
    let outcome = outcome("crash.wasm", &["ok", "3"], settings);
    assert!(matches!(outcome, Outcome::Exited(0)), "{outcome:?}");
}
