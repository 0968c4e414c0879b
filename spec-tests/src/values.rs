//! Arguments and expected results in scripts.

use wast::core::{AbstractHeapType, HeapType, NanPattern, V128Pattern, WastArgCore, WastRetCore};
use wast::token::{F32, F64};
use wast::{WastArg, WastRet};
use wprof::{AnyRef, ExternRef, HeapType as Of, Store, Val};

/// Returns the value of an argument.
///
/// # Errors
/// Returns an error if the argument belongs to an unsupported proposal.
pub fn argument(arg: &WastArg<'_>) -> Result<Val, String> {
    let WastArg::Core(arg) = arg else { return Err(format!("argument {arg:?} is not supported")) };
    Ok(match arg {
        WastArgCore::I32(v) => Val::I32(*v),
        WastArgCore::I64(v) => Val::I64(*v),
        WastArgCore::F32(v) => Val::F32(v.bits),
        WastArgCore::F64(v) => Val::F64(v.bits),
        WastArgCore::V128(v) => Val::V128(u128::from_le_bytes(v.to_le_bytes())),
        WastArgCore::RefNull(HeapType::Abstract { ty, .. }) => match ty {
            AbstractHeapType::Func | AbstractHeapType::NoFunc => Val::FuncRef(None),
            AbstractHeapType::Extern | AbstractHeapType::NoExtern => Val::ExternRef(None),
            AbstractHeapType::Exn | AbstractHeapType::NoExn => Val::ExnRef(None),
            _ => Val::AnyRef(None),
        },
        WastArgCore::RefExtern(n) => Val::from(ExternRef::new(*n)),
        WastArgCore::RefHost(n) => Val::from(AnyRef::convert_extern(ExternRef::new(*n))),
        other => return Err(format!("argument {other:?} is not supported")),
    })
}

/// Reports whether `found` matches the expected result of a script. Patterns of unsupported kinds match nothing.
pub fn matches(expected: &WastRet<'_>, found: &Val, store: &Store<()>) -> bool {
    match expected {
        WastRet::Core(expected) => core_matches(expected, found, store),
        _ => false,
    }
}

fn core_matches(expected: &WastRetCore<'_>, found: &Val, store: &Store<()>) -> bool {
    match (expected, found) {
        (WastRetCore::I32(e), Val::I32(f)) => e == f,
        (WastRetCore::I64(e), Val::I64(f)) => e == f,
        (WastRetCore::F32(e), Val::F32(f)) => f32_matches(e, *f),
        (WastRetCore::F64(e), Val::F64(f)) => f64_matches(e, *f),
        (WastRetCore::V128(e), Val::V128(f)) => v128_matches(e, *f),
        (WastRetCore::RefNull(None), found) => found.to_ref().is_some_and(|found| found.is_null()),
        (WastRetCore::RefNull(Some(ty)), found) => is_null_of(ty, found),
        (WastRetCore::RefExtern(None), Val::ExternRef(Some(_))) => true,
        (WastRetCore::RefExtern(Some(n)), Val::ExternRef(Some(e))) => e.downcast_ref::<u32>() == Some(n),
        (WastRetCore::RefFunc(None), Val::FuncRef(Some(_))) => true,
        (WastRetCore::Either(cases), found) => cases.iter().any(|case| core_matches(case, found, store)),
        (expected, Val::AnyRef(Some(found))) => is_of(expected, found, store),
        _ => false,
    }
}

/// Reports whether a reference that is not null matches the expected result.
fn is_of(expected: &WastRetCore<'_>, found: &AnyRef, store: &Store<()>) -> bool {
    match expected {
        WastRetCore::RefAny => true,
        WastRetCore::RefEq => found.ty(store) != Of::Any,
        WastRetCore::RefI31 => found.as_i31().is_some(),
        WastRetCore::RefStruct => found.as_struct(store).is_some(),
        WastRetCore::RefArray => found.as_array(store).is_some(),
        WastRetCore::RefHost(n) => found.convert_to_extern().downcast_ref::<u32>() == Some(n),
        _ => false,
    }
}

/// Reports whether a value is null, in the hierarchy of a type. The exact type of a null reference is not observable.
fn is_null_of(ty: &HeapType<'_>, found: &Val) -> bool {
    let HeapType::Abstract { ty, .. } = ty else { return matches!(found, Val::FuncRef(None)) };
    match found {
        Val::FuncRef(None) => matches!(ty, AbstractHeapType::Func | AbstractHeapType::NoFunc),
        Val::ExternRef(None) => matches!(ty, AbstractHeapType::Extern | AbstractHeapType::NoExtern),
        Val::ExnRef(None) => matches!(ty, AbstractHeapType::Exn | AbstractHeapType::NoExn),
        Val::AnyRef(None) => true,
        _ => false,
    }
}

fn f32_matches(expected: &NanPattern<F32>, bits: u32) -> bool {
    match expected {
        NanPattern::CanonicalNan => bits & 0x7fff_ffff == 0x7fc0_0000,
        NanPattern::ArithmeticNan => bits & 0x7fc0_0000 == 0x7fc0_0000,
        NanPattern::Value(v) => bits == v.bits,
    }
}

fn f64_matches(expected: &NanPattern<F64>, bits: u64) -> bool {
    match expected {
        NanPattern::CanonicalNan => bits & (u64::MAX >> 1) == 0x7ff8_0000_0000_0000,
        NanPattern::ArithmeticNan => bits & 0x7ff8_0000_0000_0000 == 0x7ff8_0000_0000_0000,
        NanPattern::Value(v) => bits == v.bits,
    }
}

fn v128_matches(expected: &V128Pattern, found: u128) -> bool {
    let lane = |i: usize, bits: u32| (found >> (i as u32 * bits)) as u64;
    match expected {
        V128Pattern::I8x16(e) => e.iter().enumerate().all(|(i, &e)| e == lane(i, 8) as i8),
        V128Pattern::I16x8(e) => e.iter().enumerate().all(|(i, &e)| e == lane(i, 16) as i16),
        V128Pattern::I32x4(e) => e.iter().enumerate().all(|(i, &e)| e == lane(i, 32) as i32),
        V128Pattern::I64x2(e) => e.iter().enumerate().all(|(i, &e)| e == lane(i, 64) as i64),
        V128Pattern::F32x4(e) => e.iter().enumerate().all(|(i, e)| f32_matches(e, lane(i, 32) as u32)),
        V128Pattern::F64x2(e) => e.iter().enumerate().all(|(i, e)| f64_matches(e, lane(i, 64))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_canonical_nan_is_also_arithmetic_but_not_the_other_way_round() {
        let f32s =
            |bits| [NanPattern::CanonicalNan, NanPattern::ArithmeticNan].map(|p| f32_matches(&p, bits));
        assert_eq!(f32s(0xffc0_0000), [true, true]);
        assert_eq!(f32s(0x7fc0_0001), [false, true]);
        let f64s =
            |bits| [NanPattern::CanonicalNan, NanPattern::ArithmeticNan].map(|p| f64_matches(&p, bits));
        assert_eq!(f64s(0x7ff0_0000_0000_0001), [false, false], "a signalling NaN");
        assert_eq!(f64s(0x7ff0_0000_0000_0000), [false, false], "infinity");
    }

    #[test]
    fn lanes_are_counted_from_the_low_end() {
        assert!(v128_matches(&V128Pattern::I16x8([1, 2, 0, 0, 0, 0, 0, -1]), 1 | 2 << 16 | 0xffff << 112));
    }
}
