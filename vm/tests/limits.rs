//! Memory that hostile input takes: at most a multiple of its length. The tests have a process of their own, because
//! they measure the process's memory.

use std::fs;
use std::sync::{Mutex, MutexGuard, PoisonError};

use wprof::*;

type Outcome = std::result::Result<(), Box<dyn std::error::Error>>;

/// The lock that each test takes first, because concurrent tests would be measured, too.
static ALONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns a line of the process's status, in KiB.
fn status(name: &str) -> usize {
    let status = fs::read_to_string("/proc/self/status").expect("procfs");
    let line = status.lines().find(|line| line.starts_with(name)).expect("there is such a line");
    line.split_whitespace().nth(1).and_then(|number| number.parse().ok()).expect("a number")
}

/// Returns by how many KiB `work` raises the peak memory, and its result.
fn peak<R>(work: impl FnOnce() -> R) -> (usize, R) {
    fs::write("/proc/self/clear_refs", "5").expect("the peak can be reset");
    let before = status("VmRSS");
    let result = work();
    (status("VmHWM").saturating_sub(before), result)
}

fn leb(mut number: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    while number > 127 {
        bytes.push(number as u8 | 128);
        number >>= 7;
    }
    bytes.push(number as u8);
    bytes
}

fn section(name: &str, content: &[u8]) -> Vec<u8> {
    let content = [&[name.len() as u8], name.as_bytes(), content].concat();
    [&[0][..], &leb(content.len()), &content].concat()
}

/// Returns a module with these sections. Its only function is at bytes 1 to 5 of the code section.
fn module(sections: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut bytes = wat::parse_str("(module (func (export \"run\") nop unreachable))").expect("valid");
    sections.iter().for_each(|(name, content)| bytes.extend(section(name, content)));
    bytes
}

const DW_TAG_COMPILE_UNIT: u8 = 0x11;
const DW_TAG_SUBPROGRAM: u8 = 0x2e;
const DW_TAG_INLINED_SUBROUTINE: u8 = 0x1d;
const DW_AT_LOW_PC: u8 = 0x11;
const DW_AT_HIGH_PC: u8 = 0x12;
const DW_AT_RANGES: u8 = 0x55;
const DW_AT_STMT_LIST: u8 = 0x10;
const DW_FORM_ADDR: u8 = 0x01;
const DW_FORM_DATA4: u8 = 0x06;
const DW_FORM_SEC_OFFSET: u8 = 0x17;

fn abbreviation(code: u8, tag: u8, has_children: bool, attributes: &[(u8, u8)]) -> Vec<u8> {
    let attributes = attributes.iter().flat_map(|&(name, form)| [name, form]);
    [code, tag, u8::from(has_children)].into_iter().chain(attributes).chain([0, 0]).collect()
}

/// Returns a DWARF 4 unit whose abbreviations are at the start.
fn unit(entries: &[u8]) -> Vec<u8> {
    let length = (entries.len() as u32 + 7).to_le_bytes();
    [&length[..], &[4, 0], &[0; 4], &[4], entries].concat()
}

fn number(value: u32) -> [u8; 4] {
    value.to_le_bytes()
}

/// Returns `count` functions that all share the same `count` ranges.
fn ranges_bomb(count: u32) -> Vec<u8> {
    let unit_entry = [(DW_AT_LOW_PC, DW_FORM_ADDR), (DW_AT_HIGH_PC, DW_FORM_DATA4)];
    let abbreviations = [
        abbreviation(1, DW_TAG_COMPILE_UNIT, true, &unit_entry),
        abbreviation(2, DW_TAG_SUBPROGRAM, false, &[(DW_AT_RANGES, DW_FORM_SEC_OFFSET)]),
        vec![0],
    ];
    let functions = [&[2][..], &number(0)].concat().repeat(count as usize);
    let entries = [&[1][..], &number(0), &number(100), &functions, &[0]].concat();
    let ranges = (0..count).flat_map(|_| [number(2), number(4)].concat());
    module(&[
        (".debug_abbrev", abbreviations.concat()),
        (".debug_info", unit(&entries)),
        (".debug_ranges", ranges.chain([0; 8]).collect()),
    ])
}

/// Returns `count` units that all share the same line table with `count` files.
fn lines_bomb(count: u32) -> Vec<u8> {
    let attributes = [(DW_AT_LOW_PC, DW_FORM_ADDR), (DW_AT_STMT_LIST, DW_FORM_SEC_OFFSET)];
    let abbreviations = [abbreviation(1, DW_TAG_COMPILE_UNIT, false, &attributes), vec![0]].concat();
    let units = unit(&[&[1][..], &number(0), &number(0)].concat()).repeat(count as usize);
    let files = [b'a', 0, 0, 0, 0].repeat(count as usize);
    let header = [&[1, 1, 1, 0xfb, 14, 1][..], &[0], &files, &[0]].concat();
    let table = [&[4, 0][..], &number(header.len() as u32), &header].concat();
    let table = [&number(table.len() as u32)[..], &table].concat();
    module(&[(".debug_abbrev", abbreviations), (".debug_info", units), (".debug_line", table)])
}

/// Returns nested inlined calls.
fn nested_bomb(count: u32) -> Vec<u8> {
    let place = [(DW_AT_LOW_PC, DW_FORM_ADDR), (DW_AT_HIGH_PC, DW_FORM_DATA4)];
    let abbreviations = [
        abbreviation(1, DW_TAG_COMPILE_UNIT, true, &place),
        abbreviation(2, DW_TAG_SUBPROGRAM, true, &place),
        abbreviation(3, DW_TAG_INLINED_SUBROUTINE, true, &[]),
        vec![0],
    ];
    let depth = count as usize;
    let function = [&[2][..], &number(1), &number(4), &[3].repeat(depth), &[0].repeat(depth + 1)].concat();
    let entries = [&[1][..], &number(0), &number(100), &function, &[0]].concat();
    module(&[(".debug_abbrev", abbreviations.concat()), (".debug_info", unit(&entries))])
}

/// Makes every query of debug information.
fn ask(bytes: &[u8]) -> Result<usize> {
    let module = Module::new(&Engine::default(), bytes)?;
    let places = module.info().body(0).flat_map(|offset| module.symbols_at(offset as u32)).count();
    Ok(places + module.source_rows().len() + module.definition_lines().len() + module.discriminators().len())
}

fn small_peak(bomb: fn(u32) -> Vec<u8>, count: u32) -> Outcome {
    for count in [count, 2 * count] {
        let bytes = bomb(count);
        let (peak, answer) = peak(|| ask(&bytes));
        answer?;
        let most = 8192 + 200 * bytes.len() / 1024;
        assert!(peak < most, "{peak} KiB for {} bytes of module", bytes.len());
    }
    Ok(())
}

#[test]
fn functions_that_share_their_ranges_take_little_memory() -> Outcome {
    let _alone = alone();
    small_peak(ranges_bomb, 5_000)
}

#[test]
fn units_that_share_their_lines_take_little_memory() -> Outcome {
    let _alone = alone();
    small_peak(lines_bomb, 2_000)
}

/// Without a limit the host's stack would overflow.
#[test]
fn inlined_calls_may_be_nested_however_deep() -> Outcome {
    let _alone = alone();
    small_peak(nested_bomb, 100_000)
}

/// Input within the limits is read.
#[test]
fn a_few_of_each_are_read() -> Outcome {
    let _alone = alone();
    for bomb in [ranges_bomb, nested_bomb] {
        let engine = Engine::default();
        let module = Module::new(&engine, bomb(20))?;
        let body = module.info().body(0);
        let found = body.map(|offset| module.symbols_at(offset as u32).len()).max();
        assert!(found > Some(0), "{found:?}");
    }
    Ok(())
}

/// Half a million frames, all of them counted.
#[test]
fn a_deep_stack_that_overflows_takes_little_memory() -> Outcome {
    let _alone = alone();
    let text =
        r#"(module (func $f (export "run") (param i32) (call $f (i32.add (local.get 0) (i32.const 1)))))"#;
    let all = [
        ProfilingConfig::Off,
        ProfilingConfig::Exact(Collect::Edges),
        ProfilingConfig::Exact(Collect::Paths),
        ProfilingConfig::Adaptive(Adaptive::default()),
    ];
    for profiling in all {
        let run = move || -> Result<(usize, u64)> {
            let engine = Engine::new(Config::new().profiling(profiling).count_contexts(true))?;
            let mut store = Store::new(&engine, ());
            let instance = Instance::new(&mut store, &Module::new(&engine, text)?, &[])?;
            let run = instance.get_typed_func::<i32, ()>(&mut store, "run")?;
            let warm = run.call(&mut store, 0).expect_err("it overflows");
            assert_eq!(warm.trap(), Some(Trap::StackOverflow));
            let (peak, result) = peak(|| run.call(&mut store, 0));
            assert_eq!(result.expect_err("it overflows").trap(), Some(Trap::StackOverflow));
            let profile = instance.profile(&store);
            Ok((peak, profile.map_or(0, |profile| profile.functions.iter().map(|f| f.calls()).sum())))
        };
        let thread = std::thread::Builder::new().stack_size(64 << 20).spawn(run)?;
        let (peak, calls) = thread.join().expect("no panic")?;
        assert!(peak < 48 << 10, "{peak} KiB");
        if matches!(profiling, ProfilingConfig::Exact(_)) {
            assert!(calls > 500_000, "{calls} calls");
        }
    }
    Ok(())
}

/// Frames of many pages: the prologue touches each page.
#[test]
fn large_frames_of_baseline_code_end_in_the_guard_page() -> Outcome {
    let _alone = alone();
    let count = 5_000;
    let sets: String =
        (0..count).map(|i| format!("(local.set {i} (i64.add (local.get 0) (i64.const {i})))")).collect();
    let sums: String = (1..count).map(|i| format!("(local.get {i}) i64.add ")).collect();
    let text = format!(
        r#"(module (func $deep (export "deep") (param i64) (local {types}) {sets}
                (if (i64.ne (local.get 0) (i64.const 0)) (then (call $deep (local.get 1)))) (drop (local.get 0) {sums}))
            (func (export "sum") (param i64) (result i64) (local {types}) {sets}
                (block (br_if 0 (i64.eqz (local.get 1))) (local.set 1 (i64.const 5))) (local.get 0) {sums}))"#,
        types = "i64 ".repeat(count - 1),
    );
    let (off, exact) = (ProfilingConfig::Off, ProfilingConfig::Exact(Collect::Edges));
    for (strategy, profiling) in
        [(Strategy::Baseline, off), (Strategy::Baseline, exact), (Strategy::Optimized, off)]
    {
        let engine = Engine::new(Config::new().profiling(profiling).strategy(strategy))?;
        let mut store = Store::new(&engine, ());
        let instance = Instance::new(&mut store, &Module::new(&engine, &text)?, &[])?;
        let sum = instance.get_typed_func::<i64, i64>(&mut store, "sum")?;
        let expected: i64 = 10 + 5 + (2..count as i64).map(|i| 10 + i).sum::<i64>();
        assert_eq!(sum.call(&mut store, 10)?, expected);
        let deep = instance.get_typed_func::<i64, ()>(&mut store, "deep")?;
        assert_eq!(deep.call(&mut store, 1).expect_err("it overflows").trap(), Some(Trap::StackOverflow));
        assert_eq!(sum.call(&mut store, 10)?, expected, "the program goes on");
        if profiling == exact {
            let profile = instance.profile(&store)?;
            profile.verify()?;
            assert!(profile.functions[0].calls() > 20, "{} calls", profile.functions[0].calls());
        }
    }
    Ok(())
}

/// Thousands of results are live across thousands of calls.
#[test]
fn values_that_wait_for_many_calls_are_right_in_optimised_code() -> Outcome {
    let _alone = alone();
    for (ty, add, count) in [("i64", "i64.add", 12_000), ("v128", "i64x2.add", 3_000)] {
        let lane = if ty == "v128" { "i64x2.extract_lane 0" } else { "" };
        let next = if ty == "v128" { "(i64x2.splat (global.get $n))" } else { "(global.get $n)" };
        let text = format!(
            r#"(module (global $n (mut i64) (i64.const 0))
                (func $next (result {ty}) (global.set $n (i64.add (global.get $n) (i64.const 1))) {next})
                (func (export "run") (result i64) {} {} {lane}))"#,
            "call $next ".repeat(count),
            format!("{add} ").repeat(count - 1),
        );
        let mut config = Config::new();
        let engine = Engine::new(config.profiling(ProfilingConfig::Off).strategy(Strategy::Optimized))?;
        let mut store = Store::new(&engine, ());
        let instance = Instance::new(&mut store, &Module::new(&engine, &text)?, &[])?;
        let run = instance.get_typed_func::<(), i64>(&mut store, "run")?;
        let count = count as i64;
        assert_eq!(run.call(&mut store, ())?, count * (count + 1) / 2);
    }
    Ok(())
}

/// What one component passes to another through the host is gone when the other one runs: it may make such a call itself,
/// and so on.
#[test]
fn values_between_components_are_gone_when_the_callee_runs() -> Outcome {
    use wprof::component::{Component, Linker, Val};
    let _alone = alone();
    let length = (160 << 20) / size_of::<Val>();
    let memory = r#"(memory (export "memory") 256)
        (func (export "realloc") (param i32 i32 i32 i32) (result i32) (i32.const 1024))"#;
    let text = format!(
        r#"(component
          (import "look" (func $look))
          (component $B
            (import "look" (func $look))
            (core func $look' (canon lower (func $look)))
            (core module $m (import "" "look" (func $look)) {memory}
              (func (export "f") (param i32 i32) (call $look)))
            (core instance $m (instantiate $m (with "" (instance (export "look" (func $look'))))))
            (func (export "f") (param "x" (list bool)) (canon lift (core func $m "f")
              (memory (core memory $m "memory")) (realloc (core func $m "realloc")))))
          (instance $b (instantiate $B (with "look" (func $look))))
          (component $A
            (import "f" (func $f (param "x" (list bool))))
            (core module $libc {memory})
            (core instance $libc (instantiate $libc))
            (core func $f' (canon lower (func $f) (memory (core memory $libc "memory"))))
            (core module $m (import "" "f" (func $f (param i32 i32)))
              (func (export "run") (call $f (i32.const 1024) (i32.const {length}))))
            (core instance $m (instantiate $m (with "" (instance (export "f" (func $f'))))))
            (func (export "run") (canon lift (core func $m "run"))))
          (instance $a (instantiate $A (with "f" (func $b "f"))))
          (export "run" (func $a "run")))"#
    );
    let engine = Engine::new(Config::new().fused_adapters(false))?;
    let component = Component::new(&engine, &text)?;
    let mut linker = Linker::<usize>::new(&engine);
    linker.root().func_wrap("look", |mut store: StoreContextMut<'_, usize>, (): ()| {
        *store.data_mut() = status("VmRSS");
        Ok(())
    })?;
    let mut store = Store::new(&engine, 0);
    let run = linker.instantiate(&mut store, &component)?.get_func("run").unwrap();
    let before = status("VmRSS");
    let (peak, called) = peak(|| run.call(&mut store, &[], &mut []));
    called?;
    let held = store.data().saturating_sub(before);
    assert!(peak > 128 << 10, "the values took {peak} KiB on their way");
    assert!(held < 64 << 10, "{held} KiB were held while the callee ran");
    Ok(())
}
