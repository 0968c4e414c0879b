//! Runaway recursion: functions that start with a call of themselves.

use wprof_jit::module::ModuleInfo;

use crate::rng::Rng;
use crate::splice::{Result, Splice, unsigned};

/// Returns `wasm` with some functions that start by calling themselves, until a global has counted down to zero.
///
/// # Errors
/// Returns an error if the module is malformed.
pub fn module(wasm: &[u8], info: &ModuleInfo, rng: &mut Rng) -> Result<Vec<u8>> {
    let mut splice = Splice::new(wasm)?;
    let global = splice.i32_global(None, 10_000_000);
    for defined in 0..splice.bodies.len() {
        let func = info.imported_funcs + defined as u32;
        let simple = info.func_type(func).params().iter().all(|ty| !ty.is_reference_type());
        if simple && rng.chance(60) {
            splice.insert(splice.bodies[defined].code, descend(info, func, global));
        }
    }
    Ok(splice.apply())
}

/// Emits an `if` the global is not zero: decrements it and calls `func` with zeros.
fn descend(info: &ModuleInfo, func: u32, global: u32) -> Vec<u8> {
    let mut code = Vec::new();
    let mut op = |bytes: &[u8], index: Option<u32>| {
        code.extend_from_slice(bytes);
        index.into_iter().for_each(|index| unsigned(&mut code, index));
    };
    op(&[0x23], Some(global)); // global.get
    op(&[0x04, 0x40], None); // if
    op(&[0x23], Some(global));
    op(&[0x41, 1, 0x6b], None); // i32.const 1; i32.sub
    op(&[0x24], Some(global)); // global.set
    for &param in info.func_type(func).params() {
        op(&[0x41 + type_number(param)], None); // i32.const, i64.const, f32.const, f64.const
        op(&vec![0; [1, 1, 4, 8][usize::from(type_number(param))]], None);
    }
    op(&[0x10], Some(func)); // call
    info.func_type(func).results().iter().for_each(|_| op(&[0x1a], None)); // drop
    op(&[0x0b], None); // end
    code
}

/// Returns the position of a number type in the order of the opcodes of its constants.
fn type_number(ty: wasmparser::ValType) -> u8 {
    match ty {
        wasmparser::ValType::I32 => 0,
        wasmparser::ValType::I64 => 1,
        wasmparser::ValType::F32 => 2,
        _ => 3,
    }
}
