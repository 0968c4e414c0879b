//! Checks: code that traps if what is in a place is no value of its type.
//!
//! Source: *CanonicalABI.md*, "Loading", "Flat Lifting". Invariant: what is in memory is in bounds, and aligned, when it is
//! checked.

use wasm_encoder::{BlockType, ValType};

use super::body::{Body, Figure, Side, memory_operand};
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
        TypeKind::String => check_text(body, side, from),
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

/// Short text of ASCII takes no call of the host, which knows the rest: where text is bad, and why.
fn check_text(body: &mut Body, side: Side, from: Place<'_>) -> Option<()> {
    let (memory, check_text) = (side.memory?, side.check_text?);
    from.push_pointer(body)?;
    let pointer = body.keep(ValType::I32);
    from.push_length(body)?;
    let length = body.keep(ValType::I32);
    let [at, left] = [pointer, length].map(|from| {
        body.sink().local_get(from);
        body.keep(ValType::I32)
    });
    // The inner block ends where the host is asked, the outer one behind it.
    body.sink().block(BlockType::Empty).block(BlockType::Empty);
    body.sink().local_get(length).i32_const(SHORT).i32_gt_u().br_if(0);
    body.push_is_outside(memory, pointer, Figure::Narrow(length));
    body.sink().br_if(0);
    let advance = |body: &mut Body, by: i32| {
        let mut sink = body.sink();
        sink.local_get(at).i32_const(by).i32_add().local_set(at);
        sink.local_get(left).i32_const(by).i32_sub().local_set(left).br(0).end();
    };
    body.sink().block(BlockType::Empty).loop_(BlockType::Empty);
    body.sink().local_get(left).i32_const(8).i32_lt_u().br_if(1);
    body.sink().local_get(at).i64_load(memory_operand(memory, 0, 1)).i64_const(HIGH_BITS).i64_and();
    body.sink().i64_const(0).i64_ne().br_if(2);
    advance(body, 8);
    body.sink().end().loop_(BlockType::Empty);
    body.sink().local_get(left).i32_eqz().br_if(2);
    body.sink().local_get(at).i32_load8_s(memory_operand(memory, 0, 1)).i32_const(0).i32_lt_s().br_if(1);
    advance(body, 1);
    body.sink().end().local_get(pointer).local_get(length).call(check_text).end();
    Some(())
}

/// The bytes up to which text is looked at here: what the host does for long text is faster.
const SHORT: i32 = 64;
/// The bits of eight bytes that ASCII does not have.
const HIGH_BITS: i64 = 0x8080_8080_8080_8080_u64 as i64;

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
        ty.payloads().filter(|(_, held)| needs_check(held)).map(|(case, _)| case).collect();
    body.choose(number, (cases.len(), &some), |body, case| {
        check(body, side, cases[case].as_ref()?, from.held(ty))
    })
}
