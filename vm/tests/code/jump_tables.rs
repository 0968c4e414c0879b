//! Switches on bytes and on numbers: each index leads to its target.

use std::fmt::Write as _;

use wprof::*;

type Outcome = std::result::Result<(), Box<dyn std::error::Error>>;

/// Fewer entries than byte values, as many, and more.
const LENS: [u32; 6] = [5, 48, 255, 256, 257, 300];
/// Forms of the index, given the parameter `$x`, at whose address is the byte `$x & 255`.
const INDICES: [(&str, &str); 4] = [
    ("byte", "(i32.load8_u (local.get $x))"),
    ("signed", "(i32.load8_s (local.get $x))"),
    ("masked", "(i32.and (local.get $x) (i32.const 255))"),
    ("number", "(local.get $x)"),
];

/// Returns a switch with `len` entries and a default. Its result is 1000 times the number of the target plus the
/// index, which is live after the switch.
fn switch(name: &str, len: u32, index: &str) -> String {
    let mut text = format!("(func (export \"{name}{len}\") (param $x i32) (result i32) (local $i i32)");
    for target in (0..=len).rev() {
        write!(text, "(block $to{target} ").expect("it is text");
    }
    let targets: String = (0..=len).map(|target| format!("$to{target} ")).collect();
    write!(text, "(br_table {targets} (local.tee $i {index}))").expect("it is text");
    for target in 0..=len {
        let result = format!("(i32.add (i32.const {}) (local.get $i))", 1000 * target);
        write!(text, ") (return {result})").expect("it is text");
    }
    text + "unreachable)"
}

/// Returns a switch with two targets in a loop; its result is the number of indices from `$x` to 1023 that lead to the
/// first target.
fn looped(name: &str, len: u32, index: &str) -> String {
    let targets: String =
        (0..len).map(|target| if target % 3 == 0 { "$first " } else { "$second " }).collect();
    format!(
        "(func (export \"looped-{name}{len}\") (param $x i32) (result i32) (local $count i32)
            (loop $next
                (block $second (block $first (br_table {targets} $second {index}))
                    (local.set $count (i32.add (local.get $count) (i32.const 1))))
                (br_if $next (i32.lt_u
                    (local.tee $x (i32.add (local.get $x) (i32.const 1))) (i32.const 1024))))
            (local.get $count))"
    )
}

fn index(name: &str, x: i32) -> i32 {
    match name {
        "byte" | "masked" => x & 255,
        "signed" => i32::from(x as i8),
        _ => x,
    }
}

#[test]
fn each_index_leads_to_its_target() -> Outcome {
    let cases: Vec<_> =
        LENS.into_iter().flat_map(|len| INDICES.map(|(name, index)| (name, len, index))).collect();
    let functions: String = cases
        .iter()
        .map(|&(name, len, index)| switch(name, len, index) + &looped(name, len, index))
        .collect();
    let bytes: String = (0..1024).map(|at| format!("\\{:02x}", at % 256)).collect();
    let module = format!("(module (memory 1) (data (i32.const 0) \"{bytes}\") {functions})");
    for strategy in [Strategy::Baseline, Strategy::Optimized] {
        let engine = Engine::new(Config::new().strategy(strategy))?;
        let module = Module::new(&engine, &module)?;
        let mut store = Store::new(&engine, ());
        let instance = Instance::new(&mut store, &module, &[])?;
        let mut call = |name: String, x: i32| -> std::result::Result<i32, Box<dyn std::error::Error>> {
            let mut results = [Val::I32(0)];
            instance.get_func(&mut store, &name).expect("exported").call(
                &mut store,
                &[Val::I32(x)],
                &mut results,
            )?;
            Ok(results[0].i32().expect("a number"))
        };
        for &(name, len, _) in &cases {
            let others: &[i32] = if name == "number" { &[-1, i32::MIN, i32::MAX, 1 << 20] } else { &[] };
            for x in (0..1024).chain(others.iter().copied()) {
                let index = index(name, x);
                let target = (index as u32).min(len) as i32;
                let result = call(format!("{name}{len}"), x)?;
                assert_eq!(
                    result,
                    (1000 * target).wrapping_add(index),
                    "{strategy:?}: {name}, {len} entries, of {x}"
                );
            }
            let is_first = |x: &i32| (index(name, *x) as u32) < len && index(name, *x) % 3 == 0;
            let count = (0..1024).filter(is_first).count();
            let result = call(format!("looped-{name}{len}"), 0)?;
            assert_eq!(result, count as i32, "{strategy:?}: {name}, {len} entries, in a loop");
        }
    }
    Ok(())
}
