//! Makes waits of threads end at once: no other thread of a generated module could end them.

use wasmparser::Operator;

use crate::splice::{Result, Splice};

/// `drop; i64.const 0`
const EXPIRED: [u8; 3] = [0x1a, 0x42, 0x00];

/// Returns `wasm` with a time limit of zero for each wait.
///
/// # Errors
/// Returns an error if the module is malformed.
pub fn expired(wasm: &[u8]) -> Result<Vec<u8>> {
    let mut splice = Splice::new(wasm)?;
    for defined in 0..splice.bodies.len() {
        for found in splice.instructions(defined)? {
            let waits =
                matches!(found.op, Operator::MemoryAtomicWait32 { .. } | Operator::MemoryAtomicWait64 { .. });
            if waits {
                splice.insert(found.at, EXPIRED.to_vec());
            }
        }
    }
    Ok(splice.apply())
}

#[cfg(test)]
mod tests {
    use wprof::{Engine, Instance, Module, Store};

    use super::*;

    #[test]
    fn a_wait_without_end_ends_at_once() {
        let text = r#"(module (memory 1 1 shared)
            (func (export "wait") (result i32)
                (memory.atomic.wait32 (i32.const 0) (i32.const 0) (i64.const -1))))"#;
        let wasm = expired(&wat::parse_str(text).expect("valid text")).expect("well formed");
        let engine = Engine::default();
        let module = Module::new(&engine, &wasm).expect("valid");
        let mut store = Store::new(&engine, ());
        let instance = Instance::new(&mut store, &module, &[]).expect("no imports");
        let wait = instance.get_typed_func::<(), i32>(&mut store, "wait").expect("exported");
        assert_eq!(wait.call(&mut store, ()).expect("no trap"), 2, "2 says that the time was over");
    }
}
