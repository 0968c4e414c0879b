//! Calling contexts for the flame graph: stacks with their weights, of one profile or of two.
//!
//! Invariant: each stack follows its caller's stack, which is always included. The lightest stacks are left out; the
//! weights of their callers still include theirs.

use std::collections::HashMap;

use serde::Serialize;
use wprof_profiler::{
    Callee, CommonStacks, Comparison, ContextLog, ContextTree, INSTRUCTIONS, Interval, Profile, Shares,
    Stacks, TimeProfile, Timed,
};

use super::figures::{self, ContextWeights};
use super::functions::tenths;
use super::owners::Owners;
use crate::ownership::{self, Owner};
use crate::render::contexts::{full, shown};

/// The maximum number of stacks, which exceeds the pixels to show them.
const MOST: usize = 50_000;

/// The stacks, column by column.
#[derive(Debug, Serialize)]
pub struct Contexts {
    /// The callees.
    callees: Vec<PageCallee>,
    /// The owner of each callee.
    owner: Vec<Owner>,
    /// For each stack, its caller's stack, or -1.
    caller: Vec<i64>,
    /// For each stack, its innermost callee.
    callee: Vec<u32>,
    weights: Vec<Weights>,
    /// The number of stacks that are not shown.
    left_out: usize,
    /// Whether the callers of some stacks are unknown.
    cut: bool,
}

/// A callee.
#[derive(Debug, Serialize)]
pub struct PageCallee {
    name: String,
    /// The full name, if it differs from the shown one.
    full_name: Option<String>,
    /// The index of a function of the module.
    function: Option<u32>,
}

impl PageCallee {
    /// Converts a callee of the profile.
    pub fn new(callee: &Callee) -> Self {
        let function = match callee {
            Callee::Function { index, .. } => Some(*index),
            _ => None,
        };
        Self { function, ..Self::named(callee) }
    }

    fn named(callee: &Callee) -> Self {
        let name = shown(callee);
        let full_name = Some(full(callee)).filter(|full| *full != name);
        Self { name, full_name, function: None }
    }
}

/// A weight of each stack.
#[derive(Debug, Serialize)]
struct Weights {
    name: String,
    own: Vec<u64>,
    with_callees: Vec<u64>,
    /// The error margins of the shares with callees, in percentage points, if they are sampled.
    points: Option<Vec<f64>>,
    /// The weights in the earlier profile, with callees.
    before: Option<Vec<u64>>,
}

impl Contexts {
    /// Returns the contexts of a profile, if they were counted.
    pub fn new(profile: &Profile, before: Option<&Profile>, owners: &Owners<'_>) -> Option<Self> {
        let none = ContextLog::default().tree();
        let time = profile.time.as_ref().filter(|time| time.total().samples > 0).map(TimeProfile::contexts);
        let tree = profile.contexts.as_ref().or(time.as_ref().map(|_| &none))?;
        let comparison = before.map(|before| Comparison::of_amounts(before, profile));
        let common = comparison.and_then(|comparison| comparison.stacks());
        let weights_before = match (&common, before) {
            (Some(_), Some(before)) => figures::of_contexts(before),
            _ => Vec::new(),
        };
        let mut common = common.unwrap_or_else(|| alone(tree));
        let of_time = time.as_ref().map(|time| (time, common.stacks.add(time, Callee::clone)));
        let stacks = &common.stacks;
        let all = figures::of_contexts(profile).into_iter();
        let mut weights: Vec<Weights> =
            all.map(|weights| Weights::new(&common, &weights, &weights_before)).collect();
        let is_sampled = tree.kind.rate().is_some();
        if let Some(instructions) = weights.iter_mut().find(|found| is_sampled && found.name == INSTRUCTIONS)
        {
            let shares = Shares::new(profile).of_stacks(stacks, &common.after);
            instructions.points =
                shares.map(|shares| shares.iter().map(|share| tenths(share.points())).collect());
        }
        if let Some((time, of_record)) = &of_time {
            let all = profile.time.as_ref().map(TimeProfile::basis).unwrap_or_default();
            weights.insert(0, Weights::of_time(stacks, of_record, &time.amounts(0), all));
        }
        let kept = heaviest(&weights, stacks.stacks.len());
        weights.iter_mut().for_each(|weights| weights.keep(&kept));
        let new_number: HashMap<u32, i64> = kept.iter().copied().zip(0..).collect();
        let caller =
            |stack: &u32| stacks.stacks[*stack as usize].caller.map_or(-1, |caller| new_number[&caller]);
        let callees = callees(&common, tree, of_time.as_ref());
        Some(Self {
            owner: callees
                .iter()
                .zip(&stacks.callees)
                .map(|(shown, callee)| owner(owners, shown, callee))
                .collect(),
            callees,
            caller: kept.iter().map(caller).collect(),
            callee: kept.iter().map(|&stack| stacks.stacks[stack as usize].callee).collect(),
            weights,
            left_out: stacks.stacks.len() - kept.len(),
            cut: tree.is_cut(),
        })
    }
}

/// Returns the owner of a callee; in a comparison of two builds the index of a function is that of the later one.
fn owner(owners: &Owners<'_>, shown: &PageCallee, callee: &Callee) -> Owner {
    match (shown.function, callee) {
        (Some(index), Callee::Function { name, .. }) => owners.of_function(index, name.as_deref()),
        // The function is in the earlier build only.
        (None, Callee::Function { name, .. }) => ownership::of_name(name.as_deref().unwrap_or_default()),
        _ => owners.owner(callee),
    }
}

fn alone(tree: &ContextTree) -> CommonStacks {
    let mut stacks = Stacks::default();
    let after = stacks.add(tree, Callee::clone);
    CommonStacks { stacks, before: Vec::new(), after }
}

impl Weights {
    fn of_time(stacks: &Stacks, of_record: &[Option<u32>], times: &[u64], all: Timed) -> Self {
        let own = stacks.sums(of_record, times);
        let with_callees = stacks.inclusive(&own);
        let points = |&time_ns: &u64| tenths(Interval::of_share(Timed { time_ns, samples: 0 }, all).points());
        let points = Some(with_callees.iter().map(points).collect());
        Self { name: figures::TIME.to_owned(), own, with_callees, points, before: None }
    }

    fn new(common: &CommonStacks, weights: &ContextWeights, all_before: &[ContextWeights]) -> Self {
        let CommonStacks { stacks, before, after } = common;
        let own = stacks.sums(after, &weights.own);
        let earlier = all_before.iter().find(|earlier| earlier.name == weights.name);
        let earlier = earlier.map(|earlier| stacks.inclusive(&stacks.sums(before, &earlier.own)));
        let with_callees = stacks.inclusive(&own);
        Self { name: weights.name.clone(), own, with_callees, points: None, before: earlier }
    }

    /// Returns the columns by which a stack may be heavy, each with its largest weight.
    fn columns(&self) -> impl Iterator<Item = (&Vec<u64>, f64)> {
        let columns = [&self.with_callees].into_iter().chain(&self.before);
        columns.map(|column| (column, column.iter().copied().max().unwrap_or(0).max(1) as f64))
    }

    fn keep(&mut self, kept: &[u32]) {
        for column in [&mut self.own, &mut self.with_callees].into_iter().chain(&mut self.before) {
            *column = kept.iter().map(|&stack| column[stack as usize]).collect();
        }
        if let Some(points) = &mut self.points {
            *points = kept.iter().map(|&stack| points[stack as usize]).collect();
        }
    }
}

/// Returns the [`MOST`] stacks that have the largest shares of any weight, ascending. The weight of a caller is at
/// least its callee's, so the callers of these stacks are among them.
fn heaviest(weights: &[Weights], stacks: usize) -> Vec<u32> {
    let mut shares = vec![0.0_f64; stacks];
    for (column, most) in weights.iter().flat_map(Weights::columns) {
        for (share, weight) in shares.iter_mut().zip(column) {
            *share = share.max(*weight as f64 / most);
        }
    }
    let mut sorted = shares.clone();
    let limit = match stacks > MOST {
        true => *sorted.select_nth_unstable_by(stacks - MOST - 1, f64::total_cmp).1,
        false => -1.0,
    };
    (0..stacks as u32).filter(|&stack| shares[stack as usize] > limit).collect()
}

/// Returns the callees on stacks, and identifies those that are functions of the profile; sampled time has its own
/// stacks.
fn callees(
    common: &CommonStacks,
    tree: &ContextTree,
    of_time: Option<&(&ContextTree, Vec<Option<u32>>)>,
) -> Vec<PageCallee> {
    let mut functions = HashMap::new();
    let sampled = of_time.map(|(time, of_record)| (*time, of_record));
    for (tree, of_record) in [(tree, &common.after)].into_iter().chain(sampled) {
        for (record, stack) in tree.records.iter().zip(of_record) {
            if let (Callee::Function { index, .. }, Some(stack)) =
                (&tree.routines[record.routine as usize].callee, stack)
            {
                functions.insert(common.stacks.stacks[*stack as usize].callee, *index);
            }
        }
    }
    let callees = common.stacks.callees.iter().zip(0..);
    callees
        .map(|(callee, number)| PageCallee {
            function: functions.get(&number).copied(),
            ..PageCallee::named(callee)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lightest_stacks_are_left_out_never_a_caller() {
        let stacks = MOST + 3;
        // One stack calls all others, two of which are heavier than the rest.
        let mut own = vec![1; stacks];
        own[stacks - 1] = 9;
        own[7] = 5;
        let with_callees = [vec![own.iter().sum()], own[1..].to_vec()].concat();
        let kept = heaviest(
            &[Weights { name: String::new(), own, with_callees, points: None, before: None }],
            stacks,
        );
        assert_eq!(kept, [0, 7, stacks as u32 - 1]);
    }
}
