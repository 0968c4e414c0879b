//! Modules that are as large, deep or greedy as possible.
//!
//! Sizes are near the limits that all engines share (`wasmparser::limits`), or as large as the time of a test allows.

mod code;
mod module;

use wprof::{ErrorKind, Instance, Module, Result, Store, StoreLimits, Trap};
use wprof_spec_tests::mode::Mode;

use crate::visit::{assert_memory_is_bounded, check_refusal};

/// Returns the text of a function `run` with this body, which may begin with parameters, results and locals.
pub fn func(body: &str) -> String {
    format!("(module (func $run (export \"run\") {body}))")
}

/// Loads and instantiates a module, and calls `run`.
fn run(text: &str, mode: Mode) -> Result<()> {
    let engine = mode.engine();
    let module = Module::new(&engine, text)?;
    let mut store = Store::new(&engine, ());
    store.set_limits(StoreLimits { memory_size: 256 << 20, ..StoreLimits::default() });
    let instance = Instance::new(&mut store, &module, &[])?;
    let run = instance.get_typed_func::<(), ()>(&mut store, "run")?;
    let result = run.call(&mut store, ());
    assert_memory_is_bounded();
    result
}

/// Checks the result under the modes whose code differs most.
fn in_modes(text: &str, check: impl Fn(Result<()>)) {
    for mode in [Mode::Exact, Mode::Bursts, Mode::Checked, Mode::Eager] {
        check(run(text, mode));
    }
}

pub fn runs(text: &str) {
    in_modes(text, |result| result.expect("runs"));
}

pub fn traps(text: &str, trap: Trap) {
    in_modes(text, |result| assert_eq!(result.expect_err("traps").trap(), Some(trap)));
}

/// Checks that the error has this kind and contains these words.
pub fn fails(text: &str, kind: ErrorKind, words: &str) {
    in_modes(text, |result| {
        let error = result.expect_err("fails");
        assert_eq!(error.kind(), kind, "{error:?}");
        assert!(error.to_string().contains(words), "{error:?}");
    });
}

/// Checks that the text is refused for this reason.
pub fn no_text(text: &str, words: &str) {
    let error = Module::new(&Mode::Off.engine(), text).expect_err("refused");
    assert_eq!(error.kind(), ErrorKind::Module);
    assert!(error.to_string().contains(words), "{error}");
}

/// Checks that the module is refused for this reason.
pub fn refused(text: &str, words: &str) {
    let bytes = wat::parse_str(text).expect("a text");
    let error = Module::new(&Mode::Off.engine(), &bytes).expect_err("refused");
    check_refusal(&error, &bytes);
    assert!(error.to_string().contains(words), "{error:?}");
}
