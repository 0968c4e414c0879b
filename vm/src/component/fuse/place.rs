//! Where a value is: in core values, which are locals, or in memory; and the scalars there.

use wasm_encoder::ValType;

use super::body::{Body, memory_operand};
use crate::component::types::{Type, TypeKind};

/// A core value, of a type that it has in common with other cases.
#[derive(Clone, Copy, Debug)]
pub struct Slot {
    pub local: u32,
    pub ty: ValType,
}

/// The place of a value.
#[derive(Clone, Copy, Debug)]
pub enum Place<'s> {
    Flat(&'s [Slot]),
    /// At an offset from an address in a local.
    Memory {
        memory: u32,
        address: u32,
        offset: u32,
    },
}

impl<'s> Place<'s> {
    /// Returns a place in memory.
    pub fn at(memory: u32, address: u32) -> Place<'s> {
        Place::Memory { memory, address, offset: 0 }
    }

    /// Returns the places of the fields of a record or tuple, with their types, in order.
    pub fn fields<'t>(self, ty: &'t Type) -> impl Iterator<Item = (&'t Type, Place<'s>)> {
        let mut before = 0;
        ty.fields().map(move |(offset, ty)| {
            let place = self.part(before, offset);
            before += ty.flat().len();
            (ty, place)
        })
    }

    /// Returns the place of what a case holds.
    pub fn held(self, ty: &Type) -> Place<'s> {
        self.part(1, ty.case_layout().1)
    }

    fn part(self, first: usize, by: u32) -> Place<'s> {
        match self {
            Place::Flat(slots) => Place::Flat(slots.get(first..).unwrap_or_default()),
            Place::Memory { memory, address, offset } => {
                Place::Memory { memory, address, offset: offset + by }
            }
        }
    }

    /// Pushes the number of a case.
    pub fn push_case(self, body: &mut Body, ty: &Type) -> Option<()> {
        self.push_word(body, (0, 0), ty.case_layout().0)
    }

    /// Pushes the address of a string or list.
    pub fn push_pointer(self, body: &mut Body) -> Option<()> {
        self.push_word(body, (0, 0), 4)
    }

    /// Pushes the length of a string or list.
    pub fn push_length(self, body: &mut Body) -> Option<()> {
        self.push_word(body, (1, 4), 4)
    }

    /// Stores the number of a case, from a local.
    pub fn set_case(self, body: &mut Body, ty: &Type, local: u32) -> Option<()> {
        self.set_word(body, (0, 0), ty.case_layout().0, local)
    }

    /// Stores the address and length of a string or list, from locals.
    pub fn set_pair(self, body: &mut Body, (pointer, length): (u32, u32)) -> Option<()> {
        self.set_word(body, (0, 0), 4, pointer)?;
        self.set_word(body, (1, 4), 4, length)
    }

    /// Pushes an unsigned integer: the slot with a number, or so many bytes at an offset.
    fn push_word(self, body: &mut Body, (number, at): (usize, u32), bytes: u32) -> Option<()> {
        match self {
            Place::Flat(slots) => push_slot(body, *slots.get(number)?, ValType::I32),
            Place::Memory { memory, address, offset } => {
                let operand = memory_operand(memory, offset + at, bytes);
                let mut sink = body.sink();
                sink.local_get(address);
                match bytes {
                    1 => sink.i32_load8_u(operand),
                    2 => sink.i32_load16_u(operand),
                    _ => sink.i32_load(operand),
                };
            }
        }
        Some(())
    }

    fn set_word(self, body: &mut Body, (number, at): (usize, u32), bytes: u32, local: u32) -> Option<()> {
        match self {
            Place::Flat(slots) => {
                body.sink().local_get(local);
                set_slot(body, *slots.get(number)?, ValType::I32);
            }
            Place::Memory { memory, address, offset } => {
                let operand = memory_operand(memory, offset + at, bytes);
                let mut sink = body.sink();
                sink.local_get(address).local_get(local);
                match bytes {
                    1 => sink.i32_store8(operand),
                    2 => sink.i32_store16(operand),
                    _ => sink.i32_store(operand),
                };
            }
        }
        Some(())
    }
}

/// Returns the type of the core value of a scalar.
fn natural(ty: &Type) -> ValType {
    match ty.kind() {
        TypeKind::S64 | TypeKind::U64 => ValType::I64,
        TypeKind::Float32 => ValType::F32,
        TypeKind::Float64 => ValType::F64,
        _ => ValType::I32,
    }
}

/// Pushes a scalar as its core value, which may not be canonical yet.
pub fn push_scalar(body: &mut Body, ty: &Type, from: Place<'_>) -> Option<()> {
    match (from, natural(ty)) {
        (Place::Flat(slots), natural) => push_slot(body, *slots.first()?, natural),
        (Place::Memory { .. }, ValType::I32) => from.push_word(body, (0, 0), ty.size())?,
        (Place::Memory { memory, address, offset }, natural) => {
            let operand = memory_operand(memory, offset, ty.size());
            let mut sink = body.sink();
            sink.local_get(address);
            match natural {
                ValType::I64 => sink.i64_load(operand),
                ValType::F32 => sink.f32_load(operand),
                _ => sink.f64_load(operand),
            };
        }
    }
    Some(())
}

/// Copies a scalar, and makes it canonical.
pub fn copy_scalar(body: &mut Body, ty: &Type, from: Place<'_>, to: Place<'_>) -> Option<()> {
    if let Place::Memory { address, .. } = to {
        body.sink().local_get(address);
    }
    push_scalar(body, ty, from)?;
    normalise(body, ty);
    let Place::Memory { memory, offset, .. } = to else {
        let Place::Flat(slots) = to else { return None };
        set_slot(body, *slots.first()?, natural(ty));
        return Some(());
    };
    let operand = memory_operand(memory, offset, ty.size());
    let mut sink = body.sink();
    match (natural(ty), ty.size()) {
        (ValType::I64, _) => sink.i64_store(operand),
        (ValType::F32, _) => sink.f32_store(operand),
        (ValType::F64, _) => sink.f64_store(operand),
        (_, 1) => sink.i32_store8(operand),
        (_, 2) => sink.i32_store16(operand),
        _ => sink.i32_store(operand),
    };
    Some(())
}

/// Makes the core value on the stack the one of its value: small integers are extended, what is true is 1, and bits that
/// are no flags are 0.
fn normalise(body: &mut Body, ty: &Type) {
    let mut sink = body.sink();
    match ty.kind() {
        TypeKind::Bool => sink.i32_const(0).i32_ne(),
        TypeKind::S8 => sink.i32_extend8_s(),
        TypeKind::U8 => sink.i32_const(0xff).i32_and(),
        TypeKind::S16 => sink.i32_extend16_s(),
        TypeKind::U16 => sink.i32_const(0xffff).i32_and(),
        TypeKind::Flags(names) if names.len() < 32 => {
            sink.i32_const(((1_u32 << names.len()) - 1) as i32).i32_and()
        }
        _ => &mut sink,
    };
}

/// Pushes a slot as a type, of the same or fewer bits.
fn push_slot(body: &mut Body, Slot { local, ty }: Slot, wanted: ValType) {
    let mut sink = body.sink();
    sink.local_get(local);
    match (ty, wanted) {
        (ValType::I32, ValType::F32) => sink.f32_reinterpret_i32(),
        (ValType::I64, ValType::I32) => sink.i32_wrap_i64(),
        (ValType::I64, ValType::F32) => sink.i32_wrap_i64().f32_reinterpret_i32(),
        (ValType::I64, ValType::F64) => sink.f64_reinterpret_i64(),
        _ => &mut sink,
    };
}

/// Stores the value on the stack, of a type of the same or fewer bits, in a slot.
fn set_slot(body: &mut Body, Slot { local, ty }: Slot, given: ValType) {
    let mut sink = body.sink();
    match (given, ty) {
        (ValType::F32, ValType::I32) => sink.i32_reinterpret_f32(),
        (ValType::I32, ValType::I64) => sink.i64_extend_i32_u(),
        (ValType::F32, ValType::I64) => sink.i32_reinterpret_f32().i64_extend_i32_u(),
        (ValType::F64, ValType::I64) => sink.i64_reinterpret_f64(),
        _ => &mut sink,
    };
    sink.local_set(local);
}
