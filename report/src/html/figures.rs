//! The figures of each function.
//!
//! Input: a profile. Output: its figures, one column each, in the order of the menu: time in nanoseconds, instructions,
//! calls, then other measurements; time comes last if there are too few samples of it.
//! Invariant: every function has its own figure, without callees. Figures with callees exist only where calling
//! contexts are known; each call counts once, even if functions recurse.

use std::collections::BTreeMap;

use wprof_profiler::{Callee, ContextTree, FunctionProfile, INSTRUCTIONS, PathProfile, Profile, TimeProfile};

use crate::names;

/// The name of the figure for sampled time, which the page formats as a duration.
pub const TIME: &str = "time";

/// One figure of all functions, by function index.
#[derive(Clone, Debug)]
pub struct Figure {
    /// The name of the figure.
    pub name: String,
    /// The functions' own figures, without callees.
    pub own: BTreeMap<u32, u64>,
    /// The figures with all callees.
    pub with_callees: Option<BTreeMap<u32, u64>>,
}

/// A weight of calling contexts: for each call record, its own.
#[derive(Clone, Debug)]
pub struct ContextWeights {
    /// The name of the weight.
    pub name: String,
    /// The weights of the records.
    pub own: Vec<u64>,
}

/// Returns all figures of a profile.
pub fn of_functions(profile: &Profile) -> Vec<Figure> {
    let time = profile.time.as_ref().and_then(of_time);
    let (leading, trailing) = if profile.is_led_by_time() { (time, None) } else { (None, time) };
    let mut figures: Vec<Figure> = leading.into_iter().collect();
    if !profile.functions.is_empty() {
        figures.push(counted(profile, "instructions", FunctionProfile::ops));
        figures.push(counted(profile, "calls", FunctionProfile::calls));
    }
    for weights in of_contexts(profile) {
        let tree = profile.contexts.as_ref().expect("it has weights");
        let found = in_contexts(tree, &weights);
        match figures.iter_mut().find(|figure| figure.name == found.name) {
            // Calls have exact counts already, and calls with callees say little.
            Some(figure) if figure.name != "calls" => figure.with_callees = found.with_callees,
            Some(_) => {}
            None => figures.push(found),
        }
    }
    for (column, metric) in profile.metrics.iter().enumerate() {
        let name = names::harmless(&metric.name);
        if figures.iter().all(|figure| figure.name != name) {
            figures.push(counted(profile, &name, |function| along_paths(function, column)));
        }
    }
    figures.extend(trailing);
    figures
}

/// Returns the figure of sampled time; `None` without samples.
fn of_time(time: &TimeProfile) -> Option<Figure> {
    let (mut own, mut with_callees) = (BTreeMap::new(), BTreeMap::new());
    for routine in time.routines() {
        if let Callee::Function { index, .. } = routine.callee {
            own.insert(*index, routine.own.time_ns);
            with_callees.insert(*index, routine.total.time_ns);
        }
    }
    let has_any = time.total().samples > 0;
    has_any.then(|| Figure { name: TIME.to_owned(), own, with_callees: Some(with_callees) })
}

/// Returns the weights of calling contexts: calls, metrics, and instructions if paths were counted in contexts.
pub fn of_contexts(profile: &Profile) -> Vec<ContextWeights> {
    let Some(tree) = &profile.contexts else { return Vec::new() };
    let metrics = tree.metrics.iter().enumerate().filter(|(_, metric)| metric.name != INSTRUCTIONS);
    let metrics = metrics.map(|(column, metric)| ContextWeights {
        name: names::harmless(&metric.name),
        own: tree.amounts(column),
    });
    let calls = ContextWeights { name: "calls".to_owned(), own: tree.calls() };
    let instructions = profile.instructions_in_contexts();
    let instructions = instructions.map(|own| ContextWeights { name: INSTRUCTIONS.to_owned(), own });
    instructions.into_iter().chain(metrics).chain([calls]).collect()
}

fn counted(profile: &Profile, name: &str, figure: impl Fn(&FunctionProfile) -> u64) -> Figure {
    let own = profile.functions.iter().map(|function| (function.index, figure(function))).collect();
    Figure { name: name.to_owned(), own, with_callees: None }
}

fn in_contexts(tree: &ContextTree, weights: &ContextWeights) -> Figure {
    let inclusive = tree.inclusive(&weights.own);
    let (mut own, mut with_callees) = (BTreeMap::new(), BTreeMap::new());
    for (record, number) in tree.records.iter().zip(0_u32..) {
        // A function is on the way to a record once, so nothing is counted twice.
        if let Callee::Function { index, .. } = tree.routines[record.routine as usize].callee {
            add(own.entry(index).or_default(), weights.own[number as usize]);
            add(with_callees.entry(index).or_default(), inclusive[number as usize]);
        }
    }
    let with_callees = (weights.name != "calls").then_some(with_callees);
    Figure { name: weights.name.clone(), own, with_callees }
}

fn along_paths(function: &FunctionProfile, column: usize) -> u64 {
    let Some(PathProfile { finished, unfinished, .. }) = function.paths() else { return 0 };
    let finished = finished.iter().map(|path| &path.metrics);
    let all = finished.chain(unfinished.iter().map(|path| &path.metrics));
    all.filter_map(|figures| figures.get(column)).fold(0, |sum, amount| sum.saturating_add(*amount))
}

fn add(sum: &mut u64, amount: u64) {
    *sum = sum.saturating_add(amount);
}
