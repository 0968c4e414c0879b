//! Events of blocks: hand-counted functions, whole programs, and every opcode.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use expect_test::expect_file;
use wasmparser::{BinaryReader, Operator, OperatorsReader};
use wprof_jit::cfg::{self, Cfg};
use wprof_jit::events::{
    BUILT_IN, CustomModel, EventModel, ModelError, executed, is_dynamic, length_unit, names,
};
use wprof_jit::module::{self, ModuleInfo};

fn built_in(name: &str) -> EventModel {
    EventModel::built_in(name).expect("a built-in kind")
}

fn models() -> Vec<EventModel> {
    BUILT_IN.iter().map(|name| built_in(name)).collect()
}

fn parse(wat: &str) -> ModuleInfo {
    let bytes: Arc<[u8]> = wat::parse_str(wat).expect("valid text").into();
    module::parse(bytes).expect("valid module")
}

fn first_function(info: &ModuleInfo) -> Cfg {
    cfg::build(info, info.imported_funcs).expect("builds")
}

/// By model, by block.
fn block_events(info: &ModuleInfo, cfg: &Cfg, models: &[EventModel]) -> Vec<Vec<u64>> {
    let of_block =
        |(index, block): (u32, &cfg::Block)| executed(info, cfg, index, block.limit, models).expect("reads");
    let blocks: Vec<Vec<u64>> = (0..).zip(&cfg.blocks).map(of_block).collect();
    (0..models.len()).map(|model| blocks.iter().map(|events| events[model]).collect()).collect()
}

/// Events of each block of the first function of a text module.
fn events(kind: &str, wat: &str) -> Vec<u64> {
    let info = parse(wat);
    block_events(&info, &first_function(&info), &[built_in(kind)]).remove(0)
}

/// A loop with memory, floats and calls: entry, header, body, rest.
const LOOP: &str = r#"(module
    (import "" "host" (func $host))
    (memory 1) (table 1 funcref)
    (func (param $n i32) (param $x f64) (result f64)
        (nop)
        (block $done
            (loop $again
                (br_if $done (i32.eqz (local.get $n)))
                (f64.store (i32.const 8) (f64.add (f64.load (i32.const 8)) (local.get $x)))
                (i32.store8 (i32.const 1) (i32.load16_u (i32.const 2)))
                (call $host)
                (call_indirect (i32.const 0))
                (memory.fill (i32.const 0) (i32.const 0) (i32.const 7))
                (local.set $n (i32.sub (local.get $n) (i32.const 1)))
                (br $again)))
        (drop (f64.const 1))
        (return (f64.load (i32.const 8)))))"#;

#[test]
fn blocks_of_a_loop_have_the_events_counted_by_hand() {
    assert_eq!(events("instructions", LOOP), [1, 3, 22, 5]);
    assert_eq!(events("loads", LOOP), [0, 0, 2, 1]);
    assert_eq!(events("stores", LOOP), [0, 0, 2, 0]);
    assert_eq!(events("calls", LOOP), [0, 0, 2, 0]);
    assert_eq!(events("indirect_calls", LOOP), [0, 0, 1, 0]);
    assert_eq!(events("branches", LOOP), [0, 1, 0, 0]);
    assert_eq!(events("float_ops", LOOP), [0, 0, 1, 0]);
    assert_eq!(events("memory_bytes", LOOP), [0, 0, 8 + 8 + 2 + 1, 8]);
    assert_eq!(events("back_edges_and_calls", LOOP), [0, 0, 2, 0]);
    assert_eq!(events("fuel", LOOP), [0, 3, 22, 3]);
}

#[test]
fn tail_calls_switches_and_vectors_are_counted() {
    let wat = r#"(module (memory 1) (table 1 funcref)
        (func $f (param i32)
            (block (block (br_table 0 1 0 (local.get 0))))
            (if (local.get 0) (then (return_call $f (i32.const 0))))
            (v128.store (i32.const 0) (f32x4.mul (v128.load32_splat (i32.const 0)) (f32x4.splat (f32.const 2))))
            (return_call_indirect (param i32) (i32.const 1) (i32.const 0))))"#;
    let total = |kind| events(kind, wat).iter().sum::<u64>();
    assert_eq!(total("branches"), 2);
    assert_eq!((total("calls"), total("indirect_calls")), (2, 1));
    assert_eq!((total("loads"), total("stores"), total("memory_bytes")), (1, 1, 20));
    assert_eq!(total("float_ops"), 1);
}

#[test]
fn entries_and_back_edges_belong_to_the_kinds_that_count_them() {
    assert_eq!((built_in("fuel").entry, built_in("fuel").back_edge), (1, 0));
    assert_eq!((built_in("back_edges_and_calls").entry, built_in("back_edges_and_calls").back_edge), (0, 1));
    let others = models().into_iter().filter(|m| m.name != "fuel" && m.name != "back_edges_and_calls");
    assert!(others.into_iter().all(|m| m.entry == 0 && m.back_edge == 0));
}

#[test]
fn executed_counts_up_to_and_including_the_offset() {
    let info = parse(LOOP);
    let cfg = first_function(&info);
    let models = models();
    let instructions = BUILT_IN.iter().position(|&name| name == "instructions").expect("a kind");
    for (block, index) in cfg.blocks.iter().zip(0..) {
        for offset in block.start - 1..block.limit + 1 {
            let events = executed(&info, &cfg, index, offset, &models).expect("reads");
            let ops = cfg::ops_executed(&info, &cfg, index, offset).expect("reads");
            assert_eq!(events[instructions], u64::from(ops), "block {index}, offset {offset}");
        }
        assert!(
            executed(&info, &cfg, index, block.start - 1, &models).expect("reads").iter().all(|&n| n == 0)
        );
    }
}

#[test]
fn instructions_are_the_ops_of_blocks_in_whole_programs() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../bench-wasm/programs");
    let files = fs::read_dir(folder).expect("the programs").map(|entry| entry.expect("an entry").path());
    let mut programs = 0;
    for path in files.filter(|path| path.extension().is_some_and(|e| e == "wasm")) {
        let info = module::parse(fs::read(&path).expect("readable")).expect("valid");
        programs += 1;
        for func in info.imported_funcs..info.funcs.len() as u32 {
            check_program_function(&info, func);
        }
    }
    assert!(programs >= 10, "{programs}");
}

fn check_program_function(info: &ModuleInfo, func: u32) {
    let cfg = cfg::build(info, func).expect("builds");
    let events = block_events(info, &cfg, &models());
    let of = |kind: &str| &events[BUILT_IN.iter().position(|&name| name == kind).expect("a kind")];
    let ops: Vec<u64> = cfg.blocks.iter().map(|block| u64::from(block.ops)).collect();
    assert_eq!(*of("instructions"), ops, "function {func}");
    let decisions =
        cfg.blocks.iter().map(|b| u64::from(matches!(b.how, cfg::End::Branch | cfg::End::Switch(_))));
    assert_eq!(*of("branches"), decisions.collect::<Vec<_>>(), "function {func}");
    assert!(of("fuel").iter().zip(&ops).all(|(fuel, ops)| fuel <= ops));
}

/// What an instruction needs besides its name to be text.
const IMMEDIATES: &[&str] = &[
    "",
    " 0",
    " 0 0",
    " (type 0)",
    " func",
    " (result i32)",
    " (result i32 i32)",
    " i32x4 0 0 0 0",
    " 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15",
    " end",
    " 0 end",
    " (ref any)",
    " (ref null any)",
    " 0 (ref null any) (ref any)",
];

/// The instructions of a function in text, if they are any.
fn encode(instructions: &str) -> Option<Vec<u8>> {
    let bytes = wat::parse_str(format!("(module (type (func)) (func {instructions}))")).ok()?;
    let code = wasmparser::Parser::new(0).parse_all(&bytes).find_map(|payload| match payload {
        Ok(wasmparser::Payload::CodeSectionEntry(body)) => Some(body),
        _ => None,
    })?;
    let mut reader = code.get_binary_reader_for_operators().ok()?;
    Some(reader.read_bytes(reader.bytes_remaining()).ok()?.to_vec())
}

/// Checks the operators that `name` stands for in text.
fn check_opcode(name: &str, check: impl Fn(&Operator<'_>)) {
    let before = match name {
        "else" => "if",
        "catch" | "catch_all" | "delegate" => "try",
        _ => "",
    };
    let mut forms = 0;
    for immediates in IMMEDIATES {
        let Some(bytes) = encode(&format!("{before} {name}{immediates}")) else { continue };
        let mut reader = OperatorsReader::new(BinaryReader::new(&bytes, 0));
        if !before.is_empty() {
            reader.read().expect("the construct around");
        }
        check(&reader.read().expect("an instruction"));
        forms += 1;
    }
    assert!(forms > 0, "`{name}` is no instruction in text");
}

#[test]
fn every_name_is_the_text_format_s_name_of_its_opcode() {
    for name in names() {
        let definition =
            CustomModel { name: "it".into(), cost: vec![(name.into(), 7)], ..CustomModel::default() };
        let marks = ["block", "loop", "else", "end", "try_table", "try", "catch", "catch_all", "delegate"];
        let expected = if marks.contains(&name) { 0 } else { 7 };
        let model =
            EventModel::custom(&definition).ok().or_else(|| (expected == 0).then(|| built_in("calls")));
        check_opcode(name, |op| {
            assert_eq!(model.as_ref().expect("a model").cost(op), expected, "{name}: {op:?}")
        });
    }
}

#[test]
fn names_tell_bulk_operations_as_operators_do() {
    for name in names() {
        let definition =
            CustomModel { name: "it".into(), per_unit: vec![(name.into(), 7)], ..CustomModel::default() };
        let model = EventModel::custom(&definition);
        check_opcode(name, |op| {
            assert_eq!(model.is_ok(), is_dynamic(op), "{name}");
            assert_eq!(model.as_ref().map_or(0, |m| m.per_unit(op)), if is_dynamic(op) { 7 } else { 0 });
            assert_eq!(length_unit(op).is_some(), is_dynamic(op));
        });
    }
}

macro_rules! memory_accesses {
    ($(@$proposal:ident $op:ident $({ $($arg:ident: $argty:ty),* })? => $visit:ident ($($ann:tt)*))*) => {
        [$((stringify!($proposal), stringify!($op), [$($(stringify!($arg)),*)?].contains(&"memarg"))),*]
    };
}

/// Variant names of the accepted opcodes that access memory by a fixed width.
fn accesses() -> Vec<&'static str> {
    let all = wasmparser::for_each_operator!(memory_accesses);
    let accepted = |proposal: &str| matches!(proposal, "mvp" | "simd" | "threads");
    all.into_iter()
        .filter(|(proposal, _, access)| *access && accepted(proposal))
        .map(|(_, op, _)| op)
        // It names a place, and leaves it as it is.
        .filter(|op| *op != "MemoryAtomicNotify")
        .collect()
}

#[test]
fn every_access_to_memory_is_a_load_or_a_store_of_some_bytes_or_both() {
    let (loads, stores, bytes) = (built_in("loads"), built_in("stores"), built_in("memory_bytes"));
    let accesses = accesses();
    let found = std::cell::Cell::new(0);
    for name in names() {
        check_opcode(name, |op| {
            let variant = format!("{op:?}");
            let variant = variant.split([' ', '{']).next().unwrap_or_default();
            let access = accesses.contains(&variant);
            found.set(found.get() + u64::from(access));
            let is_both = variant.contains("Rmw");
            assert_eq!(loads.cost(op) + stores.cost(op), u64::from(access) + u64::from(is_both), "{name}");
            assert!(!is_both || (loads.cost(op), bytes.cost(op) % 2) == (1, 0), "{name}");
            assert_eq!(bytes.cost(op) != 0, access, "{name}");
        });
    }
    assert!(found.get() >= accesses.len() as u64);
}

/// The class of every opcode, to be read by a person: one line for each set of kinds and costs.
#[test]
fn every_opcode_has_its_reviewed_class() {
    let models = models();
    let mut classes: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for name in names() {
        let costs = models.iter().filter_map(|model| match model.cost_named(name) {
            Some(0) | None => None,
            Some(cost) => Some(format!("{}={cost}", model.name)),
        });
        classes.entry(costs.collect::<Vec<_>>().join(" ")).or_default().push(name);
    }
    let text: String =
        classes.iter().map(|(class, names)| format!("[{class}]\n{}\n\n", names.join("\n"))).collect();
    expect_file!["events/classes.txt"].assert_eq(&text);
}

fn custom(rules: &[(&str, u64)]) -> Result<EventModel, ModelError> {
    let cost = rules.iter().map(|&(pattern, cost)| (pattern.to_string(), cost)).collect();
    EventModel::custom(&CustomModel { name: "mine".into(), default: 1, cost, ..CustomModel::default() })
}

#[test]
fn the_most_specific_pattern_decides() {
    let model = custom(&[("i32.load8_s", 5), ("*", 2), ("i32.*", 3), ("i32.load*", 4), ("i32.load", 6)])
        .expect("good");
    let costs =
        ["nop", "i32.add", "i32.load8_u", "i32.load8_s", "i32.load"].map(|name| model.cost_named(name));
    assert_eq!(costs, [Some(2), Some(3), Some(4), Some(5), Some(6)]);
    assert_eq!(model.cost_named("loop"), Some(0));
    assert_eq!(model.cost_named("i32.atomic.load"), Some(3));
    assert_eq!(model.cost_named("cont.new"), None);
}

#[test]
fn bad_definitions_are_refused_with_advice() {
    let message = |rules: &[(&str, u64)]| custom(rules).expect_err("refused").to_string();
    assert_eq!(
        message(&[("i32.laod", 1)]),
        "no instruction is called `i32.laod`: did you mean `i32.load`, `f32.load`, `i32.add`?"
    );
    assert_eq!(message(&[("v256.*", 1)]), "no instruction is called `v256.*`");
    assert_eq!(message(&[("i*.load", 1)]), "bad pattern `i*.load`: `*` can only be at the end");
    assert_eq!(
        message(&[("loop", 1)]),
        "`loop` only marks structure and is never executed: it can have no cost"
    );
    assert_eq!(message(&[("nop", 1), ("nop", 2)]), "`nop` has two costs: keep one");
    assert_eq!(message(&[("nop", 1 << 32)]), "the cost of `nop` is too large: give at most 4294967295");
    let named = |name: &str| EventModel::custom(&CustomModel { name: name.into(), ..CustomModel::default() });
    assert_eq!(named("fuel").expect_err("refused"), ModelError::BuiltIn("fuel".into()));
    assert_eq!(named("a b").expect_err("refused"), ModelError::BadName("a b".into()));
}
