//! Types defined by modules, as values that belong to no module: equal types are represented once in the whole
//! process.
//!
//! Types of a recursive group may refer to each other, so the unit of sharing is the group ([`Group`]); a
//! [`DefinedType`] is a position in a group. In a group, a reference to a type of the same group is a position
//! (`UnpackedIndex::RecGroup`); a reference to another group is an index into the group's list of outside types
//! (`UnpackedIndex::Module`), in order of first use. As those are shared as well, two groups are equal if their
//! types and their lists are equal, the lists by address. So types are compared, and hashed, in constant time.
//!
//! Invariant: a group refers only to earlier groups, so no group keeps itself alive: a group is freed with the
//! last holder of one of its types, be it a module, a host function, a store or a value of the embedder.
//!
//! Source: WebAssembly 3.0, "Types" (iso-recursive equality). `runtime::types` assigns the ids that code
//! compares.

use std::hash::{Hash, Hasher};
use std::mem;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use hashbrown::HashMap;
use wasmparser::{SubType, UnpackedIndex};
use wprof_jit::module::{Types, with_references};

/// One type of a recursive group.
#[derive(Clone)]
pub struct DefinedType {
    group: Arc<Group>,
    position: u32,
}

/// A recursive group. No two groups are equal.
struct Group {
    structure: Arc<Structure>,
}

/// The key of a group: its definition.
#[derive(Default, PartialEq, Eq, Hash)]
struct Structure {
    types: Box<[SubType]>,
    /// The types of other groups that these types refer to.
    others: Vec<DefinedType>,
}

/// All live groups.
type Groups = HashMap<Arc<Structure>, Weak<Group>>;

static GROUPS: Mutex<Option<Groups>> = Mutex::new(None);

/// The lock that `fork` holds.
pub(crate) struct Held {
    _groups: MutexGuard<'static, Option<Groups>>,
}

/// Keeps other threads from creating and dropping types until the result is dropped.
pub(crate) fn hold() -> Held {
    Held { _groups: lock() }
}

fn lock() -> MutexGuard<'static, Option<Groups>> {
    GROUPS.lock().unwrap_or_else(PoisonError::into_inner)
}

impl PartialEq for DefinedType {
    fn eq(&self, other: &DefinedType) -> bool {
        self.position == other.position && Arc::ptr_eq(&self.group, &other.group)
    }
}

impl Eq for DefinedType {}

impl Hash for DefinedType {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (Arc::as_ptr(&self.group), self.position).hash(state);
    }
}

impl std::fmt::Debug for DefinedType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("DefinedType").field(self.definition()).finish()
    }
}

impl DefinedType {
    /// Returns the types of a module, by type index.
    pub(crate) fn all_of(module: &Types) -> Vec<DefinedType> {
        let mut all = Vec::with_capacity(module.len() as usize);
        for range in module.groups() {
            add_group(module, range, &mut all);
        }
        all
    }

    /// Creates a type that is alone in its group; `others` are the types that it refers to.
    pub(crate) fn alone(ty: SubType, others: Others) -> DefinedType {
        DefinedType { group: group([ty].into(), others.types), position: 0 }
    }

    /// Returns the definition; [`DefinedType::resolve`] resolves the references in it.
    pub(crate) fn definition(&self) -> &SubType {
        &self.group.structure.types[self.position as usize]
    }

    /// Resolves a reference in its definition.
    pub(crate) fn resolve(&self, reference: UnpackedIndex) -> DefinedType {
        match reference {
            UnpackedIndex::RecGroup(position) => DefinedType { group: self.group.clone(), position },
            UnpackedIndex::Module(at) => self.group.structure.others[at as usize].clone(),
            UnpackedIndex::Id(_) => unreachable!("types are as they were read, not the validator's"),
        }
    }

    /// Returns the supertype that it declares.
    pub(crate) fn supertype(&self) -> Option<DefinedType> {
        self.definition().supertype_idxs.first().map(|index| self.resolve(index.unpack()))
    }

    /// Returns whether it is equal to `other` or a subtype of it.
    pub(crate) fn is_subtype_of(&self, other: &DefinedType) -> bool {
        self == other || self.supertype().is_some_and(|above| above.is_subtype_of(other))
    }
}

/// The types of other groups that a group under construction refers to.
#[derive(Default)]
pub(crate) struct Others {
    types: Vec<DefinedType>,
    places: HashMap<DefinedType, u32>,
}

impl Others {
    /// Returns how a definition refers to `ty`.
    pub(crate) fn reference(&mut self, ty: &DefinedType) -> UnpackedIndex {
        let next = self.types.len() as u32;
        let place = *self.places.entry(ty.clone()).or_insert(next);
        if place == next {
            self.types.push(ty.clone());
        }
        UnpackedIndex::Module(place)
    }
}

fn add_group(module: &Types, range: Range<u32>, all: &mut Vec<DefinedType>) {
    let mut others = Others::default();
    let mut of = |index: u32| match range.contains(&index) {
        true => UnpackedIndex::RecGroup(index - range.start),
        false => others.reference(&all[index as usize]),
    };
    let types: Box<[SubType]> =
        range.clone().map(|index| with_references(module.get(index), &mut of)).collect();
    if types.is_empty() {
        return;
    }
    let group = group(types, others.types);
    all.extend((0..range.end - range.start).map(|position| DefinedType { group: group.clone(), position }));
}

/// Returns the group of this structure, creating it if it does not exist.
fn group(types: Box<[SubType]>, others: Vec<DefinedType>) -> Arc<Group> {
    let structure = Arc::new(Structure { types, others });
    let mut held = lock();
    let groups = held.get_or_insert_default();
    let found = groups.get(&structure).and_then(Weak::upgrade);
    let (group, dead) = match found {
        Some(group) => (group, None),
        None => {
            // The entry of an equal group that is being dropped goes, with its key.
            let dead = groups.remove_entry(&structure);
            let group = Arc::new(Group { structure: structure.clone() });
            groups.insert(structure.clone(), Arc::downgrade(&group));
            (group, dead)
        }
    };
    // Dropping these may drop types, which takes the lock again.
    drop(held);
    drop((dead, structure));
    group
}

impl Drop for Group {
    /// Drops groups one after the other, without recursion, because a chain of groups may be as long as a module
    /// has types.
    fn drop(&mut self) {
        let mut pending = vec![mem::take(&mut self.structure)];
        while let Some(structure) = pending.pop().filter(|structure| !structure.types.is_empty()) {
            drop(forget(&structure));
            let others = Arc::into_inner(structure).map(|structure| structure.others).unwrap_or_default();
            let last = others.into_iter().filter_map(|other| Arc::into_inner(other.group));
            pending.extend(last.map(|mut group| mem::take(&mut group.structure)));
        }
    }
}

/// Removes a group that is being dropped from the list, unless another group of this structure has replaced it.
fn forget(structure: &Arc<Structure>) -> Option<(Arc<Structure>, Weak<Group>)> {
    let mut held = lock();
    let groups = held.as_mut()?;
    let (listed, _) = groups.get_key_value(structure)?;
    Arc::ptr_eq(listed, structure).then(|| groups.remove_entry(structure)).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn types(text: &str) -> Vec<DefinedType> {
        let info = wprof_jit::module::parse(wat::parse_str(text).expect("valid text"));
        DefinedType::all_of(&info.expect("valid module").types)
    }

    #[test]
    fn equal_groups_of_two_modules_are_one() {
        let text = "(module
            (type $f (sub (func)))
            (rec (type $a (sub $f (func))) (type $b (func (param (ref $a) (ref null $f))))))";
        let (one, other) = (types(text), types(text));
        assert_eq!(one, other);
        assert!(one[1].is_subtype_of(&other[0]) && !one[0].is_subtype_of(&other[1]));
        assert_eq!(one[1].supertype(), Some(other[0].clone()));
        // The same types, but in two groups.
        let apart = types("(module (type $f (sub (func))) (type $a (sub $f (func))))");
        assert_eq!(apart[0], one[0]);
        assert_ne!(apart[1], one[1]);
    }

    #[test]
    fn long_chains_of_groups_go_with_the_last_type() {
        let mut text = "(module (type (func (param i32 f64 i32 f64 i64)))".to_owned();
        (0..100_000).for_each(|at| text += &format!("(type (func (param (ref {at}))))"));
        let mut all = types(&(text + ")"));
        let first = Arc::downgrade(&all[0].group);
        let last = all.pop();
        drop(all);
        assert!(first.upgrade().is_some());
        drop(last);
        assert!(first.upgrade().is_none());
    }
}
