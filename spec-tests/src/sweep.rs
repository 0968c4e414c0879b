//! Checks many cases on all processors.

use std::ops::Range;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::check::{Engines, Summary};
use crate::generate::{
    Case, atomics_case, case, deep_case, hot_atomics_case, hot_case, managed_case, mixed_case, throwing_case,
    wasm3_case,
};
use crate::shrink::shrink;

/// A property of every case of some kind.
#[derive(Clone, Copy, Debug)]
pub struct Check {
    /// Makes a case from a seed.
    pub case: fn(u64) -> Case,
    /// Checks the property.
    pub check: fn(&Engines, &Case) -> Result<Summary, String>,
    /// Stack size of the checking thread, in bytes.
    pub stack: usize,
    /// Describes the fewest settings with which a case still fails, if the check has settings.
    pub settings: Option<fn(&Engines, &Case) -> Option<String>>,
}

/// Enough stack for any recursion that fuel allows.
const LARGE_STACK: usize = 512 << 20;

/// Enough stack for the host, and soon exhausted by recursion.
const SMALL_STACK: usize = 4 << 20;

/// See [`Engines::differential`].
pub const DIFFERENTIAL: Check =
    Check { case, check: Engines::differential, stack: LARGE_STACK, settings: None };

/// See [`Engines::sampled`].
pub const SAMPLED: Check = Check {
    case: mixed_case,
    check: Engines::sampled,
    stack: LARGE_STACK,
    settings: Some(Engines::fewest_settings),
};

/// See [`Engines::hot`].
pub const HOT: Check = Check { case: hot_case, check: Engines::hot, stack: LARGE_STACK, settings: None };

/// See [`Engines::wasm3`].
pub const WASM3: Check =
    Check { case: wasm3_case, check: Engines::wasm3, stack: LARGE_STACK, settings: None };

/// See [`Engines::wasm3`]; with atomic instructions.
pub const ATOMICS: Check =
    Check { case: atomics_case, check: Engines::wasm3, stack: LARGE_STACK, settings: None };

/// See [`Engines::hot_objects`].
pub const HOT_OBJECTS: Check =
    Check { case: managed_case, check: Engines::hot_objects, stack: LARGE_STACK, settings: None };

/// See [`Engines::hot_objects`]; with atomic instructions instead of objects.
pub const HOT_ATOMICS: Check = Check { case: hot_atomics_case, ..HOT_OBJECTS };

/// See [`Engines::superblocks`].
pub const SUPERBLOCKS: Check =
    Check { case, check: Engines::superblocks, stack: LARGE_STACK, settings: None };

/// See [`Engines::oracle`].
pub const ORACLE: Check = Check { case, check: Engines::oracle, stack: LARGE_STACK, settings: None };

/// See [`Engines::overflow`].
pub const OVERFLOW: Check =
    Check { case: deep_case, check: Engines::overflow, stack: SMALL_STACK, settings: None };

/// See [`Engines::contexts`].
pub const CONTEXTS: Check = Check { case, check: Engines::contexts, stack: LARGE_STACK, settings: None };

/// [`CONTEXTS`] for modules that overflow the stack.
pub const DEEP_CONTEXTS: Check =
    Check { case: deep_case, check: Engines::contexts, stack: SMALL_STACK, settings: None };

/// See [`Engines::events`].
pub const EVENTS: Check = Check { case, check: Engines::events, stack: LARGE_STACK, settings: None };

/// See [`Engines::references`].
pub const REFERENCES: Check = Check { case, check: Engines::references, stack: LARGE_STACK, settings: None };

/// See [`Engines::paths`].
pub const PATHS: Check = Check { case, check: Engines::paths, stack: LARGE_STACK, settings: None };

/// [`PATHS`] for modules that overflow the stack.
pub const DEEP_PATHS: Check =
    Check { case: deep_case, check: Engines::paths, stack: SMALL_STACK, settings: None };

/// See [`Engines::flow`].
pub const FLOW: Check = Check { case, check: Engines::flow, stack: LARGE_STACK, settings: None };

/// See [`Engines::preferential`].
pub const PREFERENTIAL: Check =
    Check { case, check: Engines::preferential, stack: LARGE_STACK, settings: None };

/// [`PREFERENTIAL`] for modules that overflow the stack.
pub const DEEP_PREFERENTIAL: Check =
    Check { case: deep_case, check: Engines::preferential, stack: SMALL_STACK, settings: None };

/// See [`Engines::simple_counts`].
pub const THROWING_COUNTS: Check =
    Check { case: throwing_case, check: Engines::simple_counts, stack: LARGE_STACK, settings: None };

/// [`CONTEXTS`] for modules with exceptions, function references and objects.
pub const THROWING_CONTEXTS: Check = Check { case: throwing_case, ..CONTEXTS };

/// [`EVENTS`] for modules with exceptions, function references and objects.
pub const THROWING_EVENTS: Check = Check { case: throwing_case, ..EVENTS };

/// [`PATHS`] for modules with exceptions, function references and objects.
pub const THROWING_PATHS: Check = Check { case: throwing_case, ..PATHS };

/// [`FLOW`] for modules with exceptions, function references and objects.
pub const THROWING_FLOW: Check = Check { case: throwing_case, ..FLOW };

/// [`PREFERENTIAL`] for modules with exceptions, function references and objects.
pub const THROWING_PREFERENTIAL: Check = Check { case: throwing_case, ..PREFERENTIAL };

/// Ends the process if a hot program makes a tail call of itself; for the test that a run survives a dead child.
pub const ABORTING: Check = Check { case: hot_case, check: abort, stack: LARGE_STACK, settings: None };

fn abort(_: &Engines, case: &Case) -> Result<Summary, String> {
    // The bytes of a return_call with an index of one byte, and end.
    let has_tail_call = case.wasm.windows(3).any(|code| code[0] == 0x12 && code[1] < 20 && code[2] == 0x0b);
    if has_tail_call {
        std::process::abort();
    }
    Ok(Summary::default())
}

/// All checks by name, the usual one first.
pub const CHECKS: [(&str, Check); 25] = [
    ("modules", DIFFERENTIAL),
    ("sampled", SAMPLED),
    ("hot", HOT),
    ("wasm3", WASM3),
    ("atomics", ATOMICS),
    ("hot-objects", HOT_OBJECTS),
    ("hot-atomics", HOT_ATOMICS),
    ("superblocks", SUPERBLOCKS),
    ("oracle", ORACLE),
    ("overflow", OVERFLOW),
    ("contexts", CONTEXTS),
    ("deep-contexts", DEEP_CONTEXTS),
    ("events", EVENTS),
    ("references", REFERENCES),
    ("paths", PATHS),
    ("deep-paths", DEEP_PATHS),
    ("flow", FLOW),
    ("preferential", PREFERENTIAL),
    ("throwing-counts", THROWING_COUNTS),
    ("throwing-contexts", THROWING_CONTEXTS),
    ("throwing-events", THROWING_EVENTS),
    ("throwing-paths", THROWING_PATHS),
    ("throwing-flow", THROWING_FLOW),
    ("throwing-preferential", THROWING_PREFERENTIAL),
    ("aborting", ABORTING),
];

/// Number of smaller cases tried for a failing case.
const TRIES: usize = 2000;

/// A case that failed.
#[derive(Debug)]
pub struct Failure {
    /// The reduced case.
    pub case: Case,
    /// The failure message.
    pub message: String,
}

impl Failure {
    /// Writes the module and its calls to files in `folder`, and returns a full report.
    pub fn report(&self, folder: &Path) -> String {
        let Failure { case, message } = self;
        let file = folder.join(format!("seed-{}.wasm", case.seed));
        let calls = file.with_extension("txt");
        let written = std::fs::create_dir_all(folder)
            .and_then(|()| std::fs::write(&file, &case.wasm))
            .and_then(|()| std::fs::write(&calls, format!("{message}\n\n{:#?}\n", case.drive)));
        let written = written.map_or_else(|e| e.to_string(), |()| format!("see {}", file.display()));
        format!("seed {} ({:?}): {message}\n{written}", case.seed, case.maker)
    }
}

/// Checks the first `seeds` cases, for a test, and prints a summary; what fails is left in `folder`.
///
/// # Panics
/// Panics if a case fails.
#[track_caller]
#[must_use]
pub fn passed(seeds: u64, check: Check, folder: &str) -> Summary {
    match sweep(0..seeds, check, |_| ()) {
        Ok(summary) => {
            println!("{summary:#?}");
            summary
        }
        Err(failure) => panic!("{}", failure.report(Path::new(folder))),
    }
}

/// Checks the cases of `seeds` on several threads, and calls `progress` after each case.
///
/// # Errors
/// Returns the first case that fails.
///
/// # Panics
/// Panics if a check panics; it prints the seed.
pub fn sweep(
    seeds: Range<u64>,
    check: Check,
    progress: impl Fn(&Summary) + Sync,
) -> Result<Summary, Box<Failure>> {
    let engines = Engines::default();
    let next = AtomicU64::new(seeds.start);
    let stop = AtomicBool::new(false);
    let done = Mutex::new((Summary::default(), None));
    let worker = || {
        while !stop.load(Ordering::Relaxed) {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= seeds.end {
                break;
            }
            let result = one(&engines, seed, check);
            stop.fetch_or(result.is_err(), Ordering::Relaxed);
            let mut done = done.lock().expect("no panic while held");
            match result {
                Ok(summary) => {
                    done.0 = done.0.plus(summary);
                    progress(&done.0);
                }
                Err(failure) => done.1 = Some(failure),
            }
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            let thread = std::thread::Builder::new().stack_size(check.stack);
            thread.spawn_scoped(scope, worker).expect("a thread");
        }
    });
    match done.into_inner().expect("no panic while held") {
        (summary, None) => Ok(summary),
        (_, Some(failure)) => Err(failure),
    }
}

fn one(engines: &Engines, seed: u64, check: Check) -> Result<Summary, Box<Failure>> {
    let _named = Named(seed);
    let case = (check.case)(seed);
    let check = check.check;
    check(engines, &case).map_err(|message| {
        let smaller = shrink(case.clone(), TRIES, |case| check(engines, case).is_err());
        Box::new(match check(engines, &smaller) {
            Err(message) => Failure { case: smaller, message },
            Ok(_) => Failure { case, message: format!("only sometimes: {message}") },
        })
    })
}

/// Prints the seed when the thread panics.
struct Named(u64);

impl Drop for Named {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("that was seed {}", self.0);
        }
    }
}
