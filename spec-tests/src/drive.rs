//! The calls to make on a module: the exported functions and their arguments, the same for every engine.

use std::sync::Arc;

use wasmparser::ValType;
use wprof_jit::module::{Entity, ModuleInfo, parse};

use crate::outcome::Value;
use crate::rng::Rng;

/// Calls to make in order on one instance.
#[derive(Clone, Debug)]
pub struct Drive {
    /// The calls.
    pub calls: Vec<Call>,
    /// Fuel for each call, if the module consumes any.
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
    /// Plans `rounds` calls of each exported function, with arguments that `seed` determines.
    ///
    /// # Errors
    /// Returns an error if the module is not valid.
    pub fn new(wasm: &[u8], seed: u64, rounds: usize, fuel: i32) -> Result<Drive, String> {
        let info = parse(Arc::from(wasm)).map_err(|e| e.to_string())?;
        let mut rng = Rng::new(seed);
        let calls = (0..rounds).flat_map(|_| exported_functions(&info)).map(|(name, params)| Call {
            name: name.to_string(),
            args: params.iter().map(|&ty| Value::any(ty, &mut rng)).collect(),
        });
        Ok(Drive { calls: calls.collect(), fuel })
    }

    /// Reports whether a module is valid and exports the called functions.
    pub fn fits(&self, wasm: &[u8]) -> bool {
        let Ok(info) = parse(Arc::from(wasm)) else { return false };
        let params =
            |name: &str| exported_functions(&info).find(|(own, _)| *own == name).map(|(_, params)| params);
        self.calls.iter().all(|call| params(&call.name).is_some_and(|params| params.len() == call.args.len()))
    }

    /// Returns the calls as lines of text: the fuel, then each call.
    pub fn to_text(&self) -> String {
        let call = |call: &Call| {
            let args: String = call.args.iter().map(|arg| format!(" {}", text(arg))).collect();
            format!("{}{args}\n", call.name)
        };
        format!("fuel {}\n{}", self.fuel, self.calls.iter().map(call).collect::<String>())
    }

    /// Parses the output of [`Drive::to_text`].
    ///
    /// # Errors
    /// Returns an error if the text does not have this format.
    pub fn from_text(text: &str) -> Result<Drive, String> {
        let mut lines = text.lines();
        let fuel = lines.next().and_then(|line| line.strip_prefix("fuel ")?.parse().ok());
        let fuel = fuel.ok_or("the first line of the calls is not their fuel")?;
        let call = |line: &str| {
            let mut words = line.split(' ');
            let name = words.next().unwrap_or_default().to_string();
            let args = words.map(|word| value(word).ok_or_else(|| format!("`{word}` is no value")));
            Ok(Call { name, args: args.collect::<Result<_, String>>()? })
        };
        Ok(Drive { calls: lines.map(call).collect::<Result<_, String>>()?, fuel })
    }
}

/// Formats the type and the bits of a value.
fn text(value: &Value) -> String {
    match value {
        Value::I32(v) => format!("i32:{v}"),
        Value::I64(v) => format!("i64:{v}"),
        Value::F32(bits) => format!("f32:{bits}"),
        Value::F64(bits) => format!("f64:{bits}"),
        Value::V128(v) => format!("v128:{v}"),
        Value::Func(_) => "func:0".into(),
        Value::Extern(value) => format!("extern:{}", value.map_or("null".into(), |v| v.to_string())),
    }
}

fn value(word: &str) -> Option<Value> {
    let (ty, bits) = word.split_once(':')?;
    Some(match ty {
        "i32" => Value::I32(bits.parse().ok()?),
        "i64" => Value::I64(bits.parse().ok()?),
        "f32" => Value::F32(bits.parse().ok()?),
        "f64" => Value::F64(bits.parse().ok()?),
        "v128" => Value::V128(bits.parse().ok()?),
        "func" => Value::Func(false),
        "extern" if bits == "null" => Value::Extern(None),
        "extern" => Value::Extern(Some(bits.parse().ok()?)),
        _ => return None,
    })
}

fn exported_functions(info: &ModuleInfo) -> impl Iterator<Item = (&str, &[ValType])> {
    info.exports.iter().filter_map(|(name, entity)| match entity {
        Entity::Func(func) => Some((name.as_str(), info.func_type(*func).params())),
        _ => None,
    })
}

/// Returns the value of the imported global with this index.
pub fn imported_value(global: u32, ty: ValType) -> Value {
    match ty {
        // Segments often take their offset from it.
        ValType::I32 => Value::I32(global as i32),
        ValType::I64 => Value::I64(i64::from(global)),
        ty => Value::any(ty, &mut Rng::new(u64::from(global))),
    }
}

/// Reports whether an export was added by us, not by the module.
pub fn is_ours(name: &str) -> bool {
    name.starts_with("wprof.") || name.starts_with("wprof_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read_again() {
        let args = vec![
            Value::I32(-3),
            Value::I64(i64::MIN),
            Value::F32(7),
            Value::F64(1 << 63),
            Value::V128(u128::MAX),
            Value::Func(false),
            Value::Extern(None),
            Value::Extern(Some(4)),
        ];
        let calls = vec![Call { name: "f".into(), args }, Call { name: "g".into(), args: Vec::new() }];
        let text = Drive { calls, fuel: 9 }.to_text();
        assert_eq!(Drive::from_text(&text).expect("the form of it").to_text(), text);
        assert!(Drive::from_text("fuel 1\nf i32:x").is_err());
    }
}
