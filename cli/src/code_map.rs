//! What a module tells exporters of its code.

use std::collections::{BTreeSet, HashMap};

use anyhow::Result;
use wprof::{FrameSymbol, Module};
use wprof_profiler::export::{CodeMap, Frame, LineRow, SourceLine};
use wprof_profiler::{Callee, CodeRange, FunctionProfile, Profile};

use crate::modules::failure;
use crate::names;

/// Source lines.
pub fn of_lines(module: &Module) -> CodeMap {
    let mut code = CodeMap::default();
    add_lines(&mut code, module);
    code
}

/// Source lines, the instructions of the functions that ran, and what is inlined where time was sampled.
///
/// # Errors
/// If a function exceeds a limit of the compiler.
pub fn of_functions_that_ran(module: &Module, profile: &Profile) -> Result<CodeMap> {
    let instructions = instructions(module, &profile.functions)?;
    let mut code = CodeMap { instructions, ..of_lines(module) };
    add_sampled(&mut code, module, profile);
    Ok(code)
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

/// The source functions that are inlined at sampled places, and where the code of sampled functions is.
fn add_sampled(code: &mut CodeMap, module: &Module, profile: &Profile) {
    let Some(time) = &profile.time else { return };
    let is_ours = |callee: &Callee| matches!(callee, Callee::Function { .. });
    let nodes = (0..time.nodes.len()).filter(|&node| is_ours(time.callee(node)));
    let offsets: BTreeSet<u32> = nodes.map(|node| time.nodes[node].offset).collect();
    let frame = |symbol: &FrameSymbol| {
        let place = symbol.file().map(names::harmless).zip(symbol.line().filter(|&line| line > 0));
        Some(Frame { name: names::harmless(&wprof::demangle(symbol.name()?)), place })
    };
    for offset in offsets {
        let symbols = module.symbols_at(offset);
        // The last one is the function that the code is of.
        let inlined = symbols.iter().take(symbols.len().saturating_sub(1)).filter_map(frame);
        let inlined: Vec<Frame> = inlined.collect();
        if !inlined.is_empty() {
            code.inlined.insert(offset, inlined);
        }
        let body = module.info().func_at(offset as usize).map(|func| module.info().body(func));
        code.bodies.extend(body.map(|body| CodeRange { start: body.start as u32, end: body.end as u32 }));
    }
    code.bodies.dedup();
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
