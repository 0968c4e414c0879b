//! Matches the functions of two profiles.
//!
//! Invariant: each function is in exactly one pair. A key that several functions of one profile share matches none of
//! them, except that functions of the same code are matched in their order if both profiles have as many.

use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;

use super::significance::{Figure, Samples};
use super::{Change, FunctionChange, PathChange};
use crate::{EdgeKind, FunctionProfile, HotPath, Profile};

/// A function that ran in both profiles, or in one of them.
#[derive(Clone, Copy, Debug)]
pub struct Pair<'a> {
    /// The function in the first profile.
    pub before: Option<&'a FunctionProfile>,
    /// The function in the second profile.
    pub after: Option<&'a FunctionProfile>,
}

/// Pairs all functions: first those of the first profile, in its order, then those that only the second profile has.
pub(super) fn pairs<'a>(before: &'a Profile, after: &'a Profile) -> Vec<Pair<'a>> {
    let (partner, is_taken) = (vec![None; before.functions.len()], vec![false; after.functions.len()]);
    let mut matching = Matching { before, after, partner, is_taken };
    if before.module_hash == after.module_hash {
        matching.add_by(|function| Some(function.index));
    } else {
        matching.add_by(|function| Some((function.name.as_ref()?, function.fingerprint)));
        matching.add_by(|function| function.name.as_ref());
        matching.add_by_code();
        matching.add_by(|function| function.name.is_none().then_some(function.fingerprint));
    }
    matching.pairs()
}

struct Matching<'a> {
    before: &'a Profile,
    after: &'a Profile,
    /// By position in the first profile's list: the partner's position in the second profile's list.
    partner: Vec<Option<usize>>,
    /// By position in the second profile's list: whether the function already has a partner.
    is_taken: Vec<bool>,
}

impl<'a> Matching<'a> {
    /// Matches functions without a partner by `key`, where exactly one such function on each side has the key.
    fn add_by<K: Hash + Eq>(&mut self, key: impl Fn(&'a FunctionProfile) -> Option<K>) {
        let befores = unique(&self.before.functions, &key, |at| self.partner[at].is_some());
        let afters = unique(&self.after.functions, &key, |at| self.is_taken[at]);
        for (key, before) in befores {
            if let Some(&after) = afters.get(&key) {
                self.partner[before] = Some(after);
                self.is_taken[after] = true;
            }
        }
    }

    /// Matches functions without a partner by their code, if one of the two has no name.
    fn add_by_code(&mut self) {
        let befores = by_code(&self.before.functions, |at| self.partner[at].is_some());
        let afters = by_code(&self.after.functions, |at| self.is_taken[at]);
        for (code, befores) in befores {
            let same = afters.get(&code).filter(|afters| afters.len() == befores.len());
            for (before, &after) in befores.into_iter().zip(same.into_iter().flatten()) {
                let [ours, theirs] = [&self.before.functions[before], &self.after.functions[after]];
                if ours.name.is_none() || theirs.name.is_none() {
                    self.partner[before] = Some(after);
                    self.is_taken[after] = true;
                }
            }
        }
    }

    fn pairs(&self) -> Vec<Pair<'a>> {
        let pair = |(before, partner): (&'a FunctionProfile, &Option<usize>)| Pair {
            before: Some(before),
            after: partner.map(|after| &self.after.functions[after]),
        };
        let rest = self.after.functions.iter().zip(&self.is_taken).filter(|(_, is_taken)| !**is_taken);
        let rest = rest.map(|(after, _)| Pair { before: None, after: Some(after) });
        self.before.functions.iter().zip(&self.partner).map(pair).chain(rest).collect()
    }
}

/// Returns the positions of functions without a partner, by the keys that only one of them has.
fn unique<'a, K: Hash + Eq>(
    functions: &'a [FunctionProfile],
    key: impl Fn(&'a FunctionProfile) -> Option<K>,
    has_partner: impl Fn(usize) -> bool,
) -> HashMap<K, usize> {
    let mut found: HashMap<K, Option<usize>> = HashMap::new();
    for (at, function) in functions.iter().enumerate().filter(|&(at, _)| !has_partner(at)) {
        if let Some(key) = key(function) {
            found.entry(key).and_modify(|only| *only = None).or_insert(Some(at));
        }
    }
    found.into_iter().filter_map(|(key, only)| Some((key, only?))).collect()
}

/// The part of a function's code that does not depend on where the rest of the module lies: the shape of its graph, the
/// number of instructions in each block, and why control takes each edge.
type Code = (u64, Vec<u32>, Vec<EdgeKind>);

/// Returns the positions of functions without a partner by their code.
fn by_code(functions: &[FunctionProfile], has_partner: impl Fn(usize) -> bool) -> HashMap<Code, Vec<usize>> {
    let mut found: HashMap<Code, Vec<usize>> = HashMap::new();
    for (at, function) in functions.iter().enumerate().filter(|&(at, _)| !has_partner(at)) {
        let ops = function.blocks.iter().map(|block| block.ops).collect();
        let kinds = function.edges.iter().map(|edge| edge.kind).collect();
        found.entry((function.fingerprint, ops, kinds)).or_default().push(at);
    }
    found
}

impl Pair<'_> {
    /// Reports whether both functions have the same shape, so that edges and paths correspond.
    fn has_one_shape(&self) -> bool {
        let edges = |function: &FunctionProfile| {
            function.edges.iter().map(|edge| (edge.from, edge.to)).collect::<Vec<_>>()
        };
        let same = |(a, b): (&FunctionProfile, &FunctionProfile)| {
            a.fingerprint == b.fingerprint && edges(a) == edges(b)
        };
        self.before.zip(self.after).is_some_and(same)
    }

    fn figure(&self, figure: impl Fn(&FunctionProfile) -> u64) -> Change {
        let whole = |function: &FunctionProfile| function.kind.scaled_up(figure(function));
        let [before, after] = [self.before, self.after].map(|function| function.map_or(0, whole));
        Change { before, after }
    }

    fn may_be_chance(&self, samples: &Samples, figure: impl Fn(&FunctionProfile) -> Figure) -> bool {
        let [before, after] = [self.before, self.after]
            .map(|function| function.filter(|_| !samples.are_exact()).map_or_else(Figure::default, &figure));
        samples.may_be_chance(before, after)
    }

    pub(super) fn change(&self, samples: &Samples) -> FunctionChange {
        let [before, after] = [self.before, self.after];
        FunctionChange {
            index_before: before.map(|function| function.index),
            index_after: after.map(|function| function.index),
            name: [before, after].into_iter().flatten().find_map(|function| function.name.clone()),
            was_reshaped: before.is_some() && after.is_some() && !self.has_one_shape(),
            ops: self.figure(FunctionProfile::ops),
            calls: self.figure(FunctionProfile::calls),
            ops_may_be_chance: self.may_be_chance(samples, Figure::of_ops),
            calls_may_be_chance: self.may_be_chance(samples, Figure::of_calls),
        }
    }

    pub(super) fn edges(&self) -> Vec<Change> {
        let counts = |function: Option<&FunctionProfile>| -> Vec<u64> {
            function.and_then(|function| function.counts.edges()).map_or_else(Vec::new, <[u64]>::to_vec)
        };
        let (before, after) = (counts(self.before), counts(self.after));
        if self.has_one_shape() {
            return before.into_iter().zip(after).map(|(before, after)| Change { before, after }).collect();
        }
        let gone = before.into_iter().map(|before| Change { before, after: 0 });
        gone.chain(after.into_iter().map(|after| Change { before: 0, after })).collect()
    }

    pub(super) fn paths(&self, samples: &Samples) -> Vec<PathChange> {
        let both = self.before.zip(self.after).filter(|_| self.has_one_shape());
        let Some((before, after)) = both else { return Vec::new() };
        let mut costs: BTreeMap<u64, (Option<HotPath>, Option<HotPath>)> = BTreeMap::new();
        for path in before.path_costs() {
            let sides = costs.entry(path.id).or_default();
            sides.0 = Some(path);
        }
        for path in after.path_costs() {
            let sides = costs.entry(path.id).or_default();
            sides.1 = Some(path);
        }
        let change = |(id, (was, is)): (u64, (Option<HotPath>, Option<HotPath>))| {
            let both = |figure: fn(&HotPath) -> u64| Change {
                before: was.as_ref().map_or(0, |path| before.kind.scaled_up(figure(path))),
                after: is.as_ref().map_or(0, |path| after.kind.scaled_up(figure(path))),
            };
            let sample = |path: &Option<HotPath>, kind| {
                path.as_ref().map_or_else(Figure::default, |path| Figure::of_path(path, kind))
            };
            PathChange {
                index_before: before.index,
                index_after: after.index,
                id,
                count: both(|path| path.count),
                ops: both(|path| path.ops),
                may_be_chance: samples.may_be_chance(sample(&was, before.kind), sample(&is, after.kind)),
            }
        };
        costs.into_iter().map(change).collect()
    }
}
