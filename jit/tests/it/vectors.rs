//! Which loops are vectorised, and why others are not.

use std::sync::Arc;

use wprof_jit::abi::VmLayout;
use wprof_jit::compile::{Compiler, CompilerOptions, Lanes, ModuleEnv, NoVectors, Tier, Vectorized};
use wprof_jit::plan::{Checks, Collection, FunctionPlan, Instrumentation};
use wprof_jit::reoptimize::{Advice, FunctionAdvice, Policy, Reoptimizer};
use wprof_jit::{CompileError, module};

/// Compiles a function of three addresses, a number of rounds and an f64, with a loop of this body. `i` counts rounds,
/// `at` eight times as many. Returns what became of the loop in plain code, if it was thought to be worth it.
fn outcome(body: &str) -> Option<Result<Lanes, NoVectors>> {
    outcome_in(body, &Collection::default())
}

fn outcome_in(body: &str, collection: &Collection) -> Option<Result<Lanes, NoVectors>> {
    with_function(body, collection, |compiler, env, plan| {
        let code = compiler.function(env, plan, Tier::Optimized).expect("within limits");
        assert!(code.vectorized.len() < 2);
        code.vectorized.first().map(|&(_, outcome): &Vectorized| outcome)
    })
}

/// Calls `with` with the function, and a compiler for what is collected.
fn with_function<T>(
    body: &str,
    collection: &Collection,
    with: impl FnOnce(&Compiler, &ModuleEnv<'_>, &FunctionPlan) -> T,
) -> T {
    let text = format!(
        "(module (memory 1) (func (param $a i32) (param $b i32) (param $c i32) (param $n i32) (param $x f64)
            (local $i i32) (local $at i32) (local $s f64)
            (loop $again {body}
                (local.set $at (i32.add (local.get $at) (i32.const 8)))
                (br_if $again (i32.lt_s (local.tee $i (i32.add (local.get $i) (i32.const 1))) (local.get $n))))))"
    );
    with_module(&text, 0, collection, with)
}

/// Calls `with` with a function of a module, and a compiler for what is collected.
fn with_module<T>(
    text: &str,
    func: u32,
    collection: &Collection,
    with: impl FnOnce(&Compiler, &ModuleEnv<'_>, &FunctionPlan) -> T,
) -> T {
    let bytes: Arc<[u8]> = wat::parse_str(text).expect("valid text").into();
    let info = module::parse(bytes).expect("valid module");
    let layout = VmLayout::new(&info);
    let type_ids: Vec<u32> = (0..info.types.len()).collect();
    let env = ModuleEnv {
        info: &info,
        layout: &layout,
        type_ids: &type_ids,
        events: &[],
        slots: 0x1000,
        dispatch_cells: Some(0x1000),
    };
    let plan = FunctionPlan::new(&info, func, collection, 0).expect("within limits");
    let compiler = Compiler::new(CompilerOptions::default().collecting(collection)).expect("this machine");
    with(&compiler, &env, &plan)
}

/// The address of an element of an array of doubles.
fn address_in(array: &str) -> String {
    format!("(i32.add (local.get {array}) (local.get $at))")
}

fn lanes(lanes: u32, rounds: u32) -> Option<Result<Lanes, NoVectors>> {
    Some(Ok(Lanes { lanes, rounds }))
}

#[test]
fn sums_and_products_of_arrays_are_vectorized() {
    let (a, b, c) = (address_in("$a"), address_in("$b"), address_in("$c"));
    let axpy = format!("(f64.store {a} (f64.add (f64.load {a}) (f64.mul (local.get $x) (f64.load {b}))))");
    assert_eq!(outcome(&axpy), lanes(2, 2));
    let stencil = format!(
        "(f64.store offset=8 {a} (f64.mul (f64.const 0.33333)
            (f64.add (f64.add (f64.load {b}) (f64.load offset=8 {b})) (f64.load offset=16 {b}))))"
    );
    assert_eq!(outcome(&stencil), lanes(2, 2));
    // What is always at the same place is loaded once.
    let kept = format!("(f64.store {a} (f64.mul (f64.load {b}) (f64.load (local.get $c))))");
    assert_eq!(outcome(&kept), lanes(2, 2));
    let two = format!("(f64.store {a} (f64.sqrt (f64.load {b}))) (f64.store {c} (f64.neg (f64.load {b})))");
    assert_eq!(outcome(&two), lanes(2, 2));
}

#[test]
fn checking_code_has_vectors_and_code_that_counts_has_none() {
    let axpy = format!(
        "(f64.store {a} (f64.add (f64.load {a}) (f64.load {})))",
        address_in("$b"),
        a = address_in("$a")
    );
    let checked = |checks: &str| Collection {
        checks: Some(checks.parse().expect("a known name")),
        ..Collection::default()
    };
    assert_eq!(outcome_in(&axpy, &checked("default")), lanes(2, 2));
    // The checks of the papers are in each round, unless the loop is boring.
    assert_eq!(outcome_in(&axpy, &checked("orig")), None);
    assert_eq!(outcome_in(&axpy, &Collection { in_bursts: true, ..checked("default") }), None);
    let counted = Collection { counters: Instrumentation::Chords, ..Collection::default() };
    assert_eq!(outcome_in(&axpy, &counted), None);
}

#[test]
fn loops_that_turn_out_not_to_be_vectorized_are_unrolled() {
    // What a round stores the next one loads.
    let sum = format!(
        "(f64.store offset=8 {a} (f64.add (f64.load {a}) (f64.load {})))",
        address_in("$b"),
        a = address_in("$a")
    );
    let collection = Collection { checks: Some(Checks::default()), ..Collection::default() };
    assert_eq!(outcome_in(&sum, &collection), Some(Err(NoVectors::Dependence)));
    with_function(&sum, &collection, |compiler, env, plan| {
        let version = |plan: &FunctionPlan| compiler.version(plan, Tier::Optimized);
        let settled =
            compiler.settled(env, plan, Tier::Optimized, |plan| Ok::<_, CompileError>((version(plan), ())));
        let (_, graph, ()) = settled.expect("within limits");
        let copies = plan.loops[0].copies as usize;
        assert!(graph.nodes.len() >= version(plan).nodes.len() + copies - 1);
    });
}

#[test]
fn so_are_loops_of_inlined_callees() {
    let text = "(module (memory 1)
        (func (param $n i32) (local $i i32)
            (loop $again
                (f64.store offset=8 (local.get $i) (f64.neg (f64.load (local.get $i))))
                (br_if $again (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 8))) (local.get $n)))))
        (func (param $n i32) (call 0 (local.get $n)) (call 0 (i32.const 800))))";
    let collection = Collection { checks: Some(Checks::default()), ..Collection::default() };
    with_module(text, 1, &collection, |compiler, env, plan| {
        let known = |func: u32| {
            let cfg = FunctionPlan::new(env.info, func, &collection, 0).expect("within limits").cfg;
            let counts = vec![100; cfg.blocks.len()];
            let fingerprint = cfg.shape().fingerprint();
            let targets = Default::default();
            (func, FunctionAdvice { fingerprint, calls: 100, counts, ops: 100, paths: Vec::new(), targets })
        };
        let (advice, policy) = ([0, 1].map(known).into_iter().collect::<Advice>(), Policy::eager());
        let by = Reoptimizer { info: env.info, advice: &advice, policy: &policy, collection: &collection };
        let version = |plan: &FunctionPlan| {
            compiler.reoptimized(plan, &by).map(|better| better.expect("advised").graph)
        };
        let hoped = version(plan).expect("within limits");
        assert_eq!(hoped.nodes.iter().filter(|node| node.vectors.is_some()).count(), 2);
        let settled =
            compiler.settled(env, plan, Tier::Optimized, |plan| version(plan).map(|graph| (graph, ())));
        let (code, graph, ()) = settled.expect("within limits");
        assert_eq!(code.not_vectorized().first().map(|&(_, why)| why), Some(NoVectors::Dependence));
        assert!(graph.nodes.iter().all(|node| node.vectors.is_none()));
        assert!(graph.nodes.len() > hoped.nodes.len() + 2);
    });
}

#[test]
fn rounds_that_a_compiler_has_unrolled_are_vectorized_each() {
    let place = |array: &str, by: i32| {
        let scaled = "(i32.shl (local.get $i) (i32.const 4))";
        format!("(i32.add (i32.add (local.get {array}) {scaled}) (i32.const {by}))")
    };
    let copy = |by: i32| {
        format!("(f64.store {} (f64.add (f64.load {}) (f64.const 1)))", place("$a", by), place("$b", by))
    };
    assert_eq!(outcome(&(copy(0) + &copy(8))), lanes(2, 1));
    // Half of what is stored is missing.
    assert_eq!(outcome(&copy(0)), Some(Err(NoVectors::Strides)));
    let bytes = "(i32.store8 (i32.add (local.get $a) (local.get $i))
        (i32.xor (i32.load8_u (i32.add (local.get $b) (local.get $i))) (i32.const 85)))";
    assert_eq!(outcome(bytes), lanes(16, 16));
}

#[test]
fn what_rounds_hand_on_is_not_vectorized() {
    let (a, b) = (address_in("$a"), address_in("$b"));
    // Not even thought of: a sum that each round adds to.
    let sum =
        format!("(local.set $s (f64.add (local.get $s) (f64.load {b}))) (f64.store {a} (local.get $s))");
    assert_eq!(outcome(&sum), None);
    // The same in memory.
    let before = format!("(f64.store offset=8 {a} (f64.add (f64.load {a}) (f64.load {b})))");
    assert_eq!(outcome(&before), Some(Err(NoVectors::Dependence)));
    // What is behind is read before it is written.
    let behind = format!("(f64.store {a} (f64.add (f64.load offset=8 {a}) (f64.load {b})))");
    assert_eq!(outcome(&behind), lanes(2, 2));
}

#[test]
fn what_has_no_place_in_vectors_is_not_vectorized() {
    let a = address_in("$a");
    // The address comes from memory; each other double is read; the count itself is stored.
    for (body, why) in [
        (format!("(f64.store {a} (f64.load (i32.load {a})))"), NoVectors::Address),
        (
            format!(
                "(f64.store {a} (f64.load (i32.add (local.get $b) (i32.shl (local.get $i) (i32.const 4)))))"
            ),
            NoVectors::Strides,
        ),
        ("(i32.store8 (i32.add (local.get $a) (local.get $i)) (local.get $i))".to_owned(), NoVectors::Lanes),
    ] {
        assert_eq!(outcome(&body), Some(Err(why)), "{body}");
    }
}
