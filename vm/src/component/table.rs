//! Host resources: Rust values by number.

use std::any::Any;
use std::fmt;
use std::marker::PhantomData;

/// Default maximum of the number of resources in a table.
const CAPACITY: usize = 1 << 20;

/// A host resource that is a `T` in a [`ResourceTable`]: its number there. Host functions take and return it.
pub struct Resource<T> {
    rep: u32,
    is_owned: bool,
    of: PhantomData<fn() -> T>,
}

impl<T: 'static> Resource<T> {
    /// Creates an owned resource.
    pub fn new_own(rep: u32) -> Resource<T> {
        Resource { rep, is_owned: true, of: PhantomData }
    }

    /// Creates a resource that is borrowed for a call.
    pub fn new_borrow(rep: u32) -> Resource<T> {
        Resource { rep, is_owned: false, of: PhantomData }
    }

    /// Returns the number in the table.
    pub fn rep(&self) -> u32 {
        self.rep
    }

    /// Returns whether it is owned rather than borrowed.
    pub fn owned(&self) -> bool {
        self.is_owned
    }
}

impl<T> fmt::Debug for Resource<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Resource").field("rep", &self.rep).field("is_owned", &self.is_owned).finish()
    }
}

/// The error of a table operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ResourceTableError {
    /// The table has no room for another resource.
    #[error("the table of resources is full: some must be dropped first")]
    Full,
    /// The table has no resource with this number.
    #[error("the resource is not there: it was dropped")]
    NotPresent,
    /// The resource has another type.
    #[error("the resource is of another type")]
    WrongType,
    /// The resource has children.
    #[error("the resource has children: they must be dropped first")]
    HasChildren,
}

struct Entry {
    value: Box<dyn Any + Send>,
    parent: Option<u32>,
    children: u32,
}

/// Rust values that represent host resources, by number. A resource can be the child of another: the parent stays
/// as long as it has children.
pub struct ResourceTable {
    entries: Vec<Option<Entry>>,
    free: Vec<u32>,
    capacity: usize,
}

impl Default for ResourceTable {
    fn default() -> Self {
        ResourceTable::new()
    }
}

impl ResourceTable {
    /// Creates an empty table.
    pub fn new() -> ResourceTable {
        ResourceTable::with_max_capacity(CAPACITY)
    }

    /// Creates an empty table for at most `capacity` resources.
    pub fn with_max_capacity(capacity: usize) -> ResourceTable {
        ResourceTable { entries: Vec::new(), free: Vec::new(), capacity: capacity.min(u32::MAX as usize) }
    }

    /// Adds a resource.
    ///
    /// # Errors
    /// Returns an error if the table is full.
    pub fn push<T: Send + 'static>(&mut self, value: T) -> Result<Resource<T>, ResourceTableError> {
        self.add(Box::new(value), None).map(Resource::new_own)
    }

    /// Adds a child of another resource.
    ///
    /// # Errors
    /// Returns an error if the table is full, or the parent is not in it.
    pub fn push_child<T: Send + 'static, U: 'static>(
        &mut self,
        value: T,
        parent: &Resource<U>,
    ) -> Result<Resource<T>, ResourceTableError> {
        self.entry(parent.rep)?;
        let rep = self.add(Box::new(value), Some(parent.rep))?;
        self.entry_mut(parent.rep)?.children += 1;
        Ok(Resource::new_own(rep))
    }

    /// Returns the value of a resource.
    ///
    /// # Errors
    /// Returns an error if the resource is not in the table, or has another type.
    pub fn get<T: 'static>(&self, resource: &Resource<T>) -> Result<&T, ResourceTableError> {
        self.entry(resource.rep)?.value.downcast_ref().ok_or(ResourceTableError::WrongType)
    }

    /// Returns the value of a resource, mutably.
    ///
    /// # Errors
    /// Returns an error if the resource is not in the table, or has another type.
    pub fn get_mut<T: 'static>(&mut self, resource: &Resource<T>) -> Result<&mut T, ResourceTableError> {
        self.entry_mut(resource.rep)?.value.downcast_mut().ok_or(ResourceTableError::WrongType)
    }

    /// Removes a resource and returns its value.
    ///
    /// # Errors
    /// Returns an error if the resource is not in the table, has another type, or has children; it then stays.
    pub fn delete<T: 'static>(&mut self, resource: Resource<T>) -> Result<T, ResourceTableError> {
        let entry = self.entry(resource.rep)?;
        if !entry.value.is::<T>() {
            return Err(ResourceTableError::WrongType);
        }
        if entry.children != 0 {
            return Err(ResourceTableError::HasChildren);
        }
        let slot = self.entries.get_mut(resource.rep as usize).and_then(Option::take);
        let entry = slot.ok_or(ResourceTableError::NotPresent)?;
        self.free.push(resource.rep);
        if let Some(parent) = entry.parent {
            self.entry_mut(parent)?.children -= 1;
        }
        entry.value.downcast().map(|value| *value).map_err(|_| ResourceTableError::WrongType)
    }

    /// Returns whether the table is empty.
    pub fn is_empty(&self) -> bool {
        self.entries.len() == self.free.len()
    }

    fn add(&mut self, value: Box<dyn Any + Send>, parent: Option<u32>) -> Result<u32, ResourceTableError> {
        let entry = Some(Entry { value, parent, children: 0 });
        if let Some(rep) = self.free.pop() {
            self.entries[rep as usize] = entry;
            return Ok(rep);
        }
        if self.entries.len() >= self.capacity {
            return Err(ResourceTableError::Full);
        }
        self.entries.push(entry);
        Ok(self.entries.len() as u32 - 1)
    }

    fn entry(&self, rep: u32) -> Result<&Entry, ResourceTableError> {
        self.entries.get(rep as usize).and_then(Option::as_ref).ok_or(ResourceTableError::NotPresent)
    }

    fn entry_mut(&mut self, rep: u32) -> Result<&mut Entry, ResourceTableError> {
        self.entries.get_mut(rep as usize).and_then(Option::as_mut).ok_or(ResourceTableError::NotPresent)
    }
}

impl fmt::Debug for ResourceTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let len = self.entries.len() - self.free.len();
        f.debug_struct("ResourceTable").field("len", &len).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parents_stay_as_long_as_their_children() {
        let mut table = ResourceTable::with_max_capacity(2);
        let parent = table.push("parent").unwrap();
        let child = table.push_child(7_u8, &parent).unwrap();
        assert_eq!(table.push(8_u8).unwrap_err(), ResourceTableError::Full);
        let again = Resource::<&str>::new_own(parent.rep());
        assert_eq!(table.delete(again).unwrap_err(), ResourceTableError::HasChildren);
        let wrong = Resource::<u8>::new_own(parent.rep());
        assert_eq!(table.get(&wrong).unwrap_err(), ResourceTableError::WrongType);
        assert_eq!(table.delete(wrong).unwrap_err(), ResourceTableError::WrongType);
        let gone = Resource::<u8>::new_own(child.rep());
        *table.get_mut(&child).unwrap() += 1;
        assert_eq!(table.delete(child), Ok(8));
        assert_eq!(table.delete(gone).unwrap_err(), ResourceTableError::NotPresent);
        assert_eq!(table.delete(parent), Ok("parent"));
        assert!(table.is_empty());
    }
}
