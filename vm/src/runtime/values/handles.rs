//! What a store knows of the instances of components: whether they run, and their handles, small numbers that refer to
//! resources.
//!
//! It is here, rather than in what components share, so that whoever has the store needs no lock.
//!
//! Source: *CanonicalABI.md*, "Table State", "Resource State".

use std::ptr::NonNull;

use super::global_data::GlobalData;
use crate::runtime::instances::abi::VmValue;
use crate::{Error, ErrorKind, GlobalType, Result, ValType};

/// Creates a trap that the canonical ABI prescribes.
pub fn trap(why: impl std::fmt::Display) -> Error {
    Error::new(ErrorKind::Trap, format_args!("wasm trap: {why}"))
}

/// The flag of an instance in which, or in an instance inside of which, a call is active. It stays set after a trap,
/// because the state of the instance is then unknown.
pub const ENTERED: u32 = 1;
/// The flag of an instance that must not call out now, because values are being passed to it or cleaned up.
pub const STAYS: u32 = 2;

/// The state of an instance of one of a file's components.
#[derive(Debug)]
pub struct ComponentInstance {
    pub handles: Handles,
    /// Number of handles lent to the active call, which must be dropped before it ends.
    pub borrowed: u32,
    /// A global, as machine code of adapters has it as well.
    flags: GlobalData,
}

impl ComponentInstance {
    /// Creates the state of an instance that may hold `most` handles.
    pub fn new(most: usize) -> ComponentInstance {
        let flags = GlobalData::new(ComponentInstance::flags_type(), VmValue::from_u32(0), None);
        ComponentInstance { handles: Handles::new(most), borrowed: 0, flags }
    }

    /// Returns the type of the global with the flags.
    pub fn flags_type() -> GlobalType {
        GlobalType::new(ValType::I32, true)
    }

    /// Returns the cell of the global with the flags.
    pub fn cell(&self) -> NonNull<VmValue> {
        self.flags.cell()
    }

    /// Returns the value of the global with the flags.
    pub fn flags(&self) -> VmValue {
        self.flags.get()
    }

    /// Reports whether a flag is set.
    pub fn has(&self, flag: u32) -> bool {
        self.flags.get().u32() & flag != 0
    }

    /// Sets or clears a flag; returns whether it was set.
    pub fn set(&mut self, flag: u32, is_set: bool) -> bool {
        let before = self.flags.get().u32();
        let after = if is_set { before | flag } else { before & !flag };
        self.flags.set(VmValue::from_u32(after));
        before & flag != 0
    }
}

/// A handle of an instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Handle {
    /// The resource's number in the plan.
    pub resource: u32,
    /// The number that represents the resource.
    pub rep: u32,
    /// Whether it is owned, rather than borrowed for a call.
    pub is_owned: bool,
    /// Number of calls to which it is lent.
    pub loans: u32,
}

/// Handles by number. Number 0 is never assigned.
#[derive(Debug)]
pub struct Handles {
    entries: Vec<Option<Handle>>,
    free: Vec<u32>,
    /// Maximum number of handles.
    most: usize,
}

impl Handles {
    /// Creates a table for at most `most` handles: none yet.
    pub fn new(most: usize) -> Handles {
        Handles { entries: Vec::new(), free: Vec::new(), most: most.min(u32::MAX as usize) }
    }

    /// Removes all handles.
    pub fn clear(&mut self) {
        *self = Handles::new(self.most);
    }

    /// Adds a handle; returns its number.
    ///
    /// # Errors
    /// Returns an error if there are too many.
    pub fn add(&mut self, resource: u32, rep: u32, is_owned: bool) -> Result<u32> {
        let handle = Handle { resource, rep, is_owned, loans: 0 };
        if let Some(number) = self.free.pop() {
            self.entries[number as usize - 1] = Some(handle);
            return Ok(number);
        }
        if self.entries.len() >= self.most {
            let most = self.most;
            let message =
                format!("a component holds {most} resources, no more are allowed (`component_handles`)");
            return Err(Error::new(ErrorKind::Limit, message));
        }
        self.entries.push(Some(handle));
        Ok(self.entries.len() as u32)
    }

    /// Returns a handle, whose resource has this number in the plan.
    ///
    /// # Errors
    /// Returns an error if there is none, or the resource is another one.
    pub fn get(&mut self, number: u32, resource: u32) -> Result<&mut Handle> {
        let index = (number as usize).checked_sub(1);
        let entry = index.and_then(|index| self.entries.get_mut(index)?.as_mut());
        let handle = entry.ok_or_else(|| trap(format_args!("unknown handle index {number}")))?;
        if handle.resource != resource {
            return Err(trap(format_args!("handle index {number} used with the wrong type")));
        }
        Ok(handle)
    }

    /// Removes a handle that is not lent.
    ///
    /// # Errors
    /// Returns an error if it is lent, or as [`Handles::get`] does.
    pub fn remove(&mut self, number: u32, resource: u32) -> Result<Handle> {
        let handle = self.get(number, resource)?;
        if handle.loans != 0 {
            return Err(trap("cannot remove owned resource while borrowed"));
        }
        self.free.push(number);
        let entry = self.entries[number as usize - 1].take();
        Ok(entry.expect("it was there"))
    }

    /// Removes an owned handle, to transfer its resource.
    ///
    /// # Errors
    /// Returns an error if it is borrowed, or as [`Handles::remove`] does.
    pub fn remove_owned(&mut self, number: u32, resource: u32) -> Result<u32> {
        if !self.get(number, resource)?.is_owned {
            return Err(trap("cannot pass on a borrowed resource as an owned one"));
        }
        self.remove(number, resource).map(|handle| handle.rep)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handles_are_checked_and_reused() {
        let mut handles = Handles::new(2);
        let (a, b) = (handles.add(0, 10, true).unwrap(), handles.add(1, 20, false).unwrap());
        assert_eq!((a, b), (1, 2));
        assert!(handles.get(0, 0).is_err() && handles.get(3, 0).is_err() && handles.get(a, 1).is_err());
        assert!(handles.remove_owned(b, 1).is_err(), "it is borrowed");
        handles.get(a, 0).unwrap().loans = 1;
        assert!(handles.remove_owned(a, 0).is_err(), "it is lent");
        handles.get(a, 0).unwrap().loans = 0;
        assert_eq!(handles.remove_owned(a, 0).unwrap(), 10);
        assert!(handles.get(a, 0).is_err());
        assert_eq!(handles.add(1, 30, true).unwrap(), a);
        assert_eq!(handles.add(1, 40, true).unwrap_err().kind(), ErrorKind::Limit);
    }
}
