//! Baseline code of the single-pass code generator does what its CLIF says: each function is proven to.

use std::sync::Arc;

use wprof_jit::abi::VmLayout;
use wprof_jit::compile::{Compiler, CompilerOptions, ModuleEnv, Tier};
use wprof_jit::module::{self, ModuleInfo};
use wprof_jit::plan::{Collection, FunctionPlan, Instrumentation};

/// A module with what its code relies on.
struct Program {
    info: ModuleInfo,
    layout: VmLayout,
    type_ids: Vec<u32>,
}

impl Program {
    fn new(bytes: Vec<u8>) -> Program {
        let bytes: Arc<[u8]> = bytes.into();
        let info = module::parse(bytes).expect("valid module");
        let layout = VmLayout::new(&info);
        let type_ids = (0..info.types.len()).collect();
        Program { info, layout, type_ids }
    }

    fn named(name: &str) -> Program {
        let path = format!("{}/../bench-wasm/programs/{name}.wasm", env!("CARGO_MANIFEST_DIR"));
        Program::new(std::fs::read(path).expect("it is in the repository"))
    }

    fn of_text(text: &str) -> Program {
        Program::new(wat::parse_str(text).expect("valid text"))
    }

    /// Compiles all functions.
    fn compile(&self, compiler: &Compiler, (collection, tier): (&Collection, Tier)) {
        let Program { info, layout, type_ids } = self;
        let env =
            ModuleEnv { info, layout, type_ids, events: &[], slots: 0x1000, dispatch_cells: Some(0x1000) };
        for func in info.imported_funcs..info.imported_funcs + info.defined_funcs() {
            let plan = FunctionPlan::new(info, func, collection, 0).expect("within limits");
            compiler.function(&env, &plan, tier).expect("within limits");
        }
    }
}

/// Asserts that all functions are proven; returns how many there are.
#[track_caller]
fn proven(programs: &[Program], collection: &Collection) -> u64 {
    let options = CompilerOptions { proves: true, ..CompilerOptions::default() };
    let compiler = Compiler::new(options.collecting(collection)).expect("this machine");
    programs.iter().for_each(|program| program.compile(&compiler, (collection, Tier::Baseline)));
    let (proven, unproven) = compiler.proofs().baseline();
    let reports = compiler.proofs().reports().join("\n");
    assert_eq!(unproven, 0, "{proven} proven, {unproven} not:\n{reports}");
    proven
}

#[test]
fn programs_are_proven_whatever_is_collected() {
    let names = ["hash", "interp", "json", "nbody", "vcall"];
    let programs = names.map(Program::named);
    let checks = "default".parse().ok();
    let collections = [
        Collection::default(),
        Collection { checks, ..Collection::default() },
        Collection { counters: Instrumentation::Paths, ..Collection::default() },
    ];
    for collection in collections {
        let count = proven(&programs, &collection);
        println!("{count} functions are proven");
        assert!(count > 50);
    }
}

#[test]
fn values_that_nothing_needs_are_not_made() {
    let text = r#"(module
        (func (param f32 f32) (drop (f32.min (local.get 0) (f32.add (local.get 1) (f32.const 1)))))
        (func (result i32) (drop (v128.const i64x2 1 2)) (i32.const 3)))"#;
    assert_eq!(proven(&[Program::of_text(text)], &Collection::default()), 2);
}

/// The address of an atomic access is a sum; with a constant index, one of the memory's address and a number.
#[test]
fn atomic_accesses_at_constant_indices_are_proven() {
    let text = r#"(module (memory 1)
        (func (param i32) (i32.atomic.store8 offset=3 (i32.const 8) (local.get 0)))
        (func (param i64) (i64.atomic.store offset=8 (i32.const 16) (local.get 0)))
        (func (result i32) (i32.atomic.load16_u offset=4 (i32.const 32)))
        (func (param i32) (result i32) (i32.atomic.rmw.xor offset=4 (i32.const 40) (local.get 0)))
        (func (param i64) (result i64) (i64.atomic.rmw8.sub_u offset=1 (i32.const 24) (local.get 0)))
        (func (param i32 i32) (result i32)
            (i32.atomic.rmw16.cmpxchg_u offset=2 (i32.const 56) (local.get 0) (local.get 1))))"#;
    assert_eq!(proven(&[Program::of_text(text)], &Collection::default()), 6);
}

/// Functions that catch exceptions in both encodings, with values that live across throws.
const CATCHING: &str = r#"(module
    (type $f (func (param i32 i64 f64) (result i32)))
    (tag $a (param i32 i64)) (tag $b)
    (table funcref (elem $work))
    (func $work (type $f) (if (local.get 0) (then (throw $a (local.get 0) (local.get 1)))) (throw $b))
    (func (type $f) (local $x i64)
        (block $done
            (block $on_a (result i32 i64)
                (try_table (catch $a $on_a) (catch $b $done)
                    (return (i32.add (local.get 0) (call $work (local.get 0) (local.get 1) (local.get 2)))))
                (unreachable))
            (local.set $x)
            (return (i32.add (i32.wrap_i64 (i64.add (local.get $x) (local.get 1))))))
        (i32.trunc_sat_f64_s (local.get 2)))
    (func (param i32 i64 f64) (result f64) (local $round i32)
        (loop $again
            (block $all (result exnref)
                (try_table (catch_all_ref $all)
                    (local.set 0 (call_indirect (type $f) (local.get 0) (local.get 1) (local.get 2) (i32.const 0)))
                    (local.set 0 (call $work (i32.add (local.get 0) (local.get $round)) (local.get 1) (local.get 2))))
                (ref.null exn))
            (if (ref.is_null) (then (local.set 2 (f64.add (local.get 2) (f64.const 1)))))
            (local.set $round (i32.add (local.get $round) (i32.const 1)))
            (br_if $again (i32.lt_s (local.get $round) (local.get 0))))
        (local.get 2))
    (func (param i32) (result i32)
        try (result i32)
            try (result i32) (call $work (local.get 0) (i64.const 1) (f64.const 2)) catch_all (rethrow 0) end
        catch $b
            (i32.const 5)
        end)
    (func (param i32) (result i32)
        (block $b (try_table (catch $b $b) (throw $b)) (unreachable))
        (local.get 0)))"#;

#[test]
fn functions_that_catch_are_proven() {
    let programs = [Program::of_text(CATCHING)];
    assert_eq!(proven(&programs, &Collection::default()), 5);
    let counters = |counters| Collection { counters, ..Collection::default() };
    for collection in [counters(Instrumentation::Chords), counters(Instrumentation::Paths)] {
        assert_eq!(proven(&programs, &collection), 5);
        assert_eq!(proven_passes(&programs, &collection), 5);
    }
    assert_eq!(proven_passes(&programs, &Collection::default()), 5);
}

/// Asserts that the passes over optimised code are proven; returns how many functions there are.
#[track_caller]
fn proven_passes(programs: &[Program], collection: &Collection) -> u64 {
    let options = CompilerOptions { proves: true, ..CompilerOptions::default() };
    let compiler = Compiler::new(options.collecting(collection)).expect("this machine");
    programs.iter().for_each(|program| program.compile(&compiler, (collection, Tier::Optimized)));
    let proofs = compiler.proofs();
    assert_eq!(proofs.unproven(), 0, "{}", proofs.reports().join("\n"));
    proofs.proven()
}

/// All operators on numbers, of both widths.
#[test]
fn operators_are_proven() {
    let mut text = String::from("(module (memory 1 2 shared)");
    let names = |names: &str| names.split_whitespace().map(str::to_string).collect::<Vec<_>>();
    let ints = names(
        "add sub mul and or xor shl shr_u shr_s rotl rotr div_u div_s rem_u rem_s eq ne lt_s lt_u gt_s gt_u le_s \
         le_u ge_s ge_u",
    );
    let floats = names("add sub mul div min max copysign eq ne lt gt le ge");
    let unary_ints = names("clz ctz popcnt eqz extend8_s extend16_s");
    let unary_floats = names("abs neg sqrt ceil floor trunc nearest");
    let mut push = |params: &str, result: &str, body: String| {
        text += &format!("(func (param {params}) (result {result}) {body})");
    };
    for (ty, binary, unary) in [
        ("i32", &ints, &unary_ints),
        ("i64", &ints, &unary_ints),
        ("f32", &floats, &unary_floats),
        ("f64", &floats, &unary_floats),
    ] {
        let is_test = |op: &str| op.starts_with(['e', 'n', 'l', 'g']) && op != "nearest" && op != "neg";
        for op in binary {
            let result = if is_test(op) { "i32" } else { ty };
            push(&format!("{ty} {ty}"), result, format!("({ty}.{op} (local.get 0) (local.get 1))"));
            for constant in ["0", "1", "-1", "63", "64", "1000000"] {
                for args in [
                    format!("(local.get 0) ({ty}.const {constant})"),
                    format!("({ty}.const {constant}) (local.get 0)"),
                ] {
                    push(ty, result, format!("({ty}.{op} {args})"));
                }
            }
            if is_test(op) {
                let test = format!("({ty}.{op} (local.get 0) (local.get 1))");
                push(&format!("{ty} {ty}"), ty, format!("(select (local.get 0) (local.get 1) {test})"));
                let jump = format!("(if (result {ty}) {test} (then (local.get 0)) (else (local.get 1)))");
                push(&format!("{ty} {ty}"), ty, jump);
                push(&format!("{ty} {ty}"), "i32", format!("(i32.eqz {test})"));
                push(&format!("{ty} {ty}"), "i64", format!("(i64.extend_i32_u {test})"));
            }
        }
        for op in unary {
            let result = if op == "eqz" { "i32" } else { ty };
            push(ty, result, format!("({ty}.{op} (local.get 0))"));
        }
    }
    for (to, from) in [("i32", "f32"), ("i32", "f64"), ("i64", "f32"), ("i64", "f64")] {
        for sign in ["s", "u"] {
            push(from, to, format!("({to}.trunc_{from}_{sign} (local.get 0))"));
            push(from, to, format!("({to}.trunc_sat_{from}_{sign} (local.get 0))"));
            push(to, from, format!("({from}.convert_{to}_{sign} (local.get 0))"));
        }
    }
    for (to, from) in [("i32", "f32"), ("f32", "i32"), ("i64", "f64"), ("f64", "i64")] {
        push(from, to, format!("({to}.reinterpret_{from} (local.get 0))"));
    }
    push("f32", "f64", "(f64.promote_f32 (local.get 0))".into());
    push("f64", "f32", "(f32.demote_f64 (local.get 0))".into());
    push("i64", "i32", "(i32.wrap_i64 (local.get 0))".into());
    push("i64", "i64", "(i64.extend32_s (local.get 0))".into());
    // Something may be above 32 bits.
    push("i64", "f32", "(f32.convert_i32_u (i32.wrap_i64 (local.get 0)))".into());
    push("i64", "f64", "(f64.convert_i32_u (i32.wrap_i64 (local.get 0)))".into());
    push("i32", "i64", "(i64.extend_i32_s (local.get 0))".into());
    for (ty, widths) in [("i32", &["8", "16", ""][..]), ("i64", &["8", "16", "32", ""])] {
        for width in widths {
            let (unsigned, ends): (&str, &[&str]) =
                if width.is_empty() { ("", &[""]) } else { ("_u", &["_s", "_u"]) };
            for end in ends {
                push("i32", ty, format!("({ty}.load{width}{end} offset=4 (local.get 0))"));
            }
            push(
                &format!("i32 {ty}"),
                "i32",
                format!("({ty}.store{width} offset=4 (local.get 0) (local.get 1)) i32.const 0"),
            );
            push(
                "i32",
                "i32",
                format!("({ty}.store{width} offset=4 (local.get 0) ({ty}.const -2)) i32.const 0"),
            );
            push("i32", ty, format!("({ty}.atomic.load{width}{unsigned} (local.get 0))"));
            push(
                &format!("i32 {ty}"),
                "i32",
                format!("({ty}.atomic.store{width} (local.get 0) (local.get 1)) i32.const 0"),
            );
            for op in ["add", "sub", "and", "or", "xor", "xchg"] {
                push(
                    &format!("i32 {ty}"),
                    ty,
                    format!("({ty}.atomic.rmw{width}.{op}{unsigned} (local.get 0) (local.get 1))"),
                );
            }
            push(
                &format!("i32 {ty} {ty}"),
                ty,
                format!(
                    "({ty}.atomic.rmw{width}.cmpxchg{unsigned} (local.get 0) (local.get 1) (local.get 2))"
                ),
            );
        }
    }
    for ty in ["f32", "f64"] {
        push("i32", ty, format!("({ty}.load offset=4 (local.get 0))"));
        push(
            &format!("i32 {ty}"),
            "i32",
            format!("({ty}.store offset=4 (local.get 0) (local.get 1)) i32.const 0"),
        );
    }
    text.push(')');
    assert_eq!(proven(&[Program::of_text(&text)], &Collection::default()), 1270);
}

/// Calls with all kinds of arguments and results, tail calls, branches with values, and jump tables.
#[test]
fn calls_and_control_are_proven() {
    let many: String = (0..12).map(|at| ["i32 ", "f32 ", "i64 ", "f64 "][at % 4]).collect();
    let passed: String = (0..12).map(|at| format!("(local.get {}) ", (at + 4) % 12)).collect();
    let text = format!(
        "(module (type $many (func (param {many}) (result i32 f64 i64)))
          (import \"\" \"host\" (func $host (type $many)))
          (memory 1) (table 4 funcref)
          (func $self (type $many) {passed} (call $self))
          (func $out (type $many) {passed} (call $host))
          (func $indirect (type $many) {passed} (i32.const 1) (call_indirect (type $many)))
          (func $tail (param i32) (result i32) (return_call $tail (i32.sub (local.get 0) (i32.const 1))))
          (func $from_many (param {many}) (result i32) (return_call $tail (local.get 0)))
          (func $swap (param i32 f32 i64) (result i32)
            (loop $again (result i32)
              (local.set 0 (i32.wrap_i64 (local.get 2)))
              (block $a (block $b (block $c (br_table $a $b $c $a (local.get 0)) )
                (br_if $again (f32.eq (local.get 1) (f32.const 1.5)))
              ) (unreachable))
              (br_if $again (i32.eqz (local.get 0))) (local.get 0)))
          (func $values (param i32 i64) (result i64 i32)
            (block (result i64 i32)
              (br_if 0 (local.get 1) (local.get 0) (i32.eqz (local.get 0)))
              (br_if 0 (i32.gt_s (local.get 0) (i32.const 7))) drop drop
              (i64.const 3) (i32.const 4)))
          (func $grown (result i32) (memory.fill (i32.const 0) (i32.const 1) (i32.const 2))
            (memory.grow (memory.size))))",
    );
    let counters = Instrumentation::Paths;
    for collection in [Collection::default(), Collection { counters, ..Collection::default() }] {
        assert_eq!(proven(&[Program::of_text(&text)], &collection), 8);
    }
}
