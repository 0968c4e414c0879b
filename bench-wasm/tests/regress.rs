//! Regressions of tiered recompilation are noticed, by figures that are counted and so are the same in each run.
//!
//! Three are injected by options, as a change of the compiler might: no superblocks, no inlining, baseline code that is
//! never optimised. `UPDATE_EXPECT=1` makes what is found the committed baseline.

use std::path::Path;
use std::sync::Mutex;

use wprof_bench::baseline::{Baseline, processor};
use wprof_bench::instructions::has_valgrind;
use wprof_bench::regress::{
    Change, Counting, FILE, INSTRUCTIONS, Limits, Samples, Side, Verdict, WORK, Work, commit, compare,
    counted, stored, table,
};

/// Options that make the compiler worse, and a program with a figure that tells.
const INJECTED: [(&str, &str, &str); 3] = [
    ("--without superblocks", "branchy", "superblocks"),
    ("--without inlining", "calls", "inlined calls"),
    ("--promote-after 4294967295", "fib", "versions, optimised"),
];

/// Tests run at once, and each writes the whole baseline.
static COMMITS: Mutex<()> = Mutex::new(());

fn side(options: &str) -> Side {
    Side::new(Path::new(env!("CARGO_BIN_EXE_wprof-run")), options).expect("the runner is built")
}

fn work(programs: &[&str]) -> Vec<Work> {
    WORK.into_iter().filter(|work| programs.contains(&work.program)).collect()
}

fn figures(options: &str, programs: &[&str], counting: Counting) -> Samples {
    counted(&side(options), &work(programs), counting).expect("programs run")
}

fn regressions(before: &Samples, after: &Samples) -> Vec<Change> {
    let mut changes = compare(before, after, Limits::default());
    changes.retain(Change::is_regression);
    changes
}

/// Fails if what is counted is worse than what the baseline has, unless that is for other processors.
fn hold(found: &Samples) {
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        let _alone = COMMITS.lock().expect("no test failed in it");
        return commit(found).expect("the baseline is written");
    }
    let known = Baseline::committed(FILE).expect("a baseline").processor;
    if known != processor() {
        return eprintln!("skipped: the baseline is for processors with {known}");
    }
    let worse = regressions(&stored(found).expect("a baseline"), found);
    let shown = table(&worse, false).markdown();
    assert!(worse.is_empty(), "worse than {FILE} (if that is meant, UPDATE_EXPECT=1 renews it):\n{shown}");
}

#[test]
fn code_and_decisions_are_those_of_the_baseline() {
    let programs = WORK.map(|work| work.program);
    let found = figures("", &programs, Counting::Versions);
    let measured = |program| found.keys().any(|(of, _)| of == program);
    assert!(programs.iter().all(measured), "{found:?}");
    hold(&found);
}

#[test]
fn injected_regressions_are_found_by_what_was_decided() {
    for (options, program, figure) in INJECTED {
        let before = figures("", &[program], Counting::Versions);
        assert_eq!(before, figures("", &[program], Counting::Versions), "{program} is not deterministic");
        let worse = regressions(&before, &figures(options, &[program], Counting::Versions));
        assert!(worse.iter().any(|change| change.figure == figure), "{options}: {worse:?}");
    }
}

#[test]
fn adaptive_code_executes_what_the_baseline_says_and_more_with_regressions() {
    if !has_valgrind() {
        return eprintln!("skipped: needs valgrind");
    }
    for (options, program, _) in INJECTED {
        let before = figures("", &[program], Counting::Instructions);
        hold(&before);
        let after = figures(options, &[program], Counting::Instructions);
        let changes = compare(&before, &after, Limits::default());
        let executed = changes.iter().find(|change| change.figure == INSTRUCTIONS).expect("it is counted");
        eprintln!("{program} {options}: {:?}", executed.interval);
        assert_eq!(executed.verdict, Verdict::Worse, "{program} {options}: {executed:?}");
    }
}
