//! Addresses of vectors at the ends of a memory.

use wprof::*;

use super::vectors::plain;

type Outcome = std::result::Result<(), Box<dyn std::error::Error>>;

/// In a memory of four gibibytes an index that wraps around is one of its last bytes, and not one in front of it.
#[test]
fn an_index_before_the_first_byte_is_one_of_the_last() -> Outcome {
    let text = r#"(module (memory (export "memory") 65536) (func (export "f")
        (param $to i32) (param $from i32) (param $n i32) (local $i i32) (local $at i32)
        (loop $again
            (f64.store (i32.add (local.get $to) (local.get $at)) (f64.add
                (f64.load (i32.add (local.get $from) (local.get $at)))
                (f64.load (i32.add (i32.add (local.get $from) (local.get $at)) (i32.const -8)))))
            (local.set $at (i32.add (local.get $at) (i32.const 8)))
            (br_if $again (i32.lt_s (local.tee $i (i32.add (local.get $i) (i32.const 1))) (local.get $n))))))"#;
    const ROUNDS: usize = 100;
    const TO: usize = 4096;
    const LAST: usize = (1 << 32) - 8;
    for strategy in [Strategy::Baseline, Strategy::Optimized] {
        let engine = Engine::new(&plain(strategy))?;
        let (mut store, module) = (Store::new(&engine, ()), Module::new(&engine, text)?);
        let instance = Linker::new(&engine).instantiate(&mut store, &module)?;
        let memory = instance.get_memory(&mut store, "memory").ok_or("it is exported")?;
        for at in 0..ROUNDS {
            memory.write(&mut store, 8 * at, &(at as f64).to_le_bytes())?;
        }
        memory.write(&mut store, LAST, &1000_f64.to_le_bytes())?;
        let add = instance.get_typed_func::<(i32, i32, i32), ()>(&mut store, "f")?;
        add.call(&mut store, (TO as i32, 0, ROUNDS as i32))?;
        for at in 0..ROUNDS {
            let mut bytes = [0; 8];
            memory.read(&store, TO + 8 * at, &mut bytes)?;
            let before = if at == 0 { 1000.0 } else { (at - 1) as f64 };
            assert_eq!(f64::from_le_bytes(bytes), at as f64 + before, "{strategy:?} {at}");
        }
        let is_vectorized = module.vectorized_loops().iter().any(|found| found.outcome.is_ok());
        assert_eq!(is_vectorized, strategy == Strategy::Optimized);
    }
    Ok(())
}
