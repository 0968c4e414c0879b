//! Programs do the same, and exact profiles are the same, whichever two settings are combined.

use std::collections::BTreeSet;

use wprof::{Collect, Config, Engine, ProfilingConfig};
use wprof_spec_tests::engines::ours::{self, Ran};
use wprof_spec_tests::engines::reference;
use wprof_spec_tests::generate::{Case, case, hot_case, managed_case};
use wprof_spec_tests::outcome::Outcome;
use wprof_spec_tests::pairs::pairs_of;
use wprof_spec_tests::settings::{SETTINGS, config, describe, refusals, rows};

/// Fuel for each call: more than any of the programs needs.
const FUEL: u64 = 1 << 40;

/// The number of programs of each kind.
const PROGRAMS: u64 = 6;

/// Enough stack for any recursion of the programs.
const STACK: usize = 512 << 20;

/// Calls and instructions by function.
type Counts = Vec<(u32, u64, u64)>;

/// A program, what it does, and its exact profile.
struct Program {
    case: Case,
    expected: Outcome,
    counts: Counts,
}

impl Program {
    /// A program that the reference interpreter runs.
    fn referenced(case: Case) -> Program {
        let ran = reference::run(&reference::engine(), &case.wasm, &case.drive).expect("valid");
        Program { expected: ran.outcome, counts: exact(&case), case }
    }

    /// A program with features that the interpreter does not support; plain Cranelift runs it.
    fn plain(case: Case) -> Program {
        let engine = Engine::new(&Config::conservative()).expect("an engine for this machine");
        let ran = ours::run(&engine, &case.wasm, &case.drive).expect("valid");
        Program { expected: ran.outcome, counts: exact(&case), case }
    }

    /// Runs the program with the choices of a row.
    fn check(&self, row: &[usize]) -> Result<(), String> {
        let engine = Engine::new(&config(row)).map_err(|e| e.to_string())?;
        let ran = ours::run_fueled(&engine, &self.case.wasm, &self.case.drive, FUEL)?;
        if ran.outcome.overflowed() || self.expected.overflowed() {
            return Ok(());
        }
        self.expected.same_as(&ran.outcome)?;
        if !engine.config().profiles() {
            return Ok(());
        }
        let counts = counts(&ran).map_err(|e| e.to_string())?;
        if is_exact(row) && counts != self.counts {
            return Err(format!("counts {:?} or {counts:?}", self.counts));
        }
        Ok(())
    }
}

/// Returns the counts of the simplest exact profile.
fn exact(case: &Case) -> Counts {
    let mut config = Config::new();
    config.profiling(ProfilingConfig::Exact(Collect::AllEdges));
    let engine = Engine::new(&config).expect("an engine for this machine");
    counts(&ours::run(&engine, &case.wasm, &case.drive).expect("valid")).expect("profiled")
}

fn counts(ran: &Ran) -> wprof::Result<Counts> {
    let Some(profile) = ran.profile().transpose()? else { return Ok(Counts::new()) };
    Ok(profile.functions.iter().map(|f| (f.index, f.calls(), f.ops())).collect())
}

/// Reports whether the engine of a row counts all edges or paths.
fn is_exact(row: &[usize]) -> bool {
    let profile = SETTINGS.iter().position(|setting| setting.name == "profile").expect("it is a setting");
    ["edges", "all edges", "paths", "blocks"].contains(&SETTINGS[profile].choices[row[profile]].0)
}

#[test]
fn each_two_settings_leave_programs_and_counts_as_they_are() {
    let covering = rows();
    let covered: BTreeSet<_> = covering.rows.iter().flat_map(|row| pairs_of(row)).collect();
    println!("{} engines with {} pairs of settings", covering.rows.len(), covered.len());
    let refused = refusals(&covering);
    for (pair, why) in &refused {
        println!("not combined: {pair}: {why}");
        assert!(why.len() > 20, "{pair}: {why}");
    }
    assert!(refused.len() * 20 < covered.len(), "{} pairs are refused", refused.len());
    let check_all = || {
        let programs: Vec<Program> = (0..PROGRAMS)
            .flat_map(|seed| {
                let hot = Program::referenced(hot_case(seed));
                [hot, Program::referenced(case(seed)), Program::plain(managed_case(seed))]
            })
            .collect();
        for (number, row) in covering.rows.iter().enumerate() {
            for program in programs.iter().skip(number % 3).step_by(3) {
                let result = program.check(row);
                assert!(
                    result.is_ok(),
                    "seed {} ({:?}) with {}: {}",
                    program.case.seed,
                    program.case.maker,
                    describe(row),
                    result.unwrap_err()
                );
            }
        }
    };
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, check_all);
        thread.expect("a thread").join().expect("each engine does the same");
    });
}
