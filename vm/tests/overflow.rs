//! Stack overflow, many times over. The tests have a process of their own, because they measure the process's memory.

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

/// Returns the resident memory in KiB.
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

/// Recursion through blocks whose frames touch the stack at different places: by calls, by spills, and in the
/// prologue.
const BRANCHY: &str = r#"(module
    (func $leaf (param i64 i64 i64 i64 i64 i64 i64 i64 i64 i64) (result i64)
        (i64.add (local.get 9) (i64.mul (local.get 0) (local.get 8))))
    (func $f (export "f") (param $n i64) (result i64)
        (local $a i64) (local $b i64) (local $c i64) (local $d i64) (local $e i64) (local $g i64)
        (if (i64.eqz (i64.rem_u (local.get $n) (i64.const 3))) (then
            (local.set $a (i64.mul (local.get $n) (i64.const 17)))
            (local.set $b (i64.xor (local.get $a) (i64.const 99)))
            (local.set $c (i64.add (local.get $b) (local.get $n)))
            (local.set $d (call $leaf (local.get $a) (local.get $b) (local.get $c) (local.get $n) (local.get $a)
                (local.get $b) (local.get $c) (local.get $n) (local.get $a) (local.get $b)))
            (local.set $e (call $f (i64.add (local.get $n) (i64.const 1))))
            (local.set $g (i64.add (local.get $d) (local.get $c))))
        (else
            (local.set $a (i64.rotl (local.get $n) (i64.const 5)))
            (if (i64.eqz (i64.and (local.get $n) (i64.const 1))) (then
                (local.set $b (call $f (i64.add (local.get $n) (i64.const 1))))
                (local.set $c (i64.add (local.get $a) (local.get $b))))
            (else
                (local.set $d (i64.sub (local.get $n) (local.get $a)))
                (local.set $e (call $f (i64.add (local.get $n) (i64.const 3))))))))
        (i64.add (i64.add (i64.add (local.get $a) (local.get $b)) (i64.add (local.get $c) (local.get $d)))
            (i64.add (local.get $e) (local.get $g)))))"#;

#[test]
fn a_profile_is_exact_wherever_the_stack_overflows() -> Outcome {
    let config = ProfilingConfig::Exact(Collect::AllEdges);
    let engine = Engine::with_profiling(config)?;
    let module = Module::new(&engine, BRANCHY)?;
    for pad in 0..300 {
        let (engine, module) = (engine.clone(), module.clone());
        let body = move || -> Result<()> {
            let mut store = Store::new(&engine, ());
            let instance = Instance::new(&mut store, &module, &[])?;
            let f = instance.get_typed_func::<i64, i64>(&mut store, "f")?;
            let error = f.call(&mut store, pad % 7).expect_err("overflow");
            assert_eq!(error.trap(), Some(Trap::StackOverflow));
            instance.profile(&store)?.verify()?;
            Ok(())
        };
        // The padding decides where the guard page lies relative to the frames.
        let thread = std::thread::Builder::new()
            .stack_size(1 << 20)
            .spawn(move || on_padded_stack(pad as usize, &mut || body().map_err(|e| e.to_string())));
        thread?.join().expect("no panic").map_err(|e| format!("padding {pad}: {e}"))?;
    }
    Ok(())
}

/// Calls `body` with the stack moved by about `pad` times 16 bytes.
#[inline(never)]
fn on_padded_stack<R>(pad: usize, body: &mut dyn FnMut() -> R) -> R {
    let frame = std::hint::black_box([pad as u8; 16]);
    let result = if pad == 0 { body() } else { on_padded_stack(pad - 1, body) };
    std::hint::black_box(frame);
    result
}
