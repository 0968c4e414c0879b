//! What to do with a module: which functions to call, with which arguments. The same for every engine.

use std::sync::Arc;

use wasmparser::ValType;
use wprof_jit::module::{Entity, ModuleInfo, parse};

use crate::outcome::Value;
use crate::rng::Rng;

/// Calls to make, one after the other, on one instance.
#[derive(Clone, Debug)]
pub struct Drive {
    /// The calls.
    pub calls: Vec<Call>,
    /// Fuel for each of them, if the module wants any.
    pub fuel: i32,
}

/// A call of an exported function.
#[derive(Clone, Debug)]
pub struct Call {
    /// The export.
    pub name: String,
    /// Its arguments.
    pub args: Vec<Value>,
}

impl Drive {
    /// Calls each exported function `rounds` times with arguments that `seed` determines.
    ///
    /// # Errors
    /// If the module is not valid.
    pub fn new(wasm: &[u8], seed: u64, rounds: usize, fuel: i32) -> Result<Drive, String> {
        let info = parse(Arc::from(wasm)).map_err(|e| e.to_string())?;
        let mut rng = Rng::new(seed);
        let calls = (0..rounds).flat_map(|_| exported_functions(&info)).map(|(name, params)| Call {
            name: name.to_string(),
            args: params.iter().map(|&ty| Value::any(ty, &mut rng)).collect(),
        });
        Ok(Drive { calls: calls.collect(), fuel })
    }
}

fn exported_functions(info: &ModuleInfo) -> impl Iterator<Item = (&str, &[ValType])> {
    info.exports.iter().filter_map(|(name, entity)| match entity {
        Entity::Func(func) => Some((name.as_str(), info.func_type(*func).params())),
        _ => None,
    })
}

/// The value of the imported global with this index.
pub fn imported_value(global: u32, ty: ValType) -> Value {
    match ty {
        // Often the offset of a segment.
        ValType::I32 => Value::I32(global as i32),
        ValType::I64 => Value::I64(i64::from(global)),
        ty => Value::any(ty, &mut Rng::new(u64::from(global))),
    }
}

/// Whether an export is ours, and none of the module's own.
pub fn is_ours(name: &str) -> bool {
    name.starts_with("wprof.")
}
