//! Profiles as hints to compilers: in the module itself, or beside it.
//!
//! Hints are custom sections. The code and all other sections stay the same, byte for byte.

mod sample_profile;
mod split_profile;

use std::fmt::{self, Display, Write as _};

use wprof::Module;
use wprof_jit::hints::{self, HintAccuracy, MetadataSection, Thresholds};
use wprof_jit::module::BRANCH_HINTS;
use wprof_profiler::Profile;
use wprof_profiler::export::SampleProfile;

use crate::error::{Error, Result, ensure};
use crate::names;
use crate::render::numbers::{count_of, percent};

/// The hints to write. The default is branch hints for branches that ran ten times or more, and went one way nine
/// times of ten.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Options {
    /// Whether to write how often calls are executed, what indirect calls call and which functions are hot as well, and
    /// not only branch hints.
    pub all: bool,
    /// The share of executions in which a hinted branch goes one way at least, above 0.5, at most 1.
    pub likely: f64,
    /// The number of times that a hinted branch ran at least.
    pub reached: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self { all: false, likely: 0.9, reached: 10 }
    }
}

/// A module with hints.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Hinted {
    /// The module, in the binary format.
    pub bytes: Vec<u8>,
    /// The sections of hints.
    pub sections: Vec<Section>,
    /// The share of executions in which branches went as hinted, in the profile that the hints come from.
    pub accuracy: Accuracy,
}

/// A section of hints. It is shown by its name and numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Section {
    /// The name of the custom section.
    pub name: String,
    /// The number of hints.
    pub hints: u64,
    /// The number of functions that have some.
    pub functions: u64,
}

impl Section {
    fn from_section(section: &MetadataSection) -> Self {
        let (hints, functions) = (section.len() as u64, section.function_count() as u64);
        Self { name: section.name().to_owned(), hints, functions }
    }
}

impl Display for Section {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (hints, functions) = (count_of(self.hints, "hint"), count_of(self.functions, "function"));
        write!(f, "{}: {hints} in {functions}", self.name)
    }
}

/// The share of executions in which branches went as a module's hints say. It is shown as a sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Accuracy {
    /// The number of hinted branches in functions that ran.
    pub hinted: u64,
    /// The number of executions of these branches; saturates.
    pub reached: u64,
    /// The number of these in which the branch went as hinted; saturates.
    pub as_hinted: u64,
    /// The number of executions of all branches, hinted or not; saturates.
    pub all_reached: u64,
}

impl Accuracy {
    fn from_accuracy(found: HintAccuracy) -> Self {
        let HintAccuracy { hinted, reached, as_hinted, all_reached } = found;
        Self { hinted, reached, as_hinted, all_reached }
    }
}

impl Display for Accuracy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { hinted, reached, as_hinted, all_reached } = *self;
        write!(
            f,
            "{} in functions that ran; {} of {} went as hinted, which are {} of all branches executed",
            count_of(hinted, "branch hint"),
            percent(as_hinted, reached),
            count_of(reached, "execution"),
            percent(reached, all_reached)
        )
    }
}

/// Writes hints into a module, which must be the profile's.
///
/// # Errors
/// Returns an error if the profile does not say which ways branches went, if a function exceeds a limit of the compiler, or
/// if the module's file was changed since it was loaded.
pub fn write(module: &Module, profile: &Profile, options: &Options) -> Result<Hinted> {
    ensure_edges(profile)?;
    let thresholds = Thresholds { likely: options.likely, reached: options.reached };
    let mut sections = vec![hints::branch_hints(module.info(), profile, thresholds).map_err(Error::told)?];
    if options.all {
        sections.extend(hints::compilation_hints(module.info(), profile).map_err(Error::told)?);
    }
    let bytes = hints::with_sections(module.info(), &module.bytes()?, &sections);
    let hinted = Module::new(module.engine(), &bytes)?;
    let accuracy = accuracy_of(&hinted, profile)?;
    Ok(Hinted { bytes, sections: sections.iter().map(Section::from_section).collect(), accuracy })
}

/// Returns how often branches went as the hints say that a module has; the profile is of another run of it.
///
/// # Errors
/// Returns an error if the module has no branch hints, or the profile does not say which ways branches went.
pub fn accuracy(module: &Module, profile: &Profile) -> Result<Accuracy> {
    ensure!(
        module.info().custom_section(BRANCH_HINTS).is_some(),
        "the module has no branch hints: write some with `wprof hints`"
    );
    ensure_edges(profile)?;
    accuracy_of(module, profile)
}

fn accuracy_of(module: &Module, profile: &Profile) -> Result<Accuracy> {
    HintAccuracy::new(module.info(), profile).map(Accuracy::from_accuracy).map_err(Error::told)
}

fn ensure_edges(profile: &Profile) -> Result<()> {
    ensure!(
        profile.functions.iter().any(|function| function.has_edge_counts()),
        "the profile has no branch counts: record one with `wprof run --collect edges`"
    );
    Ok(())
}

/// Returns the functions that ran, one per line, most instructions first, by their names in the module, by which linkers
/// and other tools know them.
pub fn order(profile: &Profile) -> String {
    let mut text = String::new();
    for (function, _) in profile.functions_by_ops() {
        let name =
            function.name.as_deref().map_or_else(|| names::shown(function.index, None), names::harmless);
        writeln!(text, "{name}").expect("strings take all text");
    }
    text
}

/// Returns an AutoFDO profile: the executions of all source lines and the targets of indirect calls on them, for LLVM's
/// compilers. The module must be the profile's.
///
/// # Errors
/// Returns an error if the module has no DWARF, or the profile has no counts of code.
pub fn autofdo(module: &Module, profile: &Profile) -> Result<SampleProfile> {
    sample_profile::build(module, profile)
}

/// Returns a profile for Binaryen's `wasm-split`, which tells the functions that ran; `file` has the bytes of the module's
/// file.
///
/// # Errors
/// Returns an error if the profile has no counts of functions.
pub fn split(module: &Module, file: &[u8], profile: &Profile) -> Result<Vec<u8>> {
    ensure!(
        !profile.functions.is_empty(),
        "the profile has no function counts: record one with `wprof run --collect edges`"
    );
    let info = module.info();
    Ok(split_profile::bytes(file, profile, info.imported_funcs, info.defined_funcs()))
}
