//! Lifting: values from core values and memory.
//!
//! Source: *CanonicalABI.md*, "Loading", "Flat Lifting".

use std::sync::Arc;

use smallvec::SmallVec;

use super::faults::Fault;
use super::plan::Encoding;
use super::resource::ResourceAny;
use super::state::{Options, State};
use super::strings::Shape;
use super::trap;
use super::typed::Flat;
use super::types::{Type, TypeKind};
use super::val::{Val, allocated};
use crate::runtime::instances::store_opaque::StoreOpaque;
use crate::runtime::interruption::interrupt_page::InterruptPage;
use crate::runtime::values::budget::{Budget, Charge};
use crate::runtime::values::handles::Handles;
use crate::store::StoreContextMut;
use crate::{Error, ErrorKind, Result};

/// Bytes of host memory that are taken from the store's budget together: few, so that nested calls do not waste it.
const STEP: usize = 4 << 10;
/// How many values pass between two looks whether the store is to stop: some tens of microseconds' worth.
pub const VALUES_BETWEEN_CHECKS: u32 = 1 << 10;

/// Lifts the values of one call out of an instance.
pub struct Lift<'a> {
    memory: &'a [u8],
    /// The handles of the instance.
    handles: &'a mut Handles,
    encoding: Encoding,
    state: &'a Arc<State>,
    budget: &'a Budget,
    /// The bytes that were taken from the budget and are not used yet.
    left: usize,
    interrupt: &'a InterruptPage,
    /// The number of values so far.
    values: u32,
    loans: &'a mut Loans,
}

/// What a call has of the instance that calls, or returns: it ends with the call.
#[derive(Default)]
pub struct Loans {
    /// What its values take.
    pub taken: Charge,
    /// What the loans take.
    taken_by_loans: Charge,
    /// Handles of the lending instance, with their resources. Most calls lend one, if any.
    handles: SmallVec<[(u32, u32); 4]>,
    /// The borrower's resources, which become invalid.
    borrowed: Vec<ResourceAny>,
}

impl Loans {
    pub(super) fn end<T: 'static>(self, store: &mut StoreContextMut<'_, T>, state: &State, instance: u32) {
        self.borrowed.iter().for_each(ResourceAny::expire);
        for (handle, resource) in self.handles {
            let lent = state.handles(&mut store.0.opaque, instance).get(handle, resource);
            debug_assert!(lent.is_ok(), "what is lent cannot be dropped");
            if let Ok(handle) = lent {
                handle.loans -= 1;
            }
        }
    }
}

impl<'a> Lift<'a> {
    pub(super) fn new<T: 'static>(
        store: &'a mut StoreContextMut<'_, T>,
        options: &Options,
        state: &'a Arc<State>,
        loans: &'a mut Loans,
    ) -> Lift<'a> {
        let StoreOpaque { items, control, .. } = &mut store.0.opaque;
        let (memory, handles, budget) = state.lifted_from(items, options);
        let (encoding, interrupt) = (options.encoding, &**control.interrupt());
        Lift { memory, handles, encoding, state, budget, left: 0, interrupt, values: 0, loans }
    }

    /// Lifts a value that is passed in memory.
    pub(super) fn load_passed(&mut self, ty: &Type, at: u32) -> Result<Val> {
        self.check_place(ty, at)?;
        self.load(ty, u64::from(at))
    }

    /// Fails unless an address is aligned, and all of a value of a type is in memory there.
    pub(super) fn check_place(&self, ty: &Type, at: u32) -> Result<()> {
        check_aligned(ty, at)?;
        self.bytes(u64::from(at), u64::from(ty.size())).map(|_| ())
    }

    /// Lifts a value from core values, as bits.
    pub(super) fn flat(&mut self, ty: &Type, values: &mut Flat<'_>) -> Result<Val> {
        self.count()?;
        let mut next = || values.next().unwrap_or_default();
        Ok(match ty.kind() {
            TypeKind::String => {
                let (at, length) = (next() as u32, next() as u32);
                Val::String(self.text(at, length)?)
            }
            TypeKind::List(element) => {
                let (at, length) = (next() as u32, next() as u32);
                self.list(element, at, length)?
            }
            TypeKind::Record(_) | TypeKind::Tuple(_) => {
                self.charge(Val::bytes_beside(ty, 0))?;
                let fields = ty.fields().map(|(_, ty)| self.flat(ty, values)).collect::<Result<_>>()?;
                Val::of_fields(ty, fields)
            }
            TypeKind::Variant(_) | TypeKind::Enum(_) | TypeKind::Option(_) | TypeKind::Result { .. } => {
                let number = next() as u32;
                let held = case(ty, number)?;
                self.charge(Val::bytes_beside(ty, number as usize))?;
                // All cases have as many core values as the largest.
                let mut rest = values.first(ty.flat().len() - 1);
                let held = held.map(|ty| self.flat(ty, &mut rest)).transpose()?;
                Val::of_case(ty, number as usize, held)
            }
            _ => {
                let bits = next();
                self.scalar(ty, bits)?
            }
        })
    }

    pub(super) fn load(&mut self, ty: &Type, at: u64) -> Result<Val> {
        self.count()?;
        Ok(match ty.kind() {
            TypeKind::String => {
                let (at, length) = self.pair(at)?;
                Val::String(self.text(at, length)?)
            }
            TypeKind::List(element) => {
                let (at, length) = self.pair(at)?;
                self.list(element, at, length)?
            }
            TypeKind::Record(_) | TypeKind::Tuple(_) => {
                self.charge(Val::bytes_beside(ty, 0))?;
                let field = |(offset, ty)| self.load(ty, at + u64::from(offset));
                let fields = ty.fields().map(field).collect::<Result<_>>()?;
                Val::of_fields(ty, fields)
            }
            TypeKind::Variant(_) | TypeKind::Enum(_) | TypeKind::Option(_) | TypeKind::Result { .. } => {
                let (size, held_at) = ty.case_layout();
                let number = self.integer(at, size)? as u32;
                let held = case(ty, number)?;
                self.charge(Val::bytes_beside(ty, number as usize))?;
                let held = held.map(|ty| self.load(ty, at + u64::from(held_at))).transpose()?;
                Val::of_case(ty, number as usize, held)
            }
            _ => {
                let bits = self.integer(at, ty.size())?;
                self.scalar(ty, bits)?
            }
        })
    }

    /// Lifts a value with a single core value.
    fn scalar(&mut self, ty: &Type, bits: u64) -> Result<Val> {
        Ok(match ty.kind() {
            TypeKind::Bool => Val::Bool(bits as u32 != 0),
            TypeKind::S8 => Val::S8(bits as i8),
            TypeKind::U8 => Val::U8(bits as u8),
            TypeKind::S16 => Val::S16(bits as i16),
            TypeKind::U16 => Val::U16(bits as u16),
            TypeKind::S32 => Val::S32(bits as i32),
            TypeKind::U32 => Val::U32(bits as u32),
            TypeKind::S64 => Val::S64(bits as i64),
            TypeKind::U64 => Val::U64(bits),
            TypeKind::Float32 => Val::Float32(f32::from_bits(bits as u32)),
            TypeKind::Float64 => Val::Float64(f64::from_bits(bits)),
            TypeKind::Char => {
                let invalid = || Fault::NotAChar { bits: bits as u32 }.error();
                Val::Char(char::from_u32(bits as u32).ok_or_else(invalid)?)
            }
            TypeKind::Flags(names) => {
                self.charge(Val::bytes_beside(ty, 0))?;
                Val::of_bits(bits as u32, names)
            }
            TypeKind::Own(resource) => self.own(bits as u32, *resource)?,
            TypeKind::Borrow(resource) => self.borrow(bits as u32, *resource)?,
            _ => unreachable!("others are more than one core value"),
        })
    }

    fn own(&mut self, handle: u32, resource: u32) -> Result<Val> {
        self.charge(allocated(ResourceAny::BYTES))?;
        let rep = self.own_rep(handle, resource)?;
        let home = Some((self.state.clone(), resource));
        Ok(Val::Resource(ResourceAny::new(self.state.resources[resource as usize].clone(), rep, true, home)))
    }

    /// Removes an owned handle from the instance and returns its representation.
    pub(super) fn own_rep(&mut self, handle: u32, resource: u32) -> Result<u32> {
        self.handles.remove_owned(handle, resource)
    }

    /// Borrows a handle for the call and returns its representation.
    pub(super) fn borrow_rep(&mut self, handle: u32, resource: u32) -> Result<u32> {
        if self.loans.handles.len() >= self.loans.handles.inline_size() {
            self.charge_loan(size_of::<(u32, u32)>())?;
        }
        let lent = self.handles.get(handle, resource)?;
        lent.loans += 1;
        self.loans.handles.push((handle, resource));
        Ok(lent.rep)
    }

    fn borrow(&mut self, handle: u32, resource: u32) -> Result<Val> {
        self.charge_loan(allocated(ResourceAny::BYTES) + size_of::<ResourceAny>())?;
        let rep = self.borrow_rep(handle, resource)?;
        let lent = ResourceAny::new(self.state.resources[resource as usize].clone(), rep, false, None);
        self.loans.borrowed.push(lent.clone());
        Ok(Val::Resource(lent))
    }

    pub(super) fn text(&mut self, at: u32, length: u32) -> Result<String> {
        let shape = Shape::new(self.encoding, length)?;
        if !at.is_multiple_of(shape.align) {
            return Err(trap(format_args!("string pointer {at:#x} is not aligned to {} bytes", shape.align)));
        }
        // A character may become four bytes.
        self.charge(allocated(shape.bytes as usize * 2))?;
        shape.read(self.bytes(u64::from(at), u64::from(shape.bytes))?)
    }

    fn list(&mut self, element: &Type, at: u32, length: u32) -> Result<Val> {
        self.elements(element, at, length, size_of::<Val>(), Lift::load).map(Val::List)
    }

    /// Lifts a list of bytes.
    pub(super) fn byte_list(&mut self, at: u32, length: u32) -> Result<Vec<u8>> {
        let bytes = self.bytes(u64::from(at), u64::from(length))?;
        self.charge(allocated(bytes.len()))?;
        Ok(bytes.to_vec())
    }

    /// Lifts the values of a list, each of which takes so many bytes of host memory.
    pub(super) fn elements<V>(
        &mut self,
        element: &Type,
        at: u32,
        length: u32,
        cost: usize,
        load: impl Fn(&mut Self, &Type, u64) -> Result<V>,
    ) -> Result<Vec<V>> {
        if !at.is_multiple_of(element.align()) {
            return Err(Fault::UnalignedList { at, align: element.align() }.error());
        }
        let size = u64::from(element.size());
        self.bytes(u64::from(at), size * u64::from(length))?;
        self.charge(allocated(length as usize * cost))?;
        let mut all = Vec::with_capacity(length as usize);
        for index in 0..u64::from(length) {
            self.count()?;
            all.push(load(self, element, u64::from(at) + index * size)?);
        }
        Ok(all)
    }

    /// Reads an address and a length.
    pub(super) fn pair(&self, at: u64) -> Result<(u32, u32)> {
        Ok((self.integer(at, 4)? as u32, self.integer(at + 4, 4)? as u32))
    }

    /// Reads an integer of so many bytes.
    pub(super) fn integer(&self, at: u64, size: u32) -> Result<u64> {
        let mut bytes = [0; 8];
        bytes[..size as usize].copy_from_slice(self.bytes(at, u64::from(size))?);
        Ok(u64::from_le_bytes(bytes))
    }

    fn bytes(&self, at: u64, length: u64) -> Result<&'a [u8]> {
        let bytes = self.memory.get(at as usize..).and_then(|rest| rest.get(..length as usize));
        bytes.ok_or_else(|| Fault::OutOfBounds { at: at as u32, bytes: length }.error())
    }

    /// Counts a value, and looks now and then whether the store is to stop.
    fn count(&mut self) -> Result<()> {
        self.values = self.values.wrapping_add(1);
        if self.values.is_multiple_of(VALUES_BETWEEN_CHECKS) {
            self.interrupt.check()?;
        }
        Ok(())
    }

    /// Charges host memory for values.
    fn charge(&mut self, bytes: usize) -> Result<()> {
        if let Some(left) = self.left.checked_sub(bytes) {
            self.left = left;
            return Ok(());
        }
        let lacks = bytes - self.left;
        let more = self.budget.add_to(&mut self.loans.taken, lacks, lacks.max(STEP));
        self.left = more.ok_or_else(|| too_much(self.budget.most()))? - lacks;
        Ok(())
    }

    /// Charges host memory for what stays until the call ends, even if its values do not.
    fn charge_loan(&mut self, bytes: usize) -> Result<()> {
        self.budget
            .add_to(&mut self.loans.taken_by_loans, bytes, bytes)
            .ok_or_else(|| too_much(self.budget.most()))?;
        Ok(())
    }
}

/// The error of values that take more than `most` bytes.
pub fn too_much(most: usize) -> Error {
    let message = format!(
        "values of calls that have not ended take more than {most} bytes, the most that is allowed (`component_values`)"
    );
    Error::new(ErrorKind::Limit, message)
}

/// Fails unless an address is aligned for a value of a type.
pub fn check_aligned(ty: &Type, at: u32) -> Result<()> {
    match at.is_multiple_of(ty.align()) {
        true => Ok(()),
        false => Err(Fault::Unaligned { at, align: ty.align() }.error()),
    }
}

/// Returns the payload type of a case.
pub fn case(ty: &Type, number: u32) -> Result<Option<&Type>> {
    let case = ty.cases().get(number as usize);
    let unknown = || Fault::NoCase { number, cases: ty.cases().len() as u32 }.error();
    Ok(case.ok_or_else(unknown)?.as_ref())
}
