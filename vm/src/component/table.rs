//! Host resources: Rust values by number.

use std::any::Any;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::marker::PhantomData;

use super::resource::ResourceAny;
use crate::{AsContextMut, Error};

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

    /// Returns the resource as one of any type.
    ///
    /// # Errors
    /// As [`ResourceAny::try_from_resource`].
    pub fn try_into_resource_any(self, store: impl AsContextMut) -> Result<ResourceAny, Error> {
        ResourceAny::try_from_resource(self, store)
    }

    /// Returns a resource of any type with its static type.
    ///
    /// # Errors
    /// As [`ResourceAny::try_into_resource`].
    pub fn try_from_resource_any(
        resource: ResourceAny,
        store: impl AsContextMut,
    ) -> Result<Resource<T>, Error> {
        resource.try_into_resource(store)
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
    children: BTreeSet<u32>,
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

    /// Creates an empty table with memory for so many resources. It may have more.
    pub fn with_capacity(capacity: usize) -> ResourceTable {
        ResourceTable { entries: Vec::with_capacity(capacity), ..ResourceTable::new() }
    }

    /// Creates an empty table for at most `capacity` resources.
    pub fn with_max_capacity(capacity: usize) -> ResourceTable {
        ResourceTable { entries: Vec::new(), free: Vec::new(), capacity: capacity.min(u32::MAX as usize) }
    }

    /// Returns the maximum number of resources (default: 2^20).
    pub fn max_capacity(&self) -> usize {
        self.capacity
    }

    /// Sets the maximum number of resources. Those that are there stay.
    pub fn set_max_capacity(&mut self, capacity: usize) {
        self.capacity = capacity.min(u32::MAX as usize);
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
        self.entry_mut(parent.rep)?.children.insert(rep);
        Ok(Resource::new_own(rep))
    }

    /// Makes a resource the child of another. Both arguments only name the resources: these stay as they are.
    ///
    /// # Errors
    /// Returns an error if one of them is not in the table.
    ///
    /// # Panics
    /// Panics if the child has a parent.
    pub fn add_child<T: 'static, U: 'static>(
        &mut self,
        child: Resource<T>,
        parent: Resource<U>,
    ) -> Result<(), ResourceTableError> {
        self.entry(parent.rep)?;
        let entry = self.entry_mut(child.rep)?;
        assert!(entry.parent.is_none(), "the resource has a parent already");
        entry.parent = Some(parent.rep);
        self.entry_mut(parent.rep)?.children.insert(child.rep);
        Ok(())
    }

    /// Makes a child a resource without a parent; it stays in the table.
    ///
    /// # Errors
    /// Returns an error if one of them is not in the table.
    ///
    /// # Panics
    /// Panics if it is not a child of that parent.
    pub fn remove_child<T: 'static, U: 'static>(
        &mut self,
        child: Resource<T>,
        parent: Resource<U>,
    ) -> Result<(), ResourceTableError> {
        self.entry(parent.rep)?;
        let entry = self.entry_mut(child.rep)?;
        assert!(entry.parent == Some(parent.rep), "the resource is no child of that parent");
        entry.parent = None;
        self.entry_mut(parent.rep)?.children.remove(&child.rep);
        Ok(())
    }

    /// Returns the values of the children of a resource, by their numbers.
    ///
    /// # Errors
    /// Returns an error if the parent is not in the table.
    pub fn iter_children<T: 'static>(
        &self,
        parent: &Resource<T>,
    ) -> Result<impl Iterator<Item = &(dyn Any + Send)> + use<'_, T>, ResourceTableError> {
        let children = self.entry(parent.rep)?.children.iter();
        Ok(children.filter_map(|&child| Some(&*self.entry(child).ok()?.value)))
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

    /// Returns the value with a number, mutably.
    ///
    /// # Errors
    /// Returns an error if there is none.
    pub fn get_any_mut(&mut self, rep: u32) -> Result<&mut dyn Any, ResourceTableError> {
        Ok(&mut *self.entry_mut(rep)?.value)
    }

    /// Returns the values with these numbers, mutably and at the same time, each with what the map has for it. A number
    /// without a resource yields an error.
    pub fn iter_entries<T>(
        &mut self,
        map: BTreeMap<u32, T>,
    ) -> impl Iterator<Item = (Result<&mut dyn Any, ResourceTableError>, T)> {
        // The numbers come in order, so each splits off what lies before.
        let (mut rest, mut first) = (&mut *self.entries, 0);
        map.into_iter().map(move |(rep, with)| {
            let before = (rep as usize - first).min(rest.len());
            let (found, behind) = match std::mem::take(&mut rest)[before..].split_first_mut() {
                Some((found, behind)) => (found.as_mut(), behind),
                None => (None, &mut [][..]),
            };
            (rest, first) = (behind, first + before + 1);
            (found.map(|entry| &mut *entry.value as &mut dyn Any).ok_or(ResourceTableError::NotPresent), with)
        })
    }

    /// Returns all values, mutably.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut (dyn Any + Send)> {
        self.entries.iter_mut().flatten().map(|entry| &mut *entry.value)
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
        if !entry.children.is_empty() {
            return Err(ResourceTableError::HasChildren);
        }
        let slot = self.entries.get_mut(resource.rep as usize).and_then(Option::take);
        let entry = slot.ok_or(ResourceTableError::NotPresent)?;
        self.free.push(resource.rep);
        if let Some(parent) = entry.parent {
            self.entry_mut(parent)?.children.remove(&resource.rep);
        }
        entry.value.downcast().map(|value| *value).map_err(|_| ResourceTableError::WrongType)
    }

    /// Returns whether the table is empty.
    pub fn is_empty(&self) -> bool {
        self.entries.len() == self.free.len()
    }

    fn add(&mut self, value: Box<dyn Any + Send>, parent: Option<u32>) -> Result<u32, ResourceTableError> {
        let entry = Some(Entry { value, parent, children: BTreeSet::new() });
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

    #[test]
    fn children_come_and_go() {
        let mut table = ResourceTable::with_capacity(4);
        let [parent, child] = ["parent", "child"].map(|name| table.push(name).unwrap());
        let other = table.push_child(7_u8, &parent).unwrap();
        let name = |of: &Resource<&'static str>| Resource::<&str>::new_borrow(of.rep());
        table.add_child(name(&child), name(&parent)).unwrap();
        let children: Vec<_> = table.iter_children(&parent).unwrap().collect();
        assert_eq!(
            children.iter().filter_map(|child| child.downcast_ref()).collect::<Vec<&&str>>(),
            [&"child"]
        );
        assert_eq!(children.iter().filter_map(|child| child.downcast_ref()).collect::<Vec<&u8>>(), [&7]);
        table.remove_child(name(&child), name(&parent)).unwrap();
        assert_eq!(table.iter_children(&parent).unwrap().count(), 1);
        assert_eq!(table.delete(name(&parent)).unwrap_err(), ResourceTableError::HasChildren);
        table.delete(other).unwrap();
        table.delete(parent).unwrap();
        assert_eq!(table.delete(child), Ok("child"));
        assert!(table.is_empty());
    }

    #[test]
    fn many_entries_are_changed_at_once() {
        let mut table = ResourceTable::new();
        let all = [1_u32, 2, 3, 4].map(|value| table.push(value).unwrap());
        table.delete(Resource::<u32>::new_own(all[1].rep())).unwrap();
        let wanted = BTreeMap::from([(0, 10_u32), (1, 20), (3, 40), (9, 90), (u32::MAX, 0)]);
        let found: Vec<_> = table.iter_entries(wanted).collect();
        let mut missing = Vec::new();
        for (entry, add) in found {
            match entry {
                Ok(value) => *value.downcast_mut::<u32>().unwrap() += add,
                Err(_) => missing.push(add),
            }
        }
        assert_eq!(missing, [20, 90, 0]);
        assert_eq!([0, 2, 3].map(|index| *table.get(&all[index]).unwrap()), [11, 3, 44]);
        *table.get_any_mut(0).unwrap().downcast_mut::<u32>().unwrap() = 5;
        assert_eq!(
            table.iter_mut().filter_map(|value| value.downcast_mut::<u32>().copied()).sum::<u32>(),
            52
        );
        table.set_max_capacity(4);
        assert_eq!((table.max_capacity(), table.push(1_u32).is_ok()), (4, true));
        assert_eq!(table.push(1_u32).unwrap_err(), ResourceTableError::Full);
    }
}
