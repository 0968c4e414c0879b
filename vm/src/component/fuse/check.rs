//! Checks: code that traps if what is in a place is no value of its type.
//!
//! Source: *CanonicalABI.md*, "Loading", "Flat Lifting". Invariant: what is in memory is in bounds, and aligned, when it is
//! checked.

use wasm_encoder::ValType;

use super::body::{Body, Figure, Side};
use super::fitness::needs_check;
use super::place::{Place, push_scalar};
use crate::component::faults::Fault;
use crate::component::types::{Type, TypeKind};

/// Writes the check of a value. `None`: what it needs is not there.
pub fn check(body: &mut Body, side: Side, ty: &Type, from: Place<'_>) -> Option<()> {
    if !needs_check(ty) {
        return Some(());
    }
    match ty.kind() {
        TypeKind::Char => check_char(body, ty, from),
        TypeKind::String => {
            from.push_pointer(body)?;
            from.push_length(body)?;
            body.sink().call(side.check_text?);
            Some(())
        }
        TypeKind::List(element) => check_list(body, side, element, from),
        TypeKind::Record(_) | TypeKind::Tuple(_) => {
            from.fields(ty).try_for_each(|(ty, from)| check(body, side, ty, from))
        }
        _ => check_case(body, side, ty, from),
    }
}

/// The bits of a character are a Unicode scalar value.
fn check_char(body: &mut Body, ty: &Type, from: Place<'_>) -> Option<()> {
    push_scalar(body, ty, from)?;
    let bits = body.keep(ValType::I32);
    let mut sink = body.sink();
    sink.local_get(bits).i32_const(0x10_ffff).i32_gt_u();
    sink.local_get(bits).i32_const(!0x7ff).i32_and().i32_const(0xd800).i32_eq().i32_or();
    body.fail_if(Fault::NotAChar { bits: 0 }, [Figure::Narrow(bits), Figure::Constant(0)]);
    Some(())
}

fn check_list(body: &mut Body, side: Side, element: &Type, from: Place<'_>) -> Option<()> {
    from.push_pointer(body)?;
    let pointer = body.keep(ValType::I32);
    from.push_length(body)?;
    let length = body.keep(ValType::I32);
    body.check_aligned(pointer, element.align(), |at, align| Fault::UnalignedList { at, align });
    let bytes = list_bytes(body, element, length);
    body.check_bounds(side.memory?, pointer, Figure::Wide(bytes));
    if !needs_check(element) {
        return Some(());
    }
    let place = Place::at(side.memory?, pointer);
    body.repeat(length, (&[pointer], element.size()), |body| check(body, side, element, place))
}

/// Computes the bytes of a list into a local.
pub fn list_bytes(body: &mut Body, element: &Type, length: u32) -> u32 {
    body.sink().local_get(length).i64_extend_i32_u().i64_const(element.size().into()).i64_mul();
    body.keep(ValType::I64)
}

fn check_case(body: &mut Body, side: Side, ty: &Type, from: Place<'_>) -> Option<()> {
    from.push_case(body, ty)?;
    let number = body.keep(ValType::I32);
    let cases = ty.cases();
    body.sink().local_get(number).i32_const(cases.len() as i32).i32_ge_u();
    let figures = [Figure::Narrow(number), Figure::Constant(cases.len() as u32)];
    body.fail_if(Fault::NoCase { number: 0, cases: 0 }, figures);
    let some: Vec<usize> =
        (0..cases.len()).filter(|&case| cases[case].as_ref().is_some_and(needs_check)).collect();
    body.choose(number, (cases.len(), &some), |body, case| {
        check(body, side, cases[case].as_ref()?, from.held(ty))
    })
}
