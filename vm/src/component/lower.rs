//! Lowering: values to core values and memory.
//!
//! Source: *CanonicalABI.md*, "Storing", "Flat Lowering".
//!
//! Invariant: the values have been checked against their types.

use super::faults::Fault;
use super::lift::{VALUES_BETWEEN_CHECKS, check_aligned};
use super::resource::ResourceAny;
use super::state::{Options, State};
use super::strings;
use super::trap;
use super::typed::CoreValues;
use super::types::{Type, TypeKind};
use super::val::{Val, mismatch};
use crate::store::StoreContextMut;
use crate::{AsContext, Error, ErrorKind, Result};

/// Lowers the values of one call into an instance.
pub struct Lower<'a, 's, T: 'static> {
    store: &'a mut StoreContextMut<'s, T>,
    options: &'a Options,
    state: &'a State,
    /// The resources that the host has lent to the call.
    lent: &'a mut Vec<ResourceAny>,
    /// The number of values so far.
    values: u32,
}

impl<'a, 's, T: 'static> Lower<'a, 's, T> {
    pub(super) fn new(
        store: &'a mut StoreContextMut<'s, T>,
        options: &'a Options,
        state: &'a State,
        lent: &'a mut Vec<ResourceAny>,
    ) -> Self {
        Lower { store, options, state, lent, values: 0 }
    }

    /// Appends the core values of a value, as bits.
    pub(super) fn flat(&mut self, ty: &Type, value: &Val, to: &mut CoreValues) -> Result<()> {
        self.count()?;
        match (ty.kind(), value) {
            (TypeKind::String, Val::String(text)) => {
                let (at, length) = self.string(text)?;
                to.extend([u64::from(at), u64::from(length)]);
            }
            (TypeKind::List(element), Val::List(values)) => {
                let (at, length) = self.list(element, values)?;
                to.extend([u64::from(at), u64::from(length)]);
            }
            (TypeKind::Record(_), Val::Record(values)) => {
                for ((_, ty), (_, value)) in ty.fields().zip(values) {
                    self.flat(ty, value, to)?;
                }
            }
            (TypeKind::Tuple(_), Val::Tuple(values)) => {
                for ((_, ty), value) in ty.fields().zip(values) {
                    self.flat(ty, value, to)?;
                }
            }
            (_, Val::Variant(..) | Val::Enum(_) | Val::Option(_) | Val::Result(_)) => {
                let end = to.len() + ty.flat().len();
                let (number, held) = value.case(ty)?;
                to.push(number as u64);
                if let (Some(ty), Some(held)) = (&ty.cases()[number], held) {
                    self.flat(ty, held, to)?;
                }
                // All cases have as many core values as the largest.
                to.resize(end, 0);
            }
            _ => to.push(self.scalar(ty, value)?),
        }
        Ok(())
    }

    /// Counts a value, and looks now and then whether the store is to stop.
    pub(super) fn count(&mut self) -> Result<()> {
        self.values = self.values.wrapping_add(1);
        if self.values.is_multiple_of(VALUES_BETWEEN_CHECKS) {
            self.store.0.opaque.control.interrupt().check()?;
        }
        Ok(())
    }

    /// Allocates room for a tuple that is passed in memory, and stores its fields there.
    pub(super) fn allocate(&mut self, tuple: &Type, values: &[Val]) -> Result<u32> {
        let at = self.reserve(tuple.align(), u64::from(tuple.size()))?;
        let mut fields = tuple.fields().zip(values);
        fields.try_for_each(|((offset, ty), value)| self.store(ty, value, at + offset))?;
        Ok(at)
    }

    /// Fails unless there is room for a value of a type at an address, which must be aligned.
    pub(super) fn check_room(&self, ty: &Type, at: u32) -> Result<()> {
        check_aligned(ty, at)?;
        self.check_bounds(at, u64::from(ty.size()))
    }

    /// Stores a value where there is room for it.
    pub(super) fn store(&mut self, ty: &Type, value: &Val, at: u32) -> Result<()> {
        self.count()?;
        match (ty.kind(), value) {
            (TypeKind::String, Val::String(text)) => {
                let pair = self.string(text)?;
                self.pair(at, pair)
            }
            (TypeKind::List(element), Val::List(values)) => {
                let pair = self.list(element, values)?;
                self.pair(at, pair)
            }
            (TypeKind::Record(_), Val::Record(values)) => {
                let mut fields = ty.fields().zip(values);
                fields.try_for_each(|((offset, ty), (_, value))| self.store(ty, value, at + offset))
            }
            (TypeKind::Tuple(_), Val::Tuple(values)) => {
                let mut fields = ty.fields().zip(values);
                fields.try_for_each(|((offset, ty), value)| self.store(ty, value, at + offset))
            }
            (_, Val::Variant(..) | Val::Enum(_) | Val::Option(_) | Val::Result(_)) => {
                let (size, held_at) = ty.case_layout();
                let (number, held) = value.case(ty)?;
                self.write(at, &(number as u32).to_le_bytes()[..size as usize])?;
                match (&ty.cases()[number], held) {
                    (Some(ty), Some(held)) => self.store(ty, held, at + held_at),
                    _ => Ok(()),
                }
            }
            _ => {
                let bits = self.scalar(ty, value)?;
                self.write(at, &bits.to_le_bytes()[..ty.size() as usize])
            }
        }
    }

    /// Returns the bits of a value with a single core value: small integers are extended to 32 bits.
    fn scalar(&mut self, ty: &Type, value: &Val) -> Result<u64> {
        Ok(match (value, ty.kind()) {
            (Val::Bool(value), _) => u64::from(*value),
            (Val::S8(value), _) => u64::from(i32::from(*value) as u32),
            (Val::U8(value), _) => u64::from(*value),
            (Val::S16(value), _) => u64::from(i32::from(*value) as u32),
            (Val::U16(value), _) => u64::from(*value),
            (Val::S32(value), _) => u64::from(*value as u32),
            (Val::U32(value), _) => u64::from(*value),
            (Val::S64(value), _) => *value as u64,
            (Val::U64(value), _) => *value,
            (Val::Float32(value), _) => u64::from(value.to_bits()),
            (Val::Float64(value), _) => value.to_bits(),
            (Val::Char(value), _) => u64::from(u32::from(*value)),
            (Val::Flags(names), TypeKind::Flags(_)) => u64::from(Val::bits(names, ty)),
            (Val::Resource(value), TypeKind::Own(resource)) => {
                value.check(&self.state.resources[*resource as usize])?;
                let rep = value.take()?;
                u64::from(self.own_rep(*resource, rep)?)
            }
            (Val::Resource(value), TypeKind::Borrow(resource)) => {
                value.check(&self.state.resources[*resource as usize])?;
                let rep = value.lend()?;
                self.lent.push(value.clone());
                u64::from(self.lend_rep(*resource, rep)?)
            }
            _ => return Err(mismatch("another value", ty)),
        })
    }

    /// Creates a handle of the instance for a resource whose ownership passes to it.
    pub(super) fn own_rep(&mut self, resource: u32, rep: u32) -> Result<u32> {
        self.state.handles(&mut self.store.0.opaque, self.options.instance).add(resource, rep, true)
    }

    /// Creates a handle of the instance for a resource that is lent to the call.
    pub(super) fn lend_rep(&mut self, resource: u32, rep: u32) -> Result<u32> {
        self.state.lend_to(&mut self.store.0.opaque, self.options.instance, resource, rep)
    }

    /// Lowers a list of bytes with a single copy.
    pub(super) fn byte_list(&mut self, bytes: &[u8]) -> Result<(u32, u32)> {
        let at = self.reserve(1, bytes.len() as u64)?;
        self.write(at, bytes)?;
        Ok((at, bytes.len() as u32))
    }

    pub(super) fn string(&mut self, text: &str) -> Result<(u32, u32)> {
        let (bytes, align, length) = strings::write(self.options.encoding, text)?;
        let at = self.reserve(align, bytes.len() as u64)?;
        self.write(at, &bytes)?;
        Ok((at, length))
    }

    fn list(&mut self, element: &Type, values: &[Val]) -> Result<(u32, u32)> {
        let size = element.size();
        let at = self.reserve(element.align(), u64::from(size) * values.len() as u64)?;
        if let TypeKind::U8 = element.kind() {
            let byte = |value: &Val| if let Val::U8(byte) = value { *byte } else { 0 };
            self.write(at, &values.iter().map(byte).collect::<Vec<u8>>())?;
        } else {
            for (index, value) in (0..).zip(values) {
                self.store(element, value, at + index * size)?;
            }
        }
        Ok((at, values.len() as u32))
    }

    /// Allocates memory in the instance.
    pub(super) fn reserve(&mut self, align: u32, size: u64) -> Result<u32> {
        let Ok(bytes) = i32::try_from(size) else {
            return Err(Fault::TooLong { bytes: size }.error());
        };
        let realloc =
            self.options.realloc.ok_or_else(|| trap("there is no `realloc` to pass values with"))?;
        let returned = realloc.call_numeric(self.store, &[0, 0, align.into(), bytes as u64])?;
        let at = returned.unwrap_or_default() as u32;
        if !at.is_multiple_of(align) {
            return Err(Fault::UnalignedRealloc { at, align }.error());
        }
        self.check_bounds(at, size)?;
        Ok(at)
    }

    fn check_bounds(&self, at: u32, size: u64) -> Result<()> {
        let memory = self.options.memory.map_or(0, |memory| memory.data_size(self.store.as_context()));
        match u64::from(at) + size <= memory as u64 {
            true => Ok(()),
            false => Err(Fault::OutOfBounds { at, bytes: size }.error()),
        }
    }

    pub(super) fn pair(&mut self, at: u32, (first, second): (u32, u32)) -> Result<()> {
        self.write(at, &first.to_le_bytes())?;
        self.write(at + 4, &second.to_le_bytes())
    }

    pub(super) fn write(&mut self, at: u32, bytes: &[u8]) -> Result<()> {
        let memory = self.options.memory;
        let memory =
            memory.ok_or_else(|| Error::new(ErrorKind::Type, "there is no memory to pass values in"))?;
        let written = memory.write(&mut *self.store, at as usize, bytes);
        written.map_err(|_| trap(format_args!("value at {at:#x} is out of bounds of memory")))
    }
}
