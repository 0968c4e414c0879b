//! The types that a module defines.
//!
//! They come in *recursive groups*: the types of one may refer to each other and to earlier groups. Two groups are
//! equal if they have the same structure, with references within a group given by position (iso-recursive equality);
//! two types are equal if their groups are equal and they have the same position there.
//!
//! Output: for each type, the first equal type of the module (`canonical`), which reduces comparing types within a
//! module to comparing two integers.
//! Source: WebAssembly 3.0, "Types" and "Matching".

use std::ops::Range;

use hashbrown::HashMap;
use wasmparser::{
    CompositeInnerType, FieldType, FuncType, HeapType, PackedIndex, RefType, StorageType, SubType,
    UnpackedIndex, ValType,
};

/// The types of a module, by type index.
#[derive(Clone, Debug, Default)]
pub struct Types {
    types: Vec<SubType>,
    /// The type index at which each recursive group ends.
    ends: Vec<u32>,
    canonical: Vec<u32>,
    /// While groups are added, the first group of each structure: its types with references as in [`Types::key`], and
    /// its beginning.
    first: HashMap<Vec<SubType>, u32>,
}

impl Types {
    /// Adds a recursive group behind all others.
    pub(super) fn add_group(&mut self, group: impl IntoIterator<Item = SubType>) {
        let start = self.len();
        self.types.extend(group);
        let range = start..self.len();
        self.ends.push(range.end);
        let key = self.key(range.clone());
        let first = *self.first.entry(key).or_insert(start);
        self.canonical.extend(range.map(|index| index - start + first));
    }

    /// Completes the types once all groups are added.
    pub(super) fn finish(&mut self) {
        self.first = HashMap::new();
    }

    /// Returns the types of a group, whose references are positions in it, or the first of equal types.
    fn key(&self, group: Range<u32>) -> Vec<SubType> {
        let mut of = |index: u32| match group.contains(&index) {
            true => UnpackedIndex::RecGroup(index - group.start),
            false => UnpackedIndex::Module(self.canonical[index as usize]),
        };
        self.types[group.start as usize..].iter().map(|ty| with_references(ty, &mut of)).collect()
    }

    /// Returns the number of types.
    pub fn len(&self) -> u32 {
        self.types.len() as u32
    }

    /// Reports whether there are no types.
    pub fn is_empty(&self) -> bool {
        self.types.is_empty()
    }

    /// Returns the type with this index, whose references are type indices.
    pub fn get(&self, index: u32) -> &SubType {
        &self.types[index as usize]
    }

    /// Returns the function type with this index.
    ///
    /// # Panics
    /// Panics if it is another kind of type.
    pub fn func(&self, index: u32) -> &FuncType {
        self.get(index).unwrap_func()
    }

    /// Returns all types, by index.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &SubType> {
        self.types.iter()
    }

    /// Returns the recursive groups, in order.
    pub fn groups(&self) -> impl Iterator<Item = Range<u32>> + '_ {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, &end)| start..end)
    }

    /// Returns the first type of the module that equals this one.
    pub fn canonical(&self, index: u32) -> u32 {
        self.canonical[index as usize]
    }

    /// Reports whether a value of type `a` is one of type `b`: they are equal, or `a` names `b`, or a subtype of `b`,
    /// as its supertype.
    pub fn is_subtype(&self, a: u32, b: u32) -> bool {
        let b = self.canonical(b);
        let mut next = Some(a);
        while let Some(a) = next {
            if self.canonical(a) == b {
                return true;
            }
            next = self.supertype(a);
        }
        false
    }

    /// Returns the type that this one names as its supertype.
    pub fn supertype(&self, index: u32) -> Option<u32> {
        self.get(index).supertype_idxs.first().and_then(PackedIndex::as_module_index)
    }

    /// Returns the number of a type's supertypes.
    pub fn depth(&self, index: u32) -> u32 {
        std::iter::successors(self.supertype(index), |&index| self.supertype(index)).count() as u32
    }
}

/// Returns a type with its references, which are type indices, replaced by the results of `of`.
///
/// # Panics
/// Panics if a reference is not a type index, or if `of` returns one of more than 20 bits.
pub fn with_references(ty: &SubType, of: &mut impl FnMut(u32) -> UnpackedIndex) -> SubType {
    let mut index = |index: PackedIndex| {
        let index = index.as_module_index().expect("a type as it was read");
        of(index).pack().expect("no more types than wasmparser allows")
    };
    let mut ty = ty.clone();
    ty.supertype_idxs.iter_mut().for_each(|supertype| *supertype = index(*supertype));
    let mut value = |ty: ValType| match ty {
        ValType::Ref(ty) => ValType::Ref(reference(ty, &mut index)),
        _ => ty,
    };
    match &mut ty.composite_type.inner {
        CompositeInnerType::Func(func) => {
            let params: Vec<ValType> = func.params().iter().map(|&ty| value(ty)).collect();
            let results: Vec<ValType> = func.results().iter().map(|&ty| value(ty)).collect();
            *func = FuncType::new(params, results);
        }
        CompositeInnerType::Array(array) => field(&mut array.0, value),
        CompositeInnerType::Struct(of) => of.fields.iter_mut().for_each(|of| field(of, &mut value)),
        CompositeInnerType::Cont(_) => unreachable!("the proposal is off"),
    }
    ty
}

fn field(field: &mut FieldType, mut value: impl FnMut(ValType) -> ValType) {
    if let StorageType::Val(ty) = &mut field.element_type {
        *ty = value(*ty);
    }
}

fn reference(ty: RefType, index: &mut impl FnMut(PackedIndex) -> PackedIndex) -> RefType {
    match ty.heap_type() {
        HeapType::Concrete(of) => {
            let of = of.pack().expect("it came from a packed one");
            RefType::concrete(ty.is_nullable(), index(of))
        }
        _ => ty,
    }
}

#[cfg(test)]
mod tests {
    use crate::module::{ModuleInfo, parse};

    fn module(text: &str) -> ModuleInfo {
        parse(wat::parse_str(text).expect("valid text")).expect("valid module")
    }

    #[test]
    fn groups_of_one_structure_are_equal_as_wholes() {
        let info = module(
            "(module
                (rec (type $a (sub (func (param (ref $b))))) (type $b (sub (func (param (ref $a))))))
                (rec (type $c (sub (func (param (ref $d))))) (type $d (sub (func (param (ref $c))))))
                (rec (type $e (sub (func (param (ref $e))))))
                (type $f (func (param (ref $b))))
                (type $g (func (param (ref $d)))))",
        );
        let canonical: Vec<u32> = (0..7).map(|index| info.types.canonical(index)).collect();
        assert_eq!(canonical, [0, 1, 0, 1, 4, 5, 5]);
        assert_eq!(info.types.groups().collect::<Vec<_>>(), [0..2, 2..4, 4..5, 5..6, 6..7]);
    }

    #[test]
    fn a_subtype_is_one_of_all_above_it() {
        let info = module(
            "(module
                (type $a (sub (func)))
                (type $b (sub $a (func)))
                (type $c (sub final $b (func)))
                (type $d (sub final $a (func)))
                (type $e (sub (func))))",
        );
        let is = |a, b| info.types.is_subtype(a, b);
        assert!(is(2, 0) && is(2, 1) && is(1, 0) && is(2, 4), "an equal type is above, too");
        assert!(!is(0, 1) && !is(3, 1) && !is(1, 3));
        assert_eq!([0, 1, 2, 3].map(|index| info.types.depth(index)), [0, 1, 2, 1]);
    }
}
