//! JavaScript strings, for programs that import `wasm:js-string`, such as those that Kotlin, Dart and others
//! compile for hosts with garbage collection.
//!
//! A string is an [`ExternRef`] whose data is a [`JsString`]: UTF-16 as in JavaScript, including lone surrogates.
//! The builtins are host functions, so all profiles show their names, counts and time.
//!
//! Source: the "JS String Builtins" proposal of WebAssembly 3.0, `proposals/js-string-builtins/Overview.md`,
//! which specifies what each builtin does and when it traps.

use std::fmt;

use crate::caller::Caller;
use crate::func::{ArrayRef, IntoFunc};
use crate::runtime::values::externs::Charge;
use crate::types::ArrayType;
use crate::{AnyRef, AsContext, AsContextMut, ExternRef, ExternType, FuncType, Global, HeapType};
use crate::{Linker, Module, RefType, Result, Trap, Val, ValType};

/// The name of the module from which programs import the builtins.
const MODULE: &str = "wasm:js-string";

/// Maximum number of code units of a string, the same as in V8.
const MAX_UNITS: usize = (1 << 29) - 24;

/// Bytes that a store has for each string beside the string: its counts, and its slot in tables that are half full.
const BESIDE: usize = 80;

/// A JavaScript string: a sequence of UTF-16 code units.
pub struct JsString {
    units: Box<[u16]>,
    /// What the string takes of its store's limit, if wasm code has created it.
    _charge: Option<Charge>,
}

impl JsString {
    /// Creates a string from UTF-16 code units, which need not be valid.
    pub fn from_units(units: impl Into<Box<[u16]>>) -> JsString {
        JsString { units: units.into(), _charge: None }
    }

    /// Returns the UTF-16 code units.
    pub fn units(&self) -> &[u16] {
        &self.units
    }
}

impl From<&str> for JsString {
    fn from(text: &str) -> JsString {
        JsString::from_units(text.encode_utf16().collect::<Vec<_>>())
    }
}

/// Lone surrogates become U+FFFD.
impl fmt::Display for JsString {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from_utf16_lossy(&self.units))
    }
}

impl fmt::Debug for JsString {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.to_string(), f)
    }
}

/// The type of the builtins' string parameters and results.
type Value = Option<ExternRef>;

impl<T: 'static> Linker<T> {
    /// Defines the functions of `wasm:js-string`. The strings that wasm code creates may take
    /// [`StoreLimits::heap_bytes`](crate::StoreLimits::heap_bytes) bytes in total; beyond that a function traps.
    ///
    /// # Errors
    /// Returns an error if one of the names is already defined.
    pub fn define_js_strings(&mut self) -> Result<&mut Self> {
        let string = || ValType::EXTERNREF;
        let array = || ValType::Ref(RefType::new(true, HeapType::ConcreteArray(ArrayType::of_units())));
        let (some, number) = (ValType::Ref(RefType::new(false, HeapType::Extern)), ValType::I32);
        let number = || number.clone();
        let mut is_told = FuncType::new([string()], [number()]);
        builtin(self, "test", is_told.clone(), |value: Value| u32::from(units_of(&value).is_ok()))?;
        builtin(self, "length", is_told, |value: Value| {
            Ok::<_, crate::Error>(units_of(&value)?.len() as u32)
        })?;
        builtin(self, "cast", FuncType::new([string()], [some.clone()]), |value: Value| {
            units_of(&value)?;
            Ok::<_, crate::Error>(value)
        })?;
        is_told = FuncType::new([string(), string()], [number()]);
        builtin(self, "equals", is_told.clone(), |a: Value, b: Value| {
            Ok::<_, crate::Error>(equals(&a, &b)?)
        })?;
        builtin(self, "compare", is_told, |a: Value, b: Value| {
            Ok::<_, crate::Error>(units_of(&a)?.cmp(units_of(&b)?) as i32)
        })?;
        is_told = FuncType::new([string(), number()], [number()]);
        builtin(self, "charCodeAt", is_told.clone(), |value: Value, at: u32| {
            Ok::<_, crate::Error>(u32::from(unit_at(units_of(&value)?, at)?))
        })?;
        builtin(self, "codePointAt", is_told, |value: Value, at: u32| {
            Ok::<_, crate::Error>(code_point_at(units_of(&value)?, at)?)
        })?;
        let from_number = FuncType::new([number()], [some.clone()]);
        builtin(self, "fromCharCode", from_number.clone(), |mut caller: Caller<'_, T>, unit: u32| {
            string_of(&mut caller, 1, || [unit as u16].into())
        })?;
        builtin(self, "fromCodePoint", from_number, |mut caller: Caller<'_, T>, point: u32| {
            let (units, len) = encode(point)?;
            string_of(&mut caller, len, || units[..len].into())
        })?;
        builtin(
            self,
            "concat",
            FuncType::new([string(), string()], [some.clone()]),
            |mut caller: Caller<'_, T>, a: Value, b: Value| {
                let (a, b) = (units_of(&a)?, units_of(&b)?);
                string_of(&mut caller, a.len() + b.len(), || [a, b].concat().into())
            },
        )?;
        builtin(
            self,
            "substring",
            FuncType::new([string(), number(), number()], [some.clone()]),
            |mut caller: Caller<'_, T>, value: Value, start: u32, end: u32| {
                let part = substring(units_of(&value)?, start, end);
                string_of(&mut caller, part.len(), || part.into())
            },
        )?;
        builtin(
            self,
            "fromCharCodeArray",
            FuncType::new([array(), number(), number()], [some]),
            |mut caller: Caller<'_, T>, array: Option<AnyRef>, start: u32, end: u32| {
                let array = array_of(&caller, array)?;
                let units = array.units(&caller.as_context().0.opaque, start, end)?;
                string_of(&mut caller, units.len(), || units.into())
            },
        )?;
        builtin(
            self,
            "intoCharCodeArray",
            FuncType::new([string(), array(), number()], [number()]),
            |mut caller: Caller<'_, T>, value: Value, array: Option<AnyRef>, start: u32| {
                let (units, array) = (units_of(&value)?, array_of(&caller, array)?);
                array.set_units(&mut caller.as_context_mut().0.opaque, start, units)?;
                Ok::<_, crate::Error>(units.len() as u32)
            },
        )
    }

    /// Defines the string constants of a module: its imports from `namespace` are immutable globals, each a
    /// string equal to the import's name. Toolchains and hosts agree on the namespace; Kotlin uses `'`.
    ///
    /// # Errors
    /// Returns an error if one of the names is already defined.
    pub fn define_string_constants(
        &mut self,
        mut store: impl AsContextMut<Data = T>,
        module: &Module,
        namespace: &str,
    ) -> Result<&mut Self> {
        let imports = module.imports().filter(|import| import.module() == namespace);
        for import in imports {
            let ExternType::Global(ty) = import.ty() else { continue };
            let is_string = matches!(&ty.content, ValType::Ref(of) if *of.heap_type() == HeapType::Extern);
            if ty.mutable || !is_string || self.find(namespace, import.name()).is_some() {
                continue;
            }
            let value = ExternRef::new(JsString::from(import.name()));
            let global = Global::new(&mut store, ty, Val::ExternRef(Some(value)))?;
            self.define(&store, namespace, import.name(), global)?;
        }
        Ok(self)
    }
}

/// Defines a builtin whose type is more precise than that of its closure: the result is never null, or the array
/// is one of characters.
fn builtin<'a, T: 'static, P, R>(
    linker: &'a mut Linker<T>,
    name: &str,
    ty: FuncType,
    func: impl IntoFunc<T, P, R>,
) -> Result<&'a mut Linker<T>> {
    linker.wrap_as(MODULE, name, ty, func)
}

/// Returns the code units of a string.
///
/// # Errors
/// Returns an error if the value is not a string.
fn units_of(value: &Value) -> Result<&[u16], Trap> {
    let string = value.as_ref().and_then(ExternRef::downcast_ref::<JsString>);
    string.map(JsString::units).ok_or(Trap::CastFailure)
}

/// Returns 1 if both are equal strings or both null, otherwise 0.
fn equals(a: &Value, b: &Value) -> Result<u32, Trap> {
    let [a, b] = [a, b].map(|value| value.is_some().then(|| units_of(value)).transpose());
    Ok(u32::from(a? == b?))
}

fn unit_at(units: &[u16], at: u32) -> Result<u16, Trap> {
    units.get(at as usize).copied().ok_or(Trap::StringOutOfBounds)
}

/// Returns the code point at index `at`: that of a surrogate pair, or a lone surrogate itself.
fn code_point_at(units: &[u16], at: u32) -> Result<u32, Trap> {
    let first = unit_at(units, at)?;
    let pair = units[at as usize..].iter().copied().take(2);
    let point = char::decode_utf16(pair).next().and_then(Result::ok);
    Ok(point.map_or(u32::from(first), u32::from))
}

/// Returns the code units of a code point, and their number.
fn encode(point: u32) -> Result<([u16; 2], usize), Trap> {
    let mut units = [point as u16, 0];
    let len = match char::from_u32(point) {
        Some(point) => point.encode_utf16(&mut units).len(),
        // A lone surrogate.
        None if point <= 0xffff => 1,
        None => return Err(Trap::BadCodePoint),
    };
    Ok((units, len))
}

/// Returns the part from `start` to `end`, clamped to the string; empty if `start` exceeds `end`.
fn substring(units: &[u16], start: u32, end: u32) -> &[u16] {
    let end = (end as usize).min(units.len());
    units.get(start as usize..end).unwrap_or_default()
}

/// Returns the array argument of a builtin; its type guarantees that it is an array of characters.
fn array_of<T>(caller: &Caller<'_, T>, value: Option<AnyRef>) -> Result<ArrayRef, Trap> {
    value.and_then(|value| value.as_array(caller)).ok_or(Trap::NullReference)
}

/// Creates a string of `len` units, which are made once there is room for them.
///
/// # Errors
/// Returns an error if the string is too long, or the store has no room for it.
fn string_of<T>(caller: &mut Caller<'_, T>, len: usize, units: impl FnOnce() -> Box<[u16]>) -> Result<Value> {
    if len > MAX_UNITS {
        return Err(Trap::GcOutOfMemory.into());
    }
    let bytes = (size_of::<JsString>() + BESIDE + 2 * len) as u64;
    // A collection needs no further roots: the arguments that the caller passed are host values already.
    let charge = caller.as_context_mut().0.opaque.charge(bytes, &[])?;
    let string = JsString { units: units(), _charge: Some(charge) };
    Ok(Some(ExternRef::new(string)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_points_are_pairs_of_surrogates_or_themselves() {
        let units: Vec<u16> = "a\u{1f600}".encode_utf16().chain([0xdc00, 0xd83d]).collect();
        let points: Vec<_> = (0..6).map(|at| code_point_at(&units, at).ok()).collect();
        let expected = [Some(0x61), Some(0x1f600), Some(0xde00), Some(0xdc00), Some(0xd83d), None];
        assert_eq!(points, expected);
        assert_eq!(encode(0x1f600).ok(), Some(([0xd83d, 0xde00], 2)));
        assert_eq!(encode(0xd83d).ok(), Some(([0xd83d, 0], 1)));
        assert_eq!(encode(0x11_0000), Err(Trap::BadCodePoint));
    }

    #[test]
    fn substrings_are_within_the_string() {
        let units = [1, 2, 3];
        assert_eq!(substring(&units, 1, 2), [2]);
        assert_eq!(substring(&units, 1, u32::MAX), [2, 3]);
        assert!(substring(&units, 2, 1).is_empty());
        assert!(substring(&units, 4, 9).is_empty());
    }

    #[test]
    fn nulls_are_equal_to_each_other_only() {
        let string = |text: &str| Some(ExternRef::new(JsString::from(text)));
        assert_eq!(equals(&None, &None), Ok(1));
        assert_eq!(equals(&string("a"), &None), Ok(0));
        assert_eq!(equals(&string("a"), &string("a")), Ok(1));
        assert_eq!(equals(&string("a"), &string("b")), Ok(0));
        assert_eq!(equals(&None, &Some(ExternRef::new(7))), Err(Trap::CastFailure));
    }
}
