//! The example writes what it says.

use std::fs;
use std::path::Path;

use wprof::{Engine, Module};
use wprof_report::hints;

#[allow(dead_code, reason = "an example has a main function")]
#[path = "../examples/report.rs"]
mod report;

#[test]
fn the_example_writes_a_report_a_page_hints_and_pprof() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("../bench-wasm/programs/json.wasm");
    let args = ["5", "1"].map(str::to_owned);
    let text = report::report(&program, folder.path(), &args).expect("the program runs");
    assert!(text.contains("Functions by instructions executed"), "{text}");
    let file = |name: &str| fs::read(folder.path().join(name)).expect(name);
    assert!(file("report.html").trim_ascii_end().ends_with(b"</html>"));
    // Gzip, RFC 1952, 2.3.1.
    assert!(file("profile.pb.gz").starts_with(&[0x1f, 0x8b]));
    let engine = Engine::default();
    let [plain, hinted] = [fs::read(&program).expect("a program"), file("hinted.wasm")];
    assert!(hinted.len() > plain.len());
    let module = Module::new(&engine, &hinted).expect("a module");
    let profile = wprof::profiler::Profile::default();
    let error = hints::accuracy(&module, &profile).unwrap_err().to_string();
    assert!(error.contains("no branch counts"), "the module has hints: {error}");
}
