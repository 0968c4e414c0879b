//! The reoptimizer's view of a profile.
//!
//! Input: a [`Profile`], exact or sampled. Output: for each function that ran, the counts of its blocks, its hot paths,
//! and the targets of its indirect calls.

use std::collections::BTreeMap;

use hashbrown::{HashMap, HashSet};
use wprof_profiler::{BlockId, Cfg as Shape, EdgeId, FunctionProfile, Path, Profile};

use super::traces;
use crate::graph::HotPath;
use crate::hints::calls_by_site;

/// The advice about the functions of a module.
#[derive(Clone, Debug, Default)]
pub struct Advice {
    functions: HashMap<u32, FunctionAdvice>,
    /// The number of executed instructions of all functions.
    pub ops: u64,
}

/// The advice about one function.
#[derive(Clone, Debug)]
pub struct FunctionAdvice {
    /// The fingerprint of the function's graph.
    pub fingerprint: u64,
    /// The number of calls of the function.
    pub calls: u64,
    /// The number of executions of each block.
    pub counts: Vec<u64>,
    /// The number of executed instructions.
    pub ops: u64,
    /// The function's paths, or traces where only edges were counted, each with its number of executed instructions;
    /// largest number first.
    pub paths: Vec<(HotPath, u64)>,
    /// By byte offset in the module of a call through a table: the called functions with their numbers of calls,
    /// largest first, and the total number of calls.
    pub targets: BTreeMap<u32, Targets>,
}

/// The targets of a call through a table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Targets {
    /// The called functions of the module with their numbers of calls, largest first.
    pub functions: Vec<(u32, u64)>,
    /// The total number of calls, including those of other functions.
    pub calls: u64,
}

impl Advice {
    /// Derives advice from a profile. Functions of which only blocks were counted, or whose counts are contradictory,
    /// are left out.
    pub fn new(profile: &Profile) -> Advice {
        let functions = profile.functions.iter().filter_map(|f| Some((f.index, FunctionAdvice::new(f)?)));
        let mut advice: Advice = functions.collect();
        for ((func, site), targets) in calls_by_site(profile) {
            if let Some(function) = advice.functions.get_mut(&func) {
                function.targets.insert(site, Targets::new(targets));
            }
        }
        advice
    }

    /// Returns the advice for the time since the same source gave `before`.
    #[must_use]
    pub fn since(&self, before: &Advice) -> Advice {
        let since = |(&func, now): (&u32, &FunctionAdvice)| match before.function(func, now.fingerprint) {
            Some(before) => (func, now.since(before)),
            None => (func, now.clone()),
        };
        self.functions.iter().map(since).collect()
    }

    /// Returns the advice about a function.
    pub fn get(&self, func: u32) -> Option<&FunctionAdvice> {
        self.functions.get(&func)
    }

    /// Returns the advice about a function with a graph of this fingerprint.
    pub fn function(&self, func: u32, fingerprint: u64) -> Option<&FunctionAdvice> {
        self.get(func).filter(|function| function.fingerprint == fingerprint)
    }

    /// Returns the number of a function's instructions that the profile has seen.
    pub fn ops_of(&self, func: u32) -> u64 {
        self.get(func).map_or(0, |function| function.ops)
    }

    /// Returns the functions that execute at least this share of all instructions, largest first.
    pub fn hot_functions(&self, least_share: f64) -> Vec<u32> {
        let least = least_share * self.ops as f64;
        let mut hot: Vec<(u64, u32)> = self
            .functions
            .iter()
            .map(|(&func, f)| (f.ops, func))
            .filter(|(ops, _)| *ops as f64 >= least)
            .collect();
        hot.sort_unstable_by_key(|&(ops, func)| (std::cmp::Reverse(ops), func));
        hot.into_iter().map(|(_, func)| func).collect()
    }
}

impl FromIterator<(u32, FunctionAdvice)> for Advice {
    fn from_iter<I: IntoIterator<Item = (u32, FunctionAdvice)>>(functions: I) -> Advice {
        let functions: HashMap<u32, FunctionAdvice> = functions.into_iter().collect();
        let ops = functions.values().map(|f| f.ops).fold(0, u64::saturating_add);
        Advice { functions, ops }
    }
}

impl Targets {
    fn new(calls: BTreeMap<Option<u32>, u64>) -> Targets {
        let all = calls.values().copied().fold(0, u64::saturating_add);
        let functions = calls.into_iter().filter_map(|(func, calls)| Some((func?, calls)));
        Targets { functions: most_first(functions), calls: all }
    }

    /// Returns the function called most, and its share of the calls.
    pub fn most(&self) -> Option<(u32, f64)> {
        let &(func, _) = self.functions.first()?;
        Some((func, self.share_of(func)))
    }

    /// Returns a function's share of the calls.
    pub fn share_of(&self, func: u32) -> f64 {
        self.calls_of(func) as f64 / self.calls.max(1) as f64
    }

    fn calls_of(&self, func: u32) -> u64 {
        let found = self.functions.iter().find(|&&(called, _)| called == func);
        found.map_or(0, |&(_, calls)| calls)
    }

    fn since(&self, before: &Targets) -> Targets {
        let since = |&(func, calls): &(u32, u64)| (func, calls.saturating_sub(before.calls_of(func)));
        let functions = most_first(self.functions.iter().map(since));
        Targets { functions, calls: self.calls.saturating_sub(before.calls) }
    }
}

/// Sorts functions by their numbers of calls, largest first.
fn most_first(functions: impl Iterator<Item = (u32, u64)>) -> Vec<(u32, u64)> {
    let mut functions: Vec<(u32, u64)> = functions.filter(|&(_, calls)| calls > 0).collect();
    functions.sort_unstable_by_key(|&(func, calls)| (std::cmp::Reverse(calls), func));
    functions
}

impl FunctionAdvice {
    fn new(function: &FunctionProfile) -> Option<FunctionAdvice> {
        let (counts, shape) = (function.edge_counts()?, function.cfg().ok()?);
        let hot = |path: &Path, count| hot_path(&shape, path, count);
        let mut paths: Vec<HotPath> = match (function.paths(), function.path_numbering()) {
            (Some(paths), Some(numbering)) => {
                let finished = paths.finished.iter();
                finished.filter_map(|path| hot(&numbering.path(path.id)?, path.count)).collect()
            }
            _ => traces::grown(&shape, &counts)
                .into_iter()
                .filter_map(|(path, count)| hot(&path, count))
                .collect(),
        };
        let ops = |path: &HotPath| {
            let blocks = blocks(&shape, path);
            blocks
                .map(|block| u64::from(function.blocks[block.index()].ops))
                .sum::<u64>()
                .saturating_mul(path.count)
        };
        let mut paths: Vec<(HotPath, u64)> = paths.drain(..).map(|path| (path.clone(), ops(&path))).collect();
        paths.sort_by_key(|(_, ops)| std::cmp::Reverse(*ops));
        let (calls, ops) = (counts.entries, function.ops());
        Some(FunctionAdvice {
            fingerprint: function.fingerprint,
            calls,
            counts: counts.blocks,
            ops,
            paths,
            targets: BTreeMap::new(),
        })
    }

    /// Returns the paths that execute at least this share of the function's instructions.
    pub fn hot_paths(&self, least_share: f64) -> impl Iterator<Item = &(HotPath, u64)> {
        let least = least_share * self.ops as f64;
        self.paths.iter().take_while(move |(_, executed)| *executed as f64 >= least)
    }

    /// Returns the share of the function's instructions that these paths of it execute.
    pub fn share_of<'a>(&self, paths: impl Iterator<Item = &'a (HotPath, u64)>) -> f64 {
        let paths: HashSet<(u32, &[u32])> = paths.map(|(path, _)| path.place()).collect();
        let own = self.paths.iter().filter(|(path, _)| paths.contains(&path.place()));
        own.map(|(_, executed)| executed).sum::<u64>() as f64 / self.ops.max(1) as f64
    }

    fn since(&self, before: &FunctionAdvice) -> FunctionAdvice {
        let counts = self.counts.iter().zip(&before.counts).map(|(now, then)| now.saturating_sub(*then));
        FunctionAdvice {
            fingerprint: self.fingerprint,
            calls: self.calls.saturating_sub(before.calls),
            counts: counts.collect(),
            ops: self.ops.saturating_sub(before.ops),
            paths: self.paths_since(before),
            targets: self.targets_since(before),
        }
    }

    fn paths_since(&self, before: &FunctionAdvice) -> Vec<(HotPath, u64)> {
        let then: HashMap<_, _> =
            before.paths.iter().map(|(path, executed)| (path.place(), (path.count, *executed))).collect();
        let since = |(path, executed): &(HotPath, u64)| {
            let &(count, before) = then.get(&path.place()).unwrap_or(&(0, 0));
            let count = path.count.saturating_sub(count);
            (HotPath { count, ..path.clone() }, executed.saturating_sub(before))
        };
        let mut paths: Vec<(HotPath, u64)> =
            self.paths.iter().map(since).filter(|(path, _)| path.count > 0).collect();
        paths.sort_by_key(|(_, executed)| std::cmp::Reverse(*executed));
        paths
    }

    fn targets_since(&self, before: &FunctionAdvice) -> BTreeMap<u32, Targets> {
        let since = |(site, now): (&u32, &Targets)| {
            let then = before.targets.get(site);
            (*site, then.map_or_else(|| now.clone(), |then| now.since(then)))
        };
        self.targets.iter().map(since).collect()
    }
}

/// Describes a path by the number of each edge in its block.
fn hot_path(shape: &Shape, path: &Path, count: u64) -> Option<HotPath> {
    let number = |&edge: &EdgeId| {
        let first = shape.out_edges(shape.edge(edge).from).first()?;
        edge.0.checked_sub(first.0)
    };
    let edges = path.edges.iter().filter(|edge| edge.index() < shape.edge_count()).map(number);
    Some(HotPath { start: path.start.0, edges: edges.collect::<Option<_>>()?, count })
}

/// Returns the blocks of a path.
fn blocks<'a>(shape: &'a Shape, path: &'a HotPath) -> impl Iterator<Item = BlockId> + 'a {
    let mut block = BlockId(path.start);
    path.edges.iter().map(move |&edge| {
        let now = block;
        block = shape.edge(shape.out_edges(block)[edge as usize]).to;
        now
    })
}
