//! What a module tells exporters of its code.

use std::collections::HashMap;

use anyhow::Result;
use wprof::Module;
use wprof_profiler::export::{CodeMap, LineRow, SourceLine};
use wprof_profiler::{FunctionProfile, Profile};

use crate::modules::failure;

/// Source lines.
pub fn of_lines(module: &Module) -> CodeMap {
    let mut code = CodeMap::default();
    add_lines(&mut code, module);
    code
}

/// Source lines, and the instructions of the functions that ran.
///
/// # Errors
/// If a function exceeds a limit of the compiler.
pub fn of_functions_that_ran(module: &Module, profile: &Profile) -> Result<CodeMap> {
    let instructions = instructions(module, &profile.functions)?;
    Ok(CodeMap { instructions, ..of_lines(module) })
}

/// Source lines, and all functions and their instructions.
///
/// # Errors
/// If a function exceeds a limit of the compiler.
pub fn of_all_functions(module: &Module, profile: &Profile) -> Result<CodeMap> {
    let mut code = of_functions_that_ran(module, profile)?;
    let info = module.info();
    let defined = info.imported_funcs..info.imported_funcs + info.defined_funcs();
    let idle = defined.filter(|&func| profile.function(func).is_none());
    code.idle = idle.map(|func| module.idle_function(func).map_err(failure)).collect::<Result<_>>()?;
    code.instructions.extend(instructions(module, &code.idle)?);
    code.instructions.sort_unstable();
    Ok(code)
}

/// Files are numbered in the order of the code.
fn add_lines(code: &mut CodeMap, module: &Module) {
    let mut numbers = HashMap::new();
    for row in module.source_rows() {
        let line = row.line.map(|(file, line)| {
            let file = *numbers.entry(file.clone()).or_insert_with(|| {
                code.files.push(file.to_string());
                code.files.len() as u32 - 1
            });
            SourceLine { file, line }
        });
        code.lines.push(LineRow { offset: row.offset, line });
    }
}

/// Ascending, as functions are.
fn instructions(module: &Module, functions: &[FunctionProfile]) -> Result<Vec<u32>> {
    let mut offsets = Vec::new();
    for function in functions {
        let cfg = wprof_jit::cfg::build(module.info(), function.index)?;
        offsets.extend(wprof_jit::cfg::instruction_offsets(module.info(), &cfg)?);
    }
    Ok(offsets)
}
