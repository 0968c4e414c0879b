//! Superblocks by the profile of a hot path table beside those by all paths: Vaswani 2007, figure 5.9.

use std::collections::BTreeSet;
use std::sync::Arc;

use anyhow::{Error, Result};
use wprof::profiler::{
    BlockId, BurstEvent, DecisionKind, HotPathTable, Path, PathEnd, PathName, Profile, Residual, UntestedPath,
};
use wprof::{Adaptive, Config, ProfilingConfig};

use super::Runs;
use super::bursts::{Recorded, configured};
use super::runs::{exact_paths, profile};
use crate::programs::Program;
use crate::table::Table;

/// The shapes of the table: entries, and entries of a set. The last one is the thesis's.
const SHAPES: [(usize, usize); 3] = [(16, 4), (64, 4), (512, 4)];

/// A path of a function, by their numbers.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Numbered(u32, u64);

impl PathName for Numbered {
    fn index(&self) -> u32 {
        (self.0 << 12) ^ (self.1 as u32) ^ ((self.1 >> 32) as u32)
    }
}

/// Makes the table: the superblocks by all paths, and by tables of each shape, with those in the same places. All runs have
/// the same input.
pub fn by_table(runs: &Runs<'_>) -> Result<Table> {
    let shaped = |&(entries, ways): &(usize, usize)| {
        [format!("by a table of {entries}/{ways}"), "in the same places".to_owned()]
    };
    let head: Vec<String> = ["paths".to_owned(), "superblocks by all paths".to_owned()]
        .into_iter()
        .chain(SHAPES.iter().flat_map(shaped))
        .collect();
    runs.each(&head.iter().map(String::as_str).collect::<Vec<_>>(), |program| {
        let args = runs.args_of(program);
        let complete = exact_paths(program, &args)?;
        let order = Recorded::new(program, &args, &mut configured("1:inf", "default")?)?.events;
        let all = superblocks(program, &args, &complete)?;
        let paths = complete.functions.iter().filter_map(|function| function.paths());
        let paths: usize = paths.map(|paths| paths.finished.len()).sum();
        let mut row = vec![paths.to_string(), all.len().to_string()];
        for shape in SHAPES {
            let seen = of_table(&complete, &counted(shape, &order));
            let found = superblocks(program, &args, &seen)?;
            row.extend([found.len(), found.intersection(&all).count()].map(|count| count.to_string()));
        }
        Ok(row)
    })
}

/// Returns a table that has counted the paths of a run.
fn counted((entries, ways): (usize, usize), order: &[BurstEvent]) -> HotPathTable<Numbered> {
    let mut table = HotPathTable::new(entries, ways);
    for event in order {
        if let BurstEvent::Path { func, id } = *event {
            table.count(Numbered(func, id));
        }
    }
    table
}

/// Returns the profile of what is in a table, which is part of a complete one.
fn of_table(complete: &Profile, table: &HotPathTable<Numbered>) -> Profile {
    let path = |(path, count): (&Numbered, u64)| UntestedPath {
        function: path.0,
        end: PathEnd::Finished(path.1),
        path: Path { start: BlockId::ENTRY, edges: Vec::new() },
        count,
        ops: 0,
        new_edges: Vec::new(),
    };
    complete.only(&Residual { paths: table.paths().map(path).collect(), ..Residual::default() })
}

/// Returns the places of the superblocks that a profile leads to: functions of versions, and offsets.
fn superblocks(program: &Program, args: &[String], by: &Profile) -> Result<BTreeSet<(u32, u32)>> {
    // No bursts: they would lead to superblocks of their own.
    let lengths = "inf:1".parse().map_err(Error::msg)?;
    let mut config = Config::new();
    config.profiling(ProfilingConfig::Adaptive(Adaptive { lengths, ..Adaptive::default() }));
    config.profile_use(Arc::new(by.clone())).background_compilation(false).time_line(true);
    let versions = profile(program, &config, args)?.timeline.map_or(Vec::new(), |line| line.versions);
    let places = versions.iter().flat_map(|version| {
        let made = version.decisions.iter().filter(|decision| decision.kind == DecisionKind::Superblock);
        made.map(|decision| (version.function, decision.offset))
    });
    Ok(places.collect())
}
