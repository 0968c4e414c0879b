//! Stack overflow, many times over. By itself in a process, because it looks at the process's memory.

use wprof::*;

type Outcome = std::result::Result<(), Box<dyn std::error::Error>>;

const WAT: &str = r#"(module (import "host" "f" (func $f)) (memory 1)
    (func $narrow (export "narrow") (call $narrow))
    (func $wide (export "wide") (param $x i64) (result i64)
        (local $a i64) (local $b i64) (local $c i64)
        (local.set $a (i64.mul (local.get $x) (i64.const 3)))
        (local.set $b (i64.add (local.get $a) (local.get $x)))
        (local.set $c (i64.xor (local.get $a) (local.get $b)))
        (i64.add (i64.add (call $wide (local.get $c)) (local.get $a)) (i64.mul (local.get $b) (local.get $c))))
    (func $grows (export "grows") (drop (memory.grow (i32.const 0)))
        (memory.fill (i32.const 0) (i32.const 0) (i32.const 1)) (call $grows))
    (func $host (export "host") (call $f) (call $host)))"#;

/// Resident memory in KiB.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").expect("procfs");
    let line = status.lines().find(|l| l.starts_with("VmRSS")).expect("VmRSS");
    line.split_whitespace().nth(1).and_then(|n| n.parse().ok()).expect("a number")
}

fn overflow_often() -> Result<()> {
    let engine = Engine::default();
    let module = Module::new(&engine, WAT)?;
    let mut linker = Linker::new(&engine);
    linker.func_wrap("host", "f", || ())?;
    let mut store = Store::new(&engine, ());
    let instance = linker.instantiate(&mut store, &module)?;
    let wide = instance.get_typed_func::<i64, i64>(&mut store, "wide")?;
    let mut before = 0;
    for round in 0..250 {
        for name in ["narrow", "grows", "host"] {
            let func = instance.get_typed_func::<(), ()>(&mut store, name)?;
            let error = func.call(&mut store, ()).expect_err(name);
            assert_eq!(error.trap(), Some(Trap::StackOverflow), "{name}: {error:?}");
        }
        assert_eq!(wide.call(&mut store, round).expect_err("wide").trap(), Some(Trap::StackOverflow));
        if round == 50 {
            before = resident();
        }
    }
    assert!(resident() < before + 4096, "{before} KiB, then {}", resident());
    Ok(())
}

#[test]
fn the_stack_can_overflow_a_thousand_times_without_a_leak() -> Outcome {
    let thread =
        std::thread::Builder::new().stack_size(2 << 20).spawn(|| overflow_often().map_err(|e| e.to_string()));
    thread?.join().expect("no panic")?;
    Ok(())
}
