//! Which types adapters can pass, and what has to be done for values of a type.
//!
//! A type can be a tree of exponential size, as its parts are shared. So the first walk counts, and the others only take
//! place in types that are small.

use crate::component::types::{FuncType, Type, TypeKind};

/// The most nodes of the types of all adapters of a component, which bounds their code.
pub const ALL: usize = 100_000;
/// The most nodes of the types of a function.
const MOST: usize = 1000;

/// Charges the code for a function of a type; `None` if it is too much, or the type has what adapters cannot pass.
pub fn charge(ty: &FuncType, left: &mut usize) -> Option<()> {
    let mut rest = MOST.min(*left);
    let before = rest;
    [Some(&ty.tuple), ty.result.as_ref()].into_iter().flatten().try_for_each(|ty| count(ty, &mut rest))?;
    *left -= before - rest;
    Some(())
}

fn count(ty: &Type, left: &mut usize) -> Option<()> {
    let cost = match ty.kind() {
        // Nothing depends on which name an enum has.
        TypeKind::Enum(_) => 1,
        _ => 1 + ty.cases().len(),
    };
    *left = left.checked_sub(cost)?;
    match ty.kind() {
        TypeKind::Own(_) | TypeKind::Borrow(_) => None,
        TypeKind::List(element) => count(element, left),
        _ => parts(ty).try_for_each(|ty| count(ty, left)),
    }
}

/// Returns the types of the fields or cases.
pub fn parts(ty: &Type) -> impl Iterator<Item = &Type> {
    ty.fields().map(|(_, ty)| ty).chain(ty.payloads().map(|(_, ty)| ty))
}

/// Reports whether there are bits that are no value of a type.
pub fn needs_check(ty: &Type) -> bool {
    match ty.kind() {
        TypeKind::Char | TypeKind::String | TypeKind::List(_) => true,
        _ => !ty.cases().is_empty() || parts(ty).any(needs_check),
    }
}

/// Reports whether passing a value calls an allocator.
pub fn needs_room(ty: &Type) -> bool {
    match ty.kind() {
        TypeKind::String | TypeKind::List(_) => true,
        _ => parts(ty).any(needs_room),
    }
}

/// Reports whether values of a type, once checked, are the same bytes in both memories, without any that are nobody's.
pub fn is_plain(ty: &Type) -> bool {
    match ty.kind() {
        // Each byte but zero is true, and there may be bits that are no flags.
        TypeKind::Bool => false,
        TypeKind::Flags(names) => names.len() == ty.size() as usize * 8,
        TypeKind::String | TypeKind::List(_) => false,
        TypeKind::Enum(_) => true,
        TypeKind::Record(_) | TypeKind::Tuple(_) => {
            ty.fields().all(|(_, ty)| is_plain(ty))
                && ty.fields().map(|(_, ty)| ty.size()).sum::<u32>() == ty.size()
        }
        _ => ty.cases().is_empty(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_that_multiply_are_left_out() {
        let mut ty = Type::new(TypeKind::U8);
        for _ in 0..60 {
            ty = Type::new(TypeKind::Option(Type::new(TypeKind::Result {
                ok: Some(ty.clone()),
                err: Some(ty),
            })));
        }
        let mut left = ALL;
        let func = |ty| FuncType::new(vec![("x".to_owned(), ty)], None);
        assert_eq!((charge(&func(ty), &mut left), left), (None, ALL));
        assert_eq!(charge(&func(Type::new(TypeKind::List(Type::new(TypeKind::Char)))), &mut left), Some(()));
        assert_eq!(left, ALL - 3);
        assert_eq!(charge(&func(Type::new(TypeKind::Own(0))), &mut left), None);
    }

    #[test]
    fn what_is_plain_has_no_gaps() {
        let [u8, u32, bool] = [TypeKind::U8, TypeKind::U32, TypeKind::Bool].map(Type::new);
        let tuple =
            |types: &[&Type]| Type::new(TypeKind::Tuple(types.iter().map(|&ty| ty.clone()).collect()));
        assert!(is_plain(&tuple(&[&u32, &u32])) && is_plain(&tuple(&[&u8, &u8])));
        assert!(!is_plain(&tuple(&[&u32, &u8])) && !is_plain(&tuple(&[&u8, &bool])));
        let flags = |count: u32| Type::new(TypeKind::Flags((0..count).map(|i| format!("f{i}")).collect()));
        assert_eq!(
            [7, 8, 9, 16, 17, 32].map(|n| is_plain(&flags(n))),
            [false, true, false, true, false, true]
        );
    }
}
