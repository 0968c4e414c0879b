//! Copies: code that passes a value, which has been checked, from one place to another.
//!
//! Source: *CanonicalABI.md*, "Storing", "Flat Lowering". What a value refers to is copied before the reference to it is
//! written, and values are written in the order of their types, so that even an allocator that gives out the same memory
//! twice sees what it would see otherwise.

use wasm_encoder::ValType;

use super::body::{Body, Figure, Side};
use super::check::list_bytes;
use super::fitness::is_plain;
use super::place::{Place, copy_scalar};
use crate::component::types::{Type, TypeKind};

/// Two sides of a call, and the direction.
#[derive(Clone, Copy)]
pub struct Way {
    pub from: Side,
    pub to: Side,
}

/// Writes the copy of a value. `None`: what it needs is not there.
pub fn copy(body: &mut Body, way: Way, ty: &Type, from: Place<'_>, to: Place<'_>) -> Option<()> {
    match ty.kind() {
        TypeKind::String => {
            let (pointer, length) = pair(body, from)?;
            let at = body.reserve(way.to, 1, Figure::Narrow(length))?;
            body.sink().local_get(at).local_get(pointer).local_get(length);
            body.sink().memory_copy(way.to.memory?, way.from.memory?);
            to.set_pair(body, (at, length))
        }
        TypeKind::List(element) => {
            let (pointer, length) = pair(body, from)?;
            let at = copy_list(body, way, element, (pointer, length))?;
            to.set_pair(body, (at, length))
        }
        TypeKind::Record(_) | TypeKind::Tuple(_) => {
            let mut fields = from.fields(ty).zip(to.fields(ty));
            fields.try_for_each(|((ty, from), (_, to))| copy(body, way, ty, from, to))
        }
        TypeKind::Variant(_) | TypeKind::Enum(_) | TypeKind::Option(_) | TypeKind::Result { .. } => {
            copy_case(body, way, ty, from, to)
        }
        _ => copy_scalar(body, ty, from, to),
    }
}

fn pair(body: &mut Body, from: Place<'_>) -> Option<(u32, u32)> {
    from.push_pointer(body)?;
    let pointer = body.keep(ValType::I32);
    from.push_length(body)?;
    Some((pointer, body.keep(ValType::I32)))
}

/// Writes the copy of the elements of a list; returns the local with their new address.
fn copy_list(body: &mut Body, way: Way, element: &Type, (pointer, length): (u32, u32)) -> Option<u32> {
    let (from, to) = (way.from.memory?, way.to.memory?);
    let bytes = list_bytes(body, element, length);
    let at = body.reserve(way.to, element.align(), Figure::Wide(bytes))?;
    if is_plain(element) {
        body.sink().local_get(at).local_get(pointer).local_get(bytes).i32_wrap_i64().memory_copy(to, from);
        return Some(at);
    }
    body.sink().local_get(at);
    let cursor = body.keep(ValType::I32);
    let (source, place) = (Place::at(from, pointer), Place::at(to, cursor));
    body.repeat(length, (&[pointer, cursor], element.size()), |body| {
        copy(body, way, element, source, place)
    })?;
    Some(at)
}

/// Core values of other cases stay zero.
fn copy_case(body: &mut Body, way: Way, ty: &Type, from: Place<'_>, to: Place<'_>) -> Option<()> {
    from.push_case(body, ty)?;
    let number = body.keep(ValType::I32);
    to.set_case(body, ty, number)?;
    let cases = ty.cases();
    let some: Vec<usize> = ty.payloads().map(|(case, _)| case).collect();
    body.choose(number, (cases.len(), &some), |body, case| {
        copy(body, way, cases[case].as_ref()?, from.held(ty), to.held(ty))
    })
}
