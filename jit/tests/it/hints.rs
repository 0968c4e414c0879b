//! Hints against counts looked up one by one, and as others read and write them.

use std::collections::BTreeMap;
use std::sync::Arc;

use wasmparser::{BinaryReader, BranchHintSectionReader, Operator};
use wprof_jit::cfg::{self, Cfg};
use wprof_jit::hints::{HintAccuracy, Thresholds, branch_hints, compilation_hints, with_sections};
use wprof_jit::module::{ModuleInfo, parse};
use wprof_jit::plan::{Collection, Expected, FunctionPlan, Instrumentation, Plan, SplitCfg, likely_edges};
use wprof_profiler::{
    BlockId, BlockProfile, CallRecord, Callee, CodeRange, ContextLog, EdgeKind, EdgeProfile, FunctionCounts,
    FunctionProfile, Profile, Routine,
};

/// `$choose` has an `if` and a `br_if`, `$main` calls it by index and through the table.
const MODULE: &str = r#"(module
  (table 3 funcref) (elem (i32.const 0) $choose $other $choose)
  (type $t (func (param i32) (result i32)))
  (func $choose (param i32) (result i32)
    (local i64 f32)
    (if (result i32) (local.get 0) (then (i32.const 1)) (else (i32.const 2))))
  (func $other (param i32) (result i32)
    (block (br_if 0 (local.get 0)))
    i32.const 3)
  (func $main (export "main") (param i32) (result i32)
    (drop (call $choose (i32.const 1)))
    (call_indirect (type $t) (local.get 0) (local.get 0)))
  (@custom "mine" "kept"))"#;

fn module(bytes: &[u8]) -> ModuleInfo {
    parse(Arc::from(bytes)).unwrap()
}

fn example() -> ModuleInfo {
    module(&wat::parse_str(MODULE).unwrap())
}

/// A function that went its ways so often; ways are those of its blocks, in order.
fn function(info: &ModuleInfo, index: u32, counts: &[u64]) -> FunctionProfile {
    let cfg = cfg::build(info, index).unwrap();
    let (shape, body) = (cfg.shape(), info.body(index));
    let edges = shape.edges().map(|edge| {
        let wprof_profiler::Edge { from, to } = shape.edge(edge);
        EdgeProfile { from, to, kind: EdgeKind::Jump }
    });
    let block = |block: &cfg::Block| BlockProfile {
        code: CodeRange { start: block.start, end: block.limit },
        ops: block.ops,
    };
    assert_eq!(shape.edge_count(), counts.len());
    FunctionProfile {
        index,
        name: None,
        code: CodeRange { start: body.start as u32, end: body.end as u32 },
        fingerprint: shape.fingerprint(),
        kind: Default::default(),
        blocks: cfg.blocks.iter().map(block).collect(),
        edges: edges.collect(),
        exits: Vec::new(),
        cost: Default::default(),
        counts: FunctionCounts::Edges(counts.to_vec()),
    }
}

/// `$choose` 19 times true and once false, `$other` 5 times each way, `$main` 10 times.
fn profile(info: &ModuleInfo) -> Profile {
    let functions = vec![
        function(info, 0, &[19, 1, 19, 1, 20]),
        function(info, 1, &[5, 5, 5, 10]),
        function(info, 2, &[10]),
    ];
    Profile { functions, contexts: Some(contexts(info)), ..Profile::default() }
}

/// `$main` called `$choose` 10 times at its first call, and at its second 7 times, `$other` 2 times, the host once.
fn contexts(info: &ModuleInfo) -> wprof_profiler::ContextTree {
    let sites = sites(info);
    let callee = |index| Callee::Function { index, name: None };
    let host = Callee::Host { module: "m".to_owned(), name: "h".to_owned() };
    let callees = [Callee::Root, callee(0), callee(1), callee(2), host];
    let routines = callees.map(|callee| Routine { callee, sites: sites.clone() });
    let record = |routine, parent, site, calls| CallRecord {
        routine,
        parent,
        site,
        calls,
        back_edges: Vec::new(),
        metrics: Vec::new(),
        paths: Vec::new(),
        unfinished: Vec::new(),
    };
    let records = vec![
        record(0, 0, 0, 0),
        record(3, 0, 0, 10),
        record(1, 1, sites[0], 10),
        record(1, 1, sites[1], 7),
        record(2, 1, sites[1], 2),
        record(4, 1, sites[1], 1),
    ];
    ContextLog { routines: routines.into(), records, ..ContextLog::default() }.tree()
}

/// The offsets of instructions in a function, as wasmparser's own reader has them.
fn offsets(info: &ModuleInfo, func: u32, wanted: impl Fn(&Operator<'_>) -> bool) -> Vec<u32> {
    let body = info.body(func);
    let reader = BinaryReader::new(&info.bytes[body.clone()], body.start as u64);
    let operators = wasmparser::FunctionBody::new(reader).get_operators_reader().unwrap();
    let all = operators.into_iter_with_offsets().map(Result::unwrap);
    all.filter(|(op, _)| wanted(op)).map(|(_, at)| at as u32).collect()
}

fn sites(info: &ModuleInfo) -> Vec<u32> {
    offsets(info, 2, |op| matches!(op, Operator::Call { .. } | Operator::CallIndirect { .. }))
}

fn thresholds(likely: f64, reached: u64) -> Thresholds {
    Thresholds { likely, reached }
}

#[test]
fn another_reader_finds_the_branches() {
    let info = example();
    let section = branch_hints(&info, &profile(&info), thresholds(0.9, 10)).unwrap();
    let content = section.content();
    let functions = BranchHintSectionReader::new(BinaryReader::new(&content, 0)).unwrap();
    let mut found = Vec::new();
    for function in functions {
        let function = function.unwrap();
        for hint in function.hints {
            let hint = hint.unwrap();
            found.push((function.func, hint.func_offset + info.body(function.func).start as u32, hint.taken));
        }
    }
    let ifs = offsets(&info, 0, |op| matches!(op, Operator::If { .. }));
    assert_eq!(found, [(0, ifs[0], true)]);
}

#[test]
fn thresholds_say_what_is_likely() {
    let info = example();
    let count =
        |likely, reached| branch_hints(&info, &profile(&info), thresholds(likely, reached)).unwrap().len();
    assert_eq!(
        [count(0.96, 1), count(0.95, 1), count(0.95, 20), count(0.95, 21), count(0.5, 10)],
        [0, 1, 1, 0, 2]
    );
}

#[test]
fn functions_of_another_shape_have_no_hints() {
    let info = example();
    let mut profile = profile(&info);
    profile.functions[0].fingerprint ^= 1;
    assert!(branch_hints(&info, &profile, thresholds(0.9, 1)).unwrap().is_empty());
}

/// The payloads of a section by function and offset in the module.
fn items(info: &ModuleInfo, content: &[u8]) -> BTreeMap<(u32, u32), Vec<u8>> {
    let mut reader = BinaryReader::new(content, 0);
    let mut items = BTreeMap::new();
    for _ in 0..reader.read_var_u32().unwrap() {
        let func = reader.read_var_u32().unwrap();
        for _ in 0..reader.read_var_u32().unwrap() {
            let at = reader.read_var_u32().unwrap() + info.body(func).start as u32;
            let length = reader.read_var_u32().unwrap();
            items.insert((func, at), reader.read_bytes(length as usize).unwrap().to_vec());
        }
    }
    assert!(reader.eof());
    items
}

#[test]
fn frequencies_targets_and_priorities_are_the_profiles() {
    let info = example();
    let sections = compilation_hints(&info, &profile(&info)).unwrap();
    let [frequencies, targets, priorities] = &sections[..] else { panic!("three sections") };
    let sites = sites(&info);
    let once = BTreeMap::from([((2, sites[0]), vec![32]), ((2, sites[1]), vec![32])]);
    assert_eq!(items(&info, &frequencies.content()), once);
    // Direct calls have no targets to tell, and the host's are lacking from 100.
    let expected = BTreeMap::from([((2, sites[1]), vec![0, 70, 1, 20])]);
    assert_eq!(items(&info, &targets.content()), expected);
    let start = |func: u32| (func, info.body(func).start as u32);
    let ranks = [(start(0), vec![0, 0]), (start(1), vec![0, 2]), (start(2), vec![0, 1])];
    assert_eq!(items(&info, &priorities.content()), BTreeMap::from(ranks));
}

#[test]
fn all_other_sections_stay_as_they_are() {
    let info = example();
    let profile = profile(&info);
    let mut sections = compilation_hints(&info, &profile).unwrap();
    sections.push(branch_hints(&info, &profile, thresholds(0.9, 1)).unwrap());
    let once = module(&with_sections(&info, &info.bytes, &sections));
    assert_eq!(once.bytes[once.code_section.clone()], info.bytes[info.code_section.clone()]);
    assert_eq!(once.custom_section("mine"), Some(&b"kept"[..]));
    let without: Vec<u8> = with_sections(&info, &info.bytes, &[]);
    assert_eq!(without[..], info.bytes[..]);
    for section in &sections {
        assert_eq!(once.custom_section(section.name()), Some(&section.content()[..]));
    }
    // Sections of a hinted module are replaced.
    assert_eq!(with_sections(&once, &once.bytes, &sections)[..], once.bytes[..]);
}

#[test]
fn hints_that_others_wrote_are_read() {
    let text = r#"(module (func (param i32)
      (@metadata.code.branch_hint "\00") (if (local.get 0) (then))
      (block (@metadata.code.branch_hint "\01") (br_if 0 (local.get 0)))
      (if (local.get 0) (then))))"#;
    let info = module(&wat::parse_str(text).unwrap());
    let hints = &info.branch_hints;
    let cfg: Cfg = cfg::build(&info, 0).unwrap();
    let ifs = offsets(&info, 0, |op| matches!(op, Operator::If { .. } | Operator::BrIf { .. }));
    let found: Vec<_> = ifs.iter().map(|&at| hints.at(0, at)).collect();
    assert_eq!(found, [Some(false), Some(true), None]);
    let shape = cfg.shape();
    let block = |at: u32| BlockId(cfg.blocks.iter().position(|block| block.end == at).unwrap() as u32);
    let expected = [shape.out_edges(block(ifs[0]))[1], shape.out_edges(block(ifs[1]))[0]];
    assert_eq!(likely_edges(&info, &cfg), expected);
}

#[test]
fn damaged_hints_are_no_error() {
    let text = r#"(module (func) (@custom "metadata.code.branch_hint" (before code) "\02\00\01\ff"))"#;
    assert!(!module(&wat::parse_str(text).unwrap()).branch_hints.has(0));
}

#[test]
fn accuracy_is_the_share_of_executions_that_went_as_hinted() {
    let info = example();
    let profile = profile(&info);
    let section = branch_hints(&info, &profile, thresholds(0.9, 1)).unwrap();
    let hinted = module(&with_sections(&info, &info.bytes, &[section]));
    let found = HintAccuracy::new(&hinted, &profile).unwrap();
    assert_eq!(found, HintAccuracy { hinted: 1, reached: 20, as_hinted: 19, all_reached: 30 });
}

#[test]
fn hints_decide_where_counters_are() {
    let choice = |hint: &str| {
        format!(r#"(@metadata.code.branch_hint "{hint}") (if (local.get 0) (then (call $f)) (else nop))"#)
    };
    let collection = Collection { counters: Instrumentation::Chords, ..Collection::default() };
    let increments = |hint: &str| {
        let text = format!("(module (func $f) (func (param i32) {} {}))", choice(hint), choice(hint));
        let info = module(&wat::parse_str(text).unwrap());
        let plan = FunctionPlan::new(&info, 1, &collection, 0).unwrap();
        let Plan::Chords(chords) = &plan.plan else { panic!("chords") };
        // The edges where both conditions hold.
        chords.counted.iter().filter(|edge| edge.0 % 2 == 0).count()
    };
    assert_eq!((increments("\\01"), increments("\\00")), (1, 2));
}

#[test]
fn hints_are_of_the_graph_split_at_calls_too() {
    let text = r#"(module (func $f) (func (param i32) (call $f) (call $f)
      (@metadata.code.branch_hint "\00") (if (local.get 0) (then (call $f)) (else nop))))"#;
    let info = module(&wat::parse_str(text).unwrap());
    let cfg = cfg::build(&info, 1).unwrap();
    let split = SplitCfg::new(&info, &cfg).unwrap();
    let expected = Expected::new(&info, &Collection::default(), &cfg).split(&split);
    let Expected::Estimated { likely } = expected else { panic!("nothing was measured") };
    let ends = split.shape.edge(likely[0]);
    assert_eq!(
        (likely.len(), split.parts[ends.from.index()].block, split.parts[ends.to.index()].block),
        (1, 0, 2)
    );
}
