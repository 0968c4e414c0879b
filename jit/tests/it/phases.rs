//! When a better version is made anew, by what bursts tell of late.

use std::collections::BTreeMap;
use std::sync::Arc;

use wprof_jit::graph::HotPath;
use wprof_jit::module::{self, ModuleInfo};
use wprof_jit::plan::Collection;
use wprof_jit::reoptimize::{
    Advice, Basis, FunctionAdvice, Policy, Reoptimizer, SideExits, Targets, Verdict,
};

const SITE: u32 = 77;

fn info() -> ModuleInfo {
    let bytes: Arc<[u8]> = wat::parse_str("(module (func) (func))").expect("valid text").into();
    module::parse(bytes).expect("valid module")
}

/// A function with paths of ten instructions that ran so often, and so many calls of these callees at [`SITE`].
fn function(paths: &[u64], calls: &[(u32, u64)]) -> FunctionAdvice {
    let path = |(number, &count): (u32, &u64)| (HotPath { start: 1, edges: vec![number], count }, 10 * count);
    let mut hot: Vec<_> = (0..).zip(paths).map(path).filter(|(path, _)| path.count > 0).collect();
    hot.sort_by_key(|(_, executed)| std::cmp::Reverse(*executed));
    let mut functions = calls.to_vec();
    functions.sort_by_key(|&(_, calls)| std::cmp::Reverse(calls));
    let targets = Targets { functions, calls: calls.iter().map(|(_, calls)| calls).sum() };
    FunctionAdvice {
        fingerprint: 1,
        calls: 1,
        counts: vec![paths.iter().sum()],
        ops: hot.iter().map(|(_, executed)| executed).sum(),
        paths: hot,
        targets: BTreeMap::from([(SITE, targets)]),
    }
}

/// What has changed between two phases of functions 0, 1, …
fn changes(before: &[FunctionAdvice], recent: &[FunctionAdvice], of: &[u32]) -> Vec<(u32, Verdict)> {
    let advice = |functions: &[FunctionAdvice]| (0..).zip(functions.iter().cloned()).collect::<Advice>();
    let (info, policy, collection) = (info(), Policy::default(), Collection::default());
    let advised = advice(recent);
    let by = Reoptimizer { info: &info, advice: &advised, policy: &policy, collection: &collection };
    let basis = Basis { advice: Arc::new(advice(before)), functions: of.to_vec(), saved: 0.0 };
    by.phase_changes(&basis).into_iter().map(|change| (change.func, change.verdict)).collect()
}

fn left(what: SideExits, predicted: f64, measured: f64) -> Verdict {
    Verdict::PhaseChange { what, predicted, measured }
}

#[test]
fn paths_change_if_others_run_than_those_with_superblocks() {
    let before = function(&[990, 10, 0], &[]);
    let changed = |recent: &[u64]| changes(std::slice::from_ref(&before), &[function(recent, &[])], &[0]);
    assert_eq!(changed(&[1000, 0, 0]), []);
    assert_eq!(changed(&[600, 0, 400]), [], "most of it stays");
    assert_eq!(changed(&[250, 0, 750]), [(0, left(SideExits::Paths, 1.0 - 0.99, 0.75))]);
    assert_eq!(changed(&[0, 100, 0]), [], "too little was seen");
}

#[test]
fn nothing_changes_if_no_superblock_is_worth_it() {
    let before = function(&[1000], &[]);
    let flat = vec![100; 100];
    assert_eq!(changes(&[before], &[function(&flat, &[])], &[0]), []);
}

#[test]
fn callees_change_if_another_one_gets_most_calls() {
    let before = function(&[1000], &[(5, 950), (6, 50)]);
    let changed =
        |calls: &[(u32, u64)]| changes(std::slice::from_ref(&before), &[function(&[1000], calls)], &[0]);
    assert_eq!(changed(&[(5, 900), (6, 100)]), []);
    assert_eq!(changed(&[(5, 500), (6, 500)]), [], "there is no better guess");
    assert_eq!(changed(&[(5, 100), (6, 900)]), [(0, left(SideExits::Callees, 1.0 - 0.95, 0.9))]);
    assert_eq!(changed(&[(5, 0), (6, 2)]), [], "these are few calls");
}

#[test]
fn a_version_changes_with_what_is_inlined_in_it() {
    let before = [function(&[1000], &[]), function(&[1000, 0], &[])];
    let recent = [function(&[1000], &[]), function(&[0, 1000], &[])];
    assert_eq!(changes(&before, &recent, &[0]), []);
    assert_eq!(changes(&before, &recent, &[0, 1]), [(1, left(SideExits::Paths, 0.0, 1.0))]);
}

#[test]
fn what_is_new_is_what_was_not_there() {
    let advice = |function: FunctionAdvice| [(0, function)].into_iter().collect::<Advice>();
    let before = advice(function(&[70, 30, 0], &[(5, 9), (6, 1)]));
    let now = advice(function(&[70, 130, 20], &[(5, 9), (6, 31), (7, 2)]));
    let since = now.since(&before);
    let found = since.get(0).expect("it ran");
    let counts: Vec<(u32, u64)> = found.paths.iter().map(|(path, _)| (path.edges[0], path.count)).collect();
    assert_eq!(counts, [(1, 100), (2, 20)]);
    assert_eq!((found.ops, since.ops, found.counts[0]), (1200, 1200, 120));
    assert_eq!(found.targets[&SITE], Targets { functions: vec![(6, 30), (7, 2)], calls: 32 });
    assert_eq!(now.since(&Advice::default()).ops, now.ops);
}
