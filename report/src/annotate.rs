//! One function with its counts: each instruction and source line, and in the margin its sampled time, how often each basic
//! block ran, and how often each branch went which way.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use wprof_profiler::{FunctionProfile, Path, Profile};

use crate::error::{Context, Error, NO_PATHS, Result};
use crate::inlined::Inlined;
use crate::page::Page;
use crate::program::Program;
use crate::render::annotation::{self, Annotated};
use crate::render::path_annotation::{self, AnnotatedPath};
use crate::render::view::View;
use crate::sources::Sources;
use crate::{code_map, inlined, names, render};

/// Adds the function that `asked` names: by index, by its whole name, or by a part that only one name has. A source
/// function that is inlined everywhere is shown at each place where it is.
///
/// # Errors
/// Returns an error if the view has no module, if no function has the name, if several do or the one that does was not seen to
/// run, or if the function cannot be disassembled.
pub fn function(page: &mut Page, view: &View<'_>, asked: &str, sources: Sources) -> Result<()> {
    let program = program_of(view)?;
    page.with_names(|page| {
        if let Some(found) = inlined::find(program, &names::of_profile(view.profile), asked)? {
            return write_inlined(page, *view, program, (&found, sources));
        }
        let function = found(view, program, asked)?;
        let is_counted = matches!(function, Cow::Borrowed(_));
        let code = program.disassembly(function.index)?;
        let annotated = Annotated { view: *view, function: &function, is_counted, code, sources };
        annotation::write(page, annotated);
        Ok(())
    })
}

/// Adds the path with the number `id` of the function that `asked` names, as [`function`] does.
///
/// # Errors
/// Returns an error under the conditions of [`function`], if the profile has no paths, or if none has this number.
pub fn path(page: &mut Page, view: &View<'_>, asked: &str, id: u64, sources: Sources) -> Result<()> {
    let program = program_of(view)?;
    page.with_names(|page| {
        let function = found(view, program, asked)?;
        let code = program.disassembly(function.index)?;
        let path = numbered_path(&function, id)?;
        let annotated = AnnotatedPath { view: *view, function: &function, id, path, code, sources };
        path_annotation::write(page, annotated);
        Ok(())
    })
}

fn program_of<'a>(view: &View<'a>) -> Result<&'a Program> {
    view.program.context("cannot show instructions without the module")
}

/// Returns the function that was asked for; of one that only the timer found, there are no counts.
fn found<'a>(view: &View<'a>, program: &Program, asked: &str) -> Result<Cow<'a, FunctionProfile>> {
    let ran = names::of_profile(view.profile);
    let found = match names::fitting(&ran, asked)[..] {
        [] => return Err(why_not_found(view.profile, program, asked)),
        _ => names::find(&ran, asked)?,
    };
    Ok(match view.profile.function(found.index) {
        Some(counted) => Cow::Borrowed(counted),
        None => Cow::Owned(program.idle_function(found.index)?),
    })
}

/// Returns why no function that ran is called like this: the module has none, or nothing saw it run.
fn why_not_found(profile: &Profile, program: &Program, asked: &str) -> Error {
    let all = program.functions();
    let name = match names::fitting(&all, asked)[..] {
        [] => match inlined::find(program, &all, asked) {
            Ok(Some(inlined)) => inlined.name,
            Ok(None) => return names::not_found(&all, asked),
            Err(error) => return error,
        },
        [only] => only.shown(),
        _ => asked.to_owned(),
    };
    let message = match (profile.bursts, &profile.time) {
        (None, _) => format!("`{name}` did not run"),
        (Some(_), None) => {
            format!(
                "no burst saw `{name}`, which may have run between bursts: `wprof run --exact` counts everything"
            )
        }
        (Some(_), Some(_)) => format!(
            "no burst and no sample of time saw `{name}`, which may have run between them: `wprof run --exact` counts \
             everything"
        ),
    };
    Error::new(message)
}

/// Writes a source function that exists only inlined.
fn write_inlined(
    page: &mut Page,
    view: View<'_>,
    program: &Program,
    (inlined, sources): (&Inlined, Sources),
) -> Result<()> {
    let functions: BTreeSet<u32> = inlined.places.iter().map(|place| place.function).collect();
    let ran: Vec<&FunctionProfile> =
        functions.iter().filter_map(|&function| view.profile.function(function)).collect();
    let ops = render::inlined::ops(view.profile, &code_map::of_instructions(program, &ran)?, &inlined.places);
    // Those that no burst saw have their time alone.
    let idle = functions.iter().filter(|&&function| view.profile.function(function).is_none());
    let idle = idle.map(|&function| Ok((function, program.idle_function(function)?)));
    let idle: BTreeMap<u32, FunctionProfile> = idle.collect::<Result<_>>()?;
    let code = program.disassembled(&functions.into_iter().collect::<Vec<_>>())?;
    render::inlined::write(page, view, inlined, (&ops, &idle), (code, sources));
    Ok(())
}

fn numbered_path(function: &FunctionProfile, id: u64) -> Result<Path> {
    let numbering = function.path_numbering().context(NO_PATHS)?;
    let paths = numbering.paths();
    numbering.path(id).with_context(|| {
        format!("there is no path {id}: path numbers are below {paths}, and some of them are unused")
    })
}
