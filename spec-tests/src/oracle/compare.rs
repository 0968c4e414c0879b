//! Compares a profile with the counts of the self-counting module.

use std::collections::BTreeMap;

use wprof_jit::cfg::{Cfg, End};
use wprof_profiler::{EdgeId, FunctionProfile, Profile, UnfinishedExit};

use super::{Oracle, What, counts_edges};

/// The amount of work that has been compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Compared {
    /// Functions that ran.
    pub functions: u64,
    /// Blocks that ran.
    pub blocks: u64,
    /// Edges of functions that ran, taken or not.
    pub edges: u64,
    /// Instructions counted one by one, dead instructions included.
    pub instructions: u64,
    /// Executed instructions, as counted by the profile.
    pub executed: u64,
    /// Frames that ended in the middle of a block.
    pub unfinished: u64,
}

impl Compared {
    /// Returns the sum of both.
    #[must_use]
    pub fn plus(self, other: Compared) -> Compared {
        Compared {
            functions: self.functions + other.functions,
            blocks: self.blocks + other.blocks,
            edges: self.edges + other.edges,
            instructions: self.instructions + other.instructions,
            executed: self.executed + other.executed,
            unfinished: self.unfinished + other.unfinished,
        }
    }
}

/// Checks that `profile` equals the counts of the globals of `oracle`.
///
/// # Errors
/// Returns the first difference that it finds.
pub fn compare(oracle: &Oracle, counts: &[u64], profile: &Profile) -> Result<Compared, String> {
    profile.verify().map_err(|e| e.to_string())?;
    if counts.len() != oracle.places.len() {
        return Err(format!("{} counts for {} places", counts.len(), oracle.places.len()));
    }
    let mut counted: BTreeMap<u32, BTreeMap<What, u64>> = BTreeMap::new();
    for (place, count) in oracle.places.iter().zip(counts) {
        *counted.entry(place.func).or_default().entry(place.what).or_default() += count;
    }
    let first = oracle.places.iter().map(|place| place.func).min().unwrap_or(0);
    let mut compared = Compared::default();
    for (func, counted) in &counted {
        let function = match profile.function(*func) {
            Some(function) => function,
            None if counted.values().all(|&count| count == 0) => continue,
            None => return Err(format!("function {func} ran but is not in the profile")),
        };
        let cfg = &oracle.cfgs[(func - first) as usize];
        let more = Expected { function, cfg, blocks: function.block_counts() }.compare(counted);
        compared = compared.plus(more.map_err(|e| format!("function {func}: {e}\n{cfg}"))?);
    }
    Ok(compared)
}

/// The counts that the profile of one function predicts.
struct Expected<'a> {
    function: &'a FunctionProfile,
    cfg: &'a Cfg,
    blocks: Vec<u64>,
}

impl Expected<'_> {
    fn compare(&self, counted: &BTreeMap<What, u64>) -> Result<Compared, String> {
        let mut differences = Vec::new();
        let mut executed = 0;
        let mut instructions = 0;
        for (&what, &count) in counted {
            let expected = self.count(what);
            if expected != count {
                differences.push(format!("{what:?}: {count} counted, {expected} by the profile"));
            }
            if let What::Instruction(_) = what {
                executed += count;
                instructions += 1;
            }
        }
        if !differences.is_empty() {
            return Err(format!("{}\nexits: {:?}", differences.join("\n"), self.function.exits));
        }
        if instructions > 0 && executed != self.function.ops() {
            let ops = self.function.ops();
            return Err(format!("{executed} instructions counted, {ops} by the profile"));
        }
        let mut edges = (0..self.function.edges.len()).map(|edge| self.edge(edge));
        if let Some(edge) = edges.find(|edge| !counted.contains_key(edge) && self.is_counted(edge)) {
            return Err(format!("{edge:?} is in the profile only"));
        }
        Ok(Compared {
            functions: 1,
            blocks: self.blocks.iter().filter(|&&count| count > 0).count() as u64,
            edges: self.function.edges.len() as u64,
            instructions,
            executed: self.function.ops(),
            unfinished: self.function.exits.iter().map(|exit| exit.count).sum(),
        })
    }

    fn count(&self, what: What) -> u64 {
        match what {
            What::Block(block) => {
                // A frame that found no stack stopped before its first instruction, which is where the global is
                // incremented.
                let start = self.cfg.blocks[block as usize].start;
                self.blocks[block as usize] - self.stopped(block, |exit| exit.offset < start)
            }
            What::Edge(block, edge) => {
                let after: u32 = self.cfg.blocks[..block as usize].iter().map(|b| b.edges.len() as u32).sum();
                let left = self.function.edge_count(EdgeId(after + edge)).unwrap_or(0);
                // A tail call is counted before the lookup of its callee, which may fail.
                let block_of = &self.cfg.blocks[block as usize];
                let is_call = block_of.how == End::TailCall;
                left + self.stopped(block, |exit| is_call && exit.offset >= block_of.end)
            }
            What::Instruction(offset) => self.cfg.block_at(offset).map_or(0, |block| {
                self.blocks[block as usize] - self.stopped(block, |exit| exit.offset < offset)
            }),
        }
    }

    /// Reports whether the module counts an edge. The exits of calls and typed references are counted by the blocks
    /// after them.
    fn is_counted(&self, edge: &What) -> bool {
        let What::Edge(block, _) = *edge else { return true };
        counts_edges(&self.cfg.blocks[block as usize].how)
    }

    /// Returns the number of frames that ended in a block, at places that `at` accepts.
    fn stopped(&self, block: u32, at: impl Fn(&UnfinishedExit) -> bool) -> u64 {
        let here = self.function.exits.iter().filter(|exit| exit.block.0 == block && at(exit));
        here.map(|exit| exit.count).sum()
    }

    /// Returns the edge at a position in the profile, in the oracle's terms.
    fn edge(&self, position: usize) -> What {
        let from = self.function.edges[position].from;
        let earlier = self.function.edges[..position].iter().filter(|edge| edge.from == from).count();
        What::Edge(from.0, earlier as u32)
    }
}
