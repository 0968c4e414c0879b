//! What a profile tells the reoptimizer.
//!
//! Input: a [`Profile`], exact or sampled. Output: for each function that ran how often its blocks did, its hot paths, and
//! where its indirect calls went.

use std::collections::BTreeMap;

use hashbrown::HashMap;
use wprof_profiler::{BlockId, Cfg as Shape, EdgeId, FunctionProfile, Path, Profile};

use super::traces;
use crate::graph::HotPath;
use crate::hints::calls_by_site;

/// What is known of the functions of a module.
#[derive(Clone, Debug, Default)]
pub struct Advice {
    functions: HashMap<u32, FunctionAdvice>,
    /// Executed instructions of all of them.
    pub ops: u64,
}

/// What is known of a function.
#[derive(Clone, Debug)]
pub struct FunctionAdvice {
    /// Of its graph.
    pub fingerprint: u64,
    /// How often it was called.
    pub calls: u64,
    /// How often each of its blocks ran.
    pub counts: Vec<u64>,
    /// How many instructions it executed.
    pub ops: u64,
    /// Its paths, or traces where only edges were counted, those first that executed most; with how many instructions they did.
    pub paths: Vec<(HotPath, u64)>,
    /// By byte offset in the module of a call through a table: the functions that it called and how often, those first that it
    /// called most; and how many calls it made.
    pub targets: BTreeMap<u32, Targets>,
}

/// Where a call through a table went.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Targets {
    /// Functions of the module, and how often each was called; that first which was called most.
    pub functions: Vec<(u32, u64)>,
    /// How many calls there were, others too.
    pub calls: u64,
}

impl Advice {
    /// What a profile tells. Functions of which only blocks were counted, or whose counts contradict themselves, are left
    /// out.
    pub fn new(profile: &Profile) -> Advice {
        let functions = profile.functions.iter().filter_map(|f| Some((f.index, FunctionAdvice::new(f)?)));
        let mut advice = Advice { functions: functions.collect(), ops: 0 };
        advice.ops = advice.functions.values().map(|f| f.ops).fold(0, u64::saturating_add);
        for ((func, site), targets) in calls_by_site(profile) {
            if let Some(function) = advice.functions.get_mut(&func) {
                function.targets.insert(site, Targets::of(targets));
            }
        }
        advice
    }

    /// What is known of a function with a graph of this fingerprint.
    pub fn function(&self, func: u32, fingerprint: u64) -> Option<&FunctionAdvice> {
        self.functions.get(&func).filter(|function| function.fingerprint == fingerprint)
    }

    /// How many instructions of a function the profile has seen.
    pub fn ops_of(&self, func: u32) -> u64 {
        self.functions.get(&func).map_or(0, |function| function.ops)
    }

    /// The functions that execute at least this share of all instructions, those first that execute most.
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

impl Targets {
    fn of(calls: BTreeMap<Option<u32>, u64>) -> Targets {
        let all = calls.values().copied().fold(0, u64::saturating_add);
        let mut functions: Vec<(u32, u64)> =
            calls.into_iter().filter_map(|(func, calls)| Some((func?, calls))).collect();
        functions.sort_unstable_by_key(|&(func, calls)| (std::cmp::Reverse(calls), func));
        Targets { functions, calls: all }
    }
}

impl FunctionAdvice {
    fn new(function: &FunctionProfile) -> Option<FunctionAdvice> {
        let (counts, shape) = (function.edge_counts()?, function.cfg().ok()?);
        let hot = |path: &Path, count| hot_path(&shape, path, count);
        let mut paths: Vec<HotPath> = match (&function.paths, function.path_numbering()) {
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
}

/// A path by the number of each edge in its block.
fn hot_path(shape: &Shape, path: &Path, count: u64) -> Option<HotPath> {
    let number = |&edge: &EdgeId| {
        let first = shape.out_edges(shape.edge(edge).from).first()?;
        edge.0.checked_sub(first.0)
    };
    let edges = path.edges.iter().filter(|edge| edge.index() < shape.edge_count()).map(number);
    Some(HotPath { start: path.start.0, edges: edges.collect::<Option<_>>()?, count })
}

/// The blocks of a path.
fn blocks<'a>(shape: &'a Shape, path: &'a HotPath) -> impl Iterator<Item = BlockId> + 'a {
    let mut block = BlockId(path.start);
    path.edges.iter().map(move |&edge| {
        let now = block;
        block = shape.edge(shape.out_edges(block)[edge as usize]).to;
        now
    })
}
