//! The sum of two profiles of one module.
//!
//! Input: two valid profiles. Output: one that describes the runs of both.
//! Invariant: commutative and associative; sums saturate at 2^64 - 1 (which preserves both laws, and which
//! [`Profile::verify`] then exempts from the flow law); the sum of edge counts and block counts consists of block
//! counts; on an error the receiver is unchanged.
//! Oracle: the laws, and the profile of the concatenated logs, in `tests/it/merge.rs`.

use super::{CodeStats, FunctionCounts, FunctionProfile, Profile, Supergraphs, event_total, thread};
use crate::counts::metric;
use crate::{BlockCounts, ContextTree, FigureKind, Metric};

/// The reason why two profiles have no sum.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MergeError {
    /// The profiles belong to different modules.
    #[error(
        "the profiles are of different modules ({}… and {}…): merge only profiles of one build",
        hex4(.0), hex4(.1)
    )]
    OtherModule([u8; 32], [u8; 32]),
    /// One profile is exact and the other a sample.
    #[error(
        "one profile is exact and the other a sample, so their counts have no sum: merge profiles that were taken alike"
    )]
    OtherKind,
    /// The profiles belong to one module but divide a function differently.
    #[error(
        "the profiles divide function {index} into blocks differently: take both with the same version of wprof"
    )]
    OtherShape {
        /// Index of the function.
        index: u32,
    },
}

fn hex4(hash: &[u8; 32]) -> String {
    hash[..4].iter().map(|byte| format!("{byte:02x}")).collect()
}

impl Profile {
    /// Adds another profile of the same module. Keeps only the event kinds and metrics that both have, and calling
    /// contexts, allocations, extended paths, paths across calls, sampled time, threads and figures of the garbage collector
    /// only if both have them. Threads with one number are added up. The sum has no time line. The sum of two samples is a
    /// sample of the combined share of both runs.
    ///
    /// # Errors
    /// Fails if the other profile belongs to another module, divides a function into other blocks, or if one is exact
    /// and the other a sample.
    pub fn merge(&mut self, other: &Self) -> Result<(), MergeError> {
        self.check_mergeable(other)?;
        let metrics = metric::merged(&self.metrics, &other.metrics);
        let [contexts, others] = [&*self, other].map(|profile| profile.contexts_with(&metrics));
        self.merge_code(other, metrics)?;
        self.program = first_name(&self.program, &other.program).to_owned();
        self.runs.extend_from_slice(&other.runs);
        self.host_calls.extend_from_slice(&other.host_calls);
        self.events = event_total::merged(&self.events, &other.events);
        self.contexts = match (&contexts, &others) {
            (Some(contexts), Some(others)) => Some(contexts.merged(others)),
            _ => None,
        };
        self.code = self.code.merged(other.code);
        for (part, other) in self.parts.iter_mut().zip(&other.parts) {
            part.code = part.code.merged(other.code);
        }
        self.time = self.time.as_ref().zip(other.time.as_ref()).map(|(ours, theirs)| ours.merged(theirs));
        self.merge_threads(other);
        let both = self.collector.as_ref().zip(other.collector.as_ref());
        self.collector = both.map(|(ours, theirs)| ours.merged(*theirs));
        // Two runs have no common time line.
        self.timeline = None;
        let accuracy = self.accuracy.zip(other.accuracy);
        self.accuracy = accuracy.map(|(ours, theirs)| ours.merged(theirs));
        self.bursts = match (self.bursts, other.bursts) {
            (Some(ours), Some(theirs)) => Some(ours.saturating_add(theirs)),
            (ours, theirs) => ours.or(theirs),
        };
        self.skipped = match (&self.skipped, &other.skipped) {
            (Some(ours), Some(theirs)) => Some(ours.merged(theirs)),
            (ours, theirs) => ours.clone().or_else(|| theirs.clone()),
        };
        self.normalize();
        Ok(())
    }

    /// Adds the counts that another instance of the same module, or of one with the same code, has for itself in the same
    /// run, with the same metrics. What belongs to the run rather than to an instance (calls of the host, events, calling
    /// contexts, time, the number of bursts) stays as it is.
    ///
    /// # Errors
    /// Fails under the conditions of [`merge`](Self::merge).
    pub fn add_instance(&mut self, other: &Self) -> Result<(), MergeError> {
        self.check_mergeable(other)?;
        self.merge_code(other, self.metrics.clone())?;
        self.code = self.code.merged(other.code);
        self.skipped = match (self.skipped.take(), &other.skipped) {
            (Some(ours), Some(theirs)) => Some(ours.merged_in_run(theirs)),
            (ours, theirs) => ours.or_else(|| theirs.clone()),
        };
        self.normalize();
        Ok(())
    }

    /// Adds up threads by number. Like the sum, they have time and contexts only if both profiles have them.
    fn merge_threads(&mut self, other: &Self) {
        self.threads = thread::merged(&self.threads, &other.threads);
        for thread in &mut self.threads {
            thread.time = thread.time.take().filter(|_| self.time.is_some());
            thread.contexts = thread.contexts.take().filter(|_| self.contexts.is_some());
        }
    }

    fn check_mergeable(&self, other: &Self) -> Result<(), MergeError> {
        if self.module_hash != other.module_hash {
            return Err(MergeError::OtherModule(self.module_hash, other.module_hash));
        }
        match self.is_counted() && other.is_drawn() || self.is_drawn() && other.is_counted() {
            true => Err(MergeError::OtherKind),
            false => Ok(()),
        }
    }

    /// Adds what is known of functions, with these metrics, which both have.
    fn merge_code(&mut self, other: &Self, metrics: Vec<Metric>) -> Result<(), MergeError> {
        let [ours, theirs] = [&*self, other].map(|profile| profile.with_metrics(&metrics));
        self.functions = merge_functions(&ours, &theirs)?;
        self.metrics = metrics;
        self.call_targets.extend_from_slice(&other.call_targets);
        let both = self.extended.as_ref().zip(other.extended.as_ref());
        self.extended = both.and_then(|(ours, theirs)| ours.merged(theirs));
        match self.branches.is_empty() || other.branches.is_empty() {
            true => self.branches.clear(),
            false => self.branches.extend_from_slice(&other.branches),
        }
        let both = self.allocations.as_ref().zip(other.allocations.as_ref());
        self.allocations = both.map(|(ours, theirs)| ours.merged(theirs));
        let both = self.supergraphs.as_ref().zip(other.supergraphs.as_ref());
        self.supergraphs = both.and_then(|(ours, theirs)| ours.merged(theirs).transpose()).transpose()?;
        Ok(())
    }

    /// Reports whether code or contexts were counted exactly.
    fn is_counted(&self) -> bool {
        let contexts = self.contexts.as_ref().filter(|_| self.bursts.is_none());
        let kinds = self.functions.iter().map(|function| function.kind);
        kinds.chain(contexts.map(|tree| tree.kind)).any(|kind| kind == FigureKind::Exact)
    }

    /// Reports whether the profile is of bursts, also if they saw nothing.
    fn is_drawn(&self) -> bool {
        self.sampled().is_some() || self.bursts.is_some() && !self.is_counted()
    }

    /// Returns the calling contexts with only some of the path metrics.
    fn contexts_with(&self, kept: &[Metric]) -> Option<ContextTree> {
        let columns = metric::columns(&self.metrics, kept);
        let mut contexts = self.contexts.clone()?;
        let keep = |figures: &mut Vec<u64>| {
            *figures = columns.iter().map(|&column| figures[column]).collect();
        };
        for record in &mut contexts.records {
            record.paths.iter_mut().for_each(|path| keep(&mut path.metrics));
            record.unfinished.iter_mut().for_each(|path| keep(&mut path.metrics));
        }
        Some(contexts)
    }

    /// Returns the functions with only some of the metrics.
    fn with_metrics(&self, kept: &[Metric]) -> Vec<FunctionProfile> {
        let columns = metric::columns(&self.metrics, kept);
        let mut functions = self.functions.clone();
        let paths = functions.iter_mut().filter_map(|function| function.counts.paths_mut());
        paths.for_each(|paths| paths.keep_columns(&columns));
        functions
    }
}

impl Supergraphs {
    /// Returns the sum; none if other calls are marked.
    fn merged(&self, other: &Self) -> Result<Option<Self>, MergeError> {
        if !self.are_marked_as(other) {
            return Ok(None);
        }
        let functions = |graphs: &Self| -> Vec<FunctionProfile> {
            graphs.functions.iter().map(|graph| graph.function.clone()).collect()
        };
        let functions = merge_functions(&functions(self), &functions(other))?;
        Ok(Some(self.with(functions, Some(other))))
    }
}

/// Returns the union of two sorted lists, with the sum where an index is in both.
fn merge_functions(a: &[FunctionProfile], b: &[FunctionProfile]) -> Result<Vec<FunctionProfile>, MergeError> {
    let (mut a, mut b) = (a.iter().peekable(), b.iter().peekable());
    let mut sum = Vec::with_capacity(a.len().max(b.len()));
    while let (Some(left), Some(right)) = (a.peek(), b.peek()) {
        match left.index.cmp(&right.index) {
            std::cmp::Ordering::Less => sum.extend(a.next().cloned()),
            std::cmp::Ordering::Greater => sum.extend(b.next().cloned()),
            std::cmp::Ordering::Equal => {
                sum.push(left.merged(right)?);
                a.next();
                b.next();
            }
        }
    }
    sum.extend(a.chain(b).cloned());
    Ok(sum)
}

impl FunctionProfile {
    fn merged(&self, other: &Self) -> Result<Self, MergeError> {
        if !self.has_shape_of(other) {
            return Err(MergeError::OtherShape { index: self.index });
        }
        let mut sum = Self { counts: self.merged_counts(other), ..self.clone() };
        sum.exits.extend_from_slice(&other.exits);
        sum.kind = self.kind.merged(other.kind);
        sum.cost.counters = self.cost.counters.max(other.cost.counters);
        sum.cost.increments = self.cost.increments.saturating_add(other.cost.increments);
        let names = [&self.name, &other.name].map(|name| name.as_deref().unwrap_or(""));
        sum.name = Some(first_name(names[0], names[1]).to_owned()).filter(|name| !name.is_empty());
        Ok(sum)
    }

    /// Returns the sum of what both count: paths where both have them, blocks where one has nothing else.
    fn merged_counts(&self, other: &Self) -> FunctionCounts {
        let (Some(ours), Some(theirs)) = (self.counts.edges(), other.counts.edges()) else {
            return FunctionCounts::Blocks(self.counts_of_blocks().merged(&other.counts_of_blocks()));
        };
        let edges = ours.iter().zip(theirs).map(|(count, added)| count.saturating_add(*added)).collect();
        match self.paths().zip(other.paths()) {
            Some((ours, theirs)) => FunctionCounts::Paths(edges, ours.merged(theirs)),
            None => FunctionCounts::Edges(edges),
        }
    }

    fn counts_of_blocks(&self) -> BlockCounts {
        BlockCounts { blocks: self.block_counts(), entries: self.calls() }
    }

    /// Reports whether both describe the same blocks and edges.
    pub(super) fn has_shape_of(&self, other: &Self) -> bool {
        self.fingerprint == other.fingerprint
            && self.code == other.code
            && self.blocks == other.blocks
            && self.edges == other.edges
    }
}

impl BlockCounts {
    fn merged(&self, other: &Self) -> Self {
        let both = self.blocks.iter().zip(&other.blocks);
        let blocks = both.map(|(count, added)| count.saturating_add(*added)).collect();
        Self { blocks, entries: self.entries.saturating_add(other.entries) }
    }
}

impl CodeStats {
    /// Merges figures of one module: the larger figure is the later one.
    fn merged(self, other: Self) -> Self {
        Self {
            functions: self.functions.max(other.functions),
            compiled: self.compiled.max(other.compiled),
            counters: self.counters.max(other.counters),
        }
    }
}

/// Returns the first non-empty name, in an order that does not depend on the arguments' order.
fn first_name<'a>(a: &'a str, b: &'a str) -> &'a str {
    match (a.is_empty(), b.is_empty()) {
        (true, _) => b,
        (_, true) => a,
        _ => a.min(b),
    }
}
