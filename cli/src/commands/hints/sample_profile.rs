//! A profile as LLVM's compilers read it: by function and line of the source.

use std::collections::HashMap;

use anyhow::{Result, ensure};
use wprof::{FrameSymbol, Module};
use wprof_profiler::Profile;
use wprof_profiler::export::{self, PlaceInFunction, SampleProfile};

use crate::code_map;

/// The executions of all lines.
///
/// # Errors
/// If the module has no DWARF, or the profile does not say what the code did.
pub fn of(module: &Module, profile: &Profile) -> Result<SampleProfile> {
    let (lines, code) = (module.definition_lines(), code_map::of_functions_that_ran(module, profile)?);
    let mut samples = SampleProfile::default();
    for function in &profile.functions {
        let rows = export::executions(function, &code).into_iter();
        let rows: Vec<_> = rows.map(|row| (places(module, &lines, row.offset), row.count)).collect();
        // Compilers give some instructions no line.
        if let Some(own) = rows.iter().find_map(|(places, _)| places.last()) {
            samples.add_calls(&own.function, function.calls());
        }
        rows.iter().for_each(|(places, count)| samples.add_instruction(places, *count));
    }
    ensure!(
        !samples.is_empty(),
        "no line of the source is known to have run: build the module with DWARF, and profile it by --collect edges"
    );
    Ok(samples)
}

/// Where an instruction comes from, innermost inlined function first; nothing if one of the functions or lines is not known.
fn places(module: &Module, lines: &HashMap<String, u32>, offset: u32) -> Vec<PlaceInFunction> {
    let place = |symbol: &FrameSymbol| {
        let (function, line) = (symbol.name()?, symbol.line().filter(|&line| line > 0)?);
        let line = line.wrapping_sub(*lines.get(function)?);
        Some(PlaceInFunction { function: function.to_owned(), line })
    };
    module.symbols_at(offset).iter().map(place).collect::<Option<_>>().unwrap_or_default()
}
