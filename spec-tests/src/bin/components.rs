//! Runs component scripts from a checkout of the component model's repository.
//!
//! `components FOLDER [NAME…]` runs all scripts below the folder, or those whose path contains one of the names. For
//! each script it prints how many directives pass and lists the failing directives with the reason. Directives that
//! use unsupported features are reported apart from failures. The exit code is 1 if any directive failed.

use std::env;
use std::path::Path;
use std::process::ExitCode;

use wprof_spec_tests::components::{Tally, run, scripts};

fn main() -> ExitCode {
    let mut args = env::args().skip(1);
    let Some(folder) = args.next() else {
        eprintln!("give the folder `test` of a checkout of github.com/WebAssembly/component-model");
        return ExitCode::FAILURE;
    };
    let names: Vec<String> = args.collect();
    let mut total = Tally::default();
    for path in scripts(Path::new(&folder)) {
        let shown = path.strip_prefix(&folder).unwrap_or(&path).display().to_string();
        if names.is_empty() || names.iter().any(|name| shown.contains(name.as_str())) {
            let tally = run(&path);
            print(&shown, &tally);
            tally.failed.iter().for_each(|(line, why)| println!("  line {line}: {why}"));
            total.add(&tally);
        }
    }
    print("all", &total);
    if total.failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn print(name: &str, tally: &Tally) {
    let refused: u32 = tally.refused.values().sum();
    println!("{name}: {} passed, {} failed, {refused} not supported", tally.passed, tally.failed.len());
    tally.refused.iter().for_each(|(feature, count)| println!("  {count} need {feature}"));
}
