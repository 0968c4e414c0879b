//! Compiler hints: a profile of a module, in custom sections of the module.
//!
//! Input: a module, a profile of it, and [`Thresholds`]. Output: [`MetadataSection`]s, and the module with them.
//! Invariant: the code section and all other sections stay unchanged, byte for byte. Functions that the profile does
//! not know, or whose graph differs, get no hints.
//! Source: the "WebAssembly Code Metadata" specification for the sections' common form and for branch hints, the
//! compilation-hints proposal for the others. Oracle: `tests/it/hints.rs`, which reads branch hints with wasmparser's
//! reader and compares all with counts looked up one by one.

mod accuracy;
mod branches;
mod frequencies;
mod priorities;
mod section;
mod splice;
mod targets;

pub(crate) use targets::calls_by_site;
use wprof_profiler::{FunctionProfile, Profile};

pub use accuracy::HintAccuracy;
pub use section::MetadataSection;
pub use splice::with_sections;

use crate::CompileError;
use crate::cfg::{self, Cfg};
use crate::module::{BRANCH_HINTS, ModuleInfo};

/// The thresholds for hints.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Thresholds {
    /// The minimum share of executions in which a branch takes its likely outcome; above 0.5.
    pub likely: f64,
    /// The minimum number of executions of a branch.
    pub reached: u64,
}

/// Returns the section of branch hints.
///
/// # Errors
/// Returns an error if a function exceeds a limit of the compiler.
pub fn branch_hints(
    info: &ModuleInfo,
    profile: &Profile,
    thresholds: Thresholds,
) -> Result<MetadataSection, CompileError> {
    let mut section = MetadataSection::new(BRANCH_HINTS);
    for function in profiled(info, profile)? {
        branches::add(&mut section, &function, thresholds);
    }
    Ok(section)
}

/// Returns the sections of the compilation-hints proposal: the frequencies of calls, the targets of indirect calls, and
/// the priorities of functions. Call targets require calling contexts or bursts.
///
/// # Errors
/// Returns an error if a function exceeds a limit of the compiler.
pub fn compilation_hints(info: &ModuleInfo, profile: &Profile) -> Result<Vec<MetadataSection>, CompileError> {
    let functions = profiled(info, profile)?;
    let mut frequencies = MetadataSection::new("metadata.code.instr_freq");
    for function in &functions {
        frequencies::add(&mut frequencies, info, function)?;
    }
    let targets = targets::section(info, profile, &functions)?;
    Ok(vec![frequencies, targets, priorities::section(&functions)])
}

/// The targets of an indirect call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndirectCalls {
    /// The index of the calling function.
    pub caller: u32,
    /// The byte offset of the call in the module.
    pub site: u32,
    /// The called functions of the module, ascending, with their numbers of calls.
    pub callees: Vec<(u32, u64)>,
}

/// Returns the targets of a module's indirect calls, from calling contexts or bursts; none where neither are known.
///
/// # Errors
/// Returns an error if a function exceeds a limit of the compiler.
pub fn indirect_calls(info: &ModuleInfo, profile: &Profile) -> Result<Vec<IndirectCalls>, CompileError> {
    targets::indirect_calls(info, profile, &profiled(info, profile)?)
}

/// A function that ran, and its blocks.
struct Profiled<'a> {
    profile: &'a FunctionProfile,
    cfg: Cfg,
    /// The declaration of its locals, to which offsets of hints are relative.
    start: u32,
}

fn profiled<'a>(info: &ModuleInfo, profile: &'a Profile) -> Result<Vec<Profiled<'a>>, CompileError> {
    let defined = info.imported_funcs..info.imported_funcs + info.defined_funcs();
    let of_module = profile.functions.iter().filter(|function| defined.contains(&function.index));
    let function = |profile: &'a FunctionProfile| {
        let (cfg, start) = (cfg::build(info, profile.index)?, info.body(profile.index).start as u32);
        let fits = cfg.shape().fingerprint() == profile.fingerprint;
        Ok(fits.then_some(Profiled { profile, cfg, start }))
    };
    of_module.map(function).filter_map(Result::transpose).collect()
}
