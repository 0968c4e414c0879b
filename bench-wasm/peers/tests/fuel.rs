//! Wasmtime's fuel, rule by rule: the numbers that `wprof_jit::events::fuel` states, counted by hand.

use std::path::Path;
use wasmtime::{Caller, Config, Engine, Error, Instance, Linker, Module, Store};
use wprof_peers::{Program, fuel};

const TANK: u64 = 1 << 40;

/// What was seen of the fuel of one instance.
#[derive(Debug, PartialEq, Eq)]
struct Seen {
    /// Consumed by instantiation.
    instantiate: u64,
    /// Consumed by the function `run` from its call on, as the host functions `look` and `fail` saw it.
    host: Vec<u64>,
    /// Consumed by `run` as the store shows it in the end.
    end: u64,
    /// Whether `run` returned.
    returned: bool,
}

/// Fuel that the store has seen consumed, and its start for the call of `run`.
#[derive(Default)]
struct Log {
    start: u64,
    host: Vec<u64>,
}

impl Log {
    fn look(mut caller: Caller<'_, Log>) {
        let consumed = TANK - caller.get_fuel().expect("fuel");
        let start = caller.data().start;
        caller.data_mut().host.push(consumed - start);
    }
}

fn instantiate(store: &mut Store<Log>, wat: &str) -> Instance {
    let module = Module::new(store.engine(), wat).expect("valid");
    let mut linker = Linker::new(store.engine());
    linker.func_wrap("host", "look", Log::look).expect("new");
    let fail = |caller: Caller<'_, Log>| -> Result<(), Error> {
        Log::look(caller);
        Err(Error::msg("the host says no"))
    };
    linker.func_wrap("host", "fail", fail).expect("new");
    linker.instantiate(store, &module).expect("instantiates")
}

/// Calls `run` of a text module.
fn see(wat: &str) -> Seen {
    let engine = Engine::new(Config::new().consume_fuel(true)).expect("this machine");
    let mut store = Store::new(&engine, Log::default());
    store.set_fuel(TANK).expect("fuel");
    let instance = instantiate(&mut store, wat);
    let instantiate = TANK - store.get_fuel().expect("fuel");
    store.data_mut().start = instantiate;
    let run = instance.get_typed_func::<(), ()>(&mut store, "run").expect("exported");
    let returned = run.call(&mut store, ()).is_ok();
    let end = TANK - store.get_fuel().expect("fuel") - instantiate;
    Seen { instantiate, host: store.into_data().host, end, returned }
}

/// Checks the fuel of a body of `run` that returns.
fn check(expected: u64, body: &str) {
    let wat = format!(
        r#"(module (memory 1 2) (table $t 1 2 funcref) (func $empty) (elem (i32.const 0) $empty) (data $d "12345678")
            (func (export "run") (local $n i32) {body}))"#
    );
    assert_eq!(see(&wat), Seen { instantiate: 0, host: vec![], end: expected, returned: true }, "{body}");
}

#[test]
fn entries_cost_one_and_structure_nothing() {
    check(1, "");
    check(1, "nop nop block loop end end return");
    check(1 + 1, "i32.const 1 drop");
    check(1 + 2, "i32.const 1 if nop else nop end");
    check(1 + 2, "i32.const 0 if i32.const 1 drop i32.const 1 drop end");
    check(1 + 1, "block br 0 i32.const 1 drop end");
    check(1 + 2 + 1, "i32.const 1 drop call $empty");
}

#[test]
fn calls_cost_one_and_their_callee_its_entry() {
    check(1 + 1 + 1, "call $empty");
    check(1 + 2 + 1, "i32.const 0 call_indirect");
    check(1 + 1 + 1, "return_call $empty");
    check(1 + 2 + 1, "i32.const 0 return_call_indirect");
}

#[test]
fn loops_cost_their_instructions_each_round_and_back_edges_nothing() {
    let body = "i32.const 5 local.set $n
        loop local.get $n i32.const 1 i32.sub local.tee $n br_if 0 end";
    check(1 + 2 + 5 * 5, body);
    check(1 + 2, "block i32.const 0 br_table 0 0 end");
    check(1 + 3 + 1, "i32.const 0 i32.const 0 i32.load drop i32.const 0 drop drop");
}

#[test]
fn bulk_operations_cost_their_length() {
    check(1 + 4 + 300, "(memory.fill (i32.const 0) (i32.const 0) (i32.const 300))");
    check(
        1 + 6 + 300,
        "(local.set $n (i32.const 300)) (memory.fill (i32.const 0) (i32.const 0) (local.get $n))",
    );
    check(
        1 + 6 + 300,
        "(local.set $n (i32.const 300)) (memory.copy (i32.const 0) (i32.const 0) (local.get $n))",
    );
    check(1 + 4 + 8, "(memory.init $d (i32.const 0) (i32.const 0) (i32.const 8))");
    check(1 + 4 + 1, "(table.copy (i32.const 0) (i32.const 0) (i32.const 1))");
    check(1 + 4 + 1, "(table.fill (i32.const 0) (ref.null func) (i32.const 1))");
    check(1 + 3 + 1, "(drop (table.grow (ref.null func) (i32.const 1)))");
    check(1 + 3 + 1000, "(drop (table.grow (ref.null func) (i32.const 1000)))");
    check(1 + 2, "(drop (memory.grow (i32.const 1)))");
    check(1 + 2, "(drop (memory.grow (i32.const 1000)))");
    check(1 + 2, "data.drop $d memory.size drop");
}

/// Checks the fuel of a `run` that ends early, in a function that the first calls: `caller` before, `callee` in it.
fn check_end(host: &[u64], end: u64, callee: &str) {
    let wat = format!(
        r#"(module (import "host" "look" (func $look)) (import "host" "fail" (func $fail))
            (memory 1 2) (table 1 funcref) (global $zero (mut i32) (i32.const 0))
            (func $callee {callee})
            (func (export "run") call $look i32.const 1 drop call $callee))"#
    );
    let host: Vec<u64> = [2].iter().chain(host).copied().collect();
    assert_eq!(see(&wat), Seen { instantiate: 0, host, end, returned: false }, "{callee}");
}

/// Consumed when the callee is called: entry, `call $look`, a constant, `call $callee`.
const BEFORE: u64 = 4;

#[test]
fn host_functions_see_all_up_to_their_call() {
    check_end(&[BEFORE + 4], BEFORE + 4, "i32.const 1 drop i32.const 2 drop call $fail i32.const 3 drop");
    check_end(&[BEFORE + 2, BEFORE + 4], BEFORE + 4, "call $look i32.const 1 drop call $fail");
}

#[test]
fn unreachable_and_surely_bad_accesses_are_exact() {
    check_end(&[], BEFORE + 2, "i32.const 1 drop unreachable");
    check_end(&[], BEFORE + 3, "i32.const 1 i32.load offset=0x20000 drop i32.const 1 drop");
    check_end(&[], BEFORE + 3, "i32.const 0 call_indirect i32.const 1 drop");
}

#[test]
fn other_traps_show_what_was_last_written_back() {
    check_end(&[], BEFORE, "i32.const 1 global.get $zero i32.div_s drop");
    check_end(&[], BEFORE, "loop i32.const 1 global.get $zero i32.div_s br_if 0 end");
    check_end(&[], BEFORE, "i32.const 0x20000 i32.load drop");
    check_end(&[], BEFORE, "(memory.fill (i32.const 0) (i32.const 0) (i32.const 0x20000))");
    check_end(&[BEFORE + 2], BEFORE + 2, "call $look i32.const 1 global.get $zero i32.div_s drop");
}

/// Checks what instantiation consumes.
fn check_instantiate(expected: u64, fields: &str) {
    let seen = see(&format!(r#"(module {fields} (func (export "run")))"#));
    assert_eq!(seen, Seen { instantiate: expected, host: vec![], end: 1, returned: true }, "{fields}");
}

#[test]
fn instantiation_is_free_unless_something_is_left_to_do() {
    check_instantiate(0, r#"(memory 1) (data (i32.const 0) "1234") (global i32 (i32.const 7))"#);
    check_instantiate(0, "(table 2 funcref) (func $f) (elem (i32.const 0) $f $f)");
    check_instantiate(2 + 1, "(func $start) (start $start)");
    check_instantiate(
        2 + 1 + 3 + 1,
        "(func $start i32.const 1 i32.const 2 drop drop call $leaf) (func $leaf) (start $start)",
    );
}

#[test]
fn programs_consume_the_fuel_on_record() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../programs");
    let read = |name: &str| std::fs::read_to_string(root.join(name)).expect("a table");
    let (manifest, record) = (read("manifest.tsv"), read("expected/fuel.tsv"));
    let recorded: Vec<(&str, &str)> = record.lines().filter_map(|line| line.split_once('\t')).collect();
    let mut compared = 0;
    for line in manifest.lines() {
        let [case, program, args, ..] = line.split('\t').collect::<Vec<_>>()[..] else { continue };
        let Some((_, consumed)) = recorded.iter().find(|(name, _)| *name == case) else { continue };
        let args = args.split_whitespace().filter(|&arg| arg != "-").map(str::to_string).collect();
        let program = Program { file: root.join(program).with_extension("wasm"), args, ..Program::default() };
        let (_, fuel) = fuel(&program).expect("starts");
        assert_eq!((fuel.instantiate, fuel.run.to_string()), (0, consumed.to_string()), "{line}");
        compared += 1;
    }
    assert_eq!(compared, recorded.len());
}

/// Programs with leaves, calls of all kinds, loops and host calls. Operations in bulk are not among them: Wasmtime looks
/// at the fuel before them, too.
const STOPPED: [&str; 6] = [
    "call $leaf call $leaf",
    "i32.const 3 local.set $n loop call $leaf local.get $n i32.const 1 i32.sub local.tee $n br_if 0 end",
    "i32.const 0 call_indirect call $outer",
    "call $look call $leaf call $look",
    "block i32.const 1 br_if 0 call $leaf end i32.const 1 if call $outer else call $leaf end nop",
    "i32.const 1 drop return_call $outer",
];

fn stopped(body: &str) -> String {
    format!(
        r#"(module (import "host" "look" (func $look)) (table 1 funcref) (elem (i32.const 0) $leaf)
            (func $leaf i32.const 1 drop i32.const 2 drop)
            (func $outer i32.const 1 drop call $leaf i32.const 1 drop)
            (func (export "run") (local $n i32) {body}))"#
    )
}

/// Runs a module with some fuel in Wasmtime; returns how often the host was called, and whether `run` returned.
fn theirs(wat: &str, tank: u64) -> (u32, bool) {
    let engine = Engine::new(Config::new().consume_fuel(true)).expect("this machine");
    let mut store = Store::new(&engine, 0_u32);
    let mut linker = Linker::new(&engine);
    linker.func_wrap("host", "look", |mut caller: Caller<'_, u32>| *caller.data_mut() += 1).expect("new");
    let module = Module::new(&engine, wat).expect("valid");
    let instance = linker.instantiate(&mut store, &module).expect("instantiates");
    store.set_fuel(tank).expect("fuel");
    let run = instance.get_typed_func::<(), ()>(&mut store, "run").expect("exported");
    let returned = run.call(&mut store, ()).is_ok();
    (store.into_data(), returned)
}

/// Does the same in wprof.
fn ours(config: &mut wprof::Config, wat: &str, tank: u64) -> (u32, bool) {
    let engine = wprof::Engine::new(config.consume_fuel(true)).expect("this machine");
    let mut store = wprof::Store::new(&engine, 0_u32);
    let mut linker = wprof::Linker::new(&engine);
    let look = |mut caller: wprof::Caller<'_, u32>| *caller.data_mut() += 1;
    linker.func_wrap("host", "look", look).expect("new");
    let module = wprof::Module::new(&engine, wat).expect("valid");
    let instance = linker.instantiate(&mut store, &module).expect("instantiates");
    store.set_fuel(tank).expect("fuel");
    let run = instance.get_typed_func::<(), ()>(&mut store, "run").expect("exported");
    let returned = match run.call(&mut store, ()) {
        Ok(()) => true,
        Err(error) => {
            assert_eq!(error.trap(), Some(wprof::Trap::OutOfFuel), "{error}");
            false
        }
    };
    (*store.data(), returned)
}

#[test]
fn programs_stop_with_the_same_fuel_as_in_wprof() {
    for wat in STOPPED.map(stopped) {
        let mut ends = 0;
        for tank in 0..60 {
            let expected = theirs(&wat, tank);
            for strategy in [wprof::Strategy::Baseline, wprof::Strategy::Optimized] {
                let found = ours(wprof::Config::new().strategy(strategy), &wat, tank);
                assert_eq!(found, expected, "{tank} of {wat} in {strategy:?}");
            }
            ends += u32::from(expected.1);
        }
        assert!((1..60).contains(&ends), "{ends} of {wat}");
    }
}
