//! The code map of a program, which tells exporters about its code.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};

use wprof::FrameSymbol;
use wprof_profiler::export::{CodeMap, Frame, LineRow, SourceLine};
use wprof_profiler::{Callee, FunctionProfile, Profile};

use crate::error::Result;
use crate::names;
use crate::program::Program;

/// Returns a map of source lines.
pub fn of_lines(program: &Program) -> CodeMap {
    let mut code = CodeMap::default();
    add_lines(&mut code, program);
    code
}

/// Returns a map of the instructions of functions, which ascend by index.
///
/// # Errors
/// Returns an error if a function exceeds a limit of the compiler.
pub fn of_instructions(program: &Program, functions: &[&FunctionProfile]) -> Result<CodeMap> {
    Ok(CodeMap { instructions: instructions(program, functions.iter().copied())?, ..CodeMap::default() })
}

/// Returns a map of source lines, of the instructions of functions that ran, and of functions inlined at samples: what
/// exporters know of the code of a profile, such as
/// [`ProfileExporter::take_otlp_with`](wprof_profiler::export::ProfileExporter::take_otlp_with). It takes as long as to parse
/// these functions, and the module's debug information when that is first asked for.
///
/// # Errors
/// Returns an error if a function exceeds a limit of the compiler.
pub fn of_functions_that_ran(program: &Program, profile: &Profile) -> Result<CodeMap> {
    let instructions = instructions(program, &profile.functions)?;
    let calls = calls(program, &profile.functions)?;
    let mut code = CodeMap { instructions, calls, ..of_lines(program) };
    add_sampled(&mut code, program, profile);
    add_inlined(&mut code, program, profile);
    Ok(code)
}

/// Returns a map of source lines, and of all functions and their instructions.
///
/// # Errors
/// Returns an error if a function exceeds a limit of the compiler.
pub fn of_all_functions(program: &Program, profile: &Profile) -> Result<CodeMap> {
    let mut code = of_functions_that_ran(program, profile)?;
    let idle = program.functions().into_iter().filter(|named| profile.function(named.index).is_none());
    code.idle = idle.map(|named| program.idle_function(named.index)).collect::<Result<_>>()?;
    code.instructions.extend(instructions(program, &code.idle)?);
    code.instructions.sort_unstable();
    Ok(code)
}

/// Adds the positions of sampled functions' code.
fn add_sampled(code: &mut CodeMap, program: &Program, profile: &Profile) {
    let Some(time) = &profile.time else { return };
    let is_ours = |callee: &Callee| matches!(callee, Callee::Function { .. });
    let nodes = (0..time.nodes.len()).filter(|&node| is_ours(time.callee(node)));
    let offsets: BTreeSet<u32> = nodes.map(|node| time.nodes[node].offset).collect();
    for offset in offsets {
        code.bodies.extend(program.body_at(offset));
    }
    code.bodies.dedup();
}

/// Adds the source functions that are inlined at samples and at calls within the module.
fn add_inlined(code: &mut CodeMap, program: &Program, profile: &Profile) {
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
        let mut symbols = program.symbols_at(offset);
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
pub fn with_inlined<'a>(profile: &'a Profile, program: Option<&Program>) -> Cow<'a, Profile> {
    with_inlined_seen(profile, program, &mut |_| ())
}

/// Returns the same, and shows `see` each inlined function.
pub fn with_inlined_seen<'a>(
    profile: &'a Profile,
    program: Option<&Program>,
    see: &mut dyn FnMut(&FrameSymbol),
) -> Cow<'a, Profile> {
    let Some(program) = program else { return Cow::Borrowed(profile) };
    let mut known: HashMap<u32, Vec<String>> = HashMap::new();
    let mut names_at = |offset| {
        let symbols = inlined_symbols(program, offset);
        symbols.iter().for_each(&mut *see);
        symbols.iter().filter_map(|symbol| symbol.name().map(str::to_owned)).collect()
    };
    let mut names = |offset| known.entry(offset).or_insert_with(|| names_at(offset)).clone();
    Cow::Owned(profile.with_inlined(&mut names))
}

/// Returns the functions inlined at an offset, innermost first.
fn inlined_symbols(program: &Program, offset: u32) -> Vec<FrameSymbol> {
    let mut symbols = program.symbols_at(offset);
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
fn add_lines(code: &mut CodeMap, program: &Program) {
    let mut numbers = HashMap::new();
    for row in program.source_rows() {
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
    program: &Program,
    functions: impl IntoIterator<Item = &'a FunctionProfile>,
) -> Result<Vec<u32>> {
    let of_each: Vec<Vec<u32>> =
        functions.into_iter().map(|function| program.instructions(function.index)).collect::<Result<_>>()?;
    Ok(of_each.concat())
}

/// Returns the direct calls of functions, in ascending order, as functions are.
fn calls(program: &Program, functions: &[FunctionProfile]) -> Result<Vec<(u32, Callee)>> {
    let of_each = functions.iter().map(|function| program.calls(function.index));
    Ok(of_each.collect::<Result<Vec<_>>>()?.concat())
}
