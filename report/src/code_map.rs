//! The code map of a module, which tells exporters about its code.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};

use wprof::{FrameSymbol, Module};
use wprof_jit::module::{Entity, Import};
use wprof_profiler::export::{CodeMap, Frame, LineRow, SourceLine};
use wprof_profiler::{Callee, CodeRange, FunctionProfile, Profile};

use crate::error::{Error, Result};
use crate::names;

/// Returns a map of source lines.
pub fn of_lines(module: &Module) -> CodeMap {
    let mut code = CodeMap::default();
    add_lines(&mut code, module);
    code
}

/// Returns a map of the instructions of functions, which ascend by index.
///
/// # Errors
/// Returns an error if a function exceeds a limit of the compiler.
pub fn of_instructions(module: &Module, functions: &[&FunctionProfile]) -> Result<CodeMap> {
    Ok(CodeMap { instructions: instructions(module, functions.iter().copied())?, ..CodeMap::default() })
}

/// Returns a map of source lines, of the instructions of functions that ran, and of functions inlined at samples: what
/// exporters know of the code of a profile, such as
/// [`ProfileExporter::take_otlp_with`](wprof_profiler::export::ProfileExporter::take_otlp_with). It takes as long as to parse
/// these functions, and the module's debug information when that is first asked for.
///
/// # Errors
/// Returns an error if a function exceeds a limit of the compiler.
pub fn of_functions_that_ran(module: &Module, profile: &Profile) -> Result<CodeMap> {
    let instructions = instructions(module, &profile.functions)?;
    let calls = calls(module, &profile.functions)?;
    let mut code = CodeMap { instructions, calls, ..of_lines(module) };
    add_sampled(&mut code, module, profile);
    add_inlined(&mut code, module, profile);
    Ok(code)
}

/// Returns a map of source lines, and of all functions and their instructions.
///
/// # Errors
/// Returns an error if a function exceeds a limit of the compiler.
pub fn of_all_functions(module: &Module, profile: &Profile) -> Result<CodeMap> {
    let mut code = of_functions_that_ran(module, profile)?;
    let info = module.info();
    let defined = info.imported_funcs..info.imported_funcs + info.defined_funcs();
    let idle = defined.filter(|&func| profile.function(func).is_none());
    code.idle = idle.map(|func| module.idle_function(func)).collect::<Result<_, wprof::Error>>()?;
    code.instructions.extend(instructions(module, &code.idle)?);
    code.instructions.sort_unstable();
    Ok(code)
}

/// Adds the positions of sampled functions' code.
fn add_sampled(code: &mut CodeMap, module: &Module, profile: &Profile) {
    let Some(time) = &profile.time else { return };
    let is_ours = |callee: &Callee| matches!(callee, Callee::Function { .. });
    let nodes = (0..time.nodes.len()).filter(|&node| is_ours(time.callee(node)));
    let offsets: BTreeSet<u32> = nodes.map(|node| time.nodes[node].offset).collect();
    for offset in offsets {
        let body = module.info().func_at(offset as usize).map(|func| module.info().body(func));
        code.bodies.extend(body.map(|body| CodeRange { start: body.start as u32, end: body.end as u32 }));
    }
    code.bodies.dedup();
}

/// Adds the source functions that are inlined at samples and at calls within the module.
fn add_inlined(code: &mut CodeMap, module: &Module, profile: &Profile) {
    let is_ours = |callee: &Callee| matches!(callee, Callee::Function { .. });
    let time = profile.time.iter();
    let sampled = time.flat_map(|time| {
        (0..time.nodes.len()).filter(|&at| is_ours(time.callee(at))).map(|at| time.nodes[at].offset)
    });
    let sites = profile.contexts.iter().flat_map(|tree| {
        let calls = tree.records.iter().filter(|record| is_ours(tree.callee(record.parent)));
        calls.map(|record| record.site)
    });
    let offsets: BTreeSet<u32> = sampled.chain(sites).collect();
    for offset in offsets {
        let mut symbols = module.symbols_at(offset);
        // The last symbol is the function that contains the code.
        let containing = symbols.pop().and_then(|symbol| place_of(&symbol));
        let inlined: Vec<Frame> = symbols.iter().filter_map(inlined_frame).collect();
        if !inlined.is_empty() {
            code.inlined.insert(offset, inlined);
            code.containing.extend(containing.map(|place| (offset, place)));
        }
    }
}

/// Returns a profile whose contexts and sampled stacks have frames for inlined functions, as far as the module tells.
pub fn with_inlined<'a>(profile: &'a Profile, module: Option<&Module>) -> Cow<'a, Profile> {
    with_inlined_seen(profile, module, &mut |_| ())
}

/// Returns the same, and shows `see` each inlined function.
pub fn with_inlined_seen<'a>(
    profile: &'a Profile,
    module: Option<&Module>,
    see: &mut dyn FnMut(&FrameSymbol),
) -> Cow<'a, Profile> {
    let Some(module) = module else { return Cow::Borrowed(profile) };
    let mut known: HashMap<u32, Vec<String>> = HashMap::new();
    let mut names_at = |offset| {
        let symbols = inlined_symbols(module, offset);
        symbols.iter().for_each(&mut *see);
        symbols.iter().filter_map(|symbol| symbol.name().map(str::to_owned)).collect()
    };
    let mut names = |offset| known.entry(offset).or_insert_with(|| names_at(offset)).clone();
    Cow::Owned(profile.with_inlined(&mut names))
}

/// Returns the functions inlined at an offset, innermost first.
fn inlined_symbols(module: &Module, offset: u32) -> Vec<FrameSymbol> {
    let mut symbols = module.symbols_at(offset);
    // The last symbol is the function that contains the code.
    symbols.pop();
    symbols
}

/// Returns the frame of an inlined function.
fn inlined_frame(symbol: &FrameSymbol) -> Option<Frame> {
    let name = names::of_symbol(symbol.name()?);
    let full_name = Some(names::full_of_symbol(symbol.name()?)).filter(|full| *full != name);
    Some(Frame { name, place: place_of(symbol), full_name })
}

/// Returns the file and line of a symbol.
fn place_of(symbol: &FrameSymbol) -> Option<(String, u32)> {
    symbol.file().map(names::harmless).zip(symbol.line().filter(|&line| line > 0))
}

/// Adds source lines; files are numbered in the order of the code.
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

/// Returns the offsets of the functions' instructions, in ascending order, as functions are.
fn instructions<'a>(
    module: &Module,
    functions: impl IntoIterator<Item = &'a FunctionProfile>,
) -> Result<Vec<u32>> {
    let mut offsets = Vec::new();
    for function in functions {
        let cfg = wprof_jit::cfg::build(module.info(), function.index).map_err(Error::told)?;
        offsets.extend(wprof_jit::cfg::instruction_offsets(module.info(), &cfg).map_err(Error::told)?);
    }
    Ok(offsets)
}

/// Returns the direct calls of functions, in ascending order, as functions are.
fn calls(module: &Module, functions: &[FunctionProfile]) -> Result<Vec<(u32, Callee)>> {
    let info = module.info();
    let callee = |index: u32| match info.is_imported_func(index) {
        true => {
            let is_it = |import: &&Import| import.entity == Entity::Func(index);
            let import = info.imports.iter().find(is_it);
            let [module, name] =
                import.map_or_else(Default::default, |import| [import.module.clone(), import.name.clone()]);
            Callee::Host { module, name }
        }
        false => Callee::Function { index, name: module.func_name(index).map(names::of_symbol) },
    };
    let mut all = Vec::new();
    for function in functions {
        let cfg = wprof_jit::cfg::build(info, function.index).map_err(Error::told)?;
        let calls = wprof_jit::cfg::direct_calls(info, &cfg).map_err(Error::told)?;
        all.extend(calls.into_iter().map(|(offset, index)| (offset, callee(index))));
    }
    Ok(all)
}
