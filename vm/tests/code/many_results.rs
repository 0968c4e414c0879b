//! Functions with more results than there are registers: their vmctx is in another place, which the lazy stubs must
//! handle.

use wprof::{Engine, Linker, Module, Result, Store, Val};

/// Returns a module whose `run` calls a function for its results in each possible way.
fn text(ty: &str, count: usize) -> String {
    let (types, drops) = (format!("{ty} ").repeat(count), "drop ".repeat(count));
    let values: String = (0..count)
        .map(|i| match ty {
            "v128" => format!("v128.const i64x2 {i} 1 "),
            _ => format!("{ty}.const {i} "),
        })
        .collect();
    format!(
        "(module (type $t (func (param i32) (result {types}))) (import \"host\" \"f\" (func $host (type $t)))
            (table funcref (elem $indirect))
            (func $direct (type $t) {values}) (func $indirect (type $t) {values})
            (func $last (type $t) {values})
            (func $tail (type $t) local.get 0 return_call $last)
            (func (export \"last\") (type $t) i32.const 1 call $direct {drops}
                i32.const 1 i32.const 0 call_indirect (type $t) {drops}
                i32.const 1 call $host {drops}
                i32.const 1 call $tail))"
    )
}

fn check(engine: &Engine, ty: &str, count: usize) -> Result<()> {
    let module = Module::new(engine, text(ty, count))?;
    let mut store = Store::new(engine, 0);
    let mut linker = Linker::new(engine);
    let func_type = match module.imports().next().expect("one").ty() {
        wprof::ExternType::Func(ty) => ty,
        other => panic!("{other} is not a function"),
    };
    linker.func_new("host", "f", func_type, |mut caller, params, _| {
        *caller.data_mut() += params[0].i32().expect("an i32");
        Ok(())
    })?;
    let instance = linker.instantiate(&mut store, &module)?;
    let func = instance.get_func(&mut store, "last").expect("exported");
    let mut results = vec![Val::I32(0); count];
    func.call(&mut store, &[Val::I32(5)], &mut results)?;
    for (i, result) in results.into_iter().enumerate() {
        let expected = match ty {
            "i64" => Val::I64(i as i64),
            "f32" => Val::from(i as f32),
            _ => Val::V128(i as u128 | 1 << 64),
        };
        assert_eq!(format!("{result:?}"), format!("{expected:?}"), "{count} of {ty}");
    }
    assert_eq!(store.into_data(), 1, "the host function was called once, with its argument");
    Ok(())
}

#[test]
fn results_come_back_in_registers_and_in_memory() {
    let engine = Engine::default();
    for ty in ["i64", "f32", "v128"] {
        for count in (0..12).chain([100]) {
            check(&engine, ty, count).unwrap_or_else(|e| panic!("{count} of {ty}: {e:?}"));
        }
    }
}
