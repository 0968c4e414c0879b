//! A sample profile for LLVM: counts by function and source line.

use std::collections::HashMap;

use wprof::{FrameSymbol, Module};
use wprof_jit::hints;
use wprof_profiler::Profile;
use wprof_profiler::export::{self, PlaceInFunction, SampleProfile};

use crate::code_map;
use crate::error::{Error, Result, ensure};
use crate::program::Program;

/// Returns the executions of all lines, and the targets of indirect calls on them.
///
/// # Errors
/// Returns an error if the module has no DWARF, or the profile has no counts of code.
pub fn build(module: &Module, profile: &Profile) -> Result<SampleProfile> {
    let (source, code) =
        (Source::new(module), code_map::of_functions_that_ran(&Program::from(module), profile)?);
    let mut samples = SampleProfile::default();
    for function in &profile.functions {
        let rows = export::executions(function, &code).into_iter();
        let rows: Vec<_> = rows.map(|row| (source.places(row.offset), row.count)).collect();
        // Compilers give some instructions no line.
        if let Some(own) = rows.iter().find_map(|(places, _)| places.last()) {
            samples.add_calls(&own.function, function.calls());
        }
        rows.iter().for_each(|(places, count)| samples.add_instruction(places, *count));
    }
    ensure!(
        !samples.is_empty(),
        "the profile has no source lines: build the module with DWARF, and profile it with `wprof run --collect edges`"
    );
    add_targets(&mut samples, &source, profile)?;
    Ok(samples)
}

fn add_targets(samples: &mut SampleProfile, source: &Source<'_>, profile: &Profile) -> Result<()> {
    for calls in hints::indirect_calls(source.module.info(), profile).map_err(Error::told)? {
        let places = source.places(calls.site);
        for (callee, count) in calls.callees {
            if let Some(name) = source.module.func_name(callee) {
                samples.add_targets(&places, name, count);
            }
        }
    }
    Ok(())
}

/// The source positions in a module's debug information.
struct Source<'a> {
    module: &'a Module,
    /// The line of each function's definition.
    definitions: HashMap<String, u32>,
    /// The discriminators, each with the offset from which it applies.
    discriminators: Vec<(u32, u32)>,
}

impl<'a> Source<'a> {
    fn new(module: &'a Module) -> Self {
        let (definitions, discriminators) = (module.definition_lines(), module.discriminators());
        Self { module, definitions, discriminators }
    }

    /// Returns the source positions of an instruction, innermost inlined function first; none if a function or line is
    /// unknown. The line table tells the discriminator of the innermost position only.
    fn places(&self, offset: u32) -> Vec<PlaceInFunction> {
        let place = |symbol: &FrameSymbol| {
            let (function, line) = (symbol.name()?, symbol.line().filter(|&line| line > 0)?);
            let line = line.wrapping_sub(*self.definitions.get(function)?);
            Some(PlaceInFunction { function: function.to_owned(), line, discriminator: 0 })
        };
        let places = self.module.symbols_at(offset).iter().map(place).collect::<Option<_>>();
        let mut places: Vec<PlaceInFunction> = places.unwrap_or_default();
        if let Some(innermost) = places.first_mut() {
            innermost.discriminator = self.discriminator(offset);
        }
        places
    }

    fn discriminator(&self, offset: u32) -> u32 {
        let next = self.discriminators.partition_point(|&(start, _)| start <= offset);
        self.discriminators[..next].last().map_or(0, |&(_, discriminator)| discriminator)
    }
}
