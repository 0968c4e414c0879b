//! The choice of one core module of a component, for commands that look at the code of a module.

use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use wprof::Module;
use wprof::component::Component;

use wprof_report::names::{self, Named};

use crate::modules::{self, Program};
use crate::{help, output};

#[derive(Debug, Args)]
pub struct CoreModuleOption {
    /// For a component: show core module N [default: the one that has such a function, or that ran for the profile]
    #[arg(long, value_name = "N", help_heading = help::INPUT)]
    core_module: Option<usize>,
}

impl CoreModuleOption {
    /// Loads a module, or a core module of a component, and returns it with the function that is asked for in it. That is the
    /// module with this number, the one whose name stands before `::` in `asked`, the one that a profile with one of these
    /// hashes is of, or the only one with a function that is called `asked`. With the profile of a whole component, an
    /// index counts through all modules, as in the profile.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read or is invalid, or if none or several of its modules fit.
    pub fn load(&self, path: &Path, asked: &str, hashes: &[[u8; 32]]) -> Result<(Module, String)> {
        let component = match modules::open(&modules::plain_engine()?, path)? {
            Program::Module(module) => {
                let is_told = self.core_module.is_some();
                ensure!(!is_told, "{} is a module, not a component: leave out --core-module", path.display());
                return Ok((module, asked.to_owned()));
            }
            Program::Component(component) => component,
        };
        let all = modules::of_component(&component);
        if let Some(number) = self.core_module {
            let missing =
                || format!("there is no core module {number}: the component has{}", list(&all, 0..all.len()));
            let module = all.get(number).with_context(missing)?;
            return Ok((module.clone(), within(module, asked).unwrap_or(asked).to_owned()));
        }
        if let Some((module, own)) = all.iter().find_map(|module| Some((module, within(module, asked)?))) {
            return Ok((module.clone(), own.to_owned()));
        }
        if hashes.contains(&component.hash())
            && let Some(found) = numbered(&component, asked)
        {
            return Ok(found);
        }
        let is_profiled = |module: &&Module| hashes.iter().any(|hash| module.has_hash(hash));
        let fitting = fitting(&all, asked);
        // Modules of the same code may have other names.
        let named = fitting.iter().map(|&number| &all[number]).find(is_profiled);
        if let Some(module) = named.or_else(|| all.iter().find(is_profiled)) {
            return Ok((module.clone(), asked.to_owned()));
        }
        let number = match fitting[..] {
            // Perhaps a function of that name was inlined.
            [] => return Ok((modules::main_module(&component, path)?, asked.to_owned())),
            [only] => only,
            ref several => bail!(
                "several core modules have a function `{asked}`: choose one with --core-module{}",
                list(&all, several.iter().copied())
            ),
        };
        if all.len() > 1 {
            output::tell_line(format_args!("wprof: this is core module {}", shown(&all, number)));
        }
        Ok((all[number].clone(), asked.to_owned()))
    }
}

/// Returns the function that is asked for in a module, if its name is given before it.
fn within<'a>(module: &Module, asked: &'a str) -> Option<&'a str> {
    asked.strip_prefix(module.name_in_component()?)?.strip_prefix("::")
}

/// Returns the module with the function that has this index in profiles of the component, and its index there.
fn numbered(component: &Component, asked: &str) -> Option<(Module, String)> {
    let index = asked.parse::<u32>().ok()?;
    let all = component.core_modules();
    let core = &all[all.partition_point(|core| core.first_function <= index).checked_sub(1)?];
    Some((core.module.clone(), (index - core.first_function).to_string()))
}

/// Returns the numbers of the modules that have a function with the name or index `asked`, or else with a name of which it
/// is a part. Of modules with the same code and names only the first is returned.
fn fitting(all: &[Module], asked: &str) -> Vec<usize> {
    let functions: Vec<Vec<Named>> = all.iter().map(names::of_module).collect();
    let index = asked.parse::<u32>().ok();
    let is_whole = |named: &Named| index.map_or(named.is_called(asked), |index| index == named.index);
    let is_part = |named: &Named| named.shown().contains(asked);
    let is_first = |number: usize| !all[..number].iter().any(|other| modules::are_alike(other, &all[number]));
    let having = |fits: &dyn Fn(&Named) -> bool| -> Vec<usize> {
        (0..all.len()).filter(|&number| is_first(number) && functions[number].iter().any(fits)).collect()
    };
    let whole = having(&is_whole);
    if whole.is_empty() { having(&is_part) } else { whole }
}

/// Lists modules, for error messages.
fn list(all: &[Module], numbers: impl Iterator<Item = usize>) -> String {
    numbers.map(|number| format!("\n  core module {}", shown(all, number))).collect()
}

/// Returns the number of a module, with its name if it has one.
fn shown(all: &[Module], number: usize) -> String {
    let name = all[number].name().map(names::harmless);
    name.map_or_else(|| number.to_string(), |name| format!("{number} ({name})"))
}
