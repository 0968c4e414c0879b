//! The Cranelift code generators of an engine: two stages for optimised code, and one for code that is needed quickly.

use cranelift_codegen::isa::{self, OwnedTargetIsa};
use cranelift_codegen::settings::{self, Configurable};

use super::Target;
use crate::CompileError;
use crate::options::CompilerOptions;

/// Returns the code generator of optimised code.
pub(crate) fn best(target: &dyn Target, options: &CompilerOptions) -> Result<OwnedTargetIsa, CompileError> {
    isa(target, options, &[("opt_level", "speed"), ("regalloc_algorithm", "backtracking")])
}

/// Returns the fastest code generator, for trampolines and for the baseline functions that `single_pass` declines.
pub(crate) fn fast(target: &dyn Target, options: &CompilerOptions) -> Result<OwnedTargetIsa, CompileError> {
    isa(target, options, &[("opt_level", "none"), ("regalloc_algorithm", "single_pass")])
}

/// Returns the code generator that finishes code which [`best`] has already optimised.
pub(crate) fn rest(target: &dyn Target, options: &CompilerOptions) -> Result<OwnedTargetIsa, CompileError> {
    after_optimising(target, options, "backtracking")
}

/// Like [`rest`], but allocates registers in a single pass, for functions whose optimised allocation would take too
/// long.
pub(crate) fn quick_rest(
    target: &dyn Target,
    options: &CompilerOptions,
) -> Result<OwnedTargetIsa, CompileError> {
    after_optimising(target, options, "single_pass")
}

fn after_optimising(
    target: &dyn Target,
    options: &CompilerOptions,
    allocator: &str,
) -> Result<OwnedTargetIsa, CompileError> {
    let own = [("opt_level", "none"), ("regalloc_algorithm", allocator)];
    // `relax` needs the starts of the basic blocks.
    let more = [("enable_nan_canonicalization", "false"), ("machine_code_cfg_info", "true")];
    isa(target, options, &[&own[..], &more].concat())
}

fn isa(
    target: &dyn Target,
    options: &CompilerOptions,
    own: &[(&str, &str)],
) -> Result<OwnedTargetIsa, CompileError> {
    let page_size = target.page_size().ilog2().to_string();
    let switch = |on: bool| if on { "true" } else { "false" };
    let common = [
        // The frame walk of backtraces and traps needs frame pointers.
        ("preserve_frame_pointers", "true"),
        // A guard page below the stack catches overflow if every page of a large frame is touched.
        ("enable_probestack", "true"),
        ("probestack_strategy", "inline"),
        ("probestack_size_log2", &page_size),
        // A wasm function may have more results than there are registers.
        ("enable_multi_ret_implicit_sret", "true"),
        ("unwind_info", "false"),
        ("enable_nan_canonicalization", switch(options.canonical_nans)),
        ("enable_heap_access_spectre_mitigation", switch(options.spectre_guards)),
        ("enable_table_access_spectre_mitigation", switch(options.spectre_guards)),
        ("enable_verifier", switch(options.verify)),
        ("enable_pinned_reg", switch(options.pinned_cell().is_some())),
    ];
    let mut flags = settings::builder();
    for (name, value) in common.iter().chain(own) {
        flags.set(name, value).map_err(|e| unusable(&format!("{name}={value}: {e}")))?;
    }
    host()?.finish(settings::Flags::new(flags)).map_err(|e| unusable(&e.to_string()))
}

/// Returns a builder of code generators for this machine.
fn host() -> Result<isa::Builder, CompileError> {
    cranelift_native::builder().map_err(unusable)
}

/// Returns the architecture of this machine.
pub(crate) fn architecture() -> Result<String, CompileError> {
    Ok(host()?.triple().architecture.to_string())
}

fn unusable(message: &str) -> CompileError {
    CompileError::Codegen { func: 0, message: format!("this machine is not supported: {message}") }
}
