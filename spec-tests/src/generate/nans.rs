//! Canonicalises the NaNs that conversions between floats yield.
//!
//! The bits of such a NaN are the engine's choice, and wasm-smith canonicalises only those of arithmetic. Without this
//! pass a module could branch on them, and two engines that are both right would differ.

use wasmparser::{Operator, ValType};

use crate::splice::{Result, Splice, unsigned};

/// Returns `wasm` with canonical NaNs after each conversion between floats.
///
/// # Errors
/// Returns an error if the module is malformed.
pub fn canonical(wasm: &[u8]) -> Result<Vec<u8>> {
    let mut splice = Splice::new(wasm)?;
    let mut scratch: Vec<(ValType, u32)> = Vec::new();
    for defined in 0..splice.bodies.len() {
        for found in splice.instructions(defined)? {
            let Some(float) = Float::of_conversion(&found.op) else { continue };
            let ty = float.ty();
            let known = scratch.iter().find(|&&(known, _)| known == ty).map(|&(_, global)| global);
            let global = known.unwrap_or_else(|| {
                let global = splice.scratch_global(ty);
                scratch.push((ty, global));
                global
            });
            splice.insert(found.next, float.canonicalization(global));
        }
    }
    Ok(splice.apply())
}

/// A float, or a vector of floats.
#[derive(Clone, Copy)]
enum Float {
    F32,
    F64,
    F32x4,
    F64x2,
}

impl Float {
    /// Returns what a conversion between floats yields.
    fn of_conversion(op: &Operator<'_>) -> Option<Float> {
        Some(match op {
            Operator::F32DemoteF64 => Float::F32,
            Operator::F64PromoteF32 => Float::F64,
            Operator::F32x4DemoteF64x2Zero => Float::F32x4,
            Operator::F64x2PromoteLowF32x4 => Float::F64x2,
            _ => return None,
        })
    }

    fn ty(self) -> ValType {
        match self {
            Float::F32 => ValType::F32,
            Float::F64 => ValType::F64,
            Float::F32x4 | Float::F64x2 => ValType::V128,
        }
    }

    /// Returns code that replaces the top of the stack: by the canonical NaN if it does not equal itself.
    fn canonicalization(self, global: u32) -> Vec<u8> {
        let mut code = Vec::new();
        let access = |code: &mut Vec<u8>, opcode: u8| {
            code.push(opcode);
            unsigned(code, global);
        };
        let (nan32, nan64) = (0x7fc0_0000_u32.to_le_bytes(), 0x7ff8_0000_0000_0000_u64.to_le_bytes());
        access(&mut code, 0x24); // global.set
        access(&mut code, 0x23); // global.get
        match self {
            Float::F32 => code.extend([&[0x43][..], &nan32].concat()), // f32.const
            Float::F64 => code.extend([&[0x44][..], &nan64].concat()), // f64.const
            Float::F32x4 => code.extend([&[0xfd, 0x0c][..], &nan32.repeat(4)].concat()), // v128.const
            Float::F64x2 => code.extend([&[0xfd, 0x0c][..], &nan64.repeat(2)].concat()),
        }
        access(&mut code, 0x23);
        access(&mut code, 0x23);
        match self {
            Float::F32 => code.extend([0x5b, 0x1b]), // f32.eq; select
            Float::F64 => code.extend([0x61, 0x1b]), // f64.eq; select
            Float::F32x4 => code.extend([0xfd, 0x41, 0xfd, 0x52]), // f32x4.eq; v128.bitselect
            Float::F64x2 => code.extend([0xfd, 0x47, 0xfd, 0x52]), // f64x2.eq; v128.bitselect
        }
        code
    }
}

#[cfg(test)]
mod tests {
    use wprof::{Engine, Instance, Module, Store, Val};

    use super::*;

    #[test]
    fn a_nan_of_a_conversion_has_the_bits_of_the_canonical_one() {
        let text = r#"(module
            (func (export "promote") (result i64)
                (i64.reinterpret_f64 (f64.promote_f32 (f32.const -nan:0x7ffc00))))
            (func (export "demote") (result i64)
                (i64.extend_i32_u (i32.reinterpret_f32 (f32.demote_f64 (f64.const -nan:0x8000000000001)))))
            (func (export "vector promote") (result i64)
                (i64x2.extract_lane 0 (f64x2.promote_low_f32x4 (v128.const f32x4 -nan:0x7ffc00 1 2 3))))
            (func (export "vector demote") (result i64)
                (i64x2.extract_lane 0 (f32x4.demote_f64x2_zero (v128.const f64x2 -nan:0x8000000000001 1))))
            (func (export "number") (result i64) (i64.reinterpret_f64 (f64.promote_f32 (f32.const 1)))))"#;
        let wasm = canonical(&wat::parse_str(text).unwrap()).unwrap();
        let engine = Engine::default();
        let module = Module::new(&engine, &wasm).unwrap();
        let mut store = Store::new(&engine, ());
        let instance = Instance::new(&mut store, &module, &[]).unwrap();
        let mut call = |name: &str| {
            let mut results = [Val::I64(0)];
            instance.get_func(&mut store, name).unwrap().call(&mut store, &[], &mut results).unwrap();
            results[0].i64().unwrap()
        };
        assert_eq!(call("promote"), 0x7ff8_0000_0000_0000);
        assert_eq!(call("demote"), 0x7fc0_0000);
        assert_eq!(call("vector promote"), 0x7ff8_0000_0000_0000);
        assert_eq!(call("vector demote"), 0x3f80_0000_7fc0_0000);
        assert_eq!(call("number"), 1_f64.to_bits().cast_signed());
    }
}
