//! Runs that several experiments share, each made when the first experiment needs it.

use std::cell::OnceCell;

use anyhow::{Context, Result};
use wprof::profiler::{FunctionProfile, Profile};
use wprof::{Collect, Config, ProfilingConfig};

use crate::placements::{self, Costs};
use crate::programs::{Program, words};
use crate::regress::WORK;
use crate::session::Loaded;
use crate::table::Table;
use crate::tables::{self, What};

/// Programs, and the results that have been made so far.
pub struct Runs<'a> {
    programs: &'a [Program],
    bench: bool,
    placements: OnceCell<Vec<Costs>>,
}

impl<'a> Runs<'a> {
    /// Creates the runs of programs with their arguments for benches, or with those for tests.
    pub fn new(programs: &'a [Program], bench: bool) -> Runs<'a> {
        Runs { programs, bench, placements: OnceCell::new() }
    }

    /// Returns the costs of each placement of counters.
    pub(super) fn placements(&self) -> Result<&[Costs]> {
        if self.placements.get().is_none() {
            let costs = placements::costs(self.programs, self.bench)?;
            return Ok(self.placements.get_or_init(|| costs));
        }
        self.placements.get().map(Vec::as_slice).context("it was there")
    }

    /// Returns one of the tables of `tables`.
    pub(super) fn table(&self, what: What) -> Result<Table> {
        tables::build(&[what], self.bench, self.programs).pop().context("one table was asked for")
    }

    /// Returns the names of the programs.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.programs.iter().map(|program| program.name.as_str())
    }

    /// Makes a table with a row for each program; the row of a program that fails has the reason.
    pub(super) fn each(&self, head: &[&str], row: impl Fn(&Program) -> Result<Vec<String>>) -> Result<Table> {
        let mut table = Table::new(head.iter().copied());
        for program in self.programs {
            eprintln!("{}", program.name);
            table.row(&program.name, row(program).unwrap_or_else(|error| vec![format!("{error:#}")]));
        }
        Ok(table)
    }

    /// Collects results from the profile of each program that `profile` makes, over all functions that ran.
    pub(super) fn functions<T>(
        &self,
        profile: impl Fn(&Program) -> Result<Profile>,
        find: impl Fn(&FunctionProfile) -> Option<T>,
    ) -> Result<Vec<T>> {
        let mut found = Vec::new();
        for program in self.programs {
            eprintln!("{}", program.name);
            found.extend(profile(program)?.functions.iter().filter_map(&find));
        }
        Ok(found)
    }

    /// Returns the arguments for an experiment that makes several runs: the requested ones, but not the longest ones.
    pub(super) fn args_of(&self, program: &Program) -> Vec<String> {
        match WORK.iter().find(|work| work.program == program.name) {
            Some(work) if self.bench => words(work.timed),
            Some(work) => words(work.counted),
            None => program.quick_args.clone(),
        }
    }
}

/// Returns the profile of a run in an engine with this configuration.
pub(super) fn profile(program: &Program, config: &Config, args: &[String]) -> Result<Profile> {
    Loaded::new(program, config)?.run(args)?.profile()
}

/// Returns the profile of a run of another module in the program's place.
pub(super) fn profile_of_module(
    program: &Program,
    wasm: &[u8],
    config: &Config,
    args: &[String],
) -> Result<Profile> {
    Loaded::with_module(program, wasm, config)?.run(args)?.profile()
}

/// Returns the exact paths of a run.
pub(super) fn exact_paths(program: &Program, args: &[String]) -> Result<Profile> {
    let mut config = Config::new();
    config.profiling(ProfilingConfig::Exact(Collect::Paths)).hash_ahead(false);
    profile(program, &config, args)
}
